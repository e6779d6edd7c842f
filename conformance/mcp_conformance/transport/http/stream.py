"""A stream of bytes to a server, over TCP or TLS, that another thread can close."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading

from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.reach import addresses

# As for pipes: what one read may bring at once.
CHUNK = 64 * 1024
# Not measured: those of large hosts are a dozen; each may take the whole timeout.
MAX_ADDRESSES = 16
UNTRUSTED = (18, 19, 20, 21)
"""OpenSSL's codes for certificates whose issuer is not among the trusted ones."""
TRUST = "the environment variable SSL_CERT_FILE names a file with certificates to trust"
# Windows has no poll; elsewhere select fails for descriptors above 1023.
Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class ConnectionFailed(Exception):  # noqa: N818
    """No connection to the server; ``is_refused`` if nothing listens at its port."""

    def __init__(self, reason: str, *, is_refused: bool = False):
        super().__init__(reason)
        self.is_refused = is_refused


class Stream:
    """A connected socket.  One thread sends and receives; any thread may `close` it, or `send_now`.

    ``was_reset`` says that the stream has ended by an error, so that bytes may be missing.
    """

    def __init__(self, connected: socket.socket):
        self._socket = connected
        self._socket.setblocking(False)
        self._selector = Selector()
        self._selector.register(connected, selectors.EVENT_READ)
        self._busy, self._sends = threading.Lock(), threading.Lock()
        self._is_closed = False
        self._wanted = selectors.EVENT_READ
        self.was_reset = False

    @classmethod
    def connect(cls, endpoint: Endpoint, timeout: float) -> Stream:
        """Connect to a server; raises `ConnectionFailed`."""
        try:
            plain = _connected(endpoint, timeout)
        except (OSError, UnicodeError) as error:
            raise _failure(error, endpoint, timeout) from error
        try:
            # A small request would wait up to 40 ms for the acknowledgement of the one before.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return cls(_encrypted(plain, endpoint.host) if endpoint.tls else plain)
        except OSError as error:
            plain.close()
            raise _failure(error, endpoint, timeout) from error

    def send(self, data: bytes) -> bool:
        """Send bytes; return False if the other side does not take all of them."""
        unsent = memoryview(data)
        while unsent:
            taken, received = self.transfer(unsent, reading=False)
            if received == b"":
                return False
            unsent = unsent[taken:]
        return True

    def send_now(self, data: memoryview) -> int:
        """Return how many of these bytes the connection takes at once; none if it has ended."""
        with self._sends:
            try:
                return 0 if self._is_closed else self._socket.send(data[:CHUNK])
            except OSError:
                return 0

    def wait_until_readable(self) -> None:
        """Wait for bytes, or for the end; another thread may `send_now` meanwhile."""
        with self._busy, contextlib.suppress(OSError):
            if not self._is_closed:
                self._wait(selectors.EVENT_READ, None)

    def transfer(
        self, unsent: memoryview, timeout: float | None = None, *, reading: bool = True
    ) -> tuple[int, bytes | None]:
        """Wait until bytes come or some of these can be sent; return the number sent, and what came.

        What came is b"" at the end, which is also after `close`, and None if only bytes were sent or the time
        is over.
        """
        with self._busy:
            if self._is_closed:
                return 0, b""
            try:
                return self._transfer(unsent, timeout, reading)
            except OSError:
                self.was_reset = True
                return 0, b""

    @property
    def is_readable(self) -> bool:
        """Whether bytes or the end of the stream can be read now."""
        with self._sends, Selector() as selector:
            if not self._is_closed:
                selector.register(self._socket, selectors.EVENT_READ)
            return self._is_closed or selector.select(0) != []

    def close(self) -> None:
        """Close the stream; a thread that waits in it sees the end."""
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # that of TLS would forget its state
        with self._busy, self._sends:
            self._selector.close()
            self._socket.close()

    def _transfer(self, unsent: memoryview, timeout: float | None, reading: bool) -> tuple[int, bytes | None]:
        wanted = (selectors.EVENT_READ if reading else 0) | (selectors.EVENT_WRITE if unsent else 0)
        while True:
            ready = wanted if self._has_pending else self._wait(wanted, timeout)
            if not ready:
                return 0, None
            try:
                if reading and (ready & selectors.EVENT_READ or not unsent):
                    return 0, self._socket.recv(CHUNK)
                return self._socket.send(unsent[:CHUNK]), None
            except (ssl.SSLWantReadError, BlockingIOError):
                wanted |= selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                wanted |= selectors.EVENT_WRITE

    @property
    def _has_pending(self) -> bool:
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def _wait(self, wanted: int, timeout: float | None) -> int:
        if self._wanted != wanted:
            self._selector.modify(self._socket, wanted)
            self._wanted = wanted
        ready = self._selector.select(timeout)
        return ready[0][1] if ready else 0


def _connected(endpoint: Endpoint, timeout: float) -> socket.socket:
    """Return a connection by TCP, to exactly one of the addresses that were looked up.

    Raises `OSError` and `UnicodeError`.
    """
    failed = OSError("the host has no address")
    found = (endpoint.look_up or addresses)(endpoint.host, endpoint.port)
    for family, address in found[:MAX_ADDRESSES]:
        one = endpoint.dial(family) if endpoint.dial is not None else socket.socket(family)
        one.settimeout(timeout)
        try:
            one.connect(address)
        except OSError as error:
            one.close()
            failed = error
        else:
            return one
    raise failed


def _encrypted(plain: socket.socket, host: str) -> ssl.SSLSocket:
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def _failure(error: OSError | UnicodeError, endpoint: Endpoint, timeout: float) -> ConnectionFailed:
    """Return the reason for a failed connection in plain words."""
    if isinstance(error, ConnectionRefusedError):
        return ConnectionFailed(f"{endpoint.authority} refused the connection", is_refused=True)
    if isinstance(error, socket.gaierror | UnicodeError):
        return ConnectionFailed(f"the host {endpoint.host} has no known address")
    if isinstance(error, TimeoutError):
        return ConnectionFailed(f"no connection to {endpoint.authority} within {timeout:g} s")
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = f"; {TRUST}" if error.verify_code in UNTRUSTED else ""
        reason = f"the certificate of {endpoint.host} is not valid: {error.verify_message}{advice}"
        return ConnectionFailed(reason)
    if isinstance(error, ssl.SSLError):
        return ConnectionFailed(f"no TLS with {endpoint.authority}: {error.reason or error}")
    return ConnectionFailed(f"no connection to {endpoint.authority}: {error.strerror or error}")
