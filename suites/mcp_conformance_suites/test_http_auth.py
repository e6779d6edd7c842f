"""Authorization: challenges, metadata, and tokens that are not valid (spec: basic/authorization)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.login.discovery import identifies, issuer_fault
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.text import named
from mcp_conformance.scenarios.authorization_servers import (
    addresses,
    authorization_server,
    described_server,
    named_servers,
    require_codes,
)
from mcp_conformance.scenarios.http_auth import (
    CHALLENGE,
    METADATA,
    REFUSED_OTHERWISE,
    bearer_challenge,
    challenge_fault,
    is_hidden,
    made_up_tokens,
    metadata,
    metadata_document,
    metadata_url,
    named_address,
    outsider,
    refused_without_credential,
    unauthorized,
    with_credential,
)
from mcp_conformance.scenarios.http_bodies import expect_bodies_read, is_unauthorized
from mcp_conformance.scenarios.http_requests import lines_of

OFFLINE = "offline_access"
MALFORMED = ("Bearer", "Bearer conformance conformance")


# Without a credential


@pytest.mark.requirement("http.auth.401")
def test_a_request_without_a_credential_gets_401(server):
    reply = refused_without_credential(server)
    expect(reply, reply.status == 401, "the status 401, as the request has no credential")


@pytest.mark.requirement("http.auth.challenge")
def test_a_401_has_a_challenge(server):
    reply = unauthorized(server)
    expect(reply, any(reply.header(CHALLENGE)), f"the header {CHALLENGE}", got=reply.with_header(CHALLENGE))


@pytest.mark.requirement("http.auth.challenge-syntax")
def test_a_challenge_is_well_formed(server):
    reply = unauthorized(server)
    if not any(reply.header(CHALLENGE)):
        skip("the status 401 comes without WWW-Authenticate")
    fault = challenge_fault(reply)
    expect(reply, not fault, "a challenge of RFC 9110", got=f"{reply.with_header(CHALLENGE)}: {fault}")


@pytest.mark.requirement("http.auth.www-authenticate")
def test_a_401_names_the_metadata(server):
    reply = unauthorized(server)
    bearer_challenge(reply)
    got = reply.with_header(CHALLENGE)
    expect(reply, bool(metadata_url(reply)), f"{CHALLENGE} with {METADATA}", got=got)


@pytest.mark.requirement("http.auth.discovery")
def test_the_metadata_can_be_found(server):
    reply = unauthorized(server)
    is_found = bool(metadata_url(reply)) or metadata(server) is not None
    expect(reply, is_found, f"{METADATA} in WWW-Authenticate, or metadata at a well-known path")


@pytest.mark.requirement("http.auth.scope")
def test_a_challenge_has_a_scope(server):
    _, document = metadata_document(server)
    if not document.get("scopes_supported"):
        skip("the metadata lists no scopes")
    reply = unauthorized(server)
    challenge = bearer_challenge(reply)
    if challenge is None:
        skip("the status 401 comes without a challenge")
    has_scope = bool(challenge.parameters.get("scope"))
    expect(reply, has_scope, f"scope in {CHALLENGE}", got=reply.with_header(CHALLENGE))


@pytest.mark.requirement("http.auth.no-offline-access")
def test_offline_access_is_not_a_scope(server):
    reply = unauthorized(server)
    challenge = bearer_challenge(reply)
    scope = challenge.parameters.get("scope", "") if challenge is not None else ""
    is_left_out = OFFLINE not in scope.split()
    expect(reply, is_left_out, f"no {OFFLINE} in the scope of the challenge", got=f"the scope {named(scope)}")
    found, document = metadata_document(server)
    listed = document.get("scopes_supported")
    is_left_out = not isinstance(listed, list) or OFFLINE not in listed
    expect(found, is_left_out, f"no {OFFLINE} in scopes_supported", got=show(listed))


# The metadata


@pytest.mark.requirement("http.auth.metadata-served")
def test_the_metadata_is_where_the_challenge_names_it(server):
    found = metadata(server)
    if found is None or not found.is_named:
        skip("no challenge names the metadata")
    expect(found.reply, found.document is not None, "the status 200 and a JSON object, without a credential")


@pytest.mark.requirement("http.auth.metadata-host")
def test_clients_reach_the_metadata(server):
    reply = unauthorized(server)
    named = named_address(reply)
    own = lines_of(outsider(server)).server.endpoint
    expected = f"an address that clients of {own.origin} reach"
    expect(reply, not is_hidden(named, own), expected, got=f"the metadata at {named.origin}")


@pytest.mark.requirement("http.auth.metadata-servers")
def test_the_metadata_names_an_authorization_server(server):
    reply, listed = named_servers(server)
    expect(reply, bool(listed), "at least one URL in authorization_servers", got=show(listed))
    for one in listed:
        fault = issuer_fault(one)
        expect(reply, not fault, "URLs of issuers in authorization_servers", got=f"{show(one)}: {fault}")


@pytest.mark.requirement("http.auth.servers-https")
def test_authorization_servers_have_https(server):
    found = require_some(addresses(server), skip="all URLs of authorization servers are of this machine")
    for name, (reply, url) in found.items():
        expect(reply, url.lower().startswith("https://"), f"https:// in {name}", got=show(url))


@pytest.mark.requirement("http.auth.metadata-resource")
def test_the_metadata_is_about_this_server(server):
    reply, document = metadata_document(server)
    own = lines_of(outsider(server)).server.endpoint
    resource = document.get("resource")
    expected = f"the resource {own.url}, or one above it"
    expect(reply, identifies(resource, own), expected, got=f"the resource {show(resource)}")


# The authorization server


@pytest.mark.requirement("http.auth.server-metadata")
def test_the_authorization_server_describes_itself(server):
    found = authorization_server(server)
    tried = ", ".join(one.exchange.request.target for one in found.replies)
    expected = f"a JSON object with the status 200 at one of {tried} for the issuer {found.issuer}"
    expect(found.reply, found.document is not None, expected)


@pytest.mark.requirement("http.auth.server-issuer")
def test_the_issuer_is_the_one_that_is_named(server):
    reply, document = described_server(server)
    named = authorization_server(server).issuer
    got = f"the issuer {show(document.get('issuer'))}"
    expect(reply, document.get("issuer") == named, f"the issuer {named}", got=got)


@pytest.mark.requirement("http.auth.server-pkce")
def test_the_authorization_server_supports_pkce(server):
    reply, document = require_codes(server)
    methods = document.get("code_challenge_methods_supported")
    has_s256 = isinstance(methods, list) and "S256" in methods
    expect(reply, has_s256, "S256 in code_challenge_methods_supported", got=show(methods))


@pytest.mark.requirement("http.auth.server-registration")
def test_a_new_client_can_register(server):
    reply, document = require_codes(server)
    can = "registration_endpoint" in document or document.get("client_id_metadata_document_supported") is True
    expect(reply, can, "registration_endpoint, or client_id_metadata_document_supported: true")


@pytest.mark.requirement("http.auth.server-iss")
def test_responses_of_the_authorization_server_name_it(server):
    reply, document = require_codes(server)
    says = document.get("authorization_response_iss_parameter_supported") is True
    expect(reply, says, "authorization_response_iss_parameter_supported: true")


# With a credential that is not valid


@pytest.mark.requirement("http.auth.invalid-token")
@pytest.mark.parametrize("kind", ["a word", "a JWT without a signature", "a JWT of nobody"])
def test_an_invalid_token_gets_401(server, kind):
    refused_without_credential(server)
    reply = with_credential(server, f"Bearer {made_up_tokens(server)[kind]}")
    fix = "" if reply.was_served else REFUSED_OTHERWISE
    expect(reply, reply.status == 401, f"the status 401, as the token is {kind}", fix=fix)


@pytest.mark.requirement("http.auth.malformed")
@pytest.mark.parametrize("value", MALFORMED)
def test_a_malformed_credential_is_refused(server, value):
    refused_without_credential(server)
    if with_credential(server, f"Bearer {made_up_tokens(server)['a word']}").was_served:
        skip("every token is served: see http.auth.invalid-token")
    reply = with_credential(server, value)
    expect(reply, reply.status in (400, 401), f"the status 400, or 401, for the credential {value!r}")


@pytest.mark.stage("last")
@pytest.mark.requirement("http.auth.body-read")
def test_the_body_of_a_refused_request_is_read(server):
    """Judge what followed refused requests in the checks so far."""
    refused_without_credential(server)
    with_credential(server, MALFORMED[0])
    expect_bodies_read(server, is_unauthorized)
