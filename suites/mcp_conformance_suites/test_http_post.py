"""What a POST gets: the status, the content type, the body (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, decode, id_key, kind
from mcp_conformance.protocol.revisions import HEADER_MISMATCH
from mcp_conformance.scenarios.http_bodies import (
    expect_bodies_read,
    expect_large_body_read,
    is_unauthorized,
    large_body,
    refused_in_passing,
)
from mcp_conformance.scenarios.http_requests import (
    end_of_server,
    exchanges,
    expect_errors_without_id,
    http_session,
    lines_of,
    post,
    post_message,
    without_answer,
)
from mcp_conformance.scenarios.http_streams import cancelled_ids
from mcp_conformance.scenarios.http_variants import (
    mirrored_headers,
    post_chunked,
    post_in_utf8,
    requests_in_passing,
    together,
    unasked_response,
    undecodable_posts,
    unknown_method,
    unusual_notifications,
)
from mcp_conformance.scenarios.traffic import judged_in_all
from mcp_conformance.verdicts import Finding

JSON, EVENTS = "application/json", "text/event-stream"
PARSE_ERRORS = (ABSENT, -32700, -32600)
ACCEPTED_BY_ALL = (
    f"{EVENTS}, {JSON}",
    f"{JSON};q=0.9 ,{EVENTS};q=0.8",
    "Application/JSON, Text/Event-Stream",
    [JSON, EVENTS],
)
CONTENT_TYPES = (f"{JSON}; charset=utf-8", f"{JSON};charset=UTF-8", "Application/JSON")
LARGE_HEADER = 20_000
TOO_LARGE_HEADER = "Answer 431 to headers that are too large, and go on serving other requests."
PADDING = "X-Conformance-Padding"
SAME_ID = "conformance-same-id"


@pytest.mark.requirement("http.post.request-content-type")
def test_a_request_is_answered_with_json_or_an_event_stream(server):
    for reply in whole_answers(server):
        is_answer = reply.status is not None and (200 <= reply.status < 300 or reply.answer is not None)
        is_known = reply.media_type in (JSON, EVENTS)
        with judged_in_all(server, *unknown_method(server).lines):
            if is_answer and not is_known and reply.answer is None:
                raise without_answer(reply)
            expect(reply, not is_answer or is_known, f"the content type {JSON} or {EVENTS}")


@pytest.mark.requirement("http.post.json-one-object")
def test_a_json_answer_is_one_object(server):
    for reply in json_answers(server):
        is_for_us = reply.status < 300 or any(kind(one) is Kind.BATCH for one in reply.messages)
        message, _, _ = decode(reply.body)
        is_for_us = is_for_us and is_text(reply.body)  # else see http.post.utf8-output
        with judged_in_all(server, *unknown_method(server).lines):
            expect(reply, not is_for_us or isinstance(message, dict), "one JSON object")


@pytest.mark.requirement("http.post.utf8-output")
def test_responses_are_utf8(server):
    plain = post_in_utf8(http_session(server), "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve")
    for reply in [*whole_answers(server), plain]:
        parser = reply.exchange.event_parser
        is_utf8 = is_text(reply.body) if parser is None else parser.is_utf8
        with judged_in_all(server, *plain.lines, *unknown_method(server).lines):
            expect(reply, is_utf8 or reply.media_type not in (JSON, EVENTS), "a body in UTF-8")


@pytest.mark.requirement("http.post.utf8-input")
def test_a_body_is_read_as_utf8(server):
    for id in ("caf\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{LINE SEPARATOR}\N{GRINNING FACE}"):
        reply = post_in_utf8(http_session(server), id)
        if not is_text(reply.body):
            skip("the answer is not UTF-8: see http.post.utf8-output")
        expect(reply, reply.was_served, f"a result with the id {id!a}")


@pytest.mark.requirement("http.post.notification-202")
def test_an_accepted_notification_gets_202(server):
    for reply in accepted_notifications(server):
        expect(reply, reply.status == 202, "the status 202")


@pytest.mark.requirement("http.post.notification-no-body")
def test_the_response_to_a_notification_has_no_body(server):
    for reply in accepted_notifications(server):
        expect(reply, not reply.body, "no body")


@pytest.mark.requirement("http.post.response-202")
def test_a_response_gets_202_or_an_error_status(server):
    server.calls()
    sent = [one for one in exchanges(server) if kind(one.sent) in (Kind.RESULT, Kind.ERROR)]
    expect_taken_or_refused(server, [*sent, unasked_response(server)])


@pytest.mark.requirement("http.post.refused-notification-status")
def test_a_notification_gets_202_or_an_error_status(server):
    expect_taken_or_refused(server, unusual_notifications(server))


@pytest.mark.requirement("http.post.refused-error-no-id")
def test_the_error_for_a_notification_has_no_id(server):
    expect_errors_without_id(unusual_notifications(server), "no notification is answered with an error")


@pytest.mark.requirement("http.post.batch-refused")
def test_an_array_is_not_executed(server):
    session = http_session(server)
    requests = [session.request_of(session.liveness_method) for _ in range(2)]
    reply = post_message(session, requests, mirrored_headers(session, requests[0]))
    results = [part for part in flattened(reply.messages) if kind(part) is Kind.RESULT]
    expect(reply, not results, "a refusal, as a body is a single message")


@pytest.mark.requirement("http.post.parse-error")
def test_a_body_that_is_not_json_is_refused(server):
    reply = undecodable_posts(server)["cut off"]
    codes = (*PARSE_ERRORS, HEADER_MISMATCH, -32602) if server.surface.is_modern else PARSE_ERRORS
    expect(
        reply,
        reply.is_refusal and reply.code in codes,
        "a status from 400 to 499, with the code -32700 if any",
    )


@pytest.mark.requirement("http.post.empty-body")
def test_an_empty_body_is_refused(server):
    reply = undecodable_posts(server)["empty"]
    expect(reply, reply.is_refusal, "a status from 400 to 499")


@pytest.mark.requirement("http.post.bom")
def test_a_byte_order_mark_does_no_harm(server):
    reply = undecodable_posts(server)["with a BOM"]
    expect(reply, is_below_500(reply), "a response with a status below 500")


@pytest.mark.requirement("http.post.invalid-utf8")
def test_a_body_that_is_not_utf8_does_no_harm(server):
    reply = undecodable_posts(server)["not UTF-8"]
    expect(reply, is_below_500(reply), "a response with a status below 500")


@pytest.mark.requirement("http.post.content-type-parameters")
@pytest.mark.parametrize("value", CONTENT_TYPES, ids=["charset", "no-space", "upper-case"])
def test_json_with_parameters_is_json(server, value):
    reply = served_with(server, {"Content-Type": value})
    expect(reply, reply.was_served, f"a result, as {value} is JSON")


@pytest.mark.requirement("http.post.content-type-checked")
def test_another_content_type_does_no_harm(server):
    for value in ("text/plain", "application/x-www-form-urlencoded", None):
        reply = served_with(server, {"Content-Type": value})
        expect(reply, is_below_500(reply), "a response with a status below 500")


@pytest.mark.requirement("http.post.accept-listed")
@pytest.mark.parametrize("listed", [JSON, EVENTS])
def test_only_a_listed_type_is_sent(server, listed):
    reply = served_with(server, {"Accept": listed})
    is_success = reply.status is not None and reply.status < 300
    is_right = reply.media_type == listed if is_success else is_below_500(reply)
    expect(reply, is_right, f"{listed}, or an error status")


@pytest.mark.requirement("http.post.accept-any")
def test_a_wildcard_accepts_all_types(server):
    reply = served_with(server, {"Accept": "*/*"})
    expect(reply, reply.was_served, "a result, as */* has both types")


@pytest.mark.requirement("http.post.accept-syntax")
@pytest.mark.parametrize("value", ACCEPTED_BY_ALL, ids=["order", "weights", "case", "two-lines"])
def test_the_form_of_accept_does_not_matter(server, value):
    reply = served_with(server, {"Accept": value})
    shown = value if isinstance(value, str) else " and ".join(value)
    expect(reply, reply.was_served, f"a result, as both types are listed: {shown}")


@pytest.mark.requirement("http.post.same-id")
def test_clients_with_the_same_id_get_their_own_answers(server):
    listed = next(iter(server.served_lists()), None)
    if listed is None:
        skip("the server has no list to compare with")
    plain = server.session.liveness_method
    with server.fresh("a second client that uses the same id") as other:
        replies = together((http_session(server), listed, SAME_ID), (other, plain, SAME_ID))
    listing, liveness = replies
    member = listed.removesuffix("/list").rpartition("/")[2]
    expected = {"templates": "resourceTemplates"}.get(member, member)
    expect(listing, has_member(listing, expected), f"the answer to {listed}, with {expected}")
    expect(liveness, liveness.was_served and not has_member(liveness, expected), f"the answer to {plain}")


@pytest.mark.requirement("http.post.chunked")
def test_a_chunked_body_is_read(server):
    reply = post_chunked(http_session(server))
    expect(reply, reply.was_served or reply.status == 411, "a result, or 411")


@pytest.mark.requirement("http.post.expect-100")
def test_a_client_may_expect_a_100(server):
    reply = served_with(server, {"Expect": "100-continue"})
    expect(reply, reply.was_served or reply.status == 417, "a result, or 417")


@pytest.mark.requirement("http.post.body-length")
def test_a_body_is_as_long_as_it_says(server):
    unknown_method(server)
    whole = [one for one in exchanges(server) if one.body and one.media_type != EVENTS]
    for reply in require_some(whole, skip="no response has a body"):
        exchange, length = reply.exchange, "".join(reply.header("Content-Length")[:1])
        declared = f"{length} bytes, as Content-Length says" if length else "the end of the body"
        if reply.is_cut_off:
            silence = ", and then nothing while the connection is kept" if exchange.is_stalled else ""
            raise Finding(declared, f"{exchange.received} bytes{silence}", reply.lines, fatal=True)
        if exchange.trailing:
            got = f"{exchange.received + len(exchange.trailing)} bytes or more"
            raise Finding(declared, got, reply.lines, fatal=True)


@pytest.mark.stage("last")
@pytest.mark.requirement("http.post.large")
def test_a_large_header_is_answered(server):
    session = http_session(server)
    plain, large = (
        post(session, session.liveness_method, headers=one) for one in ({}, {PADDING: "x" * LARGE_HEADER})
    )
    if not plain.was_served:
        skip(f"a request without the header is not served: {plain}")
    if large.status is None and (after := post(session, session.liveness_method)).status is None:
        expected = "an answer to a request after one with a large header"
        raise end_of_server(expected, (large, after), lines_of(session).server)
    holds = large.was_served or large.is_refusal
    expect(large, holds, "a result, or a status such as 431", fix=TOO_LARGE_HEADER)


@pytest.mark.requirement("http.post.large")
def test_a_large_body_is_answered(server):
    reply = large_body(server)
    expect(reply, reply.was_served or reply.is_refusal, "a result, or a status such as 413")


def accepted_notifications(server):
    """Return the responses to `notifications/initialized`, which every server accepts."""
    return require_some(initialized(server), skip="no session was initialized")


def initialized(server):
    """Return the responses to `notifications/initialized`."""
    server.session.drain()
    sent = [one for one in exchanges(server) if kind(one.sent) is Kind.NOTIFICATION]
    return [one for one in sent if one.sent["method"] == "notifications/initialized"]


def whole_answers(server):
    """Return the responses to requests that came in full, without those that were cancelled."""
    cancelled = cancelled_ids(server)
    found = requests_in_passing(server)
    return [one for one in found if not one.exchange.failure and id_key(one.sent["id"]) not in cancelled]


def json_answers(server):
    """Return the JSON bodies that requests got."""
    found = [reply for reply in whole_answers(server) if reply.media_type == JSON]
    return require_some(found, skip="no request is answered with JSON")


def served_with(server, headers):
    """POST a harmless request with other headers."""
    session = http_session(server)
    return post(session, session.liveness_method, headers=headers)


def expect_taken_or_refused(server, replies):
    """Expect 202 without a body, or an error; skip what the plainest notification gets too."""
    usual = [(one.status, one.body) for one in initialized(server) if not is_taken_or_refused(one)]
    for reply in replies:
        if (reply.status, reply.body) in usual:
            skip(
                "each notification gets this: see http.post.notification-202, http.post.notification-no-body"
            )
        expect(reply, is_taken_or_refused(reply), "the status 202 without a body, or an error status")


def is_taken_or_refused(reply):
    """Return whether a message without an answer got the response of one: 202 without a body, or an error."""
    if reply.status is None:
        return False
    return reply.status >= 400 or (reply.status == 202 and not reply.body)


def is_below_500(reply):
    """Return whether a response has a status that blames the client, if any."""
    return reply.status is not None and reply.status < 500


def is_text(body):
    """Return whether bytes are UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def flattened(messages):
    """Return messages, and those in arrays."""
    return [part for one in messages for part in (one if isinstance(one, list) else [one])]


def has_member(reply, name):
    """Return whether a result has a member."""
    return isinstance(reply.result, dict) and name in reply.result


@pytest.mark.stage("last")
@pytest.mark.requirement("http.post.body-read")
def test_the_body_of_a_refused_request_is_read(server):
    """Judge what followed refused requests in the checks so far, and in a few more."""
    refused_in_passing(server)
    expect_large_body_read(server)
    expect_bodies_read(server, lambda one: not is_unauthorized(one))
