"""Listing prompts, the members of a prompt, and changes of the list (spec: server/prompts)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import (
    expect_each,
    expect_result,
    is_boolean,
    is_object,
    is_string,
    require_some,
)
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.list_changes import (
    NOTIFICATION_SECONDS,
    expect_announced_between_lists,
    expect_announced_by_calls,
)
from mcp_conformance.scenarios.list_stability import (
    NO_ARGUMENTS_FORMS,
    expect_items,
    expect_list_answered,
    expect_same_after_reads,
    expect_same_each_time,
    expect_same_in_every_process,
    repeated_identifiers,
    require_answered_form,
    require_lists_around_reads,
    require_pages,
)
from mcp_conformance.scenarios.subscriptions import list_change_notified, trigger_notifications
from mcp_conformance.verdicts import Finding

LIST = "prompts/list"
LIST_CHANGED = "notifications/prompts/list_changed"


# The list


@pytest.mark.requirement("prompts.list.answered")
@pytest.mark.capability("prompts")
def test_declared_prompts_are_listed(server, session):
    expect_list_answered(server, session, LIST)


@pytest.mark.requirement("prompts.list.result-shape")
@pytest.mark.capability("prompts")
def test_a_page_has_an_array_of_prompts(server):
    expect_items(require_pages(server, LIST), LIST)


@pytest.mark.requirement("prompts.list.params-optional")
@pytest.mark.parametrize("form", NO_ARGUMENTS_FORMS)
@pytest.mark.capability("prompts")
def test_the_list_of_prompts_needs_no_params(session, form):
    expect_result(require_answered_form(session, LIST, form))


@pytest.mark.requirement("prompts.list.same-per-connection", "stateless.list-invariant")
@pytest.mark.capability("prompts")
def test_every_process_lists_the_same_prompts(server):
    expect_same_in_every_process(server, LIST)


@pytest.mark.requirement("prompts.list.no-side-effect-variation", "stateless.list-invariant")
@pytest.mark.capability("prompts")
def test_requests_that_only_read_leave_the_prompts_as_they_are(server):
    expect_same_after_reads(require_lists_around_reads(server, LIST), LIST)


@pytest.mark.requirement("prompts.list.no-side-effect-variation", "drift.lists")
@pytest.mark.capability("prompts")
def test_a_list_of_prompts_changes_not_by_being_fetched(server):
    expect_same_each_time(server, LIST)


# A prompt


@pytest.mark.requirement("prompts.def.name-string")
@pytest.mark.capability("prompts")
def test_a_prompt_has_a_name(server):
    prompts = require_some(prompts_of(server), skip="no prompt is listed")
    expect_each(prompts, lambda prompt: is_string(prompt.get("name")), "a string in name")


@pytest.mark.requirement("prompts.def.name-unique")
@pytest.mark.capability("prompts")
def test_no_two_prompts_share_a_name(server, session):
    prompts = require_some(prompts_of(server), skip="no prompt is listed")
    names = [name for name in members(prompts, "name") if name.is_a(str)]
    require_some(names, skip="no listed prompt has a name")
    for name, namesakes in repeated_identifiers(server, session, LIST):
        raise Finding("each name once", f"{len(namesakes)} prompts named {name!r}", namesakes[1].lines)


@pytest.mark.requirement("prompts.def.optional-members")
@pytest.mark.capability("prompts")
def test_a_prompt_describes_itself_in_strings(server, revision):
    prompts = require_some(prompts_of(server), skip="no prompt is listed")
    expect_described(prompts, revision)


@pytest.mark.requirement("prompts.def.arguments-shape")
@pytest.mark.capability("prompts")
def test_the_arguments_of_a_prompt_are_described_in_full(server, revision):
    prompts = require_some(prompts_of(server), skip="no prompt is listed")
    arrays = require_some(members(prompts, "arguments"), skip="no prompt declares arguments")
    expect_each(arrays, lambda arguments: isinstance(arguments, list), "an array, or no arguments")
    arguments = [argument for array in arrays for argument in array.each()]
    expect_each(arguments, is_object, "an object")
    expect_each(arguments, lambda argument: is_string(argument.get("name")), "a string in name")
    expect_each(members(arguments, "required"), is_boolean, "true or false")
    expect_described(arguments, revision)


def prompts_of(server):
    return [prompt for prompt in server.listed(LIST) if prompt.is_a(dict)]


def expect_described(objects, revision):
    """Expect strings in the optional members that describe an object."""
    for member in ("description", "title") if revision >= "2025-06-18" else ("description",):
        expect_each(members(objects, member), is_string, f"a string, or no {member}")


# Changes of the list


@pytest.mark.requirement("prompts.list-changed.sent")
@pytest.mark.capability("prompts", "listChanged")
def test_a_changed_list_of_prompts_is_announced(server):
    call, is_announced = list_change_notified(server, "prompts")
    if not is_announced:
        got = f"nothing in {NOTIFICATION_SECONDS:g} s or more, although the list changed"
        raise Finding(LIST_CHANGED, got, call.lines)


@pytest.mark.requirement("prompts.list-changed.sent")
@pytest.mark.capability("prompts", "listChanged")
def test_prompts_that_calls_have_changed_are_announced(server):
    expect_announced_by_calls(server, "prompts")


@pytest.mark.requirement("prompts.list-changed.sent")
@pytest.mark.capability("prompts", "listChanged")
def test_prompts_that_change_between_two_lists_are_announced(server):
    expect_announced_between_lists(server, "prompts")


@pytest.mark.requirement(
    "prompts.list-changed.negotiated",
    "prompts.capabilities-respected",
    "lifecycle.operation.server-features",
)
def test_only_a_declared_change_of_the_prompts_is_announced(server, messages):
    announced = [each for each in messages(Kind.NOTIFICATION) if each.json["method"] == LIST_CHANGED]
    require_some(announced, skip="no change of the list of prompts was announced")
    server.require_discovery()
    if not server.declares("prompts", "listChanged"):
        got = f"{server.offers}, and yet {announced[0]}"
        raise Finding("prompts.listChanged declared as true", got, announced[0].lines)


@pytest.mark.requirement("prompts.list-changed.shape")
def test_the_announcement_of_changed_prompts_is_a_notification(server, messages):
    trigger_notifications(server)
    methods = (LIST_CHANGED, LIST_CHANGED.removeprefix("notifications/"))
    found = messages(Kind.NOTIFICATION, Kind.REQUEST)
    announced = [each for each in found if each.json["method"] in methods]
    require_some(announced, skip="no change of the list of prompts was announced")
    expect_each(
        members(announced, "method"), lambda method: method == LIST_CHANGED, f"the method {LIST_CHANGED}"
    )
    expect_each(announced, lambda message: "id" not in message, "no id")
    expect_each(members(announced, "params"), is_object, "an object")
