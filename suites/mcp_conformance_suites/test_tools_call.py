"""Calling tools, and the two ways in which a call fails (spec: server/tools, "Calling Tools")."""

from __future__ import annotations

from contextlib import suppress

import pytest

from mcp_conformance import remedies
from mcp_conformance.client.exceptions import caught_exception, never_awaited
from mcp_conformance.client.refusals import (
    NO_SUCH_NAME,
    asks_client,
    fails_alike,
    network_in_text,
    refused_as_unknown,
    refuses_in_words,
    same_refusal,
    words,
)
from mcp_conformance.client.reply import Closed, results_of
from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_error,
    is_boolean,
    require,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.fuzzing.oracles import (
    FAILURE_AS_SUCCESS,
    defect_of_error,
    is_failure_as_success,
    refuses_shape,
    tool_bug,
)
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.revisions import content_types
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.decoys import escapes
from mcp_conformance.scenarios.demanded_members import demanded_members, members_needed
from mcp_conformance.scenarios.invalid_requests import (
    MALFORMED_PARAMS,
    call_unknown,
    invalid_calls,
    lacks_method,
    malformed_call,
    malformed_forms,
    refuses_by_internal_error,
    require_own_refusal,
    tool_errors,
    unknown_calls,
)
from mcp_conformance.scenarios.request_metadata import needs_client
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding, Skipped

MAX_ARGUMENTS = 200
"""How many characters of a call's arguments a finding shows."""


@pytest.mark.requirement("tools.call.listed-is-callable")
def test_a_listed_tool_can_be_called(server, call):
    require_served(server, "tools/call")
    is_unknown = is_refused_as_unknown(server, call)
    if not is_unknown and same_refusal(call.reply, call_unknown(server)):
        skip(f"the tool is refused in the words for an unknown one, which may mean anything: {call.reply}")
    if call.reply.error is None and call.reply.result == call_unknown(server).result:
        skip(f"an unknown tool gets the same, which may mean anything: {call.reply}")
    if is_unknown:
        raise Finding("an answer of that tool", f"what an unknown tool gets: {call.reply}", call.reply.lines)


@pytest.mark.requirement("tools.call.access-control")
@pytest.mark.capability("tools")
def test_a_tool_that_keeps_to_its_folder_leaves_it_by_no_spelling(server):
    found = require(escapes(server), skip="no tool takes a file of ours and refuses one beside its folder")
    for one in found:
        expected = "a file beside the folder refused, as it is by its plain path"
        got = f"{one.call.tool.name} {one.what} by {one.path!r}"
        raise Finding(expected, got, one.lines, tool=one.call.tool.name)


@pytest.mark.requirement("tools.call.listed-is-callable")
@pytest.mark.capability("tools")
def test_a_server_that_lists_tools_has_tools_call(server):
    require_some(server.tools, skip="no tools are listed")
    require_served(server, "tools/call")
    reply = require_answer(call_unknown(server))
    if lacks_method(server, "tools/call"):
        raise Finding("an answer of tools/call, as tools are listed", str(reply), reply.lines)


@pytest.mark.requirement("tools.call.valid-not-fatal")
def test_a_call_with_valid_arguments_leaves_the_server_running(server, call):
    death = server.tool_calls.other_death(call)
    if death is not None:
        raise death


@pytest.mark.requirement("tools.call.result-content-array")
def test_a_tool_result_has_content(call):
    result = result_of(call)
    content = result.get("content")
    expect(content or result, content is not None and content.is_a(list), "an array in content")


@pytest.mark.requirement("tools.call.tool-result-member")
def test_a_tool_result_has_a_tool_result_member(call):
    result = result_of(call)
    expect(result, result.get("toolResult") is not None, "a member toolResult")


@pytest.mark.requirement("tools.call.is-error-boolean")
def test_is_error_is_a_boolean(call):
    found = require_some(members([result_of(call)], "isError"), skip="the result has no isError")
    expect_each(found, is_boolean, "true or false")


@pytest.mark.requirement("tools.call.content-known-type")
def test_content_is_of_a_known_type(call, revision):
    known = content_types(revision)
    content = result_of(call).get("content")
    blocks = list(content.each()) if content is not None and content.is_a(list) else []
    for block in require_some(blocks, skip="the result has no content"):
        type = block.get("type")
        is_known = type is not None and type.is_a(str) and type.json in known
        expect(type or block, is_known, f"one of {', '.join(sorted(known))}")


@pytest.mark.requirement("tools.call.arguments-optional")
def test_arguments_may_be_left_out(server, call):
    if call.arguments or succeeded(call.reply) is None:
        skip("the tool does not succeed without arguments")
    reply = refusal(server, call, {"name": call.tool.name})
    if reply is not None:
        raise Finding("a result, as with the arguments {}", str(reply), reply.lines)


