"""What a run learned, kept in a file for the next one: arguments that worked, and tools that refuse all.

The file is found by the server's command, and an entry by the tool's definition: of a tool that changed,
nothing is kept.  A path in the working folder of a run is kept as ``{folder}/...``, as the next run has
another one.  That a tool refuses all holds while it refuses in the same words, no other tool changes, and the
run has the same circumstances.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.transport.lock import locked
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.worked import Working, in_order

FORMAT = 2
"""The format of the file; a file of another one is not read."""
# Not measured: the arguments of a thousand tools take a megabyte.
MAX_BYTES = 64_000_000
# Not measured: an exploration of 46 tools takes some ten seconds.  Who waits longer explores itself.
MAX_WAIT_SECONDS = 60.0


def _nothing(text: str) -> bool:  # noqa: ARG001
    """Return False: no text has a credential."""
    return False


@dataclass
class Kept:
    """The file of one server; ``folder`` is the furnished folder of this run, None if it has none.

    ``circumstances`` are those on which it depends whether a tool is explored in vain.  ``hides`` says
    whether a text has a credential: of a tool whose arguments have one, nothing is kept.
    """

    path: Path
    folder: Folder | None = None
    circumstances: Sequence[str] = ()
    hides: Callable[[str], bool] = _nothing
    _tools: dict[str, Any] = field(default_factory=dict)
    _new: dict[str, Any] = field(default_factory=dict)
    _met: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        directory: Path,
        words: Sequence[str],
        folder: Folder | None = None,
        circumstances: Sequence[str] = (),
        hides: Callable[[str], bool] = _nothing,
    ) -> Kept:
        """Return the file of a server in a directory, and read it if it is there.

        ``words`` are those of the server's command, and what else decides which arguments may be tried.
        """
        kept = cls(directory / "known" / f"{_digest(list(words))}.json", folder, circumstances, hides)
        kept.read()
        return kept

    def meet(self, tools: Iterable[Tool]) -> None:
        """Note tools that the server has: if one of them changes, another one may work."""
        self._met.update((tool.name, definition_digest(tool)) for tool in tools)

    def read(self) -> None:
        """Read what is in the file now; nothing if there is none, or it can't be read."""
        self._tools = {}
        with suppress(OSError, ValueError, RecursionError):
            content = json.loads(self._text())
            if isinstance(content, dict) and content.get("format") == FORMAT:
                self._tools = content["tools"] if isinstance(content.get("tools"), dict) else {}
        self._tools = {
            **{name: one for name, one in self._tools.items() if name not in self._new},
            **self._new,
        }

    def _text(self) -> str:
        """Return what is in the file; a server may have put a pipe there, a device, or a file without end."""
        is_kept = self.path.is_file() and self.path.stat().st_size <= MAX_BYTES
        return self.path.read_text(encoding="utf-8") if is_kept else "{}"

    def _entry(self, tool: Tool) -> Mapping[str, Any] | None:
        entry = self._tools.get(tool.name)
        is_same = isinstance(entry, dict) and entry.get("definition") == definition_digest(tool)
        return entry if is_same else None

    def in_order(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return tools in the order in which they worked: one may have made what the next one names."""
        return in_order(tools, self._tools)

    def is_futile(self, tool: Tool, refusal: str) -> bool:
        """Return whether a tool was explored in vain that refused plain arguments so, and nothing changed."""
        entry = self._entry(tool)
        return entry is not None and entry.get("futile") == self._futility(refusal)

    def _futility(self, refusal: str) -> str:
        return _digest([refusal, list(self.circumstances), sorted(self._met.items())])

    def working(self, tool: Tool) -> Working | None:
        """Return the arguments with which a tool worked; None if none are kept, or the tool has changed."""
        entry = self._entry(tool)
        try:
            return self._read(tool, entry["working"]) if entry is not None and "working" in entry else None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
            return None

    def _read(self, tool: Tool, row: Mapping[str, Any]) -> Working:
        arguments = self._here(dict(row["arguments"]))
        known = {tuple(map(str, one["path"])): self._known(one) for one in row["known"]}
        needed = tuple(tuple(map(str, path)) for path in row["needed"])
        return Working(tool.name, arguments, known, needed, is_recalled=True)

    def _known(self, row: Mapping[str, Any]) -> Known:
        keys, origin = tuple(map(str, row["keys"])), Origin(*map(str, row["origin"]))
        return Known(self._here(row["value"]), keys, origin, Owner(row["owner"]), int(row["rank"]))

    def put(self, tool: Tool, working: Working) -> None:
        """Keep the arguments with which a tool worked."""
        self._put(tool, working=self._written(working))

    def put_futile(self, tool: Tool, refusal: str) -> None:
        """Keep that a tool, which refused plain arguments so, was explored in vain."""
        self._put(tool, futile=self._futility(refusal))

    def _put(self, tool: Tool, **entry: Any) -> None:
        if not self.hides(json.dumps([tool.name, entry])):
            self._new[tool.name] = self._tools[tool.name] = {"definition": definition_digest(tool), **entry}

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
        """Add what is new to the file; it is written whole or not at all, unless it can't be written to."""
        self.read()
        text = json.dumps({"format": FORMAT, "tools": self._tools}, indent=1)
        beside = self.path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)

    @contextmanager
    def turn(self, max_seconds: float = MAX_WAIT_SECONDS) -> Iterator[None]:
        """Wait while another process explores the same server, then read what it has kept.

        The workers of xdist begin at the same time: the first one explores, the others know it then.
        """
        with locked(self.path.with_suffix(".lock"), min(max_seconds, MAX_WAIT_SECONDS)):
            self.read()
            yield


def definition_digest(tool: Tool) -> str:
    """Return a digest of what a tool's definition says of its arguments: the same in all revisions."""
    words = tool.definition.get("description")
    return _digest([tool.name, words.json if words is not None else "", tool.input_schema])


def _digest(value: Any) -> str:
    # A definition may have what no JSON has, such as NaN.
    return blake2b(json.dumps(value, separators=(",", ":")).encode(), digest_size=8).hexdigest()
