"""A request to an API and its answer, as values, and the API that answers while it works."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

JSON = "application/json"
Headers = tuple[tuple[str, str], ...]
FRAMING = frozenset(
    (
        *("connection", "content-length", "transfer-encoding", "content-encoding", "keep-alive"),
        *("upgrade", "trailer", "te", "proxy-connection", "expect"),
    )
)
"""The headers that say how a message is sent, not what it says."""


@dataclass(frozen=True)
class Asked:
    """A request: ``origin`` is the scheme and the host of its URL, ``target`` the rest.

    The names of ``headers`` are in lower case.
    """

    method: str
    origin: str
    target: str
    headers: Headers = ()
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the first header of that name; empty without one."""
        return next((text for other, text in self.headers if other == name), "")


@dataclass(frozen=True)
class Answered:
    """An answer, with its whole body; names of headers are in lower case."""

    status: int
    headers: Headers = ()
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        """Whether the API did what was asked."""
        return self.status in range(200, 300)

    def encoded(self, method: str) -> bytes:
        """Return the bytes of the response to a request with this method, after which the connection ends."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = ""
        has_body = method != "HEAD" and self.status not in (204, 304)
        lines = [
            f"HTTP/1.1 {self.status} {phrase}",
            *(f"{name}: {text}" for name, text in self.headers if name not in FRAMING),
            *([f"content-length: {len(self.body)}"] if has_body else []),
            "connection: close",
        ]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
        return head + (self.body if has_body else b"")


class Api(Protocol):
    """What stands behind all hosts while they work; several threads ask it."""

    @property
    def is_empty(self) -> bool:
        """Whether it answers nothing that a tool could work with."""

    def describe(self) -> str:
        """Return what it is, in some words."""

    def knows(self, asked: Asked) -> bool:
        """Return whether it has an answer to a request of this kind."""

    def answer(self, asked: Asked) -> Answered:
        """Return the answer.  Raises `OSError` if there is none."""


class EmptyApi:
    """An API that answers everything with an empty object."""

    is_empty = True

    def describe(self) -> str:
        """Return what it is."""
        return "every host is this tool, nothing leaves this machine"

    def knows(self, asked: Asked) -> bool:
        """Return True."""
        del asked
        return True

    def answer(self, asked: Asked) -> Answered:
        """Return an empty object."""
        del asked
        return Answered(200, (("content-type", JSON),), b"{}")


@dataclass(frozen=True)
class Exchange:
    """A request and its answer; ``started`` is the time in the words of ISO 8601."""

    asked: Asked
    answered: Answered
    started: str = ""
