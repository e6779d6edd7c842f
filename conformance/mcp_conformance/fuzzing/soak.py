"""Call tools at full speed, with many calls in flight; reproduce and reduce each failure at once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool, call_in
from mcp_conformance.fuzzing.drift import Drift
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import Failure
from mcp_conformance.fuzzing.reduction import reduced
from mcp_conformance.fuzzing.reproduction import Reproducer, shown_text
from mcp_conformance.fuzzing.soak_calls import CALLS_PER_REPEATED, SoakCall, ToolLoad
from mcp_conformance.fuzzing.window import Request, top_up
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.server import Server
from mcp_conformance.target.unanswered import unanswered
from mcp_conformance.verdicts import Blocked, Finding, Skipped

CALLS_IN_FLIGHT = 32
MAX_LINES = 20_000
"""The log of a conversation is cleared when it is longer."""
MAX_KINDS = 3
"""Failures of more kinds are only counted, for each tool and rule."""
MAX_SLOW_CALLS = 3
"""A tool with so many calls slower than `ToolLoad.answer_seconds` is left out."""
SHRINKING_EXAMPLES = 200
HISTORY_LENGTHS = (10, 100, 1_000, 10_000)
"""The numbers of calls to repeat, the failed one included, if it does not fail in isolation."""
MAX_REDUCTION_SECONDS = 60.0
"""The time to find a history that fails, and again to reduce it."""
MAX_REDUCTION_TRIES = 20
MAX_PROCESSES = 50
"""After so many processes, no search is made for the call that ended one."""
MAX_PING_SECONDS = 2.0
LEAVES_UNANSWERED, ENDS_SERVER = "it leaves calls unanswered", "its calls end the server"


@dataclass(frozen=True)
class SoakFinding:
    """A verdict, the number of the call that led to it, and the tool's name (empty if there is none)."""

    number: int
    tool: str
    verdict: Finding | Blocked


@dataclass(frozen=True)
class FailedCall:
    """A call that failed: the line that made it, the reply, and what is wrong with the reply."""

    call: SoakCall
    line: Line
    reply: Reply
    failure: Failure


@dataclass(frozen=True)
class Reproduced:
    """A failure that happened again, and the conversation up to it."""

    failed: FailedCall
    lines: Sequence[Line]


