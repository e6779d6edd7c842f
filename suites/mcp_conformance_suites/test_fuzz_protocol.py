"""The protocol under unusual ids, many requests at once, and requests in any order."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import skip
from mcp_conformance.fuzzing.protocol import STAGES, right_messages

pytestmark = pytest.mark.stage("confirm")


@pytest.mark.stage("fuzz")
@pytest.mark.requirement("stdio.stdout-purity")
def test_nothing_but_messages_is_on_stdout_whatever_was_asked(server):
    """Hold the conversation too: what the other checks find in it is confirmed meanwhile."""
    right_messages(server).raise_violations("stdio.stdout-purity")


@pytest.mark.requirement("jsonrpc.id-types-accepted")
def test_an_id_of_any_kind_is_accepted(server):
    right_messages(server).raise_violations("jsonrpc.id-types-accepted", "ids")


@pytest.mark.requirement("jsonrpc.id-types-accepted")
def test_an_integer_id_beyond_2_to_the_53_is_accepted_and_kept(server):
    right_messages(server).raise_violations("jsonrpc.id-types-accepted", "large ids")


@pytest.mark.requirement("jsonrpc.response-every-request")
@pytest.mark.parametrize("stage", STAGES)
def test_a_request_is_answered_whatever_came_before(server, stage):
    right_messages(server).raise_violations("jsonrpc.response-every-request", stage)


@pytest.mark.requirement("jsonrpc.response-id-echo")
def test_an_answer_has_the_id_of_its_request(server):
    right_messages(server).raise_violations("jsonrpc.response-id-echo")


@pytest.mark.requirement("jsonrpc.response-exactly-once")
def test_a_request_is_answered_once(server):
    right_messages(server).raise_violations("jsonrpc.response-exactly-once")


@pytest.mark.requirement("jsonrpc.no-response-to-notification")
def test_a_notification_is_not_answered(server):
    right_messages(server).raise_violations("jsonrpc.no-response-to-notification")


@pytest.mark.requirement("jsonrpc.result-xor-error")
def test_an_answer_has_either_a_result_or_an_error(server):
    right_messages(server).raise_violations("jsonrpc.result-xor-error")


@pytest.mark.requirement("jsonrpc.result-object")
def test_a_result_is_an_object(server):
    right_messages(server).raise_violations("jsonrpc.result-object")


@pytest.mark.requirement("jsonrpc.version-member")
def test_a_message_has_the_version_member(server):
    right_messages(server).raise_violations("jsonrpc.version-member")


@pytest.mark.requirement("jsonrpc.message-shape")
def test_a_line_is_a_message(server):
    right_messages(server).raise_violations("jsonrpc.message-shape")


@pytest.mark.requirement("progress.token-known")
def test_progress_names_a_token_that_was_given(server):
    conversation = right_messages(server)
    require_progress(conversation)
    conversation.raise_violations("progress.token-known")


@pytest.mark.requirement("progress.increasing")
def test_progress_grows(server):
    conversation = right_messages(server)
    require_progress(conversation)
    conversation.raise_violations("progress.increasing")


def require_progress(conversation):
    if not conversation.has_progress:
        skip("no quick tool that may be called reported progress")
