"""What was exercised: the calls of each tool with valid arguments, and what came of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import Any, Self

from mcp_conformance.client.refusals import asks_client, complaint_about_network, network_in_text
from mcp_conformance.client.reply import Closed, Fault, Reply, Unanswered
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.world.members import members_of
from mcp_conformance.world.nearest import Nearest, nearest_of, rank_of
from mcp_conformance.world.success import is_success, kind_of
from mcp_conformance.world.world import World

MADE_UP, NEEDS_NONE = "made up", "no arguments needed"
"""Where arguments come from that nothing is known of, and those of a tool that has no members to fill in."""
# Not measured: a tool whose answers are this different is exercised, and the numbers of a hundred tools are
# shipped between the workers of xdist in some megabytes.
MAX_KINDS = 1000
"""How many kinds of answers of a tool are told apart."""
MAX_ORIGINS = 20
"""How many origins of the arguments of a tool are kept."""


@dataclass
class ToolExercise:
    """The calls of a tool with valid arguments, and the kinds of its successes.

    ``deaths`` counts those that ended the process, or whose response over HTTP had no answer, ``asks`` the
    calls, not among these, in which it asked the client for something first.  ``obstacle`` says why there are
    no valid arguments.  ``made_up`` and
    ``known`` count the successes of each kind of answer (a digest of it), to arguments without a known value
    and to those with one.  ``origins_of`` are where the arguments of a kind came from.  ``left_out`` counts
    the calls that the fuzzer did not make, as each would get a refusal like another; ``saved_seconds`` is an
    estimate of what they would have taken.  ``complaint`` are the words by which it reaches no host, or what
    it tried to reach in a sandbox without one.  ``nearest`` is the call that came nearest to success while
    none succeeded.
    """

    calls: int = 0
    deaths: int = 0
    made_up: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    origins_of: dict[str, set[str]] = field(default_factory=dict)
    asks: int = 0
    obstacle: str = ""
    left_out: int = 0
    saved_seconds: float = 0.0
    complaint: str = ""
    nearest: Nearest | None = None

    @property
    def kinds(self) -> set[str]:
        """The kinds of answers that are successes.

        If some known values got another answer than all made-up ones, then the answer to made-up ones says
        only that nothing of that name exists.
        """
        differing = self.known.keys() - self.made_up.keys()
        return differing or self.known.keys() | self.made_up.keys()

    @property
    def successes(self) -> int:
        """How many calls succeeded."""
        return sum(self.made_up[kind] + self.known[kind] for kind in self.kinds)

    @property
    def answers(self) -> int:
        """How many different answers the successful calls got, numbers and our own values aside."""
        return min(len(self.kinds), MAX_KINDS)

    @property
    def origins(self) -> list[str]:
        """Where the arguments of the successful calls came from, in the order of the alphabet."""
        return sorted({origin for kind in self.kinds for origin in self.origins_of[kind]})[:MAX_ORIGINS]

    def succeed(self, kind: str, origins: Collection[str], *, is_known: bool) -> None:
        """Count a success: an answer of this kind to arguments from these ``origins``."""
        counter = self.known if is_known else self.made_up
        digest = blake2s(kind.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
        if digest not in counter and len(counter) >= MAX_KINDS:
            digest = f"further {is_known}"
        counter[digest] += 1
        known_origins = self.origins_of.setdefault(digest, set())
        if len(known_origins) < MAX_ORIGINS:
            known_origins.update(origins)

    def spare(self, calls: int, seconds: float) -> None:
        """Note calls that are left out, and how long they would have taken."""
        self.left_out += calls
        self.saved_seconds += seconds

    def add(self, other: Self) -> None:
        """Add what was counted in another revision or process."""
        self.calls += other.calls
        self.deaths += other.deaths
        self.asks += other.asks
        self.obstacle = self.obstacle or other.obstacle
        self.complaint = self.complaint or other.complaint
        both = (one for one in (self.nearest, other.nearest) if one is not None)
        self.nearest = max(both, key=lambda one: one.rank, default=None)
        self.spare(other.left_out, other.saved_seconds)
        self.made_up.update(other.made_up)
        self.known.update(other.known)
        for kind, origins in other.origins_of.items():
            self.origins_of.setdefault(kind, set()).update(origins)

    def as_data(self) -> list[Any]:
        """Return the counts as an xdist worker can send them."""
        kinds = [
            [kind, self.made_up[kind], self.known[kind], sorted(origins)]
            for kind, origins in self.origins_of.items()
        ]
        nearest = self.nearest.as_data() if self.nearest is not None else None
        saved = [self.left_out, self.saved_seconds, self.complaint, nearest]
        return [self.calls, self.deaths, kinds, self.asks, self.obstacle, *saved]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Self:
        """Return the counts that `as_data` wrote."""
        calls, deaths, kinds, asks, obstacle, left_out, seconds, complaint, kept = data
        made_up = Counter({kind: number for kind, number, _, _ in kinds if number})
        known = Counter({kind: number for kind, _, number, _ in kinds if number})
        origins_of = {kind: set(origins) for kind, _, _, origins in kinds}
        nearest = Nearest.from_data(kept) if kept is not None else None
        saved = (left_out, seconds, complaint)
        return cls(calls, deaths, made_up, known, origins_of, asks, obstacle, *saved, nearest)


OriginsOf = Callable[[Tool, Any], Collection[str]]
"""Returns where the known values in the arguments of a tool came from; empty if all are made up."""


class Exercise(Mapping[str, ToolExercise]):
    """What was exercised, by the names of tools."""

    def __init__(self, origins_of: OriginsOf = lambda *_: ()) -> None:
        self._tools: dict[str, ToolExercise] = {}
        self._origins_of = origins_of
        self._needs_values: dict[str, bool] = {}
        self._refusals: dict[str, dict[str, int]] = {}
        self._attempts: Counter[str] = Counter()

    def __getitem__(self, name: str) -> ToolExercise:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def count(self, tool: Tool, reply: Reply) -> None:
        """Count a call with valid arguments, unless the tool needs a task or something of the client."""
        if tool.task_support == "required":
            return
        one = self._tools.setdefault(tool.name, ToolExercise())
        if asks_client(reply):
            one.asks += 1
            return
        one.calls += 1
        one.deaths += _is_beyond_arguments(reply.fault)
        if is_success(reply, needs_values=self._has_members(tool)):
            self._succeed(tool, reply, arguments_in(reply.request))
        elif not one.complaint:
            one.complaint = complaint_about_network(reply) or network_in_text(reply)

    def keep_nearest(self, call: Call, world: World) -> None:
        """Keep a call of a tool that failed, if no call succeeded and none came nearer to that."""
        one = self._tools.get(call.tool.name)
        if one is None or one.successes:
            return
        rank = rank_of(call, world, self._refusals.setdefault(call.tool.name, {}))
        if one.nearest is None or rank > one.nearest.rank:
            one.nearest = nearest_of(call, rank, world) or one.nearest

    def note_attempt(self, tool: Tool, attempt: str) -> None:
        """Note what a tool tried to reach in a failed call, where it reaches no host.

        The server may reach out by the clock too, so a second call has to do so.
        """
        self._attempts[tool.name] += 1
        if self._attempts[tool.name] > 1:
            self.note_unreached(tool, attempt)

    def note_unreached(self, tool: Tool, what: str) -> None:
        """Note what a tool does not reach in place of an answer, if it is anything."""
        one = self._tools.setdefault(tool.name, ToolExercise())
        one.complaint = one.complaint or what

    def count_fetch(self, tool: Tool, reply: Reply, arguments: Any, origins: Collection[str] = ()) -> None:
        """Count the fetch of a prompt or a template's resource, which is taken for a tool.

        ``origins`` are where the arguments come from, if the world does not know that.
        """
        one = self._tools.setdefault(tool.name, ToolExercise())
        if reply.needs_input:
            one.asks += 1
            return
        one.calls += 1
        one.deaths += _is_beyond_arguments(reply.fault)
        if reply.value is not None:
            self._succeed(tool, reply, arguments, origins)
        elif not one.complaint:
            one.complaint = complaint_about_network(reply)

    def _succeed(self, tool: Tool, reply: Reply, arguments: Any, origins: Collection[str] = ()) -> None:
        known = origins or self._origins_of(tool, arguments)
        shown = known or (MADE_UP if self._has_members(tool) else NEEDS_NONE,)
        self._tools[tool.name].nearest = None
        self._tools[tool.name].succeed(kind_of(reply, arguments), shown, is_known=bool(known))

    def spare(self, tool: str, calls: int, seconds: float) -> None:
        """Note calls of a tool that the fuzzer leaves out, and an estimate of how long they would take."""
        self._tools.setdefault(tool, ToolExercise()).spare(calls, seconds)

    def leave_out(self, tool: Tool, obstacle: str) -> None:
        """Note why there are no valid arguments for a tool."""
        self._tools.setdefault(tool.name, ToolExercise()).obstacle = obstacle

    def _has_members(self, tool: Tool) -> bool:
        if tool.name not in self._needs_values:
            self._needs_values[tool.name] = bool(members_of(tool.input_schema))
        return self._needs_values[tool.name]

    def add(self, other: Mapping[str, ToolExercise]) -> None:
        """Add what was exercised in another revision or process."""
        for name, one in other.items():
            self._tools.setdefault(name, ToolExercise()).add(one)

    def as_data(self) -> dict[str, list[Any]]:
        """Return the counts as an xdist worker can send them."""
        return {name: one.as_data() for name, one in self.items()}

    @classmethod
    def from_data(cls, data: Mapping[str, Sequence[Any]]) -> Self:
        """Return the counts that `as_data` wrote."""
        made = cls()
        made.add({name: ToolExercise.from_data(one) for name, one in data.items()})
        return made


def _is_beyond_arguments(fault: Fault | None) -> bool:
    """Return whether a call failed in a way that has a finding of its own, which no other arguments mend."""
    return isinstance(fault, Closed) or (isinstance(fault, Unanswered) and not fault.is_refusal)


def arguments_in(request: Line) -> Any:
    """Return the arguments in a request of ``tools/call``; None if it has none that can be read."""
    return named_call(request)[1]


def named_call(request: Line) -> tuple[Any, Any]:
    """Return the name and the arguments in a request of ``tools/call``; None for what cannot be read."""
    message = request.message
    if not isinstance(message, dict) or "params" not in message:  # the fuzzer writes requests as texts
        try:
            message = json.loads(request.raw)
        except (ValueError, RecursionError):
            return None, None
    params = message.get("params") if isinstance(message, dict) else None
    return (params.get("name"), params.get("arguments")) if isinstance(params, dict) else (None, None)
