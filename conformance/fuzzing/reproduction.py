"""Seeing a failure again on fresh servers, and finding which requests it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.client.message_log import CUT, MessageLog, head_of
from conformance.client.reply import Closed, Reply, Silence
from conformance.client.session import Session
from conformance.client.transcript import Transcript
from conformance.fuzzing.fuzz_target import FuzzTarget
from conformance.fuzzing.oracles import VALIDATED, Case, Failure
from conformance.fuzzing.reduction import reduced
from conformance.protocol.jsonrpc import Kind, Line, kind
from conformance.target.server import Server
from conformance.verdicts import Skipped

LINES_SHOWN = 6
HOSTILE_FACTOR = 3
"""How many times longer than usual the answer to something hostile may take before it counts as lost."""
REDUCTION_SECONDS = 20.0
"""How many seconds of starting servers go into finding which requests a failure needs."""
OPENING = ("initialize", "notifications/initialized", "server/discover")


@dataclass(eq=False)
class FailedCase:
    """A case that failed, and the ``lines`` of the conversation: ``length`` of them up to there.

    ``is_brief`` says that its reply was too long to be kept.
    """

    case: Case
    failure: Failure
    reply: Reply
    lines: MessageLog
    length: int
    is_brief: bool = False

    @property
    def conversation(self) -> list[Line]:
        """The conversation up to there."""
        return self.lines[: self.length]

    def drop_long_reply(self) -> None:
        """Let go of a long answer; what is wrong with it is known."""
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
        """Whether no answer came although the process lives."""
        return self.reply.fault is not None and not self.is_death

    @property
    def is_advice(self) -> bool:
        """Whether it informs only."""
        return self.failure.advisory

    @property
    def was_accepted(self) -> bool:
        """Whether invalid arguments were accepted."""
        return self.failure.requirement == VALIDATED

    def is_seen_in(self, reply: Reply) -> bool:
        """Whether an answer shows the same problem; one death is like another."""
        if self.is_death:
            return isinstance(reply.fault, Closed)
        failure = self.case.oracle(reply)
        return failure is not None and failure.kind == self.failure.kind


@dataclass(frozen=True)
class Reproduction:
    """How a failure was seen again, in words, and the lines that show it.

    ``keep`` writes the conversations to files and says where, given what they are about.
    """

    how: str
    lines: Sequence[Line]
    keep: Callable[[str, Failure], str]


class Reproducer:
    """Sends what failed again.

    The answer to what failed may take as long as the user allows, and `HOSTILE_FACTOR` times ``answer_seconds`` if
    it was hostile; other answers may take ``answer_seconds`` seconds.
    """

    def __init__(self, server: Server, target: FuzzTarget, answer_seconds: float):
        self.server, self.target, self.answer_seconds = server, target, answer_seconds

    def _max_wait(self, failed: FailedCase) -> float:
        timeout = self.server.settings.timeout
        return min(timeout, HOSTILE_FACTOR * self.answer_seconds) if failed.case.hostile else timeout

    def fails_in_isolation(self, failed: FailedCase) -> bool:
        """Whether a failure's request fails on a fresh server too, with nothing sent before."""
        return self._fails_after([failed.reply.request], failed)[0]

    def reproductions(self, kinds: Sequence[list[FailedCase]]) -> Iterator[tuple[list[FailedCase], Reproduction]]:
        """The failures of each kind, with proof of the first; a server that was only slow has not failed."""
        repeated = self._repeated([same[0] for same in kinds if same[0].reply.fault is None])
        for same in kinds:
            failures = self._still_silent(same) if same[0].is_silence else same
            if failures:
                proven = failures[0].is_silence or failures[0] in repeated
                yield failures, self._alone(failures[0]) if proven else self._reproduction(failures[0])

    def _still_silent(self, failures: Sequence[FailedCase]) -> list[FailedCase]:
        """The failures that get no answer again.  They share processes, and a wait for each of these."""
        silent: list[FailedCase] = []
        waiting = list(failures)
        while waiting:
            found, waiting = self._unanswered(waiting)
            silent += found
        return silent

    def _unanswered(self, waiting: list[FailedCase]) -> tuple[list[FailedCase], list[FailedCase]]:
        """Send all of it to one process: what is not answered, and what to send again.

        The latter is what was sent before a request of which the process fell silent altogether.
        """
        sent: list[tuple[FailedCase, Line]] = []
        try:
            with self.server.reproduction_session() as session:
                for failed in waiting:
                    sent.append((failed, self.target.send(session, failed.case.text)))
                    ping = session.request(session.liveness_method, timeout=self._max_wait(failed))
                    if ping.fault is not None and not session.closed:
                        return [self._proven(failed)], [one for one in waiting if one is not failed]
                now = self.server.clock.monotonic
                until = now() + max(map(self._max_wait, waiting))
                replies = [(one, session.await_reply(line, max(0.0, until - now()))) for one, line in sent]
                return [self._proven(one) for one, reply in replies if one.is_seen_in(reply)], []
        except Skipped:
            return [], []

    def _proven(self, failed: FailedCase) -> FailedCase:
        """A silence that lasted as long as it takes to be sure."""
        fault = failed.reply.fault
        if isinstance(fault, Silence):
            fault = replace(fault, seconds=self._max_wait(failed))
        return replace(failed, reply=replace(failed.reply, fault=fault))

    def _repeated(self, failures: Sequence[FailedCase]) -> list[FailedCase]:
        """The wrong answers that come again, all from one process."""
        if not failures:
            return []
        try:
            with self.server.reproduction_session() as session:
                asked = [(one, self.target.ask(session, one.case.text, self.answer_seconds)) for one in failures]
        except Skipped:
            return []
        return [one for one, reply in asked if one.is_seen_in(reply)]

    def _reproduction(self, failed: FailedCase) -> Reproduction:
        """A failure alone, else with the fewest requests before it, else as seen once."""
        if self.fails_in_isolation(failed):
            return self._alone(failed)
        asked = [line for line in failed.conversation if line.sent and _is_asked(line)]
        history = [line for line in asked if line.fault != CUT]
        failed, again = self._fails_after(history, failed)
        if not failed:
            same = "the same" if history == asked else "what was kept of it"
            how = f" (it happened once, and not again when {same} was sent to a fresh server: flaky)"
            return Reproduction(how, failed.reply.lines, self.transcript_writer(failed.conversation, again))
        alike = [line for line in history if self.target.is_asked_in(line)]
        if self._fails_after(alike, failed)[0]:
            history = alike
        fewest = reduced(history, lambda some: self._fails_after(some, failed)[0], self._tries())
        lines = self._fails_after(fewest, failed)[1] or again
        others = len(fewest) - 1
        how = f" (on a fresh server, after {others} other requests)" if others else ""
        said = lines[len(self._opening()) :]
        return Reproduction(how, said[-LINES_SHOWN:], self.transcript_writer(lines))

    def _alone(self, failed: FailedCase) -> Reproduction:
        lines = failed.reply.lines
        return Reproduction("", lines, self.transcript_writer((*self._opening(), *lines)))

    def _opening(self) -> tuple[Line, ...]:
        return self.server.surface.opening_lines

    def _tries(self) -> int:
        """How often a server may be started to reduce a history."""
        start = self.server.session.opening
        seconds = start.line.at if start is not None and start.line is not None else 1.0
        return max(8, min(40, int(REDUCTION_SECONDS / max(seconds, 0.1))))

    def _fails_after(self, asked: Sequence[Line], failed: FailedCase) -> tuple[bool, list[Line]]:
        """Send lines to a fresh server: whether the last fails in the same way, and the conversation."""
        try:
            with self.server.reproduction_session() as session:
                reply = self._last_reply(session, asked, self._max_wait(failed))
                return failed.is_seen_in(reply), session.lines
        except Skipped:
            return False, []

    def _last_reply(self, session: Session, asked: Sequence[Line], max_wait: float) -> Reply:
        for line in asked[:-1]:
            reply = session.await_reply(session.send_raw(line.raw, line.message), self.answer_seconds, alone=True)
            if session.closed:
                return reply
        last = session.send_raw(asked[-1].raw, asked[-1].message)
        return session.await_reply(last, max_wait, alone=True)

    def transcript_writer(self, *conversations: Sequence[Line]) -> Callable[[str, Failure], str]:
        """What writes the conversations down for ``mcp-conformance replay``."""

        def keep(about: str, failure: Failure) -> str:
            settings = self.server.settings
            name = f"{self.server.revision} {failure.requirement} {self.target.name} {failure.kind}"[:90]
            paths = []
            for number, lines in enumerate(conversations, 1):
                ending = f"-{number}" if len(conversations) > 1 else ""
                said = (about, tuple(lines), settings.env)
                transcript = Transcript(settings.command, self.server.revision, *said)
                try:
                    paths.append(str(transcript.keep(settings.transcripts, name + ending)))
                except OSError as error:
                    return f"; no transcript: {error}"
            return f"; to see it again: mcp-conformance replay {' or '.join(paths)}"

        return keep


def _is_asked(line: Line) -> bool:
    return kind(line.message) is Kind.REQUEST and line.message["method"] not in OPENING
