"""The sessions with the server in one revision: opened, shared, replaced, given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, Self

from mcp_conformance.client.handlers import DECLINING
from mcp_conformance.client.reply import Closed, Flood, Reply, Unanswered
from mcp_conformance.client.session import Answer, Session
from mcp_conformance.client.timing import Pace, start_timeout
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Kind, Line, kind
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.target.causes import Causes
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.starter import Starter
from mcp_conformance.target.surface import Surface, is_live
from mcp_conformance.transport.interface import Clock, Transport
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped, wrong_answer

MAX_HANGS = 2
"""How many processes may stop answering before the server is given up."""
MAX_FLOODS = 4
REPRODUCTION_SECONDS = 10.0
MAX_CLOSED_LOG_BYTES = 3_000_000
"""The memory that the lines of a closed session may take."""
SHARED = "the shared session"
FUZZED, REPRODUCTIONS = "fuzzed requests", "reproductions"
"""The names of the sessions in which requests are fuzzed, and sent again."""


class Sessions:
    """The sessions with the server in one revision.

    `session` is shared by the checks that leave no trace; it is that of the probe if there is one (`adopt`).
    A process that ended is replaced; the check that met its end is blocked, later ones are not.  ``common``
    holds what the servers of all revisions share.

    A session that a check has opened in an unusual way, and that came to no harm, is as good as a new one:
    `release` keeps it, and `connect` hands it out.  ``openings`` are such ways, which the next sessions use.
    ``starts`` counts the processes by what they are for; the checks that run need ``sure_starts`` at least.
    """

    def __init__(self, settings: Settings, surface: Surface, common: dict[str, Any] | None = None):
        self.settings = _with_start_timeout(settings, surface.opening)
        self.pace = Pace()
        self.common = common if common is not None else {}
        self.surface = surface
        self.revision = surface.revision
        self.every_session: list[Session] = []
        self.starter = Starter(settings, surface.opening)
        self._shared: dict[str, Session] = {}
        self._raised: set[str] = set()
        self.starts: Counter[str] = Counter()
        self.openings: list[Callable[[Any], object]] = []
        self.sure_starts = 0
        self._spare: list[Session] = []
        self._kept: list[Session] = []
        self._fuzzed: list[Session] = []
        self._excluded: list[Transport] = []
        self._others: list[Self] = []
        self._hangs = 0
        self.causes = Causes(surface.failures)
        if surface.opening_reply is not None and not surface.is_modern:
            self.note_proposal(surface.proposed_revision, surface.opening_reply)

    @property
    def sessions(self) -> list[Session]:
        """The sessions without those of the fuzzer, of which only the last checks judge the lines."""
        return [one for one in self.every_session if one not in self._fuzzed]

    @property
    def all_starts(self) -> Counter[str]:
        """The processes by what they are for, also those with another environment."""
        return sum((other.all_starts for other in self._others), Counter(self.starts))

    @property
    def clock(self) -> Clock:
        """The clock of all sessions."""
        return self.settings.clock

    def connect(
        self,
        because: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Session:
        """Return a session in this revision that no check has used but to open it.

        Raises `Blocked` if a process does not open one as it did in the probe.
        """
        while (session := self._take_spare(capabilities or {})) is None and self.openings:
            with suppress(Skipped):
                self.openings.pop(0)(self)
        if session is not None:
            session.client = client
            return session
        return self._connect_new(because, capabilities, client)

    def adopt(self, session: Session) -> None:
        """Take the session of the probe as the shared one."""
        session.pace, session.client = self.pace, DECLINING
        self.every_session.append(session)
        self._shared[SHARED] = session

    def release(self, session: Session) -> None:
        """Keep a session for `connect` if it is open in this revision; else begin to end it."""
        is_ours = session.revision == self.revision
        if not is_ours:
            self.exclude(session)
        is_open = session.opening is not None and session.opening.value is not None
        if is_ours and is_open and not (session.closed or session.is_silent):
            self._spare.append(session)
        else:
            session.begin_close()

    def _take_spare(self, capabilities: Mapping[str, Any]) -> Session | None:
        """Return a released session of a client with these capabilities whose process runs.

        In a modern revision every request declares them.
        """
        wanted = _features(capabilities)
        for session in list(self._spare):
            if session.is_modern or _features(session.capabilities) == wanted:
                self._spare.remove(session)
                if session.process.exit_code is None:
                    session.capabilities = dict(capabilities)
                    return session
                session.begin_close()
        return None

    def _connect_new(
        self, because: str, capabilities: Mapping[str, Any] | None, client: Mapping[str, Answer]
    ) -> Session:
        session = self.launch(because, capabilities, client)
        opening = session.open(self.settings.start_timeout)
        is_open = opening.value is not None or (self.surface.found_features and opening.error is not None)
        if not is_open or session.revision != self.revision:
            session.close()
            stderr = session.process.stderr
            self.raise_once(
                "start", Blocked(f"the server no longer starts: {opening}", opening.lines, stderr)
            )
        self.settings = _with_start_timeout(self.settings, opening.lines)
        return session

    def launch(
        self,
        because: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Session:
        """Start a process and send it nothing; skip the check if the server is given up.

        ``because`` says what it is for.
        """
        self._skip_if_given_up()
        session = Session(
            self._process(because),
            revision=self.revision,
            timeout=self.settings.timeout,
            capabilities=capabilities,
            client=client,
        )
        session.pace = self.pace
        self.every_session.append(session)
        return session

    def _process(self, because: str) -> Transport:
        self.starts[because] += 1
        return self.starter.process(self.sure_starts - self.starts.total())

    def foresee_start(self) -> None:
        """Start a process ahead that will be needed, although not every server needs it.

        A session that was released is used in its place.
        """
        if not self._spare:
            self.sure_starts += 1
            self.starter.prepare(self.sure_starts - self.starts.total())

    def _skip_if_given_up(self) -> None:
        """Skip the check if no process would open, or go on; drop old lines of closed sessions."""
        for reason in {"start", "hung", "flood"} & self._raised:
            skip(f"the server is blocked ({reason}): see the blocked check")
        floods = [one for one in self.every_session if one.is_flooded]
        if len(floods) >= MAX_FLOODS:
            reason = f"the server flooded its stdout in {len(floods)} processes"
            lines, stderr = floods[-1].received_lines[-2:], floods[-1].process.stderr
            self.raise_once("flood", Blocked(reason, lines, stderr, fault=Flood(0, stderr)))
        for one in self.every_session:
            if one.closed or one.is_closing:
                one.lines.trim(MAX_CLOSED_LOG_BYTES)

    def exclude(self, session: Session) -> None:
        """Exclude a session from the checks that judge all sessions; it is ended with the others."""
        self.every_session.remove(session)
        self._excluded.append(session.process)

    def proposed(self, revision: str) -> Reply:
        """Return the reply of a new process to ``initialize`` for ``revision``; requested only once."""
        key = f"proposed {revision}"
        if key not in self.common:
            self.common[key] = self._proposed(revision)
        reply: Reply = self.common[key]
        return reply

    def _proposed(self, revision: str) -> Reply:
        session = self.launch(f"a proposal of {revision}")
        reply = session.propose(self.settings.start_timeout, revision)
        if reply.value is not None and session.revision == self.revision:
            session.notify("notifications/initialized")
            self.release(session)
        else:
            self.exclude(session)
            session.begin_close()
        return reply

    def was_proposed(self, revision: str) -> bool:
        """Return whether the reply to ``initialize`` for a revision is known."""
        return f"proposed {revision}" in self.common

    def note_proposal(self, revision: str, reply: Reply) -> None:
        """Keep the reply to ``initialize`` for a revision, if it is the first one."""
        self.common.setdefault(f"proposed {revision}", reply)

    @contextmanager
    def fresh(
        self,
        because: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Iterator[Session]:
        """Yield a session that no check has used, and end it afterwards."""
        session = self.connect(because, capabilities, client)
        try:
            yield session
        finally:
            session.begin_close()

    @contextmanager
    def reproduction_session(self) -> Iterator[Session]:
        """Start a process to reproduce something in, and end it afterwards.

        Raises `Skipped` if no session opens: a check reports that.
        """
        session = self._or_skip(lambda: self._connect_new(REPRODUCTIONS, None, DECLINING))
        self._fuzzed.append(session)
        try:
            yield session
        finally:
            session.begin_close()

    @contextmanager
    def shared_reproduction_session(self) -> Iterator[Session]:
        """Yield the session in which requests are sent again together; replace one that does not answer.

        Raises `Skipped` as `reproduction_session` does.
        """
        if REPRODUCTIONS not in self._shared:
            self.foresee_start()
        session = self._or_skip(lambda: self.shared(REPRODUCTIONS))
        try:
            yield session
        finally:
            is_usable = not session.closed and session.drain().fault is None
            session.is_silent = False
            if not is_usable:
                session.begin_close()
                self._shared.pop(REPRODUCTIONS, None)

    def _or_skip(self, opened: Callable[[], Session]) -> Session:
        """Return the session that a function opens; skip the check, without a report, if none opens."""
        raised = set(self._raised)
        try:
            return opened()
        except Blocked as blocked:
            self._raised &= raised
            return skip(f"it could not be reproduced: {blocked}")

    def with_environment(self, **variables: str) -> Self:
        """Return the same server with more environment variables."""
        other = type(self)(replace(self.settings, env={**self.settings.env, **variables}), self.surface)
        self._others.append(other)
        return other

    @property
    def session(self) -> Session:
        """The shared session; a process that ended or stopped answering is replaced."""
        return self.shared(SHARED)

    @property
    def malformed_session(self) -> Session:
        """The session for malformed lines, so that they disturb no other check."""
        return self.shared("malformed lines")

    @property
    def fuzzing_session(self) -> Session:
        """The session for fuzzed calls."""
        return self.shared(FUZZED)

    def shared(
        self,
        name: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Session:
        """Return the session of that name; replace a process that ended or stopped answering."""
        session = self._shared.get(name)
        if session is not None and session.is_silent and not session.closed:
            session.is_silent = False
            if session.drain().fault is not None:
                self._hung(session)
        if session is None or session.closed or session.is_silent:
            if session is not None:
                session.begin_close()
            self._shared.pop(name, None)
            session = self._shared[name] = self.connect(name, capabilities, client)
            if name in (FUZZED, REPRODUCTIONS):
                self._fuzzed.append(session)
        return session

    def _hung(self, session: Session) -> None:
        """Give up a server that has stopped answering, pings included, in `MAX_HANGS` processes."""
        self._hangs += 1
        if self._hangs >= MAX_HANGS:
            session.close()
            sent = [line for line in session.lines if line.sent][-2:]
            reason = f"the server stopped answering in {self._hangs} processes, pings included"
            stderr = session.process.stderr
            self.raise_once("hung", Blocked(reason, sent, stderr, "jsonrpc.response-every-request"))

    def require_access(self) -> None:
        """Raise that a server rejects the credential which it has accepted; skip the later checks."""
        http = self.settings.http
        if http is None or http.unauthorized is None or not is_live(self.surface):
            return
        reason = f"could not be examined any more: it answers each message with {http.rejection}"
        if http.is_locked:
            skip(f"the server {reason} (reported once)")
        with closing(Session(self.settings.start(), revision=self.revision)) as session:
            opening = session.open(self.settings.timeout)
        if isinstance(opening.fault, Unanswered) and opening.fault.status == 401:
            http.is_locked = True
            raise Blocked(reason, opening.lines, cause=Cause.NO_SESSION)

    def raise_once(self, key: str, verdict: Finding | Blocked) -> None:
        """Raise a verdict for the first check that meets it; later ones are skipped with the reason."""
        if key in self._raised:
            cause = verdict.cause if isinstance(verdict, Blocked) else None
            skip(f"{verdict} (reported once)", cause=cause)
        self._raised.add(key)
        raise verdict

    def examine(self, verdict: Finding | Blocked) -> None:
        """Look for the cause of a verdict.

        Raises that the credential is rejected now, or the `Finding` of an answer with another id than its
        request, or of one that is not UTF-8 or not JSON, if that is the cause.  Skips the check if others
        have reported the cause.
        """
        if isinstance(verdict, Blocked) and verdict.cause is Cause.NO_SESSION:
            return
        self.require_access()
        pairs = [pair for session in self.every_session for pair in session.wrong_answers]
        finding = next((wrong_answer(*pair) for pair in pairs if pair[0] in verdict.lines), None)
        if finding is not None and verdict.requirement == finding.requirement:
            return
        if finding is None:
            is_repeated = self.causes.is_repeated(verdict, self.ends_alone)
        else:
            is_repeated = self.causes.count(finding.requirement) > 1
        if is_repeated:
            cause = verdict.cause if isinstance(verdict, Blocked) else None
            skip(f"{verdict} (reported before)", cause=cause)
        if finding is not None:
            raise finding

    def ends_alone(self, verdict: Finding | Blocked) -> bool:
        """Return whether the line that ended a process ends a new one too, or may do so."""
        line = next((line for line in verdict.lines if line.sent), None)
        if line is None:
            return True
        try:
            with self.reproduction_session() as session:
                sent = session.send_raw(line.raw, line.message)
                seconds = session.scaled_timeout(REPRODUCTION_SECONDS)
                is_request = kind(line.message) is Kind.REQUEST
                reply = session.await_reply(sent, seconds) if is_request else session.drain()
                return isinstance(reply.fault, Closed)
        except Skipped:
            return False

    def after_request(self, line: Line) -> tuple[Line, ...]:
        """Return a line of a session after the last line sent before it, which may have provoked it."""
        session = next((session for session in self.every_session if line in session.lines), None)
        return session.after_request(line) if session is not None else (line,)

    def keep(self, session: Session) -> None:
        """Let a session last: a check judges later what comes in it."""
        self._kept.append(session)

    def end_all_but(self, *names: str) -> None:
        """Begin to end the sessions, except the shared ones of these names and those that are kept."""
        self._shared = {name: session for name, session in self._shared.items() if name in names}
        kept = [*self._shared.values(), *self._spare, *self._kept]
        for session in self.every_session:
            if session not in kept:
                session.begin_close()

    def begin_close(self) -> None:
        """Begin to end every process; `close` waits for that."""
        for other in self._others:
            other.begin_close()
        self.starter.begin_stop()
        for session in self.every_session:
            session.begin_close()
        for process in self._excluded:
            process.begin_stop()

    def close(self) -> None:
        """End every process."""
        self.begin_close()
        for other in self._others:
            other.close()
        self.starter.stop()
        for process in self._excluded:
            process.stop()
        for session in self.every_session:
            session.close()


def _features(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the capabilities that permit requests of the server."""
    return {name: value for name, value in capabilities.items() if name in FEATURES.values()}


def _with_start_timeout(settings: Settings, opening: Sequence[Line]) -> Settings:
    """Return settings that let a process start as slowly as one with these lines did, or more slowly."""
    slowest = max((line.at for line in opening), default=0.0)
    return replace(settings, start_timeout=start_timeout(settings.start_timeout, slowest))
