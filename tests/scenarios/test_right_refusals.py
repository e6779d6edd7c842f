"""Answers that look like another fault and are none, or are one with a name of its own."""

from importlib import import_module

import pytest

from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import Reply
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance_fixtures.mutants import answered, method, params, refused
from mcp_conformance_fixtures.mutants.lifecycle import send_request
from mcp_conformance_fixtures.mutants.pagination import first_page
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
REFUSALS = {"add": "a is spent", NO_SUCH_NAME: f"there is no {NO_SUCH_NAME}"}


def reported(mutate, suite):
    """Return the rules that a suite reports of the reference server with a mutation."""
    run = run_checks(
        settings_in_memory(mutated(mutate)), REVISION, lambda one: one.suite == suite, is_whole=False
    )
    return {one.row.id for one in run.verdicts}


def test_a_result_without_values_is_no_completion():
    def completes_nothing(_, request, reply):
        if isinstance(request, dict) and method(request) == "initialize":
            del reply["result"]["capabilities"]["completions"]
        is_completion = isinstance(request, dict) and method(request) == "completion/complete"
        return answered(request, {"ok": True}) if is_completion else None

    assert reported(completes_nothing, "test_capabilities") == set()


def test_a_tool_that_refuses_its_arguments_by_an_error_can_be_called():
    def refuses(_, request, reply):
        is_call = isinstance(request, dict) and params(request).get("name") == "add" and reply
        return refused(request, -32602, "b must be above 7") if is_call else None

    assert "tools.call.listed-is-callable" not in reported(refuses, "test_tools_call")


def test_a_server_that_refuses_all_by_an_internal_error_throws_nothing():
    def refuses(_, request, reply):
        is_call = isinstance(request, dict) and method(request) == "tools/call" and reply
        text = REFUSALS.get(params(request).get("name")) if is_call else None
        return refused(request, -32603, text) if text else None

    selects = ("test_tools_call", "test_fuzz_tools")
    run = run_checks(
        settings_in_memory(mutated(refuses)),
        REVISION,
        lambda one: one.suite in selects and "tools.call.execution-error-as-result" in one.ids,
        is_whole=False,
        tools=["add"],
    )
    found = [one.error for one in run.verdicts if one.row.id == "tools.call.execution-error-as-result"]
    assert {one.defect for one in found} == {Defect.MISLEADS}


def test_what_is_null_beside_a_question_is_no_answer():
    is_complete = import_module("mcp_conformance_suites.test_result").is_complete
    asked = {"resultType": "input_required", "inputRequests": {"a": {}}, "content": None}
    request = Line.sending({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
    assert not is_complete(Reply(request, request, {"result": asked}))
    assert is_complete(Reply(request, request, {"result": {**asked, "content": [{}]}}))


@pytest.mark.parametrize(
    ("name", "suite"),
    [
        ("prompts/list", "test_prompts_list"),
        ("resources/list", "test_resources_list"),
        ("resources/read", "test_resources_read"),
        ("completion/complete", "test_completion"),
    ],
)
def test_a_feature_that_reaches_no_host_is_not_judged(name, suite):
    def fails(_, request, reply):
        is_of_feature = isinstance(request, dict) and method(request) == name and reply
        return refused(request, -32603, "fetch failed") if is_of_feature else None

    assert reported(fails, suite) == set()


def test_a_schema_whose_branches_are_closed_is_not_said_to_be_open():
    def is_branched(_, request, reply):
        if not isinstance(request, dict) or not reply:
            return None
        if method(request) == "tools/list":
            tool = next(one for one in reply["result"]["tools"] if one["name"] == "add")
            whole = {**tool["inputSchema"], "additionalProperties": False}
            tool["inputSchema"] = {"type": "object", "oneOf": [whole]}
        is_call = params(request).get("name") == "add"
        is_refused = is_call and "conformanceExtra" in params(request).get("arguments", {})
        return refused(request, -32602, "unknown member `conformanceExtra`") if is_refused else None

    assert "tools.call.schema-honest" not in reported(is_branched, "test_tools_call")


def test_a_list_that_takes_any_cursor_is_not_said_to_take_that_of_another():
    def takes_any(server, request, reply):
        is_refused = isinstance(request, dict) and "cursor" in params(request) and "error" in (reply or ())
        return first_page(server, request) if is_refused else None

    rules = reported(takes_any, "test_pagination")
    assert "pagination.invalid-cursor-code" in rules
    assert "pagination.cursor-same-operation" not in rules


def test_what_the_client_refuses_is_not_the_fault_of_the_subscription():
    """An old server-everything asks for sampling when a client subscribes, and returns our refusal."""

    def asks(server, request, reply):
        if not isinstance(request, dict) or method(request) != "resources/subscribe" or not reply:
            return None
        send_request(server, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        return refused(request, -32603, "This client does not offer that.")

    assert "resources.subscribe.accepted" not in reported(asks, "test_resources_changes")


def test_a_method_that_seems_unknown_is_not_judged_by_wrong_requests_alone():
    """A bridge declares completions for a server that has none, and nothing that can be completed."""

    def completes_nothing(_, request, reply):
        if not isinstance(request, dict) or not reply:
            return None
        for name in ("prompts", "resourceTemplates"):
            if name in reply.get("result", ()):
                reply["result"][name] = []
        return refused(request, -32601) if method(request) == "completion/complete" else None

    assert reported(completes_nothing, "test_completion") == set()
