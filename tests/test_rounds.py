"""Requests of several rounds: what is asked again, and how."""

import sys

import pytest
from support import EVERYTHING, REFERENCE, run_suite, script

from conformance.client.input_required import (
    MAX_ROUNDS,
    input_requests,
    more_rounds,
    replies_in,
    retry_params,
)
from conformance.client.session import Session
from conformance.scenarios.client_features import FULL_CLIENT
from conformance.scenarios.multi_round_trip import tampered, truncated
from conformance.transport.process import Process

MODERN = "2026-07-28"
ODD = (sys.executable, script("unusual_asks_server"))


@pytest.fixture
def able():
    """A conversation of an able client with the server that asks oddly."""
    process = Process(list(ODD))
    with Session(
        process, revision=MODERN, capabilities=FULL_CLIENT.declares(MODERN), client=FULL_CLIENT.answers
    ) as session:
        session.open()
        yield session


def call(session, name, **arguments):
    return session.request(
        "tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}
    )


def test_a_request_goes_on_until_it_is_done(able):
    asked = call(able, "ask")
    done = more_rounds(able, asked)[-1]
    assert asked.needs_input
    assert not done.needs_input
    assert "This is" in done.result["content"][0]["text"]


def test_who_never_has_enough_is_left_after_some_rounds(able):
    replies = more_rounds(able, call(able, "summarize", text="a"))
    assert len(replies) == MAX_ROUNDS
    assert all(reply.needs_input for reply in replies)


def test_a_state_alone_is_sent_back_alone(able):
    asked = call(able, "folders")
    second, third = more_rounds(able, asked)
    assert input_requests(asked) == {}
    assert "inputResponses" not in second.request.message["params"]
    assert "inputResponses" in third.request.message["params"]
    assert not third.needs_input


def test_a_client_that_lacks_an_answer_asks_no_more(able):
    able.client = {}
    assert more_rounds(able, call(able, "ask")) == []


def test_a_retry_has_an_id_and_no_token_of_the_first_round(able):
    asked = call(able, "ask")
    retry = retry_params(asked, {"a": 1})
    assert "progressToken" not in retry["_meta"]
    assert retry["inputResponses"] == {"a": 1}
    assert retry["requestState"] == asked.result["requestState"]
    ids = [reply.request.message["id"] for reply in [asked, *more_rounds(able, asked)]]
    assert len(ids) == len(set(ids))


def test_replies_are_found_with_their_requests(able):
    asked = call(able, "ask")
    assert [reply.method for reply in replies_in(able)] == ["server/discover", "tools/list", "tools/call"]
    assert list(replies_in(able))[-1].request is asked.request


@pytest.mark.parametrize("state", ["a", "ab", "v1.sealed-note", "1234567890", "{}"])
def test_a_spoilt_state_is_another_one_of_the_same_length(state):
    changed = list(tampered(state))
    assert changed
    assert all(len(other) == len(state) and other != state for other in changed)


def test_a_state_is_cut_at_its_seal_too():
    assert truncated("note.seal.mark") == ["note.seal.", "note.seal"]
    assert truncated("a") == []


def test_odd_ways_to_ask_are_let_pass():
    run = run_suite(ODD, "--revision", MODERN, "--fuzz", "none", *EVERYTHING)
    assert [case.text for case in run.findings if case.requirement != "mrtr.tampered-state"] == []
    assert [case.outcome for case in run.findings] == ["info"]
    assert run.exit == 0, run.output


def test_every_way_of_asking_is_judged_on_the_reference():
    run = run_suite(REFERENCE, "--revision", MODERN, "--fuzz", "none", "--select", "mrtr", *EVERYTHING)
    assert run.of("skipped") == []
    assert run.findings == []