def refusal(server, call, params):
    """Return the failure of a call with other params; None if it succeeds.

    Skips the check unless that call fails and the usual one succeeds each time.
    """
    first = server.call_again(call, params)
    if succeeded(first) is not None or needs_client(first):
        return None
    usual = call.params
    for one in (usual, usual, params, usual, params):
        if (succeeded(server.call_again(call, one)) is None) is not (one is params):
            skip("the tool does not always succeed with the same arguments")
    return first


@pytest.mark.requirement("tools.call.schema-honest")
def test_valid_arguments_are_not_refused(server, call, revision):
    require_served(server, "tools/call")
    replies = [one.reply for one in answered_calls(server, call)]
    for reply in replies:
        if refuses_shape(call.tool, revision, reply):
            raise Finding("a tool result", str(reply), reply.lines)
    if all(succeeded(reply) is None for reply in replies):
        skip("the tool does not succeed with valid arguments")


@pytest.mark.requirement("tools.call.schema-honest")
def test_more_members_are_accepted_if_the_schema_is_open(server, call, revision):
    require_served(server, "tools/call")
    if succeeded(call.reply) is None:
        skip("the tool does not succeed with valid arguments")
    arguments, schema = {**call.arguments, "conformanceExtra": "extra"}, call.tool.input_schema
    if not is_open(schema) or instance_errors(arguments, schema, revision):
        skip("the schema restricts additional members")
    reply = refusal(server, call, {"name": call.tool.name, "arguments": arguments})
    if reply is not None:
        raise Finding("the schema to forbid additional members if the tool does", str(reply), reply.lines)


@pytest.mark.requirement("tools.call.schema-honest")
def test_members_that_a_tool_demands_are_required(server, call, revision):
    if succeeded(call.reply) is None:
        skip("the tool does not succeed with valid arguments")
    if any(one.reply.code == -32602 for one in answered_calls(server, call)):
        skip("valid arguments are refused with error -32602: that is another finding")
    for name in demanded_members(server, call, revision):
        arguments = {key: value for key, value in call.arguments.items() if key != name}
        reply = refusal(server, call, {"name": call.tool.name, "arguments": arguments})
        if reply is not None and name in members_needed(reply, call.tool.input_schema):
            expected = f"a result without {name!r}, as the schema does not demand it beside the others"
            raise Finding(expected, str(reply), reply.lines)


def is_open(schema):
    """Return whether a schema says nothing about additional members; a boolean schema does not."""
    restricting = {"additionalProperties", "unevaluatedProperties", "maxProperties", "propertyNames"}
    return not isinstance(schema, dict) or restricting.isdisjoint(schema)


def is_refused_as_unknown(server, call):
    if call.tool.task_support == "required":  # the method is not found for a call that is not a task
        return False
    unknown = call_unknown(server)
    if not refused_as_unknown(call.reply, call.tool.name, unknown):
        return False
    return NO_SUCH_NAME in words(unknown) or is_refused_whatever_it_gets(server, call)


def is_refused_whatever_it_gets(server, call):
    """Return whether a tool is refused in one way, valid arguments or not, and no other tool in that way.

    A refusal that names no tool may be about something else that does not exist.
    """
    others = [one.reply for one in server.quick_calls() if one.tool.name != call.tool.name]
    own = [one.reply for one in call.with_others]
    with suppress(Skipped):
        own += [wrong.reply for wrong in invalid_calls(server, call)]
    is_same = [same_refusal(reply, call.reply) for reply in own]
    return all(is_same) and not any(same_refusal(reply, call.reply) for reply in others)


@pytest.mark.requirement("tools.def.name-case-sensitive")
def test_tool_names_are_case_sensitive(server, call):
    flipped = call.tool.name.swapcase()
    if succeeded(call.reply) is None or server.tool(flipped) is not None or flipped == call.tool.name:
        skip("the tool does not succeed, or its name has no case")
    if any(succeeded(reply) is not None for reply in unknown_calls(server)):
        skip("the server reports success for unknown tools")
    reply = server.call_again(call, {"name": flipped, "arguments": call.arguments})
    if succeeded(reply) is not None:
        raise Finding(f"no tool named {flipped!r}", str(reply), reply.lines)


# Unknown tools and malformed calls


@pytest.mark.requirement("tools.call.unknown-tool-is-error")
@pytest.mark.capability("tools")
def test_an_unknown_tool_is_a_protocol_error(server):
    require_served(server, "tools/call")
    replies = [require_answer(reply) for reply in unknown_calls(server)]
    require_own_refusal(replies[0], right_calls(server))
    for reply in sorted((one for one in replies if one.error is None), key=lambda one: one.is_tool_error):
        how = "a tool result with isError" if reply.is_tool_error else "a result that reports success"
        raise Finding("a JSON-RPC error", f"{how}: {reply}", reply.lines)


