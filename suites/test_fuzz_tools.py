"""Tools under arguments made from their schemas: valid ones, their edges, invalid and hostile ones."""

from __future__ import annotations

import pytest

from conformance.fuzzing import Fuzzer, handled, refused, survival
from conformance.generation import NoExample, boundary, hostile, invalid, valid
from conformance.verdict import not_exercised, some
from conformance.wire import encode

MOST_EDGES = 60
MOST_INVALID = 60


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_valid_arguments_are_handled(server, call, revision):
    fuzzer = fuzzer_of(server, call, handled, "valid arguments")
    try:
        edges = list(boundary(call.tool.input_schema, revision))
        fuzzer.try_each(("", encode(value)) for _, value in edges[:MOST_EDGES])
        fuzzer.search(valid(call.tool.input_schema, revision))
    except NoExample as reason:
        not_exercised(str(reason))
    fuzzer.report()


@pytest.mark.requirement("tools.call.inputs-validated")
def test_invalid_arguments_are_refused(server, call, revision):
    fuzzer = fuzzer_of(server, call, refused, "invalid arguments")
    wrong = [one for one in invalid(call.tool.input_schema, revision) if not one.coercible]
    some(wrong, "nothing in the schema can be violated clearly")
    fuzzer.try_each(
        (f"{one.keyword} at {one.pointer or 'the root'}", encode(one.arguments))
        for one in wrong[:MOST_INVALID]
    )
    fuzzer.report()


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_hostile_arguments_are_survived(server, call, revision):
    fuzzer = fuzzer_of(server, call, survival, "hostile arguments")
    fuzzer.try_each_once((what, text or b"") for what, text in hostile(call.tool.input_schema, revision))
    fuzzer.report()


def fuzzer_of(server, call, judge, label):
    if not server.settings.examples:
        not_exercised("nothing is fuzzed: --mcp-profile none")
    if server.is_slow(call):
        not_exercised(f"{call.tool.name} takes {call.reply.seconds:.1f} s, so it is not fuzzed")
    return Fuzzer(server, call, judge, label, server.settings.seed, server.settings.examples)
