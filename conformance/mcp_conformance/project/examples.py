"""Write example arguments of tools into the configuration file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp_conformance.project.files import CONFIGURATION_FILE, CONFIGURATION_TABLE, as_table
from mcp_conformance.transport.writing import write_named

KEY = "example"
SERVERS = "servers"


def write_examples(path: Path, server: str, examples: Sequence[str]) -> bool:
    """Add examples (``TOOL JSON``) to the table of a server, an empty name for the only one; True if done.

    The file stays as it is if its table has examples already, or is not where such a table usually stands.
    Raises `OSError`.
    """
    text = path.read_bytes().decode("utf-8-sig")
    end = "\r\n" if "\r\n" in text else "\n"
    names = [] if path.name == CONFIGURATION_FILE else ["tool", CONFIGURATION_TABLE]
    names += [SERVERS, server] if server else []
    lines = text.splitlines(keepends=True)
    headers = (f"[{'.'.join(names)}]", f"[{'.'.join([*names[:-1], json.dumps(server)])}]")
    found = [number for number, line in enumerate(lines, 1) if line.strip() in headers]
    at = found[0] if found else 0
    if names and not found:
        return False
    addition = "".join(f"{line}{end}" for line in example_lines(examples))
    both = "".join([*lines[:at], addition, *lines[at:]])
    if not _adds_only(text, both, names, list(examples)):
        return False
    write_named(path, both)
    return True


def example_lines(examples: Sequence[str]) -> list[str]:
    """Return the lines of TOML with examples, each (``TOOL JSON``) in quotes that it does not have."""
    quoted = [f"'{one}'" if one.isprintable() and "'" not in one else json.dumps(one) for one in examples]
    return [f"{KEY} = [", *(f"  {one}," for one in quoted), "]"]


def _adds_only(before: str, after: str, names: Sequence[str], examples: list[str]) -> bool:
    """Return whether a file differs from another only by the examples in a table."""
    try:
        old, new = tomllib.loads(before), tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return False
    table: dict[str, Any] = as_table(new, *names)
    if KEY in as_table(old, *names) or table.get(KEY) != examples:
        return False
    del table[KEY]
    return old == new
