"""What the servers of a run have started, written and answered, added up over the processes of pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any, Self

from mcp_conformance.backend.contact import HostUse
from mcp_conformance.report.tool_links import ToolLink, tool_links
from mcp_conformance.target.budgets import CallCost
from mcp_conformance.target.exercise import Exercise
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.stops import Stops

Pairs = Counter[tuple[str, str]]


@dataclass
class RunCounts:
    """What the servers of a run have started, written and answered.

    ``starts`` counts the processes, over HTTP the sessions, by revision and purpose, ``numbers`` the lines
    ``sent`` in a revision and those ``dropped``, and what the connections over HTTP have lost.  ``exercise``
    has the calls of tools with valid arguments, ``fetched`` the fetches of prompts and templates; by
    revision, ``costs`` are those of the calls, ``judged`` the figures that checks of budgets have
    measured.  ``outlived`` counts the processes that have outlived the server.  ``rate`` is the number of
    requests a second to which a server over HTTP has slowed us down, 0 if it did not; ``asked`` is the
    longest wait that it asked for, in seconds; ``spaced`` is the rate of one over stdio,
    ``calls_spaced`` that of calls.  ``hosts`` counts
    what the server asks of other hosts, ``links`` are what its tools do with what others make, ``sequences``
    the calls and the seconds of each phase of the sequences of calls that show it.  ``updated`` says which
    recorded sessions were written, and why.
    """

    starts: Pairs = field(default_factory=Counter)
    numbers: Pairs = field(default_factory=Counter)
    costs: dict[str, list[CallCost]] = field(default_factory=dict)
    judged: dict[str, dict[str, float]] = field(default_factory=dict)
    outlived: int = 0
    exercise: Exercise = field(default_factory=Exercise)
    fetched: Exercise = field(default_factory=Exercise)
    rate: float = 0.0
    asked: float = 0.0
    spaced: float = 0.0
    calls_spaced: float = 0.0
    hosts: Counter[HostUse] = field(default_factory=Counter)
    links: tuple[ToolLink, ...] = ()
    sequences: dict[str, tuple[int, float]] = field(default_factory=dict)
    updated: tuple[str, ...] = ()

    def add_server(self, server: Server) -> None:
        """Add what the server in one revision has done."""
        revision, numbers = server.revision, self.numbers
        self.judged[revision] = server.judged_figures
        self.costs.setdefault(revision, []).extend(map(CallCost.of, server.tool_calls.answered()))
        for purpose, number in server.sessions.all_starts.items():
            self.starts[revision, purpose] += number
        self.exercise.add(server.tool_calls.exercise)
        self.fetched.add(server.fetches.exercise)
        self.hosts.update(server.hosts)
        spacing = server.settings.spacing
        self.spaced = spacing.rate if spacing.is_slowed else 0.0
        self.calls_spaced = spacing.calls_rate if spacing.has_slow_calls else 0.0
        self.links = self.links or tool_links(server.state.uses)
        self._add_sequences(server.state.spent)
        self.updated += tuple(server.updated)
        for session in server.sessions.every:
            numbers["sent", revision] += session.sent
            numbers["dropped", ""] += session.lines.dropped

    def _add_sequences(self, spent: Mapping[str, tuple[int, float]]) -> None:
        for phase, (calls, seconds) in spent.items():
            before = self.sequences.get(phase, (0, 0.0))
            self.sequences[phase] = (before[0] + calls, before[1] + seconds)

    def add_http(self, http: HttpServer) -> None:
        """Add what the connections with a server over HTTP have carried and lost, and how it was spared."""
        tally = http.tally
        self.rate = http.turns.rate if http.turns.is_slowed else 0.0
        self.asked = http.throttle.asked
        self.numbers["processes", ""] += tally.processes
        self.numbers["reused", ""] += tally.reused
        self.numbers["lost", ""] += tally.lost
        self.numbers["waited", ""] += round(http.throttle.gateway_seconds)
        for status, number in tally.statuses.items():
            self.numbers["status", str(status)] += number

    def add_interference(self, stops: Stops, lost_watchdogs: int) -> None:
        """Add what the server may have done to this tool."""
        self.numbers["stops", ""] += stops.times
        self.numbers["stopped", ""] += round(stops.seconds)
        self.numbers["lost watchdogs", ""] += lost_watchdogs

    def add(self, other: RunCounts) -> None:
        """Add what another process has counted."""
        self.starts.update(other.starts)
        self.numbers.update(other.numbers)
        for revision, costs in other.costs.items():
            self.costs.setdefault(revision, []).extend(costs)
        for revision, figures in other.judged.items():
            self.judged.setdefault(revision, {}).update(figures)
        self.outlived += other.outlived
        self.exercise.add(other.exercise)
        self.fetched.add(other.fetched)
        self.rate += other.rate  # each worker gets its share of what the server allows
        self.spaced += other.spaced
        self.calls_spaced += other.calls_spaced
        self.asked = max(self.asked, other.asked)
        self.hosts |= other.hosts  # each worker that looked has seen the same
        self.links = self.links or other.links
        self._add_sequences(other.sequences)
        self.updated += other.updated

    def as_data(self) -> dict[str, Any]:
        """Return the counts as an xdist worker can send them."""
        return {
            "starts": [(*key, number) for key, number in self.starts.items()],
            "numbers": [(*key, number) for key, number in self.numbers.items()],
            "costs": {revision: list(map(astuple, costs)) for revision, costs in self.costs.items()},
            "judged": self.judged,
            "outlived": self.outlived,
            "exercise": self.exercise.as_data(),
            "fetched": self.fetched.as_data(),
            "rate": self.rate,
            "asked": self.asked,
            "spaced": self.spaced,
            "calls_spaced": self.calls_spaced,
            "hosts": [(*astuple(use), number) for use, number in self.hosts.items()],
            "links": [one.as_row() for one in self.links],
            "sequences": [(phase, *both) for phase, both in self.sequences.items()],
            "updated": self.updated,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the counts that `as_data` wrote; none for an empty mapping."""
        return cls(
            _pairs(data.get("starts", ())),
            _pairs(data.get("numbers", ())),
            {revision: [CallCost(*one) for one in each] for revision, each in data.get("costs", {}).items()},
            data.get("judged", {}),
            data.get("outlived", 0),
            Exercise.from_data(data.get("exercise", {})),
            Exercise.from_data(data.get("fetched", {})),
            data.get("rate", 0.0),
            data.get("asked", 0.0),
            data.get("spaced", 0.0),
            data.get("calls_spaced", 0.0),
            Counter({HostUse(*use): number for *use, number in data.get("hosts", ())}),
            tuple(map(ToolLink.from_row, data.get("links", ()))),
            {phase: (calls, seconds) for phase, calls, seconds in data.get("sequences", ())},
            tuple(data.get("updated", ())),
        )


def _pairs(rows: list[tuple[str, str, int]]) -> Pairs:
    return Counter({(one, other): number for one, other, number in rows})
