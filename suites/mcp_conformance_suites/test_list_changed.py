"""Notifications of changed lists (spec: server/tools, "List Changed Notification")."""

from __future__ import annotations

import pytest

from mcp_conformance.client.refusals import NO_SUCH_URI
from mcp_conformance.client.subscriptions import FILTER_MEMBERS, FLAGS, UPDATED
from mcp_conformance.expect import expect, expect_each, expect_none, is_object, require, require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.list_changes import (
    NOTIFICATION_SECONDS,
    expect_announced_between_lists,
    expect_announced_by_calls,
    expect_announcements_of_changes,
    unsubscribed_change,
)
from mcp_conformance.scenarios.subscriptions import (
    SubscriptionCase,
    declared_members,
    expect_subscription_ids,
    list_change_notified,
    requested_notifications,
    subscriptions,
    trigger_notifications,
    unrequested_notifications,
)
from mcp_conformance.scenarios.switched_lists import expect_announced_by_others
from mcp_conformance.verdicts import Finding

CHANGED = "notifications/tools/list_changed"


# The tools


@pytest.mark.requirement(
    "tools.list-changed.sent", "prompts.list-changed.sent", "resources.list-changed.sent"
)
@pytest.mark.parametrize("feature", ["tools", "prompts", "resources"])
def test_a_list_that_is_announced_has_changed(server, feature):
    if not server.declares(feature, "listChanged"):
        skip(f"{feature}.listChanged is not declared")
    expect_announcements_of_changes(server, feature)


@pytest.mark.requirement(
    "tools.list-changed.sent", "prompts.list-changed.sent", "resources.list-changed.sent"
)
@pytest.mark.parametrize("feature", ["tools", "prompts", "resources"])
@pytest.mark.stage("last")
def test_a_list_that_other_arguments_change_is_announced(server, feature):
    if not server.declares(feature, "listChanged"):
        skip(f"{feature}.listChanged is not declared")
    expect_announced_by_others(server, feature)


@pytest.mark.requirement("tools.list-changed.sent")
@pytest.mark.capability("tools", "listChanged")
def test_a_changed_list_of_tools_is_announced(server):
    call, is_notified = list_change_notified(server, "tools")
    if not is_notified:
        got = f"nothing in {NOTIFICATION_SECONDS:g} s or more, although the list changed"
        raise Finding(CHANGED, got, call.lines)


@pytest.mark.requirement("tools.list-changed.sent")
@pytest.mark.capability("tools", "listChanged")
def test_tools_that_calls_have_changed_are_announced(server):
    expect_announced_by_calls(server, "tools")


@pytest.mark.requirement("tools.list-changed.sent")
@pytest.mark.capability("tools", "listChanged")
def test_tools_that_change_between_two_lists_are_announced(server):
    expect_announced_between_lists(server, "tools")


@pytest.mark.requirement(
    "tools.list-changed.negotiated",
    "capabilities.tools.list-changed-declared",
    "lifecycle.operation.server-features",
)
def test_only_a_declared_change_of_the_tools_is_announced(server, messages):
    announced = [each for each in messages(Kind.NOTIFICATION) if each.json["method"] == CHANGED]
    require_some(announced, skip="no change of the list of tools was announced")
    server.require_discovery()
    if not server.declares("tools", "listChanged"):
        got = f"{server.offers}, and yet {announced[0]}"
        raise Finding("tools.listChanged declared as true", got, announced[0].lines)


@pytest.mark.requirement("tools.list-changed.shape")
def test_the_announcement_of_changed_tools_is_a_notification(server, messages):
    trigger_notifications(server)
    named = (CHANGED, CHANGED.removeprefix("notifications/"))
    announced = [each for each in messages(Kind.NOTIFICATION, Kind.REQUEST) if each.json["method"] in named]
    require_some(announced, skip="no change of the list of tools was announced")
    expect_each(members(announced, "method"), lambda method: method == CHANGED, f"the method {CHANGED}")
    expect_each(announced, lambda message: "id" not in message, "no id")
    expect_each(members(announced, "params"), is_object, "an object")


# Subscriptions


@pytest.mark.requirement("list-changed.ack-matches-capabilities")
def test_the_acknowledged_filter_matches_the_capabilities(server):
    server.require_discovery()
    acknowledged = subscriptions(server).acknowledged
    listen = require(acknowledged.get(SubscriptionCase.ALL), skip="no listen request was acknowledged")
    acknowledgment = require(listen.acknowledgment, skip="the listen request was not acknowledged")
    for member, path in FLAGS.items():
        agreed, is_declared = listen.agreed.get(member), member in declared_members(server)
        action = "acknowledged" if is_declared else "left out"
        expected = f"{member} {action}, as {'.'.join(path)} is {'' if is_declared else 'not '}declared"
        is_unknown_uri = member == FILTER_MEMBERS[UPDATED] and NO_SUCH_URI in listen.filter[member]
        is_right = (agreed not in (None, False, [])) == is_declared
        expect(acknowledgment, is_right or (is_declared and is_unknown_uri), expected)


@pytest.mark.requirement("tools.list-changed.only-if-subscribed")
def test_changed_tools_are_announced_only_to_subscribers(server):
    stray = require_unrequested(server, "tools")
    expect_none(stray, "nothing unless a filter has toolsListChanged")


@pytest.mark.requirement("prompts.list-changed.only-if-subscribed")
def test_changed_prompts_are_announced_only_to_subscribers(server):
    stray = require_unrequested(server, "prompts")
    expect_none(stray, "nothing unless a filter has promptsListChanged")


@pytest.mark.requirement("resources.list-changed.only-if-subscribed")
def test_changed_resources_are_announced_only_to_subscribers(server):
    stray = require_unrequested(server, "resources")
    expect_none(stray, "nothing unless a filter has resourcesListChanged")


@pytest.mark.requirement("tools.list-changed.subscription-id")
def test_the_announcement_of_changed_tools_has_a_subscription_id(server):
    require_some(requested_changes(server, "tools"), skip="no change of tools was announced")
    expect_subscription_ids(requested_changes(server, "tools"))


@pytest.mark.requirement("prompts.list-changed.subscription-id")
def test_the_announcement_of_changed_prompts_has_a_subscription_id(server):
    require_some(requested_changes(server, "prompts"), skip="no change of prompts was announced")
    expect_subscription_ids(requested_changes(server, "prompts"))


@pytest.mark.requirement("resources.list-changed.subscription-id")
def test_the_announcement_of_changed_resources_has_a_subscription_id(server):
    require_some(requested_changes(server, "resources"), skip="no change of resources was announced")
    expect_subscription_ids(requested_changes(server, "resources"))


def require_unrequested(server, feature):
    """Return the notifications of changed lists that no filter requested.

    If there are none, skip the check unless a list changed without a subscription.
    """
    stray = unrequested_notifications(server, f"notifications/{feature}/list_changed")
    change = unsubscribed_change(server)
    if not stray and feature not in change.features:
        skip(f"calling {change.tool} did not change the list of {feature}: {change.call}")
    return stray


def requested_changes(server, feature):
    """Return the notifications of a changed list that a subscription requested."""
    return requested_notifications(server, f"notifications/{feature}/list_changed")
