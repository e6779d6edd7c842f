"""The protocol under broken lines, and lines that are hard to read."""

from __future__ import annotations

import pytest

from mcp_conformance.fuzzing.payloads import BROKEN_LINE_KINDS
from mcp_conformance.fuzzing.protocol import broken_lines

pytestmark = pytest.mark.stage("confirm")


@pytest.mark.requirement("jsonrpc.garbage-not-fatal")
@pytest.mark.parametrize("what", [*BROKEN_LINE_KINDS, "random"])
def test_a_request_after_a_broken_line_is_answered(server, what):
    broken_lines(server).raise_violations("jsonrpc.garbage-not-fatal", what)


@pytest.mark.requirement("jsonrpc.error-id-unreadable")
def test_an_answer_to_a_broken_line_has_its_id_or_null(server):
    broken_lines(server).raise_violations("jsonrpc.error-id-unreadable")


@pytest.mark.requirement("stdio.stdout-purity")
def test_nothing_but_messages_is_on_stdout_after_a_broken_line(server):
    broken_lines(server).raise_violations("stdio.stdout-purity")


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_a_request_that_is_hard_to_read_is_answered(server):
    broken_lines(server).raise_violations("jsonrpc.response-every-request", "hard to read")
