"""Decoys: files of ours beside the folder in which a tool works, and what a tool does that keeps to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
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
        here = self.work / folder
        yield f"{folder}{slash}{self.link.name}"
        yield str(self.like) if slash and Path(like).is_absolute() else os.path.relpath(self.like, here)
        outside = os.path.relpath(self.outside, here)
        yield from (f"{folder}{slash}{outside.replace('../', step)}" for step in STEPS)

    def close(self) -> None:
        """Delete all of it."""
        for file in (self.inside, self.link):
            file.unlink(missing_ok=True)
        for file in (self.outside, self.like):
            remove_tree(str(file.parent))


@scenario
def escapes(server: Server) -> tuple[Escape, ...] | None:
    """Return the paths by which tools get at decoys that they refuse by the plain path; None if none refuses.

    A tool is judged that works with a file of ours in its folder, and refuses one beside it.
    """
    judged, found = 0, list[Escape]()
    for call in server.quick_calls():
        if judged < MAX_TOOLS and not server.newer_revision_with(call.tool):
            for path, like in _paths_in(server, call):
                tried = _tried(server, call, path, like)
                judged += tried is not None
                found += tried or ()
    return tuple(found) if judged else None


def _paths_in(server: Server, call: Call) -> Iterator[tuple[Steps, str]]:
    """Yield the first member of a call that worked with a file of the working directory, and the file."""
    folder = server.settings.folder
    if folder is None or not is_success(call.reply):
        return
    for member in members_of(call.tool.input_schema):
        for like in values_at(call.arguments, member.path)[:1] if wants_path(member) else ():
            if isinstance(like, str) and (folder.is_cwd or Path(like).is_absolute()):
                place = folder.root / like
                if ".." not in place.parts and place.is_relative_to(folder.root) and place.is_file():
                    yield member.path, like
                    return


def _tried(server: Server, call: Call, path: Steps, like: str) -> list[Escape] | None:
    """Return how a tool gets at a decoy; None if it refuses none, or even the file inside."""
    assert server.settings.folder is not None
    session = server.shared(CALLS)

    def called(value: str) -> Reply:
        arguments: dict[str, Any] = deepcopy(call.arguments)
        put(arguments, path, value)
        session.made.add(encode(value))  # it leads to a file of ours
        return session.request("tools/call", {**call.params, "arguments": arguments})

    with closing(Decoys(server.settings.folder.root, Path(like).suffix)) as decoys:
        decoys.put()
        inside = decoys.inside.name if not Path(like).is_absolute() else str(decoys.inside)
        worked = called(inside)
        if worked.value is None or not is_success(worked):
            return None
        decoys.put()
        refused = called(str(decoys.outside))
        if not _refuses(refused) or decoys.became(refused):
            return None
        found = []
        for spelling in decoys.spellings(like):
            decoys.put()
            reply = called(spelling)
            if what := decoys.became(reply):
                found.append(Escape(call, spelling, what, reply.lines))
        return found


def _refuses(reply: Reply) -> bool:
    return reply.fault is None and (reply.error is not None or reply.is_tool_error)
