"""What the red rules of a survey mean, as somebody who read them has written it down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from mcp_conformance.protocol.shape import misfit
from mcp_conformance.transport.files import MAX_TOML_BYTES, BadFile, read_file, toml_value

Notes = Mapping[tuple[str, str], str]
"""What a red rule means, by the target's name and the rule."""


class _Note(TypedDict):
    requirement: str
    servers: list[str]
    note: str


class _Notes(TypedDict):
    read: list[_Note]


def read_notes(path: Path) -> Notes:
    """Return the notes of a TOML file: tables ``[[read]]`` with requirement, servers and note.

    Raises `BadFile` for a file that has none, or two for one server and rule.
    """
    tables = read_file(path, toml_value, MAX_TOML_BYTES)
    if place := misfit(tables, _Notes, "the file"):
        raise BadFile(
            f"{path}: tables [[read]] with requirement, servers and note are expected: {place} is another"
        )
    read = [(server, one["requirement"], one["note"]) for one in tables["read"] for server in one["servers"]]
    found: dict[tuple[str, str], str] = {}
    for server, rule, note in read:
        if (server, rule) in found:
            raise BadFile(f"{path}: {server}: {rule} has two notes")
        found[server, rule] = note
    return found
