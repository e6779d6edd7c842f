"""Fetching prompts, and how a request for one fails (spec: server/prompts, "Getting a Prompt")."""

from __future__ import annotations

import pytest

from conformance.client.refusals import NO_SUCH_NAME, refused_as_unknown, same_refusal
from conformance.expect import expect_each, expect_error, expect_result, require_answer, require_some, skip
from conformance.protocol.revisions import CONTENT_TYPES
from conformance.protocol.value import members
from conformance.scenarios.request_metadata import needs_client
from conformance.verdicts import Finding

MOST_UNKNOWN = 10
JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)


def needs_prompts(server):
    if not server.declares("prompts"):
        skip("prompts are not declared")


def is_object(value):
    return isinstance(value, dict)


def is_string(value):
    return isinstance(value, str)


# What a prompt brings


@pytest.mark.requirement("prompts.get.result-shape")
def test_a_prompt_brings_an_array_of_messages(server):
    results = require_some(
        [reply.value for reply in server.prompts() if reply.value is not None],
        skip="no prompt could be fetched",
    )
    expect_each(results, is_object, "an object")
    expect_each(results, lambda result: isinstance(result.get("messages"), list), "an array in messages")
    expect_each(
        [each for array in members(results, "messages") for each in array.each()], is_object, "an object"
    )
    expect_each(members(results, "description"), is_string, "a string, or no description")


@pytest.mark.requirement("prompts.get.message-role")
def test_a_message_is_from_the_user_or_the_assistant(server):
    roles = ("user", "assistant")
    expect_each(
        messages(server), lambda message: message.get("role") in roles, f"a role: {' or '.join(roles)}"
    )


@pytest.mark.requirement("prompts.get.message-content-single")
def test_a_message_has_one_content_block(server):
    expect_each(messages(server), lambda message: is_object(message.get("content")), "an object in content")


@pytest.mark.requirement("prompts.get.message-content-type")
def test_the_content_of_a_message_is_of_a_known_type(server, revision):
    known = CONTENT_TYPES[revision]
    blocks = [block for block in members(messages(server), "content") if block.is_a(dict)]
    wanted = f"a type of {', '.join(sorted(known))}"
    expect_each(blocks, lambda block: is_string(block.get("type")) and block["type"] in known, wanted)


def messages(server):
    results = [reply.value for reply in server.prompts() if reply.value is not None]
    arrays = [array for array in members(results, "messages") if array.is_a(list)]
    found = [message for array in arrays for message in array.each() if message.is_a(dict)]
    return require_some(found, skip="no prompt brought a message")


# Names


@pytest.mark.requirement("prompts.get.listed-is-gettable")
def test_a_listed_prompt_is_known(server):
    prompts = require_some(asked(server), skip="no prompt is listed that could be asked for")
    unknown = require_answer(ask_for_an_unknown_prompt(server))
    for name, prompt, reply in prompts:
        nothing_to_refuse = not argument_names(prompt) and reply.code == -32602
        if refused_as_unknown(reply, name, unknown) or (nothing_to_refuse and same_refusal(reply, unknown)):
            raise Finding("messages", f"what an unknown prompt gets: {reply}", reply.lines)


@pytest.mark.requirement("prompts.get.unknown-name-code")
def test_an_unknown_prompt_is_refused(server):
    needs_prompts(server)
    expect_error(ask_for_an_unknown_prompt(server), -32602)


@pytest.mark.requirement("prompts.get.unknown-name-code")
def test_an_unknown_prompt_is_refused_whatever_its_arguments(server, session):
    needs_prompts(server)
    fitting = [dict.fromkeys(argument_names(prompt), "example") for _, prompt in fetched(server)]
    if ask_for_an_unknown_prompt(server).error is None:
        skip("an unknown prompt is not refused without arguments either")
    for arguments in require_some([one for one in fitting if one], skip="no prompt has arguments")[
        :MOST_UNKNOWN
    ]:
        reply = require_answer(session.request("prompts/get", {"name": NO_SUCH_NAME, "arguments": arguments}))
        if reply.error is None:
            raise Finding("an error, as without arguments", str(reply), reply.lines)


@pytest.mark.requirement("prompts.get.name-required")
@pytest.mark.parametrize("params", [{}, {"name": 5}], ids=["empty", "number"])
def test_a_request_that_names_no_prompt_is_refused(server, session, params):
    needs_prompts(server)
    expect_error(session.request("prompts/get", params))


def ask_for_an_unknown_prompt(server):
    params = {"name": NO_SUCH_NAME, "arguments": {}}
    return server.once("unknown prompt", lambda: server.session.request("prompts/get", params))


# Arguments


@pytest.mark.requirement("prompts.get.missing-argument-code")
def test_a_missing_argument_is_refused(server, session):
    found = [
        (name, missing, {each: "example" for each in argument_names(prompt) if each != missing})
        for name, prompt in fetched(server)
        for missing in argument_names(prompt, required=True)
    ]
    for name, _, arguments in require_some(found, skip="no prompt that can be fetched requires an argument"):
        reply = session.request("prompts/get", {"name": name, "arguments": arguments})
        if not needs_client(reply):
            expect_error(reply, -32602)


@pytest.mark.requirement("prompts.get.arguments-validated")
def test_an_argument_that_is_an_object_is_refused(server, session):
    found = [
        (name, {each: {"a": 1} if each == wrong else "example" for each in argument_names(prompt)})
        for name, prompt in fetched(server)
        for wrong in argument_names(prompt)
    ]
    for name, arguments in require_some(found, skip="no prompt that can be fetched has arguments"):
        reply = session.request("prompts/get", {"name": name, "arguments": arguments})
        if not needs_client(reply):
            expect_error(reply)


@pytest.mark.requirement("prompts.get.arguments-optional")
def test_the_arguments_of_a_prompt_may_be_left_out(server, session):
    names = [name for name, prompt in fetched(server) if not argument_names(prompt, required=True)]
    bare = {
        name: require_answer(session.request("prompts/get", {"name": name, "arguments": {}}))
        for name in names
    }
    found = [name for name, reply in bare.items() if reply.value is not None]
    for name in require_some(found, skip="no prompt can be fetched without arguments"):
        expect_result(session.request("prompts/get", {"name": name}))


def argument_names(prompt, *, required=False):
    """The names of the arguments of a prompt, or of those that it requires."""
    arguments = prompt.get("arguments")
    found = [each for each in arguments.each() if each.is_a(dict)] if arguments is not None else []
    wanted = [each for each in found if not required or each.json.get("required") is True]
    return [name.json for name in members(wanted, "name") if name.is_a(str)]


# Failures


@pytest.mark.requirement("prompts.get.internal-error-code")
def test_a_prompt_that_fails_has_a_code_that_means_something(server):
    failed = [reply for _, _, reply in asked(server) if reply.error is not None]
    for reply in require_some(failed, skip="no listed prompt fails"):
        if is_meaningless(reply.code):
            raise Finding("error -32603, or -32602 if an argument is to blame", str(reply), reply.lines)


def is_meaningless(code):
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)


def asked(server):
    """Each listed prompt that was asked for: its name, its definition, and what became of it."""
    prompts = {
        name.json: prompt
        for prompt in server.listed("prompts/list")
        for name in members([prompt], "name")
        if name.is_a(str)
    }
    replies = {reply.request.message["params"]["name"]: reply for reply in server.prompts()}
    return [(name, prompt, replies[name]) for name, prompt in prompts.items() if name in replies]


def fetched(server):
    """The listed prompts that can be fetched with a string for each argument: name and definition."""
    return [(name, prompt) for name, prompt, reply in asked(server) if reply.value is not None]
