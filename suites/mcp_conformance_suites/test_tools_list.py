"""Listing tools (spec: server/tools, "Listing Tools")."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect_result, require_answer, skip
from mcp_conformance.scenarios.list_changes import MAX_NAMES, NOTIFICATION_SECONDS
from mcp_conformance.scenarios.list_stability import (
    NO_ARGUMENTS_FORMS,
    complete_listing,
    expect_items,
    expect_list_answered,
    expect_same_after_reads,
    expect_same_each_time,
    expect_same_in_every_process,
    expect_same_order,
    repeated_identifiers,
    require_answered_form,
    require_lists_around_reads,
    require_pages,
)
from mcp_conformance.verdicts import Finding

CHANGED = "notifications/tools/list_changed"


@pytest.mark.requirement("tools.list.answered")
@pytest.mark.capability("tools")
def test_declared_tools_are_listed(server, session):
    expect_list_answered(server, session, "tools/list")


@pytest.mark.requirement("tools.list.complete-at-first")
@pytest.mark.capability("tools")
def test_the_first_list_has_all_tools(server):
    require_tools(server)
    late = tools_listed_late(server)
    if late is not None:
        first, names = late
        got = f"{len(first.identifiers())} in the first and {len(names)} more in the next: {shortened(names)}"
        raise Finding("all tools in the first tools/list", got, first.replies[0].lines)


@pytest.mark.requirement("tools.list.result-shape")
@pytest.mark.capability("tools")
def test_a_page_has_an_array_of_tools(server):
    expect_items(require_pages(server, "tools/list"), "tools/list")


@pytest.mark.requirement("tools.list.params-optional")
@pytest.mark.parametrize("form", NO_ARGUMENTS_FORMS)
@pytest.mark.capability("tools")
def test_the_list_of_tools_needs_no_params(session, form):
    expect_result(require_answered_form(session, "tools/list", form))


@pytest.mark.requirement("tools.list.comprehensive")
def test_one_answer_lists_every_tool(server, session):
    require_tools(server)
    listing, first = server.listing("tools/list"), expect_result(session.request("tools/list"))
    cursor = first.get("nextCursor")
    if cursor is not None:
        reply = require_answer(session.request("tools/list", {"cursor": cursor.json}))
        more = set(listing.identifiers_on(reply)) - set(listing.identifiers())
        if more:
            raise Finding("every tool in one answer", f"{min(more)!r} only behind a cursor", reply.lines)


@pytest.mark.requirement("tools.def.name-unique")
def test_no_two_tools_share_a_name(server, session):
    require_tools(server)
    for name, namesakes in repeated_identifiers(server, session, "tools/list"):
        raise Finding("each name once", f"{len(namesakes)} tools named {name!r}", namesakes[1].lines)


# The list depends on nothing but its request


@pytest.mark.requirement("tools.list.same-per-connection", "stateless.list-invariant")
def test_every_process_lists_the_same_tools(server):
    expect_same_in_every_process(server, "tools/list")


@pytest.mark.requirement("tools.list.no-side-effect-variation", "stateless.list-invariant")
def test_requests_that_only_read_do_not_change_the_tools(server):
    expect_same_after_reads(require_lists_around_reads(server, "tools/list"), "tools/list")


@pytest.mark.requirement("tools.list.no-side-effect-variation", "drift.lists")
@pytest.mark.capability("tools")
def test_a_list_of_tools_changes_not_by_being_fetched(server):
    expect_same_each_time(server, "tools/list")


@pytest.mark.requirement("tools.list.deterministic-order")
def test_the_tools_come_in_the_same_order_each_time(server):
    expect_same_order(server, "tools/list")


def tools_listed_late(server):
    """Return the first list of a fresh process and the tools that only its next one has; None if none are.

    A process is started only if the first process has listed tools late too.
    """
    listed = server.listing("tools/list")
    if server.surface.left_out or not missing({tool.name for tool in server.tools}, listed):
        return None
    with server.fresh("the first list of tools") as session:
        first, second = (complete_listing(session, "tools/list") for _ in range(2))
        names = missing({*first.identifiers()}, second)
        session.wait_for(lambda: session.received.notifications(CHANGED), NOTIFICATION_SECONDS)
        is_announced = bool(session.received.notifications(CHANGED))
    return (first, names) if names and not is_announced else None


def missing(names, listing):
    """Return the tools of a list that are not among these names."""
    return sorted({*listing.identifiers()} - names) if listing.is_complete else []


def shortened(names):
    """Return the first of some names."""
    return ", ".join([*names[:MAX_NAMES], *(["..."] if len(names) > MAX_NAMES else [])])


def require_tools(server):
    """Skip the check unless tools are declared and listed."""
    if "tools/list" not in server.served_lists():
        skip("tools are not declared and listed")
