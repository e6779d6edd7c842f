"""Tools under arguments made from their schemas: valid, boundary, invalid and hostile ones."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from itertools import islice

import pytest

from mcp_conformance.client.refusals import complaint_about_network, same_refusal
from mcp_conformance.client.thrown import INTERNAL_ERROR
from mcp_conformance.expect import require_some, skip
from mcp_conformance.fuzzing.case_source import invalid_case, invalid_cases, valid_cases
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.fuzzer import Fuzzer, require_time
from mcp_conformance.fuzzing.oracles import Case, accepts_valid, answers
from mcp_conformance.generation import boundary, hostile, invalid, shrunk, together
from mcp_conformance.generation.modest import is_amount
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.scenarios.invalid_requests import refuses_by_internal_error
from mcp_conformance.target.scenario import scenario, start_with_fuzzing
from mcp_conformance.verdicts import Skipped

pytestmark = pytest.mark.stage("fuzz")
MAX_BOUNDARY_VALUES = 60
MAX_INVALID = 150
INVALID_WITHOUT_NETWORK = 3
"""How many invalid arguments a tool that reaches no host, or refuses valid ones, is called with at first."""
MAX_NEIGHBOURS = 1000
"""The most calls with values next to one that fails."""


@pytest.mark.requirement(
    "jsonrpc.response-every-request", "tools.call.valid-not-fatal", "tools.call.no-exception"
)
def test_valid_arguments_are_handled(server, call, revision):
    def oracle(reply):
        server.tool_calls.exercise.count(call.tool, reply)
        refuses_so = reply.code == INTERNAL_ERROR and refuses_by_internal_error(server)
        return accepts_valid(call.tool, revision, reply, refuses_so=refuses_so)

    def case(value):
        return Case(encode(value), oracle, valid=True)

    def smaller(one, fails):
        value = json.loads(one.text)
        return case(shrunk(schema, revision, value, lambda value: fails(case(value)), MAX_NEIGHBOURS))

    schema, examples = server.arguments.schema(call.tool), server.arguments.vouched(call.tool)
    fuzzer = fuzzer_of(server, call, "valid arguments", known=kinds_reported(call, revision))
    edges = [value for _, value in islice(boundary(schema, revision, examples), MAX_BOUNDARY_VALUES)]
    edges += together(schema, revision)
    fuzzer.try_again(lambda value: None if instance_errors(value, schema, revision) else case(value))
    if is_limited(server, call):  # edges show more faults than as many values that were drawn
        fuzzer.try_edges(map(case, edges), smaller)
    fuzzer.search(valid_cases(schema, revision, oracle, examples), smaller)
    if not is_limited(server, call):
        fuzzer.try_edges(map(case, edges), smaller)
    fuzzer.report()


@pytest.mark.requirement("tools.call.inputs-validated")
def test_invalid_arguments_are_refused(server, call, revision):
    fuzzer = fuzzer_of(server, call, "invalid arguments", needs_network=False)
    schema = server.arguments.whole_schema(call.tool)
    found = [wrong for wrong in invalid(schema, revision) if wrong.kind != "arguments"]
    require_some(found, skip="nothing in the schema can be violated")
    tried = each_keyword_first(found)[:MAX_INVALID]
    require_refusal_without_network(server, call, tried)
    require_own_refusal(server, call, tried)
    fuzzer.try_each(invalid_case(wrong, call.reply, revision) for wrong in tried)
    fuzzer.search(invalid_cases(schema, revision, call.reply))
    fuzzer.report()


def each_keyword_first(found):
    """Order invalid arguments so that each keyword of the schema comes once before any comes again."""
    counted = Counter()
    ranked = []
    for wrong in found:
        counted[wrong.location] += 1
        ranked.append((wrong.coercible, counted[wrong.location], wrong))
    return [wrong for *_, wrong in sorted(ranked, key=lambda entry: entry[:2])]


@pytest.mark.requirement("jsonrpc.response-every-request")
@pytest.mark.stage("confirm")
def test_hostile_arguments_are_survived(server, call):
    hostile_arguments(server, call).report()


@scenario
def hostile_arguments(server, call):
    """Call a tool with hostile arguments, and return the fuzzer, which has begun to confirm its failures."""
    fuzzer = fuzzer_of(server, call, "hostile arguments")
    spares = is_amount if server.settings.is_gentle_with(call.tool.name) else None
    found = hostile(server.arguments.whole_schema(call.tool), server.revision, spares)
    fuzzer.try_hostile(((what.partition(" as ")[0], text) for what, text in found), answers)
    fuzzer.begin_confirming()
    return fuzzer


@start_with_fuzzing
def hostile_arguments_of_all(server):
    for call in server.quick_calls():
        with suppress(Skipped):
            hostile_arguments(server, call)


def is_limited(server, call):
    """Return whether the tool gets a few calls only."""
    return server.settings.fuzzed_calls(call.tool) < float("inf")


def kinds_reported(call, revision):
    """Return the kinds of failures that the first calls showed, which other checks report."""
    failures = [accepts_valid(call.tool, revision, one.reply) for one in call.with_others]
    return {failure.kind for failure in failures if failure}


def require_network(server, call):
    """Skip the check if the tool reaches no host: valid arguments would show nothing but that."""
    complaint = server.tool_calls.missing_network(call)
    if complaint:
        skip(f"{call.tool.name} needs a network that is not there, as two calls say: {complaint}")


def require_refusal_without_network(server, call, tried):
    """Skip the check if the tool reaches no host, and says so of invalid arguments too."""
    if not server.tool_calls.missing_network(call):
        return
    asked = ({**call.params, "arguments": wrong.arguments} for wrong in tried[:INVALID_WITHOUT_NETWORK])
    if all(complaint_about_network(server.call_again(call, params)) for params in asked):
        skip(f"{call.tool.name} reaches for the network first, which is not there, whatever the arguments")


def require_own_refusal(server, call, tried):
    """Skip the check if the tool refuses the first invalid arguments in the words for valid ones."""
    asked = ({**call.params, "arguments": wrong.arguments} for wrong in tried[:INVALID_WITHOUT_NETWORK])
    if call.failed and all(same_refusal(server.call_again(call, params), call.reply) for params in asked):
        skip(f"the tool refuses valid arguments in the same words: {call.reply}")


def fuzzer_of(server, call, label, *, known=(), needs_network=True):
    require_time(server)
    if not server.settings.examples_of(call.tool.name):
        skip(f"{call.tool.name} is not fuzzed: it has a level of its own")
    newer = server.newer_revision_with(call.tool)
    if newer:
        skip(f"the same tool is fuzzed in {newer}")
    if call.is_slow:
        skip(f"{call.tool.name} takes {call.reply.seconds:.1f} s, so it is not fuzzed")
    if needs_network:
        require_network(server, call)
    return Fuzzer(server, FuzzTarget.of_tool(call), label, known)
