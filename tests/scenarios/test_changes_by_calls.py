"""Lists that calls have changed, without a call that the user names."""

import pytest

from mcp_conformance_fixtures.mutants.list_changed import switch
from mcp_conformance_fixtures.reference import SILENCE, START
from support.bench import run_checks
from support.in_memory import MemorySettings, VirtualClock, mutated

REVISION = "2025-11-25"
FEATURES = ("tools", "prompts", "resources")


def outcome(feature, mutate, tmp_path, call=("all",), name=""):
    """Return what the check finds where these tools may be called, and whether it passes."""
    name = name or f"test_{feature}_that_calls_have_changed_are_announced"
    settings = MemorySettings(
        ("in-memory",), call=call, transcripts=tmp_path, serve=mutated(mutate), clock=VirtualClock()
    )
    run = run_checks(settings, REVISION, lambda check: check.name == name, is_whole=False)
    return [verdict.row.id for verdict in run.verdicts], name in run.passed


@pytest.mark.parametrize("feature", FEATURES)
def test_a_change_that_is_announced_passes(feature, tmp_path):
    assert outcome(feature, None, tmp_path) == ([], True)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_change_that_is_not_announced_is_found(feature, tmp_path):
    def silent(server, request, reply):
        method = reply.get("method") if isinstance(reply, dict) else None
        return SILENCE if method == f"notifications/{feature}/list_changed" else None

    assert outcome(feature, silent, tmp_path) == ([f"{feature}.list-changed.sent"], False)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_list_that_no_call_changes_is_not_judged(feature, tmp_path):
    assert outcome(feature, None, tmp_path, call=("none", "add", "echo")) == ([], False)


BY_FLAG = "test_a_list_that_other_arguments_change_is_announced"


@pytest.mark.parametrize(("announces", "passed"), [(False, False), (True, True)])
def test_a_list_that_only_another_flag_changes_is_to_be_announced(announces, passed, tmp_path):
    def with_switch(server, request, reply):
        if request is START:
            server.grown["tools"] |= switch("prompts", announces)

    call = ("none", "switch", "add")
    found = outcome("", with_switch, tmp_path, call, BY_FLAG)
    assert found == ([] if passed else ["prompts.list-changed.sent"], passed)


def test_a_flag_that_changes_no_list_is_not_judged(tmp_path):
    assert outcome("", None, tmp_path, ("none", "add", "echo"), BY_FLAG) == ([], False)


def test_a_server_that_declares_no_changes_is_not_called_with_other_flags(tmp_path):
    def undeclared(server, request, reply):
        if request is START:
            server.grown["tools"] |= switch("prompts")
        elif isinstance(request, dict) and request.get("method") == "initialize":
            for feature in FEATURES:
                reply["result"]["capabilities"][feature].pop("listChanged", None)

    assert outcome("", undeclared, tmp_path, ("none", "switch"), BY_FLAG) == ([], False)


@pytest.mark.parametrize(("announces", "passed"), [(False, False), (True, True)])
def test_a_list_that_a_drawn_number_changes_is_to_be_announced(announces, passed, tmp_path):
    """The plainest number adds nothing; a list request after the fuzzing shows that some number does."""
    number = {"type": "integer", "minimum": 0, "maximum": 10}
    schema = {"type": "object", "properties": {"level": number}, "required": ["level"]}

    definition, turned, since = switch("prompts", announces)["switch"]

    def by_level(server, arguments):
        is_on = "bonus" in server.grown["prompts"] or arguments["level"] > 4
        return turned(server, {"on": is_on})

    def levelled(server, request, reply):
        if request is START:
            entry = (definition | {"inputSchema": schema}, by_level, since)
            server.grown["tools"]["switch"] = entry

    settings = MemorySettings(
        ("in-memory",),
        call=("none", "switch"),
        examples=20,
        transcripts=tmp_path,
        serve=mutated(levelled),
        clock=VirtualClock(),
    )
    names = (BY_FLAG, "test_valid_arguments_are_handled")
    run = run_checks(settings, REVISION, lambda check: check.name in names, is_whole=False, tools=["switch"])
    found = [verdict.row.id for verdict in run.verdicts]
    assert (found, BY_FLAG in run.passed) == ([] if passed else ["prompts.list-changed.sent"], passed)
