"""Recorded sessions: the server answers as it did then (not a rule of the specification)."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.sessions import expect_same_answers


# Before any call of another check: what that makes may outlive its process.
@pytest.mark.stage("listed")
@pytest.mark.requirement("sessions.same-answers")
def test_a_recorded_session_gets_the_same_answers(server, recorded):
    expect_same_answers(server, recorded)
