"""A message log with a memory limit: the oldest lines are dropped first."""

from __future__ import annotations

import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import wraps
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeVar, TypeVarTuple, cast

from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, decode, is_message, is_response, kind
from mcp_conformance.transport.interface import Transport

S = TypeVar("S", bound="HasLines")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_LOG_BYTES = 12_000_000
"""The memory that the lines of a conversation may take."""
HEAD = 4096
"""The bytes that are kept of a long line of ours that was trimmed."""
LONG = 1_000_000
"""A line of at least so many bytes is compressed."""
CUT = "only the beginning of this line is kept"
MAX_RESULTS = 256
"""How many results are kept at hand, to find those that are equal."""
LINE_COST, VALUE_COST = 420, 64
"""About the bytes that Python needs for a line and for each value in its message."""


def weight(raw: bytes) -> int:
    """Return about the bytes of memory that a line takes with its message."""
    return LINE_COST + 2 * len(raw) + VALUE_COST * sum(map(raw.count, (b",", b"[", b"{")))


def _is_question(line: Line) -> bool:
    """Return whether a line is a request or a notification of ours, by which later lines are judged."""
    return line.sent and not is_response(line.message)


class MessageLog(list[Line]):
    """The lines of a conversation in their order; the oldest are dropped when they take too much memory.

    ``dropped`` counts the received lines that were dropped.  An empty line without a fault takes the place of
    each of them, and of each dropped answer of ours; our other lines are cut to their head (`head_of`).
    ``scans`` has what was read from the lines since the last one came (`scan`); ``has_long`` says that a line
    is, or was, a `CompressedLine`.  Equal results, such as those of a list that is read often, share memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropped = 0
        self.scans: dict[Any, Any] = {}
        self.has_long = False
        self._weight = 0
        self._weights = array("Q")
        self._oldest = self._longest = 0
        self._empty_lines: dict[bool, Line] = {}
        self._results: dict[bytes, Any] = {}

    def keep(self, line: Line) -> None:
        """Add a line."""
        self.append(line)
        self.has_long = self.has_long or isinstance(line, CompressedLine)
        self._weights.append(self._weight_of(line))
        self._weight += self._weights[-1]
        self.trim(MAX_LOG_BYTES)

    def trim(self, most: int) -> None:
        """Trim to at most ``most`` bytes: cut sent lines first, then drop received ones."""
        self.scans.clear()
        while self._weight > most and self._longest < len(self) - 1:
            line = self[self._longest]
            if _is_question(line):
                self._weight -= self._weights[self._longest]
                self[self._longest] = head_of(line)
            self._longest += 1
        while self._weight > most and self._oldest < len(self) - 1:
            line = self[self._oldest]
            if not _is_question(line):
                self._weight -= self._weights[self._oldest]
                self[self._oldest] = self._empty(line)
                self.dropped += not line.sent
                self._results.clear()
            self._oldest += 1

    def _weight_of(self, line: Line) -> int:
        """Return about the bytes of memory that dropping a new line frees."""
        if _is_question(line):
            return max(0, len(line.raw) - HEAD)
        if isinstance(line, CompressedLine):
            return LINE_COST + line.size
        return LINE_COST + len(line.raw) if self._has_shared(line) else weight(line.raw)

    def _has_shared(self, line: Line) -> bool:
        """Return whether a result equals an earlier one, which takes its place then."""
        message = line.message
        if kind(message) is not Kind.RESULT:
            return False
        if len(self._results) >= MAX_RESULTS:
            self._results.clear()
        result = message["result"]
        digest = blake2b(repr(result).encode("utf-8", "surrogatepass")).digest()
        message["result"] = self._results.setdefault(digest, result)
        return message["result"] is not result

    def _empty(self, line: Line) -> Line:
        """Return the line that takes the place of a dropped one; many share it, as there may be a million."""
        return self._empty_lines.setdefault(line.sent, Line(line.sent, b"", line.at))

    def clear(self) -> None:
        """Drop all lines."""
        super().clear()
        self.scans.clear()
        self._results.clear()
        del self._weights[:]
        self._weight = self._oldest = self._longest = 0


class HasLines(Protocol):
    """A session."""

    @property
    def lines(self) -> MessageLog:
        """The lines of the conversation."""


def scan(read: Callable[[S, *Ts], Iterable[T]]) -> Callable[[S, *Ts], Iterable[T]]:
    """Keep what a function reads from the lines of a session until another line comes.

    Many checks read the same conversation, most of them after it has ended.  One with long lines is read
    anew each time, as their messages are not to stay in memory.
    """

    @wraps(read)
    def kept(session: S, *args: *Ts) -> Iterable[T]:
        if session.lines.has_long:
            return read(session, *args)
        scans, key = session.lines.scans, (read, args)
        if key not in scans:
            scans[key] = tuple(read(session, *args))
        return cast("Iterable[T]", scans[key])

    return kept


class CompressedLine(Line):
    """A long line that takes little memory: it is decompressed and decoded whenever it is read.

    The message of one such line is kept: that of the line that was read last.
    """

    last: ClassVar[deque[tuple[Line, Any]]] = deque(maxlen=1)

    def __init__(self, line: Line):
        for one in fields(line):
            if one.name not in ("raw", "message"):
                object.__setattr__(self, one.name, getattr(line, one.name))
        vars(self)["compressed"] = zlib.compress(line.raw, 1)
        self.last.append((self, line.message))

    @property
    def size(self) -> int:
        """The bytes that the line takes while it is compressed."""
        return len(vars(self)["compressed"])

    @property
    def raw(self) -> bytes:
        """The bytes of the line."""
        return zlib.decompress(vars(self)["compressed"])

    @property
    def message(self) -> Any:
        """The decoded message."""
        for line, message in self.last:
            if line is self:
                return message
        self.last.clear()
        message = decode(self.raw)[0]
        self.last.append((self, message))
        return message


class DecompressedMessage(Mapping[str, Any]):
    """The message of a compressed line, which is decoded whenever a member is read."""

    def __init__(self, line: CompressedLine):
        self._line = line

    def __getitem__(self, name: str) -> Any:
        return self._line.message[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._line.message)

    def __len__(self) -> int:
        return len(self._line.message)


def received(data: bytes | Line, at: float) -> Line:
    """Decode a line that the server wrote, if the transport has not; compress it if it is long."""
    if len(data if isinstance(data, bytes) else data.raw) >= LONG:
        CompressedLine.last.clear()
        return compressed(_decoded(data, at))
    return _decoded(data, at)


def _decoded(data: bytes | Line, at: float) -> Line:
    return data if isinstance(data, Line) else Line.received(data, at)


def compressed(line: Line) -> Line:
    """Return a line that takes little memory, if it is JSON."""
    return line if line.fault or isinstance(line, CompressedLine) else CompressedLine(line)


def one_message(line: Line, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message of a line, without holding it in memory if the line is compressed and has no other."""
    if isinstance(line, CompressedLine) and message is line.message:
        return DecompressedMessage(line)
    return message


def head_of(line: Line) -> Line:
    """Return a line, cut to its head if it is long, with `CUT` as its fault then."""
    if len(line.raw) <= HEAD:
        return line
    message = line.message if line.sent else ABSENT
    return Line(line.sent, line.raw[:HEAD], line.at, message, CUT, line.oddities)


def without_message(line: Line) -> Line:
    """Return a line that was received without its message, which may hold much memory."""
    return Line(line.sent, line.raw, line.at, ABSENT, line.fault, line.oddities)


def is_dropped(line: Line) -> bool:
    """Return whether a received line was dropped."""
    return not (line.sent or line.raw or line.fault)


def unended_message(process: Transport) -> Line | None:
    """Return the message that came without its line end so far; None if there is none."""
    line = Line.received(process.unended, process.age)
    return line if is_message(line.message) else None
