"""Conversations in bursts: held and judged; what was seen is confirmed and reduced before it is told."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from conformance.client.in_flight import GRACE, PATIENCE, Window
from conformance.client.message_log import MessageLog, head_of
from conformance.client.session import Session
from conformance.client.tool_call import Call
from conformance.client.transcript import Transcript
from conformance.expect import skip
from conformance.fuzzing.invariants import Judge, Seen, tokens_in
from conformance.fuzzing.payloads import Pulse, request_line
from conformance.fuzzing.reduction import reduced
from conformance.protocol.jsonrpc import ABSENT, Line
from conformance.protocol.methods import envelope, liveness_method
from conformance.protocol.revisions import is_modern
from conformance.target.server import Server
from conformance.verdicts import Blocked, Finding

Burst = tuple[Line, ...]
"""Lines that are sent in one write; what they ask is waited for before the next burst."""

DIED, SILENT = "the server ended", "a request was not answered"
FIRST_ID = 1_000_000
MOST_BURSTS = 200
MOST_FAILURES = 4
MOST_SEEN = 10
MOST_LINES = 6
MOST_REPEATS = 24
MOST_SECONDS = 40.0


@dataclass(frozen=True)
class Problem:
    """A rule that was seen broken in a stage.

    What was ``seen``, each with the lines of ours that are its proof; the ``bursts`` up to the first, and the
    ``lines`` of the conversation, ``length`` of them up to there.
    """

    seen: list[Seen]
    proofs: list[Burst]
    bursts: list[Burst]
    lines: MessageLog
    length: int
    judge: Judge
    certainty: float

    @property
    def troubles(self) -> list[Finding | Blocked]:
        """What was seen, without how."""
        return [seen.trouble for seen in self.seen]


@dataclass(frozen=True)
class Repeat:
    """What came of lines that were ``said`` on a fresh server: what was ``seen`` again, and all ``lines``."""

    said: list[Line]
    seen: list[Seen]
    lines: list[Line]


class Talk:
    """A conversation in stages; a process that died is replaced before the next stage, a few times.

    Each stage has a judge; of each rule and stage the first things seen are kept, and `tell` raises them.
    ``has_progress`` says whether a call told its progress.
    """

    def __init__(self, server: Server):
        revision = server.revision
        self.server = server
        self.liveness_method = Pulse(liveness_method(revision), envelope(revision, {}) if is_modern(revision) else {})
        self.problems: dict[tuple[str, str], Problem] = {}
        self.left_out: dict[str, str] = {}
        self.has_progress = False
        self._told: dict[tuple[str, str], Finding | Blocked | None] = {}
        self._doubts: dict[tuple[str, str], Confirmation] = {}
        self._ids = itertools.count(FIRST_ID)
        self._window: Window | None = None
        self._bursts: list[Burst] = []
        self._unanswered: list[Burst] = []
        self._failures: list[str] = []

    def next_id(self) -> int:
        """A number that no request has had as its id."""
        return next(self._ids)

    def request(self, id: int | str, method: str, params: Any = ABSENT) -> Line:
        """The line that sends a request, with what the revision wants in its ``_meta``."""
        return request_line(id, method, params, self.liveness_method.meta)

    def call(self, call: Call, id: int | str, token: int | str | None = None) -> Line:
        """The line that makes a call again, with a progress token if one is given."""
        params: dict[str, Any] = {"name": call.tool.name, "arguments": call.arguments}
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        return self.request(id, "tools/call", {**params, **meta})

    # Holding

    def begin(
        self, stage: str, judge: Judge, *, patient: bool = False, certainty: float = 0.0, seconds: float = 1e9
    ) -> None:
        """Begin a stage, in which bursts are exchanged for so many ``seconds`` at the most.

        If ``patient``, answers that others have overtaken are waited for as long as tools may take.  What is
        missed is believed to be lost after ``certainty`` seconds, or the user's timeout if that is 0.
        """
        self.doubt()
        timeout = self.server.settings.timeout
        self._stage, self._judge, self._patient = stage, judge, patient
        self._slack = min(timeout, PATIENCE) if patient else GRACE
        self._certainty = min(timeout, certainty) or timeout
        self._left = seconds
        self._bursts = [burst for burst in self._bursts if burst not in self._unanswered]
        self._wasted = 0.0
        self._over = False

    def say(self, *burst: Line) -> Window | None:
        """Send a burst and judge what comes back; None if the stage is over."""
        window = self._usable()
        if window is None:
            return None
        self._bursts.append(burst)
        begun = time.monotonic()
        window.exchange(burst, self._slack)
        self._left -= time.monotonic() - begun
        self.has_progress |= bool(tokens_in(window.lines))
        for seen in self._judge(window):
            self._note(window, seen)
        if window.session.closed:
            self._failures.append(DIED)
        elif window.mute or (window.open and self._patient):
            self._failures.append(SILENT)
        if window.open:
            self._unanswered.append(burst)  # not to be said again when a later stage is looked into
        self._over = window.session.closed or SILENT in self._failures
        self._wasted += self._slack if window.open else 0.0
        return window

    def _usable(self) -> Window | None:
        """The window of a process that lives, unless the stage is over."""
        if self._over or self._wasted >= PATIENCE or self._left < 0:
            return None
        if len(self._failures) >= MOST_FAILURES or SILENT in self._failures:
            self.left_out[self._stage] = f"{self._failures[-1]} before, so no more is sent"
            self._over = True
            return None
        window = self._window
        if window is None or window.session.closed or len(self._bursts) >= MOST_BURSTS:
            self.close()
            window = self._window = Window(_apart(self.server))
            self._bursts = []
        return window

    def _note(self, window: Window, seen: Seen) -> None:
        key = seen.trouble.requirement, self._stage
        if key not in self.problems:
            lines = window.session.lines
            said = list(self._bursts)
            self.problems[key] = Problem([], [], said, lines, len(lines), self._judge, self._certainty)
        problem = self.problems[key]
        if len(problem.seen) < MOST_SEEN and str(seen.trouble) not in map(str, problem.troubles):
            raws = {line.raw for burst in self._bursts for line in burst}
            problem.seen.append(seen)
            problem.proofs.append(tuple(line for line in seen.trouble.lines if line.raw in raws))
            seen.trouble.lines = tuple(map(head_of, seen.trouble.lines))

    def doubt(self) -> None:
        """Begin to confirm what was not answered in the stages so far: that has to be waited for."""
        for key, problem in self.problems.items():
            if problem.seen[0].late and key not in self._doubts:
                self._doubts[key] = self._confirmation(key)
                self._doubts[key].begin()

    def _confirmation(self, key: tuple[str, str]) -> Confirmation:
        return Confirmation(self.server, self.problems[key], " ".join(key))

    def close(self) -> None:
        """Begin to end the process."""
        if self._window is not None:
            self._window.session.begin_close()

    # Telling

    def tell(self, requirement: str, stage: str = "") -> None:
        """Raise what was seen of a rule, in one stage or in any, if it is true.

        Skips the check when the stage was left out.
        """
        for key in self.problems:
            if key[0] == requirement and stage in ("", key[1]):
                if key not in self._told:
                    self._told[key] = (self._doubts.get(key) or self._confirmation(key)).trouble()
                if (trouble := self._told[key]) is not None:
                    raise trouble
        if stage in self.left_out:
            skip(self.left_out[stage])


def _apart(server: Server) -> Session:
    """A process of our own, apart from the conversations that other checks judge."""
    session = server.connect()
    session.drain()  # so that what the opening brings is not taken for an answer to what follows
    server.exclude(session)
    return session


# Confirming --------------------------------------------------------------------------------------


class Confirmation:
    """A problem put to fresh servers: does it happen again, and what is the least that makes it happen."""

    def __init__(self, server: Server, problem: Problem, name: str):
        self.server, self.problem = server, problem
        self.requirement = problem.seen[0].trouble.requirement
        self.name = f"{name} {server.revision}"
        self._begun: tuple[Window, Line] | None = None

    def begin(self) -> None:
        """Begin with the proof; `trouble` waits for what comes."""
        window = Window(_apart(self.server))
        self._begun = window, window.begin(self.problem.proofs[0])

    def trouble(self) -> Finding | Blocked | None:
        """What is to be told; None if the server was only slow."""
        proof = self._repeat(self.problem.proofs, self.problem.certainty, self._begun)
        if proof.seen:
            return self._story(proof)
        for bursts in (self.problem.bursts[-1:], self.problem.bursts):
            repeat = self._repeat(bursts, self.problem.certainty)
            if repeat.seen:
                return self._story(self._least(bursts, repeat))
        return None if self.problem.seen[0].late else self._flaky(repeat)

    def _repeat(
        self, bursts: Sequence[Burst], certainty: float, begun: tuple[Window, Line] | None = None
    ) -> Repeat:
        """Hold a conversation again up to the problem, on a fresh server: ``certainty`` seconds a burst.

        It may have ``begun`` with the first burst.
        """
        said = [line for burst in bursts for line in burst]
        window, ping = begun or (Window(_apart(self.server)), None)
        with window.session as session:
            seen = list[Seen]()
            for burst in bursts:
                if ping is not None:
                    window.finish(ping, max(GRACE, certainty))
                    ping = None
                else:
                    window.exchange(burst, max(GRACE, certainty))
                found = self.problem.judge(window)
                seen += [one for one in found if one.trouble.requirement == self.requirement]
                if seen or session.closed or window.mute:
                    break
            return Repeat(said, seen, session.lines)

    def _least(self, bursts: list[Burst], whole: Repeat) -> Repeat:
        """The same, with the fewest lines found that make it happen."""
        latest, end = whole, time.monotonic() + MOST_SECONDS

        def fails(lines: Sequence[tuple[int, Line]]) -> bool:
            nonlocal latest
            if time.monotonic() > end:
                return False
            repeat = self._repeat(_in_bursts(lines), GRACE)
            latest = repeat if repeat.seen else latest
            return bool(repeat.seen)

        numbered = [(number, line) for number, burst in enumerate(bursts) for line in burst]
        least = reduced(numbered, fails, MOST_REPEATS)
        if not latest.seen[0].late:
            return latest
        sure = self._repeat(_in_bursts(least), min(PATIENCE, self.problem.certainty))
        return sure if sure.seen else whole

    # The words

    def _story(self, repeat: Repeat) -> Finding | Blocked:
        trouble, said = repeat.seen[0].trouble, {line.raw for line in repeat.said}
        lines = [line for line in repeat.lines if line.raw in said or line in trouble.lines]
        is_short = len(lines) <= MOST_LINES
        trouble.lines = tuple(lines) if is_short else trouble.lines
        _, *others = dict.fromkeys(_what(one.trouble) for one in repeat.seen)
        also = "".join(f"; {other}" for other in others)
        size = "" if is_short or others else f" (it takes {len(repeat.said)} lines)"
        kept = f"; to see it again: mcp-conformance replay {self._keep(repeat.lines)}"
        return _add(trouble, f"{also}{size}{kept}")

    def _flaky(self, repeat: Repeat) -> Finding | Blocked:
        before = self.problem.lines[: self.problem.length]
        files = f"{self._keep(before)} and {self._keep(repeat.lines, ' again')}"
        how = "it happened once, and not when the same lines were sent to a fresh server: flaky"
        return _add(self.problem.seen[0].trouble, f" ({how}; both conversations: {files})")

    def _keep(self, lines: Sequence[Line], which: str = "") -> str:
        """Write a conversation down for ``mcp-conformance replay``: the file, or why there is none."""
        settings = self.server.settings
        transcript = Transcript(settings.command, self.server.revision, self.name, tuple(lines), settings.env)
        try:
            return str(transcript.keep(settings.transcripts, f"{self.name}{which}"))
        except OSError as error:
            return f"(not written: {error})"


def _in_bursts(numbered: Sequence[tuple[int, Line]]) -> list[Burst]:
    return [tuple(line for _, line in group) for _, group in itertools.groupby(numbered, itemgetter(0))]


def _what(trouble: Finding | Blocked) -> str:
    return trouble.got if isinstance(trouble, Finding) else trouble.reason


def _add(trouble: Finding | Blocked, more: str) -> Finding | Blocked:
    if isinstance(trouble, Finding):
        trouble.got += more
    else:
        trouble.reason += more
    return trouble
