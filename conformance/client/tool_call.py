"""One call of a tool: the request, what came meanwhile, and the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.client.input_required import more_rounds
from conformance.client.reply import Reply
from conformance.client.session import PING_SECONDS, Session
from conformance.protocol.methods import FEATURES
from conformance.protocol.progress import progress_in
from conformance.protocol.value import Value

BUSY = 1.0
"""How many seconds a call takes before a ping asks whether the server still answers."""


@dataclass(frozen=True)
class Call:
    """A tool call and what became of it.

    ``asked`` is what the server asked of the client meanwhile, ``progress`` what it told of its progress;
    ``pong`` is the answer to a ping that was sent while the call took its time.  ``rounds`` are all replies,
    the last one included, of a call that was made again with what the server asked for.
    """

    tool: Tool
    arguments: dict[str, Any]
    reply: Reply
    asked: tuple[Value, ...] = ()
    progress: tuple[Value, ...] = ()
    pong: Reply | None = None
    rounds: tuple[Reply, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it was answered with an error of either kind."""
        return self.reply.error is not None or self.reply.is_tool_error


class PendingCall:
    """A call that was made and is not waited for: `end` gives what became of it."""

    def __init__(self, session: Session, tool: Tool, arguments: dict[str, Any]):
        self.session, self.tool, self.arguments = session, tool, arguments
        self._before = len(session.lines)
        meta = {"progressToken": f"progress-{self._before}"}
        params = {"name": tool.name, "arguments": arguments, "_meta": meta}
        self._request = session.send("tools/call", params)
        self._ping = session.send(session.liveness_method) if self.lasts(BUSY) else None

    def lasts(self, seconds: float) -> bool:
        """Whether it is still under way after so many seconds more."""
        session = self.session
        session.wait_for(lambda: session.is_answered(self._request), seconds)
        return not session.is_answered(self._request) and not session.closed

    def end(self) -> Call:
        """Wait for the answer."""
        session, ping = self.session, self._ping
        reply = session.await_reply(self._request)
        patience = session.scaled_timeout(PING_SECONDS) if reply.fault is None else 0.0
        pong = session.await_reply(ping, patience) if ping else None
        rounds = [reply, *more_rounds(session, reply)]
        reply = rounds[-1]
        if reply.fault is None:
            session.drain()
        asked = tuple(session.server_requests(*FEATURES, since=self._before))
        lines = session.lines[self._before :]
        progress = tuple(one.notification for one in progress_in(lines) if one.request)
        return Call(self.tool, self.arguments, reply, asked, progress, pong, tuple(rounds))


def call_in(session: Session, tool: Tool, arguments: dict[str, Any]) -> Call:
    """Call a tool that may be called, in a conversation; it is asked to tell its progress."""
    return PendingCall(session, tool, arguments).end()


@dataclass(frozen=True)
class Tool:
    """A listed tool."""

    definition: Value

    @property
    def name(self) -> str:
        """Its name; empty when it has none that is a string."""
        name = self.definition.get("name")
        return name.json if name is not None and name.is_a(str) else ""

    @property
    def input_schema(self) -> Any:
        """Its input schema, an open object schema when it has none."""
        schema = self.definition.get("inputSchema")
        return schema.json if schema is not None else {"type": "object"}

    @property
    def output_schema(self) -> Value | None:
        """Its output schema, None when it has none."""
        return self.definition.get("outputSchema")

    @property
    def read_only(self) -> bool:
        """Whether the tool says of itself that it changes nothing."""
        hint = self.definition.get("annotations", "readOnlyHint")
        return hint is not None and hint.json is True
