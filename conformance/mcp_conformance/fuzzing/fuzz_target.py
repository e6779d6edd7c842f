"""The target of a fuzzer: requests of one method that differ in the value of one member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.fuzzing.budgets import CASES
from mcp_conformance.protocol.jsonrpc import Line, encode
from mcp_conformance.target.preparation import renamed
from mcp_conformance.world.success import is_success
from mcp_conformance.world.wording import kind_of_refusal

NUL = b"\0"
"""A byte that no JSON text has."""


@dataclass(frozen=True)
class FuzzTarget:
    """Requests of one ``method``, whose params are ``fixed`` except for one ``member``, the fuzzed one.

    ``name`` identifies the target; ``seconds`` is the usual time of an answer; ``tool`` is the name of the
    tool, if it is one, and ``refusal`` says what its calls with valid arguments got, if none worked.  The
    member may be ``inside`` another one, next to the members in ``beside``.
    """

    name: str
    method: str
    member: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    tool: str = ""
    inside: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)
    refusal: str = ""

    @classmethod
    def of_tool(cls, call: Call) -> FuzzTarget:
        """Return the target that is the arguments of a tool, which was called once."""
        name, reply = call.tool.name, call.reply
        refusal = (
            "" if reply.fault is not None or is_success(reply) else kind_of_refusal(reply, call.arguments)
        )
        return cls(name, "tools/call", "arguments", {"name": name}, reply.seconds, name, refusal=refusal)

    def answer_seconds(self, timeout: float) -> float:
        """Return the time after which a missing answer is looked into; ``timeout`` is the user's."""
        return min(timeout, max(CASES.min_answer_seconds, CASES.usual_factor * self.seconds))

    def is_requested_in(self, line: Line) -> bool:
        """Return whether a line is a request to this target."""
        message = line.message if isinstance(line.message, dict) else {}
        return message.get("method") == self.method and encode(dict(self.fixed))[1:-1] in line.raw

    def request(self, text: bytes) -> tuple[str, bytes]:
        """Return the method and params with the member as JSON text, valid or not; empty leaves it out."""
        if not text:
            return self.method, self._params(b"")
        before, after = self._around
        return self.method, before + text + after

    def send(self, session: Session, text: bytes) -> Line:
        """Send the request of `request`, with the values that exist in the session's process."""
        return session.send_texts([self.request(renamed(session, text))])[0]

    @cached_property
    def _around(self) -> tuple[bytes, bytes]:
        """The params before and after the text of the member."""
        before, _, after = self._params(NUL).partition(NUL)
        return before, after

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
