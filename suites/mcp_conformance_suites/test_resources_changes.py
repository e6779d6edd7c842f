"""Changes of resources: of their list, and of subscribed resources (spec: server/resources)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.refusals import NO_SUCH_URI
from mcp_conformance.client.subscriptions import UPDATED
from mcp_conformance.expect import (
    expect_each,
    expect_error,
    expect_none,
    expect_result,
    is_object,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.invalid_requests import expect_removed
from mcp_conformance.scenarios.list_changes import (
    NOTIFICATION_SECONDS,
    expect_announced_between_lists,
    expect_announced_by_calls,
)
from mcp_conformance.scenarios.resource_templates import is_templated
from mcp_conformance.scenarios.resource_updates import (
    SUBSCRIBE,
    UNSUBSCRIBE,
    asks_in_vain,
    leaves_requests_unanswered,
    missing_updates,
    resource_notifications,
    subscribe_replies,
    unrequested_updates,
    update_trial,
)
from mcp_conformance.scenarios.subscriptions import (
    expect_subscription_ids,
    list_change_notified,
    requested_notifications,
)
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

LIST_CHANGED = "notifications/resources/list_changed"


# The list


@pytest.mark.requirement("resources.list-changed.sent")
@pytest.mark.capability("resources", "listChanged")
def test_a_changed_list_of_resources_is_announced(server):
    call, is_announced = list_change_notified(server, "resources")
    if not is_announced:
        got = f"nothing in {NOTIFICATION_SECONDS:g} s or more, although the list changed"
        raise Finding(LIST_CHANGED, got, call.lines)


@pytest.mark.requirement("resources.list-changed.sent")
@pytest.mark.capability("resources", "listChanged")
def test_resources_that_calls_have_changed_are_announced(server):
    expect_announced_by_calls(server, "resources")


@pytest.mark.requirement("resources.list-changed.sent")
@pytest.mark.capability("resources", "listChanged")
def test_resources_that_change_between_two_lists_are_announced(server):
    expect_announced_between_lists(server, "resources")


@pytest.mark.requirement("resources.list-changed.negotiated", "lifecycle.operation.server-features")
def test_only_a_declared_change_of_the_resources_is_announced(server):
    announced = resource_notifications(server, LIST_CHANGED)
    require_some(announced, skip="no change of the list of resources was announced")
    server.require_discovery()
    if not server.declares("resources", "listChanged"):
        got = f"{server.offers}, and yet {announced[0]}"
        raise Finding("resources.listChanged declared as true", got, announced[0].lines)


@pytest.mark.requirement("resources.list-changed.shape")
def test_the_announcement_of_changed_resources_is_a_notification(server):
    announced = resource_notifications(server, LIST_CHANGED, "resources/list_changed")
    require_some(announced, skip="no changed list was announced")
    expect_notifications(announced, LIST_CHANGED)


# Subscribing


@pytest.mark.requirement("resources.subscribe.accepted")
@pytest.mark.capability("resources", "subscribe")
def test_a_listed_resource_can_be_subscribed_to(server):
    require_served(server, SUBSCRIBE)
    replies = require_some(subscribe_replies(server), skip="no resource is listed")
    if all(require_answer(reply).value is None for reply, _ in replies):
        if asks_in_vain(server):
            skip("the client refused what the server asked: see lifecycle.operation.client-features")
        reply = replies[0][0]
        raise Finding("a result for one listed resource at least", str(reply), reply.lines)


@pytest.mark.requirement("resources.unsubscribe.accepted")
@pytest.mark.capability("resources", "subscribe")
def test_a_client_can_unsubscribe_from_a_resource(server):
    replies = [reply for _, reply in subscribe_replies(server) if reply is not None]
    for reply in require_some(replies, skip="no subscription was accepted"):
        expect_result(reply)


@pytest.mark.requirement("resources.subscribe.unknown-uri")
@pytest.mark.capability("resources", "subscribe")
def test_an_unknown_resource_cannot_be_subscribed_to(server):
    require_served(server, SUBSCRIBE)
    if leaves_requests_unanswered(server) or is_templated(server, NO_SUCH_URI):
        skip("subscriptions are not answered, or a template matches any URI")
    session = server.shared("subscriptions")
    reply = session.request(SUBSCRIBE, {"uri": NO_SUCH_URI})
    if reply.value is not None:
        session.request(UNSUBSCRIBE, {"uri": NO_SUCH_URI})
    expect_error(reply, -32002)


@pytest.mark.requirement("resources.subscribe.removed")
@pytest.mark.parametrize("method", [SUBSCRIBE, UNSUBSCRIBE])
def test_subscribe_methods_are_removed(server, session, method):
    expect_removed(server, session.request(method, {"uri": NO_SUCH_URI}))


# Updates


@pytest.mark.requirement("resources.subscribe.updated-sent")
@pytest.mark.capability("resources", "subscribe")
def test_a_changed_resource_is_announced_to_its_subscriber(server):
    call, missing = missing_updates(server)
    if missing:
        got = f"nothing in {NOTIFICATION_SECONDS:g} s or more"
        raise Finding(f"{UPDATED} for {missing[0]}", got, call.lines)


@pytest.mark.requirement("resources.unsubscribe.stops")
@pytest.mark.capability("resources", "subscribe")
def test_updates_stop_after_unsubscribing(server):
    trial = update_trial(server)
    late = [uri for uri in members(trial.late_updates, "params", "uri") if uri.json in trial.unsubscribed]
    unchanged = f"calling {trial.tool} again changed nothing that was unsubscribed from"
    require_some([*late, *trial.changed_again], skip=unchanged)
    expect_none(late, "no update of a resource that was unsubscribed from")


@pytest.mark.requirement("resources.subscribe.updated-shape")
def test_an_update_is_a_notification_that_names_a_resource(server):
    updates = resource_notifications(server, UPDATED, "resources/updated")
    require_some(updates, skip="no update of a resource came")
    expect_notifications(updates, UPDATED)
    expect_each(updates, names_a_resource, "an object params with a string in uri")


@pytest.mark.requirement("resources.subscribe.updated-only-subscribed")
def test_updates_are_sent_only_to_subscribers(server):
    require_some(resource_notifications(server, UPDATED), skip="no update of a resource came")
    expect_none(unrequested_updates(server), "no update for a client that has not subscribed")


@pytest.mark.requirement("resources.subscribe.updated-subscription-id")
def test_an_update_names_its_subscription(server):
    updates = requested_notifications(server, UPDATED)
    expect_subscription_ids(require_some(updates, skip="no update of a resource came"))


@pytest.mark.requirement("resources.subscribe.updated-negotiated", "lifecycle.operation.server-features")
def test_updates_are_sent_only_if_declared(server):
    updates = resource_notifications(server, UPDATED)
    require_some(updates, skip="no update of a resource came")
    if not server.declares("resources", "subscribe"):
        got = f"{server.offers}, and yet {updates[0]}"
        raise Finding("resources.subscribe declared as true", got, updates[0].lines)


def expect_notifications(messages, method):
    expect_each(members(messages, "method"), lambda each: each == method, f"the method {method}")
    expect_each(messages, lambda message: "id" not in message, "no id")
    expect_each(members(messages, "params"), is_object, "an object")


def names_a_resource(message):
    params = message.get("params")
    return is_object(params) and is_string(params.get("uri"))
