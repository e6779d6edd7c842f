"""The lines of a conversation, of which as many are kept as a modest machine has room for."""

from __future__ import annotations

from dataclasses import replace

from conformance.wire import ABSENT, Line

MOST_KEPT = 16_000_000
"""The memory, in bytes, that the received lines of a conversation may take."""
LINE_COST, VALUE_COST = 600, 64
"""Roughly what Python needs, in bytes, for a line and for each value in its message."""


def weight(raw: bytes) -> int:
    """Roughly the memory, in bytes, that a line takes with its message."""
    return LINE_COST + 2 * len(raw) + VALUE_COST * sum(map(raw.count, (b",", b"[", b"{")))


class Lines(list[Line]):
    """Lines in their order; what was received longest ago is let go when there are too many.

    ``let_go`` counts them.  An empty line without a fault stays in the place of each.
    """

    def __init__(self) -> None:
        super().__init__()
        self.let_go = 0
        self._weight = 0
        self._oldest = 0

    def keep(self, line: Line) -> None:
        """Add a line that was received."""
        self.append(line)
        self._weight += weight(line.raw)
        self.thin(MOST_KEPT)

    def thin(self, most: int) -> None:
        """Let go of lines until they take no more memory than this."""
        while self._weight > most and self._oldest < len(self) - 1:
            line = self[self._oldest]
            if not line.sent:
                self._weight -= weight(line.raw)
                self[self._oldest] = replace(line, raw=b"", message=ABSENT, fault="", oddities=())
                self.let_go += 1
            self._oldest += 1

    def clear(self) -> None:
        """Forget all of them."""
        super().clear()
        self._weight = self._oldest = 0


def is_let_go(line: Line) -> bool:
    """Whether a line was received and not kept."""
    return not (line.sent or line.raw or line.fault)
