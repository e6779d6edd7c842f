"""Who is told of a change: all that a server tells, and whether it was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from conformance import revisions
from conformance.changes import answered, changing_tool, list_change, unheard_change
from conformance.listening import heard_change, listening
from conformance.server import Server
from conformance.session import Reply
from conformance.subscriptions import NEWS, News, news_in
from conformance.value import Value
from conformance.verdict import expect_each, not_exercised


def all_news(server: Server, *methods: str) -> list[News]:
    """All that a modern server has told by these methods, once it was made to tell of changes."""
    if server.settings.changing_tool is not None:
        unheard_change(server)
    listening(server)
    return [one for session in server.sessions for one in news_in(session, methods)]


def unasked(server: Server, *methods: str) -> list[Value]:
    """What a modern server has told by these methods to who had not asked for it."""
    return [one.message for one in all_news(server, *methods) if not one.is_asked_for or one.is_misdirected]


def asked_for(server: Server, *methods: str) -> list[News]:
    """What a modern server has told by these methods while somebody had asked for it."""
    return [one for one in all_news(server, *methods) if one.is_asked_for]


def expect_tagged(told: Iterable[News]) -> None:
    """Raise a `Finding` for what was told under an id that no listen request has, value and type."""
    lost = [one.message for one in told if one.listen is None]
    expected = (
        f"in params._meta a {revisions.SUBSCRIPTION_ID} that is the id of a listen request, of its type"
    )
    expect_each(lost, lambda _: False, expected)


def evoke_news(server: Server) -> None:
    """Make a server tell of changes of lists, if the user names a tool that makes some."""
    if revisions.is_modern(server.revision):
        all_news(server)
    elif server.settings.changing_tool is not None:
        list_change(server, server.settings.changing_tool)


def is_list_change_told(server: Server, feature: str) -> tuple[Reply, bool]:
    """The call that changed the list of a feature, and whether that was announced.

    In a modern revision somebody listens.  Skips the check if the list did not change.
    """
    sample, method = changing_tool(server), f"notifications/{feature}/list_changed"
    if not server.declares(feature, "listChanged"):
        not_exercised(f"{feature}.listChanged is not declared")
    if revisions.is_modern(server.revision):
        change, heard = heard_change(server), listening(server)
        if not any(one.covers(method) for one in heard.acknowledged.values()):
            not_exercised(f"no {NEWS[method]} was agreed to")
        is_told = heard.is_announced(change, method)
    else:
        change, told = list_change(server, sample)
        is_told = method in told
    if feature not in answered(server, change).features:
        not_exercised(f"calling {sample.tool} did not change the list of {feature}: {change.call}")
    return change.call, is_told
