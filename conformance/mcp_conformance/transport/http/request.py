"""HTTP requests as exact bytes: nothing is checked, so that everything can be sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from mcp_conformance.transport.http.endpoint import Endpoint

Headers = tuple[tuple[bytes, bytes], ...]
"""Header fields in their order, with their case and their duplicates."""
WITH_BODY = ("POST", "PUT", "PATCH")
UNUSUAL_BYTE = re.compile(rb"[\x00\r\n]")


@dataclass(frozen=True)
class Request:
    """One request.  ``method`` and ``target`` may hold any bytes, as surrogate escapes.

    It ``is_repeatable`` if its message does no harm twice.  After the response its connection is read for
    ``lingers`` seconds more, as the server may answer what it takes for another request.
    """

    method: str
    target: str
    headers: Headers
    body: bytes = b""
    is_repeatable: bool = False
    lingers: float = 0.0

    @classmethod
    def to(cls, endpoint: Endpoint, method: str, headers: Headers = (), body: bytes = b"") -> Request:
        """Return a regular request: Host, these headers, and Content-Length if there is a body."""
        length = ((b"Content-Length", b"%d" % len(body)),) if body or method in WITH_BODY else ()
        host = (b"Host", endpoint.authority.encode("ascii"))
        return cls(method, endpoint.target, (host, *headers, *length), body)

    @property
    def head(self) -> bytes:
        """The bytes of the request line and of the headers, with the blank line."""
        fields = b"".join(b"%b: %b\r\n" % field for field in self.headers)
        return b"%b HTTP/1.1\r\n%b\r\n" % (self._start, fields)

    @cached_property
    def encoded(self) -> bytes:
        """The bytes that are sent."""
        return self.head + self.body

    @cached_property
    def is_framed(self) -> bool:
        """Whether a server reads exactly this request and no part of another one."""
        named = [(name.lower(), value) for name, value in self.headers]
        lengths = [value for name, value in named if name == b"content-length"]
        plain = b"".join((self._start, *(part for field in self.headers for part in field)))
        return (
            UNUSUAL_BYTE.search(plain) is None
            and not any(name == b"transfer-encoding" for name, _ in named)
            and (lengths == [b"%d" % len(self.body)] or not (lengths or self.body))
        )

    @property
    def _start(self) -> bytes:
        return f"{self.method} {self.target}".encode("utf-8", "surrogateescape")
