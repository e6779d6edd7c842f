"""The store of known values: the one place that says which tool may get which value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.fitting import wants_path
from mcp_conformance.world.known import Known, KnownValues, Owner, is_worth_knowing
from mcp_conformance.world.members import members_of
from mcp_conformance.world.ownership import Ownership, is_absolute
from mcp_conformance.world.success import leaves_of

MIN_UNIQUE = 6
"""Shorter texts, and numbers, may name several things: a note has the id 1, and so has a folder."""


class Store:
    """The known values of a run; ``ownership`` says whose they are."""

    def __init__(self, ownership: Ownership) -> None:
        self.ownership = ownership
        self._values = KnownValues()
        self._shared: set[bytes] = set()
        self._inner: set[bytes] = set()
        self._needs_path: dict[str, bool] = {}

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
            self._inner.discard(encode(one.value))
            self._add(one)

    def learn(self, some: Iterable[Known], tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Add values that an answer or a refusal to a call has.

        If the call was about a file of ours, those that nobody knew before are things in that file: a tool
        whose arguments need a path may get them, as all of its paths are ours then.
        """
        is_inner = not tool.open_world and self._is_about_ours(arguments)
        for one in some:
            text = encode(one.value)
            is_new = self.get(one.value) is None or text in self._inner
            self._inner.discard(text)
            self._add(one)
            if is_inner and is_new and is_worth_knowing(one.value):
                self._inner.add(text)

    def permitted(self, tool: Tool, some: Iterable[Known] | None = None) -> list[Known]:
        """Return those of some values that a tool may get, of all if none are given.

        A value that was found stays so, whoever names it.
        """
        return [one for one in (self._values if some is None else some) if self._permits(tool, one)]

    def _permits(self, tool: Tool, one: Known) -> bool:
        text = encode(one.value)
        known = self.get(one.value) or one
        if text in self._shared:
            known = replace(known, owner=Owner.FOUND)
        return self.ownership.permits(tool, known) or (text in self._inner and self._is_on_files(tool))

    def _is_on_files(self, tool: Tool) -> bool:
        if tool.name not in self._needs_path:
            members = members_of(tool.input_schema)
            self._needs_path[tool.name] = any(one.is_required and wants_path(one) for one in members)
        return self._needs_path[tool.name]

    def _add(self, one: Known) -> None:
        owned = replace(one, owner=self.ownership.owner_of(one.value, one.owner))
        before = self.get(one.value)
        is_short = not isinstance(one.value, str) or len(one.value) < MIN_UNIQUE
        if before is not None and is_short and {before.owner, owned.owner} == {Owner.MADE, Owner.FOUND}:
            self._shared.add(encode(one.value))
        self._values.add(owned)

    def _is_about_ours(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether arguments have the path of a file of ours, and none of another."""
        ours = self.ownership.ours
        texts = [one for one in leaves_of(arguments) if isinstance(one, str)]
        return any(map(ours.has_path, texts)) and all(ours.has_path(one) for one in texts if is_absolute(one))
