"""A certificate authority that this process makes for itself, with a certificate for any name.

Its key is never written.
"""

from __future__ import annotations

import ipaddress
import ssl
import threading
from collections.abc import Callable

import trustme

Choose = Callable[[ssl.SSLSocket | ssl.SSLObject, str | None, ssl.SSLContext], None]
"""A function that gives a connection another context, by the name that the client says, if it says one."""
NO_NAME = "unnamed.invalid"
"""The name in the certificate of a client that names none."""


class Authority:
    """A certificate authority; ``pem`` is its certificate."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    @property
    def pem(self) -> bytes:
        """The certificate by which others trust it."""
        pem: bytes = self._ca.cert_pem.bytes()
        return pem

    def context(self, name: str) -> ssl.SSLContext:
        """Return the side of a server of this name, or at this address, that speaks HTTP/1.1 alone."""
        with self._lock:
            if name not in self._contexts:
                self._contexts[name] = self._made(name)
            return self._contexts[name]

    def choosing(self, choose: Choose) -> ssl.SSLContext:
        """Return a side without a certificate, which calls ``choose`` with the name that a client says."""
        context = _plain()
        context.sni_callback = choose
        return context

    def _made(self, name: str) -> ssl.SSLContext:
        context = _plain()
        self._ca.issue_cert(_certified(name)).configure_cert(context)
        return context


def _plain() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    # A client that resumes a session does not look at the certificate again.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    return context


def _certified(name: str) -> str:
    """Return a name, or the one for those that no certificate can have."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        is_name = bool(name) and name.isascii() and all(name.split("."))
        return name if is_name else NO_NAME
