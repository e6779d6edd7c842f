"""What of the values behind a server is this run's own, and which values may not be known at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from mcp_conformance.transport.credentials import BARE, USER_INFO
from mcp_conformance.world.known import Owner

AUTHOR = re.compile(r"author(?!i[sz])|page_?token|cursor", re.IGNORECASE)
"""Names that `SECRET` would take for those of credentials."""
SECRET = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|AUTH|COOKIE", re.IGNORECASE
)
"""The names of members that hold credentials: of those, ``key`` often names what is no secret."""
MIN_HIDDEN = 4
"""Shorter credentials are not searched for in other texts: they would hide ordinary words."""


@dataclass(frozen=True)
class Ours:
    """What this run made.

    ``texts`` are texts that this run made up and sent, such as ``example``, which others may have too;
    ``marks`` are such that nobody else has them.  In ``folders`` everything is this run's; the server works
    in one of them if ``is_cwd``.  ``hidden`` are the credentials of the user.
    """

    texts: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    is_cwd: bool = True

    def is_made(self, value: Any) -> bool:
        """Return whether a value is by itself this run's: it has a mark, or is a path inside our folders."""
        return isinstance(value, str) and (any(mark in value for mark in self.marks) or self.has_path(value))

    def owner(self, value: Any) -> Owner:
        """Return whose a value is by itself."""
        return Owner.MADE if self.is_made(value) else Owner.FOUND

    def has_path(self, text: str) -> bool:
        """Return whether a text is the path or ``file:`` URI of one of our folders, or of what is inside."""
        return any(is_inside(text.removeprefix("file://"), folder) for folder in self.folders)

    def is_secret(self, value: Any, keys: Iterable[str] = ()) -> bool:
        """Return whether a value looks like a credential, or the nearest of its keys names one."""
        if not isinstance(value, str):
            return False
        nearest = next(iter(keys), "").replace("-", "_").replace(" ", "_")
        if SECRET.search(AUTHOR.sub("", nearest)):
            return True
        if any(one in value for one in self.hidden if len(one) >= MIN_HIDDEN):
            return True
        return BARE.search(value) is not None or USER_INFO.search(value) is not None


NOTHING = Ours()


def is_inside(text: str, folder: str) -> bool:
    """Return whether a path is a folder or inside it, by its text; one with ``..`` is not."""
    kind = PureWindowsPath if "\\" in folder or folder[1:2] == ":" else PurePosixPath
    path = kind(text)
    return ".." not in path.parts and path.is_relative_to(kind(folder))
