"""Call tools at full speed, with many calls in flight, and watch what changes in the process."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool, call_in
from mcp_conformance.fuzzing.budgets import SOAK, SoakBudget
from mcp_conformance.fuzzing.drift import Drift
from mcp_conformance.fuzzing.session_growth import SessionGrowth
from mcp_conformance.fuzzing.soak_calls import CALLS_PER_REPEATED, SoakCall, ToolLoad
from mcp_conformance.fuzzing.soak_reproduction import FailedCall, SoakReproduction
from mcp_conformance.fuzzing.window import Request, top_up
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.preparation import renamed_value
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import SHARED
from mcp_conformance.target.unanswered import unanswered
from mcp_conformance.verdicts import Blocked, Finding, Skipped
from mcp_conformance.world.exploration import needs_exploration
from mcp_conformance.world.success import is_success

# Not measured: to judge an answer takes as long as to get one from a quick server.
MAX_EXERCISED = 100
"""How many calls of each tool with valid arguments are judged by what came of them."""
EXPLORED_SHARE = 0.25
"""Not measured: the share of the time in which arguments that work may be looked for, as in a run."""
LEAVES_UNANSWERED, ENDS_SERVER = "it leaves calls unanswered", "its calls end the server"


@dataclass(frozen=True)
class SoakFinding:
    """A verdict, the number of the call that led to it, and the tool's name (empty if there is none)."""

    number: int
    tool: str
    verdict: Finding | Blocked


