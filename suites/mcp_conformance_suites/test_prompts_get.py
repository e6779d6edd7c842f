"""Fetching prompts, and how a request for one fails (spec: server/prompts, "Getting a Prompt")."""

from __future__ import annotations

import re

import pytest

from mcp_conformance.client.refusals import NO_SUCH_NAME, refused_as_unknown, same_refusal
from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import (
    expect_each,
    expect_error,
    expect_result,
    is_object,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.revisions import content_types
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.invalid_requests import require_own_refusal
from mcp_conformance.scenarios.request_metadata import needs_client
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.target.scenario import scenario
from mcp_conformance.verdicts import Finding

MAX_ARGUMENT_SETS = 10
JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)


# The result


@pytest.mark.requirement("prompts.get.result-shape")
@pytest.mark.capability("prompts")
def test_a_prompt_has_an_array_of_messages(server):
    results = require_some(results_of(server.prompts()), skip="no prompt could be fetched")
    expect_each(results, is_object, "an object")
    expect_each(results, lambda result: isinstance(result.get("messages"), list), "an array in messages")
    messages = [message for array in members(results, "messages") for message in array.each()]
    expect_each(messages, is_object, "an object")
    expect_each(members(results, "description"), is_string, "a string, or no description")


@pytest.mark.requirement("prompts.get.message-role")
@pytest.mark.capability("prompts")
def test_a_message_is_from_the_user_or_the_assistant(server):
    messages = require_some(messages_of(server), skip="no prompt has a message")
    roles = ("user", "assistant")
    expect_each(messages, lambda message: message.get("role") in roles, f"a role: {' or '.join(roles)}")


@pytest.mark.requirement("prompts.get.message-content-single")
@pytest.mark.capability("prompts")
def test_a_message_has_one_content_block(server):
    messages = require_some(messages_of(server), skip="no prompt has a message")
    expect_each(messages, lambda message: is_object(message.get("content")), "an object in content")


@pytest.mark.requirement("prompts.get.message-content-type")
@pytest.mark.capability("prompts")
def test_the_content_of_a_message_is_of_a_known_type(server, revision):
    messages = require_some(messages_of(server), skip="no prompt has a message")
    blocks = [block for block in members(messages, "content") if block.is_a(dict)]
    known = content_types(revision)
    expected = f"a type of {', '.join(sorted(known))}"
    expect_each(blocks, lambda block: is_string(block.get("type")) and block["type"] in known, expected)


def messages_of(server):
    arrays = [array for array in members(results_of(server.prompts()), "messages") if array.is_a(list)]
    return [message for array in arrays for message in array.each() if message.is_a(dict)]


# Names


@pytest.mark.requirement("prompts.get.listed-is-gettable")
@pytest.mark.capability("prompts")
def test_a_listed_prompt_is_known(server):
    require_served(server, "prompts/get")
    fetches = require_some(listed_fetches(server), skip="no listed prompt was fetched")
    unknown = require_answer(get_unknown_prompt(server))
    for name, prompt, reply in fetches:
        nothing_to_refuse = not argument_names(prompt) and reply.code == -32602
        if refused_as_unknown(reply, name, unknown) or (nothing_to_refuse and same_refusal(reply, unknown)):
            raise Finding("messages", f"the answer for an unknown prompt: {reply}", reply.lines)
    if all(same_refusal(reply, unknown) for *_, reply in fetches):
        skip("each prompt is refused in the words for an unknown one, which may mean anything")


@pytest.mark.requirement("prompts.get.unknown-name-code")
@pytest.mark.capability("prompts")
def test_an_unknown_prompt_is_refused(server):
    require_served(server, "prompts/get")
    expect_error(require_own_refusal(get_unknown_prompt(server), server.prompts()), -32602)


@pytest.mark.requirement("prompts.get.unknown-name-code")
@pytest.mark.capability("prompts")
def test_an_unknown_prompt_is_refused_whatever_its_arguments(server, session):
    valid = [arguments for _, _, arguments in gettable_prompts(server)]
    if get_unknown_prompt(server).error is None:
        skip("an unknown prompt is not refused without arguments either")
    sets = require_some([arguments for arguments in valid if arguments], skip="no prompt has arguments")
    for arguments in sets[:MAX_ARGUMENT_SETS]:
        reply = require_answer(session.request("prompts/get", {"name": NO_SUCH_NAME, "arguments": arguments}))
        if reply.error is None:
            raise Finding("an error, as without arguments", str(reply), reply.lines)


@pytest.mark.requirement("prompts.get.name-required")
@pytest.mark.parametrize("params", [{}, {"name": 5}], ids=["empty", "number"])
@pytest.mark.capability("prompts")
def test_a_request_that_names_no_prompt_is_refused(server, session, params):
    require_served(server, "prompts/get")
    expect_error(require_own_refusal(session.request("prompts/get", params), server.prompts()))


@scenario
def get_unknown_prompt(server):
    return server.session.request("prompts/get", {"name": NO_SUCH_NAME, "arguments": {}})


# Arguments


@pytest.mark.requirement("prompts.get.missing-argument-code")
@pytest.mark.capability("prompts")
def test_a_missing_argument_is_refused(server, session):
    requests = [
        (name, {each: value for each, value in arguments.items() if each != missing})
        for name, prompt, arguments in gettable_prompts(server)
        for missing in argument_names(prompt, required=True)
    ]
    for name, arguments in require_some(requests, skip="no prompt that can be fetched requires an argument"):
        reply = session.request("prompts/get", {"name": name, "arguments": arguments})
        if not needs_client(reply):
            expect_error(reply, -32602)


