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
    return next((fact for fact in fitting if fact.sdk == found.sdk and fact.holds_for(found.version)), None)
