"""A file with environment variables, a line ``NAME=VALUE`` each."""

from __future__ import annotations

import re
from pathlib import Path

LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*)", re.DOTALL)
QUOTED = re.compile(r"(?P<quote>[\"'])(?P<text>.*)(?P=quote)", re.DOTALL)


class BadEnvFile(ValueError):  # noqa: N818
    """A file cannot be read as variables; the message says why, without the values."""


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables in a file; empty lines and those that begin with ``#`` count for nothing.

    A value in quotes is taken without them; nothing in it is expanded.  Raises `BadEnvFile`.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadEnvFile(f"{path}: {reason}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = LINE.fullmatch(text)
        if match is None:
            raise BadEnvFile(f"{path}:{number}: NAME=VALUE is expected")
        quoted = QUOTED.fullmatch(match["value"])
        found[match["name"]] = quoted["text"] if quoted else match["value"]
    return found
