"""The state of a server: what sequences of calls show, in sessions whose processes nobody else changes."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.state.hand import Hand
from mcp_conformance.state.links import Workable
from mcp_conformance.state.tokens import Tokens
from mcp_conformance.state.uses import Use
from mcp_conformance.state.workshop import Workshop
from mcp_conformance.target.preparation import renamed_value
from mcp_conformance.target.scenario import Records
from mcp_conformance.target.sessions import STATE, Sessions
from mcp_conformance.world.world import World


@dataclass(frozen=True)
class Limits:
    """The most calls, and seconds, of what one process is used for."""

    calls: int
    seconds: float

    def part(self, share: float) -> Limits:
        """Return a share of them."""
        return Limits(int(self.calls * share), self.seconds * share)


# 5 ms a call are 7 s.
QUICK = Limits(calls=1400, seconds=10.0)
# Not measured: as those of a thorough run of the fuzzer.
THOROUGH = Limits(calls=10_000, seconds=120.0)
PAUSE_SECONDS = 0.5
"""Not measured: how long an index may take until it has a change."""


class State:
    """The sequences of calls in one revision, in sessions of their own.

    ``records`` are those of the scenario; ``uses`` says what tools do with what others make, once learned;
    ``limits`` are the usual ones of a workshop.
    """

    def __init__(self, sessions: Sessions, world: World):
        self.records: Records = {}
        self.uses: tuple[Use, ...] = ()
        self._sessions, self._world = sessions, world
        self.limits = QUICK if sessions.settings.is_gentle else THOROUGH
        self._hands: list[Hand] = []
        self.trail = sessions.trail
        self._tokens = Tokens(world.ownership.text, secrets.randbits(64), world.jail.cores)

    @property
    def spent(self) -> dict[str, tuple[int, float]]:
        """The calls and the seconds of each phase."""
        calls, seconds = Counter[str](), Counter[str]()
        for hand in self._hands:
            calls.update(hand.counts)
            seconds.update(hand.seconds)
        return {name: (number, float(seconds[name])) for name, number in calls.items()}

    def may_write(self) -> bool:
        """Return whether some tool that may write may be called."""
        return any(not tool.read_only and self._may_repeat(tool) for tool in self._sessions.surface.tools)

    def _may_repeat(self, tool: Tool) -> bool:
        """Return whether a tool may be called again and again: it is permitted, and has no limit of calls."""
        settings = self._sessions.settings
        return settings.may_call(tool) and math.isinf(settings.explored_calls(tool))

    def workables(self) -> list[Workable]:
        """Return the tools that may be called, with the arguments with which they work."""
        found = []
        for tool in self._world.in_order(self._sessions.surface.tools):
            works = self._world.worked[tool.name]
            if works and self._may_repeat(tool):
                found.append(Workable(tool, works[0].arguments, works[0].known))
        return found

    def session(self) -> Session:
        """Return the session of the sequences, whose process nobody else changes."""
        return self._sessions.shared(STATE)

    @contextmanager
    def fresh(self) -> Iterator[Session]:
        """Give a session with a process that nobody has used, in which what others need exists too."""
        with self._sessions.fresh("a sequence of calls, seen again") as session:
            self._sessions.prepare(session)
            yield session

    def workshop(self, session: Session, phase: str, limits: Limits | None = None) -> Workshop:
        """Return a workshop in a session, which begins with a phase; its own limits come before the usual."""
        clock, limits = session.clock, limits or self.limits
        until = clock.monotonic() + limits.seconds
        hand = Hand(
            lambda tool, arguments: _called(session, tool, arguments),
            lambda calls: _together(session, calls),
            max_calls=limits.calls,
            is_over=lambda: clock.monotonic() > until,
            clock=clock.monotonic,
            pause=lambda: session.wait_for(lambda: False, PAUSE_SECONDS),
            begins=phase,
        )
        self._hands.append(hand)
        ours, revision = self._world.ownership.ours, self._sessions.revision
        shop = Workshop(hand, self._tokens, ours, revision, lambda given: renamed_value(session, given))
        shop.note = lambda value: session.made.add(encode(value))
        return shop


def _called(session: Session, tool: Tool, arguments: dict[str, Any]) -> Call:
    return Call(tool, arguments, session.request("tools/call", {"name": tool.name, "arguments": arguments}))


def _together(session: Session, calls: Sequence[tuple[Tool, dict[str, Any]]]) -> list[Call]:
    """Call tools at once, before the first answer is awaited."""
    sent = [
        session.send("tools/call", {"name": tool.name, "arguments": arguments}) for tool, arguments in calls
    ]
    replies = [reply_within(session, one, session.timeout) for one in sent]
    return [Call(tool, arguments, reply) for (tool, arguments), reply in zip(calls, replies, strict=True)]
