"""The conversations with the subject in one revision: opened, shared, replaced, given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from conformance.client import DECLINING
from conformance.pace import Pace, start_timeout
from conformance.process import Process
from conformance.session import Answer, Closed, Flood, Reply, Session
from conformance.starting import Starter
from conformance.surface import Settings, Surface
from conformance.verdict import Blocked, not_exercised

MOST_HANGS = 2
MOST_FLOODS = 4
MOST_ALIKE = 3
"""How many checks tell of processes that ended in the same way, with the same words."""
FLOOD = "flood"
KEPT_WHEN_CLOSED = 3_000_000
"""The memory, in bytes, that the lines of a conversation may take when it is over."""


class Sessions:
    """The conversations with the subject in one revision.

    `session` is shared by the checks that leave no trace; `fresh` gives a process of one's own.  A process
    that died is replaced; its death is raised as `Blocked` once, for the check that met it.  ``common`` is
    for what the subject's servers in all revisions share.
    """

    def __init__(self, settings: Settings, surface: Surface, common: dict[str, Any] | None = None):
        self.settings = _patient(settings, surface)
        self.pace = Pace()
        self.common = common if common is not None else {}
        self.surface = surface
        self.revision = surface.revision
        self.sessions: list[Session] = []
        self._starter = Starter(settings, surface)
        self._shared: dict[str, Session] = {}
        self._charged: set[str] = set()
        self._left: list[Session] = []
        self._apart: list[Process] = []
        self._others: list[Self] = []
        self._hangs = 0
        self._ends: Counter[Any] = Counter(FLOOD for one in surface.troubles if one.is_flood)

    def connect(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Session:
        """A new process and a conversation with it, opened in this server's revision.

        Raises `Blocked` if it does not open as it did when it was probed.
        """
        session = self.launch(capabilities, client)
        hello = session.open(self.settings.start_timeout)
        is_open = hello.value is not None or (self.surface.found and hello.error is not None)
        if not is_open or session.revision != self.revision:
            session.close()
            stderr = session.process.stderr
            self.charge("start", Blocked(f"the server no longer starts: {hello}", hello.lines, stderr))
        return session

    def launch(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Session:
        """A new process to which nothing has been said yet; skips the check when starting them is no use."""
        self._expect_use()
        session = Session(
            self._process(),
            revision=self.revision,
            timeout=self.settings.timeout,
            capabilities=capabilities,
            client=client,
        )
        session.pace = self.pace
        self.sessions.append(session)
        return session

    def _process(self) -> Process:
        return self._starter.process(more=bool(self.sessions))

    def _expect_use(self) -> None:
        for trouble in {"start", "hung", "flood"} & self._charged:
            not_exercised(f"the server is blocked ({trouble}): see the blocked check")
        floods = [one for one in self.sessions if one.flooded]
        if len(floods) >= MOST_FLOODS:
            reason = f"the server flooded its stdout in {len(floods)} processes"
            stderr = floods[-1].process.stderr
            self.charge("flood", Blocked(reason, floods[-1].said[-2:], stderr).by(Flood(0, stderr)))
        for one in self.sessions:
            if one.closed or one.left:
                one.lines.thin(KEPT_WHEN_CLOSED)

    def set_apart(self, session: Session) -> None:
        """Keep a conversation from the checks that judge all of them; it is ended with the others."""
        self.sessions.remove(session)
        self._apart.append(session.process)

    def proposed(self, revision: str) -> Reply:
        """What a new process answers when it is asked for ``revision``; asked once for all revisions."""
        key = f"proposed {revision}"
        if key not in self.common:
            self.common[key] = self._proposed(revision)
        reply: Reply = self.common[key]
        return reply

    def _proposed(self, revision: str) -> Reply:
        if self.surface.asked == revision:
            request, line = self.surface.hello
            return Reply(request, line, line.message)
        self._expect_use()
        session = Session(self._process(), revision=revision, timeout=self.settings.timeout)
        self._left.append(session)
        try:
            return session.propose(self.settings.start_timeout)
        finally:
            session.leave()

    @contextmanager
    def fresh(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Iterator[Session]:
        """A process of one's own, ended afterwards; ``client`` answers what the server asks for."""
        session = self.connect(capabilities, client)
        try:
            yield session
        finally:
            session.leave()

    def with_environment(self, **variables: str) -> Self:
        """The same subject with more environment variables."""
        other = type(self)(replace(self.settings, env={**self.settings.env, **variables}), self.surface)
        self._others.append(other)
        return other

    @property
    def session(self) -> Session:
        """The shared conversation; a process that died or fell silent is replaced."""
        return self.shared("session")

    @property
    def rough_session(self) -> Session:
        """A conversation for broken lines, so that what they do to the server disturbs no other check."""
        return self.shared("rough")

    @property
    def fuzz_session(self) -> Session:
        """A conversation for fuzzed calls."""
        return self.shared("fuzz")

    def shared(
        self,
        name: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Session:
        """A conversation that checks share under a name; a process that died or fell silent is replaced."""
        session = self._shared.get(name)
        if session is not None and session.silent and not session.closed:
            session.silent = False
            if session.settle().fault is not None:
                self._hung(session)
        if session is None or session.closed or session.silent:
            if session is not None:
                session.leave()
            self._shared.pop(name, None)
            session = self._shared[name] = self.connect(capabilities, client)
        return session

    def _hung(self, session: Session) -> None:
        """Give up a server that has stopped answering, pings included, for the second time."""
        self._hangs += 1
        if self._hangs >= MOST_HANGS:
            session.close()
            asked = [line for line in session.lines if line.sent][-2:]
            reason = f"the server stopped answering in {self._hangs} processes, pings included"
            stderr = session.process.stderr
            self.charge("hung", Blocked(reason, asked, stderr, "jsonrpc.response-every-request"))

    def charge(self, key: str, blocked: Blocked) -> None:
        """Raise ``blocked`` for the first check that meets it; later ones are skipped with the reason."""
        if key in self._charged:
            not_exercised(f"{blocked.reason} (reported once)")
        self._charged.add(key)
        raise blocked

    def told_before(self, blocked: Blocked) -> bool:
        """Whether checks have told of the cause for which one is blocked.

        That is a flood, or one end of the process after others like it: one of the same tool, or
        `MOST_ALIKE` of no tool.
        """
        fault = blocked.fault
        if blocked.others or not isinstance(fault, Flood | Closed):
            return False
        cause: Any = FLOOD
        most = 1
        if isinstance(fault, Closed):
            cause = blocked.tool, fault.exit_code, fault.stderr
            most = 1 if blocked.tool else MOST_ALIKE
        self._ends[cause] += 1
        return self._ends[cause] > most

    def close(self) -> None:
        """End every process."""
        for other in self._others:
            other.close()
        self._starter.dismiss()
        sessions = [*self.sessions, *self._left]
        for session in sessions:
            session.leave()
        for process in self._apart:
            process.dismiss()
        self._starter.stop()
        for process in self._apart:
            process.stop()
        for session in sessions:
            session.close()


def _patient(settings: Settings, surface: Surface) -> Settings:
    """Settings that let a process start as slowly as the one that was probed."""
    first = max((line.at for line in surface.hello), default=0.0)
    return replace(settings, start_timeout=start_timeout(settings.start_timeout, first))
