"""The sessions with the server in one revision: opened, shared, replaced, given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from mcp_conformance.client.handlers import DECLINING
from mcp_conformance.client.reply import Closed, Flood, Reply
from mcp_conformance.client.session import Answer, Session
from mcp_conformance.client.timing import Pace, start_timeout
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Kind, Line
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.beside import find_alone
from mcp_conformance.target.processes import Processes
from mcp_conformance.target.reported import Reported
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.spoiling import spoiling
from mcp_conformance.target.surface import Surface
from mcp_conformance.target.trail import Trail
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.verdicts import Blocked, Skipped

MAX_HANGS = 2
"""How many processes may stop answering before the server is given up."""
MAX_FLOODS = 4
"""How many processes may flood their stdout before the server is given up."""
MAX_CLOSED_LOG_BYTES = 3_000_000
"""The memory that the lines of a closed session may take."""
SHARED = "the shared session"
CALLS = "calls"
"""The name of the shared session in which tools are called, and prompts and resources fetched."""
STATE = "sequences of calls"
"""The name of the shared session in which sequences of calls make, change and delete things."""
MALFORMED = "malformed lines"
"""The name of the shared session for malformed lines, so that they disturb no other check."""
FUZZED, REPRODUCTIONS = "fuzzed requests", "reproductions"
"""The names of the sessions in which requests are fuzzed, and sent again."""


class Sessions:
    """The sessions with the server in one revision.

    `session` is shared by the checks that leave no trace; it is that of the probe if there is one (`adopt`).
    A process that ended is replaced; the check that met its end is blocked, later ones are not.  Iteration
    leaves out the sessions of the fuzzer, of which only the last checks judge the lines; ``every`` has them.

    A session that a check has opened in an unusual way, and that came to no harm, is as good as a new one:
    `release` keeps it, and `connect` hands it out.  ``openings`` are such ways, which the next sessions use.
    ``prepare`` makes the process of a new session know what another one does.  The ``trail`` says what a
    check brings about.
    """

    def __init__(self, settings: Settings, surface: Surface, processes: Processes, reported: Reported):
        self.settings = _with_start_timeout(settings, surface.opening)
        self.surface = surface
        self.revision = surface.revision
        self.processes = processes
        self.every: list[Session] = []
        self.trail = Trail(settings.clock)
        self.openings: list[Callable[[], object]] = []
        self.prepare: Callable[[Session], object] = lambda _: None
        self._pace = Pace()
        self._reported = reported
        self._shared: dict[str, Session] = {}
        self._spare: list[Session] = []
        self._kept: list[Session] = []
        self._fuzzed: list[Session] = []
        self._excluded: list[Session] = []
        self._others: list[Sessions] = []
        self._hangs = 0
        self._has_looked = False

    def __iter__(self) -> Iterator[Session]:
        return iter([one for one in self.every if one not in self._fuzzed])

    @property
    def all_starts(self) -> Counter[str]:
        """The processes by what they are for, also those with another environment."""
        return sum((other.all_starts for other in self._others), Counter(self.processes.starts))

    @property
    def waited(self) -> float:
        """The seconds in which all sessions waited for the server to write."""
        own = sum(session.inbox.waited for session in (*self.every, *self._excluded))
        return own + sum(other.waited for other in self._others)

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
                self.openings.pop(0)()
        if session is not None:
            session.client = client
            return session
        return self._connect_new(because, capabilities, client)

    def adopt(self, session: Session) -> None:
        """Take the session of the probe as the shared one."""
        session.pace, session.client = self._pace, DECLINING
        session.spacing = self.settings.spacing
        self.every.append(session)
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
        if isinstance(opening.fault, Closed) and self.settings.solo.end_running():
            session, opening = self._open_again(session, because, capabilities, client)
            if opening.value is not None:
                find_alone(self.settings, self.revision)
        if isinstance(opening.fault, Closed) and self.settings.renew_folder():
            self.processes.stop()
            session, opening = self._open_again(session, because, capabilities, client)
        is_open = opening.value is not None or (self.surface.found_features and opening.error is not None)
        if not is_open or session.revision != self.revision:
            session.close()
            self.require_unspoilt()
            stderr = session.process.stderr
            self._reported.raise_once(
                "start", Blocked(f"the server no longer starts: {opening}", opening.lines, stderr)
            )
        self.settings = _with_start_timeout(self.settings, opening.lines)
        return session

    def _open_again(
        self,
        failed: Session,
        because: str,
        capabilities: Mapping[str, Any] | None,
        client: Mapping[str, Answer],
    ) -> tuple[Session, Reply]:
        """Start another process in place of one that has ended, and return its session and the opening."""
        self.exclude(failed)
        session = self.launch(because, capabilities, client)
        return session, session.open(self.settings.start_timeout)

    def withdraw_start(self) -> None:
        """Let processes be started again, although one opened no session: it need not be its fault."""
        self._reported.withdraw("start")

    def require_unspoilt(self) -> None:
        """Raise the `Finding` on an exchange after which a server over HTTP serves nobody any more, once.

        From then on each conversation has a process of its own.
        """
        http = self.settings.http
        if http is None or not http.command or http.is_spoilt or self._has_looked:
            return
        self._has_looked = True
        if (finding := spoiling(self.settings, self.revision)) is not None:
            http.is_spoilt = True
            raise finding

    def is_out_of_order(self, session: Session) -> bool:
        """Return whether a session is with a process that was ended for another one, or spoilt over HTTP."""
        http, lines = self.settings.http, session.process
        if self.settings.solo.has_ended(lines):
            return True
        return isinstance(lines, HttpLines) and (lines.is_left or (lines.server is http and http.is_spoilt))

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
        process = self.processes.start(because)
        session = self.settings.session(process, self.revision, capabilities=capabilities, client=client)
        session.pace = self._pace
        session.spacing = self.settings.spacing
        self.every.append(session)
        return session

    def foresee_start(self) -> None:
        """Start a process ahead that will be needed, although not every server needs it.

        A session that was released is used in its place.
        """
        if not self._spare:
            self.processes.foresee()

    def _skip_if_given_up(self) -> None:
        """Skip the check if no process would open, or go on; drop old lines of closed sessions."""
        for reason in filter(self._reported.__contains__, ("start", "hung", "flood")):
            skip(f"the server is blocked ({reason}): see the blocked check")
        floods = [one for one in self.every if one.inbox.is_flooded]
        if len(floods) >= MAX_FLOODS:
            reason = f"the server flooded its stdout in {len(floods)} processes"
            lines, stderr = floods[-1].received.kept_lines[-2:], floods[-1].process.stderr
            self._reported.raise_once("flood", Blocked(reason, lines, stderr, fault=Flood(0, stderr)))
        for one in self.every:
            if one.closed or one.is_closing:
                one.lines.trim(MAX_CLOSED_LOG_BYTES)

    def exclude(self, session: Session) -> None:
        """Exclude a session from the checks that judge all sessions; it is ended with the others."""
        self.every.remove(session)
        self._excluded.append(session)

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
        session = self.own_reproduction_session()
        try:
            yield session
        finally:
            session.begin_close()

    def own_reproduction_session(self) -> Session:
        """Start a process for one reproduction, whose user ends it; raises as `reproduction_session` does."""
        with self._reported.without_report("it could not be reproduced"):
            session = self._connect_new(REPRODUCTIONS, None, DECLINING)
        self._fuzzed.append(session)
        return session

    @contextmanager
    def session_as_furnished(self) -> Iterator[Session | None]:
        """Start a process in the folder as it was before any call, and end it; give None if it is so still.

        Raises as `reproduction_session` does.
        """
        with self.settings.folder_as_furnished() as is_done:
            if not is_done:
                yield None
                return
            self.processes.stop()  # those started ahead have the other folder
            session = self.own_reproduction_session()
            try:
                yield session
            finally:
                session.close()

    @contextmanager
    def shared_reproduction_session(self) -> Iterator[Session]:
        """Yield the session in which requests are sent again together; replace one that does not answer.

        Raises `Skipped` as `reproduction_session` does.
        """
        if REPRODUCTIONS not in self._shared:
            self.foresee_start()
        with self._reported.without_report("it could not be reproduced"):
            session = self.shared(REPRODUCTIONS)
        try:
            yield session
        finally:
            is_usable = not session.closed and session.drain().fault is None
            session.is_silent = False
            if not is_usable:
                session.begin_close()
                self._shared.pop(REPRODUCTIONS, None)

    def with_environment(self, **variables: str) -> Sessions:
        """Return sessions with the same server with more environment variables."""
        settings = replace(self.settings, env={**self.settings.env, **variables})
        processes = Processes(settings, self.surface.opening)
        other = Sessions(settings, self.surface, processes, Reported())
        self._others.append(other)
        return other

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
        if session is None or session.closed or session.is_silent or self.is_out_of_order(session):
            if session is not None:
                session.begin_close()
            self._shared.pop(name, None)
            session = self._shared[name] = self.connect(name, capabilities, client)
            if name in (FUZZED, REPRODUCTIONS):
                self._fuzzed.append(session)
            if name in (CALLS, STATE, FUZZED, REPRODUCTIONS):
                self.prepare(session)
        return session

    def running(self, name: str) -> Session | None:
        """Return the shared session of that name if there is one that answers; None without."""
        session = self._shared.get(name)
        return None if session is None or session.closed or session.is_silent else session

    def _hung(self, session: Session) -> None:
        """Give up a server that has stopped answering, pings included, in `MAX_HANGS` processes."""
        self._hangs += 1
        if self._hangs >= MAX_HANGS:
            session.close()
            sent = [line for line in session.lines if line.sent][-2:]
            reason = f"the server stopped answering in {self._hangs} processes, pings included"
            stderr = session.process.stderr
            self._reported.raise_once("hung", Blocked(reason, sent, stderr, "jsonrpc.response-every-request"))

    def with_request(self, line: Line) -> Session | None:
        """Return the session in which a line was sent; None if there is none, or it has dropped the line."""
        return next((one for one in (*self.every, *self._excluded) if line in one.lines), None)

    def received(self, *kinds: Kind) -> list[Value]:
        """Return every message of these kinds (all if none are named) in any conversation so far."""
        return [
            Value(message, "", (line,)) for one in self for line, message in one.received.messages(*kinds)
        ]

    def after_request(self, line: Line) -> tuple[Line, ...]:
        """Return a line of a session after the last line sent before it, which may have provoked it."""
        session = next((session for session in self.every if line in session.lines), None)
        return session.received.after_request(line) if session is not None else (line,)

    def keep(self, session: Session) -> None:
        """Let a session last: a check judges later what comes in it."""
        self._kept.append(session)

    def end_all_but(self, *names: str) -> None:
        """Begin to end the sessions, except the shared ones of these names and those that are kept."""
        self._shared = {name: session for name, session in self._shared.items() if name in names}
        kept = [*self._shared.values(), *self._spare, *self._kept]
        for session in self.every:
            if session not in kept:
                session.begin_close()

    def begin_close(self) -> None:
        """Begin to end every process; `close` waits for that."""
        for other in self._others:
            other.begin_close()
        self.processes.begin_stop()
        for session in self.every:
            session.begin_close()
        for session in self._excluded:
            session.process.begin_stop()

    def close(self) -> None:
        """End every process."""
        self.begin_close()
        for other in self._others:
            other.close()
        self.processes.stop()
        for session in self._excluded:
            session.process.stop()
        for session in self.every:
            session.close()


def _features(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the capabilities on which it depends what a server shows and asks."""
    wanted = {*FEATURES.values(), "extensions"}
    return {name: value for name, value in capabilities.items() if name in wanted}


def _with_start_timeout(settings: Settings, opening: Sequence[Line]) -> Settings:
    """Return settings that let a process start as slowly as one with these lines did, or more slowly."""
    slowest = max((line.at for line in opening), default=0.0)
    return replace(settings, start_timeout=start_timeout(settings.start_timeout, slowest))
