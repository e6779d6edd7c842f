"""Authorization with a credential: what it opens, and what opens without it or with a forged one."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.text import named
from mcp_conformance.scenarios.http_auth import (
    CHALLENGE,
    METADATA,
    REFUSED_OTHERWISE,
    bearer_challenge,
    in_session,
    made_up_tokens,
    metadata,
    refused_without_credential,
    require_token,
    token_in_query,
    unauthorized,
    with_credential,
)
from mcp_conformance.scenarios.http_modern import plain_method
from mcp_conformance.scenarios.http_requests import http_session
from mcp_conformance.scenarios.http_sessions import peers
from mcp_conformance.scenarios.http_tokens import (
    INSUFFICIENT,
    changed_tokens,
    expired,
    for_another_audience,
    is_omnibus,
    is_same_answer,
    open_to_all,
    others_in_session,
    scope_refusals,
    scopes,
    unknown_call,
    visits,
)
from mcp_conformance.verdicts import Finding

# Without it


@pytest.mark.stage("late")
@pytest.mark.requirement("http.auth.needed")
def test_what_needs_the_credential_is_not_served_without_it(server):
    pairs = [one for one in visits(server) if one.is_settled]
    if refused := next((one for one in pairs if not one.serves_other), None):
        skip(f"{refused.what} is served with the credential only")
    if not any(one.what.startswith("the call") for one in pairs):
        skip("no tool that only reads is called with success, and all else may be open to everybody")
    raise open_to_all(server, pairs)


@pytest.mark.stage("late")
@pytest.mark.requirement("http.auth.401")
def test_a_later_request_without_a_credential_gets_401(server):
    refused = [one for one in visits(server) if one.is_settled and not one.other.was_served]
    for one in require_some(refused, skip="what is tried is served without the credential too"):
        expect(one.other, one.other.status == 401, f"the status 401, as {one.what} has no credential")


@pytest.mark.requirement("http.auth.every-request")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_each_request_of_a_session_needs_the_token(server, method):
    require_token(server)
    session = http_session(server)
    if method == "POST":
        asked = plain_method(server) if session.is_modern else session.liveness_method
        reply = in_session(session, method, message=session.request_of(asked))
    elif session.is_modern:
        skip(f"{session.revision} has no {method}")
    else:
        with peers(session, 1) as opened:
            reply = in_session(session, method, opened[0].headers)
    expect(reply, not reply.was_served, "the status 401, whatever session the request belongs to")


@pytest.mark.requirement("http.auth.every-request")
@pytest.mark.capability("tools")
def test_a_call_needs_the_token(server):
    pair = unknown_call(server)
    if pair.user.answer is None:
        skip(f"the call of an unknown tool is not answered: {pair.user}")
    is_refused = not is_same_answer(pair)
    expect(pair.other, is_refused, "the status 401 for tools/call, as the request has no credential")


@pytest.mark.requirement("http.auth.query")
def test_a_token_in_the_query_is_not_accepted(server):
    reply = token_in_query(server)
    expect(reply, not reply.was_served, "no result, as the token is in the query and not in the header")


# Tokens that are not valid


@pytest.mark.requirement("http.auth.forged")
def test_a_forged_token_gets_401(server):
    replies = require_some(changed_tokens(server), skip="made-up tokens too: see http.auth.invalid-token")
    if served := [kind for kind, one in replies.items() if one.was_served]:
        lines = [line for kind in served for line in replies[kind].lines]
        raise Finding(
            "the status 401 for each variant of the token",
            f"a result for the token with {' and for that with '.join(served)}",
            lines,
        )
    for kind, reply in replies.items():
        expect(reply, reply.status == 401, f"the status 401 for a token with {kind}", fix=REFUSED_OTHERWISE)


@pytest.mark.requirement("http.auth.forged-audience")
def test_a_token_for_another_audience_gets_401(server):
    reply = for_another_audience(server)
    expect(reply, reply.status == 401, "the status 401 for a token with another audience")


@pytest.mark.requirement("http.auth.forged-expiry")
def test_an_expired_token_gets_401(server):
    reply = expired(server)
    expect(reply, reply.status == 401, "the status 401 for a token that has expired")


@pytest.mark.requirement("http.auth.error-invalid-token")
def test_the_challenge_says_that_the_token_is_invalid(server):
    refused_without_credential(server)
    reply = with_credential(server, f"Bearer {made_up_tokens(server)['a word']}")
    challenge = bearer_challenge(reply)
    if reply.status != 401 or challenge is None:
        skip(f"an invalid token gets no challenge with 401: {reply}")
    says = challenge.parameters.get("error") == "invalid_token"
    expect(reply, says, f'error="invalid_token" in {CHALLENGE}', got=reply.with_header(CHALLENGE))


# Another identity


@pytest.mark.requirement("http.auth.session-owner")
def test_a_session_serves_its_owner_only(server):
    replies = others_in_session(server)
    served = [what for what, one in replies.items() if one.was_served]
    if served:
        raise Finding(
            "the status 403 or 404, as another identity has opened the session",
            f"{' and '.join(served)} of the second identity served in the session of the first",
            [line for what in served for line in replies[what].lines],
        )


# Scopes


@pytest.mark.requirement("http.auth.scope-omnibus")
def test_no_scope_stands_for_all(server):
    reply = unauthorized(server)
    found = metadata(server)
    document = found.document if found is not None and found.document is not None else {}
    source = found.reply if found is not None and document else reply
    for scope in require_some(scopes(bearer_challenge(reply), document), skip="no scope is named"):
        got = f"the scope {named(scope)}"
        expect(source, not is_omnibus(scope), "scopes that name what they permit", got=got)


@pytest.mark.stage("late")
@pytest.mark.requirement("http.auth.insufficient-scope")
def test_a_refusal_for_scopes_names_them(server):
    for reply, found in require_refusals(server):
        given = {name for one in found for name, value in one.parameters.items() if value}
        lacking = [name for name in ("scope", METADATA) if name not in given]
        expected = f"{' and '.join(lacking)} in {CHALLENGE}"
        expect(reply, not lacking, expected, got=reply.with_header(CHALLENGE))


@pytest.mark.stage("late")
@pytest.mark.requirement("http.auth.one-challenge")
def test_a_refusal_for_scopes_is_one_challenge(server):
    for reply, found in require_refusals(server):
        got = reply.with_header(CHALLENGE)
        expect(reply, len(found) == 1, f"one challenge with {INSUFFICIENT} and all scopes", got=got)


def require_refusals(server):
    """Return the refusals of the run for want of a scope; skip if there are none."""
    if server.surface.dead:
        skip("no session opens")
    list(server.listings())
    return require_some(scope_refusals(server), skip="no request needs another scope")
