"""Whom an HTTP server serves: Origin, Host, the address it listens on (spec: basic/transports)."""

from __future__ import annotations

import re

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.scenarios.http_requests import (
    delete,
    expect_errors_without_id,
    get,
    http_session,
    lines_of,
    post,
    post_message,
)
from mcp_conformance.scenarios.http_variants import (
    OTHER_LOOPBACK,
    at_other_address,
    handshake_with_origin,
    other_methods,
    post_to_host,
    preflight,
    session_without_stream,
    undecodable_posts,
    unknown_method,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.verdicts import Finding

EVENTS = "text/event-stream"
EVIL = "http://evil.example"
FOREIGN_ORIGINS = (
    EVIL,
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
)
MALFORMED_ORIGINS = (
    "http://localhost:1@evil.example",
    "http://localhost:evil.example",
    "http://127.0.0.1:1@evil.example",
)
SIMPLE_CONTENT_TYPES = ("text/plain", "application/x-www-form-urlencoded")
STACK_TRACE = re.compile(
    r'Traceback \(most recent call|File \\?"[^"\n]{1,300}", line \d'
    r"|\bat [^\n]{0,300}(\.[cm]?[jt]sx?|node:[\w/]+):\d+:\d+|\bat [\w.$]+\(\w+\.java:\d+\)"
    r"|goroutine \d+ \[|[/\\]node_modules[/\\]"
)
ALLOWED, CREDENTIALS = "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"
EXPOSED = "Access-Control-Expose-Headers"
INJECTED = "X-Conformance-Injected"


@pytest.mark.requirement("http.security.origin-checked")
def test_a_foreign_origin_is_not_served(server):
    for reply in replies_to_foreign_origins(server):
        expect(reply, not reply.was_served, f"a refusal of the Origin {', '.join(origins_of(reply))}")


@pytest.mark.requirement("http.security.origin-403")
def test_a_foreign_origin_gets_403(server):
    for reply in refusals_of_origins(server):
        expect(reply, reply.status == 403, "the status 403")


@pytest.mark.requirement("http.security.origin-403-body")
def test_the_error_for_a_foreign_origin_has_no_id(server):
    expect_errors_without_id(refusals_of_origins(server), "no refusal has a JSON-RPC error")


@pytest.mark.requirement("http.security.origin-malformed")
def test_an_origin_that_is_none_is_not_served(server):
    if len(refusals_of_origins(server)) < len(FOREIGN_ORIGINS):
        skip("an Origin is served that is well-formed: see http.security.origin-checked")
    session = http_session(server)
    for origin in MALFORMED_ORIGINS:
        reply = post(session, session.liveness_method, headers={"Origin": origin})
        expect(reply, not reply.was_served, f"a refusal of {origin}, which is not scheme://host:port")


@pytest.mark.requirement("http.security.origin-each-method")
def test_a_foreign_origin_gets_no_stream_and_ends_no_session(server):
    refusals_of_origins(server)
    with session_without_stream(server, "GET and DELETE with a foreign Origin") as session:
        opened = get(session, {"Origin": EVIL})
        is_stream = opened.status == 200 and opened.media_type == EVENTS
        expect(opened, not is_stream, f"a refusal of a GET by a page of {EVIL}")
        ended = delete(session, {"Origin": EVIL})
        is_done = ended.status is not None and ended.status < 300
        expect(ended, not is_done, f"a refusal of a DELETE by a page of {EVIL}")


@pytest.mark.requirement("http.security.host")
def test_a_foreign_host_is_not_served(server):
    session = loopback_session(server)
    port = lines_of(session).server.endpoint.port
    for host in ("evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}"):
        reply = post_to_host(session, host)
        expect(
            reply, not reply.was_served, f"a refusal of the name {host}, which anybody can bind to 127.0.0.1"
        )


@pytest.mark.requirement("http.security.bind-localhost")
def test_a_local_server_listens_on_localhost_only(server):
    session = loopback_session(server)
    if lines_of(session).server.endpoint.host not in ("localhost", "127.0.0.1"):
        skip("the server is not reached over 127.0.0.1")
    reply = at_other_address(session)
    if reply.status is None and not reply.exchange.was_refused:
        skip(f"it is not known who listens at other addresses: {reply}")
    expected = "nothing that listens at another address than 127.0.0.1"
    got = f"an answer at {lines_of(session).server.endpoint.port} of {OTHER_LOOPBACK}: {reply}"
    expect(reply, reply.exchange.was_refused, expected, got=got)


@pytest.mark.requirement("http.security.content-type")
@pytest.mark.parametrize("value", SIMPLE_CONTENT_TYPES, ids=["text", "form"])
def test_a_content_type_of_web_pages_is_not_served(server, value):
    session = http_session(server)
    reply = post(session, session.liveness_method, headers={"Content-Type": value})
    expect(reply, not reply.was_served, f"a refusal of {value}")


@pytest.mark.requirement("http.security.cors-credentials")
def test_no_foreign_origin_may_send_credentials(server):
    for reply in [*replies_to_foreign_origins(server), preflight(server, EVIL)]:
        allows = reply.header(ALLOWED) == origins_of(reply)
        with_credentials = "true" in reply.header(CREDENTIALS)
        got = reply.with_header(ALLOWED, CREDENTIALS)
        expect(reply, not (allows and with_credentials), "no credentials for pages of any site", got=got)


@pytest.mark.requirement("http.security.cors-exposes-session")
def test_a_page_that_is_served_may_read_the_session_id(server):
    reply = handshake_with_origin(server)
    if not reply.header("Mcp-Session-Id"):
        skip("the server assigns no session ids")
    if not reply.header(ALLOWED):
        skip("the server allows no page to read the response")
    exposed = ",".join(reply.header(EXPOSED)).lower().replace(" ", "").split(",")
    is_exposed = not {"mcp-session-id", "*"}.isdisjoint(exposed)
    expect(reply, is_exposed, f"Mcp-Session-Id in {EXPOSED}", got=reply.with_header(EXPOSED))


@pytest.mark.requirement("http.security.no-stack-trace")
def test_no_error_has_a_stack_trace(server):
    session = http_session(server)
    replies = [*undecodable_posts(server).values(), *other_methods(server), unknown_method(server)]
    replies += [post(session, session.liveness_method, headers={"Content-Type": "text/plain"})]
    replies += [post_message(session, odd) for odd in ("text", 1, {"jsonrpc": "2.0", "method": 1, "id": 1})]
    for reply in replies:
        found = STACK_TRACE.search(reply.body.decode("utf-8", "replace"))
        if found is not None:
            expected = "an error without a stack trace, and without paths of the server"
            raise Finding(expected, f"{reply}, with {found[0]}", reply.lines)


@pytest.mark.requirement("http.security.header-injection")
def test_nothing_in_a_body_becomes_a_header(server):
    session = http_session(server)
    injected = f"a\r\n{INJECTED}: 1"
    for method, id in ((session.liveness_method, injected), (injected, "conformance-injection")):
        reply = post(session, method, id=id)
        got = reply.with_header(INJECTED)
        expect(reply, not reply.header(INJECTED), "a head without what the body has", got=got)


def origins_of(reply):
    """Return the values of the header Origin of a request."""
    return [value.decode("latin-1") for name, value in reply.exchange.request.headers if name == b"Origin"]


def loopback_session(server):
    """Return the session of unusual requests; skip unless the server is on loopback, and serves us."""
    session = http_session(server)
    if not lines_of(session).server.endpoint.is_loopback:
        skip("only a server on loopback must protect its user from web pages by itself")
    plain = post(session, session.liveness_method)
    if not plain.was_served:
        skip(f"a request without an Origin is not served: {plain}")
    return session


@scenario
def replies_to_foreign_origins(server):
    """Return the responses to a request with each foreign Origin; skip unless the server is on loopback."""
    session = loopback_session(server)
    replies = (post(session, session.liveness_method, headers={"Origin": one}) for one in FOREIGN_ORIGINS)
    return tuple(replies)


def refusals_of_origins(server):
    """Return the responses to foreign origins that are refused; skip if none is."""
    refused = [reply for reply in replies_to_foreign_origins(server) if not reply.was_served]
    return require_some(refused, skip="every origin is served")
