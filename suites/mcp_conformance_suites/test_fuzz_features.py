"""Prompts, resources, completion and cursors under made-up values: an answer comes, in the right shape."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import require, require_some, skip
from mcp_conformance.fuzzing.case_source import valid_cases, value_cases
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.fuzzer import Fuzzer, require_time
from mcp_conformance.fuzzing.oracles import Case, has_array
from mcp_conformance.generation import hostile, hostile_texts
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.completion import completion_request
from mcp_conformance.target.scenario import scenario, start_with_fuzzing

pytestmark = pytest.mark.stage("confirm")
MAX_FUZZED = 5
"""The number of prompts, resources or templates that are fuzzed, as one server's are alike."""
TEXT = {"type": "string"}
FEATURES = ("tools", "prompts", "resources", "completions")
LISTED = {
    "tools/list": "tools.list",
    "prompts/list": "prompts.list",
    "resources/list": "resources.list",
    "resources/templates/list": "resources.templates",
}
"""The stems of the requirements on the shape of each list."""
ENDINGS = ("/", "/..", "?", "#", "%00", "%2e%2e", "\u0000", " ", "\u00e9", "x" * 5000)


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_arguments_of_prompts_are_answered(server):
    for fuzzer in fuzzed_prompts(server):
        fuzzer.report()


@start_with_fuzzing
@scenario
def fuzzed_prompts(server):
    """Fuzz the arguments of some prompts, and return the fuzzers."""
    oracle, fuzzers = has_array("prompts.get.result-shape", "messages"), []
    for prompt in require_some(server.listed("prompts/list"), skip="no prompts are listed")[:MAX_FUZZED]:
        name = prompt.json.get("name") if prompt.is_a(dict) else None
        if isinstance(name, str):
            target = FuzzTarget(f"prompts/get {name}", "prompts/get", "arguments", {"name": name})
            schema, revision = server.fetches.prompt_schema(prompt), server.revision
            cases, named = valid_cases(schema, revision, oracle), hostile(schema, revision)
            fuzzers.append(fuzzed(server, target, cases, named, oracle))
    return tuple(fuzzers)


@pytest.mark.requirement("jsonrpc.response-every-request")
@pytest.mark.capability("resources")
def test_uris_of_resources_are_answered(server):
    fuzzed_uris(server).report()


@start_with_fuzzing
@scenario
def fuzzed_uris(server):
    """Fuzz the URI of ``resources/read``, and return the fuzzer."""
    target = FuzzTarget("resources/read", "resources/read", "uri")
    oracle = has_array("resources.read.result-shape", "contents")
    cases, named = value_cases(TEXT, server.revision, oracle), [*hostile_texts(), *changed_uris(server)]
    return fuzzed(server, target, cases, named, oracle)


def changed_uris(server):
    """Return hostile URIs made from the listed ones, none of them on the network."""
    uris = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    local = [uri for uri in uris if not uri.lower().startswith(("http:", "https:", "ftp:"))]
    return [
        (f"a listed URI and {shorten(ending, 8)!r}", encode(uri + ending))
        for uri in local[:MAX_FUZZED]
        for ending in ENDINGS
    ]


@pytest.mark.requirement("jsonrpc.response-every-request")
@pytest.mark.capability("completions")
def test_values_to_complete_are_answered(server):
    fuzzed_completion(server).report()


@start_with_fuzzing
@scenario
def fuzzed_completion(server):
    """Fuzz a value to complete, and return the fuzzer."""
    params = require(completion_request(server), skip="nothing is offered that can be completed")
    target = FuzzTarget(
        "completion/complete",
        "completion/complete",
        "value",
        {"ref": params["ref"]},
        inside="argument",
        beside={"name": params["argument"]["name"]},
    )
    oracle = has_array("completion.result-shape", "completion", "values")
    cases = value_cases(TEXT, server.revision, oracle)
    return fuzzed(server, target, cases, hostile_texts(), oracle)


@pytest.mark.requirement("jsonrpc.response-every-request")
def test_cursors_are_answered(server):
    for fuzzer in fuzzed_cursors(server):
        fuzzer.report()


@start_with_fuzzing
@scenario
def fuzzed_cursors(server):
    """Fuzz the cursor of each list, and return the fuzzers."""
    fuzzers = []
    for listing in require_some(list(server.listings()), skip="nothing is listed"):
        cursors = [cursor.json for cursor in listing.cursors if cursor.is_a(str)]
        changed = [("a changed cursor", encode(cursor + "x")) for cursor in cursors[:3]]
        changed += [("a shortened cursor", encode(cursor[:-1])) for cursor in cursors[:3]]
        target = FuzzTarget(listing.method, listing.method, "cursor")
        oracle = has_array(f"{LISTED[listing.method]}.result-shape", listing.member)
        cases = value_cases(TEXT, server.revision, oracle)
        fuzzers.append(fuzzed(server, target, cases, [*hostile_texts(), *changed], oracle))
    return tuple(fuzzers)


def fuzzed(server, target, cases, named, oracle):
    """Try values of a source, then hostile values with names, in the newest revision only.

    Return the fuzzer, which has begun to confirm its failures.
    """
    require_time(server)
    newer = server.newer_revision_offering(*filter(server.declares, FEATURES))
    if newer:
        skip(f"the same is fuzzed in {newer}")
    fuzzer = Fuzzer(server, target, "made-up value")
    fuzzer.try_again(lambda value: Case(encode(value), oracle))
    fuzzer.search(cases)
    fuzzer.try_hostile(named, oracle)
    fuzzer.begin_confirming()
    return fuzzer
