"""What is removed from exchanges before they are kept: credentials by value, by name and by look.

A value that is removed by its name or its look has a stand-in: the same one wherever the value is, of its
shape, so that an id of one answer is still that of a later request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from secrets import token_bytes
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from mcp_conformance.backend.exchange import FRAMING, Answered, Exchange, Headers
from mcp_conformance.backend.har import FORM
from mcp_conformance.protocol.text import named
from mcp_conformance.transport.credentials import COMMON, HIDDEN, is_secret_name, secrets_of
from mcp_conformance.transport.looks import credentials_in
from mcp_conformance.transport.redaction import MIN_ANYWHERE, Redaction

SHOWN_HEADERS = frozenset(
    (
        *(
            "accept",
            "accept-encoding",
            "accept-language",
            "content-type",
            "user-agent",
            "host",
            "if-none-match",
            "range",
        ),
        *("if-modified-since", "x-requested-with", "notion-version", "x-github-api-version", "api-version"),
    )
)
"""The headers of a request whose values are kept; an API may have a header of its own for a key."""
SECRET_HEADERS = frozenset(("set-cookie", "www-authenticate", "authentication-info"))
"""The headers of an answer, beside those with the name of a credential, whose values are removed."""
MAX_LEARNED = 200
"""How many values that stood under the name of a credential are searched for elsewhere.

