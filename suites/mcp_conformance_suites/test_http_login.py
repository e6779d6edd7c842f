"""Logging in: what an authorization server gave, and what it refused (spec: basic/authorization).

The steps are those of the login whose token the run uses, as `mcp-conformance login` has recorded them.
"""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, skip
from mcp_conformance.login.discovery import identifies
from mcp_conformance.login.flow import (
    AUTHORIZED,
    CODE_AGAIN,
    FOREIGN,
    GIVEN,
    NEAR,
    NO_CHALLENGE,
    NO_VERIFIER,
    REFRESH_AGAIN,
    REFRESHED,
    WRONG_VERIFIER,
)
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.scenarios.http_auth import outsider
from mcp_conformance.scenarios.http_requests import lines_of
from mcp_conformance.scenarios.logins import claims_of, login_of, reply_of

NOT_PUBLIC = "the client is not a public one"
VERIFIERS = {WRONG_VERIFIER: "is another one", NO_VERIFIER: "is missing"}
A_PAGE = "a page comes first, on which a person logs in"


@pytest.mark.requirement("http.login.redirect")
@pytest.mark.parametrize("name", [FOREIGN, NEAR])
def test_no_browser_is_sent_to_an_unknown_redirect_uri(server, name):
    reply = reply_of(server, name)
    target, _ = reply.redirect
    if target != reply.asked.get("redirect_uri") and not reply.is_refusal:
        skip(A_PAGE)
    expect(reply, not target, "an error in place of a redirect to a URI that nobody has registered")


@pytest.mark.requirement("http.login.challenge")
def test_a_request_for_a_code_needs_a_challenge(server):
    reply = reply_of(server, NO_CHALLENGE)
    if login_of(server).client.method != "none":
        skip(NOT_PUBLIC)
    _, given = reply.redirect
    if not given.keys() & {"code", "error"} and not reply.is_refusal:
        skip(A_PAGE)
    expect(reply, "code" not in given, "an error, as the request has no code_challenge", got="a code")


@pytest.mark.requirement("http.login.verifier")
@pytest.mark.parametrize("name", VERIFIERS)
def test_a_code_needs_its_verifier(server, name):
    reply = reply_of(server, name)
    expect(reply, not reply.has_token, f"an error, as the code_verifier {VERIFIERS[name]}")


@pytest.mark.requirement("http.login.code-once")
def test_a_code_is_used_once(server):
    reply = reply_of(server, CODE_AGAIN)
    expect(reply, not reply.has_token, "invalid_grant, as the code was used before")


@pytest.mark.requirement("http.login.rotation")
def test_a_refresh_token_of_a_public_client_is_used_once(server):
    reply = reply_of(server, REFRESHED)
    if login_of(server).client.method != "none":
        skip(NOT_PUBLIC)
    if not reply.has_token:
        skip(f"no token was refreshed: {reply}")
    expect(reply, reply.step.is_renewed, "another refresh_token than the one that was used", got="the same")


@pytest.mark.requirement("http.login.refresh-once")
def test_a_refresh_token_that_was_replaced_is_refused(server):
    reply = reply_of(server, REFRESH_AGAIN)
    if login_of(server).client.method != "none":
        skip(NOT_PUBLIC)
    expect(reply, not reply.has_token, "invalid_grant, as another refresh token has replaced this one")


@pytest.mark.requirement("http.login.iss")
def test_an_issuer_in_a_response_is_announced(server):
    reply = reply_of(server, AUTHORIZED)
    if "iss" not in reply.step.document:
        skip("the response has no iss: see http.auth.server-iss")
    says = login_of(server).announces_issuer
    expected = "authorization_response_iss_parameter_supported: true, as responses have iss"
    expect(reply, says, expected, got="iss in the response, and nothing of it in the document")


@pytest.mark.requirement("http.login.no-store")
def test_a_response_with_a_token_is_not_stored(server):
    reply = reply_of(server, GIVEN)
    words = [word.strip().lower() for word in reply.step.headers.get("cache-control", "").split(",")]
    got = f"Cache-Control: {', '.join(words)}" if words != [""] else "no Cache-Control"
    expect(reply, "no-store" in words, "Cache-Control: no-store", got=got)


@pytest.mark.requirement("http.login.audience")
def test_a_token_is_for_this_server(server):
    login = login_of(server)
    claims = claims_of(login.access_token)
    if claims is None:
        skip("the token is no JWT")
    reply = reply_of(server, GIVEN)
    named = claims.get("aud")
    audience = named if isinstance(named, list) else [named]
    own = lines_of(outsider(server)).server.endpoint
    expected = f"the audience {login.resource}, which the request named as its resource"
    is_for_us = any(one == login.resource or identifies(one, own) for one in audience)
    expect(reply, is_for_us, expected, got=f"a JWT with aud: {show(named)}")
