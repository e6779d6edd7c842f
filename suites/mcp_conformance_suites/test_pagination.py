"""Pagination of the four lists (spec: server/utilities/pagination)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import expect_each, expect_none, is_string, require_some
from mcp_conformance.protocol.value import members
from mcp_conformance.verdicts import Finding

FORGED = f"forged-{NO_SUCH_NAME}"


@pytest.mark.requirement("pagination.next-cursor-string")
def test_a_next_cursor_is_a_string(server):
    cursors = [cursor for listing in server.listings() for cursor in listing.cursors]
    require_some(cursors, skip="no list has a second page")
    expect_each(cursors, is_string, "a string, or no nextCursor at all")


@pytest.mark.requirement("pagination.cursor-accepted")
def test_a_cursor_leads_to_the_next_page(server, session):
    for listing in require_some(server.lists.paged(), skip="no list has a second page"):
        last = listing.replies[-1]
        if listing.failure and not listing.never_ends:
            last = fetch_list(session, listing.method, listing.member).replies[-1]
        if last.value is None:
            raise Finding("the next page", str(last), last.lines)


@pytest.mark.requirement("pagination.progress")
def test_the_pages_come_to_an_end(server):
    for listing in require_some(server.lists.paged(), skip="no list has a second page"):
        if listing.never_ends:
            raise Finding("a last page", listing.failure, listing.replies[-1].lines)


@pytest.mark.requirement("pagination.no-overlap")
def test_no_item_is_on_two_pages(server, session):
    for listing in require_some(server.lists.complete_paged(), skip="no list has a second page"):
        again = fetch_list(session, listing.method, listing.member)
        if again.failure:  # reported by pagination.stable-cursors, or by the rules of a list
            continue
        twice = sorted({*listing.repeated()} & {*again.repeated()})
        if twice:
            got = f"{listing.method} lists {twice[0]!r} twice"
            raise Finding("each item on one page", got, listing.replies[-1].lines)
        lost = set(listing.identifiers()) ^ set(again.identifiers())
        if lost and is_whole_elsewhere(server, session, listing):
            got = f"{min(lost)!r} in one of two walks only"
            raise Finding("the same items each time", got, again.replies[-1].lines)


def is_whole_elsewhere(server, session, listing):
    """Return whether a third walk finds what the first one found, here or at least in a new process."""
    names = set(listing.identifiers())
    if names == set(fetch_list(session, listing.method, listing.member).identifiers()):
        return True
    with server.fresh("the pages in a new process") as other:
        return names == set(fetch_list(other, listing.method, listing.member).identifiers())


@pytest.mark.requirement("pagination.stable-cursors")
def test_a_cursor_gives_the_same_page_again(server, session):
    for listing in require_some(server.lists.complete_paged(), skip="no list has a second page"):
        first = session.request(listing.method).value
        for cursor in members([first] if first is not None else [], "nextCursor"):
            one, other = (session.request(listing.method, {"cursor": cursor.json}) for _ in range(2))
            if one.error is not None and has_led_to_page(session, listing, cursor):
                raise Finding("the page that this cursor led to before", str(one), one.lines)
            if one.value is not None and listing.identifiers_on(one) != listing.identifiers_on(other):
                raise Finding(f"the page with {listing.identifiers_on(one)} again", str(other), other.lines)


def has_led_to_page(session, listing, cursor):
    """Return whether a cursor, given out before, led to a page of a complete list in the same session."""
    is_known = cursor.json in [known.json for known in listing.cursors]
    return is_known and listing.replies[0].request in session.lines


@pytest.mark.requirement("pagination.invalid-cursor-graceful")
def test_a_forged_cursor_does_no_harm(server, session):
    for method in require_some(server.served_lists(), skip="no list is declared and served"):
        reply = session.request(method, {"cursor": FORGED})
        after = session.request(method)
        if reply.fault is not None or after.value is None:
            broken = reply if reply.fault is not None else after
            raise Finding("an answer, and a list afterwards as before", f"{method}: {broken}", broken.lines)


@pytest.mark.requirement("pagination.invalid-cursor-code")
def test_a_forged_cursor_is_rejected(server, session):
    methods = require_some(server.served_lists(), skip="no list is declared and served")
    wrong = accepted_cursors(session, methods, FORGED)
    if wrong:
        first, paged = next(iter(wrong.values())), {one.method for one in server.lists.paged()}
        short = [method for method in wrong if method not in paged]
        which = "they have" if len(short) == len(wrong) else f"{', '.join(short)} have"
        which = "it has" if len(wrong) == 1 else which
        note = f" ({which} one page)" if short else ""
        raise Finding("error -32602", f"{taken(wrong)}{note}: {first}", first.lines)


@pytest.mark.requirement("pagination.cursor-type")
@pytest.mark.parametrize("cursor", [5, {}], ids=["number", "object"])
def test_a_cursor_that_is_not_a_string_is_rejected(server, session, cursor):
    methods = require_some(server.served_lists(), skip="no list is declared and served")
    wrong = accepted_cursors(session, methods, cursor)
    if wrong:
        first = next(iter(wrong.values()))
        raise Finding("error -32602", f"{taken(wrong)}: {first}", first.lines)


def taken(wrong):
    """Return what methods gave for a cursor that should have been refused."""
    pages = "a page of " if all(one.error is None for one in wrong.values()) else ""
    return f"{pages}{', '.join(wrong)}"


@pytest.mark.requirement("pagination.cursor-same-operation")
def test_a_cursor_of_another_list_is_rejected(server, session):
    paged = require_some(server.lists.paged(), skip="no list has a second page")
    others = [method for method in server.served_lists() if method != paged[0].method]
    require_some(others, skip="no second list is declared and served")
    unread = accepted_cursors(session, others, FORGED)
    others = [method for method in others if method not in unread]
    for method in require_some(
        others, skip="the other lists take any cursor: see pagination.invalid-cursor-code"
    ):
        reply = session.request(method, {"cursor": paged[0].cursors[0].json})
        if reply.code != -32602:
            got = f"{method} took a cursor of {paged[0].method}: {reply}"
            raise Finding("error -32602", got, reply.lines)


@pytest.mark.requirement("pagination.empty-cursor")
def test_an_empty_cursor_leads_to_the_next_page(server, session):
    issued = [
        listing for listing in server.lists.paged() if "" in [cursor.json for cursor in listing.cursors]
    ]
    for listing in require_some(issued, skip="no page has an empty nextCursor"):
        first, second = session.request(listing.method), session.request(listing.method, {"cursor": ""})
        is_first_again = listing.identifiers_on(first) == listing.identifiers_on(second) != []
        if second.value is None or is_first_again:
            got = f"{listing.method} from its beginning, or none: {second}"
            raise Finding("the next page", got, second.lines)


@pytest.mark.requirement("pagination.other-results-unpaged")
def test_other_results_are_not_paginated(server):
    replies = [call.reply for call in server.calls()] + server.prompts() + server.resources()
    results = results_of(replies)
    require_some(results, skip="no tool, prompt or resource gave a result")
    expect_none(members(results, "nextCursor"), "no nextCursor")


def accepted_cursors(session, methods, cursor):
    """Return the answers other than error -32602 to a request with this cursor, by method."""
    replies = {method: session.request(method, {"cursor": cursor}) for method in methods}
    return {method: reply for method, reply in replies.items() if reply.code != -32602 and not reply.fault}