Not measured: each costs a look at every text.
"""
MIN_SHORT = 4
"""Shorter texts have no credential."""
MIN_RANDOM, MIN_UNREADABLE = 16, 12
"""How long a word is that may be random, and how much of it reads like no word.  API keys have 20 or more."""
WORD = re.compile(rf"(?:[A-Za-z0-9_+/=~-]|%[0-9A-Fa-f]{{2}}){{{MIN_RANDOM},}}")
LETTER, HYPHEN = re.compile("[A-Za-z]"), re.compile("[-_]")
UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HEX = re.compile(r"(?i)[0-9a-f]{24,}")
STAND_IN = re.compile(r"removed-[0-9a-f]{8}x*|0{8}-0000-4000-8000-0000[0-9a-f]{8}|0{8,}[0-9a-f]{8}")
PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
"""A run of letters or digits in a word, as names are made of: ``getUser2`` has three."""
MEAN_PIECE, MEAN_OF_ALL = 3.2, 2.5
"""Runs of names are longer on average, and those of a path with numbers; random ones have 1.8 to 2.9."""
TO_DIGIT, MAX_TO_DIGIT = re.compile(r"[A-Za-z](?=[0-9])"), 3
"""A digit after a letter: random words have more than names."""
CONSONANTS = re.compile(r"(?i)[bcdfghjklmnpqrstvwxz]{5}")
"""More consonants in a row than words have."""
NAMED = re.compile(
    r"""(?P<name>\b[A-Za-z_][\w.-]{0,60})(?P<sign>\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:(?:Bearer|Basic|Token)\s+)?)"""
    r"""(?P<value>[^\s"'\\&<>,;{}\[\]()]{4,})""",
    re.IGNORECASE,
)
"""A name and a value in a text: in a query, a header, JSON or a message."""
ELEMENT = re.compile(
    r"(?P<sign><(?P<name>[A-Za-z_][\w.-]{0,60})(?:\s[^<>]{0,200})?>)(?P<value>[^<>]{4,})(?=</)"
)
"""An element of XML."""


class Cleaner:
    """Removes credentials from exchanges.

    ``given`` finds what the user gave; ``sources`` say which variable or header a text has the value of.
    ``removed`` are the names of what was removed so far.
    """

    def __init__(self, given: Redaction, sources: Mapping[str, Redaction] | None = None):
        self._all, self._sources = given, sources or {}
        self._learned: dict[str, None] = {}
        self._key = token_bytes(16)
        self.removed: set[str] = set()

    def learn(self, one: Exchange) -> bool:
        """Take note of the values under names of credentials; return whether there is a new one."""
        before = len(self._learned)
        for name, text in (*_named_values(one), *_cookies(one)):
            secrets = secrets_of((), {name: text})
            found = [secret.text for secret in secrets if len(secret.text) >= MIN_ANYWHERE]
            self._learned |= dict.fromkeys(found[: MAX_LEARNED - len(self._learned)])
        if len(self._learned) == before:
            return False
        self._all = self._all.also(*self._learned)
        return True

    def __call__(self, one: Exchange) -> Exchange:
        """Return an exchange without credentials."""
        asked, answered = one.asked, one.answered
        path, mark, query = asked.target.partition("?")
        segments = [quote(self._text(unquote(part)), safe=":@!$&'()*+,;=~*-._") for part in path.split("/")]
        target = "/".join(segments) + mark + self._form(query, "query")
        clean = replace(
            asked,
            origin=self._all.text(asked.origin),
            target=target,
            headers=tuple(self._headers(asked.headers, lambda name: name not in SHOWN_HEADERS)),
            body=self._body(asked.body, asked.header("content-type")),
        )
        kind = next((text for name, text in answered.headers if name == "content-type"), "")
        headers = tuple(self._headers(answered.headers, _is_secret_header))
        return replace(
            one, asked=clean, answered=Answered(answered.status, headers, self._body(answered.body, kind))
        )

    # Parts of a message --------------------------------------------------------------------------

    def _headers(self, headers: Headers, is_hidden: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        for name, text in headers:
            if name in FRAMING:
                continue
            if is_hidden(name) and text:
                self.removed.add(f"header {named(name, 60)}")
                yield name, HIDDEN
            else:
                yield name, self._text(text)

    def _form(self, text: str, place: str) -> str:
        """Return the pairs of a query or a form."""
        pairs = parse_qsl(text, keep_blank_values=True)
        return urlencode(
            [(self._text(name), self._value(value, name, place)) for name, value in pairs], safe="/:,*"
        )

    def _body(self, body: bytes, kind: str) -> bytes:
        if not body:
            return body
        try:
            text = body.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text or kind.startswith("multipart/"):
            return self._bytes(body, kind)
        try:
            value = json.loads(text)
            return json.dumps(self._value(value)).encode()
        except (ValueError, RecursionError):
            return (self._form(text, "member") if kind.startswith(FORM) else self._text(text)).encode()

    def _bytes(self, body: bytes, kind: str) -> bytes:
        """Return a body that is not a text, or nothing if it has a credential or parts with names."""
        if not kind.startswith("multipart/") and not self._all.hides(body.decode("latin-1")):
            return body
        self.removed.add(f"body of {named(kind.partition(';')[0], 60) or 'an unknown type'}")
        return b""

    def _value(self, value: Any, name: str = "", place: str = "member") -> Any:
        """Return a value of JSON, or one of a form, under this name."""
        if isinstance(value, dict):
            return {self._text(each): self._value(one, each, place) for each, one in value.items()}
        if isinstance(value, list):
            return [self._value(one, name, place) for one in value]
        if value is None or isinstance(value, bool) or value == "":
            return value
        is_hidden = is_secret_name(name) and str(value).lower() not in COMMON
        if is_hidden:
            self.removed.add(f"{place} {named(self._text(name), 60)}")
        if isinstance(value, str):
            return self._stand_in(value) if is_hidden else self._text(value)
        return 0 if is_hidden else self._all(value)

    # Texts ---------------------------------------------------------------------------------------

    def _text(self, text: str) -> str:
        """Return a text without credentials."""
        if len(text) < MIN_SHORT:
            return text
        shown = self._all.text(text)
        if shown != text:
            self._note(text)
        for pattern in (NAMED, ELEMENT):
            shown = pattern.sub(self._named, shown)
        return WORD.sub(self._word, shown)

    def _note(self, text: str) -> None:
        """Take note of which credentials a text has."""
        found = [f"value of {name}" for name, one in self._sources.items() if one.hides(text)]
        self.removed.update(found or (kind for kind, _ in credentials_in(text)))

    def _named(self, found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if (
            not is_secret_name(name)
            or value.lower() in COMMON
            or value == HIDDEN
            or STAND_IN.fullmatch(value)
        ):
            return found[0]
        self.removed.add(f"text after {named(name, 60)}")
        return found[0].removesuffix(value) + self._stand_in(value)

    def _word(self, found: re.Match[str]) -> str:
        if not is_random(found[0]):
            return found[0]
        self.removed.add("text that looks random")
        return (
            UUID.sub(lambda one: self._stand_in(one[0]), found[0])
            if UUID.search(found[0])
            else self._stand_in(found[0])
        )

    def _stand_in(self, text: str) -> str:
        """Return what stands for a text: nobody finds the text by it, as the key of the hash is not kept."""
        if STAND_IN.fullmatch(text):
            return text
        tag = blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=4).hexdigest()
        if UUID.fullmatch(text):
            return f"00000000-0000-4000-8000-0000{tag}"
        return (
            tag.rjust(len(text), "0")
            if HEX.fullmatch(text)
            else f"removed-{tag}".ljust(min(len(text), 64), "x")
        )


def is_random(word: str) -> bool:
    """Return whether a word looks as if a machine has made it by chance: an id, a key or base64."""
    word = unquote(word)
    if STAND_IN.fullmatch(word) or len(LETTER.findall(word)) < MIN_SHORT:
        return False
    if UUID.search(word) or HEX.search(word):
        return True
    # Base64 has many short parts, and so has what is written with hyphens.
    if not HYPHEN.search(word) and _mean_piece(word) < MEAN_OF_ALL:
        return True
    return sum(len(part) for part in re.split(r"[^A-Za-z0-9]", word) if not _reads(part)) >= MIN_UNREADABLE


def _reads(part: str) -> bool:
    """Return whether letters and digits are a word, or words and numbers, as a name is."""
    if len(part) < MIN_SHORT or part.isdecimal():
        return True
    is_mixed = _mean_piece(part) < MEAN_PIECE or len(TO_DIGIT.findall(part)) >= MAX_TO_DIGIT
    return not is_mixed and CONSONANTS.search(part) is None


def _mean_piece(text: str) -> float:
    pieces = PIECE.findall(text)
    return sum(map(len, pieces)) / len(pieces)


def _is_secret_header(name: str) -> bool:
    return name in SECRET_HEADERS or is_secret_name(name)


def _named_values(one: Exchange) -> Iterator[tuple[str, str]]:
    """Yield the names of credentials in a request and the answer, each with its value."""
    asked, answered = one.asked, one.answered
    pairs = [*asked.headers, *parse_qsl(asked.target.partition("?")[2])]
    for body, kind in ((asked.body, asked.header("content-type")), (answered.body, "")):
        if kind.startswith(FORM):
            pairs += parse_qsl(body.decode("latin-1"))
            continue
        try:
            pairs += _members(json.loads(body))
        except (ValueError, RecursionError):
            continue
    yield from ((name, text) for name, text in pairs if is_secret_name(name))


def _members(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in a value of JSON, each with the name that it stands under."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.items()
        elif isinstance(one, list):
            waiting += ((name, each) for each in one)
        elif isinstance(one, str):
            yield name, one


def _cookies(one: Exchange) -> Iterator[tuple[str, str]]:
    """Yield each cookie under a name of a credential."""
    sent = [text for name, text in one.asked.headers if name == "cookie"]
    made = [text.partition(";")[0] for name, text in one.answered.headers if name == "set-cookie"]
    for pair in (pair for text in (*sent, *made) for pair in text.split(";")):
        yield "cookie", pair.partition("=")[2].strip()
