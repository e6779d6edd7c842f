"""Servers of both eras, which the first message tells apart (spec: basic/versioning).

Each era is seen in a process of its own.
"""

from __future__ import annotations

import pytest

from conformance.expect import skip
from conformance.protocol import revisions
from conformance.scenarios.request_metadata import first_talk, shaken
from conformance.verdicts import Finding

WANTED = (revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN)


@pytest.mark.requirement("dualera.modern-served-statelessly")
def test_a_first_request_that_names_its_version_is_served_as_such(server):
    _, reply = first_talk(server)
    result = reply.value or skip("the first request is not served")
    if result.get("resultType") is None:
        raise Finding("a result with resultType, as later in the same process", str(result), reply.lines)


@pytest.mark.requirement("dualera.initialize-selects-legacy")
@pytest.mark.parametrize("wanted", WANTED)
def test_a_handshake_agrees_on_a_revision_that_has_it(server, wanted):
    hello, _ = shaken(server, wanted)
    result = hello.value or skip("the server does not shake hands")
    agreed = result.get("protocolVersion")
    if agreed is None or agreed.json not in revisions.HANDSHAKE:
        raise Finding("a protocolVersion that has a handshake", str(agreed or result), hello.lines)


@pytest.mark.requirement("dualera.initialize-selects-legacy")
def test_after_a_handshake_its_revision_counts(server):
    hello, pong = shaken(server, revisions.LATEST_HANDSHAKE)
    if pong is None:
        skip("the server does not shake hands")
    if pong.value is None:
        raise Finding(
            "a ping to be answered, as in the revision agreed on", str(pong), (*hello.lines, *pong.lines)
        )
