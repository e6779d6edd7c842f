"""Arguments that headers repeat (spec: basic/transports/streamable-http)."""

from __future__ import annotations

from base64 import b64encode

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.revisions import HEADER_MISMATCH
from mcp_conformance.scenarios.http_modern import expect_mismatch
from mcp_conformance.scenarios.http_parameters import (
    boolean_calls,
    integer_calls,
    mirrored_calls,
    nested_calls,
    other_value,
    rejected_calls,
    text_of,
)
from mcp_conformance.target.scenario import scenario


@pytest.mark.requirement("http.param.missing")
def test_a_call_without_the_header_of_an_argument_is_refused(server):
    for call in mirrored_calls(server):
        reply = call.post(server, None)
        expect_mismatch(server, reply)


@pytest.mark.requirement("http.param.mismatch")
def test_another_value_than_the_argument_is_refused(server):
    for reply in replies_to_other_values(server):
        expect_mismatch(server, reply)


@pytest.mark.requirement("http.param.absent")
@pytest.mark.parametrize("how", ["left-out", "null"])
def test_no_header_is_expected_for_an_absent_argument(server, how):
    calls = [call for call in mirrored_calls(server) if call.is_optional]
    for call in require_some(calls, skip="all arguments that headers repeat are required"):
        reply = call.post(server, None, call.with_value(ABSENT if how == "left-out" else None))
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
    require_comparison(server)
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


@pytest.mark.requirement("http.param.boolean-lowercase")
def test_a_truth_value_is_in_lower_case(server):
    for call, rejection in rejected_calls(server):
        word = text_of(call.value).capitalize()
        if isinstance(call.value, bool) and call.post(server, word).was_served:
            expect(rejection, False, f"a result, as with {word}")
    require_comparison(server)
    for call in boolean_calls(server):
        reply = call.post(server, text_of(call.value).capitalize())
        expect_mismatch(server, reply)


@pytest.mark.requirement("http.param.nested")
def test_a_nested_argument_is_compared_where_it_is(server):
    for call, rejection in rejected_calls(server):
        if call.is_nested and call.post(server, None).was_served:
            expect(rejection, False, "a result, as without the header")
    require_comparison(server)
    for call in nested_calls(server):
        other = other_value(call.value)
        reply = call.post(server, text_of(other))
        expect_mismatch(server, reply)
        arguments = call.with_value_at_the_top(other)
        if arguments is not None:
            reply = call.post(server, text_of(other), arguments)
            expect(reply, not reply.was_served, f"no result, as {'.'.join(call.path)} has another value")


@pytest.mark.requirement("http.param.undeclared")
def test_a_header_that_no_parameter_has_is_ignored(server):
    for call in mirrored_calls(server):
        reply = call.post(server, call.headers[call.header], others={"Mcp-Param-Nobody-Knows": "x"})
        expect(reply, reply.was_served, "a result, as without the unknown header")


@scenario
def replies_to_other_values(server):
    """Return the responses to calls in which a header has another value than its argument, none nested."""
    found = [call for call in mirrored_calls(server) if not call.is_nested]
    found = require_some(found, skip="each parameter that a header repeats is nested: see http.param.nested")
    return tuple(call.post(server, text_of(other_value(call.value))) for call in found)


def require_comparison(server):
    """Skip the check if the server serves calls whose headers have other values than the arguments."""
    if all(call.is_nested for call in mirrored_calls(server)):
        return
    if any(reply.was_served for reply in replies_to_other_values(server)):
        skip("a header may have any value: see http.param.mismatch")
