"""Ownership: whose a value is, and which tools may get it: what was there before is read, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.world.known import Known, Owner
from mcp_conformance.world.members import words_of
from mcp_conformance.world.ours import Ours

DELETING = frozenset(
    {
        *("delete", "remove", "drop", "destroy", "purge", "erase", "wipe", "clear", "unlink", "trash"),
        *("uninstall", "revoke", "rename", "move", "truncate", "discard", "forget"),
    }
)
"""Words in the names of tools after whose success a thing is gone from where it was."""


def made_text(seed: int, runs: int = 0) -> str:
    """Return the text by which what this run makes is recognised; it is a name in most languages.

    After so many ``runs`` on the same server it is another one: what those made may be there still.
    """
    return f"example{blake2b(f'{seed} {runs}'.removesuffix(' 0').encode(), digest_size=2).hexdigest()}"


def is_deleting(tool: Tool) -> bool:
    """Return whether a tool takes something away, by the words of its name; one that only reads does not."""
    return not tool.read_only and bool(set(words_of(tool.name)) & DELETING)


@dataclass(frozen=True)
class Ownership:
    """Whose values are, and who may get them.

    This run calls what it makes by its ``text``, which nobody else has; ``ours`` recognises what it made.
    ``uses_found`` says that the user lets tools that may write have values that were found, ``is_closed``
    that nothing of the user's can be written.
    """

    text: str
    ours: Ours
    uses_found: bool = False
    is_closed: bool = False

    def owner_of(self, value: Any, usual: Owner = Owner.FOUND) -> Owner:
        """Return whose a value is: ours, else the ``usual`` one for its source."""
        return Owner.MADE if self.ours.is_made(value) else usual

    def owner_of_new(self, value: Any, like: Owner) -> Owner:
        """Return whose a value is that we composed from another, whose owner is ``like``.

        A new file in a folder of the user's is not ours to write.
        """
        if isinstance(value, str) and is_absolute(value) and not self.ours.has_path(value):
            return Owner.FOUND if like is Owner.WORD else like
        return Owner.MADE

    def permits(self, tool: Tool, known: Known) -> bool:
        """Return whether a tool may get a value.

        A tool that may write gets no value that was found, unless nothing of the user's can be written or
        the user says so; one that takes things away gets none even then.
        """
        if known.owner is not Owner.FOUND or tool.read_only or self.is_closed:
            return True
        return self.uses_found and not is_deleting(tool)


def is_absolute(text: str) -> bool:
    """Return whether a text is an absolute path of some system, or the URI of a file."""
    path = text.removeprefix("file://")
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute() or path.startswith("~")
