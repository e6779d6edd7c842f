"""A file with environment variables: a line ``NAME=VALUE`` each, or one JSON object of texts."""

from __future__ import annotations

import json
import re
from pathlib import Path

from mcp_conformance.transport.files import bounded_text

NAME = re.compile(r"[A-Za-z_]\w*")
LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*)", re.DOTALL)
QUOTED = re.compile(r"(?P<quote>[\"'])(?P<text>.*)(?P=quote)", re.DOTALL)


class BadEnvFile(ValueError):  # noqa: N818
    """A file cannot be read as variables; the message says why, without the values."""


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables in a file; empty lines and those that begin with ``#`` count for nothing.

    A value in quotes is taken without them; nothing in it is expanded.  A JSON object has values of several
    lines too.  Raises `BadEnvFile`.
    """
    try:
        content = bounded_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadEnvFile(f"{path}: {reason}") from None
    return _of_json(path, content) if content.lstrip().startswith("{") else _of_lines(path, content)


def _of_json(path: Path, content: str) -> dict[str, str]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise BadEnvFile(f"{path}: not JSON") from None
    if not all(NAME.fullmatch(name) and isinstance(text, str) for name, text in found.items()):
        raise BadEnvFile(f"{path}: an object is expected in which each variable has a text")
    return dict(found)


def _of_lines(path: Path, content: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(content.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = LINE.fullmatch(text)
        if match is None:
            raise BadEnvFile(f"{path}:{number}: NAME=VALUE is expected")
        quoted = QUOTED.fullmatch(match["value"])
        found[match["name"]] = quoted["text"] if quoted else match["value"]
    return found
