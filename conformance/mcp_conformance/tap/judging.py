"""A session judged line by line, on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.transcript import line_of_row
from mcp_conformance.protocol.jsonrpc import ABSENT, Line, is_response
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER
from mcp_conformance.requirements import catalogue
from mcp_conformance.tap import client_rules, http_rules
from mcp_conformance.tap.conversation import Conversation
from mcp_conformance.tap.lines import has_only_headers, headers_of, is_again, line_of
from mcp_conformance.tap.rules import RULES, Rule
from mcp_conformance.tap.server_rules import shape_errors

WAITED = 10.0
"""Seconds after which a request that others overtook is unanswered.  Not measured: tools are slow."""
UNANSWERED = "jsonrpc.response-every-request"
RULES_OF_CLIENTS = (client_rules.__name__, http_rules.__name__)
"""Where the rules of clients are: to import the module adds them."""


def rules_of(side: str) -> Sequence[Rule]:
    """Return the rules of a side that lines alone show, without those of the schema for a server."""
    return RULES[side]


@dataclass(frozen=True)
class Breach:
    """A rule that a line breaks: whose, which, how binding it is, what is wrong, and what proves it."""

    side: str
    rule: str
    level: str
    what: str
    lines: tuple[Line, ...]


class Judgement:
    """The rules that the lines so far have broken; `see` returns those that a new line breaks.

    Over HTTP, what belongs to no ``session`` is judged one request at a time.
    """

    def __init__(self, session: str = "") -> None:
        self._session = session
        self.known = Conversation()
        self.breaches: list[Breach] = []
        self._alone: dict[str, Conversation] = {}
        self._closed: float | None = None

    def see_row(self, row: Mapping[str, Any]) -> list[Breach]:
        """Judge a row of a session: a line, one that was delivered again, or the end of a side."""
        if (line := line_of(row)) is not None:
            return self.see(line, headers_of(row))
        if is_again(row):
            self.known.see_again(line_of_row(row))
        elif has_only_headers(row):
            return self.see(Line(True, b"", row["at"], ABSENT, carried_by=row["carried_by"]), headers_of(row))
        elif row.get("closed") == "client":
            self._closed = row["at"]
        elif "status" in row:
            return self.end(row["at"] if self._closed is None else self._closed)
        return []

    def see(self, line: Line, headers: Mapping[str, str] | None = None) -> list[Breach]:
        """Judge a line, and take it into account; over HTTP with the ``headers`` of what carried it."""
        known = self.known
        if headers is not None and not self._session:
            number = line.carried_by.partition(" ")[2].partition(" ")[0]
            known = self._alone.setdefault(number, self.known.alone(headers))
        known.headers = headers
        side = CLIENT if line.sent else SERVER
        found: list[Breach] = []
        for message in line.parts() or (ABSENT,):
            known.begin(line, message)
            found += _judged(known, side, line, message)
            if message is not ABSENT:
                known.see(line, message)
        self.known.server_capabilities = known.server_capabilities
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


def _judged(known: Conversation, side: str, line: Line, message: Any) -> Iterator[Breach]:
    for rule in RULES[side]:
        level = rule.level(known.revision)
        is_judged = line.raw or known.headers is None or rule.see.__module__ == http_rules.__name__
        if level and is_judged and (known.is_whole or not rule.whole):
            for what in rule.see(known, line, message):
                yield Breach(side, rule.id, level, what, _proof(known, side, line, message))
    if side == SERVER and message is not ABSENT:
        for id, what in shape_errors(known, message):
            level = catalogue.requirement(id).level(known.revision)
            yield Breach(side, id, level, what, _proof(known, side, line, message))


def _proof(known: Conversation, side: str, line: Line, message: Any) -> tuple[Line, ...]:
    asked = known.request_of(side, message) if is_response(message) else None
    return (line,) if asked is None else (asked.line, line)
