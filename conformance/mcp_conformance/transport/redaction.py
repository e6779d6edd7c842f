"""Leave credentials out of whatever is shown or written: the one place where texts are redacted."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from html import unescape
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote, unquote_to_bytes

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.transport.credentials import HIDDEN, MIN_LENGTH, Secret
from mcp_conformance.transport.looks import LOOKS

NOT_REDACTED = frozenset(
    (
        *("row", "requirement", "requirements", "selector", "level", "basis", "revision", "says"),
        *("spec", "outcome", "cause", "state", "tool_version", "started", "not_run", "starts"),
        *("sessions", "sent", "measured", "phases"),
    )
)
"""The fields that hold words of this tool or of the catalogue only."""
# A word of seven characters may be a part of an ordinary one.
MIN_ANYWHERE = 8
"""Shorter credentials are left out only where they are a whole word."""
MIN_HALVED = 16
"""Of a credential of so many characters each half is left out too."""
LARGE = 10**30
"""Python refuses to write numbers with thousands of digits."""
MAX_NESTED = 3
"""How often a text is decoded: JSON in a URL in JSON."""
# Each costs a look at every credential, and a server may write nothing but dots.
MAX_CUTS = 1000
CUT = re.compile(r" \[\.\.\. \d+ more \.\.\.\] ?|\.\.\.")
"""What stands for the middle of a shortened text, or for its end."""
BACKSLASHES = re.compile(
    r"(?:\\u[0-9a-fA-F]{4})+|(?:\\x[0-9a-fA-F]{2})+|\\U000[0-9a-fA-F]{5}|\\[\"'\\/bfnrt]"
)
RUN = re.compile(r"[A-Za-z0-9]*")
PERCENTS = re.compile(r"(?:%[0-9a-fA-F]{2})+")
ENTITIES = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")
PLAIN = {"\\b": "\b", "\\f": "\f", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
T = TypeVar("T")
Span = tuple[int, int]


@cache
def _redacted_fields(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields that may hold a credential."""
    return tuple(one.name for one in fields(kind) if one.name not in NOT_REDACTED)


