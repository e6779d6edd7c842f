"""Lines to messages and back, strictly by JSON-RPC 2.0; nothing that the server wrote is lost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from sys import intern
from typing import Any, Final

from mcp_conformance.protocol.text import shorten

NOT_UTF_8 = "not UTF-8"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_DEPTH = 400
"""Arrays and objects that are nested more deeply are read as empty."""
MAX_DIGITS = 4000
MAX_ITEMS = 10_000
"""How many items of a list are read in one message."""
WITH_MARK = "byte order mark"
NOT_JSON = {"NaN", "Infinity", "-Infinity"}
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
REPEATED = "repeated member"
TOO_MANY = f"items of a list beyond the first {MAX_ITEMS}"
TOO_LONG = f"a number of more than {MAX_DIGITS} digits"


class Absent(Enum):
    """The type of `ABSENT`: no member of that name, which is not the same as null."""

    ABSENT = "absent"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = Absent.ABSENT
IdKey = int | tuple[str, str]
"""An id as `id_key` makes it."""


class Kind(Enum):
    """The kind of a JSON value on the wire, by its members alone."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESULT = "result"
    ERROR = "error"
    BATCH = "batch"
    OTHER = "other"


EVENT = " event"
"""The end of the name of the HTTP response that carried a line, if it is an event stream."""
UNORDERED_SECONDS = 0.25
"""Lines of two HTTP responses may come in the other order than they were written within this time."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the conversation.

    ``raw`` has no line end.  ``at`` is in seconds since the start of the process.  ``message`` is the decoded
    JSON, or `ABSENT` if the line is not JSON; ``fault`` says why.  ``oddities`` names what a JSON library
    usually hides: repeated members, NaN, lone surrogates.  ``carried_by`` names the HTTP response that had
    the line; it is empty for stdio.  ``status`` is set in a line that shows an HTTP response as evidence, and
    ``is_lost`` says that a reused connection has lost the response, perhaps through no fault of the server.
    """

    sent: bool
    raw: bytes
    at: float = 0.0
    message: Any = field(default=ABSENT, compare=False, repr=False)
    fault: str = ""
    oddities: tuple[str, ...] = ()
    carried_by: str = field(default="", compare=False)
    status: int | None = field(default=None, compare=False)
    is_lost: bool = field(default=False, compare=False)

    @classmethod
    def sending(cls, message: Any, at: float = 0.0) -> Line:
        """Return the line that sends a message."""
        return cls(sent=True, raw=encode(message), at=at, message=message)

    @classmethod
    def received(cls, raw: bytes, at: float = 0.0, carried_by: str = "") -> Line:
        """Decode a line that the server wrote; a line that is not JSON gets a ``fault``."""
        message, fault, oddities = decode(raw)
        return cls(False, raw, at, message, fault, oddities, carried_by)

    def with_raw(self, raw: bytes) -> Line:
        """Return a line with other bytes, and all else the same."""
        known = {one.name: getattr(self, one.name) for one in fields(Line) if one.name != "raw"}
        return Line(raw=raw, **known)

    @property
    def text(self) -> str:
        """The line as text; bytes that are not UTF-8 are kept as escapes."""
        return self.raw.decode("utf-8", "backslashreplace")

    def shown(self, longest: int) -> str:
        """Return the line with a mark of its direction, cut to so many characters."""
        carried_by = f"({self.carried_by}) " if self.carried_by else ""
        return f"{'>' if self.sent else '<'} {carried_by}{shorten(self.text, longest)}"

    def is_after(self, other: Line) -> bool:
        """Return whether a line that came later was written later: HTTP responses have no order."""
        return self.carried_by == other.carried_by or self.at - other.at > UNORDERED_SECONDS

    @property
    def is_json(self) -> bool:
        """Whether it is strict JSON, without NaN and infinity."""
        return not self.fault and NOT_JSON.isdisjoint(self.oddities)

    @property
    def left_out(self) -> int:
        """The number of items of its list beyond `MAX_ITEMS`, which were not read."""
        return sum(int(one.partition(" ")[0]) for one in self.oddities if one.endswith(TOO_MANY))

    def __repr__(self) -> str:
        """Return a short text, as pytest prints the values in a traceback."""
        return f"<Line {self.shown(200)}>"

    def parts(self) -> Sequence[Any]:
        """Return the messages of the line: one, or those of a batch, or none."""
        message = self.message
        if isinstance(message, list):
            return message
        return () if message is ABSENT else (message,)


