"""Send cases to one target and judge the answers, each value once: alone, or with others in flight."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from statistics import median

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.oracles import Case, Failure
from mcp_conformance.fuzzing.reproduction import CaseReproduction, FailedCase
from mcp_conformance.fuzzing.window import Request, top_up
from mcp_conformance.generation.adversarial import value_name
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import FUZZ_EXAMPLES

CASES_IN_FLIGHT = 16
FIRST_CASES = 4
"""The number of cases that are sent alone, to see how fast a target answers, unless that is known."""
MIN_HOSTILE_SECONDS = 0.1
SLOW_ANSWER_SECONDS = 0.02
"""A target that answers more slowly gets several hostile values at once."""
MAX_DEATHS = 12
MAX_DEATHS_SHRINKING = 40
MAX_SILENCES, MAX_HOSTILE_SILENCES = 2, 6
"""A hostile value waits only briefly for its answer."""
MAX_SILENCES_SHRINKING = 6
CHECKS_OF_A_TOOL = 3
"""The checks that fuzz a tool, with valid, invalid and hostile arguments, share its calls."""
MAX_CALLS_SHRINKING = 20
ALL_TOOLS_SECONDS = 60.0
"""The time for which a slow server answers while all its tools are fuzzed; more examples get more time.

Only the server's time counts: a busy machine tries as many values as an idle one.
"""
MIN_SECONDS = 3.0
MIN_SHRINKING_SECONDS = 15.0
"""The least time for which the server answers while a failure is shrunk."""


class Trials:
    """The cases sent to one target.

    ``failures`` has the cases that failed, by kind, the plainest of each first; failures of the kinds in
    ``known`` are none.  No value is sent twice, unless it failed while others were in flight: then it is sent
    again, alone, and only that counts.
    """

    def __init__(self, server: Server, target: FuzzTarget, known: set[str]):
        self.server, self.target = server, target
        self.failures: dict[str, list[FailedCase]] = {}
        self.answer_seconds = target.answer_seconds(server.settings.timeout)
        self.reproduction = CaseReproduction(server, target, self.answer_seconds)
        share = max(MIN_SECONDS, ALL_TOOLS_SECONDS / (1 + 3 * len(server.tools)))
        self._seconds_left = share * max(1.0, server.settings.examples / FUZZ_EXAMPLES["quick"])
        tool = server.tool(target.tool) if target.tool else None
        calls = math.inf if tool is None else server.settings.fuzzed_calls(tool)
        self._calls_left = calls / CHECKS_OF_A_TOOL
        self._until = server.clock.monotonic() + server.fuzz_seconds
        self._known = known
        self._outcomes: dict[bytes, FailedCase | None] = {}
        self._may_fly = True
        known_times = [target.seconds] * FIRST_CASES if target.seconds else []
        self._answer_times = deque(known_times, maxlen=FIRST_CASES)
        self._deaths = self._silences = self._hostile_silences = 0
        self._max_deaths, self._max_silences = MAX_DEATHS, MAX_SILENCES

    @property
    def is_spent(self) -> bool:
        """Whether the target has used up its time or its calls, or ended or silenced too many processes."""
        is_late = self._seconds_left < 0 or self.server.clock.monotonic() > self._until
        is_silent = self._silences >= self._max_silences or self._hostile_silences >= MAX_HOSTILE_SILENCES
        return is_late or is_silent or self._calls_left < 1 or self._deaths > self._max_deaths

    def allow_shrinking(self) -> None:
        """Allow more time, calls, ends of processes and missing answers, for shrinking a failure."""
        self._calls_left = max(self._calls_left, MAX_CALLS_SHRINKING)
        self._seconds_left = max(self._seconds_left, MIN_SHRINKING_SECONDS)
        self._max_deaths = self._deaths + MAX_DEATHS_SHRINKING
        self._max_silences = self._silences + MAX_SILENCES_SHRINKING

    def is_new(self, case: Case) -> bool:
        """Return whether the value of a case was not sent before."""
        return _digest(case) not in self._outcomes

    # Alone

    def failed(self, case: Case) -> FailedCase | None:
        """Return the failure of a case, None if it passes; send it, alone, the first time only."""
        key = _digest(case)
        if key not in self._outcomes:
            failed = self._outcomes[key] = self._sent_alone(case)
            if failed is not None:
                self._file(failed)
        return self._outcomes[key]

    def whole(self, case: Case) -> FailedCase:
        """Return the failure of a case; send the case again if its long answer was dropped."""
        failed = self._outcomes[_digest(case)]
        assert failed is not None
        again = self._sent_alone(case) if failed.is_brief else None
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
        begun = self.server.clock.monotonic()
        self._calls_left -= 1
        session = self.server.fuzzing_session
        reply = self._ask(session, case)
        self._seconds_left -= self.server.clock.monotonic() - begun
        if reply.fault is None:
            self._answer_times.append(reply.seconds)
            if case.hostile and reply.has_id:
                self.server.values_read.add(value_name(case.name))
        failure = self._failure(case, reply)
        if failure is None:
            return None
        failed = FailedCase(case, failure, reply, session.lines, len(session.lines))
        self._deaths += failed.is_death
        self._silences += failed.is_silence and not case.hostile
        self._hostile_silences += failed.is_silence and case.hostile
        return failed

    def _failure(self, case: Case, reply: Reply) -> Failure | None:
        failure = case.oracle(reply)
        return None if failure is None or failure.kind in self._known else failure

    def _ask(self, session: Session, case: Case) -> Reply:
        """Send a case and return the reply; end a process that answers neither the case nor a ping.

        A hostile value gets a short time; if it is not answered then, it is sent again in the end, and gets
        a longer one.
        """
        sent = self.target.send(session, case.text)
        reply = session.await_reply(sent, self._patience(case), alone=True)
        if reply.fault is None or session.closed:
            return reply
        self._end_if_hung(session)
        return session.await_reply(sent, 0.0, alone=True) if session.is_answered(sent) else reply

    def _patience(self, case: Case) -> float:
        """Return for how long to wait for an answer, in seconds."""
        brief = max(MIN_HOSTILE_SECONDS, 10 * self.target.seconds)
        return min(self.answer_seconds, brief) if case.hostile else self.answer_seconds

    def _end_if_hung(self, session: Session) -> None:
        """End a process that does not answer a ping."""
        if session.request(session.liveness_method, timeout=self.answer_seconds).fault is not None:
            session.begin_close()
            session.closed = True
        session.is_silent = False

    # In flight

    def each(self, cases: Iterable[Case], *, hostile: bool = False) -> None:
        """Try cases, several in flight.

        The first ones are sent alone if it is unknown how fast the target answers, all if it is slow; so are
        hostile values if it is fast, as each may end the process.
        """
        todo = filter(self.is_new, cases)
        while not self.is_spent:
            if (in_flight := self._in_flight(hostile=hostile)) > 1:
                suspects = self._suspects(todo, in_flight)
                if not suspects:
                    return
                self._examine(suspects)
            elif (case := next(todo, None)) is not None:
                self.failed(case)
            else:
                return

    def _in_flight(self, *, hostile: bool) -> int:
        """Return how many cases to have in flight: one after the other, they take half the time allowed."""
        if not self._may_fly or len(self._answer_times) < FIRST_CASES:
            return 1
        seconds = median(self._answer_times)
        if hostile and seconds < SLOW_ANSWER_SECONDS:
            return 1
        return min(CASES_IN_FLIGHT, int(self.answer_seconds / 2 / seconds)) if seconds else CASES_IN_FLIGHT

    def _suspects(self, todo: Iterator[Case], in_flight: int) -> list[FailedCase]:
        """Try cases with several in flight until many fail, or one gets no answer; return these."""
        session, waiting = self.server.fuzzing_session, deque[tuple[Case, Line]]()
        suspects: list[FailedCase] = []
        while True:
            if len(suspects) < CASES_IN_FLIGHT and not self.is_spent:
                top_up(session, waiting, in_flight, self._requests(todo))
            if not waiting:
                return suspects
            suspects += self._landed(session, *waiting.popleft())
            if suspects and suspects[-1].reply.fault is not None:
                break
        if not session.closed:
            self._end_if_hung(session)
        for case, line in waiting:
            suspects += self._landed(session, case, line, wait=False)
        return suspects

    def _requests(self, todo: Iterator[Case]) -> Iterator[tuple[Case, Request]]:
        while self._calls_left >= 1 and (case := next(todo, None)) is not None:
            self._calls_left -= 1
            self._outcomes[_digest(case)] = None
            yield case, self.target.request(case.text)

    def _landed(self, session: Session, case: Case, line: Line, *, wait: bool = True) -> list[FailedCase]:
        """Wait for an answer; return the case if it failed, unless a plainer one fails likewise."""
        begun = self.server.clock.monotonic()
        reply = session.await_reply(line, self._patience(case) if wait else 0.0)
        self._seconds_left -= self.server.clock.monotonic() - begun
        failure = self._failure(case, reply)
        if failure is None or (reply.fault is None and not self._is_plainer(case, failure)):
            return []
        length = len(session.lines)
        if reply.fault is None:  # a history ends with the request that failed
            length -= next((back for back, one in enumerate(reversed(session.lines)) if one is line), 0)
        return [FailedCase(case, failure, reply, session.lines, length)]

    def _examine(self, suspects: list[FailedCase]) -> None:
        """Try suspects again, alone; no more cases in flight if a process was lost, or one passes alone."""
        lost = [one for one in suspects if one.reply.fault is not None]
        if lost:
            self._may_fly = False
            self._examine_lost(lost)
        wrong = [one for one in suspects if one.reply.fault is None]
        kinds = list(dict.fromkeys(one.failure.kind for one in wrong))
        for one in sorted(wrong, key=lambda one: (kinds.index(one.failure.kind), len(one.case.text))):
            del self._outcomes[_digest(one.case)]
            if not self._is_plainer(one.case, one.failure) or self.failed(one.case) is not None:
                continue
            self._may_fly = False
            if self.reproduction.fails_after_others(one):
                self._file(one)

    def _examine_lost(self, lost: list[FailedCase]) -> None:
        """Send each case alone that got no answer; if all get one then, the end of the process counts."""
        is_explained = False
        for one in lost:
            del self._outcomes[_digest(one.case)]
            if not self.is_spent:
                again = self.failed(one.case)
                is_explained |= again is not None and again.reply.fault is not None
        if lost[0].is_death:
            self._deaths += 1
            if not is_explained:
                self._file(lost[0])


def _digest(case: Case) -> bytes:
    """Return a short key for the value of a case."""
    return blake2b(case.text, digest_size=16).digest()
