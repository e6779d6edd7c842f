"""The one endpoint of a server: which HTTP methods it has (spec: basic/transports#streamable-http)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.scenarios.http_requests import delete, get, http_session, post
from mcp_conformance.scenarios.http_variants import (
    first_get,
    other_methods,
    requests_in_passing,
    serves_handshakes,
    session_without_stream,
    unknown_method,
)
from mcp_conformance.scenarios.traffic import judged_in_all
from mcp_conformance.target.scenario import scenario

EVENTS = "text/event-stream"
NEEDS_CREDENTIALS = (401, 403)


@pytest.mark.requirement("http.endpoint.post")
def test_the_endpoint_has_the_method_post(server):
    for reply in requests_in_passing(server):
        with judged_in_all(server, *unknown_method(server).lines):
            expect(reply, reply.status != 405, "any other status, as the endpoint must have the method POST")


@pytest.mark.requirement("http.endpoint.get")
def test_a_get_is_answered_with_an_event_stream_or_405(server):
    reply = first_get(server)
    if reply.status is None:
        skip(f"a GET has no response yet: {reply}")
    if reply.status in NEEDS_CREDENTIALS:
        skip(f"a GET needs credentials: {reply}")
    if reply.status == 409:
        skip("the server has another stream already")
    is_stream = reply.status == 200 and reply.media_type == EVENTS
    expect(reply, is_stream or reply.status == 405, f"{EVENTS}, or the status 405")


@pytest.mark.requirement("http.endpoint.get-405-modern")
def test_a_get_is_answered_with_405_where_no_older_revision_is_served(server):
    reply, _ = old_clients_requests(server)
    expect(reply, reply.status == 405, "the status 405")


@pytest.mark.requirement("http.endpoint.delete-405-modern")
def test_a_delete_is_answered_with_405_where_no_older_revision_is_served(server):
    _, reply = old_clients_requests(server)
    expect(reply, reply.status == 405, "the status 405")


@pytest.mark.requirement("http.endpoint.405-allow")
def test_a_405_lists_the_methods_that_there_are(server):
    replies = [*other_methods(server), first_get(server)]
    refused = [reply for reply in replies if reply.status == 405]
    for reply in require_some(refused, skip="no method is answered with 405"):
        expect(reply, bool(reply.header("Allow")), "a header Allow with the methods of the endpoint")


@pytest.mark.requirement("http.endpoint.other-methods")
def test_other_methods_do_no_harm(server):
    for reply in other_methods(server):
        is_served = reply.result is not ABSENT
        fails = reply.status is None or (reply.status >= 500 and reply.status != 501)
        expect(reply, not (is_served or fails), "a status below 500 or 501, and no result")
    session = http_session(server)
    after = post(session, session.liveness_method)
    expect(after, after.was_served, "a result, as before the other methods")


@scenario
def old_clients_requests(server):
    """Return the responses to GET and DELETE of an older client, by a server of modern revisions only."""
    if serves_handshakes(server):
        skip("the server also serves earlier revisions")
    with session_without_stream(server, "GET and DELETE of an older client") as session:
        return get(session), delete(session)
