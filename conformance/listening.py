"""Listening for what changes: the modern conversations in which a tool changes things, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance import revisions
from conformance.logs import chatty_requests, with_level
from conformance.server import NO_SUCH_URI, Server
from conformance.session import Reply, Session
from conformance.surface import LISTS, Sample
from conformance.value import Value
from conformance.verdict import Blocked, expect_each, not_exercised
from conformance.wire import ABSENT, Kind, Line, id_key, kind

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CANCELLED = "notifications/cancelled"
UPDATED = "notifications/resources/updated"
NEWS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    UPDATED: "resourceSubscriptions",
}
"""What is told only to who listens, and the member of a filter that asks for it."""
FLAGS = {
    "toolsListChanged": ("tools", "listChanged"),
    "promptsListChanged": ("prompts", "listChanged"),
    "resourcesListChanged": ("resources", "listChanged"),
    "resourceSubscriptions": ("resources", "subscribe"),
}
"""The capability that goes with each member of a filter."""
MALFORMED: Mapping[str, Mapping[str, Any]] = {
    "absent": {},
    "words": {"notifications": {"toolsListChanged": "yes"}},
    "one-uri": {"notifications": {"resourceSubscriptions": NO_SUCH_URI}},
}
"""The params of listen requests that are to be refused."""
FIRST, SECOND, EVERY, NOTHING, STILL, HASTY = "first", "second", "every", "nothing", "still", "hasty"
IDS: Mapping[str, Any] = {FIRST: 0, SECOND: "1000022"}
"""The ids of two listen requests, chosen to be mistaken: for none, and for a number (that no other id is)."""
MOST = 10
MOST_TELLERS = 3
GRACE = 2.0
HUSH = 0.5
"""How many seconds more a server that should be silent is listened to, once it has worked off everything."""
LAST_WORDS = 5.0


@dataclass(frozen=True)
class Listen:
    """A listen request, and what came of it."""

    session: Session
    request: Line

    @property
    def id(self) -> Any:
        """Its id, which is that of the subscription."""
        return self.request.message["id"]

    @property
    def filter(self) -> Mapping[str, Any]:
        """What it asks for."""
        found = Value(self.request.message).get("params", "notifications")
        return found.json if found is not None and found.is_a(dict) else {}

    def wants(self, method: str) -> bool:
        """Whether it asks for notifications of this method."""
        return self.filter.get(NEWS[method], False) not in (False, [])

    @property
    def told(self) -> list[Value]:
        """Every notification that carries its id, in order."""
        own = id_key(self.id)
        return [one for one in notifications_in(self._later) if id_key(tag_of(one)) == own]

    @property
    def _later(self) -> list[Line]:
        return self.session.lines[self.session.lines.index(self.request) :]

    @property
    def acknowledgment(self) -> Value | None:
        """The notification that acknowledges it, None if there is none."""
        return next((one for one in self.told if one.json["method"] == ACKNOWLEDGED), None)

    @property
    def agreed(self) -> Mapping[str, Any]:
        """What the server agreed to tell of."""
        found = self.acknowledgment
        agreed = found.get("params", "notifications") if found is not None else None
        return agreed.json if agreed is not None and agreed.is_a(dict) else {}

    def covers(self, method: str, uri: str = "") -> bool:
        """Whether it asks to be told of this, and the server agreed to that."""
        agreed = self.agreed.get(NEWS[method]) if self.wants(method) else None
        return uri in agreed if isinstance(agreed, list) else agreed is True

    def is_told(self, method: str, uri: str, since: Line) -> bool:
        """Whether it was told of this after a line was sent."""
        return any(each.lines[0].at >= since.at for each in self.news(method, uri))

    def news(self, method: str, uri: str = "") -> list[Value]:
        """The notifications of a method that it was told, and of a resource or a part of it."""
        return [each for each in self.told if each.json["method"] == method and names(each, uri)]

    @property
    def answers(self) -> list[Value]:
        """The responses to it."""
        own = id_key(self.id)
        return [
            Value(message, "", (self.request, line))
            for line in self._later
            for message in line.parts()
            if not line.sent and is_response(message) and id_key(message.get("id", ABSENT)) == own
        ]

    @property
    def is_taken(self) -> bool:
        """Whether it is acknowledged or answered."""
        return self.acknowledgment is not None or bool(self.answers)

    @property
    def ends(self) -> list[Value]:
        """What tells that the server has ended it: cancellations and responses."""
        own = id_key(self.id)
        cancelled = [one for one in notifications_in(self._later) if one.json["method"] == CANCELLED]
        return [one for one in cancelled if id_key(cancelled_id(one)) == own] + self.answers


def listens_in(session: Session) -> list[Listen]:
    """The listen requests of a conversation."""
    asked = (line for line in session.lines if line.sent and kind(line.message) is Kind.REQUEST)
    return [Listen(session, line) for line in asked if line.message["method"] == LISTEN]


def notifications_in(lines: Sequence[Line]) -> Iterator[Value]:
    """The notifications of the server among some lines."""
    for line in lines:
        for message in line.parts() if not line.sent else ():
            if kind(message) is Kind.NOTIFICATION:
                yield Value(message, "", (line,))


def tag_of(notification: Value) -> Any:
    """The id of the subscription that a notification carries, `ABSENT` if it carries none."""
    found = notification.get("params", "_meta", revisions.SUBSCRIPTION_ID)
    return ABSENT if found is None else found.json


def cancelled_id(notification: Value) -> Any:
    """The id of the request that a cancellation names, `ABSENT` if it names none."""
    found = notification.get("params", "requestId")
    return ABSENT if found is None else found.json


def names(update: Value, uri: str) -> bool:
    """Whether an update is one of a resource, or of a part of it; every notification is of no resource."""
    found = update.get("params", "uri")
    return not uri or (found is not None and found.is_a(str) and found.json.startswith(uri.rstrip("/")))


def is_response(message: Any) -> bool:
    """Whether a message is a result or an error."""
    return kind(message) in (Kind.RESULT, Kind.ERROR)


@dataclass(frozen=True)
class News:
    """A notification of what has changed, or an acknowledgment, and the listen requests sent before it."""

    message: Value
    listens: tuple[Listen, ...]

    @property
    def listen(self) -> Listen | None:
        """The listen request whose id it carries, None if there is none."""
        tag = id_key(tag_of(self.message))
        return next((one for one in self.listens if id_key(one.id) == tag), None)

    @property
    def is_asked_for(self) -> bool:
        """Whether any listen request has asked for it; an acknowledgment is asked for by each."""
        return any(self.is_wanted_by(one) for one in self.listens)

    @property
    def is_misdirected(self) -> bool:
        """Whether it carries the id of a listen request that has not asked for it."""
        return self.listen is not None and not self.is_wanted_by(self.listen)

    def is_wanted_by(self, listen: Listen) -> bool:
        """Whether a listen request has asked for it."""
        method = self.message.json["method"]
        return method == ACKNOWLEDGED or listen.wants(method)


def all_news(server: Server, *methods: str) -> list[News]:
    """All that a modern server has told by these methods, once it was made to tell of changes."""
    if server.settings.changing_tool is not None:
        unheard_change(server)
    listening(server)
    return [one for session in server.sessions for one in _news_in(session, methods)]


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
        _list_change(server, server.settings.changing_tool)


def _news_in(session: Session, methods: Sequence[str]) -> Iterator[News]:
    listens = listens_in(session)
    for one in notifications_in(session.lines) if session.lines else ():
        if one.json["method"] in methods:
            line = one.lines[0]
            yield News(one, tuple(each for each in listens if each.request.at <= line.at))


# What changes


@dataclass(frozen=True)
class State:
    """The names on each list that could be fetched, and the contents that do not change by themselves."""

    names: Mapping[str, frozenset[str]]
    contents: Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A call that is there to change something, and what there was before it and after it."""

    tool: str
    call: Reply
    before: State
    after: State

    @property
    def features(self) -> list[str]:
        """The features whose lists have changed."""
        before, after = self.before.names, self.after.names
        return [feature for feature in before if feature in after and before[feature] != after[feature]]

    @property
    def moved(self) -> list[str]:
        """The resources that were one thing before it, and another one after it."""
        return [uri for uri, found in self.before.contents.items() if self._later(uri) != found]

    @property
    def still(self) -> list[str]:
        """The resources that stayed the same."""
        return [uri for uri, found in self.before.contents.items() if self._later(uri) == found]

    def _later(self, uri: str) -> Any:
        return self.after.contents.get(uri, self.before.contents[uri])

    @property
    def news(self) -> list[tuple[str, str]]:
        """What is to be told of it: methods, each with a URI or none."""
        lists = [(f"notifications/{feature}/list_changed", "") for feature in self.features]
        return lists + [(UPDATED, uri) for uri in self.moved]


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
        server.charge("listening", Blocked(reason, lines, stderr, "subscriptions.supported"))
    return found


