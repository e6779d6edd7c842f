"""Listing prompts, what a listed prompt looks like, and news of the list (spec: server/prompts)."""

from __future__ import annotations

import pytest

from conformance.client.session import NO_PARAMS
from conformance.expect import expect, expect_each, expect_result, require_some, skip
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.value import members
from conformance.scenarios.list_changes import NOTIFICATION_SECONDS
from conformance.scenarios.list_stability import (
    expect_same_after_reads,
    expect_same_in_every_process,
    repeated_identifiers,
)
from conformance.scenarios.subscriptions import list_change_notified, trigger_notifications
from conformance.verdicts import Finding

CHANGED = "notifications/prompts/list_changed"


def is_string(value):
    return isinstance(value, str)


def is_object(value):
    return isinstance(value, dict)


def needs_prompts(server):
    if not server.declares("prompts"):
        skip("prompts are not declared")


# The list


@pytest.mark.requirement("prompts.list.answered")
def test_declared_prompts_are_listed(server, session):
    needs_prompts(server)
    reply = session.request("prompts/list")
    if reply.code == -32603:
        reply = session.request("prompts/list")
    expect_result(reply)


@pytest.mark.requirement("prompts.list.result-shape")
def test_a_page_has_an_array_of_prompts(server):
    needs_prompts(server)
    pages = [reply.value for reply in server.listing("prompts/list").replies if reply.value is not None]
    for page in require_some(pages, skip="prompts/list gave no result"):
        prompts = page.get("prompts")
        expect(prompts or page, prompts is not None and prompts.is_a(list), "an array in prompts")
        expect_each(prompts.each(), is_object, "an object")


@pytest.mark.requirement("prompts.list.params-optional")
@pytest.mark.parametrize("form", ["absent", "empty", "meta"])
def test_the_list_of_prompts_needs_no_params(server, session, form):
    needs_prompts(server)
    forms = {"absent": NO_PARAMS, "empty": {}, "meta": {"_meta": {}}}
    replies = {name: session.request("prompts/list", params) for name, params in forms.items()}
    if all(reply.value is None for reply in replies.values()):
        skip("prompts/list gives no result in any form")
    expect_result(replies[form])


@pytest.mark.requirement("prompts.list.same-per-connection", "stateless.list-invariant")
def test_every_process_lists_the_same_prompts(server):
    expect_same_in_every_process(server, "prompts/list")


@pytest.mark.requirement("prompts.list.no-side-effect-variation", "stateless.list-invariant")
def test_requests_that_only_read_leave_the_prompts_as_they_are(server):
    expect_same_after_reads(server, "prompts/list")


# A prompt


@pytest.mark.requirement("prompts.def.name-string")
def test_a_prompt_has_a_name(server):
    expect_each(listed(server), lambda prompt: is_string(prompt.get("name")), "a string in name")


@pytest.mark.requirement("prompts.def.name-unique")
def test_no_two_prompts_share_a_name(server, session):
    require_some(
        [name for name in members(listed(server), "name") if name.is_a(str)],
        skip="no listed prompt has a name",
    )
    for name, namesakes in repeated_identifiers(server, session, "prompts/list"):
        raise Finding("each name once", f"{len(namesakes)} prompts named {name!r}", namesakes[1].lines)


@pytest.mark.requirement("prompts.def.optional-members")
def test_a_prompt_describes_itself_in_strings(server, revision):
    for member in ("description", "title") if revision >= "2025-06-18" else ("description",):
        expect_each(members(listed(server), member), is_string, f"a string, or no {member}")


@pytest.mark.requirement("prompts.def.arguments-shape")
def test_the_arguments_of_a_prompt_are_described_in_full(server, revision):
    found = require_some(members(listed(server), "arguments"), skip="no prompt declares arguments")
    expect_each(found, lambda arguments: isinstance(arguments, list), "an array, or no arguments")
    arguments = [argument for array in found for argument in array.each()]
    expect_each(arguments, is_object, "an object")
    expect_each(arguments, lambda argument: is_string(argument.get("name")), "a string in name")
    expect_each(members(arguments, "required"), lambda value: isinstance(value, bool), "true or false")
    for member in ("description", "title") if revision >= "2025-06-18" else ("description",):
        expect_each(members(arguments, member), is_string, f"a string, or no {member}")


def listed(server):
    found = [prompt for prompt in server.listed("prompts/list") if prompt.is_a(dict)]
    return require_some(found, skip="no prompt is listed")


# ChangeNotification of the list


@pytest.mark.requirement("prompts.list-changed.sent")
def test_a_changed_list_of_prompts_is_announced(server):
    call, is_told = list_change_notified(server, "prompts")
    if not is_told:
        raise Finding(CHANGED, f"nothing in {NOTIFICATION_SECONDS:g} s or more, although the list changed", call.lines)


@pytest.mark.requirement("prompts.list-changed.negotiated", "prompts.capabilities-respected")
def test_only_a_declared_change_of_the_prompts_is_announced(server, traffic):
    announced = [each for each in traffic(Kind.NOTIFICATION) if each.json["method"] == CHANGED]
    require_some(announced, skip="no change of the list of prompts was announced")
    server.require_discovery()
    if not server.declares("prompts", "listChanged"):
        got = f"{server.offers}, and yet {announced[0]}"
        raise Finding("prompts.listChanged declared as true", got, announced[0].lines)


@pytest.mark.requirement("prompts.list-changed.shape")
def test_the_announcement_of_changed_prompts_is_a_notification(server, traffic):
    trigger_notifications(server)
    named = (CHANGED, CHANGED.removeprefix("notifications/"))
    announced = [each for each in traffic(Kind.NOTIFICATION, Kind.REQUEST) if each.json["method"] in named]
    require_some(announced, skip="no change of the list of prompts was announced")
    expect_each(members(announced, "method"), lambda method: method == CHANGED, f"the method {CHANGED}")
    expect_each(announced, lambda message: "id" not in message, "no id")
    expect_each(members(announced, "params"), is_object, "an object")
