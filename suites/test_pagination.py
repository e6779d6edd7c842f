"""Pagination of the four lists (spec: server/utilities/pagination)."""

from __future__ import annotations

import pytest

from conformance.client.listing import fetch_list
from conformance.client.refusals import NO_SUCH_NAME
from conformance.expect import expect_each, expect_none, require_some
from conformance.protocol.value import members
from conformance.verdicts import Finding

FORGED = f"forged-{NO_SUCH_NAME}"


@pytest.mark.requirement("pagination.next-cursor-string")
def test_a_next_cursor_is_a_string(server):
    cursors = [cursor for walk in server.listings() for cursor in walk.cursors]
    require_some(cursors, skip="no list has a second page")
    expect_each(cursors, lambda cursor: isinstance(cursor, str), "a string, or no nextCursor at all")


@pytest.mark.requirement("pagination.cursor-accepted")
def test_a_cursor_leads_to_the_next_page(server, session):
    for walk in require_some(server.paged_listings(), skip="no list has a second page"):
        last = walk.replies[-1]
        if walk.failure and not walk.never_ends:
            last = fetch_list(session, walk.method, walk.member).replies[-1]
        if last.value is None:
            raise Finding("the next page", str(last), last.lines)


@pytest.mark.requirement("pagination.progress")
def test_a_walk_through_the_pages_ends(server):
    for walk in require_some(server.paged_listings(), skip="no list has a second page"):
        if walk.never_ends:
            raise Finding("a last page", walk.failure, walk.replies[-1].lines)


@pytest.mark.requirement("pagination.no-overlap")
def test_no_item_is_on_two_pages(server, session):
    for walk in require_some(server.complete_paged_listings(), skip="no list has a second page"):
        again = fetch_list(session, walk.method, walk.member)
        twice = sorted({*walk.repeated()} & {*again.repeated()})
        if twice:
            raise Finding(
                "each item on one page", f"{walk.method} lists {twice[0]!r} twice", walk.replies[-1].lines
            )
        lost = set(walk.identifiers()) ^ set(again.identifiers())
        if lost and lost == set(again.identifiers()) ^ set(fetch_list(session, walk.method, walk.member).identifiers()):
            raise Finding(
                "the same items in two walks", f"{min(lost)!r} in one only", again.replies[-1].lines
            )


@pytest.mark.requirement("pagination.stable-cursors")
def test_a_cursor_gives_the_same_page_again(server, session):
    for walk in require_some(server.complete_paged_listings(), skip="no list has a second page"):
        first = session.request(walk.method).value
        for cursor in members([first] if first is not None else [], "nextCursor"):
            one, other = (session.request(walk.method, {"cursor": cursor.json}) for _ in range(2))
            if one.value is not None and walk.identifiers_on(one) != walk.identifiers_on(other):
                raise Finding(f"the page with {walk.identifiers_on(one)} again", str(other), other.lines)


@pytest.mark.requirement("pagination.invalid-cursor-graceful")
def test_a_forged_cursor_does_no_harm(server, session):
    for method in require_some(server.served_lists(), skip="no list is declared and served"):
        reply = session.request(method, {"cursor": FORGED})
        after = session.request(method)
        if reply.fault is not None or after.value is None:
            broken = reply if reply.fault is not None else after
            raise Finding("an answer, and a list afterwards as before", f"{method}: {broken}", broken.lines)


@pytest.mark.requirement("pagination.invalid-cursor-code")
def test_a_forged_cursor_is_refused(server, session):
    replies = {method: session.request(method, {"cursor": FORGED}) for method in server.served_lists()}
    wrong = {method: reply for method, reply in replies.items() if reply.code != -32602 and not reply.fault}
    require_some(list(replies), skip="no list is declared and served")
    if wrong:
        first = next(iter(wrong.values()))
        how = "it paginates" if server.paged_listings() else "it never paginates and ignores cursors"
        raise Finding("error -32602", f"{', '.join(wrong)}: {first} ({how})", first.lines)


@pytest.mark.requirement("pagination.cursor-type")
@pytest.mark.parametrize("cursor", [5, {}], ids=["number", "object"])
def test_a_cursor_that_is_no_string_is_refused(server, session, cursor):
    replies = {method: session.request(method, {"cursor": cursor}) for method in server.served_lists()}
    wrong = {method: reply for method, reply in replies.items() if reply.code != -32602 and not reply.fault}
    require_some(list(replies), skip="no list is declared and served")
    if wrong:
        first = next(iter(wrong.values()))
        raise Finding("error -32602", f"{', '.join(wrong)}: {first}", first.lines)


@pytest.mark.requirement("pagination.cursor-same-operation")
def test_a_cursor_of_another_list_is_refused(server, session):
    paged = require_some(server.paged_listings(), skip="no list has a second page")
    others = [method for method in server.served_lists() if method != paged[0].method]
    for method in require_some(others, skip="no second list is declared and served"):
        reply = session.request(method, {"cursor": paged[0].cursors[0].json})
        if reply.code != -32602:
            raise Finding(
                "error -32602", f"{method} took a cursor of {paged[0].method}: {reply}", reply.lines
            )


@pytest.mark.requirement("pagination.empty-cursor")
def test_an_empty_cursor_leads_to_the_next_page(server, session):
    issued = [walk for walk in server.paged_listings() if "" in [cursor.json for cursor in walk.cursors]]
    for walk in require_some(issued, skip="no page has an empty nextCursor"):
        first, next = session.request(walk.method), session.request(walk.method, {"cursor": ""})
        if next.value is None or walk.identifiers_on(first) == walk.identifiers_on(next) != []:
            raise Finding("the next page", f"{walk.method} from its beginning, or none: {next}", next.lines)


@pytest.mark.requirement("pagination.other-results-unpaged")
def test_nothing_else_is_paginated(server):
    replies = [call.reply for call in server.calls()] + server.prompts() + server.resources()
    results = [reply.value for reply in replies if reply.value is not None]
    require_some(results, skip="no tool, prompt or resource gave a result")
    expect_none(members(results, "nextCursor"), "no nextCursor")
