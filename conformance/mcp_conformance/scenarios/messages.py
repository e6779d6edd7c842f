"""Every message that the server sent, judged by the schema of its revision."""

from __future__ import annotations

from mcp_conformance.client.refusals import FEATURE_REQUESTS
from mcp_conformance.protocol.jsonrpc import TOO_DEEP, TOO_LONG, TOO_MANY, Kind, Line, kind
from mcp_conformance.protocol.wire_schema import SERVER, conversation_errors
from mcp_conformance.requirements import catalogue
from mcp_conformance.scenarios.traffic import repeat_of
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding


def schema_findings(server: Server) -> list[Finding]:
    """Return the first finding for each rule of this revision that a message breaks.

    A result for a feature that is not declared is not judged: `errors.undeclared-feature` wants an error.
    """
    found: dict[str, Finding] = {}
    for session in server.sessions.every:
        for lines, error in conversation_errors(session.lines, session.revision, SERVER):
            is_offered = len(lines) == 1 or _is_declared(server, lines[0])
            if is_offered and catalogue.requirement(error.rule).holds_in(server.revision):
                expected = f"a message as {server.revision} has it"
                again = repeat_of(server, lines)
                found.setdefault(error.rule, Finding(expected, str(error), lines, error.rule, repeat=again))
    return list(found.values())


def _is_declared(server: Server, request: Line) -> bool:
    """Return whether the server declares the feature of each of the requests on a line."""
    methods = {part["method"] for part in request.parts() if kind(part) is Kind.REQUEST}
    return all(server.declares(*path) for path, *_, method, _ in FEATURE_REQUESTS if method in methods)


def judging_limits(server: Server) -> list[str]:
    """Return the limits of this tool that kept a message from being judged as a whole."""
    lines = (line for session in server.sessions.every for line in session.lines)
    oddities = {oddity for line in lines for oddity in line.oddities}
    return sorted(one for one in oddities if one.endswith((TOO_DEEP, TOO_LONG, TOO_MANY)))
