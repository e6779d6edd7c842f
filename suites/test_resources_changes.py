"""ChangeNotification of resources: of their list, and of what was subscribed to (spec: server/resources)."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from conformance.client.refusals import NO_SUCH_URI
from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.client.subscriptions import UPDATED
from conformance.expect import (
    expect_each,
    expect_error,
    expect_none,
    expect_result,
    require_answer,
    require_some,
    skip,
)
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.revisions import is_modern
from conformance.protocol.value import Value, members
from conformance.scenarios.list_changes import NOTIFICATION_SECONDS, contents, mutating_call, replies_for
from conformance.scenarios.resource_templates import is_templated
from conformance.scenarios.subscriptions import (
    expect_subscription_ids,
    list_change_notified,
    requested_notifications,
    subscribed_change,
    subscriptions,
    trigger_notifications,
    unrequested_notifications,
)
from conformance.scenarios.traffic import exercise_everything
from conformance.verdicts import Blocked, Finding

CHANGED = "notifications/resources/list_changed"
MOST = 10


# ChangeNotification of the list


@pytest.mark.requirement("resources.list-changed.sent")
def test_a_changed_list_of_resources_is_announced(server):
    call, is_told = list_change_notified(server, "resources")
    if not is_told:
        raise Finding(CHANGED, f"nothing in {NOTIFICATION_SECONDS:g} s or more, although the list changed", call.lines)


@pytest.mark.requirement("resources.list-changed.negotiated")
def test_only_a_declared_change_of_the_resources_is_announced(server):
    announced = require_some(news(server, CHANGED), skip="no change of the list of resources was announced")
    server.require_discovery()
    if not server.declares("resources", "listChanged"):
        got = f"{server.offers}, and yet {announced[0]}"
        raise Finding("resources.listChanged declared as true", got, announced[0].lines)


@pytest.mark.requirement("resources.list-changed.shape")
def test_the_announcement_of_changed_resources_is_a_notification(server):
    announced = require_some(
        news(server, CHANGED, "resources/list_changed"), skip="no changed list was announced"
    )
    expect_notifications(announced, CHANGED)


# Subscribing


@pytest.mark.requirement("resources.subscribe.accepted")
def test_a_listed_resource_can_be_subscribed_to(server):
    asked = require_some(subscribe_replies(server), skip="no resource is listed")
    if all(require_answer(reply).value is None for reply, _ in asked):
        reply = asked[0][0]
        raise Finding("a result for one listed resource at least", str(reply), reply.lines)


@pytest.mark.requirement("resources.unsubscribe.accepted")
def test_a_subscription_can_be_given_up(server):
    answers = [answer for _, answer in subscribe_replies(server) if answer is not None]
    for answer in require_some(answers, skip="no subscription was accepted"):
        expect_result(answer)


@pytest.mark.requirement("resources.subscribe.unknown-uri")
def test_what_does_not_exist_cannot_be_subscribed_to(server):
    if is_mute(server) or is_templated(server, NO_SUCH_URI):
        skip("subscriptions are not answered, or a template stands for any URI")
    session = server.shared("subscriptions")
    reply = session.request("resources/subscribe", {"uri": NO_SUCH_URI})
    if reply.value is not None:
        session.request("resources/unsubscribe", {"uri": NO_SUCH_URI})
    expect_error(reply, -32002)


def needs_subscriptions(server):
    if not server.declares("resources", "subscribe"):
        skip("resources.subscribe is not declared")


def subscribe_replies(server):
    """The answers to subscribing to each of the first resources, and to giving that up if it was accepted."""
    needs_subscriptions(server)
    uris = server.listing("resources/list").identifiers()[:MOST]
    return server.once("subscribed", lambda: list(subscribe(server.shared("subscriptions"), uris)))


def subscribe(session, uris):
    for uri, reply in replies_for(session, "resources/subscribe", uris):
        is_accepted = reply.value is not None
        yield reply, session.request("resources/unsubscribe", {"uri": uri}) if is_accepted else None


def is_mute(server):
    """Whether a request to subscribe or to give it up was not answered."""
    pairs = subscribe_replies(server)
    return any(reply.fault is not None for pair in pairs for reply in pair if reply is not None)


@pytest.mark.requirement("resources.subscribe.removed")
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_is_gone(session, method):
    expect_error(session.request(method, {"uri": NO_SUCH_URI}), -32601)


# Updates


@pytest.mark.requirement("resources.subscribe.updated-sent")
def test_a_change_of_what_was_subscribed_to_is_told(server):
    needs_subscriptions(server)
    call, untold = (untold_to_listeners if is_modern(server.revision) else untold_to_subscribers)(server)
    if untold:
        raise Finding(f"{UPDATED} for {untold[0]}", f"nothing in {NOTIFICATION_SECONDS:g} s or more", call.lines)


@pytest.mark.requirement("resources.unsubscribe.stops")
def test_what_was_given_up_is_told_no_more(server):
    needs_subscriptions(server)
    done = trial(server)
    late = [
        uri for update in done.late for uri in members([update], "params", "uri") if uri.json in done.left
    ]
    if late:
        raise Finding("no update of what was unsubscribed from", str(late[0]), late[0].lines)
    require_some(
        done.changed_again, skip=f"calling {done.tool} again changed nothing that was unsubscribed from"
    )


@pytest.mark.requirement("resources.subscribe.updated-shape")
def test_an_update_is_a_notification_that_names_a_resource(server):
    updates = require_some(news(server, UPDATED, "resources/updated"), skip="no update of a resource came")
    expect_notifications(updates, UPDATED)
    expect_each(updates, names_a_resource, "an object params with a string in uri")


@pytest.mark.requirement("resources.subscribe.updated-only-subscribed")
def test_only_a_subscriber_is_told_of_updates(server):
    require_some(news(server, UPDATED), skip="no update of a resource came")
    expected = "no update for who has not asked to be told of any resource"
    expect_none(unasked_updates(server), expected)


@pytest.mark.requirement("resources.subscribe.updated-subscription-id")
def test_an_update_names_its_subscription(server):
    expect_subscription_ids(require_some(requested_notifications(server, UPDATED), skip="no update of a resource came"))


@pytest.mark.requirement("resources.subscribe.updated-negotiated")
def test_only_declared_updates_are_sent(server):
    updates = require_some(news(server, UPDATED), skip="no update of a resource came")
    if not server.declares("resources", "subscribe"):
        got = f"{server.offers}, and yet {updates[0]}"
        raise Finding("resources.subscribe declared as true", got, updates[0].lines)


def names_a_resource(message):
    params = message.get("params")
    return isinstance(params, dict) and isinstance(params.get("uri"), str)


def unasked_updates(server):
    """The updates that came although nobody had asked for any."""
    if is_modern(server.revision):
        return unrequested_notifications(server, UPDATED)
    return [update for session in server.sessions for update in unsubscribed(session)]


def unsubscribed(session):
    """The updates that came before the session subscribed to anything."""
    for line in session.lines:
        method = line.message.get("method") if line.sent and isinstance(line.message, dict) else None
        if method == "resources/subscribe":
            return
        if not line.sent:
            yield from (Value(each, "", (line,)) for each in line.parts() if is_update(each))


def untold_to_listeners(server):
    """The call that changed resources, and those of them that nobody who listens to them is told of."""
    change, found = subscribed_change(server), subscriptions(server)
    listens = found.acknowledged.values()
    moved = [uri for uri in change.changed_uris if any(one.covers(UPDATED, uri) for one in listens)]
    require_some(moved, skip=f"calling {change.tool} changed nothing that was listened to")
    return change.call, [uri for uri in moved if not found.is_announced(change, UPDATED, uri)]


def untold_to_subscribers(server):
    """The call that changed resources, and those of them that were subscribed to and not told of."""
    done = trial(server)
    changed = require_some(done.changed, skip=f"calling {done.tool} changed nothing that was subscribed to")
    return done.call, [uri for uri in changed if not told(done.session, uri)]


def is_update(message):
    return isinstance(message, dict) and message.get("method") == UPDATED


def told(session, uri):
    """Whether an update of a resource, or of a part of it, has come."""
    named = members([Value(message) for _, message in session.notifications(UPDATED)], "params", "uri")
    return any(name.is_a(str) and name.json.startswith(uri.rstrip("/")) for name in named)


# The trial


class Trial(NamedTuple):
    """A conversation in which the tool that changes things was called twice: subscribed, and no longer."""

    tool: str
    session: Session
    call: Reply
    changed: list[str]
    left: list[str]
    changed_again: list[str]
    late: list[Value]


def trial(server):
    """The one trial that all these checks look at, in a handshake revision."""
    sample = mutating_call(server)
    if server.listing("resources/list").failure:
        skip("resources/list cannot be walked to its end")
    done = server.once("resources changed", lambda: run_trial(server, sample))
    if done.call.fault is not None:
        reason = f"calling {sample.tool} was not answered: {done.call.fault}"
        server.raise_once("changing tool", Blocked(reason, done.call.lines, done.call.fault.stderr))
    return done


def run_trial(server, sample):
    subscribes = server.declares("resources", "subscribe") and not is_mute(server)
    uris = server.listing("resources/list").identifiers()[:MOST] if subscribes else []
    with server.fresh() as session:
        held = accepted(session, "resources/subscribe", uris)
        call, changed = change(session, sample, held)
        if call.fault is not None:
            return Trial(sample.tool, session, call, [], [], [], [])
        session.wait_for(lambda: all(told(session, uri) for uri in changed), session.scaled_timeout(NOTIFICATION_SECONDS))
        left = accepted(session, "resources/unsubscribe", held)
        session.drain()
        known = len(session.notifications(UPDATED))
        changed_again = change(session, sample, left)[1] if left else []
        session.drain()
    late = [Value(message, "", (line,)) for line, message in session.notifications(UPDATED)[known:]]
    return Trial(sample.tool, session, call, changed, left, changed_again, late)


def change(session, sample, uris):
    """Call the tool; its answer, and the resources that stayed the same until then and did not after."""
    first, second = contents(session, uris), contents(session, uris)
    call = session.request("tools/call", {"name": sample.tool, "arguments": dict(sample.arguments)})
    third = contents(session, uris) if call.fault is None else {}
    steady = [uri for uri in second if first.get(uri) == second[uri]]
    return call, [uri for uri in steady if uri in third and third[uri] != second[uri]]


def accepted(session, method, uris):
    """Those of the URIs to which a request gives a result."""
    return [uri for uri, reply in replies_for(session, method, uris) if reply.value is not None]


def news(server, *methods):
    """The messages of these methods that the server sent, once it was made to send some."""
    exercise_everything(server)
    trigger_notifications(server)
    named = server.settings.mutating_call is not None and server.declares("resources")
    if named and not is_modern(server.revision) and not server.listing("resources/list").failure:
        trial(server)
    found = server.received(Kind.NOTIFICATION, Kind.REQUEST)
    return [each for each in found if each.json["method"] in methods]


def expect_notifications(messages, method):
    expect_each(members(messages, "method"), lambda each: each == method, f"the method {method}")
    expect_each(messages, lambda message: "id" not in message, "no id")
    expect_each(members(messages, "params"), lambda params: isinstance(params, dict), "an object")