def unheard_change(server: Server) -> Change:
    """A change in a modern conversation in which nobody listens, made once."""
    sample = changing_tool(server)
    change: Change = server.once("unheard change", lambda: _unheard_change(server, sample))
    return _answered(server, change)


def heard_change(server: Server) -> Change:
    """The first change while somebody listens; skips the check if nothing changed, or nobody could listen."""
    sample = changing_tool(server)
    change = listening(server).change
    if change is None:
        not_exercised("no listen request was acknowledged")
    if not _answered(server, change).news:
        not_exercised(f"calling {sample.tool} changed no list, and nothing that was read: {change.call}")
    return change


def changing_tool(server: Server) -> Sample:
    """The tool that changes things; skips the check if the user names none."""
    return server.settings.changing_tool or not_exercised(
        "--mcp-changing-tool names a tool that changes a list, or a resource"
    )


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
        change, told = _list_change(server, sample)
        is_told = method in told
    if feature not in _answered(server, change).features:
        not_exercised(f"calling {sample.tool} did not change the list of {feature}: {change.call}")
    return change.call, is_told


def _list_change(server: Server, sample: Sample) -> tuple[Change, list[str]]:
    """A change of lists in a session of the handshake era, made once, and what was announced of it."""
    found: tuple[Change, list[str]] = server.once("list change", lambda: _announced(server, sample))
    return found


