"""Credentials that the server shows: in errors, log messages, definitions and stderr, or returned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import Kind, Line, id_key, is_response, kind
from mcp_conformance.scenarios.log_messages import MESSAGE
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.target.server import Server
from mcp_conformance.transport.looks import credentials_in
from mcp_conformance.transport.redaction import Redaction

GIVEN = "a credential that it was given"
RETURNS = ("tools/call", "resources/read", "prompts/get", "completion/complete", "tasks/result")
"""The methods with results that may have credentials of the user's by right, as a file may."""


@dataclass(frozen=True)
class Shown:
    """A credential that the server shows: its ``kind``, its ``place`` in words, and the lines that show it.

    ``is_logged`` says that a log message has it, ``is_returned`` a result that may have it by right.
    """

    kind: str
    place: str
    lines: tuple[Line, ...] = ()
    is_logged: bool = False
    is_returned: bool = False


def shown_credentials(server: Server) -> list[Shown]:
    """Return the credentials in all that the server wrote, once for each kind and place.

    What was sent before is no credential of the server's.
    """
    exercise_everything(server)

    @cache  # many lines may show the same
    def was_sent(text: str) -> bool:
        every = server.sessions.every
        return any(text in line.text for session in every for line in session.lines if line.sent)

    given = server.settings.redaction.of_names
    found: dict[tuple[str, str], Shown] = {}
    for session in server.sessions.every:
        for one, texts in (*_in_lines(session, given), *_on_stderr(session, given)):
            if (one.kind, one.place) not in found and not any(map(was_sent, texts)):
                found[one.kind, one.place] = one
    return list(found.values())


def _in_lines(session: Session, given: Redaction) -> Iterator[tuple[Shown, list[str]]]:
    """Yield the credentials in the lines of a session, each with its text if it is known."""
    for line in session.received.kept_lines:
        kinds = _kinds_in(line.text, given)
        if kinds:
            place, facts = _place(session, line)
            lines = session.received.after_request(line)
            for what, texts in kinds:
                is_returned = what != GIVEN and facts == "returned"
                yield Shown(what, place, lines, facts == "logged", is_returned), texts


def _on_stderr(session: Session, given: Redaction) -> Iterator[tuple[Shown, list[str]]]:
    for what, texts in _kinds_in(session.process.stderr, given):
        yield Shown(what, "stderr"), texts


def _kinds_in(text: str, given: Redaction) -> list[tuple[str, list[str]]]:
    """Return the kinds of credentials in a text, each with its text if that is not one that was given."""
    return [(GIVEN, [])] if given.finds(text) else [(what, [one]) for what, one in credentials_in(text)]


def _place(session: Session, line: Line) -> tuple[str, str]:
    """Return where a credential is, in words, and whether it is ``logged`` or ``returned``."""
    message = line.message
    if kind(message) is Kind.NOTIFICATION or kind(message) is Kind.REQUEST:
        is_log = message["method"] == MESSAGE
        return ("a log message", "logged") if is_log else (f"{message['method']}", "")
    if not is_response(message):
        return "a line of stdout", ""
    method = _method(session, message)
    result = message.get("result")
    if "error" in message or (isinstance(result, dict) and result.get("isError") is True):
        return f"an error of {method}", ""
    return f"a result of {method}", "returned" if method in RETURNS else ""


def _method(session: Session, response: Any) -> str:
    """Return the method of the request that a response answers."""
    key = id_key(response.get("id"))
    sent = (line.message for line in session.lines if line.sent and kind(line.message) is Kind.REQUEST)
    return next((str(one["method"]) for one in sent if id_key(one["id"]) == key), "no request")
