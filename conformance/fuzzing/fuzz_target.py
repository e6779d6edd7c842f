"""The target of a fuzzer: requests of one method that differ in the value of one member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.client.tool_call import Call
from conformance.protocol.jsonrpc import Line, encode


@dataclass(frozen=True)
class FuzzTarget:
    """Requests of one ``method``, whose params are ``fixed`` except for one ``member``, the fuzzed one.

    ``name`` identifies the target; ``seconds`` is the usual time of an answer; ``tool`` is the name of the
    tool, if it is one.  The member may be ``inside`` another one, next to the members in ``beside``.
    """

    name: str
    method: str
    member: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    tool: str = ""
    inside: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_tool(cls, call: Call) -> FuzzTarget:
        """Return the target that is the arguments of a tool, which was called once."""
        name = call.tool.name
        return cls(name, "tools/call", "arguments", {"name": name}, call.reply.seconds, name)

    def is_requested_in(self, line: Line) -> bool:
        """Return whether a line is a request to this target."""
        message = line.message if isinstance(line.message, dict) else {}
        return message.get("method") == self.method and encode(dict(self.fixed))[1:-1] in line.raw

    def line(self, session: Session, text: bytes) -> Line:
        """Return a request with the member as JSON text, valid or not; empty text leaves the member out."""
        return session.line_of_text(self.method, self._params(text))

    def send(self, session: Session, text: bytes) -> Line:
        """Send the request of `line`."""
        return session.send_lines([self.line(session, text)])[0]

    def _params(self, text: bytes) -> bytes:
        if self.inside:
            return _with(self.fixed, self.inside, _with(self.beside, self.member, text))
        return _with(self.fixed, self.member, text)

    def ask(self, session: Session, text: bytes, timeout: float) -> Reply:
        """Send a request and wait for its answer, at most ``timeout`` seconds."""
        return session.await_reply(self.send(session, text), timeout, alone=True)


def _with(fixed: Mapping[str, Any], member: str, text: bytes) -> bytes:
    """Return an object as JSON text with one more member, unless its text is empty."""
    parts = [encode(dict(fixed))[1:-1], encode(member) + b":" + text if text else b""]
    return b"{" + b",".join(part for part in parts if part) + b"}"
