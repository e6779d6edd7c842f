"""What a run learned, kept in a file for the next one: arguments that worked, and tools that refuse all.

The file is found by the server's command, and an entry by the tool's definition: of a tool that changed,
nothing is kept.  A path in the working folder of a run is kept as ``{folder}/...``, as the next run has
another one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import ABSENT, encode
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.worked import Working

FORMAT = 1
"""The format of the file; a file of another one is not read."""
# Not measured: an exploration of 46 tools takes some ten seconds.  Who waits longer explores itself.
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS = 0.05


@dataclass
class Kept:
    """The file of one server; ``folder`` is the furnished folder of this run, None if it has none."""

    path: Path
    folder: Folder | None = None
    _tools: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: Path, words: Sequence[str], folder: Folder | None = None) -> Kept:
        """Return the file of a server in a directory, and read it if it is there.

        ``words`` are those of the server's command, and what else decides which arguments may be tried.
        """
        name = blake2b(encode(list(words)), digest_size=8).hexdigest()
        kept = cls(directory / "known" / f"{name}.json", folder)
        kept.read()
        return kept

    def read(self) -> None:
        """Read what is in the file now; nothing if there is none, or it can't be read."""
        self._tools = {}
        with suppress(OSError, ValueError):
            content = json.loads(self.path.read_text(encoding="utf-8"))
            if isinstance(content, dict) and content.get("format") == FORMAT:
                self._tools = content["tools"] if isinstance(content.get("tools"), dict) else {}

    def _entry(self, tool: Tool) -> Mapping[str, Any] | None:
        entry = self._tools.get(tool.name)
        is_same = isinstance(entry, dict) and entry.get("definition") == definition_digest(tool)
        return entry if is_same else None

    def is_futile(self, tool: Tool) -> bool:
        """Return whether a tool was explored in vain, and has not changed since."""
        entry = self._entry(tool)
        return entry is not None and entry.get("working", ABSENT) is None

    def working(self, tool: Tool) -> Working | None:
        """Return the arguments with which a tool worked; None if none are kept, or the tool has changed."""
        entry = self._entry(tool)
        try:
            return self._read(tool, entry["working"]) if entry is not None and entry["working"] else None
        except (KeyError, TypeError, ValueError):
            return None

    def _read(self, tool: Tool, row: Mapping[str, Any]) -> Working:
        arguments = self._here(dict(row["arguments"]))
        known = {tuple(map(str, one["path"])): self._known(one) for one in row["known"]}
        needed = tuple(tuple(map(str, path)) for path in row["needed"])
        return Working(tool.name, arguments, known, needed)

    def _known(self, row: Mapping[str, Any]) -> Known:
        keys, origin = tuple(map(str, row["keys"])), Origin(*map(str, row["origin"]))
        return Known(self._here(row["value"]), keys, origin, Owner(row["owner"]), int(row["rank"]))

    def put(self, tool: Tool, working: Working | None) -> None:
        """Keep the arguments with which a tool worked, or that it was explored in vain."""
        self._tools[tool.name] = {
            "definition": definition_digest(tool),
            "working": self._written(working) if working is not None else None,
        }

    def _written(self, working: Working) -> dict[str, Any]:
        known = [
            {
                "path": path,
                "value": self._away(one.value),
                "keys": one.keys,
                "origin": (one.origin.kind, one.origin.of),
                "owner": one.owner,
                "rank": one.rank,
            }
            for path, one in working.known.items()
        ]
        return {
            "arguments": self._away(dict(working.arguments)),
            "known": known,
            "needed": list(working.needed),
        }

    def _away(self, value: Any) -> Any:
        return self.folder.shown(value) if self.folder is not None else value

    def _here(self, value: Any) -> Any:
        return self.folder.filled(value) if self.folder is not None else value

    def write(self) -> None:
        """Write the file, whole or not at all; a folder that can't be written to is left alone."""
        text = json.dumps({"format": FORMAT, "tools": self._tools}, indent=1)
        beside = self.path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait while another process explores the same server, then read what it has kept.

        The workers of xdist begin at the same time: the first one explores, the others know it then.
        """
        lock = self.path.with_suffix(".lock")
        is_ours = self._locks(lock)
        self.read()
        try:
            yield
        finally:
            if is_ours:
                with suppress(OSError):
                    lock.unlink()

    def _locks(self, lock: Path) -> bool:
        """Make the lock file when no other process has it; return False if none can be made in time."""
        until = time.monotonic() + MAX_WAIT_SECONDS
        while True:
            try:
                lock.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                if time.monotonic() > until:
                    return False
                if _is_stale(lock):
                    with suppress(OSError):
                        lock.unlink()
                time.sleep(POLL_SECONDS)
            except OSError:
                return False
            else:
                return True


def definition_digest(tool: Tool) -> str:
    """Return a digest of a tool's definition."""
    return blake2b(encode(tool.definition.json), digest_size=8).hexdigest()


def _is_stale(lock: Path) -> bool:
    """Return whether a lock file was left behind by a process that ended without its `finally`."""
    try:
        return time.time() - lock.stat().st_mtime > MAX_WAIT_SECONDS
    except OSError:
        return False
