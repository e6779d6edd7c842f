"""What a server may ask of its client: roots, sampling, elicitation (spec: client)."""

from __future__ import annotations

import json
import re

import pytest

from conformance.client.handlers import MAX_TOOL_USES
from conformance.expect import expect, expect_each, expect_none, require_answer, require_some, skip
from conformance.json_schema.validation import Unjudgeable, instance_errors
from conformance.protocol.jsonrpc import ABSENT, Kind, kind, show
from conformance.protocol.methods import FEATURES
from conformance.protocol.revisions import DEFAULT_DIALECT, elicits_by_url, is_modern
from conformance.protocol.uri import is_uri
from conformance.protocol.value import Value, members
from conformance.scenarios.client_features import (
    CANCELLING,
    INVALID_ANSWERS,
    DECLINING,
    FEATURES_ONLY,
    FULL_CLIENT,
    SAMPLING_TOOLS,
    URL_ELICITATION,
    expect_answers,
    run_with_client,
)
from conformance.scenarios.invalid_requests import call_unknown, malformed_call
from conformance.scenarios.multi_round_trip import all_results, undeclared_methods
from conformance.verdicts import Finding

ROOTS, SAMPLING, ELICITATION = FEATURES
COMPLETE = "notifications/elicitation/complete"
REQUIRED = -32042
LOCAL = re.compile(
    r"[^.]*|.*\.(localhost|local|test|internal|lan)|(127|10|192\.168|169\.254|172\.(1[6-9]|2\d|3[01]))\..*"
)
"""Hosts that are not for everybody; an address in brackets is taken for one."""


def asked(server, method):
    """The params of everything the server asks for by a method, whatever the client."""
    first = require_some(run_with_client(server, FULL_CLIENT).server_requests(method), skip=f"no permitted tool asked for {method}")
    clients = (FEATURES_ONLY, SAMPLING_TOOLS if method == SAMPLING else URL_ELICITATION) if elicits_by_url(server.revision) else ()
    others = [each for met in clients for each in run_with_client(server, met).server_requests(method)]
    return [each.get("params") or Value(None, "params", each.lines) for each in [*first, *others]]


def asked_by(server, client, method):
    """What the server asks of a client, each with the line that told what the client offers."""
    session = run_with_client(server, client).session
    return declared_and(session, session.server_requests(method))


def asked_undeclared(server, method):
    """What the server asks for by a method although nobody had declared that, or the request did not."""
    if is_modern(server.revision):
        asked = [reply for reply in all_results(server) if method in undeclared_methods(reply)]
        return [reply.value.get("inputRequests") for reply in asked]
    plain = [session for session in server.sessions if session.opening is not None and not session.capabilities]
    return [each for session in plain for each in declared_and(session, session.server_requests(method))]


def declared_and(session, asked):
    return [Value(each.json, each.path, (session.opening.request, *each.lines)) for each in asked]


def expect_shape(values, schema, revision, expected):
    for value in values:
        try:
            errors = instance_errors(value.json, {**schema, "$schema": DEFAULT_DIALECT}, revision)
        except Unjudgeable as reason:
            skip(str(reason))
        if errors:
            raise Finding(expected, f"{value.path}: {errors[0]}", value.lines)


def is_string(value):
    return isinstance(value, str)


# Roots


@pytest.mark.requirement("clientfeature.roots.capability-checked")
def test_roots_are_asked_for_only_of_a_client_that_has_some(server):
    met = run_with_client(server, FULL_CLIENT).server_requests(ROOTS)
    undeclared = asked_undeclared(server, ROOTS)
    require_some([*met, *undeclared], skip="the server never asks for roots")
    expect_none(undeclared, "no roots/list to a client that did not declare roots")


@pytest.mark.requirement("clientfeature.roots.unavailable")
def test_a_client_without_usable_roots_is_served(server):
    require_some(run_with_client(server, FULL_CLIENT).server_requests(ROOTS), skip="the server never asks for roots")
    expect_answers(run_with_client(server, DECLINING), ROOTS, "the client has no roots")
    expect_answers(run_with_client(server, CANCELLING), ROOTS, "the client's root does not exist")
    expect_answers(run_with_client(server, INVALID_ANSWERS), ROOTS, "the client could not list its roots")


# Sampling


@pytest.mark.requirement("clientfeature.sampling.schema")
def test_a_request_for_sampling_is_well_formed(server, revision):
    wanted = "params as sampling/createMessage has them"
    expect_shape(asked(server, SAMPLING), sampling_schema(revision), revision, wanted)


