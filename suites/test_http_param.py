"""Arguments that headers repeat (spec: basic/transports/streamable-http)."""

from __future__ import annotations

from base64 import b64encode

import pytest

from conformance.expect import expect, require_some
from conformance.protocol.revisions import HEADER_MISMATCH
from conformance.scenarios.http_modern import is_mismatch
from conformance.scenarios.http_parameters import integer_calls, mirrored_calls, other_value, text_of

REFUSED = "the status 400 and error -32020"


@pytest.mark.requirement("http.param.missing")
def test_a_call_without_the_header_of_an_argument_is_refused(server):
    for call in mirrored_calls(server):
        reply = call.post(server, None)
        expect(reply, is_mismatch(reply), REFUSED)


@pytest.mark.requirement("http.param.mismatch")
def test_another_value_than_the_argument_is_refused(server):
    for call in mirrored_calls(server):
        reply = call.post(server, other_value(call.value))
        expect(reply, is_mismatch(reply), REFUSED)


@pytest.mark.requirement("http.param.absent")
@pytest.mark.parametrize("how", ["left-out", "null"])
def test_no_header_is_expected_for_an_absent_argument(server, how):
    calls = [call for call in mirrored_calls(server) if call.is_optional]
    for call in require_some(calls, skip="all arguments that headers repeat are required"):
        others = {name: value for name, value in call.arguments.items() if name != call.path[0]}
        arguments = others if how == "left-out" else {**others, call.path[0]: None}
        reply = call.post(server, None, arguments)
        expect(reply, reply.code != HEADER_MISMATCH, "no error -32020, as there is no value to repeat")


@pytest.mark.requirement("http.param.base64")
def test_a_value_in_base64_is_decoded(server):
    for call in mirrored_calls(server):
        value = b64encode(text_of(call.value).encode()).decode()
        reply = call.post(server, f"=?base64?{value}?=")
        expect(reply, reply.was_served, "a result, as with the plain value")


@pytest.mark.requirement("http.param.invalid-characters")
@pytest.mark.parametrize("character", [b"\x01", b"\xe9"], ids=["01", "e9"])
def test_invalid_characters_in_a_value_are_refused(server, character):
    for call in mirrored_calls(server):
        reply = call.post(server, text_of(call.value).encode("ascii", "replace") + character)
        expect(
            reply, reply.status is None or reply.is_refusal, "an error status from 400 to 499, or no response"
        )


@pytest.mark.requirement("http.param.integer-numeric")
def test_whole_numbers_are_compared_as_numbers(server):
    for call in integer_calls(server):
        reply = call.post(server, f"{call.value}.0")
        expect(reply, reply.was_served, f"a result, as {call.value}.0 is {call.value}")


@pytest.mark.requirement("http.param.undeclared")
def test_a_header_that_no_parameter_has_is_ignored(server):
    for call in mirrored_calls(server):
        reply = call.post(server, call.headers[call.header], others={"Mcp-Param-Nobody-Knows": "x"})
        expect(reply, reply.was_served, "a result, as without the unknown header")
