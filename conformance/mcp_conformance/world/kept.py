"""What a run learned, kept in a file for the next one: arguments that worked, and tools that refuse all.

The file is found by the server's command, and an entry by the tool's definition: of a tool that changed,
nothing is kept.  What differs from run to run has a placeholder: the furnished folder, the working directory
of ``--cwd``, and the text by which a run recognises what it makes.  That a tool refuses all holds while it
refuses in the same words, no other tool changes, and the run has the same circumstances.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.transport.files import BadFile, json_value, read_file
from mcp_conformance.transport.lock import locked
from mcp_conformance.transport.writing import write
from mcp_conformance.world.folder import Folder, replaced
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.steps import Step
from mcp_conformance.world.wording import without_numbers
from mcp_conformance.world.worked import Working, in_order

FORMAT = 3
"""The format of the file; a file of another one is not read."""
# Not measured: the arguments of a thousand tools take a megabyte.
MAX_BYTES = 64_000_000
# Not measured: an exploration of 46 tools takes some ten seconds.  Who waits longer explores itself.
MAX_WAIT_SECONDS = 60.0
TEXT = "{text of the run}"
"""What stands for the text by which a run recognises what it makes."""
CWD = "{cwd}"
"""What stands for the working directory that the user gives."""


def _nothing(text: str) -> bool:  # noqa: ARG001
    """Return False: no text has a credential."""
    return False


@dataclass
class Kept:
    """The file of one server; ``folder`` is the furnished folder of this run, None if it has none.

    ``circumstances`` are those on which it depends whether a tool is explored in vain.  ``hides`` says
    whether a text has a credential: of a tool whose arguments have one, nothing is kept.  ``cwd`` is the
    working directory that the user gives, ``text`` what this run makes is recognised by.  So many ``runs``
    have kept something.
    """

    path: Path
    folder: Folder | None = None
    circumstances: Sequence[str] = ()
    hides: Callable[[str], bool] = _nothing
    cwd: str = ""
    text: str = ""
    runs: int = 0
    _before: int = 0
    _tools: dict[str, Any] = field(default_factory=dict)
    _steps: list[Any] = field(default_factory=list)
    _new_steps: list[Any] = field(default_factory=list)
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

        ``words`` are those of the server's command, with `CWD` for the directory that the user gives, and
        what else decides which arguments may be tried.
        """
        kept = cls(directory / "known" / f"{_digest(list(words))}.json", folder, circumstances, hides)
        kept.read()
        kept._before = kept.runs
        return kept

    def meet(self, tools: Iterable[Tool]) -> None:
        """Note tools that the server has: if one of them changes, another one may work."""
        self._met.update((tool.name, definition_digest(tool)) for tool in tools)

    def read(self) -> None:
        """Read what is in the file now; nothing if there is none, or it can't be read."""
        self._tools, self._steps = {}, []
        with suppress(BadFile):
            content = read_file(self.path, json_value, MAX_BYTES, follows=False)
            if isinstance(content, dict) and content.get("format") == FORMAT:
                self._tools = content["tools"] if isinstance(content.get("tools"), dict) else {}
                self._steps = content["steps"] if isinstance(content.get("steps"), list) else []
                self.runs = content["runs"] if isinstance(content.get("runs"), int) else 0
        self._tools = {
            **{name: one for name, one in self._tools.items() if name not in self._new},
            **self._new,
        }

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

    def lasting(self, refusal: str) -> str:
        """Return a refusal, in which each number is 0, without what differs from run to run."""
        for text, placeholder in ((self.cwd, CWD), (self.text, TEXT)):
            refusal = refusal.replace(without_numbers(text), placeholder) if text else refusal
        return refusal

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
        keys, origin = tuple(map(str, row["keys"])), Origin(*(self._here(str(one)) for one in row["origin"]))
        return Known(self._here(row["value"]), keys, origin, Owner(row["owner"]), int(row["rank"]))

    def names_of_made(self, tool: Tool) -> Collection[str] | None:
        """Return the keys under which a tool's answers name what it makes; None if that was not tried."""
        found = (self._entry(tool) or {}).get("makes")
        return frozenset(map(str, found)) if isinstance(found, list) else None

    def put(self, tool: Tool, working: Working, makes: Collection[str] | None = None) -> None:
        """Keep the arguments with which a tool worked, and under which keys answers name what it makes."""
        made = {} if makes is None else {"makes": sorted(makes)}
        self._put(tool, {**self._before_in(tool), "working": self._written(working), **made})

    def put_futile(self, tool: Tool, refusal: str) -> None:
        """Keep that a tool, which refused plain arguments so, was explored in vain.

        What worked may work again where this run could not call what it needs.
        """
        self._put(tool, {**self._before_in(tool), "futile": self._futility(refusal)})

    def _before_in(self, tool: Tool) -> dict[str, Any]:
        return {name: one for name, one in (self._entry(tool) or {}).items() if name != "definition"}

    def _put(self, tool: Tool, entry: Mapping[str, Any]) -> None:
        if not self.hides(json.dumps([tool.name, entry])):
            self._new[tool.name] = self._tools[tool.name] = {"definition": definition_digest(tool), **entry}

    def steps(self, tools: Iterable[Tool]) -> Iterator[Step]:
        """Yield the calls that an earlier run has made of tools that are the same, in their order."""
        by_name = {tool.name: tool for tool in tools}
        for row in self._steps:
            with suppress(KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
                tool = by_name[row["tool"]]
                if row["definition"] == definition_digest(tool):
                    shows = [(tuple(map(str, keys)), int(number), one) for keys, number, one in row["shows"]]
                    given = int(row["given"]) if row["given"] is not None else None
                    yield Step(self._read(tool, row["working"]), self._here(shows), given)

    def put_steps(self, tools: Mapping[str, Tool], steps: Iterable[Step]) -> None:
        """Keep the calls that this run has made, in their order."""
        for step in steps:
            working = step.working if step.given is None else Working(step.tool, {})
            row = {
                "tool": step.tool,
                "definition": definition_digest(tools[step.tool]),
                "working": self._written(working),
                "shows": self._away(list(step.shows)),
                "given": step.given,
            }
            if not self.hides(json.dumps(row)):
                self._new_steps.append(row)

    def _written(self, working: Working) -> dict[str, Any]:
        known = [
            {
                "path": path,
                "value": self._away(one.value),
                "keys": one.keys,
                "origin": (one.origin.kind, self._away(one.origin.of)),
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
        value = self.folder.shown(value) if self.folder is not None else value
        for text, placeholder in ((self.cwd, CWD), (self.text, TEXT)):
            value = replaced(value, text, placeholder) if text else value
        return value

    def _here(self, value: Any) -> Any:
        value = self.folder.filled(value) if self.folder is not None else value
        for text, placeholder in ((self.cwd, CWD), (self.text, TEXT)):
            value = replaced(value, placeholder, text) if text else value
        return value

    def write(self) -> None:
        """Add what is new to the file; it is written whole or not at all, unless it can't be written to."""
        self.read()
        steps = _joined(self._steps, self._new_steps)
        content = {"format": FORMAT, "runs": self._before + 1, "tools": self._tools, "steps": steps}
        with suppress(OSError):
            write(self.path, json.dumps(content, indent=1))

    @contextmanager
    def turn(self, max_seconds: float = MAX_WAIT_SECONDS) -> Iterator[None]:
        """Wait while another process explores the same server, then read what it has kept.

        The workers of xdist begin at the same time: the first one explores, the others know it then.
        """
        with locked(self.path.with_suffix(".lock"), min(max_seconds, MAX_WAIT_SECONDS)):
            self.read()
            yield


def _joined(before: list[Any], now: list[Any]) -> list[Any]:
    """Return the steps of this run; after those of earlier ones, if this run has not called all of theirs."""
    old, new = (
        {one["tool"] for one in rows if isinstance(one, dict) and "tool" in one} for rows in (before, now)
    )
    return now if old <= new else [*before, *(one for one in now if one["tool"] not in old)]


def definition_digest(tool: Tool) -> str:
    """Return a digest of what a tool's definition says of its calls: the same in all revisions."""
    words, hints = (tool.definition.get(name) for name in ("description", "annotations"))
    said = [one.json if one is not None else "" for one in (words, hints)]
    return _digest([tool.name, *said, tool.input_schema])


def _digest(value: Any) -> str:
    # A definition may have what no JSON has, such as NaN.
    return blake2b(json.dumps(value, separators=(",", ":")).encode(), digest_size=8).hexdigest()
