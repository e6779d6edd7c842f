"""What tools that say they only read change: lists, resources, prompts and the results of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require_answer
from mcp_conformance.protocol.jsonrpc import Line, show
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.text import without_times
from mcp_conformance.scenarios.list_stability import (
    COMPARED,
    method_and_params,
    reading_replies,
    repeated_reads,
    title,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS

MAX_SUSPECTS = 3
SHOWN = ("contents", "messages", "content", "structuredContent", "isError")
MAX_COMPARED = 100_000


@dataclass(frozen=True)
class Effect:
    """A tool that declares ``readOnlyHint`` changed what a client sees: ``seen`` before and after it."""

    tool: str
    title: str
    before: Any
    after: Any
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        return f"{show(self.before)} before the call, {show(self.after)} after it"


@dataclass(frozen=True, eq=False)
class Observed:
    """A request that shows the state of the server: a list, resource or prompt, or a tool that only reads."""

    title: str
    method: str
    params: Mapping[str, Any]

    def look(self, session: Session) -> tuple[Any, tuple[Line, ...]]:
        """Make the request; return what it shows, and its lines."""
        if self.method in LISTS:
            listing = fetch_list(session, self.method, LISTS[self.method][1])
            return sorted(listing.identifiers()), listing.replies[0].lines
        reply = require_answer(session.request(self.method, self.params))
        return shown(reply), reply.lines

    def is_of(self, call: Call) -> bool:
        """Return whether this is the call of the same tool."""
        return self.method == "tools/call" and self.params.get("name") == call.tool.name


@dataclass(frozen=True)
class Changes:
    """What the calls of tools changed in one process: the first value, and the effect of each tool."""

    first: Any
    effects: Mapping[str, Effect]


def shown(reply: Reply) -> Any:
    """Return what a reply shows of the state of the server: the content of its result, or its error."""
    result = reply.result
    return {key: result[key] for key in SHOWN if key in result} if isinstance(result, dict) else reply.error


@scenario
def effects_of_reading_tools(server: Server) -> tuple[Effect, ...]:
    """Return the effects of tools that declare ``readOnlyHint``, each seen in two new processes.

    They are started only if something differs after all tools were called.  An effect counts if both
    processes show the same value at first, whenever it is asked for, and another after a call of this tool,
    in whichever order the tools are called.  What every tool changes, as statistics do, does not count.
    """
    calls = reading_calls(server)
    suspects = _suspects(server)[:MAX_SUSPECTS] if calls else []
    if not suspects:
        return ()
    forwards, backwards = _changes(server, calls, suspects), _changes(server, calls[::-1], suspects)
    both = ((one, forwards[one], backwards[one]) for one in forwards if one in backwards)
    return tuple(chain.from_iterable(_proven(one, calls, *found) for one, *found in both))


def reading_calls(server: Server) -> list[Call]:
    """Return the successful calls of tools that declare ``readOnlyHint``."""
    repeated = [method_and_params(reply)[1].get("name") for reply in reading_replies(server)]
    return [call for call in server.quick_calls() if call.tool.name in repeated and not call.failed]


def _proven(observed: Observed, calls: list[Call], one: Changes, other: Changes) -> list[Effect]:
    """Return the effects that both processes showed, unless each tool has one."""
    if one.first != other.first:
        return []
    others = {call.tool.name for call in calls if not observed.is_of(call)}
    has_control = observed.method in (*LISTS, "tools/call") or others - {*one.effects} - {*other.effects}
    return [one.effects[name] for name in one.effects if name in other.effects] if has_control else []


def _suspects(server: Server) -> list[Observed]:
    """Return what differs after the tools that only read were called, in another order, once more."""
    found = []
    for first, again in zip(reading_replies(server), repeated_reads(server), strict=False):
        one = Observed(title(first), *method_and_params(first))
        if again.fault is None and _differ(shown(first), shown(again)):
            in_sessions = ((server.shared(CALLS), first), (server.session, again))
            if any(_differ(shown(earlier), one.look(session)[0]) for session, earlier in in_sessions):
                found.append(one)
    return found + list(_changed_lists(server))


def _changed_lists(server: Server) -> Iterator[Observed]:
    """Yield the lists that changed, except in a revision in which `stateless.list-invariant` judges them."""
    for method in COMPARED:
        if not server.surface.is_modern and method in server.served_lists():
            one = Observed(method, method, {})
            if one.look(server.session)[0] != sorted(server.listing(method).identifiers()):
                yield one


def _differ(one: Any, other: Any) -> bool:
    """Return whether two values differ in more than dates, times and measured figures."""
    texts = (without_times(show(value, MAX_COMPARED)) for value in (one, other))
    return next(texts) != next(texts)


def _changes(server: Server, calls: Iterable[Call], suspects: list[Observed]) -> dict[Observed, Changes]:
    """Call tools in a new process, and return how each suspect that was the same twice changes."""
    with server.fresh("tools that only read") as session:
        first = {one: one.look(session) for one in suspects}
        steady = [one for one in suspects if one.look(session)[0] == first[one][0]]
        seen, effects = dict(first), {one: dict[str, Effect]() for one in steady}
        for call in calls:
            params = call.params
            reply = require_answer(session.request("tools/call", params))
            for one in (one for one in steady if not one.is_of(call)):
                (before, earlier), (after, later) = seen[one], one.look(session)
                if after != before:
                    lines = (*earlier, *reply.lines, *later)
                    effects[one][call.tool.name] = Effect(call.tool.name, one.title, before, after, lines)
                seen[one] = after, later
    return {one: Changes(first[one][0], effects[one]) for one in steady}