class Redaction:
    """A function from a value to the same value without these credentials, in all of its texts.

    It finds them as they are, read as Latin-1 (as many servers read HTTP), in JSON, URL and HTML escapes, in
    base64 and in hexadecimal; both halves of a long one, and what is left of one where a text is cut.

    Besides, it leaves out what looks like a credential of anybody's (`LOOKS`).
    """

    def __init__(self, secrets: Iterable[Secret]):
        self._secrets = tuple(secrets)
        given = [one for one in self._secrets if len(one.text) >= MIN_LENGTH]
        self.hidden = tuple(one.text for one in given)
        found = [form for one in given for form in (one, *_misread(one))]
        texts = dict.fromkeys(text for one in found for text in (one.text, *_halves(one)))
        self._words = tuple((text, _word(text)) for text in texts if len(text) < MIN_ANYWHERE)
        encoded = (form for one in found for form in _encoded(one.text))
        anywhere = (text for text in texts if len(text) >= MIN_ANYWHERE)
        self._literals = tuple(dict.fromkeys((*anywhere, *encoded)))
        self._runs = tuple(dict.fromkeys(max(RUN.findall(text), key=len) for text in texts))
        forms = dict.fromkeys(form for one in found for form in _escaped(one.text))
        self._cut = tuple((form, form[:MIN_LENGTH], form[-MIN_LENGTH:]) for form in forms)
        self._longest = max(map(len, forms), default=0)

    def __call__(self, value: T) -> T:
        """Return the value without the credentials."""
        result: T = self._redacted(value)
        return result

    def also(self, *texts: str) -> Redaction:
        """Return the redaction that leaves these texts out too."""
        return Redaction((*(Secret(text, False) for text in texts), *self._secrets))

    def text(self, text: str) -> str:
        """Return a text without the credentials."""
        if not text:
            return text
        spans = [*self._spans(text), *self._cut_spans(text)] if self.hidden else []
        if spans:
            text = _without(text, spans)
        for look in LOOKS:
            if look.sign in text:
                text = look.pattern.sub(HIDDEN, text)
        return text

    def raw(self, raw: bytes) -> bytes:
        """Return bytes without the credentials."""
        text = raw.decode("utf-8", "surrogateescape")
        shown = self.text(text)
        return raw if shown == text else shown.encode("utf-8", "surrogateescape")

    @property
    def of_names(self) -> Redaction:
        """The redaction of the credentials alone whose names say that they are, and which are long enough."""
        return Redaction(one for one in self._secrets if one.is_named and len(one.text) >= MIN_ANYWHERE)

    def finds(self, text: str) -> bool:
        """Return whether a text has one of these credentials, in any encoding."""
        return bool(self.hidden) and next(self._spans(text), None) is not None

    def hides(self, text: str) -> bool:
        """Return whether a text has a credential."""
        return self.text(text) != text

    def _redacted(self, value: Any) -> Any:
        if type(value) is str:  # most values are
            return self.text(value)
        if isinstance(value, Line):
            before = value.raw
            raw = self.raw(before)
            return value if raw is before else value.with_raw(raw)
        if isinstance(value, Mapping):
            return {self._redacted(name): self._redacted(content) for name, content in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self._redacted, value))
        if is_dataclass(value) and not isinstance(value, type):
            return self._of_fields(value)
        return self._plain(value)

    def _of_fields(self, value: Any) -> Any:
        """Return a dataclass with its fields redacted: itself if that changes none."""
        kind: Any = type(value)
        given = {name: getattr(value, name) for name in _redacted_fields(kind)}
        changed = {name: new for name, old in given.items() if (new := self._redacted(old)) is not old}
        return replace(value, **changed) if changed else value

    def _plain(self, value: Any) -> Any:
        """Return a value without parts, redacted: a number may be a credential too."""
        if isinstance(value, Enum | bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        is_number = isinstance(value, int) and abs(value) < LARGE
        return HIDDEN if is_number and str(value) in self.hidden else value

    # Where they are ------------------------------------------------------------------------------

    def _spans(self, text: str, nested: int = 0) -> Iterator[Span]:
        """Yield the places of the credentials in a text, and in what its escapes stand for."""
        for one in self._literals:
            if one in text:
                yield from _places(one, text)
        for one, pattern in self._words:
            if one in text:
                yield from (found.span() for found in pattern.finditer(text))
        if nested == MAX_NESTED:
            return
        for sign, escapes, decode in DECODERS:
            if sign not in text or (sign == "\\" and not self._may_hide(text)):
                continue
            plain, places = _decoded(text, escapes, decode)
            if plain != text:
                yield from (_from(place, places) for place in self._spans(plain, nested + 1))

    def _may_hide(self, text: str) -> bool:
        """Return whether backslashes may hide a credential: they do not change letters, but by numbers."""
        return any(sign in text for sign in ("\\u", "\\x", "\\U")) or any(run in text for run in self._runs)

    def _cut_spans(self, text: str) -> Iterator[Span]:
        """Yield the places of the beginnings and ends of credentials where a text was cut."""
        cuts = [(*found.span(), MIN_LENGTH) for found in islice(CUT.finditer(text), MAX_CUTS)]
        for start, end, fewest in (*cuts, (len(text), 0, 0)):
            before = text[max(0, start - self._longest) : start]
            after = text[end : end + self._longest]
            for form, first, last in self._cut:
                few = fewest or max(MIN_ANYWHERE, len(form) // 3)
                if first in before and (length := _beginning(form, before, few)):
                    yield start - length, start
                if last in after and (length := _ending(form, after, few)):
                    yield end, end + length


def _places(one: str, text: str) -> Iterator[Span]:
    at = text.find(one)
    while at >= 0:
        yield at, at + len(one)
        at = text.find(one, at + len(one))


def _beginning(form: str, text: str, few: int) -> int:
    """Return how many characters of a form's beginning end the text, 0 if there are fewer than ``few``."""
    return next((size for size in range(len(form), few - 1, -1) if text.endswith(form[:size])), 0)


def _ending(form: str, text: str, few: int) -> int:
    """Return how many characters of a form's end begin the text, 0 if there are fewer than ``few``."""
    return next((size for size in range(len(form), few - 1, -1) if text.startswith(form[-size:])), 0)


def _without(text: str, spans: Sequence[Span]) -> str:
    """Return a text with `HIDDEN` for each of these places; those that overlap are one."""
    parts, done = [], 0
    for start, end in sorted(spans):
        if start >= done:
            parts += [text[done:start], HIDDEN]
        done = max(done, end)
    return "".join((*parts, text[done:]))


# Forms -------------------------------------------------------------------------------------------


def _word(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])")


def _misread(secret: Secret) -> Iterator[Secret]:
    """Yield the credential as one who takes its bytes for Latin-1 reads it, if that is another text."""
    if not secret.text.isascii():
        yield secret._replace(text=secret.text.encode("utf-8", "surrogatepass").decode("latin-1"))


def _halves(one: Secret) -> tuple[str, ...]:
    """Return both halves of a long credential; none of a URL or a sentence."""
    text = one.text
    is_login = "://" in text and "@" in text
    is_plain = not one.is_named or "://" in text
    if len(text) < MIN_HALVED or re.search(r"\s", text) or (is_plain and not is_login):
        return ()
    return text[: len(text) // 2], text[len(text) // 2 :]


def _encoded(text: str) -> Iterator[str]:
    """Yield what a text is in base64, wherever it begins in what is encoded, and in hexadecimal."""
    raw = _bytes(text)
    if " " in text:
        yield text.replace(" ", "+")
    for shift in range(3):
        whole = b64encode(bytes(shift) + raw).decode()
        core = whole[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        if len(core) >= MIN_ANYWHERE:
            yield core
            yield core.translate(URL_SAFE)
    if 2 * len(raw) >= MIN_ANYWHERE:
        yield raw.hex()
        yield raw.hex().upper()


def _escaped(text: str) -> Iterator[str]:
    """Yield a text as it is and with escapes."""
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(_bytes(text), safe="")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


URL_SAFE = str.maketrans("+/", "-_")


# Escapes -----------------------------------------------------------------------------------------


def _decoded(
    text: str, escapes: re.Pattern[str], decode: Callable[[str], str]
) -> tuple[str, tuple[list[int], list[int], list[bool]]]:
    """Return a text with what its escapes stand for, and its places.

    They are where an escape begins or ends in the result, where it does in the text, and whether it begins.
    """
    parts: list[str] = []
    here, there, begins, done, size = [0], [0], [False], 0, 0
    for found in escapes.finditer(text):
        start, end = found.span()
        plain = decode(found[0])
        if not plain:
            continue
        parts += (text[done:start], plain)
        size += start - done
        here += (size, size + len(plain))
        there += (start, end)
        begins += (True, False)
        size, done = size + len(plain), end
    return "".join((*parts, text[done:])), (here, there, begins)


def _from(place: Span, places: tuple[list[int], list[int], list[bool]]) -> Span:
    """Return where a place in a decoded text is in the text itself; an escape belongs to it as a whole."""
    here, there, begins = places
    first = bisect_right(here, place[0]) - 1
    last = bisect_right(here, place[1] - 1) - 1
    start = there[first] if begins[first] else there[first] + place[0] - here[first]
    end = there[last + 1] if begins[last] else there[last] + place[1] - here[last]
    return start, end


def _backslash(escape: str) -> str:
    kind = escape[1]
    if kind == "u":
        return _utf16(bytes.fromhex(escape.replace("\\u", "")))
    if kind == "x":
        return _text(bytes.fromhex(escape.replace("\\x", "")))
    if kind == "U":
        code = int(escape[2:], base=16)  # noqa: FURB166
        return chr(code) if code <= 0x10FFFF else ""
    return PLAIN.get(escape, kind)


def _utf16(units: bytes) -> str:
    """Return the text in these units; empty if they have none."""
    try:
        return units.decode("utf-16-be", "surrogatepass")
    except UnicodeDecodeError:
        return ""


def _percent(escape: str) -> str:
    return _text(unquote_to_bytes(escape))


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


DECODERS = (("\\", BACKSLASHES, _backslash), ("%", PERCENTS, _percent), ("&", ENTITIES, unescape))
"""The sign of each kind of escapes, its pattern, and what an escape stands for."""
