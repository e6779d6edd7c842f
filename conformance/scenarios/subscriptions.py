"""Who is told of a change: all that a server tells, and whether it was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.client.refusals import NO_SUCH_URI
from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.client.subscriptions import (
    CANCELLED,
    FLAGS,
    LISTEN,
    NEWS,
    UPDATED,
    ChangeNotification,
    Listen,
    change_notifications,
    names,
    notifications_in,
    tag_of,
)
from conformance.expect import expect_none, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, kind
from conformance.protocol.value import Value
from conformance.scenarios.list_changes import (
    GRACE,
    MOST,
    Change,
    State,
    answered,
    change_in,
    list_change,
    mutating_call,
    quiet_change,
    state_in,
    unheard_change,
)
from conformance.scenarios.log_messages import chatty_requests, with_level
from conformance.target.server import Server
from conformance.verdicts import Blocked

MALFORMED: Mapping[str, Mapping[str, Any]] = {
    "absent": {},
    "words": {"notifications": {"toolsListChanged": "yes"}},
    "one-uri": {"notifications": {"resourceSubscriptions": NO_SUCH_URI}},
}
"""The params of listen requests that are to be refused."""
FIRST, SECOND, EVERY, NOTHING, STILL, HASTY = "first", "second", "every", "nothing", "still", "hasty"
IDS: Mapping[str, Any] = {FIRST: 0, SECOND: "1000022"}
"""The ids of two listen requests, chosen to be mistaken: for none, and for a number (that no other id is)."""
MOST_TELLERS = 3
LAST_WORDS = 5.0


@dataclass(frozen=True)
class Listening:
    """A conversation with listen requests of all kinds.

    `FIRST` and `SECOND` ask for all that is declared; `EVERY` for all there could be, `NOTHING` for nothing;
    others for one thing each, named by its member of the filter; `STILL` for resources that the tool does not
    touch.  After the first ``change`` `SECOND` was ``cancelled``, which had been read at ``read``; then
    `HASTY` was sent together with the call ``again``.  At ``ended`` the server's stdin was closed, unless it
    had ``died`` before.
    """

    session: Session
    listens: Mapping[str, Listen]
    change: Change | None
    again: Change | None
    cancelled: Line | None
    read: float
    ended: float
    died: bool
    malformed: Mapping[str, tuple[Listen, Reply]]

    @property
    def acknowledged(self) -> Mapping[str, Listen]:
        """The listen requests that the server agreed to."""
        return {name: one for name, one in self.listens.items() if one.acknowledgment is not None}

    def is_announced(self, change: Change, method: str, uri: str = "") -> bool:
        """Whether anybody who listened before was told of something that has changed, however wrongly."""
        found = [one for one in notifications_in(self.session.lines) if one.json["method"] == method]
        told = [one for one in found if names(one, uri) and one.lines[0].at >= change.call.request.at]
        return any(not self._is_hasty(one) for one in told)

    def _is_hasty(self, notification: Value) -> bool:
        return HASTY in self.listens and id_key(tag_of(notification)) == id_key(self.listens[HASTY].id)

    def refusal(self, name: str) -> Value | None:
        """The error by which a listen request was refused, None if it was not."""
        one = self.listens[name]
        answers = [answer for answer in one.answers if answer.lines[-1].at < self.ended]
        errors = [answer for answer in answers if kind(answer.json) is Kind.ERROR]
        return errors[0] if errors and one.acknowledgment is None else None


def listening(server: Server) -> Listening:
    """The one conversation with all kinds of listen requests; a tool changes things if the user names one.

    Raises `Blocked` for the check that first meets a server that did not survive.
    """
    found: Listening = server.once("listening", lambda: _listening(server))
    if found.died:
        lines, stderr = found.session.lines[-6:], found.session.process.stderr
        reason = "the server ended while it was listened to"
        server.raise_once("listening", Blocked(reason, lines, stderr, "subscriptions.supported"))
    return found


def heard_change(server: Server) -> Change:
    """The first change while somebody listens; skips the check if nothing changed, or nobody could listen."""
    sample = mutating_call(server)
    change = listening(server).change
    if change is None:
        skip("no listen request was acknowledged")
    if not answered(server, change).news:
        skip(f"calling {sample.tool} changed no list, and nothing that was read: {change.call}")
    return change


def declared(server: Server) -> list[str]:
    """The members of a filter for which the server declares something."""
    return [member for member, path in FLAGS.items() if server.declares(*path)]


def _listening(server: Server) -> Listening:
    sample, tellers = server.settings.mutating_call, _tellers(server)
    still = quiet_change(server).still if sample else []
    change = again = cancelled = None
    read = 0.0
    with server.fresh() as session:
        before = state_in(server, session) if sample else State({}, {})
        listens = {name: _listen(session, name, what) for name, what in _filters(server, still).items()}
        _await_taken(session, listens.values())
        is_heard = any(one.acknowledgment is not None for one in listens.values())
        if sample and is_heard:
            change = change_in(server, session, sample, before, state_in)
            _await_told(session, listens, change)
        for params in tellers if is_heard else ():
            session.request("tools/call", params)
        if sample and change and change.news:
            reason = {"requestId": listens[SECOND].id, "reason": "Nobody listens any more."}
            cancelled = session.notify(CANCELLED, reason)
            session.drain()
            read = session.process.age
            listens[HASTY] = _listen(session, HASTY, listens[FIRST].filter)
            again = change_in(server, session, sample, change.after, state_in)
            _await_told(session, {name: one for name, one in listens.items() if name != SECOND}, again)
        wrong = MALFORMED if is_heard else {}
        malformed = {name: Listen(session, session.send(LISTEN, params)) for name, params in wrong.items()}
        _await_taken(session, malformed.values())
        replies = {name: (one, session.await_reply(one.request, 0.0)) for name, one in malformed.items()}
        ended, died = session.process.age, session.closed
        session.finish(session.scaled_timeout(LAST_WORDS))
    return Listening(session, listens, change, again, cancelled, read, ended, died, replies)


def _filters(server: Server, still: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What is listened to, by the names of the listen requests."""
    uris = server.listing("resources/list").identifiers()[:MOST] if server.declares("resources") else []
    every = {member: uris or [NO_SUCH_URI] if member == NEWS[UPDATED] else True for member in FLAGS}
    known = {member: every[member] for member in declared(server)}
    deaf = {member: False for member in known if member != NEWS[UPDATED]}
    singles = {member: {**deaf, member: what} for member, what in known.items()}
    others = {STILL: {NEWS[UPDATED]: list(still)}} if still and NEWS[UPDATED] in known else {}
    return {FIRST: known, SECOND: known, EVERY: every, NOTHING: {}, **singles, **others}