class Soak:
    """The soak of one server.

    The arguments of a call depend only on the seed and on its number.  ``left_out`` has the tools that are
    not called any more, with the number of the call since then and the reason.  ``repeats`` counts failures
    that were reported before.
    """

    def __init__(self, server: Server):
        self.server = server
        self.seed = server.settings.seed
        self.loads: list[ToolLoad] = []
        self.left_out: dict[str, tuple[int, str]] = {}
        self.calls = self.processes = self.repeats = 0
        self._next = self._first = 0
        self._is_over = False
        self._in_flight: deque[tuple[SoakCall, Line]] = deque()
        self._session: Session | None = None
        self._drift = Drift(None, server.clock)
        self._changes: dict[str, str] = {}
        self._known: set[tuple[str, str]] = set()
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._deaths: set[str] = set()
        self._slow: Counter[str] = Counter()

    def run(self, until: float) -> Iterator[SoakFinding | None]:
        """Call tools until ``until`` (seconds of the clock); yield findings, and None for good calls."""
        try:
            yield from self._begin(until)
            self._end()  # the first calls have no number, so no history may contain them
            while (session := self._filled(until)) is not None:
                call, line = self._in_flight.popleft()
                yield from self._judged(call, line, session.await_reply(line, call.load.answer_seconds))
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
        return self._drift.lines(self._changes) if self.calls else []

    @property
    def _conversation(self) -> Session:
        """The session, in a new process if the last one ended."""
        if self._session is not None and self._session.closed:
            self._end()
        if self._session is None:
            self._session = self.server.connect("the soak")
            self._drift = Drift(self._session.process.pid, self.server.clock)
            self._first = self._next
            self.processes += 1
        return self._session

    def _end(self) -> None:
        if self._session is not None:
            self._changes = {**self._drift.changes(), **self._changes}
            self._session.close()
            self.server.every_session.remove(self._session)
            self._session = None

    def _begin(self, until: float) -> Iterator[SoakFinding | None]:
        """Call each tool once, with nothing else in flight."""
        for tool in self.callable_tools:
            arguments, obstacle = self._first_arguments(tool, until)
            if obstacle:
                self._leave_out(tool.name, obstacle)
                continue
            call = call_in(self._conversation, tool, arguments)
            load = ToolLoad(self.server, call)
            if call.reply.fault is not None:
                self._leave_out(tool.name, str(call.reply.fault))
                yield SoakFinding(0, tool.name, unanswered(self.server, call))
                if not self._is_alive():
                    self._end()
            elif self.server.is_slow(call):
                self._leave_out(tool.name, f"it takes {call.reply.seconds:.1f} s")
            else:
                self.loads.append(load)
                yield from self._judged(load.first, call.reply.request, call.reply)

    def _first_arguments(self, tool: Tool, until: float) -> tuple[dict[str, Any], str]:
        """Return arguments for the first call of a tool, or why it is not called."""
        if self.server.clock.monotonic() > until:
            return {}, "there was no time for it"
        if tool.task_support == "required":
            return {}, "it can only be called as a task"
        try:
            return self.server.arguments(tool), ""
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
                session.liveness_method, timeout=session.scaled_timeout(MAX_PING_SECONDS)
            ).fault
            is None
        )

    def _filled(self, until: float) -> Session | None:
        """Return the session with as many calls in flight as allowed; None if there are none."""
        if not self._in_flight:
            if self._is_over or not self.loads:
                return None
            if len(self._conversation.lines) > MAX_LINES:
                self._conversation.forget()
        session = self._session
        assert session is not None
        if len(session.lines) <= MAX_LINES:
            top_up(session, self._in_flight, CALLS_IN_FLIGHT, self._new_calls(session, until))
        return session if self._in_flight else None

    def _new_calls(self, session: Session, until: float) -> Iterator[tuple[SoakCall, Request]]:
        while not (session.closed or self._is_over or self.server.clock.monotonic() > until):
            call = self._call_of(self._next)
            self._next += 1
            if call is not None:
                yield call, call.request

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

    def _judged(self, call: SoakCall, line: Line, reply: Reply) -> Iterator[SoakFinding | None]:
        if reply.fault is None:
            self.calls += 1
            self._drift.note(call.load.tool, reply, is_repeated=call.is_repeated)
        failure = call.case.oracle(reply)
        if failure is None:
            yield None
        elif reply.fault is None:
            yield from self._wrong(FailedCall(call, line, reply, failure))
        else:
            yield from self._lost(FailedCall(call, line, reply, failure))

    def _is_known(self, failed: FailedCall) -> bool:
        """Return whether the same failure was reported before, or enough of its rule; count it if so."""
        name, failure = failed.call.load.name, failed.failure
        is_known = (name, failure.kind) in self._known or self._kinds[name, failure.requirement] >= MAX_KINDS
        self.repeats += is_known
        return is_known

    def _wrong(self, failed: FailedCall) -> Iterator[SoakFinding]:
        """Reproduce a wrong answer."""
        if not self._is_known(failed):
            yield from self._reproduced_alone(failed) or [
                self._reproduced_after_others(failed, failed.call.number)
            ]

    def _lost(self, failed: FailedCall) -> Iterator[SoakFinding | None]:
        """Find the call that left requests unanswered, and reproduce it."""
        session = self._session
        assert session is not None
        is_alive = self._is_alive()
        suspects = [failed]
        if not is_alive:
            lost, self._in_flight = self._in_flight, deque()
            for call, line in lost:
                if session.is_answered(line):
                    yield from self._judged(call, line, session.await_reply(line, 0))
                else:
                    suspects.append(replace(failed, call=call, line=line))
        if not self._is_known(failed):
            yield from self._explained(failed, suspects, session)
        if not is_alive:
            self._end()

    def _explained(
        self, failed: FailedCall, suspects: Sequence[FailedCall], session: Session
    ) -> Iterator[SoakFinding | None]:
        culprit = self._culprit(suspects) if self.processes <= MAX_PROCESSES else None
        findings = self._reproduced_alone(culprit) if culprit is not None else []
        if culprit is not None and findings:
            self._leave_out(culprit.call.load.name, ENDS_SERVER if died(culprit) else LEAVES_UNANSWERED)
            yield from findings
            return
        late = session.await_reply(failed.line, self.server.settings.timeout)
        if late.fault is None:
            self._note_slowness(failed.call.load, late)
            yield from self._judged(failed.call, failed.line, late)
        elif not died(failed):
            self._leave_out(failed.call.load.name, LEAVES_UNANSWERED)
            yield self._reproduced_after_others(failed, self._next - 1)
        elif failed.failure.kind in self._deaths:
            self.repeats += 1
        else:
            self._deaths.add(failed.failure.kind)
            yield self._reproduced_after_others(failed, self._next - 1)

    def _culprit(self, suspects: Sequence[FailedCall]) -> FailedCall | None:
        """Return the first call that a fresh process does not answer either."""
        with self._other_server() as server, server.fresh("reproductions") as session:
            for one in suspects:
                load = one.call.load
                reply = load.target.ask(session, one.call.case.text, load.answer_seconds)
                failure = one.call.case.oracle(reply)
                if reply.fault is not None and failure is not None:
                    return replace(one, reply=reply, failure=failure)
        return None

    def _note_slowness(self, load: ToolLoad, reply: Reply) -> None:
        load.answer_seconds = min(self.server.settings.timeout, 4 * load.answer_seconds)
        self._slow[load.name] += 1
        if self._slow[load.name] >= MAX_SLOW_CALLS:
            self._leave_out(load.name, f"{MAX_SLOW_CALLS} calls took long, the last {reply.seconds:.1f} s")

    # Reporting

    def _reproduced_alone(self, failed: FailedCall) -> list[SoakFinding]:
        """Make the call on a fresh server, shrink it, and return findings; none if it does not fail there."""
        call, load = failed.call, failed.call.load
        with self._other_server() as server:
            fuzzer = Fuzzer(server, load.target, call.label, self._kinds_known_of(load))
            fuzzer.try_each([call.case])
            fuzzer.shrink(load.cases, list(fuzzer.kinds))
            try:
                fuzzer.report()
            except (Finding, Blocked) as error:
                self._remember(failed, *fuzzer.kinds)
                return [SoakFinding(call.number, load.name, one) for one in (error, *error.others)]
        return []

    def _reproduced_after_others(self, failed: FailedCall, last: int) -> SoakFinding:
        """Repeat the calls before it too, up to the one numbered ``last``, and return the finding."""
        past = range(self._first, last + 1)
        calls, reproduced = self._fewest(past, failed)
        if reproduced is not None:
            shown, lines = reproduced.failed, reproduced.lines
            others = f"after {len(calls) - 1} other calls, up to {CALLS_IN_FLIGHT} in flight"
            how = f" (on a fresh server, {others})" if len(calls) > 1 else ""
        else:
            shown, lines = failed, [*self.server.surface.opening_lines, *failed.reply.lines]
            made = min(len(past), HISTORY_LENGTHS[-1])
            how = f" (it happened once, and not again when the last {made} calls were made again: flaky)"
        self._remember(shown)
        return self._finding(shown, how, lines)

    def _finding(self, failed: FailedCall, how: str, lines: Sequence[Line]) -> SoakFinding:
        call, failure, reply = failed.call, failed.failure, failed.reply
        text, name, id = call.case.text, call.load.name, failure.requirement
        reproducer = Reproducer(self.server, call.load.target, call.load.answer_seconds)
        written = reproducer.write(failure, text, [lines])
        got = f"{call.label} {shown_text(text)}: {reply}{how}{written}"
        if reply.fault is None:
            return SoakFinding(call.number, name, failure.finding(got, reply.lines, written.paths))
        stderr = reply.fault.stderr
        blocked = Blocked(got, reply.lines, stderr, id, name, transcripts=written.paths)
        return SoakFinding(call.number, name, blocked)

    def _remember(self, failed: FailedCall, *kinds: str) -> None:
        name, failure = failed.call.load.name, failed.failure
        self._kinds[name, failure.requirement] += 1
        self._known |= {(name, kind) for kind in (failure.kind, *kinds)}

    def _kinds_known_of(self, load: ToolLoad) -> set[str]:
        return {kind for name, kind in self._known if name == load.name}

    # Making calls again

    def _fewest(self, past: range, failed: FailedCall) -> tuple[Sequence[SoakCall], Reproduced | None]:
        """Return the fewest calls found that fail in the same way on a fresh server, and the failure."""
        until = self.server.clock.monotonic() + MAX_REDUCTION_SECONDS
        for length in HISTORY_LENGTHS:
            calls = [call for number in past[-length:] if (call := self._call_of(number)) is not None]
            reproduced = self._reproduced(calls, failed)
            if reproduced is not None:
                return self._fewer(calls, reproduced)
            if length >= len(past) or self.server.clock.monotonic() > until:
                break
        return [], None

    def _fewer(
        self, calls: Sequence[SoakCall], reproduced: Reproduced
    ) -> tuple[Sequence[SoakCall], Reproduced]:
        until = self.server.clock.monotonic() + MAX_REDUCTION_SECONDS
        failed = reproduced.failed

        def fails(some: Sequence[SoakCall]) -> bool:
            nonlocal reproduced
            found = self._reproduced(some, failed) if some and self.server.clock.monotonic() < until else None
            reproduced = found or reproduced
            return found is not None

        for load in self.loads:
            rest = [call for call in calls if call.load is not load]
            calls = rest if len(rest) < len(calls) and fails(rest) else calls
        return reduced(calls, fails, MAX_REDUCTION_TRIES), reproduced

    def _reproduced(self, calls: Sequence[SoakCall], failed: FailedCall) -> Reproduced | None:
        """Make calls on a fresh server; return the failure if it is the same, else None."""
        waiting: deque[tuple[SoakCall, Line]] = deque()
        with (
            self._other_server() as server,
            suppress(Skipped, Blocked),
            server.fresh("reproductions") as session,
        ):
            todo = ((call, call.request) for call in calls)
            while True:
                top_up(session, waiting, CALLS_IN_FLIGHT, todo)
                if not waiting:
                    return None
                call, line = waiting.popleft()
                is_same = call.number == failed.call.number
                seconds = self.server.settings.timeout if is_same else call.load.answer_seconds
                reply = session.await_reply(line, seconds)
                failure = call.case.oracle(reply)
                is_like = failure is not None and failure.kind == failed.failure.kind
                if failure is not None and is_like and (is_same or session.closed):
                    return Reproduced(FailedCall(call, line, reply, failure), session.lines)
                if reply.fault is not None:
                    return None
        return None

    @contextmanager
    def _other_server(self) -> Iterator[Server]:
        """Make a server for processes besides the soak's, and close them."""
        server = Server(replace(self.server.settings, examples=SHRINKING_EXAMPLES), self.server.surface)
        try:
            yield server
        finally:
            server.close()


def died(failed: FailedCall) -> bool:
    """Return whether the process ended instead of answering."""
    return isinstance(failed.reply.fault, Closed)
