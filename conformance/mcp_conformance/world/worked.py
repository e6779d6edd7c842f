"""What worked: the arguments with which calls of tools succeeded, and the values in them by member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.known import Known
from mcp_conformance.world.members import ITEM, Member, words_of

Path = tuple[str, ...]
COMMON = frozenset({"id", "name", "type", "value", "text", "key", "number", "path", "title"})
"""Last words of names that many things have: a `note_id` is no `folder_id`."""


@dataclass(frozen=True)
class Working:
    """Arguments with which a call of a tool succeeded.

    ``known`` are the known values in them, by path; ``needed`` are the members that the tool refuses to be
    without, though its schema does not require them.  ``is_recalled`` says that this was in an earlier run.
    """

    tool: str
    arguments: Mapping[str, Any]
    known: Mapping[Path, Known] = field(default_factory=dict)
    needed: tuple[Path, ...] = ()
    is_recalled: bool = field(default=False, compare=False)


class Worked:
    """The arguments that worked in a run, by the names of tools, the best first; ``changes`` counts those."""

    def __init__(self) -> None:
        self.changes = 0
        self._by_tool: dict[str, list[Working]] = {}
        self._tools_of: dict[tuple[tuple[str, ...], frozenset[str]], dict[bytes, tuple[Any, set[str]]]] = {}

    def __getitem__(self, tool: str) -> list[Working]:
        return self._by_tool.get(tool, [])

    @property
    def tools(self) -> list[str]:
        """The names of the tools, those first that worked first: they may have made what others need."""
        return [name for name, same in self._by_tool.items() if same]

    def __iter__(self) -> Iterator[Working]:
        return (one for some in self._by_tool.values() for one in some)

    def add(self, working: Working, members: Iterable[Member], *, is_best: bool = False) -> None:
        """Add arguments of a tool, and each of their values to those that work for its member.

        The best come first.
        """
        same = self._by_tool.setdefault(working.tool, [])
        if (old := next((one for one in same if one.arguments == working.arguments), None)) is not None:
            same[same.index(old)] = replace(old, is_recalled=old.is_recalled and working.is_recalled)
            return
        same.insert(0 if is_best else len(same), working)
        self.changes += 1
        for member in members:
            for value in values_at(working.arguments, member.path):
                if isinstance(value, str | int | float) and not isinstance(value, bool):
                    self._note(member, value, working.tool)

    def drop(self, tool: str, arguments: Any) -> None:
        """Forget arguments of an earlier run that do not work any more; put those of this run behind others.

        They may work in another process.
        """
        same = [one for one in self[tool] if one.arguments == arguments]
        kept = [one for one in self[tool] if one not in same]
        kept += [one for one in same if not one.is_recalled]
        self.changes += kept != self[tool]
        self._by_tool[tool] = kept

    def forget_recalled(self, tool: str) -> None:
        """Forget the arguments of an earlier run for a tool, which worked in this one with new names."""
        kept = [one for one in self[tool] if not one.is_recalled]
        self.changes += kept != self[tool]
        self._by_tool[tool] = kept

    def _note(self, member: Member, value: Any, tool: str) -> None:
        key = (words_of(member.name), member.types)
        _, tools = self._tools_of.setdefault(key, {}).setdefault(encode(value), (value, set()))
        tools.add(tool)

    def values_for(self, member: Member) -> list[Any]:
        """Return the values that worked for members of this name and type, in the most tools first."""
        return _ranked([self._tools_of.get((words_of(member.name), member.types), {})])

    def times(self, member: Member, value: Any) -> int:
        """Return in how many tools a value worked for members of this name and type."""
        found = self._tools_of.get((words_of(member.name), member.types), {})
        return len(found.get(encode(value), (None, ()))[1])

    def values_like(self, member: Member) -> list[Any]:
        """Return the values that worked for members whose names end alike: `folder` and `target_folder`."""
        end = words_of(member.name)[-1:]
        if not end or end[0] in COMMON:
            return []
        some = [
            found
            for (words, types), found in self._tools_of.items()
            if words[-1:] == end and types == member.types
        ]
        return _ranked(some)


def _ranked(some: Iterable[Mapping[bytes, tuple[Any, set[str]]]]) -> list[Any]:
    found: dict[bytes, Any] = {}
    tools = Counter[bytes]()
    for one in some:
        for key, (value, names) in one.items():
            found[key] = value
            tools[key] += len(names)
    return [found[key] for key, _ in tools.most_common()]


def in_order(tools: Iterable[Tool], names: Iterable[str]) -> list[Tool]:
    """Return tools in the order of their names in ``names``, the others last."""
    order = {name: place for place, name in enumerate(names)}
    return sorted(tools, key=lambda tool: order.get(tool.name, len(order)))


def values_at(arguments: Any, path: Path) -> list[Any]:
    """Return the values at a path in arguments: several behind an array, none where there is nothing."""
    found = [arguments]
    for step in path:
        if step == ITEM:
            found = [item for one in found if isinstance(one, list) for item in one]
        else:
            found = [one[step] for one in found if isinstance(one, Mapping) and step in one]
    return found
