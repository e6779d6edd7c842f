"""Reproduce failures on fresh servers, and find the requests that each needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from mcp_conformance import remedies
from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.message_log import CUT, MessageLog, head_of
from mcp_conformance.client.reply import Closed, Fault, Reply, Silence
from mcp_conformance.client.session import Session, give_up
from mcp_conformance.fuzzing.budgets import CASES
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.oracles import VALIDATED, Case, Failure
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import Kind, Line, kind
from mcp_conformance.protocol.text import shorten
from mcp_conformance.target.preparation import renamed
from mcp_conformance.target.reproducer import Attempt
from mcp_conformance.target.server import Server
from mcp_conformance.target.transcripts import write_transcripts
from mcp_conformance.target.unanswered import NOT_FATAL
from mcp_conformance.verdicts import Blocked, Finding, Repeat, Skipped

# What a person reads of a finding; the transcript has everything.
MAX_LINES_SHOWN = 6
MAX_CASE_LENGTH = 200
# Not measured: how many cases are tried alone, each for its whole timeout, if those before are answered then.
MAX_PROVEN_ALONE = 3
NEVER_TOGETHER = "never answers with others in flight"
"""The kind of a failure that only several cases in flight cause."""
# A fresh process has its own opening: these are never sent again.
OPENING_METHODS = ("initialize", "notifications/initialized", "server/discover")


@dataclass(eq=False)
class FailedCase:
    """A case that failed; the first ``length`` of ``lines`` are the conversation up to the failure.

    ``preparation`` are those of its lines by which the process was prepared; ``is_brief`` says that only the
    beginning of a long reply was kept.  ``beside`` is the number of other cases in flight without which it is
    answered.  ``first_fault`` is what came instead of an answer before it was confirmed.
    """

    case: Case
    failure: Failure
    reply: Reply
    lines: MessageLog
    length: int
    preparation: Sequence[Line] = ()
    is_brief: bool = False
    beside: int = 0
    first_fault: Fault | None = None

    @property
    def conversation(self) -> list[Line]:
        """The conversation up to the failure."""
        return self.lines[: self.length]

    def drop_long_reply(self) -> None:
        """Keep only the beginning of a long answer, once it is judged."""
        line = self.reply.line
        if line is not None and head_of(line) is not line:
            self.reply = replace(self.reply, line=head_of(line), message={})
            self.is_brief = True

    @property
    def is_death(self) -> bool:
        """Whether the process ended instead of answering."""
        return isinstance(self.reply.fault, Closed)

    @property
    def is_silence(self) -> bool:
        """Whether no answer came although the process is alive."""
        return self.reply.fault is not None and not self.is_death

    @property
    def is_advisory(self) -> bool:
        """Whether the failure is advisory, or a bug of the tool."""
        return self.failure.advisory or self.failure.tool_bug

    @property
    def was_accepted(self) -> bool:
        """Whether invalid arguments were accepted."""
        return self.failure.requirement == VALIDATED

    def is_seen_in(self, reply: Reply) -> bool:
        """Return whether an answer shows the same failure; all deaths count as the same."""
        if self.is_death:
            return isinstance(reply.fault, Closed)
        failure = self.case.oracle(reply)
        return failure is not None and failure.kind == self.failure.kind


@dataclass(frozen=True)
class Reproduction:
    """A description of how a failure was reproduced, empty if in isolation, and the lines that show it.

    ``conversations`` are complete, for transcripts.  ``repeat`` says how a run shows it again.
    """

    how: str
    lines: Sequence[Line]
    conversations: Sequence[Sequence[Line]]
    repeat: Repeat = Repeat.BY_CHECK


class _Begun(NamedTuple):
    """A case that was sent again; ``is_alone`` says that its process has nothing else to do."""

    session: Session
    line: Line
    is_alone: bool


class CaseReproduction:
    """The reproduction of a target's failed cases, and the verdicts on them.

    The answer to a failed case may take as long as the user allows, or a few times
    ``answer_seconds`` if the case is hostile; other answers may take ``answer_seconds`` seconds.
    ``control`` is the value of a case that was answered, None if none was.
    """

    def __init__(self, server: Server, target: FuzzTarget, answer_seconds: float):
        self.server, self.target, self.answer_seconds = server, target, answer_seconds
        self.control: bytes | None = None
        self._begun: dict[FailedCase, _Begun] = {}
        self._after_others: dict[FailedCase, Attempt[Line, Reply]] = {}

    def _max_wait(self, failed: FailedCase) -> float:
        timeout = self.server.settings.timeout_of(self.target.tool)
        return min(timeout, CASES.hostile_factor * self.answer_seconds) if failed.case.hostile else timeout

    def fails_in_isolation(self, failed: FailedCase) -> bool:
        """Return whether the request fails on a fresh server too, alone or after those that prepare it."""
        histories = [[failed.reply.request], *_prepared(failed)]
        return any(self._replay(failed, history).shown is not None for history in histories)

    def is_repeated(self, failed: FailedCase) -> bool:
        """Return whether a request gets the same wrong answer in the process that reproductions share."""
        return failed.reply.fault is None and self._repeated([failed]) != []

    def fails_after_others(self, failed: FailedCase) -> bool:
        """Return whether a request fails on a fresh server after the same others, one at a time."""
        attempt = self._replay(failed, _history(failed))
        if attempt.shown is not None:
            self._after_others[failed] = attempt
        return attempt.shown is not None

    def fails_together(self, failures: Sequence[FailedCase]) -> FailedCase | None:
        """Return a case that gets no answer when others are in flight, the fewest of these; None if all do.

        Each of them is answered alone.
        """
        answered, silent = 1, len(failures)
        if self._silent_together(failures, self.answer_seconds) is None:
            return None
        while silent - answered > 1:
            size = (answered + silent) // 2
            if self._silent_together(failures[:size], self.answer_seconds) is None:
                answered = size
            else:
                silent = size
        return self._silent_together(failures[:silent], self._max_wait(failures[0]))

    def _silent_together(self, failures: Sequence[FailedCase], seconds: float) -> FailedCase | None:
        """Send cases to a fresh server at once; return the first without an answer in so many seconds."""
        with suppress(Skipped), self.server.sessions.reproduction_session() as session:
            self.server.sessions.prepare(session)
            prepared = session.preparation
            sent = session.send_texts(
                self.target.request(renamed(session, one.case.text)) for one in failures
            )
            for one, line in zip(failures, sent, strict=True):
                reply = reply_within(session, line, seconds)
                if isinstance(reply.fault, Silence) and not session.inbox.is_writing():
                    failure = replace(one.failure, kind=NEVER_TOGETHER)
                    lines, beside = session.lines, len(failures) - 1
                    return FailedCase(one.case, failure, reply, lines, len(lines), prepared, beside=beside)
        return None

    def begin(self, failures: Sequence[FailedCase]) -> None:
        """Send cases again that got no answer; `reproductions` waits for what remains of their timeouts.

        Hostile ones share a process, as a start costs more than a `control` afterwards.
        """
        first, *others = failures
        if not first.is_silence or first.beside:
            return
        sharing = failures if first.case.hostile else others
        if sharing:
            self._begin_together(sharing)
        if first not in self._begun:
            with suppress(Skipped):
                self._begun[first] = self._sent_alone(first)

    def _begin_together(self, failures: Sequence[FailedCase]) -> None:
        begun: dict[FailedCase, _Begun] = {}
        with suppress(Skipped), self.server.sessions.shared_reproduction_session() as session:
            for failed in failures:
                line, is_alive = self._sent_again(session, failed)
                if not is_alive:
                    # It serves no control any more, so waiting for the others proves nothing of them.
                    give_up(session)
                    return
                begun[failed] = _Begun(session, line, is_alone=False)
        self._begun |= begun

    def reproductions(
        self, kinds: Sequence[list[FailedCase]]
    ) -> Iterator[tuple[list[FailedCase], Reproduction]]:
        """Yield the failures of each kind, and a reproduction of the first; drop late answers."""
        repeated = self._repeated([same[0] for same in kinds if same[0].reply.fault is None])
        for same in kinds:
            is_silent = same[0].is_silence and not same[0].beside
            failures = self._still_silent(same) if is_silent else same
            if failures:
                is_confirmed = failures[0].is_silence or failures[0] in repeated
                yield failures, self._alone(failures[0]) if is_confirmed else self._reproduction(failures[0])

    def _still_silent(self, failures: Sequence[FailedCase]) -> list[FailedCase]:
        """Return the cases that get no answer again, the first of them proven alone in its process."""
        for place, one in enumerate(failures[:MAX_PROVEN_ALONE]):
            if self._is_silent_alone(one) and self._is_silent_as_furnished(one):
                return [self._confirmed(one), *self._also_silent(failures[place + 1 :])]
        return []

    def _is_silent_alone(self, failed: FailedCase) -> bool:
        """Return whether a case gets no answer from a process that has nothing else to do.

        A process that still serves the `control` has enough to do it with.
        """
        begun = self._begun.pop(failed, None)
        try:
            session, line, is_alone = begun if begun is not None else self._sent_alone(failed)
            reply = reply_within(session, line, self._max_wait(failed))
            is_silent = failed.is_seen_in(reply) and not session.inbox.is_writing()
            is_proven = is_alone or not is_silent or self._serves(session)
        except Skipped:
            return False
        if is_alone:
            session.begin_close()
        # Another case holds up or has ended the process meanwhile.
        if begun is not None and (not is_proven or isinstance(reply.fault, Closed)):
            return self._is_silent_alone(failed)
        return is_silent

    def _is_silent_as_furnished(self, failed: FailedCase) -> bool:
        """Return whether a case gets no answer in the folder as it was at first either.

        Other calls may have made a folder of it in which this one takes long.
        """
        try:
            with self.server.sessions.session_as_furnished() as session:
                if session is None:
                    return True
                self.server.sessions.prepare(session)
                reply = self.target.ask(session, failed.case.text, self._max_wait(failed))
                return failed.is_seen_in(reply)
        except Skipped:
            return False

    def _sent_alone(self, failed: FailedCase) -> _Begun:
        """Send a case to a process of its own."""
        session = self.server.sessions.own_reproduction_session()
        self.server.sessions.prepare(session)
        return _Begun(session, self.target.send(session, failed.case.text), is_alone=True)

    def _serves(self, session: Session) -> bool:
        """Return whether a process with unanswered cases still answers the `control`."""
        if self.control is None:
            return False
        is_served = self.target.ask(session, self.control, self.answer_seconds).fault is None
        session.is_silent = False  # that says nothing of the server: the cases hold it up
        return is_served

    def _also_silent(self, failures: Sequence[FailedCase]) -> list[FailedCase]:
        """Return the cases that get no answer again.  Those sent to one process share one timeout."""
        silent: list[FailedCase] = []
        waiting = list(failures)
        hung = 0
        while waiting and hung < CASES.max_hung_again:
            found, waiting = self._unanswered(waiting)
            silent += found
            hung += bool(waiting)
        return silent

    def _unanswered(self, waiting: list[FailedCase]) -> tuple[list[FailedCase], list[FailedCase]]:
        """Send all cases to one process; return those not answered, and those to send to another process.

        The latter are all other cases if one made the process silent, and those sent earlier if it has ended
        since.  A server that still writes a line has begun an answer: none is missing.  One that does not
        serve the `control` any more proves nothing of each.
        """
        sent: list[tuple[FailedCase, Line]] = []
        earlier = [one for one in waiting if one in self._begun]
        try:
            with self.server.sessions.shared_reproduction_session() as session:
                for failed in waiting:
                    line, is_alive = self._sent_again(session, failed)
                    sent.append((failed, line))
                    if not is_alive and not session.closed:
                        silent = [] if session.inbox.is_writing() else [self._confirmed(failed)]
                        give_up(session)
                        return silent, [one for one in waiting if one is not failed]
                replies = [(one, reply_within(session, line, self._max_wait(one))) for one, line in sent]
                silent = [one for one, reply in replies if one.is_seen_in(reply)]
                again = earlier if session.closed else []
                if session.inbox.is_writing() or (len(sent) > 1 and silent and not self._serves(session)):
                    silent = []
                return list(map(self._confirmed, silent)), again
        except Skipped:
            return [], []

    def _sent_again(self, session: Session, failed: FailedCase) -> tuple[Line, bool]:
        """Send a case, unless that has begun; return its line, and whether a ping after it is answered."""
        begun = self._begun.pop(failed, None)
        if begun is not None and begun.session is session:
            return begun.line, True
        line = self.target.send(session, failed.case.text)
        ping = session.request(session.liveness_method, timeout=self._max_wait(failed))
        return line, ping.fault is None

    def _confirmed(self, failed: FailedCase) -> FailedCase:
        """Return the case with the seconds that its silence was confirmed for."""
        fault = failed.reply.fault
        if isinstance(fault, Silence):
            fault = replace(fault, seconds=self._max_wait(failed))
        first = failed.first_fault or failed.reply.fault
        return replace(failed, reply=replace(failed.reply, fault=fault), first_fault=first)

    def _repeated(self, failures: Sequence[FailedCase]) -> list[FailedCase]:
        """Return the cases that get the same wrong answer again, all from one process."""
        if not failures:
            return []
        try:
            with self.server.sessions.shared_reproduction_session() as session:
                asked = [(one, self._asked(session, one)) for one in failures]
        except Skipped:
            return []
        return [one for one, reply in asked if one.is_seen_in(reply)]

    def _asked(self, session: Session, failed: FailedCase) -> Reply:
        reply = self.target.ask(session, failed.case.text, self.answer_seconds)
        return failed.case.with_log(session, reply)

    def _reproduction(self, failed: FailedCase) -> Reproduction:
        """Reproduce a failure in isolation, else after as few requests as possible; else it is flaky.

        One that is only advisory, and was seen to need others, is not worth ten starts of the server.
        """
        if failed.failure.advisory and failed in self._after_others:
            return self._after(self._after_others[failed])
        if self._replay(failed, [failed.reply.request]).shown is not None:
            return self._alone(replace(failed, preparation=()))
        history, replay, reproducer = _history(failed), partial(self._replay, failed), self.server.reproducer
        found = reproducer.reproduce(replay, [*_prepared(failed), history])
        if found.shown is None:
            same = "the same" if len(history) == len(_requests(failed)) else "what was kept of it"
            how = f" (it happened once, and not again when {same} was sent to a fresh server: flaky)"
            return Reproduction(how, failed.reply.lines, [failed.conversation, found.lines], Repeat.NOT_SEEN)
        return self._after(reproducer.reduce(replay, found, [self._only_of_target]), reproducer.so_far)

    def _after(self, attempt: Attempt[Line, Reply], so_far: str = "") -> Reproduction:
        """Return the reproduction that a failure after other requests is; none may be needed in the end."""
        others = len(attempt.history) - 1
        how = f" (on a fresh server, after {others} other requests{so_far})" if others else ""
        shown = attempt.lines[len(self._opening()) :][-MAX_LINES_SHOWN:]
        is_of_target = all(map(self.target.is_requested_in, attempt.history))
        return Reproduction(how, shown, [attempt.lines], Repeat.BY_CHECK if is_of_target else Repeat.BY_RUN)

    def _only_of_target(self, history: Sequence[Line]) -> list[Line]:
        return [line for line in history if self.target.is_requested_in(line)]

    def _alone(self, failed: FailedCase) -> Reproduction:
        if failed.beside:
            how = f" with {failed.beside} others in flight (alone it is answered)"
            return Reproduction(how, failed.conversation[-MAX_LINES_SHOWN:], [failed.conversation])
        lines, before = failed.reply.lines, failed.preparation
        how = " (after the calls that worked before)" if before else ""
        return Reproduction(how, lines, [(*self._opening(), *before, *lines)])

    def _opening(self) -> tuple[Line, ...]:
        return self.server.surface.opening_lines

    def _replay(self, failed: FailedCase, history: Sequence[Line]) -> Attempt[Line, Reply]:
        """Send requests to a fresh server, one at a time; the last one may fail like a case."""
        try:
            with self.server.sessions.reproduction_session() as session:
                last = self._last_reply(session, history, self._max_wait(failed))
                reply = failed.case.with_log(session, last)
                return Attempt(history, session.lines, reply if failed.is_seen_in(reply) else None)
        except Skipped:
            return Attempt(history, [])

    def _last_reply(self, session: Session, asked: Sequence[Line], max_wait: float) -> Reply:
        for line in asked[:-1]:
            reply = session.await_reply(
                session.send_raw(line.raw, line.message), self.answer_seconds, alone=True
            )
            if session.closed:
                return reply
        last = session.send_raw(asked[-1].raw, asked[-1].message)
        return session.await_reply(last, max_wait, alone=True)

    # Verdicts

    def verdict(
        self, failed: FailedCase, reproduction: Reproduction, label: str, more: str = ""
    ) -> Finding | Blocked:
        """Write the transcripts of a reproduction, and return the verdict.

        ``label`` names the kind of values, and ``more`` is added to how the failure was reproduced.
        """
        verdict = self._verdict(failed, reproduction, label, more)
        verdict.repeat = reproduction.repeat
        return verdict

    def _verdict(
        self, failed: FailedCase, reproduction: Reproduction, label: str, more: str
    ) -> Finding | Blocked:
        failure, reply, text = failed.failure, failed.reply, shown_text(failed.case.text)
        id, lines, how = failure.requirement, reproduction.lines, reproduction.how
        name = f"{self.server.revision} {id} {self.target.name} {failure.kind}"
        about = f"{id}: {self.target.name} {text}"
        written = write_transcripts(self.server.sessions, reproduction.conversations, name=name, about=about)
        where = written.places if reproduction.repeat is Repeat.NOT_SEEN else written
        got, paths = f"{label} {text}: {failure.got or reply}{how}{more}{where}", written.paths
        if failed.is_death or failed.beside or (failed.is_silence and not failed.case.hostile):
            stderr = reply.fault.stderr if reply.fault is not None else ""
            fault = reply.fault if how else None  # a failure in isolation is always reported
            if id == NOT_FATAL and not how:
                return Finding(failure.expected, got, lines, id, transcripts=paths, stderr=stderr, fatal=True)
            defect = Defect.DIES if failed.is_death else Defect.HANGS
            verdict = Blocked(
                got, lines, stderr, id, self.target.tool, fault=fault, transcripts=paths, defect=defect
            )
            verdict.seen = failed.first_fault or reply.fault
            is_call = bool(self.target.tool) and failed.is_silence
            missing = remedies.of_missing_answer(reply.fault) if is_call else ""
            verdict.fix = remedies.TOGETHER if failed.beside else missing
            return verdict
        finding = failure.finding(got, lines, paths)
        finding.seen = failed.first_fault or reply.fault
        return finding


def shown_text(case: bytes) -> str:
    """Return the JSON text of a case, shortened; in words if it is empty, as then nothing was sent."""
    return shorten(case.decode("utf-8", "backslashreplace"), MAX_CASE_LENGTH) or "(left out)"


def _requests(failed: FailedCase) -> list[Line]:
    return [line for line in failed.conversation if line.sent and _is_request(line)]


def _prepared(failed: FailedCase) -> list[list[Line]]:
    """Return the history of the requests that prepared the process and the one that failed, if it was."""
    requests = [line for line in failed.preparation if line.sent and _is_request(line)]
    return [[*requests, failed.reply.request]] if requests else []


def _history(failed: FailedCase) -> list[Line]:
    """Return the requests up to a failure that were kept whole.

    Of those before a wrong answer these are the last ones, after those that prepared the process.
    """
    whole = [line for line in _requests(failed) if line.fault != CUT]
    last = whole if failed.reply.fault is not None else whole[-CASES.max_history :]
    begin = [] if len(last) == len(whole) else [one for some in _prepared(failed) for one in some[:-1]]
    return [*begin, *last]


def _is_request(line: Line) -> bool:
    return kind(line.message) is Kind.REQUEST and line.message["method"] not in OPENING_METHODS