class Soak:
    """The soak of one server.

    The arguments of a call depend only on the seed and on its number.  ``left_out`` has the tools that are
    not called any more, with the number of the call since then and the reason.  ``repeats`` counts failures
    that were reported before.
    """

    def __init__(self, server: Server, budget: SoakBudget = SOAK):
        self.server, self.budget = server, budget
        self.seed = server.settings.seed
        self.loads: list[ToolLoad] = []
        self.left_out: dict[str, tuple[int, str]] = {}
        self.calls = self.processes = self.repeats = 0
        self._next = self._first = 0
        self._is_over = False
        self._futile: list[ToolLoad] = []
        self._in_flight: deque[tuple[SoakCall, Line]] = deque()
        self._session: Session | None = None
        self._drift = Drift(None, server.clock, budget.drift)
        self._session_growth = SessionGrowth(server)
        self._changes: dict[str, str] = {}
        self._known: set[tuple[str, str]] = set()
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._deaths: set[str] = set()
        self._slow: Counter[str] = Counter()
        self._reproduction = SoakReproduction(server, self.loads, self._call_of, budget)

    def run(self, until: float) -> Iterator[SoakFinding | None]:
        """Call tools until ``until`` (seconds of the clock); yield findings, and None for good calls."""
        try:
            yield from self._begin(until)
            now = self.server.clock.monotonic()
            self._session_growth.watch(now + self.budget.session_share * (until - now))
            self._end()  # the first calls have no number, so no history may contain them
            while (session := self._filled(until)) is not None:
                call, line = self._in_flight.popleft()
                yield from self._judged(call, session.await_reply(line, call.load.answer_seconds))
        except Blocked as error:
            yield SoakFinding(self._next, "", error)
        except Skipped:
            return  # the server no longer starts, which was reported

    # Calling

    @property
    def callable_tools(self) -> list[Tool]:
        """The tools that may be called, one for each name."""
        named = {tool.name: tool for tool in self.server.tools if tool.name}
        return [tool for tool in named.values() if self.server.settings.may_call(tool)]

    @property
    def drift(self) -> list[str]:
        """What changed in processes of the server over the calls, and what was not watched, a line each."""
        lines = self._drift.lines(self._changes) if self.calls else []
        return [*lines, *self._session_growth.lines()]

    @property
    def _conversation(self) -> Session:
        """The session, in a new process if the last one ended."""
        if self._session is not None and self._session.closed:
            self._end()
        if self._session is None:
            self._session = self.server.sessions.connect("the soak")
            self.server.sessions.prepare(self._session)
            self._drift = Drift(self._session.process.pid, self.server.clock, self.budget.drift)
            self._first = self._next
            self.processes += 1
        return self._session

    def _end(self) -> None:
        if self._session is not None:
            self._changes = {**self._drift.changes(), **self._changes}
            self._session.close()
            self.server.sessions.every.remove(self._session)
            self._session = None

    def _begin(self, until: float) -> Iterator[SoakFinding | None]:
        """Call each tool once, with nothing else in flight."""
        for tool in self.callable_tools:
            arguments, obstacle = self._first_arguments(tool, until)
            if obstacle:
                self._leave_out(tool.name, obstacle)
                self.server.tool_calls.exercise.leave_out(tool, obstacle)
                continue
            call = call_in(self._conversation, tool, arguments)
            load = ToolLoad(self.server, call)
            if call.reply.fault is not None:
                self._leave_out(tool.name, str(call.reply.fault))
                yield SoakFinding(0, tool.name, unanswered(self.server.sessions, call))
                if not self._is_alive():
                    self._end()
            elif call.is_slow:
                self._leave_out(tool.name, f"it takes {call.reply.seconds:.1f} s")
            else:
                self.loads.append(load)
                self._futile += [load] if needs_exploration(call) else []
                yield from self._judged(load.first, call.reply)
        if self._futile and self.server.clock.monotonic() < until:
            self._explore(until)

    def _explore(self, until: float) -> None:
        """Look, in a process of its own, for arguments of the tools that refuse the plainest ones.

        A soak of refusals is no load: those that work come in their place.
        """
        server = self.server
        server.tool_calls.begin((until - server.clock.monotonic()) * EXPLORED_SHARE)
        server.sessions.end_all_but(SHARED)
        self._end()
        for load in self._futile:
            for arguments in server.arguments.world.working(load.tool, server.revision)[:1]:
                session = self._conversation
                call = call_in(session, load.tool, renamed_value(session, dict(arguments)))
                if is_success(call.reply) and not call.is_slow:
                    working = ToolLoad(server, replace(call, arguments=dict(arguments)))
                    self.loads[self.loads.index(load)] = working

    def _first_arguments(self, tool: Tool, until: float) -> tuple[dict[str, Any], str]:
        """Return arguments for the first call of a tool, or why it is not called."""
        if self.server.clock.monotonic() > until:
            return {}, "there was no time for it"
        if tool.task_support == "required":
            return {}, "it can only be called as a task"
        try:
            return self.server.arguments.valid(tool), ""
        except NoExample as error:
            return {}, f"no valid arguments are known: {error}"

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out.setdefault(name, (self._next, reason))
        self._drift.forget_times()
        self._is_over = all(load.name in self.left_out for load in self.loads)
        self._in_flight = deque(one for one in self._in_flight if one[0].load.name != name)

    def _is_alive(self) -> bool:
        """Return whether the process still answers."""
        session = self._session
        return (
            session is not None
            and not session.closed
            and session.request(
                session.liveness_method, timeout=session.scaled_timeout(self.budget.max_ping_seconds)
            ).fault
            is None
        )

    def _filled(self, until: float) -> Session | None:
        """Return the session with as many calls in flight as allowed; None if there are none."""
        if not self._in_flight:
            if self._is_over or not self.loads:
                return None
            if len(self._conversation.lines) > self.budget.max_lines:
                self._conversation.forget()
        session = self._session
        assert session is not None
        # The log can only be cleared when nothing is in flight, so no more is sent until then.
        if len(session.lines) <= self.budget.max_lines:
            top_up(session, self._in_flight, self.budget.in_flight, self._new_calls(session, until))
        return session if self._in_flight else None

    def _new_calls(self, session: Session, until: float) -> Iterator[tuple[SoakCall, Request]]:
        while not (session.closed or self._is_over or self.server.clock.monotonic() > until):
            call = self._call_of(self._next)
            self._next += 1
            if call is not None:
                yield call, call.request(session)

    def _call_of(self, number: int) -> SoakCall | None:
        """Return the call of a number; None if its tool was left out by then, or no arguments were found."""
        load = self.loads[number % len(self.loads)]
        if number >= self.left_out.get(load.name, (number + 1, ""))[0]:
            return None
        if number // len(self.loads) % CALLS_PER_REPEATED == 0:
            return replace(load.first, number=number)
        try:
            return load.call(self.seed, number)
        except NoExample:
            return None

    # Judging

    def _judged(self, call: SoakCall, reply: Reply) -> Iterator[SoakFinding | None]:
        if reply.fault is None:
            self.calls += 1
            self._drift.note(call.load.tool, reply, is_repeated=call.is_repeated)
            self._count(call, reply)
        failure = call.case.oracle(reply)
        if failure is None:
            yield None
            return
        assert self._session is not None
        failed = FailedCall.of(call, reply, failure, self._session)
        yield from self._wrong(failed) if reply.fault is None else self._lost(failed)

    def _count(self, call: SoakCall, reply: Reply) -> None:
        exercise = self.server.tool_calls.exercise
        counted = exercise.get(call.load.name)
        if call.case.wrong is None and (counted is None or counted.calls < MAX_EXERCISED):
            exercise.count(call.load.tool, reply)

    def _is_known(self, failed: FailedCall) -> bool:
        """Return whether the same failure was reported before, or enough of its rule; count it if so."""
        name, failure = failed.call.load.name, failed.case.failure
        is_known = (name, failure.kind) in self._known
        is_known |= self._kinds[name, failure.requirement] >= self.budget.max_kinds
        self.repeats += is_known
        return is_known

    def _wrong(self, failed: FailedCall) -> Iterator[SoakFinding]:
        """Reproduce a wrong answer."""
        if not self._is_known(failed):
            yield from self._alone(failed) or [self._after_others(failed, failed.call.number)]

    def _lost(self, failed: FailedCall) -> Iterator[SoakFinding | None]:
        """Find the call that left requests unanswered, and reproduce it."""
        session = self._session
        assert session is not None
        is_alive = self._is_alive()
        suspects = [failed.call]
        if not is_alive:
            lost, self._in_flight = self._in_flight, deque()
            for call, line in lost:
                if session.is_answered(line):
                    yield from self._judged(call, session.await_reply(line, 0))
                else:
                    suspects.append(call)
        if not self._is_known(failed):
            yield from self._explained(failed, suspects, session)
        if not is_alive:
            self._end()

    def _explained(
        self, failed: FailedCall, suspects: Sequence[SoakCall], session: Session
    ) -> Iterator[SoakFinding | None]:
        culprit = (
            self._reproduction.culprit(suspects) if self.processes <= self.budget.max_processes else None
        )
        if culprit is not None and (findings := self._alone(culprit)):
            reason = ENDS_SERVER if culprit.case.is_death else LEAVES_UNANSWERED
            self._leave_out(culprit.call.load.name, reason)
            yield from findings
            return
        request, kind = failed.case.reply.request, failed.case.failure.kind
        late = session.await_reply(request)
        if late.fault is None:
            self._note_slowness(failed.call.load, late)
            yield from self._judged(failed.call, late)
        elif not failed.case.is_death:
            self._leave_out(failed.call.load.name, LEAVES_UNANSWERED)
            yield self._after_others(failed, self._next - 1)
        elif kind in self._deaths:
            self.repeats += 1
        else:
            self._deaths.add(kind)
            yield self._after_others(failed, self._next - 1)

    def _note_slowness(self, load: ToolLoad, reply: Reply) -> None:
        load.answer_seconds = min(
            self.server.settings.timeout_of(load.name), self.budget.slow_call_growth * load.answer_seconds
        )
        self._slow[load.name] += 1
        if self._slow[load.name] >= self.budget.max_slow_calls:
            self._leave_out(
                load.name, f"{self.budget.max_slow_calls} calls took long, the last {reply.seconds:.1f} s"
            )

    # Reporting

    def _alone(self, failed: FailedCall) -> list[SoakFinding]:
        """Return what a call shows on a fresh server, shrunk; nothing if it does not fail there."""
        name = failed.call.load.name
        verdicts, kinds = self._reproduction.alone(failed.call, {k for of, k in self._known if of == name})
        if verdicts:
            self._remember(failed, *kinds)
        return [SoakFinding(failed.call.number, name, one) for one in verdicts]

    def _after_others(self, failed: FailedCall, last: int) -> SoakFinding:
        """Return what the call shows after those before it in its process, up to the number ``last``."""
        shown, verdict = self._reproduction.after_others(failed, range(self._first, last + 1))
        self._remember(shown)
        return SoakFinding(shown.call.number, shown.call.load.name, verdict)

    def _remember(self, failed: FailedCall, *kinds: str) -> None:
        name, failure = failed.call.load.name, failed.case.failure
        self._kinds[name, failure.requirement] += 1
        self._known |= {(name, kind) for kind in (failure.kind, *kinds)}