def _listen(session: Session, name: str, what: Mapping[str, Any]) -> Listen:
    params = {"notifications": dict(what)}
    loud = with_level(params, "debug") if name == EVERY else params
    return Listen(session, session.send(LISTEN, loud, id=IDS.get(name, ABSENT)))


def _await_taken(session: Session, listens: Iterable[Listen]) -> None:
    session.wait_for(lambda: all(one.is_taken for one in listens), session.timeout)
    session.drain()


def _await_told(session: Session, listens: Mapping[str, Listen], change: Change) -> None:
    """Wait until everybody is told of a change, and the server has worked off everything."""

    def is_everybody_told() -> bool:
        wanted = [(one, news) for one in listens.values() for news in change.news if one.covers(*news)]
        return all(one.is_told(*news, change.call.request) for one, news in wanted)

    session.wait_for(is_everybody_told, session.scaled_timeout(GRACE))
    session.drain()


def _tellers(server: Server) -> list[dict[str, Any]]:
    """Calls of quick tools that tell their progress, or log something, as they can be made again."""
    chatty = chatty_requests(server) if server.declares("logging") else []
    loud = {one.params["name"] for one in chatty if one.method == "tools/call"}
    calls = [call for call in server.calls() if call.progress or call.tool.name in loud]
    params = [
        {
            "name": call.tool.name,
            "arguments": call.arguments,
            "_meta": {"progressToken": f"listening-{number}"},
        }
        for number, call in enumerate(calls[:MOST_TELLERS])
        if not server.is_slow(call)
    ]
    return [with_level(each, "debug") for each in params]


def all_news(server: Server, *methods: str) -> list[ChangeNotification]:
    """All that a modern server has told by these methods, once it was made to tell of changes."""
    if server.settings.mutating_call is not None:
        unheard_change(server)
    listening(server)
    return [one for session in server.sessions for one in change_notifications(session, methods)]


def unasked(server: Server, *methods: str) -> list[Value]:
    """What a modern server has told by these methods to who had not asked for it."""
    return [one.message for one in all_news(server, *methods) if not one.is_asked_for or one.is_misdirected]


def asked_for(server: Server, *methods: str) -> list[ChangeNotification]:
    """What a modern server has told by these methods while somebody had asked for it."""
    return [one for one in all_news(server, *methods) if one.is_asked_for]


def expect_tagged(told: Iterable[ChangeNotification]) -> None:
    """Raise a `Finding` for what was told under an id that no listen request has, value and type."""
    lost = [one.message for one in told if one.listen is None]
    expected = (
        f"in params._meta a {revisions.SUBSCRIPTION_ID} that is the id of a listen request, of its type"
    )
    expect_none(lost, expected)


def evoke_news(server: Server) -> None:
    """Make a server tell of changes of lists, if the user names a tool that makes some."""
    if revisions.is_modern(server.revision):
        all_news(server)
    elif server.settings.mutating_call is not None:
        list_change(server, server.settings.mutating_call)


def is_list_change_told(server: Server, feature: str) -> tuple[Reply, bool]:
    """The call that changed the list of a feature, and whether that was announced.

    In a modern revision somebody listens.  Skips the check if the list did not change.
    """
    sample, method = mutating_call(server), f"notifications/{feature}/list_changed"
    if not server.declares(feature, "listChanged"):
        skip(f"{feature}.listChanged is not declared")
    if revisions.is_modern(server.revision):
        change, heard = heard_change(server), listening(server)
        if not any(one.covers(method) for one in heard.acknowledged.values()):
            skip(f"no {NEWS[method]} was agreed to")
        is_told = heard.is_announced(change, method)
    else:
        change, told = list_change(server, sample)
        is_told = method in told
    if feature not in answered(server, change).features:
        skip(f"calling {sample.tool} did not change the list of {feature}: {change.call}")
    return change.call, is_told
