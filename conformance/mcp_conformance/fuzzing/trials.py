"""Send cases to one target and judge the answers, each value once: alone, or with others in flight."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from statistics import median

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session, give_up
from mcp_conformance.fuzzing.budgets import CASES, CaseBudget
from mcp_conformance.fuzzing.case_source import held_case
from mcp_conformance.fuzzing.futility import Futility
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.oracles import Case, Failure
from mcp_conformance.fuzzing.refused_cases import RefusedCases
from mcp_conformance.fuzzing.reproduction import CaseReproduction, FailedCase
from mcp_conformance.fuzzing.window import Request, top_up
from mcp_conformance.generation.adversarial import value_name
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.preparation import renamed
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import FUZZED


class Trials:
    """The cases sent to one target.

    ``failures`` has the cases that failed, by kind, the plainest of each first; failures of the kinds in
    ``known`` are none.  No value is sent twice, unless it failed while others were in flight: then it is sent
    again, alone, and only that counts.
    """

    def __init__(self, server: Server, target: FuzzTarget, known: set[str], budget: CaseBudget = CASES):
        self.server, self.target, self._budget = server, target, budget
        self.failures: dict[str, list[FailedCase]] = {}
        self.answer_seconds = target.answer_seconds(server.settings.timeout_of(target.tool))
        self.reproduction = CaseReproduction(server, target, self.answer_seconds)
        # Each tool has a check for each kind of arguments, and all other targets take as long as one check.
        checks = 1 + budget.checks_of_a_tool * len(server.tools)
        times = max(1.0, server.settings.examples_of(target.tool) / FUZZ_EXAMPLES["quick"])
        self._max_spent = times * budget.all_tools_seconds
        self._share_left = self._max_spent / checks
        self._seconds_left = max(times * budget.max_seconds, self._share_left)
        tool = server.tool(target.tool) if target.tool else None
        calls = math.inf if tool is None else server.settings.fuzzed_calls(tool)
        self._calls_left = calls / budget.checks_of_a_tool
        self._until = server.clock.monotonic() + server.run.fuzz_seconds(server.clock)
        self._known, self._is_shrinking = known, False
        self._outcomes: dict[bytes, FailedCase | None] = {}
        self._may_fly = not server.fuzzing.blocks_together
        known_times = [target.seconds] * budget.first_cases if target.seconds else []
        self._answer_times = deque(known_times, maxlen=budget.first_cases)
        self._deaths = self._silences = self._hostile_silences = 0
        self._max_deaths, self._max_silences = budget.max_deaths, budget.max_silences
        is_gentle = server.settings.is_gentle_with(target.tool)
        most = budget.max_futile_calls if is_gentle else budget.max_futile_calls_thorough
        self._futility = Futility(target.refusal, most)
        self._refused = RefusedCases(self.failures, self._known, budget.max_refused_alone)

    @property
    def is_spent(self) -> bool:
        """Whether the target has used up its time or its calls, or ended or silenced too many processes."""
        is_over = self._share_left < 0 and self.server.fuzzing.seconds_spent > self._max_spent
        is_late = is_over or self._seconds_left < 0 or self.server.clock.monotonic() > self._until
        is_silent = self._silences >= self._max_silences
        is_silent |= self._hostile_silences >= self._budget.max_hostile_silences
        is_spent = self._calls_left < 1 or self._deaths > self._max_deaths
        return is_late or is_silent or is_spent or self._futility.is_certain

    def count_left_out(self) -> None:
        """Count the calls that are left out if they prove nothing, and estimate how long they would take."""
        examples = self.server.settings.examples_of(self.target.tool)
        wanted = min(examples, len(self._outcomes) + self._calls_left)
        calls = math.floor(wanted) - len(self._outcomes)
        if self._futility.is_certain and calls > 0:
            seconds = median(self._answer_times) if self._answer_times else self.target.seconds
            self.server.tool_calls.exercise.spare(self.target.tool, calls, calls * seconds)

    def allow_shrinking(self) -> None:
        """Allow more time, calls, ends of processes and missing answers, for shrinking a failure."""
        self._calls_left = max(self._calls_left, self._budget.max_calls_shrinking)
        least = self._budget.min_shrinking_seconds
        self._seconds_left, self._share_left = max(self._seconds_left, least), max(self._share_left, least)
        self._is_shrinking = True
        self._max_deaths = self._deaths + self._budget.max_deaths_shrinking
        self._max_silences = self._silences + self._budget.max_silences_shrinking

    def _spend(self, seconds: float) -> None:
        """Take seconds of the target's time, and of those of all targets together; shrinking has its own."""
        self._seconds_left -= seconds
        self._share_left -= seconds
        if not self._is_shrinking:
            self.server.fuzzing.seconds_spent += seconds

    def is_new(self, case: Case) -> bool:
        """Return whether the value of a case was not sent before."""
        held = self._held(case)
        return held is not None and _digest(held) not in self._outcomes

    # Alone

    def failed(self, case: Case) -> FailedCase | None:
        """Return the failure of a case, None if it passes; send it, alone, the first time only."""
        if (held := self._held(case)) is None:
            return None
        key = _digest(held)
        if key not in self._outcomes:
            failed = self._outcomes[key] = self._sent_alone(held)
            if failed is not None:
                self._file(failed)
        return self._outcomes[key]

    def _held(self, case: Case) -> Case | None:
        """Return a case as the tool may get it; None if its valid arguments would no longer be valid."""
        if not self.target.tool:
            return case
        return held_case(case, self.target.tool, self.server.arguments.world.jail)

    def whole(self, case: Case, kind: str) -> FailedCase:
        """Return the failure of a case; send the case again if its long answer was dropped.

        A case that fails now and then may have passed the last time: then the failure that is known stays.
        """
        held = self._held(case) or case
        failed = self._outcomes.get(_digest(held)) or self.failures[kind][0]
        again = self._sent_alone(held) if failed.is_brief else None
        return again if again is not None and again.failure.kind == failed.failure.kind else failed

    def _file(self, failed: FailedCase) -> None:
        """Add a failure to those of its kind, the plainest first; keep a long answer only of that one."""
        same = self.failures.setdefault(failed.failure.kind, [])
        is_plainer = self._is_plainer(failed.case, failed.failure)
        for one in same[:1] if is_plainer else [failed]:
            one.drop_long_reply()
        same.insert(0 if is_plainer else len(same), failed)

    def _is_plainer(self, case: Case, failure: Failure) -> bool:
        """Return whether a case is plainer than all that failed in this way."""
        same = self.failures.get(failure.kind)
        return not same or len(case.text) < len(same[0].case.text)

    def _sent_alone(self, case: Case) -> FailedCase | None:
        self._calls_left -= 1
        session = self.server.shared(FUZZED)  # it may start a process, whose time is not the target's
        begun = self.server.clock.monotonic()
        reply = self._ask(session, case)
        self._spend(self.server.clock.monotonic() - begun)
        if reply.fault is None:
            self._answer_times.append(reply.seconds)
            if case.hostile and reply.has_id:
                self.server.fuzzing.values_read.add(value_name(case.name))
        failure = self._failure(case, reply)
        if failure is None:
            return None
        failed = FailedCase(case, failure, reply, session.lines, len(session.lines), session.preparation)
        self._deaths += failed.is_death
        self._silences += failed.is_silence and not case.hostile
        self._hostile_silences += failed.is_silence and case.hostile
        return failed

    def _failure(self, case: Case, reply: Reply) -> Failure | None:
        self._futility.note(case.text, reply)
        if self.reproduction.control is None and reply.fault is None:
            self.reproduction.control = case.text
        failure = case.oracle(reply)
        return None if failure is None or failure.kind in self._known else failure

    def _ask(self, session: Session, case: Case) -> Reply:
        """Send a case and return the reply; end a process that answers neither the case nor a ping.

        A hostile value gets a short time; if it is not answered then, it is sent again in the end, and gets
        a longer one.  After any other value without an answer the process is ended too: the next one would
        not be alone in it.
        """
        sent = self.target.send(session, case.text)
        reply = session.await_reply(sent, self._wait_seconds(case), alone=True)
        if reply.fault is None or session.closed:
            return case.with_log(session, reply)
        self._end_if_hung(session)
        if session.is_answered(sent):
            return session.await_reply(sent, 0.0, alone=True)
        if not case.hostile:
            give_up(session)
        return reply

    def _wait_seconds(self, case: Case) -> float:
        """Return for how long to wait for an answer, in seconds."""
        usual = self._budget.hostile_usual_factor * self.target.seconds
        brief = max(self._budget.min_hostile_seconds, usual)
        return min(self.answer_seconds, brief) if case.hostile else self.answer_seconds

    def _end_if_hung(self, session: Session) -> None:
        """End a process that does not answer a ping."""
        if session.request(session.liveness_method, timeout=self.answer_seconds).fault is not None:
            give_up(session)
        # Its silence is a finding of the case: the next user of the session must not count it as a hang.
        session.is_silent = False

    # In flight

    def each(self, cases: Iterable[Case], *, hostile: bool = False) -> None:
        """Try cases, several in flight.

        The first ones are sent alone if it is unknown how fast the target answers, all if it is slow; so are
        hostile values if it is fast, as each may end the process.
        """
        todo = filter(self.is_new, filter(None, map(self._held, cases)))
        while not self.is_spent:
            if (in_flight := self._in_flight(hostile=hostile)) > 1:
                suspects = self._suspects(todo, in_flight)
                self._examine_refused()
                if not suspects:
                    return
                self._examine(suspects)
            elif (case := next(todo, None)) is not None:
                self.failed(case)
            else:
                return

    def _in_flight(self, *, hostile: bool) -> int:
        """Return how many cases to have in flight: in a row, they take a share of the time allowed."""
        if not self._may_fly or len(self._answer_times) < self._budget.first_cases:
            return 1
        seconds = median(self._answer_times)
        if hostile and seconds < self._budget.slow_answer_seconds:
            return 1
        most = self._budget.in_flight
        fitting = self._budget.in_flight_share * self.answer_seconds
        return min(most, int(fitting / seconds)) if seconds else most

    def _suspects(self, todo: Iterator[Case], in_flight: int) -> list[FailedCase]:
        """Try cases with several in flight until many fail, or one gets no answer; return these."""
        session, waiting = self.server.shared(FUZZED), deque[tuple[Case, Line]]()
        suspects: list[FailedCase] = []
        while True:
            if len(suspects) < self._budget.in_flight and not self.is_spent:
                top_up(session, waiting, in_flight, self._requests(session, todo))
            if not waiting:
                return suspects
            suspects += self._landed(session, *waiting.popleft())
            if suspects and suspects[-1].reply.fault is not None:
                break
        # One that waits behind a hanging case would take its whole time as well.
        if not session.closed:
            self._end_if_hung(session)
        for case, line in waiting:
            suspects += self._landed(session, case, line, wait=False)
        give_up(session)
        return suspects

    def _requests(self, session: Session, todo: Iterator[Case]) -> Iterator[tuple[Case, Request]]:
        while self._calls_left >= 1 and (case := next(todo, None)) is not None:
            self._calls_left -= 1
            self._outcomes[_digest(case)] = None
            yield case, self.target.request(renamed(session, case.text))

    def _landed(self, session: Session, case: Case, line: Line, *, wait: bool = True) -> list[FailedCase]:
        """Wait for an answer; return the case if it failed, unless a plainer one fails likewise."""
        begun = self.server.clock.monotonic()
        # A hostile one waits its turn among others: what is lost here costs two processes.
        reply = session.await_reply(line, self.answer_seconds if wait else 0.0)
        self._spend(self.server.clock.monotonic() - begun)
        failure = self._failure(case, reply)
        if case.valid and reply.is_tool_error and (failure is None or failure.tool_bug):
            self._refused.note(session, case, reply, is_likely=failure is not None)
            return []
        if failure is None or (reply.fault is None and not self._is_plainer(case, failure)):
            return []
        length = len(session.lines)
        if reply.fault is None:  # a history ends with the request that failed
            length -= next((back for back, one in enumerate(reversed(session.lines)) if one is line), 0)
        return [FailedCase(case, failure, reply, session.lines, length, session.preparation)]

    def _examine_refused(self) -> None:
        """Send some of the refused cases alone that may have met an exception; of the others that is open."""
        for case in self._refused.unsure():
            self._outcomes.pop(_digest(case), None)
        for case in self._refused.suspects():
            if self.is_spent:
                return
            self.failed(case)

    def _examine(self, suspects: list[FailedCase]) -> None:
        """Try suspects again, alone; no more cases in flight if a process was lost, or one passes alone."""
        lost = [one for one in suspects if one.reply.fault is not None]
        if lost:
            self._may_fly = False
            self._examine_lost(lost)
        wrong = [one for one in suspects if one.reply.fault is None]
        kinds = list(dict.fromkeys(one.failure.kind for one in wrong))
        # The plainest of each kind first: others of the kind are then dropped unsent.
        for one in sorted(wrong, key=lambda one: (kinds.index(one.failure.kind), len(one.case.text))):
            del self._outcomes[_digest(one.case)]
            if not self._is_plainer(one.case, one.failure) or self.failed(one.case) is not None:
                continue
            self._may_fly = False
            if self.reproduction.fails_after_others(one):
                self._file(one)

    def _examine_lost(self, lost: list[FailedCase]) -> None:
        """Send each case alone that got no answer; if all get one then, several in flight are to blame."""
        is_explained, all_tried = False, True
        for one in lost:
            del self._outcomes[_digest(one.case)]
            all_tried &= not self.is_spent
            if not self.is_spent:
                again = self.failed(one.case)
                is_explained |= again is not None and again.reply.fault is not None
        if lost[0].is_death:
            self._deaths += 1
            if not is_explained:
                self._file(lost[0])
        elif (
            all_tried and not is_explained and (failed := self.reproduction.fails_together(lost)) is not None
        ):
            self.server.fuzzing.blocks_together = True
            self._file(failed)


def _digest(case: Case) -> bytes:
    """Return a short key for the value of a case."""
    # A megabyte of text is remembered by 16 bytes, and two values collide in no run.
    return blake2b(case.text, digest_size=16).digest()
