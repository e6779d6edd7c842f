"""Listing tools (spec: server/tools, "Listing Tools")."""

from __future__ import annotations

import pytest

from conformance.client.session import NO_PARAMS
from conformance.expect import expect, expect_each, expect_result, require_answer, skip
from conformance.scenarios.list_stability import (
    expect_same_after_others,
    expect_same_in_every_process,
    expect_same_order,
    repeated,
)
from conformance.verdicts import Finding


@pytest.mark.requirement("tools.list.answered")
def test_declared_tools_are_listed(server, session):
    if not server.declares("tools"):
        skip("tools are not declared")
    reply = session.request("tools/list")
    if reply.code == -32603:
        reply = session.request("tools/list")
    expect_result(reply)


@pytest.mark.requirement("tools.list.result-shape")
def test_a_page_has_an_array_of_tools(server):
    if not server.declares("tools"):
        skip("tools are not declared")
    pages = [reply.value for reply in server.listing("tools/list").replies if reply.value is not None]
    for page in pages or skip("tools/list gave no result"):
        tools = page.get("tools")
        expect(page, tools is not None and tools.is_a(list), "a member tools that is an array")
        expect_each(tools.each(), lambda tool: isinstance(tool, dict), "an object")


@pytest.mark.requirement("tools.list.params-optional")
@pytest.mark.parametrize("form", ["absent", "empty", "meta"])
def test_the_list_needs_no_params(server, session, form):
    if not server.declares("tools"):
        skip("tools are not declared")
    forms = {"absent": NO_PARAMS, "empty": {}, "meta": {"_meta": {}}}
    reply = session.request("tools/list", forms.pop(form))
    others = (session.request("tools/list", params) for params in forms.values())
    if reply.value is None and all(other.value is None for other in others):
        skip("tools/list gives no result in any form")
    expect_result(reply)


@pytest.mark.requirement("tools.list.comprehensive")
def test_one_answer_lists_every_tool(server, session):
    if "tools/list" not in server.served_lists():
        skip("tools are not declared and listed")
    first = expect_result(session.request("tools/list"))
    cursor = first.get("nextCursor")
    if cursor is not None:
        walk = server.listing("tools/list")
        reply = require_answer(session.request("tools/list", {"cursor": cursor.json}))
        more = set(walk.identifiers_on(reply)) - set(walk.identifiers())
        if more:
            raise Finding("every tool in one answer", f"{min(more)!r} only behind a cursor", reply.lines)


@pytest.mark.requirement("tools.def.name-unique")
def test_no_two_tools_share_a_name(server, session):
    if "tools/list" not in server.served_lists():
        skip("no tools are listed")
    for name, namesakes in repeated(server, session, "tools/list"):
        raise Finding("each name once", f"{len(namesakes)} tools named {name!r}", namesakes[1].lines)


# The list depends on nothing but its request


@pytest.mark.requirement("tools.list.same-per-connection", "stateless.list-invariant")
def test_every_process_lists_the_same_tools(server):
    expect_same_in_every_process(server, "tools/list")


@pytest.mark.requirement("tools.list.no-side-effect-variation", "stateless.list-invariant")
def test_requests_that_only_read_leave_the_tools_as_they_are(server):
    expect_same_after_others(server, "tools/list")


@pytest.mark.requirement("tools.list.deterministic-order")
def test_the_tools_come_in_the_same_order_each_time(server):
    expect_same_order(server, "tools/list")