def _announced(server: Server, sample: Sample) -> tuple[Change, list[str]]:
    with server.fresh() as session:
        change = _change(server, session, sample, _names(server, session), _names)
        declared = [feature for feature in change.features if server.declares(feature, "listChanged")]
        methods = [f"notifications/{feature}/list_changed" for feature in declared]
        session.wait_for(lambda: all(map(session.notifications, methods)), GRACE)
        return change, [method for method in methods if session.notifications(method)]


def declared(server: Server) -> list[str]:
    """The members of a filter for which the server declares something."""
    return [member for member, path in FLAGS.items() if server.declares(*path)]


def _answered(server: Server, change: Change) -> Change:
    call = change.call
    if call.fault is not None:
        reason = f"calling {change.tool} was not answered: {call.fault}"
        server.charge("changing tool", Blocked(reason, call.lines, call.fault.stderr))
    return change


# The conversations


def _unheard_change(server: Server, sample: Sample) -> Change:
    with server.fresh() as session:
        change = _change(server, session, sample, _state(server, session), _state)
        session.settle()
        session.wait_for(lambda: any(map(session.notifications, NEWS)), HUSH)
        return change


def _listening(server: Server) -> Listening:
    sample, tellers = server.settings.changing_tool, _tellers(server)
    still = server.once("unheard change", lambda: _unheard_change(server, sample)).still if sample else []
    change = again = cancelled = None
    read = 0.0
    with server.fresh() as session:
        before = _state(server, session) if sample else State({}, {})
        listens = {name: _listen(session, name, what) for name, what in _filters(server, still).items()}
        _await_taken(session, listens.values())
        is_heard = any(one.acknowledgment is not None for one in listens.values())
        if sample and is_heard:
            change = _change(server, session, sample, before, _state)
            _await_told(session, listens, change)
        for params in tellers if is_heard else ():
            session.request("tools/call", params)
        if sample and change and change.news:
            reason = {"requestId": listens[SECOND].id, "reason": "Nobody listens any more."}
            cancelled = session.notify(CANCELLED, reason)
            session.settle()
            read = session.process.age
            listens[HASTY] = _listen(session, HASTY, listens[FIRST].filter)
            again = _change(server, session, sample, change.after, _state)
            _await_told(session, {name: one for name, one in listens.items() if name != SECOND}, again)
        wrong = MALFORMED if is_heard else {}
        malformed = {name: Listen(session, session.send(LISTEN, params)) for name, params in wrong.items()}
        _await_taken(session, malformed.values())
        replies = {name: (one, session.await_reply(one.request, 0.0)) for name, one in malformed.items()}
        ended, died = session.process.age, session.closed
        session.finish(LAST_WORDS)
    return Listening(session, listens, change, again, cancelled, read, ended, died, replies)


def _filters(server: Server, still: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What is listened to, by the names of the listen requests."""
    uris = server.walk("resources/list").names()[:MOST] if server.declares("resources") else []
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
    session.settle()


def _await_told(session: Session, listens: Mapping[str, Listen], change: Change) -> None:
    """Wait until everybody is told of a change, and the server has worked off everything."""

    def is_everybody_told() -> bool:
        wanted = [(one, news) for one in listens.values() for news in change.news if one.covers(*news)]
        return all(one.is_told(*news, change.call.request) for one, news in wanted)

    session.wait_for(is_everybody_told, GRACE)
    session.settle()


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


def _params(sample: Sample) -> dict[str, Any]:
    return {"name": sample.tool, "arguments": dict(sample.arguments)}


def _change(
    server: Server,
    session: Session,
    sample: Sample,
    before: State,
    state: Callable[[Server, Session], State],
) -> Change:
    call = session.request("tools/call", _params(sample))
    return Change(sample.tool, call, before, before if call.fault else state(server, session))


def _names(server: Server, session: Session) -> State:
    methods = [f"{feature}/list" for feature in ("tools", "prompts", "resources") if server.declares(feature)]
    walks = [session.walk(method, LISTS[method][1]) for method in methods]
    return State({LISTS[one.method][0]: frozenset(one.names()) for one in walks if not one.trouble}, {})


def _state(server: Server, session: Session) -> State:
    uris = server.walk("resources/list").names()[:MOST] if server.declares("resources", "subscribe") else []
    once, again = contents(session, uris), contents(session, uris)
    steady = {uri: what for uri, what in again.items() if once.get(uri) == what}
    return State(_names(server, session).names, steady)


def contents(session: Session, uris: Sequence[str]) -> dict[str, Any]:
    """What each of the URIs is read as; those that cannot be read are left out."""
    return {
        uri: reply.result["contents"]
        for uri, reply in answers(session, "resources/read", uris)
        if isinstance(reply.result, dict) and "contents" in reply.result
    }


def answers(session: Session, method: str, uris: Sequence[str]) -> Iterator[tuple[str, Reply]]:
    """The answer for each of the URIs; after one that does not come, nothing more is asked."""
    for uri in uris:
        if session.silent or session.closed:
            return
        yield uri, session.request(method, {"uri": uri})