@pytest.mark.requirement("tools.call.unknown-tool-code")
@pytest.mark.capability("tools")
def test_an_unknown_tool_has_the_code_of_invalid_params(server):
    reply = require_own_refusal(require_answer(call_unknown(server)), right_calls(server))
    require_error_of_tools_call(server, reply)
    expect_error(reply, -32602)


@pytest.mark.requirement("tools.call.malformed-request")
@pytest.mark.parametrize("form", MALFORMED_PARAMS)
@pytest.mark.capability("tools")
def test_a_call_without_a_name_is_a_protocol_error(server, form):
    require_served(server, "tools/call")
    require_malformed(server, form)
    expect_error(require_own_refusal(malformed_call(server, form), right_calls(server)))


@pytest.mark.requirement("tools.call.malformed-request")
def test_arguments_that_are_an_array_are_a_protocol_error(server, callable_tool, session):
    reply = session.request("tools/call", {"name": callable_tool.name, "arguments": []})
    expect_error(require_own_refusal(reply, right_calls(server)))


@pytest.mark.requirement("tools.call.malformed-request-code")
@pytest.mark.parametrize("form", MALFORMED_PARAMS)
@pytest.mark.capability("tools")
def test_a_call_without_a_name_has_the_code_of_invalid_params(server, form):
    require_malformed(server, form)
    reply = require_own_refusal(require_answer(malformed_call(server, form)), right_calls(server))
    require_error_of_tools_call(server, reply)
    expect_error(reply, -32602)


@pytest.mark.requirement("tools.call.unsupported-is-error")
def test_a_server_without_tools_refuses_calls(server):
    if server.offers.get("tools") is not None:
        skip("tools are declared")
    expect_error(call_unknown(server))


def right_calls(server):
    """Return the replies to calls with valid arguments."""
    return [call.reply for call in server.quick_calls()]


def require_error_of_tools_call(server, reply):
    if reply.error is None:
        skip("the answer is not a JSON-RPC error")
    if lacks_method(server, "tools/call"):
        skip("the server has no tools/call")


def require_malformed(server, form):
    if form not in malformed_forms(server):
        skip("every request has params in this revision")


# Invalid arguments and failing tools


@pytest.mark.requirement("tools.call.inputs-validated")
def test_invalid_arguments_are_not_accepted(server, call):
    for wrong in require_some(invalid_calls(server, call), skip="no argument can be made clearly wrong"):
        if succeeded(wrong.reply) is not None and not refuses_in_words(wrong.reply):
            raise Finding(f"a refusal: {wrong.mistake}", str(wrong.reply), wrong.reply.lines)
        if same_refusal(wrong.reply, call.reply):
            skip(f"the tool refuses valid arguments in the same words: {call.reply}")


@pytest.mark.requirement("tools.call.invalid-arguments-channel")
def test_invalid_arguments_are_refused_in_the_right_way(server, call, revision):
    replies = [wrong.reply for wrong in invalid_calls(server, call)]
    is_draft = revision == "2024-10-07"  # its results don't report refusals, so any result counts
    refused = [
        reply
        for reply in replies
        if (is_draft or succeeded(reply) is None) and not fails_alike(reply, call.reply)
    ]
    for reply in require_some(refused, skip="no arguments were refused for being invalid"):
        if is_draft:
            expect_error(reply)
        elif revision == "2025-11-25" and not reply.is_tool_error:
            raise Finding("a tool result with isError true", str(reply), reply.lines)


@pytest.mark.requirement("tools.call.execution-error-as-result")
def test_a_failing_tool_reports_in_its_result(server, session, revision):
    sample = require(server.settings.failing_call, skip="--failing-call names a call that fails in the tool")
    if server.tool(sample.tool) is None:
        skip(f"no tool {sample.tool} is listed")
    params = {"name": sample.tool, "arguments": dict(sample.arguments)}
    reply = require_answer(session.request("tools/call", params))
    if asks_client(reply):
        skip("the tool asks the client for something first")
    if reply.error is not None or (revision != "2024-10-07" and not reply.is_tool_error):
        raise Finding("a tool result that reports the failure (isError true)", str(reply), reply.lines)


@pytest.mark.requirement("tools.call.execution-error-actionable")
def test_a_tool_error_says_something(server):
    for result in require_some(results_of(tool_errors(server)), skip="no tool reported an error"):
        content = result.get("content") or Value([])
        texts = [text.json for text in members(list(content.each()), "text") if text.is_a(str)]
        expect(result, any(text.strip() for text in texts), "a text that says what went wrong")


