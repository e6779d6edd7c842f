"""Calling every tool at full speed, many calls under way at once; each that fails is looked into at once."""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from conformance.drills import Drill, Shot
from conformance.fuzzing import Fuzzer
from conformance.generation import NoExample
from conformance.judges import Problem
from conformance.proving import LINES_SHOWN, Failure, Prover
from conformance.server import Server
from conformance.session import Reply, Session
from conformance.surface import Tool
from conformance.transcript import reduced
from conformance.verdict import Blocked, Finding, NotExercised
from conformance.wire import Line, shorten

WINDOW = 32
"""How many calls are under way at once."""
MOST_LINES = 20_000
"""After how many lines of a conversation they are forgotten."""
MOST_KINDS = 3
"""How many kinds of problems with one rule are looked into for one tool."""
MOST_SLOW = 3
"""How often a tool may be far slower than usual before it is left out."""
EXAMPLES = 200
"""How many arguments Hypothesis tries to find the smallest that fail."""
PASTS = (10, 100, 1_000, 10_000)
"""How many calls, the last of them the one that failed, are made again if it does not fail alone."""
LOOKING = 30.0
"""For how many seconds ever more calls are made again, and then fewer."""
TRIES = 20


@dataclass(frozen=True)
class Told:
    """What was found out, and at which call."""

    number: int
    what: Finding | Blocked


class Soak:
    """The soaking of one server.

    The arguments of each call depend on its number and the seed alone.  ``left_out`` are the tools that are
    not called any more, each with the number of the call at which it ended and the reason.
    """

    def __init__(self, server: Server):
        self.server = server
        self.drills: list[Drill] = []
        self.left_out: dict[str, tuple[int, str]] = {}
        self.calls = self.processes = self.repeats = 0
        self._numbers = itertools.count()
        self._next = self._first = 0
        self._under_way: deque[tuple[Shot, Line]] = deque()
        self._session: Session | None = None
        self._told: set[tuple[str, str]] = set()
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._slow: Counter[str] = Counter()

    def run(self, until: float) -> Iterator[Told | None]:
        """Call the tools until ``until`` (in monotonic seconds); None stands for a call that was right."""
        try:
            yield from self._begin()
            while self._fill(until):
                shot, line = self._under_way.popleft()
                reply = self._conversation().await_reply(line, shot.drill.patience)
                self.calls += 1
                yield from self._judged(shot, line, reply)
        except Blocked as error:
            yield Told(self._next, error)
        except NotExercised:
            pass  # the server no longer starts, as was told before

    # Calling

    def _conversation(self) -> Session:
        if self._session is None or self._session.closed:
            self._end_process()
            self._session = self.server.connect()
            self.processes += 1
            self._first = self._next
        return self._session

    def _end_process(self) -> None:
        if self._session is not None:
            self._session.close()
            self.server.sessions.remove(self._session)
            self._session = None

    def _begin(self) -> Iterator[Told]:
        """Call each tool once, alone."""
        for tool in self.callable_tools():
            if tool.name in self.left_out or any(tool.name == drill.name for drill in self.drills):
                continue
            try:
                arguments = self.server.arguments(tool)
            except NoExample as error:
                self._leave_out(tool.name, f"no valid arguments are known: {error}")
                continue
            call = self.server.call_in(self._conversation(), tool, arguments)
            self.calls += 1
            if call.reply.fault is not None:
                self._leave_out(tool.name, str(call.reply.fault))
                reason = f"tools/call of {tool.name} was not answered: {call.reply.fault}"
                stderr = call.reply.fault.stderr
                id = "tools.call.listed-is-callable"
                yield Told(0, Blocked(reason, call.reply.lines, stderr, id, tool.name))
            elif self.server.is_slow(call):
                self._leave_out(tool.name, f"it takes {call.reply.seconds:.1f} s")
            else:
                self.drills.append(Drill(self.server, call))

    def callable_tools(self) -> list[Tool]:
        """The tools that may be called."""
        return [tool for tool in self.server.tools if tool.name and self.server.settings.may_call(tool)]

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out.setdefault(name, (self._next, reason))

    def _fill(self, until: float) -> bool:
        """Have as many calls under way as there may be; whether there are any."""
        session = self._conversation()
        if not self._under_way and len(session.lines) > MOST_LINES:
            session.forget()
        while len(self._under_way) < WINDOW and len(session.lines) <= MOST_LINES:
            if time.monotonic() > until or len(self.left_out) >= len(self.drills)...
