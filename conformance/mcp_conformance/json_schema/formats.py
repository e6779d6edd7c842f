"""Texts that are certain to have a format, whichever validator reads it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection
from datetime import date
from typing import Any

from jsonschema.exceptions import FormatError

_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_CHARACTERS = r"(?:[\w.~/=&;,-]|%[0-9A-F]{2})*"
_REST = rf"(?:/{_CHARACTERS})?(?:\?{_CHARACTERS})?(?:#{_CHARACTERS})?"
_URI = rf"https?://{_HOST}(?::\d{{1,4}})?{_REST}"
_POINTER = r"(?:/[\w-]*)*"
_ATOM = r"(?:[a-z.]|\\d|\[(?:a-z|\^0-9)\])"
_TIMES = r"T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?"
_PATTERNS = {
    "time": _TIME,
    "duration": rf"P(?:\d+W|(?=\d|T)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:{_TIMES})?)",
    "email": rf"[A-Za-z0-9]+(?:[.+'-][A-Za-z0-9]+)*@{_LABEL}(?:\.{_LABEL})*\.[A-Za-z]{{2,}}",
    "hostname": _HOST,
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "uri": _URI,
    "uri-reference": rf"(?:{_URI}|[\w.-]+|{_REST})",
    "color": "#[0-9a-f]{6}",
    "json-pointer": _POINTER,
    "regex": rf"\^?{_ATOM}(?:\{{\d\}}|[+*?])?(?:\$|\|b)?",
    "relative-json-pointer": rf"\d(?:#|{_POINTER})",
}
_NAMED_LIKE = {"url": "uri", "iri": "uri", "iri-reference": "uri-reference", "uri-template": "uri"}
_NAMED_LIKE |= {"idn-email": "email", "idn-hostname": "hostname"}


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, _, time = text.partition("T")
    return _is_date(day) and _matches(_TIME, time)


def _is_address(of: Callable[[str], object], text: str) -> bool:
    try:
        of(text)
    except ValueError:
        return False
    return "%" not in text


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def is_certain(name: str, text: str) -> bool:
    """Return whether a text is certain to have the format ``name``; false where that is unknown."""
    name = _NAMED_LIKE.get(name, name)
    match name:
        case "date":
            return _is_date(text)
        case "date-time":
            return _is_date_time(text)
        case "ipv4":
            return _is_address(ipaddress.IPv4Address, text)
        case "ipv6":
            return _is_address(ipaddress.IPv6Address, text)
    return name in _PATTERNS and _matches(_PATTERNS[name], text)


class CertainFormats:
    """A checker of formats for validators: texts that may lack their format are invalid.

    ``known`` are texts that have the format of their place, whatever it is.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = known

    def check(self, value: Any, name: str) -> None:
        """Raise `FormatError` unless a text is certain to have this format; any other value needs none."""
        if isinstance(value, str) and value not in self._known and not is_certain(name, value):
            raise FormatError(f"{value!r} may not be a {name!r}")
