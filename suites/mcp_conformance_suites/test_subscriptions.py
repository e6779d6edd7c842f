"""Subscriptions to changes (spec: basic/patterns/subscriptions)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.subscriptions import (
    ACKNOWLEDGED,
    FILTER_MEMBERS,
    FLAGS,
    UPDATED,
    names,
    notifications_in,
    tag_of,
)
from mcp_conformance.expect import expect, expect_each, expect_error, expect_none, require, require_some, skip
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind, show
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.revisions import SUBSCRIPTION_ID
from mcp_conformance.scenarios.http_requests import unstreamed_response
from mcp_conformance.scenarios.list_changes import unsubscribed_change
from mcp_conformance.scenarios.log_messages import MESSAGE
from mcp_conformance.scenarios.subscriptions import (
    INVALID_FILTERS,
    SubscriptionCase,
    declared_members,
    expect_subscription_ids,
    requested_notifications,
    sent_notifications,
    subscribed_change,
    subscriptions,
)
from mcp_conformance.verdicts import Finding

PROGRESS = "notifications/progress"

# Opening a subscription


@pytest.mark.requirement("subscriptions.supported")
def test_a_declared_change_can_be_subscribed_to(server):
    declared = require_some(declared_members(server), skip="the server declares nothing to subscribe to")
    rejection = subscriptions(server).rejection(SubscriptionCase.DECLARED)
    if rejection is not None:
        flags = " and ".join(".".join(FLAGS[member]) for member in declared)
        raise Finding(f"an acknowledgment, as {flags} are declared", str(rejection), rejection.lines)
    if SubscriptionCase.DECLARED not in subscriptions(server).acknowledged:
        skip("the subscription is not acknowledged: see subscriptions.ack-sent")


@pytest.mark.requirement("subscriptions.ack-sent")
def test_a_listen_request_is_acknowledged(server):
    found = subscriptions(server)
    accepted = [one for name, one in found.listens.items() if found.rejection(name) is None]
    for listen in require_some(accepted, skip="every listen request was rejected"):
        acknowledgment = listen.acknowledgment
        if acknowledgment is None:
            raise unacknowledged(server, listen)
        filter = acknowledgment.get("params", "notifications")
        expect(acknowledgment, filter is not None and filter.is_a(dict), "an object in params.notifications")


@pytest.mark.requirement("subscriptions.ack-first")
def test_the_acknowledgment_is_the_first_notification(server):
    require_acknowledged(server)
    for listen in subscriptions(server).acknowledged.values():
        first = listen.notifications[0]
        expect(first, first.json["method"] == ACKNOWLEDGED, f"{ACKNOWLEDGED} before all else with its id")


@pytest.mark.requirement("subscriptions.ack-subset")
def test_the_acknowledgment_has_no_more_than_the_filter(server):
    require_acknowledged(server)
    for listen in subscriptions(server).acknowledged.values():
        acknowledgment = require(listen.acknowledgment, skip="a listen request was not acknowledged")
        for name, agreed in listen.agreed.items():
            requested = listen.filter.get(name, False)
            expected = f"no more of {name} than was requested, which is {show(requested)}"
            expect(acknowledgment, is_within(agreed, requested), expected)


@pytest.mark.requirement("subscriptions.empty-filter")
def test_a_filter_may_be_empty(server):
    require_acknowledged(server)
    rejection = subscriptions(server).rejection(SubscriptionCase.EMPTY)
    if rejection is not None:
        raise Finding("an acknowledgment of an empty filter", str(rejection), rejection.lines)


@pytest.mark.requirement("subscriptions.filter-required")
@pytest.mark.parametrize("form", list(INVALID_FILTERS))
def test_an_invalid_filter_is_rejected(server, form):
    require_acknowledged(server)
    listen, reply = subscriptions(server).invalid[form]
    acknowledgment = listen.acknowledgment
    if acknowledgment is not None:
        lines = (listen.request, *acknowledgment.lines)
        raise Finding("error -32602", str(acknowledgment), lines, advisory=form != "absent")
    expect_error(reply, -32602)


@pytest.mark.requirement("subscriptions.stays-open")
def test_a_listen_request_stays_open(server):
    require_acknowledged(server)
    answers, closed_at = last_answers(server), subscriptions(server).closed_at
    early = [answer for answer in answers if answer.lines[-1].at < closed_at]
    expect_none(early, "no answer while nothing ends the subscription")


def unacknowledged(server, listen):
    """Return the finding that a listen request was not acknowledged, with a stray acknowledgment."""
    stray = [one.message for one in sent_notifications(server, ACKNOWLEDGED) if one.listen is None]
    got = f"others: {stray[0]}" if stray else "none"
    lines = (listen.request, *[line for one in stray for line in one.lines][:1])
    response = unstreamed_response(listen.session, listen.request)
    if response is not None:
        got, lines = f"{response}, which is not an event stream", response.lines
    return Finding(f"{ACKNOWLEDGED} with the id {show(listen.id)}", got, lines)


def require_acknowledged(server):
    """Skip the check unless a listen request was acknowledged."""
    acknowledged = subscriptions(server).acknowledged
    require_some(list(acknowledged), skip="no listen request was acknowledged")


def is_within(agreed, requested):
    """Return whether the acknowledged value of a member is no more than the requested one."""
    if isinstance(agreed, list) and isinstance(requested, list):
        return all(uri in requested for uri in agreed)
    return agreed in (False, [], None) or agreed == requested


# Notifications


@pytest.mark.requirement("subscriptions.id-tag")
def test_a_notification_has_the_id_of_its_subscription(server):
    found = requested_notifications(server, ACKNOWLEDGED, *FILTER_MEMBERS)
    require_some(found, skip="no subscription was notified")
    expect_subscription_ids(found)


@pytest.mark.requirement("subscriptions.filter-honoured")
def test_a_subscription_gets_only_what_its_filter_requests(server):
    sent = [one for one in sent_notifications(server, *FILTER_MEMBERS) if one.listen is not None]
    require_some(sent, skip="no subscription was notified of a change")
    misdirected = [one.message for one in sent if one.is_misdirected]
    expect_none(misdirected, "nothing that the filter of the listen request did not request")


@pytest.mark.requirement("subscriptions.resource-uris")
def test_a_subscription_gets_updates_only_of_its_resources(server):
    require_acknowledged(server)
    change, listen = subscribed_change(server), unchanged_listen(server)
    changed = require_some(
        change.changed_uris, skip=f"calling {change.tool} changed no resource that was read twice"
    )
    listen = require(listen, skip=f"no subscription is to resources that {change.tool} does not change")
    for update in listen.changes(UPDATED):
        is_own = any(names(update, uri) for uri in listen.filter[FILTER_MEMBERS[UPDATED]])
        expected = f"nothing of other resources, such as {changed[0]}, which was not requested"
        expect(update, is_own, expected)


@pytest.mark.requirement("subscriptions.nothing-unsolicited")
def test_no_change_is_notified_without_a_subscription(server):
    sent = sent_notifications(server, *FILTER_MEMBERS)
    unrequested = [one.message for one in sent if not one.is_requested]
    expect_none(unrequested, "nothing of that kind before a listen request requests it")
    change = unsubscribed_change(server)
    if not change.notifications:
        skip(f"calling {change.tool} changed no list and no resource that was read: {change.call}")


@pytest.mark.requirement("subscriptions.list-changed-sent")
def test_a_changed_list_is_notified(server):
    change, second = subscribed_change(server), subscriptions(server).second_change
    promised = promised_lists(server, change)
    require_some(promised, skip=f"calling {change.tool} changed no list that was acknowledged")
    for method in promised:
        if not subscriptions(server).is_announced(change, method):
            raise Finding(method, "nothing, although that list changed", change.call.lines)
    if second is None:
        return
    for method in promised_lists(server, second):
        if not subscriptions(server).is_announced(second, method):
            got = "nothing the second time that list changed, for a subscription open since before the first"
            raise Finding(method, got, second.call.lines)


@pytest.mark.requirement("subscriptions.concurrent")
def test_each_subscription_is_notified(server):
    require_acknowledged(server)
    change, listens = subscribed_change(server), subscriptions(server).acknowledged.values()
    for notified, missed, news in unequal(change, listens):
        line = first_since(change.call.request, notified.changes(*news)).lines[0]
        expected = f"{news[0]} for the listen request {show(missed.id)}, too, as for {show(notified.id)}"
        raise Finding(expected, "nothing", (notified.request, missed.request, *change.call.lines, line))
    if not any(sum(one.covers(*news) for one in listens) > 1 for news in change.notifications):
        skip(f"calling {change.tool} changed nothing that two subscriptions cover")


@pytest.mark.requirement("subscriptions.request-scoped-kept-out")
def test_progress_and_log_messages_have_no_subscription_id(server):
    require_acknowledged(server)
    sent = notifications_in(subscriptions(server).session.lines)
    scoped = [one for one in sent if one.json["method"] in (PROGRESS, MESSAGE)]
    require_some(scoped, skip="no progress and no log message came while a subscription was open")
    expect_none([one for one in scoped if tag_of(one) is not ABSENT], f"no {SUBSCRIPTION_ID}")


def unchanged_listen(server):
    """Return the subscription to unchanged resources; None if there is none, or if one did change."""
    found = subscriptions(server)
    listen = found.acknowledged.get(SubscriptionCase.UNCHANGED)
    uris = set(listen.filter[FILTER_MEMBERS[UPDATED]]) if listen is not None else set()
    changes = [one for one in (found.change, found.second_change) if one is not None]
    return listen if all(uris <= set(change.unchanged_uris) for change in changes) else None


def first_since(request, values):
    """Return the first of the values that came after a request."""
    return next(value for value in values if value.lines[0].at >= request.at)


def lasting(server):
    """Return the acknowledged listen requests that were open during both changes."""
    short = (SubscriptionCase.CANCELLED, SubscriptionCase.EARLY)
    return [one for name, one in subscriptions(server).acknowledged.items() if name not in short]


def notified_of_the_first_change(server):
    """Return those of them that were notified of the first change."""
    change = subscriptions(server).change
    if change is None:
        return []
    due, request = change.notifications, change.call.request
    return [one for one in lasting(server) if any(one.is_notified(*each, request) for each in due)]


def promised_lists(server, change):
    """Return the methods of the list changes that a subscription covers."""
    methods = [method for method, _ in change.notifications if method != UPDATED]
    return [method for method in methods if any(one.covers(method) for one in lasting(server))]


def unequal(change, listens):
    """Yield a listen request that was notified, and one that was not although it covers the same change."""
    for news in change.notifications:
        due = [one for one in listens if one.covers(*news) and one.request.at < change.call.request.at]
        notified = [one for one in due if one.is_notified(*news, change.call.request)]
        missed = [one for one in due if one not in notified and not one.ends]
        if notified and missed:
            yield notified[0], missed[0], news


# The end of a subscription


@pytest.mark.requirement("subscriptions.client-cancel")
def test_a_cancelled_subscription_gets_no_more_notifications(server):
    cancellation, second = require_cancelled(server)
    found = subscriptions(server)
    listen = found.listens[SubscriptionCase.CANCELLED]
    late = since(found.cancellation_read_at, listen.notifications)
    expect_none(late, "nothing of a subscription that was cancelled")
    for answer in since(cancellation.at, listen.answers):
        raise Finding("no answer to a cancelled request", str(answer), answer.lines, "cancel.no-response")
    others = [one for one in found.acknowledged.values() if one.id != listen.id]
    request = second.call.request
    if not any(
        one.is_notified(method, uri, request) for one in others for method, uri in second.notifications
    ):
        skip(f"after calling {second.tool} again no subscription was notified")


@pytest.mark.requirement("subscriptions.teardown-cancelled")
def test_the_server_announces_the_end_of_a_subscription(server):
    require_acknowledged(server)
    second = subscriptions(server).second_change
    if second is not None:
        for notified, lost, _ in unequal(second, notified_of_the_first_change(server)):
            expected = f"{CANCELLED} or a result for the listen request {show(lost.id)}, which gets no more"
            got = f"neither, while {show(notified.id)} is notified"
            raise Finding(expected, got, (lost.request, *second.call.lines))
    if not any(one.ends for one in lasting(server)):
        skip("the server ended no subscription")


@pytest.mark.requirement("subscriptions.graceful-result")
def test_a_subscription_ends_with_a_result(server):
    require_acknowledged(server)
    answers = last_answers(server)
    require_some(answers, skip="the server answered no listen request, not even when its stdin was closed")
    expect_each(answers, lambda answer: kind(answer) is Kind.RESULT, "a result at the end of a subscription")


@pytest.mark.requirement("subscriptions.result-meta")
def test_the_result_of_a_listen_request_has_its_id(server):
    listens = [*subscriptions(server).listens.values()]
    answers = [(one, answer.get("result")) for one in listens for answer in one.answers]
    results = [(one, result) for one, result in answers if result is not None]
    for one, result in require_some(results, skip="no listen request was answered with a result"):
        form, named = result.get("resultType"), result.get("_meta", SUBSCRIPTION_ID)
        expect(result, form is not None and form.json == "complete", "complete in resultType")
        is_own = named is not None and id_key(named.json) == id_key(one.id)
        expect(result, is_own, f"{show(one.id)} in _meta {SUBSCRIPTION_ID}")


def require_cancelled(server):
    """Return the cancellation of an acknowledged subscription and the change after it; skip without them."""
    found = subscriptions(server)
    if found.cancellation is None or found.second_change is None:
        subscribed_change(server)
        skip("no subscription was cancelled")
    if found.listens[SubscriptionCase.CANCELLED].acknowledgment is None:
        skip("the listen request that was cancelled had not been acknowledged")
    return found.cancellation, found.second_change


def since(at, values):
    """Return those of the values that came after a moment."""
    return [value for value in values if value.lines[-1].at > at]


def last_answers(server):
    """Return the answers to the acknowledged listen requests that the client did not cancel."""
    acknowledged = subscriptions(server).acknowledged.items()
    uncancelled = [one for name, one in acknowledged if name != SubscriptionCase.CANCELLED]
    return [answer for one in uncancelled for answer in one.answers]
