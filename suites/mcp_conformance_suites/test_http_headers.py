"""Headers that repeat the body of a request (spec: basic/transports/streamable-http#request-metadata)."""

from __future__ import annotations

from base64 import b64encode

import pytest

from mcp_conformance.expect import expect, skip
from mcp_conformance.protocol.jsonrpc import id_key, show
from mcp_conformance.scenarios.http_modern import (
    any_named_request,
    changes_by_a_refused_call,
    expect_mismatch,
    is_mismatch,
    named_request,
    plain_method,
    respelled,
    wrong_method_header,
)
from mcp_conformance.scenarios.http_requests import http_session, post
from mcp_conformance.verdicts import Finding

METHOD, NAME = "Mcp-Method", "Mcp-Name"
NAMED = ("tools/call", "resources/read", "prompts/get")


# Mcp-Method


@pytest.mark.requirement("http.headers.method-missing")
def test_a_request_without_mcp_method_is_refused(server):
    reply = post(http_session(server), plain_method(server), headers={METHOD: None})
    expect_mismatch(server, reply)


@pytest.mark.requirement("http.headers.method-mismatch")
def test_another_method_than_that_of_the_body_is_refused(server):
    expect_mismatch(server, wrong_method_header(server))


@pytest.mark.requirement("http.headers.method-case")
def test_the_case_of_a_method_matters(server):
    method = plain_method(server)
    if wrong_method_header(server).was_served:
        skip("any Mcp-Method is served: see http.headers.method-mismatch")
    reply = post(http_session(server), method, headers={METHOD: method.title()})
    expect_mismatch(server, reply)


# Mcp-Name


@pytest.mark.requirement("http.headers.name-missing")
@pytest.mark.parametrize("method", NAMED)
def test_a_request_without_mcp_name_is_refused(server, method):
    reply = named_request(server, method).post(http_session(server), headers={NAME: None})
    expect_mismatch(server, reply)


@pytest.mark.requirement("http.headers.name-mismatch")
@pytest.mark.parametrize("method", NAMED)
def test_another_name_than_that_of_the_body_is_refused(server, method):
    request = named_request(server, method)
    reply = request.post(http_session(server), headers={NAME: "another-name"})
    expect_mismatch(server, reply)


@pytest.mark.requirement("http.headers.name-base64")
@pytest.mark.parametrize("method", NAMED)
def test_a_name_in_base64_is_decoded(server, method):
    request = named_request(server, method)
    expect_plain_is_served(server, request)
    reply = request.post(http_session(server), headers={NAME: in_base64(request.name)})
    expect(reply, reply.was_served, "a result, as with the plain name")


@pytest.mark.requirement("http.headers.base64-invalid")
def test_a_name_in_invalid_base64_is_refused(server):
    reply = any_named_request(server).post(http_session(server), headers={NAME: "=?base64?!!!?="})
    expect_mismatch(server, reply)


@pytest.mark.requirement("http.headers.base64-marker-case")
def test_the_marker_of_base64_is_in_lower_case(server):
    request = any_named_request(server)
    if request.post(http_session(server), headers={NAME: "another-name"}).was_served:
        skip("any Mcp-Name is served: see http.headers.name-mismatch")
    value = in_base64(request.name).replace("base64", "BASE64")
    reply = request.post(http_session(server), headers={NAME: value})
    expect_mismatch(server, reply, why=", as =?BASE64? marks nothing")


# All of them


@pytest.mark.requirement("http.headers.names-case-insensitive")
@pytest.mark.parametrize("spelling", ["lower", "upper"])
def test_the_names_of_headers_have_no_case(server, spelling):
    change = bytes.lower if spelling == "lower" else bytes.upper
    reply = respelled(http_session(server), plain_method(server), lambda name, value: (change(name), value))
    expect(reply, reply.was_served, "a result, as with another case of the headers' names")


@pytest.mark.requirement("http.headers.white-space")
def test_white_space_around_a_value_is_dropped(server):
    session = http_session(server)

    def padded(name, value):
        return name, b" \t" + value + b"\t " if name.lower().startswith(b"mcp-") else value

    reply = respelled(session, plain_method(server), padded)
    expect(reply, reply.was_served, "a result, as without the white space")


@pytest.mark.requirement("http.headers.duplicate")
@pytest.mark.parametrize("order", ["right-first", "right-last"])
def test_two_different_values_of_a_header_are_refused(server, order):
    method = plain_method(server)
    values = [method, "ping"] if order == "right-first" else ["ping", method]
    reply = post(http_session(server), method, headers={METHOD: values})
    expect(reply, not reply.was_served, "an error, as the two values differ")


@pytest.mark.requirement("http.headers.invalid-characters")
@pytest.mark.parametrize(
    "character", [b"\x01", b"\x7f", b"\xe9", b"\xc3\xa9"], ids=["01", "7f", "e9", "c3a9"]
)
def test_invalid_characters_are_refused(server, character):
    method = plain_method(server)
    reply = post(http_session(server), method, headers={METHOD: method.encode() + character})
    holds = reply.status is None or reply.is_refusal
    expected = f"an error status from 400 to 499, or no response, as {METHOD} has the bytes {character.hex()}"
    expect(reply, holds, expected)


@pytest.mark.requirement("http.headers.error-id")
def test_the_error_has_the_id_of_the_request(server):
    reply = wrong_method_header(server)
    if not is_mismatch(reply):
        skip("the server answers a wrong Mcp-Method in another way: see http.headers.method-mismatch")
    ids = [id_key(reply.answer["id"])] if "id" in reply.answer else []
    got = f"the id {show(reply.answer['id'])}" if ids else "an error without an id"
    expect(reply, ids == [id_key(reply.sent["id"])], f"an error with the id {reply.sent['id']}", got=got)


@pytest.mark.requirement("http.headers.not-executed")
def test_a_refused_call_is_not_executed(server):
    refused, changed = changes_by_a_refused_call(server)
    if changed:
        got = f"{refused}, and a change of {', '.join(changed)}"
        raise Finding("no change by the refused call", got, refused.lines)


def expect_plain_is_served(server, request):
    """Skip the check if the request is not served with its plain name."""
    reply = request.post(http_session(server))
    if not reply.was_served:
        skip(f"{request.method} is not served with the right headers either: {reply}")


def in_base64(name):
    """Return a name as a header may have it."""
    return f"=?base64?{b64encode(name.encode()).decode()}?="
