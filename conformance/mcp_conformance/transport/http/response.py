"""The parts of an HTTP response as they come."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_conformance.transport.http.request import Headers


class MalformedResponse(Exception):  # noqa: N818
    """The bytes are not an HTTP response."""


@dataclass(frozen=True)
class Head:
    """The status line and the headers of a final response; ``raw`` has their bytes."""

    status: int
    reason: str
    headers: Headers
    raw: bytes


@dataclass(frozen=True)
class Done:
    """The end of a response.  ``trailing`` are the bytes after it."""

    trailing: bytes
    can_reuse: bool
