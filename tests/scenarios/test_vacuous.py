"""A check that saw nothing of its kind happen is skipped: a server that refuses everything passes little."""

import json
import math
from functools import cache

import pytest

from mcp_conformance_fixtures.mutants import answered, method, params, refused
from mcp_conformance_fixtures.reference import Reference
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated
from support.nightly import some_of

REVISION = "2025-11-25"
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
KEPT = ("initialize", "server/discover", "ping", *LISTS)
REFUSALS = {"initialize is required": -32600, "Invalid params": -32602, "Not found": -32602}
CHAPTERS = ("tools.", "prompts.", "resources.", "completion.", "tasks.")
VACUOUS = {
    "test_a_call_without_a_name_is_a_protocol_error",
    "test_a_call_without_a_name_has_the_code_of_invalid_params",
    "test_a_completion_that_fails_has_a_meaningful_code",
    "test_an_invalid_uri_is_never_read",
    "test_an_unknown_resource_is_not_empty",
    "test_an_unknown_task_is_refused",
    "test_a_tool_that_forbids_tasks_refuses_one",
    "test_a_tool_that_requires_a_task_refuses_a_plain_call",
    "test_a_listed_tool_can_be_called",
    "test_a_prompt_that_fails_has_a_meaningful_code",
    "test_a_read_without_a_uri_is_refused",
    "test_a_reference_of_an_unknown_type_is_refused",
    "test_a_request_that_names_no_prompt_is_refused",
    "test_a_resource_that_cannot_be_read_is_an_internal_error",
    "test_an_unknown_prompt_is_refused",
    "test_an_unknown_resource_is_refused",
    "test_an_unknown_resource_is_refused_as_not_found",
    "test_an_unknown_tool_has_the_code_of_invalid_params",
    "test_an_unknown_tool_is_a_protocol_error",
    "test_arguments_that_are_an_array_are_a_protocol_error",
    "test_invalid_arguments_are_not_accepted",
    "test_invalid_arguments_are_refused",
    "test_structured_content_of_an_error_conforms_too",
    "test_the_completion_of_an_unknown_prompt_is_refused",
    "test_valid_arguments_raise_no_exception",
}
"""Checks that expect a refusal, judge a failure among successes, or need a call that was carried out."""

OF_CALLS = {
    "test_a_result_has_been_awaited",
    "test_a_result_that_says_it_failed_has_is_error",
    "test_an_exception_is_not_reported_as_a_success",
    "test_arguments_are_put_into_a_prompt",
    "test_valid_arguments_give_a_tool_result",
}
"""Checks of what a call or a fetch gives, all of which are refused; one judges the refusals themselves."""
OF_LISTED = {
    "test_a_listed_prompt_is_known",
    "test_listed_arguments_can_be_completed",
    "test_valid_arguments_are_not_refused",
}
"""Checks of what is listed, which may rightly say that all of it is refused."""


@cache
def found(message):
    """Return what the checks of some chapters find in a server that lists, and refuses all else."""

    def refuses(server, request, reply):
        is_request = isinstance(request, dict) and "id" in request and method(request) is not None
        return (
            refused(request, REFUSALS[message], message)
            if is_request and method(request) not in KEPT
            else None
        )

    settings = settings_in_memory(mutated(refuses), timeout=5.0)
    return run_checks(
        settings, REVISION, lambda check: any(one.startswith(CHAPTERS) for one in check.ids), tools=["add"]
    )


@pytest.mark.parametrize("message", REFUSALS)
def test_a_server_that_refuses_everything_passes_no_check_of_refusals(message):
    assert found(message).passed & (VACUOUS | OF_CALLS | OF_LISTED) == set()


@pytest.mark.parametrize("message", REFUSALS)
def test_one_refusal_of_everything_is_not_told_of_each_kind_of_request(message):
    told = {one.check.name for one in found(message).verdicts} & VACUOUS
    assert told <= {
        "test_a_resource_that_cannot_be_read_is_an_internal_error"
    }  # -32600 fits no right request


class Refusing(Reference):
    """A server that lists, and carries out nothing else."""

    def take(self, line):
        """Refuse a request that is for no list; answer all else as the reference server does."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict) and "id" in message and method(message) not in (None, *KEPT):
            self.send(refused(message, -32602, "Invalid params"))
        else:
            super().take(line)


@pytest.mark.parametrize("revision", some_of([REVISION, "2026-07-28"], math.inf))
def test_no_check_at_all_passes_as_everything_is_refused(revision):
    settings = settings_in_memory(lambda out, _: Refusing(out=out), timeout=5.0)
    run = run_checks(settings, revision, tools=["add"])
    assert run.passed & (VACUOUS | OF_CALLS | OF_LISTED) == set()


def test_a_resource_that_is_unknown_among_refused_ones_is_not_judged():
    settings = settings_in_memory(lambda out, _: Refusing(out=out), timeout=5.0)
    rule = "resources.read.not-found-not-empty"
    run = run_checks(settings, "2026-07-28", lambda check: rule in check.ids, is_whole=False)
    assert (run.passed, run.verdicts) == (set(), [])


FAILED = {"content": [{"type": "text", "text": "It did not work."}], "isError": True}
OF_A_WORKING_TOOL = {
    "test_invalid_arguments_are_not_accepted",
    "test_invalid_arguments_are_refused",
    "test_valid_arguments_are_not_refused",
    "test_valid_arguments_raise_no_exception",
}


@pytest.mark.parametrize(
    ("result", "wrong"), [(FAILED, OF_A_WORKING_TOOL), ({}, {"test_a_listed_tool_can_be_called"})]
)
def test_a_server_whose_tools_all_give_the_same_passes_no_check_of_what_they_do(result, wrong):
    """All calls get an error of the tool, or all an empty result, those of unknown tools too."""

    def same(server, request, reply):
        return answered(request, result) if method(request) == "tools/call" else None

    settings = settings_in_memory(mutated(same), timeout=5.0)
    run = run_checks(settings, REVISION, lambda check: check.suite == "test_tools_call", tools=["add"])
    assert run.passed & wrong == set()


@pytest.mark.parametrize("about", ["tool", "argument"])
def test_a_tool_that_names_nothing_is_unknown_only_if_its_arguments_do_not_matter(about):
    """Calls of `add` are refused as those of unknown tools; of an unknown order it says the same."""

    def refuses(server, request, reply):
        if method(request) != "tools/call":
            return None
        name, arguments = params(request).get("name"), params(request).get("arguments", {})
        is_right = isinstance(arguments.get("a"), int)
        if name not in server.tools() or (name == "add" and (about == "tool" or is_right)):
            return refused(request, -32602, "Not found")
        return None

    settings = settings_in_memory(mutated(refuses), timeout=5.0)
    rule = "tools.call.listed-is-callable"
    run = run_checks(settings, REVISION, lambda check: rule in check.ids, is_whole=False, tools=["add"])
    assert not run.failures
    assert {one.row.id for one in run.verdicts} == ({rule} if about == "tool" else set())


def test_a_list_that_differs_each_time_is_not_steady():
    def alternates(server, request, reply):
        if method(request) != "tools/list" or "nextCursor" in reply.get("result", {}):
            return
        server.memory["lists"] = server.memory.get("lists", 0) + 1
        if server.memory["lists"] % 2 == 0:
            del reply["result"]["tools"][-1]

    rules = {"tools.list.same-per-connection", "tools.list.no-side-effect-variation"}
    settings = settings_in_memory(mutated(alternates), timeout=5.0)
    run = run_checks(settings, "2026-07-28", lambda check: rules & check.ids, is_whole=False)
    assert run.passed == set()
