"""One call of a tool: the request, the messages during the call, and the reply."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.input_required import more_rounds
from mcp_conformance.client.reply import Reply, Silence
from mcp_conformance.client.session import PING_SECONDS, Session, timeout_of
from mcp_conformance.client.thrown import logged
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.protocol.value import Value

PING_AFTER_SECONDS = 1.0
"""A call that takes longer is accompanied by a ping: does the server still answer?"""

SLOW_SECONDS = 2.0
"""A tool that takes longer is called only once."""
AT_WORK_SHARE = 0.75
"""The share of the wait after which progress shows that a call is still at work."""


@dataclass(frozen=True)
class Call:
    """A tool call and its reply.

    ``asked`` are the server's requests during the call, ``progress`` its progress notifications; ``pong`` is
    the reply to a ping during a long call.  ``rounds`` are all replies, the last one included, of a call that
    was retried because of ``input_required``.  ``others`` are calls with other valid arguments, made because
    one of them failed.
    """

    tool: Tool
    arguments: dict[str, Any]
    reply: Reply
    asked: tuple[Value, ...] = ()
    progress: tuple[Value, ...] = ()
    pong: Reply | None = None
    rounds: tuple[Reply, ...] = ()
    others: tuple[Call, ...] = ()

    @property
    def with_others(self) -> tuple[Call, ...]:
        """The call itself and those with other valid arguments."""
        return (self, *self.others)

    @property
    def failed(self) -> bool:
        """Whether it was answered with an error of either kind."""
        return self.reply.error is not None or self.reply.is_tool_error

    @property
    def is_slow(self) -> bool:
        """Whether the tool took so long that it is called only once."""
        return self.reply.seconds > SLOW_SECONDS

    @property
    def method(self) -> str:
        """The method by which it is made."""
        return "tools/call"

    @property
    def params(self) -> dict[str, Any]:
        """The params of ``tools/call`` by which the call can be repeated."""
        return {"name": self.tool.name, "arguments": self.arguments}

    @property
    def is_at_work(self) -> bool:
        """Whether no answer came, but progress did until shortly before the wait was over."""
        if not isinstance(self.reply.fault, Silence) or not self.progress:
            return False
        return (
            self.progress[-1].lines[0].at - self.reply.request.at > AT_WORK_SHARE * self.reply.fault.seconds
        )


class PendingCall:
    """A call that was sent; `end` waits for its reply."""

    def __init__(self, session: Session, tool: Tool, arguments: dict[str, Any]):
        self.session, self.tool, self.arguments = session, tool, arguments
        self._before = len(session.lines)
        meta = {"progressToken": f"progress-{self._before}"}
        params = {"name": tool.name, "arguments": arguments, "_meta": meta}
        self._request = session.send("tools/call", params)
        self._ping = session.send(session.liveness_method) if self.lasts(PING_AFTER_SECONDS) else None

    @cached_property
    def lets_others_pass(self) -> bool:
        """Whether the server answers a ping while the call runs, so that it may answer other requests too."""
        ping, seconds = self._ping, self.session.scaled_timeout(PING_AFTER_SECONDS)
        return ping is not None and self.session.wait_for(lambda: self.session.is_answered(ping), seconds)

    def lasts(self, seconds: float) -> bool:
        """Wait until so many seconds after the request at most; return whether the call still runs."""
        session = self.session
        left = seconds - (session.process.age - self._request.at)
        session.wait_for(lambda: session.is_answered(self._request), max(0.0, left))
        return not session.is_answered(self._request) and not session.closed

    def end(self) -> Call:
        """Wait for the reply; the timeout counts since the request."""
        session, ping = self.session, self._ping
        reply = reply_within(session, self._request, timeout_of(session, self._request))
        seconds = session.scaled_timeout(PING_SECONDS) if reply.fault is None else 0.0
        pong = session.await_reply(ping, seconds) if ping else None
        rounds = [reply, *more_rounds(session, reply)]
        reply = rounds[-1]
        if reply.fault is None:
            session.drain()
            reply = logged(session, reply)
        asked = tuple(session.received.requests(*FEATURES, since=self._before))
        lines = session.lines[self._before :]
        progress = tuple(
            one.notification for one in progress_in(lines) if one.request is self._request.message
        )
        return Call(self.tool, self.arguments, reply, asked, progress, pong, tuple(rounds))


def call_in(session: Session, tool: Tool, arguments: dict[str, Any]) -> Call:
    """Call a tool in a session, with a progress token."""
    return PendingCall(session, tool, arguments).end()


@dataclass(frozen=True)
class Tool:
    """A listed tool."""

    definition: Value

    @property
    def name(self) -> str:
        """The name; empty if it is not a string."""
        name = self.definition.get("name")
        return name.json if name is not None and name.is_a(str) else ""

    @property
    def input_schema(self) -> Any:
        """The input schema, an open object schema if there is none."""
        schema = self.definition.get("inputSchema")
        return schema.json if schema is not None else {"type": "object"}

    @property
    def output_schema(self) -> Value | None:
        """The output schema, None if there is none."""
        return self.definition.get("outputSchema")

    @property
    def open_world(self) -> bool:
        """Whether its ``openWorldHint`` is true; it is not if the tool says nothing."""
        return self._has_hint("openWorldHint")

    @property
    def task_support(self) -> Any:
        """The ``taskSupport``; forbidden if there is none."""
        support = self.definition.get("execution", "taskSupport")
        return "forbidden" if support is None else support.json

    @property
    def read_only(self) -> bool:
        """Whether its ``readOnlyHint`` is true."""
        return self._has_hint("readOnlyHint")

    @property
    def idempotent(self) -> bool:
        """Whether its ``idempotentHint`` is true."""
        return self._has_hint("idempotentHint")

    @property
    def closed_world(self) -> bool:
        """Whether its ``openWorldHint`` is false; it is not if the tool says nothing."""
        return self._has_hint("openWorldHint", False)

    def _has_hint(self, name: str, value: bool = True) -> bool:
        hint = self.definition.get("annotations", name)
        return hint is not None and hint.json is value