def encode(message: Any) -> bytes:
    """Return a message as a line without its line end: compact, and in ASCII."""
    return _ENCODER.encode(message).encode()


def strict(value: Any) -> Any:
    """Return a value as strict JSON: NaN and infinity become texts, lone surrogates question marks.

    Raises `RecursionError` for a value that is too deep.
    """
    plain = json.loads(json.dumps(value), parse_constant=str)
    return json.loads(json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace"))


def compact_size(value: Any) -> int:
    """Return how many bytes a value takes as compact JSON in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "surrogatepass"))


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def decode(raw: bytes) -> tuple[Any, str, tuple[str, ...]]:
    """Decode a line into ``(message, fault, oddities)``; never raises.

    ``message`` is `ABSENT` exactly when ``fault`` is not empty.
    """
    oddities: list[str] = []
    if raw.startswith(BYTE_ORDER_MARK):
        oddities.append(WITH_MARK)
    try:
        text = raw.removeprefix(BYTE_ORDER_MARK).removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        return ABSENT, f"{NOT_UTF_8}: {error.reason} at byte {error.start}", ()
    try:
        message = _read(text, oddities)
    except json.JSONDecodeError as error:
        return ABSENT, f"not JSON: {error.msg} at character {error.pos}", ()
    return message, "", tuple(dict.fromkeys(oddities))


def foreign_encoding(raw: bytes) -> str:
    """Return the encoding other than UTF-8 in which a line is JSON; empty if there is none."""
    for name, codec in (("UTF-16", "utf-16"), ("Windows-1252", "cp1252")):
        try:
            json.loads(raw.decode(codec))
        except (ValueError, RecursionError):
            continue
        return name
    return ""


def _read(text: str, oddities: list[str]) -> Any:
    """Return the JSON value of a text, without values that are too deep and items that are too many."""
    if text.count(",") >= MAX_ITEMS:
        text = _first_listed(text, oddities)
    try:
        message = _ordinary(text, oddities)
    except RecursionError:
        message = _ordinary(_without_depths(text), oddities)
        oddities.append(TOO_DEEP)
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deep(message):
        message = _ordinary(_without_depths(text), oddities)
        oddities.append(TOO_DEEP)
    return message


def _ordinary(text: str, oddities: list[str], parse_int: Callable[[str], Any] | None = None) -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=lambda pairs: _members(pairs, oddities),
            parse_constant=lambda name: _constant(name, oddities),
            parse_int=parse_int,
        )
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number with more digits than Python reads
        oddities.append(TOO_LONG)
        return _ordinary(text, oddities, parse_int=_integer)


def _integer(digits: str) -> float:
    """Return a whole number; one with too many digits is infinite, as 1e400 is."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def is_deep(value: Any, most: int = MAX_DEPTH) -> bool:
    """Return whether arrays and objects are nested more than ``most`` deep."""
    level, depth = [value], 0
    while level and depth <= most:
        inside = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        )
        level = [one for some in inside for one in some if isinstance(one, dict | list)]
        depth += 1
    return depth > most


def _without_depths(text: str) -> str:
    """Return a JSON text with empty arrays and objects at `MAX_DEPTH`."""
    kept, depth, end = [], 0, 0
    for found in _BRACKET.finditer(text):
        if found[0] in "[{":
            depth += 1
            if depth == MAX_DEPTH:
                kept.append(text[end : found.end()])
                end = len(text)
        elif found[0] in "]}":
            if depth == MAX_DEPTH:
                end = found.start()
            depth -= 1
    return "".join([*kept, text[end:]])


