"""Reading the files that describe a project."""

from __future__ import annotations

import configparser
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_conformance.transport.files import BadFile, json_value, read_file, toml_value

PROJECT_FILE, CONFIGURATION_FILE = "pyproject.toml", "mcp-conformance.toml"
CONFIGURATION_TABLE = "mcp-conformance"
"""The table of pyproject.toml, in ``tool``, that has what is in the configuration file otherwise."""
CONFIGURATION_PLACES = f"{CONFIGURATION_FILE} or [tool.{CONFIGURATION_TABLE}] of {PROJECT_FILE}"


MAX_FILE_BYTES = 16_000_000
"""The longest file of a project that is read, and far more than a lock file has."""


def repository_root(folder: Path) -> Path:
    """Return the root of the git repository around a folder; the folder itself outside a repository."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def expect_inside(root: Path, path: Path) -> None:
    """Raise `ValueError` for a path that leads out of a folder, by itself or by a link."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise ValueError(f"{path} leads out of {root}: only the command line may name it")


def subfolders(folder: Path) -> Iterator[Path]:
    """Yield the visible folders in a folder, sorted."""
    hidden = (".", "_")
    yield from sorted(one for one in folder.glob("*/") if one.is_dir() and not one.name.startswith(hidden))


def read_text(path: Path) -> str:
    """Return the text of a file; empty if there is none.  Raises `BadFile`."""
    return read_file(path, str, MAX_FILE_BYTES) if path.exists() else ""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; empty if there is none.  Raises `BadFile`."""
    return read_file(path, toml_value, MAX_FILE_BYTES) if path.exists() else {}


def read_ini(path: Path) -> configparser.RawConfigParser:
    """Return the content of an INI file; empty if there is none.  Raises `BadFile`."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(read_text(path))
    except configparser.Error as error:
        raise BadFile(f"{path.name}: {str(error).splitlines()[0]}") from error
    return parser


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if there is none.  Raises `BadFile`."""
    return as_table(read_file(path, json_value, MAX_FILE_BYTES) if path.exists() else {})


def as_table(value: Any, *names: str) -> dict[str, Any]:
    """Return the table in a table that these names lead to; an empty one if there is no table."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def as_string(value: Any) -> str:
    """Return a string as it is, and an empty one for any other value."""
    return value if isinstance(value, str) else ""
