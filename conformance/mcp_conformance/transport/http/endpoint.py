"""The address of a server: the parts of an http or https URL."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mcp_conformance.transport.credentials import redacted
from mcp_conformance.transport.http.reach import Address

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Endpoint:
    """An http or https URL.  ``host`` has no brackets, ``target`` is the path with the query.

    ``dial`` makes a socket of a family that reaches the host, None if any does; ``look_up`` returns the
    addresses that may be connected to, None if all of the host may.
    """

    scheme: str
    host: str
    port: int
    target: str
    dial: Callable[[int], socket.socket] | None = field(default=None, compare=False, repr=False)
    look_up: Callable[[str, int], Sequence[Address]] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Return the endpoint of a URL; raises ValueError with one sentence for other text."""
        (shown,) = redacted([url])
        if not url.isascii() or any(char <= " " or char == "\x7f" for char in url):
            raise ValueError(f"{shown!r} has characters that a URL cannot have.")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{shown} is not a URL: {error}.") from error
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"{shown} is not a URL with http:// or https:// and a host.")
        if "@" in parts.netloc:
            raise ValueError("The URL has a user name or a password; send credentials in a header instead.")
        if "#" in url:
            raise ValueError(f"{shown} has a fragment, which is never sent to a server.")
        if port == 0:
            raise ValueError(f"{shown} has the port 0, which no server has.")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, parts.hostname, port or PORTS[parts.scheme], target)

    @property
    def url(self) -> str:
        """The URL."""
        return f"{self.origin}{self.target}"

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine by its name or address."""
        return self.host in ("localhost", "::1") or re.fullmatch(r"127(\.\d+){3}", self.host) is not None

    @property
    def tls(self) -> bool:
        """Whether the bytes are encrypted."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """The value of the Host header: the host, and the port unless it is that of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The scheme and the authority, as in an Origin header."""
        return f"{self.scheme}://{self.authority}"


def is_loopback(url: str) -> bool:
    """Return whether a URL is one of this machine; False for what is no URL."""
    try:
        return Endpoint.parse(url).is_loopback
    except ValueError:
        return False