@pytest.mark.requirement("clientfeature.sampling.message-shape")
def test_a_message_to_a_model_has_a_role_and_content(server):
    talks = [talk for talk in members(asked(server, SAMPLING), "messages") if talk.is_a(list)]
    messages = [message for talk in talks for message in talk.each()]
    right = "a message of the user or the assistant, with content"
    expect_each(require_some(messages, skip="no message is in what a model is asked"), is_message, right)


@pytest.mark.requirement("clientfeature.sampling.tools-capability")
def test_tools_are_offered_only_to_a_model_that_can_use_them(server):
    asked(server, SAMPLING)
    params = members(asked_by(server, FEATURES_ONLY, SAMPLING), "params")
    offered = [*members(params, "tools"), *members(params, "toolChoice")]
    expect_none(offered, "no tools for a client that did not declare sampling.tools")


@pytest.mark.requirement("clientfeature.sampling.tool-results-balanced")
def test_the_use_of_a_tool_is_followed_by_its_result(server):
    asked(server, SAMPLING)
    talks = members(run_with_client(server, SAMPLING_TOOLS).server_requests(SAMPLING), "params", "messages")
    used = [talk for talk in talks if any(blocks(message, "tool_use") for message in talk.each())]
    for talk in require_some(used, skip="no tool that a model wanted to use was run"):
        messages = [*talk.each(), Value(None, "what follows", talk.lines)]
        for index, message in enumerate(messages[:-1]):
            after = messages[index + 1]
            wanted = [block.json.get("id") for block in blocks(message, "tool_use")]
            given = [block.json.get("toolUseId") for block in blocks(after, "tool_result")]
            alone = len(given) == len(blocks(after))
            expect(
                after, not wanted or (alone and same(wanted, given)), f"the results of {wanted} and no more"
            )


@pytest.mark.requirement("clientfeature.sampling.include-context")
def test_context_is_wanted_only_of_a_client_that_gives_it(server):
    asked(server, SAMPLING)
    wanted = members(asked_by(server, FEATURES_ONLY, SAMPLING), "params", "includeContext")
    expected = "none, or no includeContext, as the client did not declare sampling.context"
    expect_each(wanted, lambda context: context not in ("thisServer", "allServers"), expected)


@pytest.mark.requirement("clientfeature.sampling.iteration-limit")
def test_a_model_that_never_stops_using_tools_is_stopped(server):
    asked(server, SAMPLING)
    calls = run_with_client(server, SAMPLING_TOOLS).asking(SAMPLING)
    loops = [members(list(call.asked), "params", "tools") for call in calls]
    longest = max(
        require_some([loop for loop in loops if loop], skip="no tools were offered to a model"), key=len
    )
    if len(longest) > MAX_TOOL_USES:
        raise Finding(f"at most {MAX_TOOL_USES} rounds", f"{len(longest)} rounds", longest[-1].lines)


@pytest.mark.requirement("clientfeature.sampling.validates-content")
def test_a_sampled_message_without_content_does_no_harm(server):
    asked(server, SAMPLING)
    meeting = run_with_client(server, INVALID_ANSWERS)
    require_some(meeting.asking(SAMPLING), skip="a client without sampling.tools is not asked")
    expect_answers(meeting, SAMPLING, "the model's message had no content")


def is_message(json):
    return isinstance(json, dict) and json.get("role") in ("user", "assistant") and "content" in json


def blocks(message, type=None):
    """The content blocks of a message, of one type or all."""
    content = message.get("content") or Value([])
    found = list(content.each()) if content.is_a(list) else [content]
    return [block for block in found if type is None or (block.is_a(dict) and block.json.get("type") == type)]


def same(one, other):
    return sorted(map(json.dumps, one)) == sorted(map(json.dumps, other))


# Elicitation


@pytest.mark.requirement("clientfeature.elicitation.schema")
def test_a_form_is_flat_and_of_primitive_fields(server, revision):
    forms = [each for each in asked(server, ELICITATION) if not asks_for_a_page(each)]
    wanted = "requestedSchema: an object of strings, numbers, booleans and choices"
    expect_shape(require_some(forms, skip="no form was asked for"), form_schema(revision), revision, wanted)


@pytest.mark.requirement("clientfeature.elicitation.common-params")
def test_an_elicitation_has_a_message_and_a_known_mode(server):
    found = asked(server, ELICITATION)
    expect_each(
        found, lambda params: isinstance(params, dict) and is_string(params.get("message")), "a message"
    )
    expect_each(members(found, "mode"), lambda mode: mode in ("form", "url"), "the mode form or url")


