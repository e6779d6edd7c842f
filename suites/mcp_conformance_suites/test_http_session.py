"""Sessions over HTTP: their ids, their beginning, their end (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.scenarios.http_modern import require_modern_only
from mcp_conformance.scenarios.http_requests import delete, exchanges, http_session, lines_of, post
from mcp_conformance.scenarios.http_sessions import (
    UNKNOWN_ID,
    id_from_before_a_restart,
    initialize,
    lost_at_restart,
    method_of,
    opened_sessions,
    openings,
    peers,
    session_with_id,
    strange_ids,
)
from mcp_conformance.verdicts import Finding

SESSION = "Mcp-Session-Id"
CHOSEN_ID = "00000000-0000-4000-8000-000000000001"
MIN_BITS = 48
CONNECTIONS = 10  # of two workers that share nothing, the odds that one has them all are 1 to 511
LAST = {"Connection": "close"}
STREAM_END_SECONDS = 3.0
BITS_OF = {"0123456789": 3.3, "0123456789abcdefABCDEF": 4.0}
"""The bits of a character of an alphabet; others have `MAX_BITS`."""
MAX_BITS = 6.5


# Ids


@pytest.mark.requirement("http.session.id-visible-ascii")
def test_a_session_id_has_only_visible_ascii_characters(server):
    for reply in require_some(openings(server), skip="the server assigns no session ids"):
        raw = b"".join(
            value for name, value in reply.exchange.headers if name.lower() == SESSION.lower().encode()
        )
        is_plain = all(0x21 <= byte <= 0x7E for byte in raw)
        got = reply.with_header(SESSION)
        expect(reply, is_plain, "a session id of visible ASCII characters", got=got)


@pytest.mark.requirement("http.session.id-unique")
def test_session_ids_differ(server):
    seen = {}
    for reply in opened_sessions(server):
        id = reply.header(SESSION)[0]
        if id in seen:
            got = f"the id {id} for two sessions"
            raise Finding("another id for each session", got, (*seen[id].lines, *reply.lines))
        seen[id] = reply


@pytest.mark.requirement("http.session.id-unguessable")
def test_session_ids_cannot_be_guessed(server):
    replies = opened_sessions(server)
    ids = [reply.header(SESSION)[0] for reply in replies]
    if len(set(ids)) < len(ids):
        skip("session ids are repeated: see http.session.id-unique")
    bits = variety(ids)
    if bits < MIN_BITS:
        got = f"{len(ids)} ids that differ in {bits:.0f} bits at most: {', '.join(ids[:3])}, ..."
        lines = [line for reply in replies[:3] for line in reply.lines]
        raise Finding(f"ids that differ in {MIN_BITS} bits or more", got, lines)


@pytest.mark.requirement("http.session.stable")
def test_the_session_id_does_not_change(server):
    session_with_id(server)
    server.session.drain()
    for reply in strange_ids(server):
        got = reply.with_header(SESSION)
        expect(reply, False, "no session id, or the one assigned at initialization", got=got)


@pytest.mark.requirement("http.session.id-not-chosen-by-client")
def test_a_client_cannot_choose_its_session_id(server):
    reply = initialize(session_with_id(server), {SESSION: CHOSEN_ID})
    expected, got = "an error, or another session id than the client's", reply.with_header(SESSION)
    expect(reply, CHOSEN_ID not in reply.header(SESSION), expected, got=got)


# Requests with an id, or without


@pytest.mark.requirement("http.session.missing-400")
def test_a_request_without_the_session_id_gets_400(server):
    session = session_with_id(server)
    reply = post(session, session.liveness_method, headers={SESSION: None})
    if reply.was_served:
        skip("the server does not require the session id")
    expect(reply, reply.status == 400, "the status 400, as the session id is missing")


@pytest.mark.stage("last")
@pytest.mark.requirement("http.session.never-assigned-404")
def test_a_session_id_that_was_never_assigned_gets_404(server):
    session_with_id(server).drain()  # its process may have ended without a word
    session = session_with_id(server)
    before = id_from_before_a_restart(server)
    if before:
        reply = post(session, session.liveness_method, headers={SESSION: before})
        if reply.was_served:
            skip("sessions outlive their process")
        if reply.status not in (None, 404):
            raise lost_at_restart(reply)
    reply = post(session, session.liveness_method, headers={SESSION: UNKNOWN_ID})
    expect(reply, reply.status == 404, "the status 404, by which a client knows that it must begin anew")


@pytest.mark.requirement("http.session.header-case")
@pytest.mark.parametrize("name", ["mcp-session-id", "MCP-SESSION-ID"])
def test_the_name_of_the_session_header_has_no_case(server, name):
    session = session_with_id(server)
    if not post(session, session.liveness_method).was_served:
        skip("the session is not served any more")
    reply = post(session, session.liveness_method, headers={name: lines_of(session).mirror.session_id})
    expect(reply, reply.was_served, "a result, as with another case of the header's name")


@pytest.mark.requirement("http.session.two-ids")
def test_a_request_with_two_session_ids_is_not_served(server):
    session = session_with_id(server)
    ids = [lines_of(session).mirror.session_id, UNKNOWN_ID]
    reply = post(session, session.liveness_method, headers={SESSION: ids})
    expect(reply, not reply.was_served, "an error, as the request names two sessions")


@pytest.mark.requirement("http.session.any-connection")
def test_a_session_is_known_on_each_connection(server):
    session = session_with_id(server)
    replies = [post(session, session.liveness_method, headers=LAST) for _ in range(CONNECTIONS)]
    served = require_some(
        [one for one in replies if one.was_served], skip="the session is not served any more"
    )
    lost = [one for one in replies if one.is_refusal]
    if lost:
        got = f"a refusal on {len(lost)} of {len(replies)}: {lost[0]}"
        raise Finding("a result on each connection", got, (*served[0].lines, *lost[0].lines), fatal=True)


# The end


@pytest.mark.requirement("http.session.delete-status")
def test_delete_ends_the_session_or_is_not_offered(server):
    ended, _ = a_session_that_ends(server)
    holds = ended.status == 405 or (ended.status is not None and ended.status < 300)
    expect(ended, holds, "success, or the status 405")


@pytest.mark.requirement("http.session.unknown-404")
def test_a_session_that_has_ended_is_unknown(server):
    ended, reply = a_session_that_ends(server)
    if ended.status is None or ended.status >= 300:
        skip(f"the server does not end sessions at DELETE: {ended}")
    expect(reply, reply.status == 404, "the status 404, as the session has ended")


@pytest.mark.requirement("http.session.delete-closes-streams")
def test_delete_closes_the_streams_of_the_session(server):
    session = session_with_id(server)
    with peers(session, 1) as [peer]:
        stream = peer.listen()
        if stream.status != 200 or stream.has_ended:
            skip("the server keeps no stream open for GET")
        ended = delete(session, peer.headers)
        if ended.status is None or ended.status >= 300:
            skip(f"the server does not end sessions at DELETE: {ended}")
        is_closed = stream.wait(session.scaled_timeout(STREAM_END_SECONDS))
        got = f"{ended}, and a stream that stays open"
        expect(ended, is_closed, "the end of the session's stream", got=got)


@pytest.mark.requirement("http.session.delete-other")
def test_the_end_of_a_session_leaves_others_alone(server):
    session = session_with_id(server)
    with peers(session, 3) as [before, peer, after]:
        if not all(one.post("ping").was_served for one in (before, after)):
            skip("the server does not keep several sessions")
        ended = delete(session, peer.headers)
        for one in (before, after):
            reply = one.post("ping")
            if not reply.was_served:
                lines = (*ended.lines, *reply.lines)
                raise Finding("a result in another session than the ended one", str(reply), lines)


# Sessions in a revision without them


@pytest.mark.requirement("http.session.none-modern")
def test_no_session_id_is_assigned(server):
    require_modern_only(server)
    session = http_session(server)
    post(session, session.liveness_method)
    for reply in exchanges(server):
        if method_of(reply) != "initialize":
            expect(reply, not reply.header(SESSION), "no header Mcp-Session-Id")


@pytest.mark.requirement("http.session.ignored-modern")
def test_a_session_id_is_ignored(server):
    require_modern_only(server)
    session = http_session(server)
    reply = post(session, session.liveness_method, headers={SESSION: UNKNOWN_ID})
    holds = reply.was_served and UNKNOWN_ID not in reply.header(SESSION)
    expect(reply, holds, "the result that comes without the header, and no such header in the response")


def a_session_that_ends(server):
    """Return the responses to DELETE, and to a ping with the id of the session afterwards."""
    session = session_with_id(server)
    with peers(session, 1) as [peer]:
        return delete(session, peer.headers), peer.post("ping")


def variety(ids):
    """Return in how many bits ids differ at most: by the characters in which they differ, and their kind."""
    columns = zip(*(id.ljust(max(map(len, ids)), "-") for id in ids), strict=True)
    varying = [set(column) for column in columns if len(set(column)) > 1]
    used = set().union(*varying) - {"-"}
    bits = next((bits for alphabet, bits in BITS_OF.items() if used <= set(alphabet)), MAX_BITS)
    return len(varying) * bits
