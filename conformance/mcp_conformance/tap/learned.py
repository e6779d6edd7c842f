"""Which texts a session itself shows to be credentials, in JSON, in text and in headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp_conformance.transport.credentials import (
    COMMON,
    HIDDEN,
    MIN_LENGTH,
    SCHEME,
    USER_INFO,
    Secret,
    is_secret_name,
    secrets_of,
)

NOT_NAMES = frozenset({"progressToken", "nextCursor", "cursor", "requestState", "key", "keys", "uri"})
"""Members with the names of credentials that the protocol, or many a tool, has for something else."""
MAX_NESTED = 3
"""How often a text is read as JSON: what a tool returns is JSON in a text in JSON."""
MIN_DIGITS = 6
"""Shorter numbers count things.  Not measured: one-time passwords have six digits."""
TEXT = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{2,60})[\"'\\]*\s*[=:]\s*[\"'\\]*"
    r"(?:(?:Bearer|Basic|Token)\s+)?(?=(?P<value>[\w+/~!@#%^*.-]{8,}={0,2}))",
    re.IGNORECASE,
)
"""``password: X``, ``API_KEY=X``, ``Authorization: Bearer X``, ``"token": "X"``, ``?token=X`` in any text.

A value has none of the signs after a name: else a text of names alone would be read again for each.
"""
USER_OPTION = re.compile(r"(?:\s-u|--user)[\s=]+[^\s:]+:([^\s\"'\\]{4,})")
"""``curl -u user:X``."""
COOKIE = re.compile(r"[^\s;=]+=([^\s;]{8,})")
RANDOM = re.compile(r"[\w+=-]{20,}", re.ASCII)
MIN_DIFFERENT = 12
"""So many different characters has a word of which nothing but its look says that it is a credential."""


def in_message(message: Any) -> Iterator[Secret]:
    """Yield what stands under the name of a credential in a JSON value, and in the JSON texts in it."""
    waiting: list[tuple[Any, int]] = [(message, 0)]
    while waiting:
        value, nested = waiting.pop()
        if isinstance(value, dict):
            for name, inner in _members(value):
                if name not in NOT_NAMES and is_secret_name(name):
                    yield from _under(name, inner)
            waiting += ((inner, nested) for inner in value.values())
        elif isinstance(value, list):
            if all(isinstance(one, str) for one in value):
                yield from _in_words(value)
            waiting += ((inner, nested) for inner in value)
        elif isinstance(value, str) and nested < MAX_NESTED and value.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                waiting.append((json.loads(value), nested + 1))


def _members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object, and what it says of itself: ``{"name": "API_KEY", "value": "X"}``."""
    yield from value.items()
    name = value.get("name", value.get("key"))
    if isinstance(name, str):
        yield name, value.get("value")


def in_text(text: str) -> Iterator[Secret]:
    """Yield what follows the name of a credential in a text, and passwords in URLs and options.

    The text may be a line that is not JSON.  Only what has letters and digits counts: `token: string` is of
    a documentation.
    """
    for found in TEXT.finditer(text):
        value = found["value"].rstrip(".:")
        if found["name"] not in NOT_NAMES and is_secret_name(found["name"]) and _is_mixed(value):
            yield Secret(value, True)
    passwords = (one[0].partition(":")[2] for one in USER_INFO.finditer(text))
    for password in (*passwords, *(one[1] for one in USER_OPTION.finditer(text))):
        if len(password) >= MIN_LENGTH and HIDDEN not in password:
            yield Secret(password, True)


def in_headers(headers: Iterable[Sequence[str]]) -> Iterator[Secret]:
    """Yield the credentials in headers: under their names, after a scheme, and in cookies."""
    for name, text in headers:
        if is_secret_name(name) or SCHEME.fullmatch(text.strip()):
            yield from _named(name if is_secret_name(name) else "Authorization", text)


def in_command(command: Sequence[str]) -> Iterator[Secret]:
    """Yield the words of a command, and the parts of the paths of its URLs, that look like tokens."""
    for word in command:
        for one in urlsplit(word).path.split("/") if "://" in word else (word,):
            if RANDOM.fullmatch(one) and _is_mixed(one) and len(set(one)) >= MIN_DIFFERENT:
                yield Secret(one, True)


def _under(name: str, value: Any) -> Iterator[Secret]:
    """Yield what is a credential in the value of a member; in a list or object only what looks like one."""
    if isinstance(value, str):
        yield from _named(name, value)
    elif isinstance(value, int) and not isinstance(value, bool) and not name.lower().endswith("tokens"):
        digits = str(value) if abs(value) < 10**30 else ""
        yield from (Secret(digits, True),) if len(digits) >= MIN_DIGITS else ()
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, str) and _is_mixed(inner):
                yield Secret(inner, True)


def _named(name: str, text: str) -> Iterator[Secret]:
    if HIDDEN not in text and len(text) >= MIN_LENGTH and text.lower() not in COMMON:
        yield from (one for one in secrets_of((), {name: text}) if one.is_named)
    if "cookie" in name.lower():
        yield from (Secret(one, True) for one in COOKIE.findall(text) if HIDDEN not in one)


def _in_words(words: Sequence[str]) -> Iterator[Secret]:
    """Yield the credentials in words of a command, and in a pair of a name and a value."""
    yield from (one for one in secrets_of(words) if one.is_named and HIDDEN not in one.text)
    if len(words) == 2 and is_secret_name(words[0]) and words[0] not in NOT_NAMES:
        yield from _named(*words)


def _is_mixed(text: str) -> bool:
    """Return whether a text has letters and digits, but no space, as what a machine has made."""
    is_long = len(text) >= 8 and not any(map(str.isspace, text))
    return is_long and any(map(str.isdigit, text)) and any(map(str.isalpha, text)) and HIDDEN not in text
