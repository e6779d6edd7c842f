"""Decoys: files of ours beside the folder in which a tool works, and what a tool does that keeps to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Call
from mcp_conformance.protocol.jsonrpc import Line, encode
from mcp_conformance.scenarios.path_traversal import STEPS
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.transport.removal import remove_tree
from mcp_conformance.world.filling import put
from mcp_conformance.world.fitting import wants_path
from mcp_conformance.world.members import members_of
from mcp_conformance.world.success import is_success
from mcp_conformance.world.worked import Path as Steps
from mcp_conformance.world.worked import values_at

MAX_TOOLS = 5
"""Not measured: of how many tools the paths are tried; each takes a dozen calls."""


@dataclass(frozen=True)
class Escape:
    """A path by which a tool has got at a decoy that it refuses by its own path, and what it did with it."""

    call: Call
    path: str
    what: str
    lines: tuple[Line, ...]


@dataclass
class Decoys:
    """A file beside the working directory, one inside, a link to the former and a folder of a like name."""

    work: Path
    ending: str
    secret: str = field(default_factory=lambda: token_hex(16))
    mark: str = field(default_factory=lambda: token_hex(4))

    def __post_init__(self) -> None:
        self.outside = self.work.parent / f"outside-{self.mark}" / f"decoy{self.ending}"
        self.like = self.work.parent / f"{self.work.name}-{self.mark}" / f"decoy{self.ending}"
        self.inside = self.work / f"decoy-{self.mark}{self.ending}"
        self.link = self.work / f"link-{self.mark}{self.ending}"
        for file in (self.outside, self.like, self.inside):
            file.parent.mkdir(exist_ok=True)
        with suppress(OSError, NotImplementedError):  # Windows lets few users make one
            self.link.symlink_to(self.outside)

    def put(self) -> None:
        """Write the files as they were at first."""
        for file in (self.outside, self.like, self.inside):
            file.write_text(self.secret, encoding="ascii")

    def became(self, reply: Reply) -> str:
        """Return what was done to a decoy outside, or shown of it; empty for nothing."""
        for file in (self.outside, self.like):
            if not file.exists():
                return "deletes it"
            if file.read_bytes() != self.secret.encode():
                return "writes it"
        return "shows it" if self.secret in json.dumps(reply.result, default=str) else ""

    def spellings(self, like: str) -> Iterator[str]:
        """Yield paths to the decoys outside, written as a path that works."""
        folder, slash, _ = like.rpartition("/")
        inside = PurePosixPath(like).is_absolute() or not folder
        depth = len(PurePosixPath(folder).relative_to(self.work).parts) if slash and inside else folder.count("/")
        ups = depth + 1 + (bool(folder) and not inside)
        yield f"{folder}{slash}{self.link.name}"
        yield str(self.like) if slash and inside else f"{'../' * ups}{self.like.parent.name}/{self.like.name}"
        for step in STEPS:
            yield f"{folder}{slash}{step * ups}{self.outside.parent.name}/{self.outside.name}"

    def close(self) -> None:
        """Delete all of it."""
        for file in (self.inside, self.link):
            file.unlink(missing_ok=True)
        for file in (self.outside, self.like):
            remove_tree(str(file.parent))
