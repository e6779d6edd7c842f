"""The challenges in WWW-Authenticate: which authorization a server asks for (RFC 9110, section 11.6.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
ELEMENT = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*")*')
"""What stands between two commas of a list; a comma in a quoted string does not end it."""
PARAMETER = re.compile(rf'({WORD})[ \t]*=[ \t]*(?:({WORD})|"((?:[^"\\]|\\.)*)")')
SCHEME = re.compile(rf"({WORD})(?: +(.*))?")
WORD_68 = re.compile(r"[A-Za-z0-9._~+/-]+=*")


@dataclass
class Challenge:
    """One challenge: its scheme in lower case, and its parameters by their names in lower case."""

    scheme: str
    parameters: dict[str, str] = field(default_factory=dict)


def challenges(values: Iterable[str]) -> list[Challenge]:
    """Return the challenges in the values of WWW-Authenticate; raise `ValueError` if they are malformed."""
    found = list[Challenge]()
    for element in (one for value in values for one in _elements(value)):
        parameter = PARAMETER.fullmatch(element)
        if parameter is None:
            scheme, rest = _begun(element)
            found.append(Challenge(scheme))
            parameter = PARAMETER.fullmatch(rest)
        elif not found:
            raise ValueError(f"the parameter {element} comes before any scheme")
        if parameter is not None:
            _add(found[-1], parameter)
    return found


def _elements(value: str) -> Iterator[str]:
    """Yield the elements of a list that are not empty."""
    at = 0
    while at <= len(value):
        match = ELEMENT.match(value, at)
        assert match is not None
        if value[match.end() : match.end() + 1] == '"':
            raise ValueError("a quoted string has no end")
        if element := match[0].strip(" \t"):
            yield element
        at = match.end() + 1


def _begun(element: str) -> tuple[str, str]:
    """Return the scheme with which a challenge begins, and its first parameter or the text in its place."""
    match = SCHEME.fullmatch(element)
    rest = (match[2] or "").strip(" ") if match is not None else ""
    if match is None or not (not rest or PARAMETER.fullmatch(rest) or WORD_68.fullmatch(rest)):
        raise ValueError(f"{element!r} is neither a scheme nor a parameter")
    return match[1].lower(), rest


def _add(challenge: Challenge, match: re.Match[str]) -> None:
    name, token, quoted = match.groups()
    if name.lower() in challenge.parameters:
        raise ValueError(f"the parameter {name} comes twice")
    challenge.parameters[name.lower()] = token if token is not None else re.sub(r"\\(.)", r"\1", quoted)
