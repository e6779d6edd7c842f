"""Listening for what changes (spec: basic/patterns/subscriptions)."""

from __future__ import annotations

import pytest

from conformance.client.subscriptions import (
    ACKNOWLEDGED,
    CANCELLED,
    FLAGS,
    NEWS,
    UPDATED,
    names,
    notifications_in,
    tag_of,
)
from conformance.expect import expect, expect_each, expect_error, expect_none, require_some, skip
from conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind, show
from conformance.protocol.revisions import SUBSCRIPTION_ID
from conformance.scenarios.list_changes import unheard_change
from conformance.scenarios.log_messages import MESSAGE
from conformance.scenarios.subscriptions import (
    FIRST,
    HASTY,
    MALFORMED,
    NOTHING,
    SECOND,
    STILL,
    all_news,
    asked_for,
    declared,
    expect_tagged,
    heard_change,
    listening,
)
from conformance.verdicts import Finding

PROGRESS = "notifications/progress"

# Opening a subscription


@pytest.mark.requirement("subscriptions.supported")
def test_what_is_declared_can_be_listened_to(server):
    wanted = require_some(declared(server), skip="the server declares nothing that could be listened to")
    refusal = listening(server).refusal(FIRST)
    if refusal is not None:
        flags = " and ".join(".".join(FLAGS[member]) for member in wanted)
        raise Finding(f"an acknowledgment, as {flags} are declared", str(refusal), refusal.lines)


@pytest.mark.requirement("subscriptions.ack-sent")
def test_a_listen_request_is_acknowledged(server):
    heard = listening(server)
    taken = [one for name, one in heard.listens.items() if heard.refusal(name) is None]
    for listen in require_some(taken, skip="every listen request was refused"):
        said = listen.acknowledgment or unacknowledged(server, listen)
        filter = said.get("params", "notifications")
        expect(said, filter is not None and filter.is_a(dict), "an object in params.notifications")


@pytest.mark.requirement("subscriptions.ack-first")
def test_nothing_is_told_before_the_acknowledgment(server):
    for listen in acknowledged(server).values():
        first = listen.told[0]
        expect(first, first.json["method"] == ACKNOWLEDGED, f"{ACKNOWLEDGED} before all else with its id")


@pytest.mark.requirement("subscriptions.ack-subset")
def test_no_more_is_agreed_to_than_was_asked_for(server):
    for listen in acknowledged(server).values():
        for name, agreed in listen.agreed.items():
            asked = listen.filter.get(name, False)
            expected = f"no more of {name} than was asked for, which is {show(asked)}"
            expect(listen.acknowledgment, is_within(agreed, asked), expected)


@pytest.mark.requirement("subscriptions.empty-filter")
def test_a_filter_may_be_empty(server):
    acknowledged(server)
    refusal = listening(server).refusal(NOTHING)
    if refusal is not None:
        raise Finding("an acknowledgment of an empty filter", str(refusal), refusal.lines)


@pytest.mark.requirement("subscriptions.filter-required")
@pytest.mark.parametrize("form", list(MALFORMED))
def test_a_filter_of_another_form_is_refused(server, form):
    acknowledged(server)
    listen, reply = listening(server).malformed[form]
    taken = listen.acknowledgment
    if taken is not None:
        lines = (listen.request, *taken.lines)
        raise Finding("error -32602", str(taken), lines, advisory=form != "absent")
    expect_error(reply, -32602)


@pytest.mark.requirement("subscriptions.stays-open")
def test_a_listen_request_stays_open(server):
    answers, ended = (
        [answer for one in open_to_the_end(server) for answer in one.answers],
        listening(server).ended,
    )
    early = [answer for answer in answers if answer.lines[-1].at < ended]
    expect_none(early, "no answer while nothing ends the subscription")


def unacknowledged(server, listen):
    """Tell that a listen request was not acknowledged."""
    lost = [one.message for one in all_news(server, ACKNOWLEDGED) if one.listen is None]
    got = f"others: {lost[0]}" if lost else "none"
    lines = [line for one in lost for line in one.lines]
    raise Finding(f"{ACKNOWLEDGED} with the id {show(listen.id)}", got, (listen.request, *lines[:1]))