@pytest.mark.requirement("tools.call.execution-error-as-result")
def test_valid_arguments_give_a_tool_result(server, call, revision):
    require_served(server, "tools/call")
    calls = answered_calls(server, call)
    for one in calls:
        reply, bug = one.reply, tool_bug(call.tool, revision, one.reply)
        is_other = bug is not None and bug.is_proven  # `tools.call.no-exception` has it
        if reply.error is not None and reply.code != -32602 and not (asks_client(reply) or is_other):
            expected = "a tool result that reports the failure (isError true)"
            got = f"{show(one.arguments, MAX_ARGUMENTS)}: {reply}"
            defect = defect_of_error(reply, refuses_so=refuses_by_internal_error(server))
            raise Finding(expected, got, reply.lines, defect=defect)
    if all(one.reply.code == -32602 for one in calls):
        skip("no call with valid arguments was carried out")


@pytest.mark.requirement("tools.call.execution-error-as-result")
def test_an_exception_is_not_reported_as_a_success(server, call):
    require_served(server, "tools/call")
    for one in require_some(successes(server, call), skip="no call with valid arguments gave a result"):
        words = "" if network_in_text(one.reply) else caught_exception(one.reply)
        if words and refuses_in_words(one.reply) and words not in show(one.arguments):
            got = f"{show(one.arguments, MAX_ARGUMENTS)}: {one.reply}"
            expected = "a tool result that reports the failure (isError true)"
            raise Finding(expected, got, one.reply.lines, defect=FAILURE_AS_SUCCESS)


@pytest.mark.requirement("tools.call.awaited")
def test_a_result_has_been_awaited(server, call):
    require_served(server, "tools/call")
    for one in require_some(successes(server, call), skip="no call with valid arguments gave a result"):
        text = never_awaited(one.reply)
        if text and text not in show(one.arguments):
            got = f"{show(one.arguments, MAX_ARGUMENTS)}: {text}, which nothing has awaited"
            raise Finding("the result of the tool", got, one.reply.lines)


@pytest.mark.requirement("tools.call.execution-error-as-result")
def test_a_result_that_says_it_failed_has_is_error(server, call, revision):
    require_served(server, "tools/call")
    if revision == "2024-10-07":
        skip("results have no isError in this revision")
    found = require_some(successes(server, call), skip="no call with valid arguments gave a result")
    for reply in (one.reply for one in found):
        if is_failure_as_success(reply):
            raise Finding(
                "isError true in a result that says that the call failed",
                *(str(reply), reply.lines),
                advisory=True,
                defect=FAILURE_AS_SUCCESS,
                fix=remedies.SAYS_FAILURE,
            )


@pytest.mark.requirement("tools.call.no-exception", "tools.call.schema-honest")
def test_valid_arguments_raise_no_exception(server, call, revision):
    require_served(server, "tools/call")
    bugs, calls = {}, answered_calls(server, call)
    for one in calls:
        bug = tool_bug(call.tool, revision, one.reply)
        if bug is not None and bug.kind not in bugs and is_met_again(server, one, bug):
            got = f"{show(one.arguments, MAX_ARGUMENTS)}: {bug.got or one.reply}"
            bugs[bug.kind] = bug.finding(got, one.reply.lines)
    if bugs:
        first, *others = bugs.values()
        raise first.with_others(others)
    if all(one.failed for one in calls):
        skip("the tool refuses all valid arguments, so that little of it has run")


def is_met_again(server, call, bug):
    """Return whether a call meets its exception again: on stderr, that of another call may have stood."""
    if not bug.is_proven:
        return True
    again = tool_bug(call.tool, server.revision, server.call_again(call, call.params))
    return again is not None and again.kind == bug.kind


def answered_calls(server, call):
    """Return all calls with valid arguments; skip if the tool cannot be called.

    Raises `Blocked` if one was not answered, those aside that ended the process.
    """
    if is_refused_as_unknown(server, call):
        skip("the tool itself is refused as unknown")
    if call.tool.task_support == "required":
        skip("the tool can only be called as a task")
    survived = [one for one in call.with_others if not isinstance(one.reply.fault, Closed)]
    for one in survived:
        require_answer(one.reply)
    return survived


def successes(server, call):
    """Return the calls with valid arguments that gave a result which reports no failure."""
    return [one for one in answered_calls(server, call) if succeeded(one.reply) is not None]


def succeeded(reply):
    """Return the result of a call that worked, else None; a 2024-10-07 result has no flag for failure."""
    return None if reply.is_tool_error or reply.needs_input else reply.value


def result_of(call):
    """Return the result of a call; skip if there is none."""
    return require(call.reply.value, skip=f"no result: {call.reply}")
