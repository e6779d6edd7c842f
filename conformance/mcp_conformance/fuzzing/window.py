"""Requests in flight on one session, several of them sent in one write."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import Line

T = TypeVar("T")


Request = tuple[str, bytes]
"""A method and the text of its params."""


def top_up(
    session: Session, waiting: deque[tuple[T, Line]], size: int, new: Iterator[tuple[T, Request]]
) -> None:
    """Send requests until ``size`` are in flight, in one write, if half of them are answered.

    ``waiting`` are those in flight, each with what it was made for; they are awaited in order.
    """
    # Half of them at once: one write for many requests, while the server still has the other half to do.
    if len(waiting) <= size // 2 and (some := list(islice(new, size - len(waiting)))):
        sent = session.send_texts(request for _, request in some)
        waiting.extend((one, line) for (one, _), line in zip(some, sent, strict=True))