@pytest.mark.requirement("clientfeature.elicitation.mode-supported")
def test_only_the_modes_are_used_that_the_client_declared(server):
    asked(server, ELICITATION)
    forms = modes([*asked_by(server, FEATURES_ONLY, ELICITATION), *asked_by(server, INVALID_ANSWERS, ELICITATION)])
    expect_each(forms, lambda mode: mode != "url", "no url for a client that shows forms only")
    pages = modes(asked_by(server, URL_ELICITATION, ELICITATION))
    expect_each(pages, lambda mode: mode == "url", "url for a client that declared elicitation.url alone")


@pytest.mark.requirement("clientfeature.elicitation.url-params")
def test_an_elicitation_by_url_has_a_url_and_an_id(server, revision):
    pages = asked_pages(server)
    named = [] if is_modern(revision) else pages
    expect_each(named, lambda params: is_string(params.get("elicitationId")), "a string in elicitationId")
    expect_each(pages, lambda params: is_string(params.get("url")) and is_uri(params["url"]), "a valid url")


@pytest.mark.requirement("clientfeature.elicitation.url-https")
def test_a_page_comes_over_https(server):
    urls = [url for url in members(asked_pages(server), "url") if url.is_a(str)]
    expect_each(urls, is_https_or_local, "https (http is for development)")


@pytest.mark.requirement("clientfeature.elicitation.required-error-only")
def test_no_elicitation_is_required_for_what_does_not_exist(server, session):
    replies = [session.request("conformance/no-such-method", {})]
    if any(call.reply.code != REQUIRED for call in server.calls()):
        replies += [call_unknown(server), malformed_call(server, "empty")]
    codes = members([require_answer(reply).error_value for reply in replies], "code")
    expect_each(codes, lambda code: code != REQUIRED, "another error, as no elicitation would help")


@pytest.mark.requirement("clientfeature.elicitation.complete-notification")
def test_only_an_elicitation_that_was_asked_for_is_called_complete(server):
    run_with_client(server, FULL_CLIENT)
    told = [one for session in server.sessions for one in completions(session)]
    for id, known in require_some(told, skip="no elicitation by url was called complete"):
        expect(
            id,
            is_string(id.json) and id.json in known,
            "the elicitationId of an elicitation asked for before",
        )


@pytest.mark.requirement("clientfeature.elicitation.handles-refusal")
def test_a_user_may_decline_or_cancel(server):
    asked(server, ELICITATION)
    expect_answers(run_with_client(server, DECLINING), ELICITATION, "the user declined")
    expect_answers(run_with_client(server, CANCELLING), ELICITATION, "the user cancelled")


@pytest.mark.requirement("clientfeature.elicitation.validates-data")
def test_what_a_user_fills_in_is_checked(server):
    asked(server, ELICITATION)
    right, wrong = filled_in(run_with_client(server, FULL_CLIENT)), filled_in(run_with_client(server, INVALID_ANSWERS))
    expect_answers(run_with_client(server, INVALID_ANSWERS), ELICITATION, "a field of the form had a value of the wrong type")
    both = [name for name in wrong if name in right and not is_refused(right[name][0])]
    for name in require_some(both, skip="no tool took what was filled in"):
        if is_taken_as_valid(*right[name], *wrong[name]):
            got = f"{name} took {show(wrong[name][1])} as it took {show(right[name][1])}"
            raise Finding(
                "a refusal of content that breaks the requestedSchema", got, wrong[name][0].reply.lines
            )
    checked = [name for name in both if is_refused(wrong[name][0])]
    require_some(checked, skip="what the tools answer does not tell if they check")


def modes(asked):
    """The mode of each elicitation, also where there is none."""
    return [each.get("params", "mode") or Value(ABSENT, "params.mode", each.lines) for each in asked]


def asks_for_a_page(params):
    mode = params.get("mode")
    return mode is not None and mode.json == "url"


def asked_pages(server):
    pages = [params for params in asked(server, ELICITATION) if asks_for_a_page(params)]
    return require_some(pages, skip="nobody was asked to visit a page")


def is_https_or_local(url):
    http = re.match(r"http://(?:[^/?#]*@)?([^/?#:]*)", url, re.IGNORECASE)
    return http is None or LOCAL.fullmatch(http[1].lower()) is not None


def completions(session):
    """The id of each elicitation that is called complete, and the ids that were asked for before."""
    known = set()
    for line, message in session.received():
        value = Value(message, "", (line,))
        params = value.get("params") or Value(None, "params", (line,))
        if kind(message) is Kind.NOTIFICATION and message["method"] == COMPLETE:
            yield params.get("elicitationId") or params, frozenset(known)
        entries = value.get("error", "data", "elicitations") or Value([])
        known |= {id.json for id in members([params, *entries.each()], "elicitationId") if id.is_a(str)}


