"""The store of known values: the one place that says which tool may get which value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.fitting import ID_WORDS, wants_path
from mcp_conformance.world.known import Known, KnownValues, Owner, is_worth_knowing
from mcp_conformance.world.members import Member, members_of, words_of
from mcp_conformance.world.ownership import Ownership, is_absolute
from mcp_conformance.world.prose import PATH
from mcp_conformance.world.success import leaves_of
from mcp_conformance.world.worked import values_at

MIN_UNIQUE = 6
"""Shorter texts, and numbers, may name several things: a note has the id 1, and so has a folder."""


class Store:
    """The known values of a run; ``ownership`` says whose they are."""

    def __init__(self, ownership: Ownership) -> None:
        self.ownership = ownership
        self._values = KnownValues()
        self._shared: set[bytes] = set()
        self._inner: set[bytes] = set()
        self._recalled: set[bytes] = set()
        self._members: dict[str, list[Member]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Known]:
        return iter(self._values)

    def get(self, value: Any) -> Known | None:
        """Return what is known of a value; None if nothing is."""
        return self._values.get(value) if is_worth_knowing(value) else None

    def add(self, some: Iterable[Known]) -> None:
        """Add known values; what this run made is recognised among them."""
        for one in some:
            if is_worth_knowing(one.value):
                self._inner.discard(encode(one.value))
                self._recalled.discard(encode(one.value))
                self._add(one)

    def recall(self, some: Iterable[Known]) -> None:
        """Add values that an earlier run knew: where this one meets them first decides what they are."""
        for one in some:
            if is_worth_knowing(one.value) and self.get(one.value) is None:
                self._recalled.add(encode(one.value))
                self._add(one)

    def confirm(self, one: Known) -> None:
        """Add what is known of a value that worked as an argument; a thing in a file of ours stays one."""
        self._add(one)

    def learn(self, some: Iterable[Known], tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Add values that an answer or a refusal to a call has.

        If the call was about a file of ours, those that nobody knew before are things in that file: a tool
        whose arguments need a path may get them, as all of its paths are ours then.
        """
        is_inner = not tool.open_world and self._is_about_ours(tool, arguments)
        for one in some:
            if not is_worth_knowing(one.value):
                continue
            text, before = encode(one.value), self.get(one.value)
            is_new = before is None or text in self._inner or text in self._recalled
            self._recalled.discard(text)
            if is_inner and before is not None and before.owner is Owner.MADE:
                one = replace(one, owner=Owner.MADE)  # noqa: PLW2901  (a file of ours has it too)
            self._inner.discard(text)
            self._add(one)
            if is_inner and is_new and self._has_no_other_path(one.value):
                self._inner.add(text)

    def permitted(self, tool: Tool, some: Iterable[Known] | None = None) -> list[Known]:
        """Return those of some values that a tool may get, of all if none are given.

        A text that was found stays so, whoever names it.  A number that is given here is judged by where it
        comes from: another place may have the same by chance.
        """
        if some is None:
            return [one for one in self._values if self._permits(tool, self._as_seen(one))]
        judged = ((one, one if is_number(one.value) else self._as_seen(one)) for one in some)
        return [one for one, seen in judged if self._permits(tool, seen)]

    def _as_seen(self, one: Known) -> Known:
        """Return a value with the owner of its like in the store; one that two have was found."""
        known = self.get(one.value) or one
        return replace(known, owner=Owner.FOUND) if encode(one.value) in self._shared else known

    def _permits(self, tool: Tool, one: Known) -> bool:
        if isinstance(one.value, bool) or self.ownership.permits(tool, one):
            return True
        if not self._is_on_files(tool):
            return False
        return encode(one.value) in self._inner or (is_number(one.value) and not self._wants_id(tool))

    def is_inside(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Return whether arguments of a tool that needs a path are about what is in a file of ours."""
        return self._is_on_files(tool) and self._is_about_ours(tool, arguments)

    def _is_on_files(self, tool: Tool) -> bool:
        return any(one.is_required and wants_path(one) for one in self._members_of(tool))

    def _wants_id(self, tool: Tool) -> bool:
        """Return whether a tool needs the id of a thing, which may be elsewhere than in its file."""
        required = [one for one in self._members_of(tool) if one.is_required]
        return any(set(words_of(one.name)[-1:]) & ID_WORDS for one in required)

    def _members_of(self, tool: Tool) -> list[Member]:
        if tool.name not in self._members:
            self._members[tool.name] = members_of(tool.input_schema)
        return self._members[tool.name]

    def _add(self, one: Known) -> None:
        owned = replace(one, owner=self.ownership.owner_of(one.value, one.owner))
        before = self.get(one.value)
        is_short = not isinstance(one.value, str) or len(one.value) < MIN_UNIQUE
        if before is not None and is_short and {before.owner, owned.owner} == {Owner.MADE, Owner.FOUND}:
            self._shared.add(encode(one.value))
        self._values.add(owned)

    def _is_about_ours(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Return whether arguments have the path of a file of ours, and none of another."""
        ours = self.ownership.ours
        texts = [one for one in leaves_of(arguments) if isinstance(one, str)]
        paths = [one for one in self._members_of(tool) if wants_path(one)]
        given = [value for one in paths for value in values_at(arguments, one.path)]
        has_ours = any(map(ours.has_path, texts)) or (
            ours.is_cwd and any(text in given for text in ours.texts)
        )
        return has_ours and all(ours.has_path(one) for one in texts if is_absolute(one))

    def _has_no_other_path(self, value: Any) -> bool:
        """Return whether a value names no path outside our folders: that is no thing in a file of ours."""
        text = value if isinstance(value, str) else ""
        paths = [text] if is_absolute(text) else [one[0] for one in PATH.finditer(text)]
        return all(map(self.ownership.ours.has_path, paths))


def is_number(value: Any) -> bool:
    """Return whether a value is a number, which names nothing by itself."""
    return isinstance(value, int | float) and not isinstance(value, bool)
