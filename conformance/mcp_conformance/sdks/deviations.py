"""Whether a finding is one that every server on the SDK of this server has."""

from __future__ import annotations

from mcp_conformance.sdks.evidence import Evidence
from mcp_conformance.sdks.facts import FACTS, Fact
from mcp_conformance.sdks.recognition import recognise
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Finding


def known_fact(server: Server, rule: str, error: Finding | Blocked) -> Fact | None:
    """Return the fact about the server's SDK that a finding shows; None if the fault is the server's own.

    The SDK is recognised only if some SDK has such a fact, as that takes requests.
    """
    evidence = Evidence.of(error)
    fitting = [fact for fact in FACTS if fact.rule == rule and fact.shown(evidence)]
    found = recognise(server) if fitting else None
    if found is None:
        return None
    of_sdk = (fact for fact in fitting if fact.sdk == found.sdk and fact.holds_for(found.version))
    return next((fact for fact in of_sdk if fact.of_tool is None or _is_met(server, fact, evidence)), None)


def _is_met(server: Server, fact: Fact, evidence: Evidence) -> bool:
    """Return whether the definition of a tool that was called shows the fault."""
    definitions = {tool.name: tool.definition.json for tool in server.surface.tools}
    calls = [(one.params.get("name"), one.params.get("arguments")) for one in evidence.answers]
    return fact.of_tool is not None and any(
        fact.of_tool(definitions[name], arguments)
        for name, arguments in calls
        if isinstance(name, str) and name in definitions
    )