def acknowledged(server):
    """The listen requests that were acknowledged, by name."""
    return listening(server).acknowledged or skip("no listen request was acknowledged")


def is_within(agreed, asked):
    """Whether what is agreed to is no more than what was asked for."""
    if isinstance(agreed, list) and isinstance(asked, list):
        return all(uri in asked for uri in agreed)
    return agreed in (False, [], None) or agreed == asked


# What is told


@pytest.mark.requirement("subscriptions.id-tag")
def test_what_is_told_carries_the_id_of_its_subscription(server):
    expect_tagged(
        require_some(asked_for(server, ACKNOWLEDGED, *NEWS), skip="nothing was told to who listens")
    )


@pytest.mark.requirement("subscriptions.filter-honoured")
def test_only_what_was_asked_for_is_told(server):
    told = [one for one in all_news(server, *NEWS) if one.listen is not None]
    wrong = [
        one.message
        for one in require_some(told, skip="no change was told to who listens")
        if one.is_misdirected
    ]
    expect_none(wrong, "nothing that the filter of the listen request did not ask for")


@pytest.mark.requirement("subscriptions.resource-uris")
def test_only_resources_that_were_asked_for_are_told_of(server):
    change, listen = heard_change(server), acknowledged(server).get(STILL)
    moved = require_some(change.moved, skip=f"calling {change.tool} changed no resource that was read twice")
    if listen is None or not is_untouched(server, listen.filter[NEWS[UPDATED]]):
        skip(f"nothing is listened to that {change.tool} does not change")
    for update in listen.news(UPDATED):
        about = any(names(update, uri) for uri in listen.filter[NEWS[UPDATED]])
        expected = f"nothing of other resources, such as {moved[0]}, which was not asked for"
        expect(update, about, expected)


@pytest.mark.requirement("subscriptions.nothing-unsolicited")
def test_nothing_is_told_to_who_does_not_listen(server):
    unasked = [one.message for one in all_news(server, *NEWS) if not one.is_asked_for]
    expect_none(unasked, "nothing of that kind before a listen request asks for it")
    change = unheard_change(server)
    require_some(
        change.news, skip=f"calling {change.tool} changed no list, and nothing that was read: {change.call}"
    )


@pytest.mark.requirement("subscriptions.list-changed-sent")
def test_a_change_is_told_to_who_listens(server):
    change, again = heard_change(server), listening(server).again
    promised = promised_lists(server, change)
    for method in require_some(
        promised, skip=f"calling {change.tool} changed no list that was agreed to be told of"
    ):
        if not listening(server).is_announced(change, method):
            raise Finding(method, "nothing, although that list changed", change.call.lines)
    for method in promised_lists(server, again) if again is not None else ():
        if not listening(server).is_announced(again, method):
            got = "nothing the second time that list changed, for who had listened since before the first"
            raise Finding(method, got, again.call.lines)


@pytest.mark.requirement("subscriptions.concurrent")
def test_each_subscription_is_told(server):
    change, listens = heard_change(server), acknowledged(server).values()
    for told, untold, news in unequal(change, listens):
        line = next(each for each in told.news(*news) if each.lines[0].at >= change.call.request.at).lines[0]
        expected = f"{news[0]} for the listen request {show(untold.id)}, too, as for {show(told.id)}"
        raise Finding(expected, "nothing", (told.request, untold.request, *change.call.lines, line))
    both = [news for news in change.news if sum(one.covers(*news) for one in listens) > 1]
    require_some(both, skip=f"calling {change.tool} changed nothing that two listened to")


@pytest.mark.requirement("subscriptions.request-scoped-kept-out")
def test_what_belongs_to_a_request_is_no_news(server):
    acknowledged(server)
    lines = listening(server).session.lines
    scoped = [one for one in notifications_in(lines) if one.json["method"] in (PROGRESS, MESSAGE)]
    require_some(scoped, skip="no progress and no log message came while somebody listened")
    expect_none([one for one in scoped if tag_of(one) is not ABSENT], f"no {SUBSCRIPTION_ID}")