@pytest.mark.requirement("prompts.get.arguments-validated")
@pytest.mark.capability("prompts")
def test_an_argument_that_is_an_object_is_refused(server, session):
    requests = [
        (name, {**arguments, wrong: {"a": 1}})
        for name, prompt, arguments in gettable_prompts(server)
        for wrong in argument_names(prompt)
    ]
    for name, arguments in require_some(requests, skip="no prompt that can be fetched has arguments"):
        reply = session.request("prompts/get", {"name": name, "arguments": arguments})
        if not needs_client(reply):
            expect_error(reply)


@pytest.mark.requirement("prompts.get.arguments-substituted")
@pytest.mark.capability("prompts")
def test_arguments_are_put_into_a_prompt(server):
    require_served(server, "prompts/get")
    given = [reply for reply in server.prompts() if reply.value is not None and arguments_of(reply)]
    for reply in require_some(given, skip="no prompt with arguments could be fetched"):
        left = placeholders(reply, "\n".join(message_texts(reply)))
        if left:
            expected = f"the values of {', '.join(left)}"
            raise Finding(expected, f"the names in braces: {reply}", reply.lines)


@pytest.mark.requirement("prompts.get.arguments-optional")
@pytest.mark.capability("prompts")
def test_the_arguments_of_a_prompt_may_be_left_out(server, session):
    require_served(server, "prompts/get")
    names = [
        name for name, prompt, _ in gettable_prompts(server) if not argument_names(prompt, required=True)
    ]
    replies = [
        (name, require_answer(session.request("prompts/get", {"name": name, "arguments": {}})))
        for name in names
    ]
    found = [name for name, reply in replies if reply.value is not None]
    for name in require_some(found, skip="no prompt can be fetched without arguments"):
        expect_result(session.request("prompts/get", {"name": name}))


@pytest.mark.requirement("prompts.get.arguments-optional")
@pytest.mark.capability("prompts")
def test_an_optional_argument_of_a_prompt_may_be_left_out(server, session):
    require_served(server, "prompts/get")
    prompts = [
        (name, {each: arguments.get(each, "example") for each in argument_names(prompt, required=True)})
        for name, prompt, arguments in gettable_prompts(server)
        if argument_names(prompt) != argument_names(prompt, required=True)
    ]
    for name, arguments in require_some(prompts, skip="no prompt that can be fetched has optional arguments"):
        reply = require_answer(session.request("prompts/get", {"name": name, "arguments": arguments}))
        if reply.error is not None and not needs_client(reply):
            is_refusal = reply.code == -32602  # it may need one of two optional arguments
            raise Finding("a result", str(reply), reply.lines, advisory=is_refusal)


def argument_names(prompt, *, required=False):
    """Return the names of a prompt's arguments, or of those that it requires."""
    arguments = prompt.get("arguments")
    found = [each for each in arguments.each() if each.is_a(dict)] if arguments is not None else []
    wanted = [each for each in found if not required or each.json.get("required")]
    return [name.json for name in members(wanted, "name") if name.is_a(str)]


# Failures


@pytest.mark.requirement("prompts.get.internal-error-code")
@pytest.mark.capability("prompts")
def test_a_prompt_that_fails_has_a_meaningful_code(server):
    failed = [reply for reply in server.prompts() if reply.error is not None]
    for reply in require_some(failed, skip="no listed prompt fails"):
        if is_meaningless(reply.code):
            raise Finding("error -32603, or -32602 if an argument is to blame", str(reply), reply.lines)
    require_some(gettable_prompts(server), skip="no listed prompt can be fetched")


def is_meaningless(code):
    """Return whether a code is 0, or in JSON-RPC's reserved range without a meaning there."""
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)


def listed_fetches(server):
    """Return the name, definition and best reply of each listed prompt that was fetched."""
    names = [(prompt.get("name"), prompt) for prompt in server.listed("prompts/list")]
    prompts = {name.json: prompt for name, prompt in names if name is not None and name.is_a(str)}
    best = {params_of(reply)["name"]: reply for reply in reversed(server.prompts())}
    return [(name, prompt, best[name]) for name, prompt in prompts.items() if name in best]


def gettable_prompts(server):
    """Return the name and definition of the prompts that gave a result, and the arguments that they got."""
    found = [
        (name, prompt, reply) for name, prompt, reply in listed_fetches(server) if reply.value is not None
    ]
    return [(name, prompt, params_of(reply)["arguments"]) for name, prompt, reply in found]


def params_of(reply):
    return reply.request.message["params"]


def arguments_of(reply):
    """Return the arguments with which a prompt was fetched."""
    return reply.request.message["params"].get("arguments") or {}


def message_texts(reply):
    """Return the texts of the messages of a prompt."""
    messages = [message for array in members([reply.value], "messages") for message in array.each()]
    return [text.json for text in members(members(messages, "content"), "text") if text.is_a(str)]


def placeholders(reply, text):
    """Return the arguments of a prompt whose names stand in braces in its text, which lacks their values."""
    return [
        name
        for name, value in arguments_of(reply).items()
        if re.search(rf"\{{\s*{re.escape(name)}\s*\}}", text) and not (value and value in text)
    ]
