"""What a run learned, kept in a file for the next one: arguments that worked, and tools that refuse all.

The file is found by the server's command, and an entry by the tool's definition: of a tool that changed,
nothing is kept.  A path in the working folder of a run is kept as ``{folder}/...``, as the next run has
another one.  What an earlier run made was there before this one: it comes back as found.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.known import Known, Origin, Owner

FORMAT = 1
"""The format of the file; a file of another one is not read."""
FOLDER = "{folder}"
# Not measured: an exploration of 46 tools takes some ten seconds.  Who waits longer explores itself.
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class KeptTool:
    """What was learned of a tool: the ``arguments`` that worked, None if none did, and their known values."""

    arguments: Mapping[str, Any] | None
    values: tuple[Known, ...] = ()


@dataclass
class Kept:
    """The file of one server.

    ``folder`` is the working folder of this run, empty if it has none.
    """

    path: Path
    folder: str = ""
    _tools: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: Path, command: Sequence[str], folder: str = "") -> Kept:
        """Return the file of a server's command in a directory, and read it if it is there."""
        name = blake2b(encode(list(command)), digest_size=8).hexdigest()
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

    def get(self, tool: Tool) -> KeptTool | None:
        """Return what is kept of a tool; None if nothing is, or the tool has changed."""
        entry = self._tools.get(tool.name)
        if not isinstance(entry, dict) or entry.get("definition") != definition_digest(tool):
            return None
        try:
            values = tuple(self._known(one) for one in entry["values"])
            arguments = entry["arguments"]
        except (KeyError, TypeError, ValueError):
            return None
        if arguments is not None and not isinstance(arguments, dict):
            return None
        return KeptTool(self._here(arguments), values)

    def _known(self, row: Mapping[str, Any]) -> Known:
        value, owner = row["value"], Owner(row["owner"])
        here = self._here(value)
        if owner is Owner.MADE and here == value:
            owner = Owner.FOUND
        kind, of = row["origin"]
        return Known(here, tuple(row["keys"]), Origin(str(kind), str(of)), owner, int(row["rank"]))

    def put(self, tool: Tool, learned: KeptTool) -> None:
        """Keep what was learned of a tool, in place of what was known; `write` writes it to the file."""
        rows = [asdict(replace(one, value=self._away(one.value))) for one in learned.values]
        for row, one in zip(rows, learned.values, strict=True):
            row["origin"] = (one.origin.kind, one.origin.of)
        self._tools[tool.name] = {
            "definition": definition_digest(tool),
            "arguments": self._away(learned.arguments),
            "values": rows,
        }

    def write(self) -> None:
        """Write the file, whole or not at all; a folder that can't be written to is left alone."""
        text = json.dumps({"format": FORMAT, "tools": self._tools}, indent=1, sort_keys=True)
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
        """Make the lock file when no other process has it; return False if none can be made."""
        until = time.monotonic() + MAX_WAIT_SECONDS
        while True:
            try:
                lock.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                if time.monotonic() > until or _is_stale(lock):
                    with suppress(OSError):
                        lock.unlink()
                time.sleep(POLL_SECONDS)
            except OSError:
                return False
            else:
                return True

    def _away(self, value: Any) -> Any:
        """Return a value with the folder of this run as `FOLDER`."""
        return _replaced(value, self.folder, FOLDER) if self.folder else value

    def _here(self, value: Any) -> Any:
        """Return a kept value with the folder of this run."""
        return _replaced(value, FOLDER, self.folder) if self.folder else value


def definition_digest(tool: Tool) -> str:
    """Return a digest of a tool's definition."""
    return blake2b(encode(tool.definition.json), digest_size=8).hexdigest()


def _is_stale(lock: Path) -> bool:
    """Return whether a lock file was left behind by a process that ended without its `finally`."""
    try:
        return time.time() - lock.stat().st_mtime > MAX_WAIT_SECONDS
    except OSError:
        return False


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_replaced(one, old, new) for one in value]
    if isinstance(value, dict):
        return {name: _replaced(one, old, new) for name, one in value.items()}
    return value
