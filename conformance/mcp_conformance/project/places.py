"""The lines of a configuration on which its servers stand."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

TableName = tuple[str, ...]
JSON_TOKEN = re.compile(
    r'(?P<key>"(?:\\.|[^"\\])*")\s*:|"(?:\\.|[^"\\])*"|(?P<open>[{\[])|(?P<close>[}\]])', re.DOTALL
)
"""A key, another string, whose content is passed over, or a bracket."""


def json_lines(text: str, table: TableName) -> dict[str, int]:
    """Return the line, counted from 1, of each member of an object in JSON."""
    found: dict[str, int] = {}
    path, key = list[str](), ""
    for token in JSON_TOKEN.finditer(text):
        if token["open"]:
            path.append(key)
        elif token["close"]:
            del path[-1:]
        elif token["key"]:
            key = json.loads(token["key"], strict=False)
            if tuple(path[1:]) == table:
                found[key] = text.count("\n", 0, token.start()) + 1
    return found


def toml_lines(text: str, table: TableName) -> dict[str, int]:
    """Return the line, counted from 1, on which each member of a table begins in TOML."""
    found: dict[str, int] = {}
    current: TableName = ()
    for number, line in enumerate(text.splitlines(), 1):
        head = _keys(line) if line.lstrip().startswith("[") else ()
        current = head or current
        keys = head or (*current, *_keys(f"{line.partition('=')[0]}= 0"))
        if keys[: len(table)] == table and len(keys) > len(table):
            found.setdefault(keys[len(table)], number)
    return found


def _keys(line: str) -> TableName:
    """Return the keys of a line of TOML, the outermost first; empty if it is not whole."""
    try:
        return tuple(_chain(tomllib.loads(line)))
    except (tomllib.TOMLDecodeError, RecursionError):
        return ()


def _chain(found: Any) -> Iterator[str]:
    while isinstance(found, dict) and found:
        name, found = next(iter(found.items()))
        yield name
