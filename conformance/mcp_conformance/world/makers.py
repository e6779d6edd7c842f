"""Makers: tools that give the things they make ids of the server's, which nothing else shows to be ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from mcp_conformance.client.tool_call import Call
from mcp_conformance.world.answers import ids_of, shows_any
from mcp_conformance.world.known import Known, Owner
from mcp_conformance.world.members import words_of
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.store import Store
from mcp_conformance.world.success import is_success, leaves_of
from mcp_conformance.world.things import PRODUCING

TAKING = frozenset(
    {
        *("get", "list", "search", "find", "read", "fetch", "show", "describe", "query", "lookup", "check"),
        *("next", "pop", "dequeue", "claim", "take", "poll", "receive", "random", "pick", "draw", "sample"),
        *("latest", "recent", "lease", "reserve", "acquire", "assign", "accept", "process", "pull"),
        "consume",
    }
)
"""Words in the names of tools whose answers may name another thing each time, which was there before."""


class Makers:
    """The tools that make a thing at each call, and the keys under which their answers name it.

    The same call, made twice, names another thing each time if it made both; a thing that was there before
    has the same name in both answers.
    """

    def __init__(self, store: Store):
        self._store = store
        self._keys: dict[str, set[str]] = {}  # of each tool whose answers were compared

    def keys_of(self, tool: str) -> set[str] | None:
        """Return the keys under which a tool's answers name what it makes; None if none were compared."""
        return self._keys.get(tool)

    def recall(self, tool: str, keys: Iterable[str]) -> None:
        """Learn what an earlier run has found by a comparison."""
        self._keys[tool] = set(keys)

    def owned(self, found: Iterable[Known], call: Call) -> Iterator[Known]:
        """Yield the values of an answer; those that name what the call made are of this run's making."""
        keys = self._keys.get(call.tool.name, set())
        ids = ids_of(call.reply.result, call.tool.name) if keys else {}
        for one in found:
            key = next(iter(one.keys), "")
            is_made = key in keys and ids.get(key) == one.value
            yield replace(one, owner=Owner.MADE) if is_made else one

    def may_make(self, call: Call) -> bool:
        """Return whether the same call, made again, may show that its answer has the id of what it made.

        It says that the call was about what this run sent, or its name says that the tool makes something,
        and nobody has seen the id before.
        """
        tool, words = call.tool, set(words_of(call.tool.name))
        is_usual = not (tool.read_only or call.is_slow or is_deleting(tool) or words & TAKING)
        if not is_usual or tool.name in self._keys:
            return False
        if not (words & PRODUCING or shows_any(call.reply.result, self._ours_in(call))):
            return False
        ids = ids_of(call.reply.result, tool.name)
        return any(self._store.get(one) is None for one in ids.values())

    def compare(self, call: Call, again: Call) -> None:
        """Learn the keys whose ids differ in the answers to two calls alike, and were not known before.

        Of several keys those count that name what the tool is about: a new ``ticket_id`` may come with the
        ``agent_id`` of who is next.
        """
        name = call.tool.name
        self._keys[name] = set()
        if is_success(again.reply):
            first, second = ids_of(call.reply.result, name), ids_of(again.reply.result, name)
            keys = {key for key in first.keys() & second.keys() if first[key] != second[key]}
            new = {key for key in keys if not (self._store.get(first[key]) or self._store.get(second[key]))}
            own = {key for key in new if set(words_of(key)[:-1]) <= set(words_of(name))}
            self._keys[name] = new if len(keys) == 1 else own

    def _ours_in(self, call: Call) -> Iterator[Any]:
        """Yield the texts and numbers that a call sent and this run made."""
        ours = self._store.ownership.ours
        for one in leaves_of(call.arguments):
            known = self._store.get(one)
            is_named = known is not None and known.owner is Owner.MADE and not isinstance(one, bool)
            if is_named or ours.is_made(one) or (isinstance(one, str) and one in ours.texts):
                yield one
                yield from ours.marks
