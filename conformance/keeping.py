"""The lines of a conversation, of which as many are kept as a modest machine has room for."""

from __future__ import annotations

from dataclasses import replace

from conformance.wire import ABSENT, Kind, Line, kind

MOST_KEPT = 16_000_000
"""The memory, in bytes, that the lines of a conversation may take."""
HEAD = 4096
"""How much is kept of a long line that is hardly needed any more."""
CUT = "only the beginning of this line is kept"
LINE_COST, VALUE_COST = 600, 64
"""Roughly what Python needs, in bytes, for a line and for each value in its message."""


def weight(raw: bytes) -> int:
    """Roughly the memory, in bytes, that a line takes with its message."""
    return LINE_COST + 2 * len(raw) + VALUE_COST * sum(map(raw.count, (b",", b"[", b"{")))


def _weight(line: Line) -> int:
    """The memory that is free when a line is let go."""
    return max(0, len(line.raw) - HEAD) if _is_question(line) else weight(line.raw)


def _is_question(line: Line) -> bool:
    """Whether a line of ours is no answer, so that what comes may be judged by it."""
    return line.sent and kind(line.message) not in (Kind.RESULT, Kind.ERROR)


class Lines(list[Line]):
    """Lines in their order; what is oldest is let go when there is too much.

    ``let_go`` counts the received lines of which that is true.  An empty line without a fault stays in the
    place of each, and of each answer of ours; our other lines are made `brief`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.let_go = 0
        self._weight = 0
        self._oldest = self._longest = 0
        self._gone: dict[bool, Line] = {}

    def keep(self, line: Line) -> None:
        """Add a line."""
        self.append(line)
        self._weight += _weight(line)
        self.thin(MOST_KEPT)

    def thin(self, most: int) -> None:
        """Shorten our lines, then let go of lines, until they take no more memory than this."""
        while self._weight > most and self._longest < len(self) - 1:
            line = self[self._longest]
            if _is_question(line):
                self._weight -= _weight(line)
                self[self._longest] = brief(line)
            self._longest += 1
        while self._weight > most and self._oldest < len(self) - 1:
            line = self[self._oldest]
            if not _is_question(line):
                self._weight -= _weight(line)
                self[self._oldest] = self._empty(line)
                self.let_go += not line.sent
            self._oldest += 1

    def _empty(self, line: Line) -> Line:
        """What stays in the place of a line: the same for many of them, for there may be a million."""
        empty = replace(line, raw=b"", message=ABSENT, fault="", oddities=())
        return self._gone.setdefault(line.sent, empty)

    def clear(self) -> None:
        """Forget all of them."""
        super().clear()
        self._weight = self._oldest = self._longest = 0


def brief(line: Line) -> Line:
    """A line, or only the beginning of it if it is long, with `CUT` as its fault."""
    if len(line.raw) <= HEAD:
        return line
    return replace(line, raw=line.raw[:HEAD], message=line.message if line.sent else ABSENT, fault=CUT)


def is_let_go(line: Line) -> bool:
    """Whether a line was received and not kept."""
    return not (line.sent or line.raw or line.fault)
