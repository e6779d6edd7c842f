"""The lines of a conversation, of which as many are kept as a modest machine has room for."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from conformance.protocol.jsonrpc import ABSENT, REPEATED, Kind, Line, decode, kind

MOST_KEPT = 16_000_000
"""The memory, in bytes, that the lines of a conversation may take."""
HEAD = 4096
"""How much is kept of a long line that is hardly needed any more."""
LONG = 1_000_000
"""How many bytes a line has, at the least, that is packed."""
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


class MessageLog(list[Line]):
    """Lines in their order; what is oldest is let go when there is too much.

    ``dropped`` counts the received lines of which that is true.  An empty line without a fault stays in the
    place of each, and of each answer of ours; our other lines are made `brief`.  ``repeats`` counts
    the received lines in which a member comes twice in one object.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropped = self.repeats = 0
        self._weight = 0
        self._oldest = self._longest = 0
        self._gone: dict[bool, Line] = {}

    def keep(self, line: Line) -> None:
        """Add a line."""
        self.append(line)
        self.repeats += not line.sent and REPEATED in line.oddities
        self._weight += _weight(line)
        self.trim(MOST_KEPT)

    def trim(self, most: int) -> None:
        """Shorten our lines, then let go of lines, until they take no more memory than this."""
        while self._weight > most and self._longest < len(self) - 1:
            line = self[self._longest]
            if _is_question(line):
                self._weight -= _weight(line)
                self[self._longest] = head_of(line)
            self._longest += 1
        while self._weight > most and self._oldest < len(self) - 1:
            line = self[self._oldest]
            if not _is_question(line):
                self._weight -= _weight(line)
                self[self._oldest] = self._empty(line)
                self.dropped += not line.sent
            self._oldest += 1

    def _empty(self, line: Line) -> Line:
        """What stays in the place of a line: the same for many of them, for there may be a million."""
        empty = replace(line, raw=b"", message=ABSENT, fault="", oddities=())
        return self._gone.setdefault(line.sent, empty)

    def clear(self) -> None:
        """Forget all of them."""
        super().clear()
        self._weight = self._oldest = self._longest = 0


class CompressedLine(Line):
    """A long line, in little memory: its message is read again whenever it is looked at.

    Of all such lines the message of one is kept, the one that was looked at last.
    """

    last: ClassVar[deque[tuple[Line, Any]]] = deque(maxlen=1)

    @property
    def raw(self) -> bytes:  # noqa: D102
        return zlib.decompress(vars(self)["packed"])

    @raw.setter
    def raw(self, raw: bytes) -> None:
        vars(self)["packed"] = zlib.compress(raw, 1)

    @property
    def message(self) -> Any:  # noqa: D102
        for line, message in self.last:
            if line is self:
                return message
        self.last.clear()
        message = decode(self.raw)[0]
        self.last.append((self, message))
        return message

    @message.setter
    def message(self, message: Any) -> None:
        """Nothing of it is kept."""


class DecompressedMessage(Mapping[str, Any]):
    """The one message of a line, for as long as it is looked at."""

    def __init__(self, line: CompressedLine):
        self._line = line

    def __getitem__(self, name: str) -> Any:
        return self._line.message[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._line.message)

    def __len__(self) -> int:
        return len(self._line.message)


def received(raw: bytes, at: float) -> Line:
    """Decode a line the server wrote; a long one is packed."""
    if len(raw) < LONG:
        return Line.received(raw, at)
    CompressedLine.last.clear()
    return compressed(Line.received(raw, at))


def compressed(line: Line) -> Line:
    """A line that takes little memory, if it is JSON."""
    if line.fault or isinstance(line, CompressedLine):
        return line
    small = CompressedLine(line.sent, line.raw, line.at, fault=line.fault, oddities=line.oddities)
    CompressedLine.last.append((small, line.message))
    return small


def head_of(line: Line) -> Line:
    """A line, or only the beginning of it if it is long, with `CUT` as its fault."""
    if len(line.raw) <= HEAD:
        return line
    return replace(line, raw=line.raw[:HEAD], message=line.message if line.sent else ABSENT, fault=CUT)


def is_dropped(line: Line) -> bool:
    """Whether a line was received and not kept."""
    return not (line.sent or line.raw or line.fault)
