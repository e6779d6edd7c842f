"""Announcements that the list of tools changed (spec: server/tools, "List Changed Notification")."""

from __future__ import annotations

import pytest

from conformance.value import members
from conformance.verdict import Finding, expect_each, heard, not_exercised, some
from conformance.wire import Kind

CHANGED = "notifications/tools/list_changed"
GRACE = 2.0


@pytest.mark.requirement("tools.list-changed.sent")
def test_a_changed_list_is_announced(server):
    sample = server.settings.changing_tool or not_exercised(
        "--mcp-changing-tool names a tool that changes the list"
    )
    if not server.declares("tools", "listChanged"):
        not_exercised("tools.listChanged is not declared")
    with server.fresh() as session:
        before = session.walk("tools/list", "tools")
        reply = heard(
            session.request("tools/call", {"name": sample.tool, "arguments": dict(sample.arguments)})
        )
        after = session.walk("tools/list", "tools")
        if before.names() == after.names():
            not_exercised(f"calling {sample.tool} did not change the list: {reply}")
        if not session.wait_for(lambda: session.notifications(CHANGED), GRACE):
            raise Finding(CHANGED, f"nothing, although the list changed within {GRACE:g} s", reply.lines)


@pytest.mark.requirement("tools.list-changed.negotiated", "capabilities.tools.list-changed-declared")
def test_only_a_declared_change_is_announced(server, traffic):
    announced = [each for each in traffic(Kind.NOTIFICATION) if each.json["method"] == CHANGED]
    some(announced, "no change of the list of tools was announced")
    if not server.declares("tools", "listChanged"):
        raise Finding(
            "tools.listChanged declared as true",
            f"{server.offers}, and yet {announced[0]}",
            announced[0].lines,
        )


@pytest.mark.requirement("tools.list-changed.shape")
def test_the_announcement_is_a_notification(traffic):
    named = (CHANGED, CHANGED.removeprefix("notifications/"))
    announced = [each for each in traffic(Kind.NOTIFICATION, Kind.REQUEST) if each.json["method"] in named]
    some(announced, "no change of the list of tools was announced")
    expect_each(members(announced, "method"), lambda method: method == CHANGED, f"the method {CHANGED}")
    expect_each(announced, lambda message: "id" not in message, "no id")
    expect_each(members(announced, "params"), lambda params: isinstance(params, dict), "an object")