def filled_in(meeting):
    """For each tool that showed a form: the call, and what its first form was filled in with."""
    contents = {}
    for call in meeting.asking(ELICITATION):
        first = next(each for each in call.asked if each.json["method"] == ELICITATION)
        content = meeting.answer(first).get("content")
        if content is not None and call.reply.fault is None:
            contents[call.tool.name] = (call, content.json)
    return contents


def is_refused(call):
    """Whether a call failed, or asks once more."""
    return call.failed or call.reply.needs_input


def is_taken_as_valid(call, content, other, wrong):
    """Whether the other call shows the wrong value, and otherwise went as the first did."""
    said, shown = spoken(other), []
    for name in content:
        value, instead = str(content[name]).lower(), str(wrong.get(name)).lower()
        if value != instead and instead in said:
            shown.append(name)
            said = said.replace(instead, value)
    return shown != [] and not other.failed and said == spoken(call)


def spoken(call):
    return re.sub(r'[\\"]', "", json.dumps(call.reply.result, sort_keys=True)).lower()


# What a right request looks like


STRING, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
STRINGS = {"type": "array", "items": STRING}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}


def an_object(required, /, **properties):
    return {"type": "object", "required": list(required), "properties": properties}


def block(type, /, **properties):
    return an_object(["type", *properties], type={"const": type}, **properties)


def sampling_schema(revision):
    known = [block("text", text=STRING), block("image", data=STRING, mimeType=STRING)]
    known += [block("audio", data=STRING, mimeType=STRING)] if revision >= "2025-03-26" else []
    if revision >= "2025-11-25":
        known.append(block("tool_use", id=STRING, name=STRING, input={"type": "object"}))
        known.append(block("tool_result", toolUseId=STRING, content={"type": "array"}))
    several = [{"type": "array", "items": {"anyOf": known}}] if revision >= "2025-11-25" else []
    message = an_object(
        ["role", "content"], role={"enum": ["user", "assistant"]}, content={"anyOf": known + several}
    )
    preferences = an_object(
        [],
        hints={"type": "array", "items": an_object([], name=STRING)},
        costPriority=SHARE,
        speedPriority=SHARE,
        intelligencePriority=SHARE,
    )
    tools = {
        "tools": {"type": "array", "items": an_object(["name", "inputSchema"], name=STRING)},
        "toolChoice": an_object([], mode={"enum": ["auto", "none", "required"]}),
    }
    return an_object(
        ["messages", "maxTokens"],
        messages={"type": "array", "items": message},
        maxTokens=INTEGER,
        modelPreferences=preferences,
        systemPrompt=STRING,
        includeContext={"enum": ["none", "thisServer", "allServers"]},
        temperature=NUMBER,
        stopSequences=STRINGS,
        metadata={"type": "object"},
        **(tools if revision >= "2025-11-25" else {}),
    )


def form_schema(revision):
    new = revision >= "2025-11-25"
    fields = {
        "type": "object",
        "additionalProperties": {"anyOf": [*plain_fields(new), *(lists() if new else [])]},
    }
    form = an_object(["type", "properties"], type={"const": "object"}, properties=fields, required=STRINGS)
    return an_object(["requestedSchema", *([] if new else ["message"])], requestedSchema=form, message=STRING)


def plain_fields(new):
    formats = {"enum": ["email", "uri", "date", "date-time"]}
    return [
        field(new, "string", default=STRING, format=formats, minLength=INTEGER, maxLength=INTEGER),
        field(new, "string", default=STRING, enum=STRINGS) | {"required": ["type", "enum"]},
        field(new, "number", default=NUMBER, minimum=NUMBER, maximum=NUMBER),
        field(new, "integer", default=NUMBER, minimum=NUMBER, maximum=NUMBER),
        field(True, "boolean", default={"type": "boolean"}),
    ]


def lists():
    titled = {"type": "array", "items": an_object(["const", "title"], const=STRING, title=STRING)}
    items = [
        an_object(["type", "enum"], type={"const": "string"}, enum=STRINGS),
        an_object(["anyOf"], anyOf=titled),
    ]
    limits = {"minItems": INTEGER, "maxItems": INTEGER}
    return [
        field(True, "array", default=STRINGS, items={"anyOf": items}, **limits)
        | {"required": ["type", "items"]}
    ]


def field(defaults, type, /, *, default, **properties):
    more = {"default": default} if defaults else {}
    return an_object(["type"], type={"const": type}, title=STRING, description=STRING, **properties, **more)
