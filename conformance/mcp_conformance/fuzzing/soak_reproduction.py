"""Reproduce what fails in a soak: the call alone, else after as few of the calls before it as possible."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.fuzzing.budgets import SoakBudget
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import Failure
from mcp_conformance.fuzzing.reproduction import CaseReproduction, FailedCase, Reproduction
from mcp_conformance.fuzzing.soak_calls import SoakCall, ToolLoad
from mcp_conformance.fuzzing.window import top_up
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.reproducer import Attempt, Reproducer
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Finding, Repeat, Skipped


@dataclass(frozen=True)
class FailedCall:
    """A call of a soak that failed."""

    call: SoakCall
    case: FailedCase

    @classmethod
    def of(cls, call: SoakCall, reply: Reply, failure: Failure, session: Session) -> FailedCall:
        """Return the failure of a call that was the last one awaited in a session."""
        return cls(call, FailedCase(call.case, failure, reply, session.lines, len(session.lines)))


class SoakReproduction:
    """The reproduction of failures of a soak, in processes besides the soak's own.

    ``call_of`` returns the call of a number, None if none was made.
    """

    def __init__(
        self,
        server: Server,
        loads: Sequence[ToolLoad],
        call_of: Callable[[int], SoakCall | None],
        budget: SoakBudget,
    ):
        self.server, self.loads, self.call_of, self.budget = server, loads, call_of, budget

    def culprit(self, suspects: Sequence[SoakCall]) -> FailedCall | None:
        """Return the first call that a fresh process does not answer either."""
        with self._other_server() as server, server.fresh("reproductions") as session:
            server.sessions.prepare(session)
            for call in suspects:
                reply = call.load.target.ask(session, call.case.text, call.load.answer_seconds)
                failure = call.case.oracle(reply)
                if reply.fault is not None and failure is not None:
                    return FailedCall.of(call, reply, failure, session)
        return None

    def alone(self, call: SoakCall, known: set[str]) -> tuple[list[Finding | Blocked], set[str]]:
        """Make a call on a fresh server and shrink it; return verdicts, and the kinds of failures found.

        There are no verdicts if it does not fail there.  Kinds in ``known`` are not looked for.
        """
        with self._other_server() as server:
            fuzzer = Fuzzer(server, call.load.target, call.label, known)
            fuzzer.try_each([call.case])
            fuzzer.shrink(call.load.cases, list(fuzzer.kinds))
            try:
                fuzzer.report()
            except (Finding, Blocked) as error:
                return [error, *error.others], fuzzer.kinds
        return [], set()

    def after_others(self, failed: FailedCall, past: range) -> tuple[FailedCall, Finding | Blocked]:
        """Repeat calls with ``past`` numbers, many in flight; return what failed, and the verdict on it."""
        reproducer = Reproducer(self.budget.reduction, self.server.clock)
        found = reproducer.reproduce(partial(self._replay, failed), self._histories(past))
        if found.shown is None:
            made = min(len(past), self.budget.history_lengths[-1])
            how = f" (it happened once, and not again when the last {made} calls were made again: flaky)"
            lines = [*self._opening, *failed.case.reply.lines]
            return failed, self._verdict(failed, how, lines, Repeat.NOT_SEEN)
        slimmers = [partial(_without, load) for load in self.loads]
        fewest = reproducer.reduce(partial(self._replay, found.shown), found, slimmers)
        shown, others = fewest.shown or found.shown, len(fewest.history) - 1
        flight = f"up to {self.budget.in_flight} in flight{reproducer.so_far}"
        how = f" (on a fresh server, after {others} other calls, {flight})" if others else ""
        return shown, self._verdict(shown, how, fewest.lines)

    def _verdict(
        self, failed: FailedCall, how: str, lines: Sequence[Line], repeat: Repeat = Repeat.BY_RUN
    ) -> Finding | Blocked:
        load, shown = failed.call.load, failed.case.reply.lines
        cases = CaseReproduction(self.server, load.target, load.answer_seconds)
        return cases.verdict(failed.case, Reproduction(how, shown, [lines], repeat), failed.call.label)

    @property
    def _opening(self) -> tuple[Line, ...]:
        return self.server.surface.opening_lines

    def _histories(self, past: range) -> Iterator[list[SoakCall]]:
        until = self.server.clock.monotonic() + self.budget.search_seconds
        for length in self.budget.history_lengths:
            yield [call for number in past[-length:] if (call := self.call_of(number)) is not None]
            if length >= len(past) or self.server.clock.monotonic() > until:
                return

    def _replay(self, failed: FailedCall, calls: Sequence[SoakCall]) -> Attempt[SoakCall, FailedCall]:
        """Make calls on a fresh server, with many in flight; one of them may fail like ``failed``."""
        waiting: deque[tuple[SoakCall, Line]] = deque()
        lines: Sequence[Line] = []
        with (
            self._other_server() as server,
            suppress(Skipped, Blocked),
            server.fresh("reproductions") as session,
        ):
            lines = session.lines
            server.sessions.prepare(session)
            todo = ((call, call.request(session)) for call in calls)
            while True:
                top_up(session, waiting, self.budget.in_flight, todo)
                if not waiting:
                    break
                call, line = waiting.popleft()
                is_same = call.number == failed.call.number
                reply = session.await_reply(line, None if is_same else call.load.answer_seconds)
                failure = call.case.oracle(reply)
                is_like = failure is not None and failure.kind == failed.case.failure.kind
                if failure is not None and is_like and (is_same or session.closed):
                    return Attempt(calls, lines, FailedCall.of(call, reply, failure, session))
                if reply.fault is not None:
                    break
        return Attempt(calls, lines)

    @contextmanager
    def _other_server(self) -> Iterator[Server]:
        """Make a server for processes besides the soak's, and close them."""
        settings = replace(self.server.settings, examples=self.budget.shrinking_examples)
        server = Server(settings, self.server.surface, self.server.run)
        try:
            yield server
        finally:
            server.close()


def _without(load: ToolLoad, calls: Sequence[SoakCall]) -> list[SoakCall]:
    return [call for call in calls if call.load is not load]
