"""A queue of what a transport reads or writes, with a limit in bytes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.transport.interface import EOF, Content, Item, Overlong

# Not measured: a reader that falls behind by more holds up the server, with less it does so for a few long
# lines.
MAX_QUEUED = 4_000_000
MAX_WHILE_WRITING = 64_000_000
"""The limit while the reader is writing: Not measured, but less than half of what is a flood."""


class ByteQueue:
    """A queue with a limit in bytes, so that a flooding server waits instead of filling our memory.

    It takes nothing more after `EOF`, or after `discard`.
    """

    def __init__(self) -> None:
        self._items: deque[tuple[float, int, Content]] = deque()
        self._bytes, self._limit = 0, MAX_QUEUED
        self._closed = False
        self._awaited = False
        self._changed = threading.Condition()

    @property
    def is_awaited(self) -> bool:
        """Whether a thread waits for the next item, and there is none."""
        return self._awaited and not self._items and not self._closed

    @contextmanager
    def roomy(self) -> Iterator[None]:
        """Take more than usual while the only reader writes: the other side may wait for room here."""
        with self._changed:
            self._limit = MAX_WHILE_WRITING
            self._changed.notify_all()
        try:
            yield
        finally:
            self._limit = MAX_QUEUED

    def put(self, *items: Content, at: float = 0.0, timeout: float | None = None) -> bool:
        """Add items with the time when they came, as soon as there is room; return whether there was in time.

        There always is for `EOF`.
        """
        is_last = any(item is EOF for item in items)

        def has_room() -> bool:
            return is_last or self._closed or self._bytes <= self._limit

        with self._changed:
            if not self._changed.wait_for(has_room, timeout):
                return False
            if not self._closed:
                # 64 bytes are about what the tuple and the queue take, so that empty lines are not free.
                sized = [(at, _size(item) + 64, item) for item in items]
                self._items.extend(sized)
                self._bytes += sum(size for _, size, _ in sized)
                self._closed = is_last
                self._changed.notify_all()
            return True

    def get(self, timeout: float | None) -> Item | None:
        """Return the next item with its time; None if none comes within these seconds, or at all."""
        with self._changed:
            if not self._items:
                self._awaited = True
                self._changed.wait_for(lambda: self._items or self._closed, timeout)
                self._awaited = False
            if not self._items:
                return None
            at, size, item = self._items.popleft()
            if self._bytes > MAX_QUEUED or not self._items:
                self._changed.notify_all()
            self._bytes -= size
            return at, item

    def wait_until_taken(self, timeout: float) -> None:
        """Wait until all items are taken, so many seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._items or self._closed, timeout)

    def discard(self) -> None:
        """Take no more items, and release the threads that wait."""
        with self._changed:
            self._closed = True
            if not any(item is EOF for _, _, item in self._items):
                self._items.clear()
            self._changed.notify_all()


def _size(item: Content) -> int:
    if isinstance(item, bytes):
        return len(item)
    return len(item.raw) if isinstance(item, Line) else len(item.head) if isinstance(item, Overlong) else 0
