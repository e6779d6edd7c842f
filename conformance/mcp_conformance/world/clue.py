"""Clues: what a refusal tells about the arguments that it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_conformance.world.known import Owner


@dataclass(frozen=True)
class Clue:
    """What one reader found in a refusal.

    ``member`` is the member that it speaks of, by its name or as ``outer.inner``; empty if the refusal does
    not say.  ``values`` are candidates for it, the likeliest first, with their ``owner``.  ``needs`` are
    members to add, ``without`` members to leave out.  ``ending`` is the ending that a file's name needs,
    ``inside`` the folder that a path must be inside; ``is_absolute`` says that a path must be absolute,
    ``kind`` that it must be of a "file" or of a "directory",
    ``type`` names the JSON type that is wanted, ``low`` and ``high`` are bounds of a number, of
    a length or of a count, ``pattern`` is one in
    ECMA-262 or a format in words (``YYYY-MM-DD``).  ``is_missing`` says that what the value names does not
    exist, ``is_taken`` that it exists already.  ``first`` are tools that the refusal names: to call first.
    """

    reader: str
    member: str = ""
    values: tuple[Any, ...] = ()
    owner: Owner = Owner.FOUND
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    ending: str = ""
    inside: str = ""
    is_absolute: bool = False
    kind: str = ""
    type: str = ""
    low: float | None = None
    high: float | None = None
    pattern: str = ""
    is_missing: bool = False
    is_taken: bool = False
    first: tuple[str, ...] = ()
