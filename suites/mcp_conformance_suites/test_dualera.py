"""Servers of both eras: the first message of a session selects one (spec: basic/versioning).

Each era is judged in a process of its own.
"""

from __future__ import annotations

import pytest

from mcp_conformance.expect import require, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.scenarios.request_metadata import first_exchange, handshake_result
from mcp_conformance.verdicts import Finding

WANTED = (revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN)


@pytest.mark.requirement("dualera.modern-served-statelessly")
def test_a_first_request_that_names_its_version_is_served_as_modern(server):
    session, reply = first_exchange(server)
    result = require(reply.value, skip="the first request is not served")
    if result.get("resultType") is None:
        later = session.request(reply.method).value
        if later is None or later.get("resultType") is None:
            skip("later results have no resultType either: see result.result-type-present")
        raise Finding("a result with resultType, as later in the same process", str(result), reply.lines)


@pytest.mark.requirement("dualera.initialize-selects-legacy")
@pytest.mark.parametrize("wanted", WANTED)
def test_a_handshake_agrees_on_a_handshake_revision(server, wanted):
    opening, _ = handshake_result(server, wanted)
    result = require(opening.value, skip="the server does not accept a handshake")
    agreed = result.get("protocolVersion")
    if agreed is None or agreed.json not in revisions.HANDSHAKE:
        raise Finding("a protocolVersion that has a handshake", str(agreed or result), opening.lines)


@pytest.mark.requirement("dualera.initialize-selects-legacy")
def test_a_handshake_selects_its_revision(server):
    opening, pong = handshake_result(server, revisions.LATEST_HANDSHAKE)
    pong = require(pong, skip="the server does not accept a handshake")
    if pong.value is None:
        lines = (*opening.lines, *pong.lines)
        raise Finding("a ping to be answered, as in the revision agreed on", str(pong), lines)
