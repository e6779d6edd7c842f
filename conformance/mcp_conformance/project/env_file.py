"""A file with environment variables: a line ``NAME=VALUE`` each, or one JSON object of texts."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_conformance.transport.files import BadFile, json_value, read_file

NAME = re.compile(r"[A-Za-z_]\w*")
LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*)", re.DOTALL)
SURROGATE = re.compile("[\ud800-\udfff]")
# Not measured: Linux starts no program with more than some two megabytes of variables.
MAX_BYTES = 16_000_000
QUOTED = re.compile(r"(?P<quote>[\"'])(?P<text>.*)(?P=quote)", re.DOTALL)


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables in a file; empty lines and those that begin with ``#`` count for nothing.

    A value in quotes is taken without them; nothing in it is expanded.  A JSON object has values of several
    lines too.  Raises `BadFile`, without the values.
    """
    return read_file(path, _variables, MAX_BYTES)


def _variables(content: str) -> dict[str, str]:
    found = _of_json(content) if content.lstrip().startswith("{") else _of_lines(content)
    if odd := next((name for name, text in found.items() if not _is_possible(text)), ""):
        raise BadFile(f"no variable can have the value of {odd}: it has a NUL, or half of a character")
    return found


def _is_possible(text: str) -> bool:
    """Return whether the environment of a process can have a text."""
    return "\0" not in text and SURROGATE.search(text) is None


def _of_json(content: str) -> dict[str, str]:
    try:
        found = json_value(content)
    except BadFile:
        raise BadFile("not JSON") from None
    if not all(NAME.fullmatch(name) and isinstance(text, str) for name, text in found.items()):
        raise BadFile("an object is expected in which each variable has a text")
    return dict(found)


def _of_lines(content: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(content.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = LINE.fullmatch(text)
        if match is None:
            raise BadFile(f"line {number}: NAME=VALUE is expected")
        quoted = QUOTED.fullmatch(match["value"])
        found[match["name"]] = quoted["text"] if quoted else match["value"]
    return found
