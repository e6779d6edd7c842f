"""Announcements that a list has changed (spec: server/tools, "List Changed Notification")."""

from __future__ import annotations

import pytest

from conformance.client.refusals import NO_SUCH_URI
from conformance.client.subscriptions import FLAGS, NEWS, UPDATED
from conformance.expect import expect, expect_each, expect_none, require_some, skip
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.value import members
from conformance.scenarios.list_changes import GRACE, unheard_change
from conformance.scenarios.subscriptions import (
    EVERY,
    asked_for,
    declared,
    evoke_news,
    expect_tagged,
    is_list_change_told,
    listening,
    unasked,
)
from conformance.verdicts import Finding

CHANGED = "notifications/tools/list_changed"


# The tools


@pytest.mark.requirement("tools.list-changed.sent")
def test_a_changed_list_is_announced(server):
    call, is_told = is_list_change_told(server, "tools")
    if not is_told:
        raise Finding(CHANGED, f"nothing in {GRACE:g} s or more, although the list changed", call.lines)


@pytest.mark.requirement("tools.list-changed.negotiated", "capabilities.tools.list-changed-declared")
def test_only_a_declared_change_is_announced(server, traffic):
    announced = [each for each in traffic(Kind.NOTIFICATION) if each.json["method"] == CHANGED]
    require_some(announced, skip="no change of the list of tools was announced")
    server.require_discovery()
    if not server.declares("tools", "listChanged"):
        raise Finding(
            "tools.listChanged declared as true",
            f"{server.offers}, and yet {announced[0]}",
            announced[0].lines,
        )


@pytest.mark.requirement("tools.list-changed.shape")
def test_the_announcement_is_a_notification(server, traffic):
    evoke_news(server)
    named = (CHANGED, CHANGED.removeprefix("notifications/"))
    announced = [each for each in traffic(Kind.NOTIFICATION, Kind.REQUEST) if each.json["method"] in named]
    require_some(announced, skip="no change of the list of tools was announced")
    expect_each(members(announced, "method"), lambda method: method == CHANGED, f"the method {CHANGED}")
    expect_each(announced, lambda message: "id" not in message, "no id")
    expect_each(members(announced, "params"), lambda params: isinstance(params, dict), "an object")


# Who listens


@pytest.mark.requirement("list-changed.ack-matches-capabilities")
def test_what_is_declared_is_agreed_to(server):
    server.require_discovery()
    listen = listening(server).acknowledged.get(EVERY) or skip("no listen request was acknowledged")
    for member, path in FLAGS.items():
        agreed, is_declared = listen.agreed.get(member), member in declared(server)
        what = "agreed to" if is_declared else "left out"
        expected = f"{member} {what}, by what is declared as {'.'.join(path)}"
        is_free = member == NEWS[UPDATED] and is_declared and NO_SUCH_URI in listen.filter[member]
        expect(listen.acknowledgment, is_free or (agreed not in (None, False, [])) == is_declared, expected)


@pytest.mark.requirement("tools.list-changed.only-if-subscribed")
def test_changed_tools_are_told_only_to_who_listens(server):
    expect_told_only_to_listeners(server, "tools")


@pytest.mark.requirement("prompts.list-changed.only-if-subscribed")
def test_changed_prompts_are_told_only_to_who_listens(server):
    expect_told_only_to_listeners(server, "prompts")


@pytest.mark.requirement("resources.list-changed.only-if-subscribed")
def test_changed_resources_are_told_only_to_who_listens(server):
    expect_told_only_to_listeners(server, "resources")


@pytest.mark.requirement("tools.list-changed.subscription-id")
def test_news_of_tools_name_their_subscription(server):
    expect_subscription_ids(server, "tools")


@pytest.mark.requirement("prompts.list-changed.subscription-id")
def test_news_of_prompts_name_their_subscription(server):
    expect_subscription_ids(server, "prompts")


@pytest.mark.requirement("resources.list-changed.subscription-id")
def test_news_of_resources_name_their_subscription(server):
    expect_subscription_ids(server, "resources")


def expect_told_only_to_listeners(server, feature):
    method = f"notifications/{feature}/list_changed"
    expected = f"nothing for who did not ask for {NEWS[method]}"
    expect_none(unasked(server, method), expected)
    change = unheard_change(server)
    if feature not in change.features:
        skip(f"calling {change.tool} did not change the list of {feature}: {change.call}")


def expect_subscription_ids(server, feature):
    told = asked_for(server, f"notifications/{feature}/list_changed")
    expect_tagged(require_some(told, skip=f"no change of {feature} was told"))
