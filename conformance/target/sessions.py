"""The conversations with the subject in one revision: opened, shared, replaced, given up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Self

from conformance.client.handlers import DECLINING
from conformance.client.reply import Closed, Flood, Reply, Unread
from conformance.client.inbox import UNREAD
from conformance.client.session import Answer, Session
from conformance.client.timing import Pace, start_timeout
from conformance.expect import skip
from conformance.protocol.jsonrpc import Kind, Line, kind
from conformance.target.settings import Settings
from conformance.target.surface import ProbeFailure, Surface
from conformance.transport.interface import CannotStart, Clock, Transport
from conformance.verdicts import Blocked, Skipped

AHEAD = 2
"""How many processes are started before they are needed."""
SLOW_START = 0.2


class Starter:
    """Starts the processes of a server, some of them ahead if it starts slowly."""

    def __init__(self, settings: Settings, surface: Surface):
        self._settings = settings
        self._starts_slowly = any(line.at > SLOW_START for line in surface.opening[1:])
        self._ahead: list[Transport] = []

    def process(self, *, more: bool) -> Transport:
        """A process that was started ahead, if it still runs, else a new one.

        With ``more``, others may follow, and are started ahead.
        """
        ahead = [process for process in self._ahead if process.exit_code is None]
        for ended in set(self._ahead) - set(ahead):
            ended.stop()
        process = ahead.pop(0) if ahead else self._settings.start()
        with suppress(CannotStart):
            while more and self._starts_slowly and len(ahead) < AHEAD:
                ahead.append(self._settings.start())
        self._ahead = ahead
        return process

    def begin_stop(self) -> None:
        """Begin to end what was started ahead; `stop` waits until it has ended."""
        for process in self._ahead:
            process.begin_stop()

    def stop(self) -> None:
        """End what was started ahead."""
        for process in self._ahead:
            process.stop()
        self._ahead.clear()


MOST_HANGS = 2
MOST_FLOODS = 4
MOST_ALIKE = 3
"""How many checks tell of requests that end the process, each by itself, in the same way."""
MOST_DOUBTED = 10
"""How many ends of one kind are looked into: whether the request alone brings it about."""
FLOOD, NOT_READ = "flood", "not read"
TRIAL = 10.0
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
        self._apart: list[Transport] = []
        self._others: list[Self] = []
        self._hangs = 0
        self._ends: Counter[Any] = Counter(filter(None, map(_cause, surface.failures)))

    @property
    def clock(self) -> Clock:
        """The clock that its conversations go by."""
        return self.settings.clock

    def connect(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Session:
        """A new process and a conversation with it, opened in this server's revision.

        Raises `Blocked` if it does not open as it did when it was probed.
        """
        session = self.launch(capabilities, client)
        opening = session.open(self.settings.start_timeout)
        is_open = opening.value is not None or (self.surface.found_features and opening.error is not None)
        if not is_open or session.revision != self.revision:
            session.close()
            stderr = session.process.stderr
            self.raise_once(
                "start", Blocked(f"the server no longer starts: {opening}", opening.lines, stderr)
            )
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

    def _process(self) -> Transport:
        return self._starter.process(more=bool(self.sessions))

    def _expect_use(self) -> None:
        for trouble in {"start", "hung", "flood"} & self._charged:
            skip(f"the server is blocked ({trouble}): see the blocked check")
        floods = [one for one in self.sessions if one.is_flooded]
        if len(floods) >= MOST_FLOODS:
            reason = f"the server flooded its stdout in {len(floods)} processes"
            stderr = floods[-1].process.stderr
            self.raise_once("flood", Blocked(reason, floods[-1].received_lines[-2:], stderr, fault=Flood(0, stderr)))
        for one in self.sessions:
            if one.closed or one.is_closing:
                one.lines.trim(KEPT_WHEN_CLOSED)

    def exclude(self, session: Session) -> None:
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
        if self.surface.proposed_revision == revision:
            request, line = self.surface.opening
            return Reply(request, line, line.message)
        self._expect_use()
        session = Session(self._process(), revision=revision, timeout=self.settings.timeout)
        self._left.append(session)
        try:
            return session.propose(self.settings.start_timeout)
        finally:
            session.begin_close()

    @contextmanager
    def fresh(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Iterator[Session]:
        """A process of one's own, ended afterwards; ``client`` answers what the server asks for."""
        session = self.connect(capabilities, client)
        try:
            yield session
        finally:
            session.begin_close()

    @contextmanager
    def reproduction_session(self) -> Iterator[Session]:
        """A process in which something is seen again; where none opens, a check is left to tell of that.

        Raises `Skipped` then.
        """
        charged = set(self._charged)
        try:
            session = self.connect()
        except Blocked as blocked:
            self._charged &= charged
            skip(f"it could not be seen again: {blocked}")
        try:
            yield session
        finally:
            session.begin_close()

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
    def malformed_session(self) -> Session:
        """A conversation for broken lines, so that what they do to the server disturbs no other check."""
        return self.shared("rough")

    @property
    def fuzzing_session(self) -> Session:
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
        if session is not None and session.is_silent and not session.closed:
            session.is_silent = False
            if session.drain().fault is not None:
                self._hung(session)
        if session is None or session.closed or session.is_silent:
            if session is not None:
                session.begin_close()
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
            self.raise_once("hung", Blocked(reason, asked, stderr, "jsonrpc.response-every-request"))

    def raise_once(self, key: str, blocked: Blocked) -> None:
        """Raise ``blocked`` for the first check that meets it; later ones are skipped with the reason."""
        if key in self._charged:
            skip(f"{blocked.reason} (reported once)", cause=blocked.cause)
        self._charged.add(key)
        raise blocked

    def is_duplicate(self, blocked: Blocked) -> bool:
        """Whether checks have told of the cause for which one is blocked.

        That is a flood; an answer to the same method that was too much to be read; or an end of the process,
        with the same status and the same words as one before, that the request alone does not bring about; or
        one that it does, or may, after `MOST_ALIKE` others.
        """
        fault = blocked.fault
        if blocked.others or not isinstance(fault, Flood | Closed | Unread):
            return False
        if isinstance(fault, Flood):
            return self._count(FLOOD) > 1
        if isinstance(fault, Unread):
            return self._count((NOT_READ, _method(blocked.lines))) > 1
        end = fault.exit_code, _words(fault.stderr)
        times = self._count(end)
        if times > 1 and (times > MOST_DOUBTED or not self._is_alone(blocked)):
            return True
        return self._count(("told", *end)) > MOST_ALIKE

    def _count(self, cause: Any) -> int:
        self._ends[cause] += 1
        return self._ends[cause]

    def _is_alone(self, blocked: Blocked) -> bool:
        """Whether what ended a process ends a fresh one too, with nothing sent before; or may do so."""
        said = next((line for line in blocked.lines if line.sent), None)
        if said is None:
            return True
        try:
            with self.reproduction_session() as session:
                sent = session.send_raw(said.raw, said.message)
                is_asked = kind(said.message) is Kind.REQUEST
                reply = (
                    session.await_reply(sent, session.scaled_timeout(TRIAL)) if is_asked else session.drain()
                )
                return isinstance(reply.fault, Closed)
        except Skipped:
            return False

    def close(self) -> None:
        """End every process."""
        for other in self._others:
            other.close()
        self._starter.begin_stop()
        sessions = [*self.sessions, *self._left]
        for session in sessions:
            session.begin_close()
        for process in self._apart:
            process.begin_stop()
        self._starter.stop()
        for process in self._apart:
            process.stop()
        for session in sessions:
            session.close()


def _cause(trouble: ProbeFailure) -> Any:
    """What was told of when the server was probed, if more checks may meet it."""
    if trouble.is_flood:
        return FLOOD
    is_unread = any(words in trouble.reason for words in UNREAD)
    return (NOT_READ, _method(trouble.lines)) if is_unread else None


def _method(lines: Sequence[Line]) -> str:
    """The method of the request without an answer."""
    asked = (line.message for line in lines if kind(line.message) is Kind.REQUEST)
    return next((str(message["method"]) for message in asked), "")


def _words(stderr: str) -> str:
    """What a process wrote to stderr, without the numbers in it."""
    return re.sub(r"\d+", "", stderr)


def _patient(settings: Settings, surface: Surface) -> Settings:
    """Settings that let a process start as slowly as the one that was probed."""
    first = max((line.at for line in surface.opening), default=0.0)
    return replace(settings, start_timeout=start_timeout(settings.start_timeout, first))
