"""Requests in several rounds: the retries of an `input_required` answer."""

import sys

import pytest

from mcp_conformance.client.input_required import (
    MAX_ROUNDS,
    input_requests,
    more_rounds,
    replies_in,
    retry_params,
)
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.scenarios.client_features import FULL_CLIENT
from mcp_conformance.scenarios.multi_round_trip import tampered, truncated
from mcp_conformance.transport.process import Process
from support import EVERYTHING, REFERENCE, run_suite, script
from support.nightly import nightly

MODERN = LATEST_MODERN
UNUSUAL = (sys.executable, script("unusual_asks_server"))


@pytest.fixture
def session():
    """Yield a session of the full client with the server that requires input in unusual ways."""
    process = Process(list(UNUSUAL))
    with Session(
        process, revision=MODERN, capabilities=FULL_CLIENT.declares(MODERN), client=FULL_CLIENT.answers
    ) as opened:
        opened.open()
        yield opened


def call(session, name, **arguments):
    return session.request(
        "tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}
    )


def test_more_rounds_continue_until_the_result_is_complete(session):
    first = call(session, "ask")
    done = more_rounds(session, first)[-1]
    assert first.needs_input
    assert not done.needs_input
    assert "This is" in done.result["content"][0]["text"]


def test_more_rounds_stop_at_the_limit(session):
    replies = more_rounds(session, call(session, "summarize", text="a"))
    assert len(replies) == MAX_ROUNDS
    assert all(reply.needs_input for reply in replies)


def test_a_state_without_requests_is_sent_back_without_responses(session):
    first = call(session, "folders")
    second, third = more_rounds(session, first)
    assert input_requests(first) == {}
    assert "inputResponses" not in second.request.message["params"]
    assert "inputResponses" in third.request.message["params"]
    assert not third.needs_input


def test_a_client_without_an_answer_sends_no_retry(session):
    session.client = {}
    assert more_rounds(session, call(session, "ask")) == []


def test_a_retry_has_a_new_id_and_no_progress_token(session):
    first = call(session, "ask")
    retry = retry_params(first, {"a": 1})
    assert "progressToken" not in retry["_meta"]
    assert retry["inputResponses"] == {"a": 1}
    assert retry["requestState"] == first.result["requestState"]
    ids = [reply.request.message["id"] for reply in [first, *more_rounds(session, first)]]
    assert len(ids) == len(set(ids))


def test_replies_are_found_with_their_requests(session):
    first = call(session, "ask")
    assert [reply.method for reply in replies_in(session)] == ["server/discover", "tools/list", "tools/call"]
    assert list(replies_in(session))[-1].request is first.request


@pytest.mark.parametrize("state", ["a", "ab", "v1.sealed-note", "1234567890", "{}"])
def test_a_tampered_state_keeps_its_length(state):
    changed = list(tampered(state))
    assert changed
    assert all(len(other) == len(state) and other != state for other in changed)


def test_a_signed_state_is_also_truncated_before_its_signature():
    assert truncated("note.seal.mark") == ["note.seal.", "note.seal"]
    assert truncated("a") == []


@nightly
def test_unusual_ways_to_require_input_break_no_rule():
    run = run_suite(UNUSUAL, "--revision", MODERN, "--fuzz", "none", *EVERYTHING)
    assert [case.text for case in run.findings if case.requirement != "mrtr.tampered-state"] == []
    assert [case.outcome for case in run.findings] == ["info"]
    assert run.exit == 0, run.output


def test_no_check_of_rounds_is_skipped_on_the_reference():
    run = run_suite(REFERENCE, "--revision", MODERN, "--fuzz", "none", "--select", "mrtr", *EVERYTHING)
    assert run.of("skipped") == []
    assert run.findings == []