def _first_listed(text: str, oddities: list[str]) -> str:
    """Return a JSON text without the items of a list beyond `MAX_ITEMS`."""
    kept, depth, end, items = [], 0, 0, 0
    for found in _PIECE.finditer(text):
        if found[0] == "," and depth == ITEMS and items:
            items += 1
            if items == MAX_ITEMS + 1:
                kept.append(text[end : found.start()])
                end = len(text)
        elif found[0] in "[{":
            depth += 1
            if depth == ITEMS:
                before = text[max(0, found.start() - KEY_LENGTH) : found.start()]
                items = int(found[0] == "[" and _LIST.search(before) is not None)
        elif found[0] in "]}":
            if depth == ITEMS and items > MAX_ITEMS:
                oddities.append(f"{items - MAX_ITEMS} {TOO_MANY}")
                end = found.start()
            depth -= 1
    return "".join([*kept, text[end:]])


ITEMS, KEY_LENGTH = 3, 40
"""The depth of the items of a list in an answer, and the most characters of the list's name and bracket."""
_LIST = re.compile(r'"(?:tools|prompts|resources|resourceTemplates)"\s*:\s*\Z')
_PIECE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def _members(pairs: list[tuple[str, Any]], oddities: list[str]) -> dict[str, Any]:
    members = {intern(name): value for name, value in pairs}
    if len(members) != len(pairs):
        oddities.append(REPEATED)
    return members


def _constant(name: str, oddities: list[str]) -> float:
    oddities.append(name)
    return math.nan if name == "NaN" else math.copysign(math.inf, -1 if name[0] == "-" else 1)


def kind(message: Any) -> Kind:
    """Return the kind of a message (JSON-RPC 2.0, sections 4 and 5)."""
    if not isinstance(message, dict):
        return Kind.BATCH if isinstance(message, list) else Kind.OTHER
    if "method" in message:
        return Kind.REQUEST if "id" in message else Kind.NOTIFICATION
    if "result" in message and message.get("error") is None:
        return Kind.RESULT
    return Kind.ERROR if "error" in message else Kind.OTHER


def is_request(message: Any) -> bool:
    """Return whether a message is a request."""
    return kind(message) is Kind.REQUEST


def is_response(message: Any) -> bool:
    """Return whether a message is a result or an error."""
    return kind(message) in (Kind.RESULT, Kind.ERROR)


MAX_PIECES = 200
"""How many lines are joined to find one message."""


def is_message(value: Any) -> bool:
    """Return whether a JSON value has the member ``jsonrpc``."""
    return isinstance(value, dict) and "jsonrpc" in value


def glued(line: Line) -> bool:
    """Return whether a line is several messages in a row."""
    text, messages = line.text.strip(), 0
    while text:
        value, end = _leading(text)
        if not is_message(value):
            return False
        text, messages = text[end:].lstrip(), messages + 1
    return messages > 1


def torn(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """Return each run of lines that is one message only when joined."""
    found: list[tuple[Line, ...]] = []
    start = 0
    while start < len(lines):
        pieces = _torn(lines[start : start + MAX_PIECES])
        found += [pieces] if pieces else []
        start += max(1, len(pieces))
    return found


def _torn(lines: Sequence[Line]) -> tuple[Line, ...]:
    if not lines[0].fault or not lines[0].raw.lstrip().startswith(b"{"):
        return ()
    text = "\n".join(line.text for line in lines)
    blank = len(text) - len(text.lstrip())
    value, end = _leading(text[blank:])
    breaks = text.count("\n", 0, blank + end)
    return tuple(lines[: breaks + 1]) if breaks and is_message(value) else ()


def _leading(text: str) -> tuple[Any, int]:
    """Return the JSON value at the beginning of a text, and where it ends; `ABSENT` if there is none."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return ABSENT, 0


def id_key(id: Any) -> IdKey:
    """Return a dictionary key of an id, with its type: 1, "1", true and null have different keys."""
    return id if type(id) is int else (type(id).__name__, json.dumps(id, sort_keys=True, default=repr))


def show(value: Any, limit: int = 200) -> str:
    """Return a JSON value as one short line of text."""
    if value is ABSENT:
        return "nothing (the member is absent)"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return shorten(text.replace("\n", "\\n"), limit)
