"""What changes by itself, or with every call, is not the effect of a tool that only reads."""

import itertools

import pytest

from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance_fixtures.mutants import blocks, items, method, params
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

RULE = "tools.hints.read-only"


def is_reported(revision, serve):
    """Return whether the suite reports the effect of a tool that only reads."""
    settings = settings_in_memory(mutated(serve), timeout=5.0)
    found = run_checks(settings, revision, lambda check: RULE in check.ids, is_whole=False)
    return RULE in {verdict.row.id for verdict in found.verdicts}


def calls_so_far(server, request):
    server.memory.setdefault("called", [])
    if method(request) == "tools/call":
        server.memory["called"].append(params(request).get("name"))
    return server.memory["called"]


def shows_in_resources(shown):
    """Return a mutation by which each text resource shows something of the calls so far."""

    def serve(server, request, reply):
        called = calls_so_far(server, request)
        if method(request) == "resources/read":
            for item in items(reply):
                item.update({"text": shown(called)} if "text" in item else {})

    return serve


def shows_reads(server, request, reply):
    server.memory["reads"] = server.memory.get("reads", 0) + (method(request) == "resources/read")
    for item in items(reply) if method(request) == "resources/read" else ():
        item.update({"text": f"Read {server.memory['reads']} times."} if "text" in item else {})


def forgets_a_block(server, request, reply):
    called = calls_so_far(server, request)
    if method(request) == "tools/call" and called[-1] == "annotated" and called.count("annotated") > 1:
        del blocks(reply)[0]


ticks = itertools.count()
SILENT = {
    "the number of calls": shows_in_resources(lambda called: f"{len(called)} calls"),
    "the last call": shows_in_resources(lambda called: f"{called[-1:]}"),
    "whether something was called": shows_in_resources(lambda called: f"{bool(called)}"),
    "a clock": shows_in_resources(lambda called: f"minute {next(ticks)}"),
    "the number of reads": shows_reads,
    "a tool that changes its own result": forgets_a_block,
}
LOUD = {
    "one tool": shows_in_resources(lambda called: f"{'nothing' in called}"),
    "how often one tool was called": shows_in_resources(lambda called: f"{called.count('nothing')}"),
}


@pytest.mark.parametrize("revision", ["2025-06-18", LATEST_MODERN])
@pytest.mark.parametrize("serve", SILENT.values(), ids=SILENT)
def test_what_changes_by_itself_or_with_every_call_is_not_reported(serve, revision):
    assert not is_reported(revision, serve)


@pytest.mark.parametrize("revision", ["2025-06-18", LATEST_MODERN])
@pytest.mark.parametrize("serve", LOUD.values(), ids=LOUD)
def test_what_one_tool_changes_is_reported(serve, revision):
    assert is_reported(revision, serve)
