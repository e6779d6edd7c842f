"""URIs (RFC 3986) and URI templates (RFC 6570): their grammar, and the expansion of templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

_ESCAPED = "%[0-9A-Fa-f]{2}"
# Before Python 3.11.5 a possessive repetition keeps a part of what failed inside, so only classes have one.
_NAME = rf"(?:[A-Za-z0-9._~!$&'()*+,;=-]++|{_ESCAPED})*"
_USER = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:-]++|{_ESCAPED})*"
_SEGMENT = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]++|{_ESCAPED})*"
_TAIL = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]++|{_ESCAPED})*"
_HOST = rf"(?:\[[0-9A-Za-z._~!$&'()*+,;=:-]++\]|{_NAME})"
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*+:"
    rf"(?://(?:{_USER}@)?{_HOST}(?::[0-9]*+)?(?:/{_SEGMENT})*|(?!//){_SEGMENT}(?:/{_SEGMENT})*)"
    rf"(?:\?{_TAIL})?(?:#{_TAIL})?"
)
_SCHEME = re.compile(r"([\w+.-]+):")

_LITERAL = rf"[^\x00-\x20\"%<>\\^`{{|}}\x7f-\x9f]|{_ESCAPED}"
_WORD = rf"(?:[A-Za-z0-9_]++|{_ESCAPED})+"
_VARIABLE = rf"{_WORD}(?:\.{_WORD})*(?::[1-9][0-9]{{0,3}}|\*)?"
_EXPRESSION = re.compile(rf"\{{([+#./;?&=,!@|]?)({_VARIABLE}(?:,{_VARIABLE})*)\}}")
_TEMPLATE = re.compile(rf"(?:{_LITERAL}|{_EXPRESSION.pattern})*")
_STYLES = {  # operator -> prefix, separator, and whether names precede the values
    "": ("", ",", False),
    "+": ("", ",", False),
    "#": ("#", ",", False),
    ".": (".", ".", False),
    "/": ("/", "/", False),
    ";": (";", ";", True),
    "?": ("?", "&", True),
    "&": ("&", "&", True),
}
_RESERVED = ":/?#[]@!$&'()*+,;="

NETWORK_SCHEMES = ("http", "https", "ws", "wss", "ftp", "sftp", "ssh", "git")
"""Schemes for which a read may need the network."""


def is_uri(text: str) -> bool:
    """Return whether the text is a URI by the grammar of RFC 3986, scheme included."""
    return _URI.fullmatch(text) is not None


def scheme(text: str) -> str:
    """Return the text before the first colon in lower case, a legal scheme or not; empty if there is none."""
    found = _SCHEME.match(text)
    return found[1].lower() if found else ""


def is_template(text: str) -> bool:
    """Return whether the text is a URI template by RFC 6570; a text without braces may be one."""
    return _TEMPLATE.fullmatch(text) is not None


def variables(template: str) -> list[str]:
    """Return the variables that an expansion needs; those of a query only if there are no others."""
    found = [(match[1] in ("?", "&"), _names(match[2])) for match in _EXPRESSION.finditer(template)]
    path = [name for optional, names in found if not optional for name in names]
    return list(dict.fromkeys(path or [name for _, names in found for name in names]))


def all_variables(template: str) -> list[str]:
    """Return all variables of a template, those of its query too."""
    return list(dict.fromkeys(name for match in _EXPRESSION.finditer(template) for name in _names(match[2])))


def _names(variable_list: str) -> list[str]:
    return [one.rstrip("*").partition(":")[0] for one in variable_list.split(",")]


def expand(template: str, values: Mapping[str, str]) -> str:
    """Return the expansion of a template; variables without a value are left out."""
    return _EXPRESSION.sub(lambda match: _expanded(match[1], match[2], values), template)


def _expanded(operator: str, variable_list: str, values: Mapping[str, str]) -> str:
    first, separator, named = _STYLES.get(operator, _STYLES[""])
    parts = []
    for one in variable_list.split(","):
        name, _, length = one.rstrip("*").partition(":")
        if name in values:
            value = values[name][: int(length)] if length else values[name]
            text = quote(value, safe=_RESERVED if operator in ("+", "#") else "", errors="replace")
            parts.append(f"{name}={text}" if named else text)
    return first + separator.join(parts) if parts else ""


def matches(template: str, uri: str) -> bool:
    """Return whether some values expand a template to this URI."""
    reached, start = {0}, 0
    for match in _EXPRESSION.finditer(template):
        reached = _after_value(_after_text(reached, template[start : match.start()], uri), match[1], uri)
        start = match.end()
    return len(uri) in _after_text(reached, template[start:], uri)


def _after_text(reached: set[int], text: str, uri: str) -> set[int]:
    return {at + len(text) for at in reached if uri.startswith(text, at)}


def _after_value(reached: set[int], operator: str, uri: str) -> set[int]:
    found, inside = set(), False
    for at in range(len(uri) + 1):
        ended = operator == "" and at > 0 and uri[at - 1] in "/?#"
        inside = at in reached or (inside and not ended)
        if inside:
            found.add(at)
    return found
