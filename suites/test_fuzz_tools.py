"""Tools under arguments made from their schemas: valid ones, their edges, invalid and hostile ones."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.expect import require_some, skip
from conformance.fuzzing.fuzz_target import FuzzTarget
from conformance.fuzzing.fuzzer import Fuzzer
from conformance.fuzzing.oracles import Case, accepts_valid, rejects_invalid, answers
from conformance.generation import NoExample, boundary, hostile, invalid, invalid_strategy, valid
from conformance.json_schema.validation import instance_errors
from conformance.protocol.jsonrpc import encode

MAX_EDGES = 60
MAX_INVALID = 150


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_valid_arguments_are_handled(server, call, revision):
    def oracle(reply):
        return accepts_valid(call.tool, revision, reply)

    fuzzer = fuzzer_of(server, call, "valid arguments", known=oracle(call.reply))

    def remembered(value):
        return None if instance_errors(value, schema, revision) else Case(encode(value), oracle)

    schema, examples = call.tool.input_schema, server.examples(call.tool)
    try:
        edges = list(boundary(schema, revision, examples))[:MAX_EDGES]
        fuzzer.try_again(remembered)
        fuzzer.search(valid(schema, revision, examples).map(lambda value: Case(encode(value), oracle)))
    except NoExample as reason:
        skip(str(reason))
    fuzzer.try_each(Case(encode(value), oracle) for _, value in edges)
    fuzzer.report()


@pytest.mark.requirement("tools.call.inputs-validated")
def test_invalid_arguments_are_refused(server, call, revision):
    fuzzer = fuzzer_of(server, call, "invalid arguments")

    def case(wrong):
        return Case(
            encode(wrong.arguments), lambda reply: rejects_invalid(wrong, call.reply, revision, reply), wrong=wrong
        )

    schema = call.tool.input_schema
    found = [wrong for wrong in invalid(schema, revision) if wrong.kind != "arguments"]
    require_some(found, skip="nothing in the schema can be violated")
    fuzzer.try_each(case(wrong) for wrong in each_place_first(found)[:MAX_INVALID])
    fuzzer.search(
        invalid_strategy(schema, revision).filter(lambda wrong: wrong.kind != "arguments").map(case)
    )
    fuzzer.report()


def each_place_first(found):
    """Invalid arguments, ordered so that each keyword of the schema comes once before any comes again."""
    counted = Counter()
    ranked = []
    for wrong in found:
        counted[wrong.location] += 1
        ranked.append((wrong.coercible, counted[wrong.location], wrong))
    return [wrong for *_, wrong in sorted(ranked, key=lambda entry: entry[:2])]


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_hostile_arguments_are_survived(server, call, revision):
    fuzzer = fuzzer_of(server, call, "hostile arguments")
    named = ((what.partition(" as ")[0], text) for what, text in hostile(call.tool.input_schema, revision))
    fuzzer.try_hostile(named, answers)
    fuzzer.report()


def fuzzer_of(server, call, label, *, known=None):
    if not server.settings.examples:
        skip("nothing is fuzzed: --mcp-fuzz none")
    if server.is_slow(call):
        skip(f"{call.tool.name} takes {call.reply.seconds:.1f} s, so it is not fuzzed")
    return Fuzzer(server, FuzzTarget.of_tool(call), label, {known.kind} if known else set())
