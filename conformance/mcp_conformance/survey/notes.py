"""What the red rules of a survey mean, as somebody who read them has written it down."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

Notes = Mapping[tuple[str, str], str]
"""What a red rule means, by the target's name and the rule."""


class BadNotes(ValueError):  # noqa: N818  (its message is what the user reads)
    """A file of notes cannot be used; the message says why."""


def read_notes(path: Path) -> Notes:
    """Return the notes of a TOML file: tables ``[[read]]`` with requirement, servers and note.

    Raises `BadNotes` for a file that has none, or two for one server and rule.
    """
    try:
        read = [
            (server, one["requirement"], one["note"])
            for one in tomllib.loads(path.read_text(encoding="utf-8"))["read"]
            for server in one["servers"]
        ]
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise BadNotes(f"{path}: tables [[read]] with requirement, servers and note are expected") from error
    found: dict[tuple[str, str], str] = {}
    for server, rule, note in read:
        if (server, rule) in found:
            raise BadNotes(f"{path}: {server}: {rule} has two notes")
        found[server, rule] = note
    return found
