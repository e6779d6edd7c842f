"""Fuzz the protocol in bursts of lines, judge the answers, then confirm and reduce violations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from mcp_conformance.client.in_flight import OVERTAKEN_SECONDS, Window
from mcp_conformance.client.message_log import MessageLog, head_of
from mcp_conformance.client.session import PING_SECONDS, Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import skip
from mcp_conformance.fuzzing.budgets import PROTOCOL
from mcp_conformance.fuzzing.invariants import Violation, WindowOracle, tokens_in
from mcp_conformance.fuzzing.payloads import LivenessRequest, request_line
from mcp_conformance.protocol.jsonrpc import ABSENT, Line
from mcp_conformance.protocol.methods import envelope, liveness_method
from mcp_conformance.protocol.revisions import is_modern
from mcp_conformance.target.reproducer import Attempt
from mcp_conformance.target.server import Server
from mcp_conformance.target.transcripts import Written, write_transcripts
from mcp_conformance.verdicts import Blocked, Finding, Repeat

Burst = tuple[Line, ...]
"""Lines sent in one write; their answers are awaited before the next burst."""

DIED, SILENT = "the server ended", "a request was not answered"
# Far from the ids of the opening, and from those that `payloads.IDS` sends.
FIRST_ID = 1_000_000
# What a person reads; a longer proof is in the transcript.
MAX_LINES_SHOWN = 6


@dataclass(frozen=True)
class StageFailure:
    """Violations of one rule in one stage.

    ``proofs`` are, for each violation, the sent lines that show it.  ``bursts`` are those sent up to the
    first violation; the first ``length`` of ``lines`` are the conversation up to it.  An answer counts as
    missing after ``lost_after`` seconds.
    """

    violations: list[Violation]
    proofs: list[Burst]
    bursts: list[Burst]
    lines: MessageLog
    length: int
    oracle: WindowOracle
    lost_after: float

    @property
    def errors(self) -> list[Finding | Blocked]:
        """The errors of the violations."""
        return [violation.error for violation in self.violations]


History = Sequence[tuple[int, Line]]
"""Lines to send again, each with the number of its burst."""
Seen = Attempt[tuple[int, Line], list[Violation]]
"""A history on a fresh server, and the violations seen again."""


class FuzzConversation:
    """A conversation in stages; a process that ended is replaced before the next stage, a few times.

    Each stage has an oracle.  The first violations of each rule and stage are kept; `raise_violations` raises
    them.  ``has_progress`` says whether a call reported progress.
    """

    def __init__(self, server: Server):
        revision = server.revision
        self.server = server
        self.liveness = LivenessRequest(
            liveness_method(revision), envelope(revision, {}) if is_modern(revision) else {}
        )
        self.failures: dict[tuple[str, str], StageFailure] = {}
        self.skipped_stages: dict[str, str] = {}
        self.has_progress = False
        self._confirmed: dict[tuple[str, str], Finding | Blocked | None] = {}
        self._confirming: dict[tuple[str, str], Confirmation] = {}
        self._ids = itertools.count(FIRST_ID)
        self._window: Window | None = None
        self._bursts: list[Burst] = []
        self._seconds_taken = 0.0
        self._unanswered: list[Burst] = []
        self._process_failures: list[str] = []

    def next_id(self) -> int:
        """Return a number that no request has used as its id."""
        return next(self._ids)

    def request(self, id: int | str, method: str, params: Any = ABSENT) -> Line:
        """Return the line of a request, with the ``_meta`` that the revision needs."""
        return request_line(id, method, params, self.liveness.meta)

    def call(self, call: Call, id: int | str, token: int | str | None = None) -> Line:
        """Return the line that repeats a call, with a progress token if one is given."""
        params: dict[str, Any] = call.params
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        return self.request(id, "tools/call", {**params, **meta})

    # Sending

    def begin_stage(
        self,
        stage: str,
        oracle: WindowOracle,
        *,
        slow_answers: bool = False,
        lost_after: float = 0.0,
        max_seconds: float = 1e9,
    ) -> None:
        """Begin a stage, in which bursts are exchanged for at most ``max_seconds``.

        With ``slow_answers``, answers overtaken by others are awaited as long as tools may take.  A missing
        answer counts as lost after ``lost_after`` seconds, or after the user's timeout if that is 0.
        So does the answer to a ping after a short burst, as a server that reads on has nothing else to do.
        """
        timeout = self.server.settings.timeout
        self._stage, self._oracle, self._slow_answers = stage, oracle, slow_answers
        slow, quick = min(timeout, PROTOCOL.slow_answer_seconds), PROTOCOL.first_wait_seconds
        self._slack = slow if slow_answers else quick
        self._lost_after, self._ping_seconds = min(timeout, lost_after) or timeout, lost_after or PING_SECONDS
        self._seconds_left = max_seconds
        self._bursts = [burst for burst in self._bursts if burst not in self._unanswered]
        self._seconds_wasted = 0.0
        self._stage_is_over = False

    def send(self, *burst: Line) -> Window | None:
        """Send a burst, judge the lines that come back, and return the window; None if the stage is over."""
        window = self._usable()
        if window is None:
            return None
        self._bursts.append(burst)
        begun = self.server.clock.monotonic()
        is_short = sum(len(line.raw) for line in burst) <= PROTOCOL.max_short_burst_bytes
        window.exchange(burst, self._slack, self._ping_seconds if is_short else PING_SECONDS)
        taken = self.server.clock.monotonic() - begun
        self._seconds_left -= taken
        self._seconds_taken += taken
        self.has_progress |= bool(tokens_in(window.lines))
        for violation in self._oracle(window):
            self._note(window, violation)
        if window.session.closed:
            self._process_failures.append(DIED)
        elif window.mute or (window.open and self._slow_answers):
            self._process_failures.append(SILENT)
        if window.open:
            self._unanswered.append(burst)  # not sent again when a later stage is confirmed
        self._stage_is_over = window.session.closed or SILENT in self._process_failures
        self._seconds_wasted += max(self._slack, OVERTAKEN_SECONDS) if window.open else 0.0
        return window

    def _usable(self) -> Window | None:
        """Return the window of a live process, unless the stage is over."""
        is_late = self._seconds_wasted >= PROTOCOL.slow_answer_seconds or self._seconds_left < 0
        if self._stage_is_over or is_late:
            return None
        if len(self._process_failures) >= PROTOCOL.max_process_failures or SILENT in self._process_failures:
            self.skipped_stages[self._stage] = f"{self._process_failures[-1]} before, so no more is sent"
            self._stage_is_over = True
            return None
        window = self._window
        is_long = len(self._bursts) >= PROTOCOL.max_bursts
        is_long |= self._seconds_taken > PROTOCOL.max_seconds
        if window is None or window.session.closed or is_long:
            self.close()
            window = self._window = Window(_separate_session(self.server))
            self._bursts, self._seconds_taken = [], 0.0
        return window

    def _note(self, window: Window, violation: Violation) -> None:
        key = violation.error.requirement, self._stage
        if key not in self.failures:
            lines = window.session.lines
            sent = list(self._bursts)
            self.failures[key] = StageFailure([], [], sent, lines, len(lines), self._oracle, self._lost_after)
            # Its confirmation needs a process, which starts meanwhile.
            self.server.sessions.foresee_start()
        failure = self.failures[key]
        is_new = str(violation.error) not in map(str, failure.errors)
        if is_new and len(failure.violations) < PROTOCOL.max_violations:
            raws = {line.raw for burst in self._bursts for line in burst}
            failure.violations.append(violation)
            failure.proofs.append(tuple(line for line in violation.error.lines if line.raw in raws))
            violation.error.lines = tuple(map(head_of, violation.error.lines))

    def start_confirming(self) -> None:
        """Begin to confirm the unanswered requests so far; their long timeouts pass in the background."""
        for key, failure in self.failures.items():
            if failure.violations[0].is_late and key not in self._confirming:
                self._confirming[key] = self._confirmation(key)
                self._confirming[key].begin()

    def _confirmation(self, key: tuple[str, str]) -> Confirmation:
        return Confirmation(self.server, self.failures[key], " ".join(key))

    def close(self) -> None:
        """Begin to end the process."""
        if self._window is not None:
            self._window.session.begin_close()

    # Reporting

    def raise_violations(self, requirement: str, stage: str = "") -> None:
        """Raise the violations of a rule, in one stage or in any, if they are confirmed.

        Skips the check if the stage was skipped.
        """
        for key in self.failures:
            if key[0] == requirement and stage in ("", key[1]):
                if key not in self._confirmed:
                    confirmation = self._confirming.get(key) or self._confirmation(key)
                    self._confirmed[key] = confirmation.result()
                error = self._confirmed[key]
                if error is not None:
                    raise error
        if stage in self.skipped_stages:
            skip(self.skipped_stages[stage])


def _separate_session(server: Server) -> Session:
    """Start a process whose lines no other check judges."""
    session = server.sessions.connect("fuzzing the protocol")
    session.drain()  # late lines of the opening must not count as answers to later requests
    server.sessions.exclude(session)
    return session


# Confirming --------------------------------------------------------------------------------------


class Confirmation:
    """The confirmation of a failure on fresh servers: whether it happens again, and which lines it needs."""

    def __init__(self, server: Server, failure: StageFailure, name: str):
        self.server, self.failure = server, failure
        self.requirement = failure.violations[0].error.requirement
        self.name = f"{name} {server.revision}"
        self._begun: tuple[Window, Line] | None = None

    def begin(self) -> None:
        """Send the first proof; `result` awaits the answers."""
        window = Window(_separate_session(self.server))
        self._begun = window, window.begin(self.failure.proofs[0])

    def result(self) -> Finding | Blocked | None:
        """Return the error to report; None if the server was only slow."""
        failure, reproducer = self.failure, self.server.reproducer
        proved = self._rerun(failure.proofs, failure.lost_after, self._begun)
        if proved.shown is not None:
            return self._describe(proved)
        histories = map(_numbered, (failure.bursts[-1:], failure.bursts))
        found = reproducer.reproduce(partial(self._replay, lost_after=failure.lost_after), histories)
        if found.shown is not None:
            return self._describe(self._reduce(found))
        return None if failure.violations[0].is_late else self._flaky(found)

    def _replay(self, history: History, lost_after: float) -> Seen:
        return self._rerun(_in_bursts(history), lost_after)

    def _rerun(
        self, bursts: Sequence[Burst], lost_after: float, begun: tuple[Window, Line] | None = None
    ) -> Seen:
        """Repeat bursts up to the failure on a fresh server, with ``lost_after`` seconds for each.

        The first burst may have ``begun``.
        """
        window, ping = begun or (Window(_separate_session(self.server)), None)
        with window.session as session:
            violations = list[Violation]()
            for burst in bursts:
                if ping is not None:
                    window.finish(ping, max(OVERTAKEN_SECONDS, lost_after))
                    ping = None
                else:
                    window.exchange(burst, max(OVERTAKEN_SECONDS, lost_after))
                found = self.failure.oracle(window)
                violations += [one for one in found if one.error.requirement == self.requirement]
                if violations or session.closed or window.mute:
                    break
            return Attempt(_numbered(bursts), session.lines, violations or None)

    def _reduce(self, found: Seen) -> Seen:
        """Return the attempt with the fewest lines that still fail."""
        quick = partial(self._replay, lost_after=OVERTAKEN_SECONDS)
        fewest = self.server.reproducer.reduce(quick, found, [self._with_only_the_proof])
        if not (fewest.shown and fewest.shown[0].is_late):
            return fewest
        # An answer that was missing after the short time may have been late: only the long one is reported.
        awaited = self._replay(fewest.history, min(PROTOCOL.slow_answer_seconds, self.failure.lost_after))
        return awaited if awaited.shown is not None else found

    def _with_only_the_proof(self, history: History) -> History:
        """Return a history whose last burst has only the lines that prove the failure."""
        last = history[-1][0]
        proof = [(last, line) for line in self.failure.proofs[0]]
        return [*((number, line) for number, line in history if number != last), *proof]

    # Describing

    def _describe(self, seen: Seen) -> Finding | Blocked:
        violations, sent = seen.shown or [], {line.raw for _, line in seen.history}
        error = violations[0].error
        lines = [line for line in seen.lines if line.raw in sent or line in error.lines]
        is_short = len(lines) <= MAX_LINES_SHOWN
        error.lines = tuple(lines) if is_short else error.lines
        error.history = tuple(lines)
        _, *others = dict.fromkeys(_text_of(one.error) for one in violations)
        also = "".join(f"; {other}" for other in others)
        needs = f" (needs {len(seen.history)} lines{self.server.reproducer.so_far})"
        size = "" if is_short or others else needs
        return _with_transcripts(error, f"{also}{size}", self._write([seen.lines]))

    def _flaky(self, seen: Seen) -> Finding | Blocked:
        before = self.failure.lines[: self.failure.length]
        how = " (it happened once, and not again when the same lines were sent to a fresh server: flaky)"
        error = self.failure.violations[0].error
        error.repeat = Repeat.NOT_SEEN
        written = self._write([before, seen.lines])
        return _with_transcripts(error, f"{how}{written.places}", written)

    def _write(self, conversations: Sequence[Sequence[Line]]) -> Written:
        return write_transcripts(self.server.sessions, conversations, name=self.name, about=self.name)


def _numbered(bursts: Sequence[Burst]) -> History:
    return [(number, line) for number, burst in enumerate(bursts) for line in burst]


def _in_bursts(history: History) -> list[Burst]:
    return [tuple(line for _, line in group) for _, group in itertools.groupby(history, itemgetter(0))]


def _text_of(error: Finding | Blocked) -> str:
    return error.got if isinstance(error, Finding) else error.reason


def _with_transcripts(error: Finding | Blocked, more: str, written: Written) -> Finding | Blocked:
    """Append to the text of an error, and name its transcripts."""
    if isinstance(error, Finding):
        error.got += f"{more}{written}"
    else:
        error.reason += f"{more}{written}"
    error.transcripts = written.paths
    return error
