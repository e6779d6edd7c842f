"""Event streams (server-sent events), parsed as the HTML standard describes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LINE_END = re.compile(rb"\r\n|\r|\n")
BOM = b"\xef\xbb\xbf"
# As `interface.MAX_LINE`: an event has a message, as a line has over stdio.
MAX_EVENT = 16_000_000
"""The size of the largest event that is read by default, in bytes."""
# The number fits into 64 bits; Python refuses to read one of more than 4,300 digits.
MAX_RETRY_DIGITS = 18


class EventTooLarge(Exception):  # noqa: N818
    """An event has more bytes than are read."""


@dataclass(frozen=True)
class Event:
    """One block of lines that a blank line ends.

    ``id`` and ``retry`` are the fields of this block, or None; ``name`` is its type.  ``data`` is None if the
    block has no data field: then the standard has no event.
    """

    id: str | None = None
    name: str = "message"
    data: str | None = None
    retry: int | None = None


class EventParser:
    """A parser that is fed the bytes of a stream, however they are cut.

    ``last_id`` is the last event id of the standard, ``comments`` and ``unknown_fields`` count lines, and
    ``is_utf8`` is False once a line was not UTF-8.
    """

    def __init__(self, max_event: int = MAX_EVENT):
        self.last_id = ""
        self.comments = 0
        self.unknown_fields = 0
        self.is_utf8 = True
        self._max_event = max_event
        self._line = bytearray()
        self._is_first_line = True
        self._after_cr = False
        self._block = _Block()

    @property
    def is_unfinished(self) -> bool:
        """Whether bytes came after the last blank line, other than comments."""
        return bool(self._line) or self._block.has_fields

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the blocks that end in these bytes; raises `EventTooLarge`."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = LINE_END.split(chunk)
        found = []
        for part in ended:
            self._hold(part)
            line, self._line = bytes(self._line), bytearray()
            found += self._take(line)
        self._hold(rest)
        return found

    def _hold(self, part: bytes) -> None:
        self._line += part
        self._block.size += len(part)
        if self._block.size > self._max_event:
            self._line.clear()
            raise EventTooLarge(f"an event has more than {self._max_event} bytes")

    def _take(self, line: bytes) -> list[Event]:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(BOM)
        if not line:
            return self._finish()
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.is_utf8 = False
            text = line.decode(errors="replace")
        name, _, value = text.partition(":")
        if name:
            self._set(name, value.removeprefix(" "))
        else:
            self.comments += 1
            self._block.size -= len(line)
        return []

    def _set(self, name: str, value: str) -> None:
        block = self._block
        if name == "data":
            block.data.append(value)
        elif name == "event":
            block.name = value
        elif name == "id" and "\0" not in value:
            block.id = self.last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            block.retry = int(value[:MAX_RETRY_DIGITS])
        else:
            self.unknown_fields += name not in ("id", "retry")
            return
        block.has_fields = True

    def _finish(self) -> list[Event]:
        block, self._block = self._block, _Block()
        data = "\n".join(block.data) if block.data else None
        event = Event(block.id, block.name or "message", data, block.retry)
        return [event] if block.has_fields else []


@dataclass
class _Block:
    """The fields of the lines since the last blank line; ``size`` is that of the lines."""

    id: str | None = None
    name: str = ""
    data: list[str] = field(default_factory=list)
    retry: int | None = None
    has_fields: bool = False
    size: int = 0
