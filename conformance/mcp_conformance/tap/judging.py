"""A session judged line by line, on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, Line, is_response
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER
from mcp_conformance.requirements import catalogue
from mcp_conformance.tap import client_rules, http_rules
from mcp_conformance.tap.conversation import Conversation
from mcp_conformance.tap.rules import RULES
from mcp_conformance.tap.server_rules import shape_errors

WAITED = 10.0
"""Seconds after which a request that others overtook is unanswered.  Not measured: tools are slow."""
UNANSWERED = "jsonrpc.response-every-request"
RULES_OF_CLIENTS = (client_rules.__name__, http_rules.__name__)
"""Where the rules of clients are: to import the module adds them."""


@dataclass(frozen=True)
class Breach:
    """A rule that a line breaks: whose, which, how binding it is, what is wrong, and what proves it."""

    side: str
    rule: str
    level: str
    what: str
    lines: tuple[Line, ...]


class Judgement:
    """The rules that the lines so far have broken; `see` returns those that a new line breaks."""

    def __init__(self) -> None:
        self.known = Conversation()
        self.breaches: list[Breach] = []

    def see(self, line: Line, headers: Mapping[str, str] | None = None) -> list[Breach]:
        """Judge a line, and take it into account; over HTTP with the ``headers`` of what carried it."""
        self.known.headers = headers
        side = CLIENT if line.sent else SERVER
        found: list[Breach] = []
        for message in line.parts() or (ABSENT,):
            self.known.begin(line, message)
            found += self._judged(side, line, message)
            if message is not ABSENT:
                self.known.see(line, message)
        self.breaches += found
        return found

    def end(self, at: float) -> list[Breach]:
        """Judge what never came: ``at`` is when the client closed the connection, or the server ended."""
        later = [one.answer.at for one in self.known.asked[CLIENT].values() if one.answer is not None]
        found = [
            Breach(SERVER, UNANSWERED, "MUST", f"{one.method} has no answer", (one.line,))
            for one in self.known.in_flight(CLIENT)
            if at - one.line.at > WAITED and any(answered > one.line.at for answered in later)
            if one.method != "subscriptions/listen"
        ]
        self.breaches += found
        return found

    def _judged(self, side: str, line: Line, message: Any) -> Iterator[Breach]:
        for rule in RULES[side]:
            if level := rule.level(self.known.revision):
                for what in rule.see(self.known, line, message):
                    yield Breach(side, rule.id, level, what, self._proof(side, line, message))
        if side == SERVER and message is not ABSENT:
            for id, what in shape_errors(self.known, message):
                level = catalogue.requirement(id).level(self.known.revision)
                yield Breach(side, id, level, what, self._proof(side, line, message))

    def _proof(self, side: str, line: Line, message: Any) -> tuple[Line, ...]:
        asked = self.known.request_of(side, message) if is_response(message) else None
        return (line,) if asked is None else (asked.line, line)