def is_untouched(server, uris):
    """Whether resources were the same before and after each change."""
    changes = [listening(server).change, listening(server).again]
    return all(set(uris) <= set(change.still) for change in changes if change is not None)


def steady(server):
    """The acknowledged listen requests that were open during both changes."""
    return [one for name, one in acknowledged(server).items() if name not in (SECOND, HASTY)]


def told_of_the_first_change(server):
    """Those of them that were told of it."""
    change = listening(server).change
    news = change.news if change is not None else []
    return [one for one in steady(server) if any(one.is_told(*each, change.call.request) for each in news)]


def promised_lists(server, change):
    """The methods of the announcements of changed lists that somebody was to get."""
    methods = [method for method, _ in change.news if method != UPDATED]
    return [method for method in methods if any(one.covers(method) for one in steady(server))]


def unequal(change, listens):
    """Each listen request that was told of something, with one that was not although it was to be told."""
    for news in change.news:
        wanted = [one for one in listens if one.covers(*news) and one.request.at < change.call.request.at]
        told = [one for one in wanted if one.is_told(*news, change.call.request)]
        untold = [one for one in wanted if one not in told and not one.ends]
        if told and untold:
            yield told[0], untold[0], news


# The end of a subscription


@pytest.mark.requirement("subscriptions.client-cancel")
def test_a_cancelled_subscription_is_told_no_more(server):
    listen, again = cancelled_listen(server), listening(server).again
    expect_none(since(listening(server).read, listen.told), "nothing of a subscription that was cancelled")
    for answer in since(listening(server).cancelled.at, listen.answers):
        raise Finding("no answer to a cancelled request", str(answer), answer.lines, "cancel.no-response")
    others = [one for one in acknowledged(server).values() if one.id != listen.id]
    told = [one for news in again.news for one in others if one.is_told(*news, again.call.request)]
    require_some(told, skip=f"calling {again.tool} again was told to nobody")


@pytest.mark.requirement("subscriptions.teardown-cancelled")
def test_no_subscription_ends_without_a_word(server):
    again, told_before = listening(server).again, told_of_the_first_change(server)
    for told, lost, _ in unequal(again, told_before) if again is not None else ():
        expected = f"{CANCELLED} or a result for the listen request {show(lost.id)}, which is told no more"
        raise Finding(expected, f"neither, while {show(told.id)} is told", (lost.request, *again.call.lines))
    require_some([one for one in steady(server) if one.ends], skip="the server ended no subscription")


@pytest.mark.requirement("subscriptions.graceful-result")
def test_a_subscription_ends_with_a_result(server):
    answers = [answer for one in open_to_the_end(server) for answer in one.answers]
    require_some(answers, skip="the server answered no listen request, not even when its stdin was closed")
    expect_each(answers, lambda answer: kind(answer) is Kind.RESULT, "a result at the end of a subscription")


@pytest.mark.requirement("subscriptions.result-meta")
def test_the_result_of_listening_names_the_subscription(server):
    listens = [*listening(server).listens.values()]
    answers = [(one, answer.get("result")) for one in listens for answer in one.answers]
    results = [(one, result) for one, result in answers if result is not None]
    for one, result in require_some(results, skip="no listen request was answered with a result"):
        form, named = result.get("resultType"), result.get("_meta", SUBSCRIPTION_ID)
        expect(result, form is not None and form.json == "complete", "complete in resultType")
        is_own = named is not None and id_key(named.json) == id_key(one.id)
        expect(result, is_own, f"{show(one.id)} in _meta {SUBSCRIPTION_ID}")


def cancelled_listen(server):
    """The listen request that was cancelled."""
    found = listening(server)
    if found.cancelled is None:
        heard_change(server)
        skip("no subscription was cancelled")
    if found.listens[SECOND].acknowledgment is None:
        skip("the listen request that was cancelled had not been acknowledged")
    return found.listens[SECOND]


def since(at, values):
    """Those of the values that came after a moment."""
    return [value for value in values if value.lines[-1].at > at]


def open_to_the_end(server):
    """The acknowledged listen requests that the client did not cancel."""
    return [one for name, one in acknowledged(server).items() if name != SECOND]
