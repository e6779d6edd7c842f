"""Announcements of what tools make and change: lists and resources, in the session of the sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from mcp_conformance.client.session import Session
from mcp_conformance.client.subscriptions import FILTER_MEMBERS, FLAGS, LISTEN, UPDATED, Listen
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.scenarios.list_changes import (
    IDLE_SECONDS,
    MIN_IDLE,
    NOTIFICATION_SECONDS,
    lists_after_calls,
)
from mcp_conformance.scenarios.list_stability import difference
from mcp_conformance.scenarios.resource_updates import SUBSCRIBE
from mcp_conformance.scenarios.server_snapshot import LISTED, ServerSnapshot, snapshot
from mcp_conformance.scenarios.state import state_of
from mcp_conformance.state.hand import Lost, Spent
from mcp_conformance.state.links import Doing, Effect, Made, Thing
from mcp_conformance.state.violation import quoted
from mcp_conformance.state.workshop import Workshop
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding

TRIALS = 3
"""How often something is done before its announcement is judged: several changes may be merged into one."""
MAX_THINGS = 3
"""Not measured: for how many kinds of things announcements are awaited."""


@dataclass(frozen=True)
class Announcement:
    """What was due or came: ``rule`` is the one that is judged by it, and ``tool`` brought it about.

    It ``is_broken`` if nothing came although something has changed, and ``is_idle`` if something came again
    and again and nothing has.
    """

    rule: str
    tool: str
    method: str
    because: str
    lines: tuple[Line, ...] = ()
    is_broken: bool = False
    is_idle: bool = False


@scenario
def announcements(server: Server) -> tuple[Announcement, ...]:
    """Make and change things, and return what was due; what is wrong is seen again in a fresh process.

    Skips the check as `state_of` does, and where the server declares that it announces nothing.
    """
    if not any(server.declares(*path) for path in FLAGS.values()):
        skip("the server declares neither listChanged nor subscribe")
    found = _announced(server, server.state.session())
    if not any(one.is_broken or one.is_idle for one in found):
        return found
    with server.state.fresh() as session:
        again = {(one.rule, one.tool, one.is_idle): one for one in _announced(server, session)}
    seen = [again.get((one.rule, one.tool, one.is_idle)) for one in found]
    return tuple(one for one in seen if one is not None)


def expect_announcements(server: Server) -> None:
    """Report changes that were not announced, and announcements without a change."""
    found = announcements(server)
    if not found:
        skip("nothing that tools make or change is on a list or is a resource that is announced")
    wrong = {
        (one.rule, one.is_idle): _finding(one)
        for one in reversed(found)
        if one.is_idle or (one.is_broken and not _is_seen_by_calls(server, one))
    }
    if findings := list(wrong.values()):
        raise findings[0].with_others(findings[1:])


def _is_seen_by_calls(server: Server, one: Announcement) -> bool:
    """Return whether the checks of the first calls judge the list too: one cause is one finding."""
    method = f"{one.rule.partition('.')[0]}/list"
    after = None if server.surface.is_modern else lists_after_calls(server)[1].get(method)
    return one.method != UPDATED and after is not None and bool(difference(server.listing(method), after))


def _finding(one: Announcement) -> Finding:
    if one.is_idle:
        expected = f"{one.method} only after a change"
        return Finding(expected, one.because, one.lines, one.rule, tool=one.tool, advisory=True)
    return Finding(one.method, f"nothing, although {one.because}", one.lines, one.rule, tool=one.tool)


def _announced(server: Server, session: Session) -> tuple[Announcement, ...]:
    """Return what was due in a session; what the budget allows."""
    watch, found = _Watch(server, session), list[Announcement]()
    if not watch.is_open:
        return ()
    shop = server.state.workshop(session, "announcements")
    things = [one for one in state_of(server).learned.things if one.lasts][:MAX_THINGS]
    with suppress(Spent, Lost):
        for thing in things:
            found += watch.makes(shop, thing)
            found += watch.reads(shop, thing)
            for effect in [one for one in thing.doing(Doing.CHANGES) if one.paths][:1]:
                found += watch.changes(shop, thing, effect)
    return tuple(found)


class _Watch:
    """The lists and resources of a session, and what the server announces there.

    It ``is_open`` unless the server acknowledges no subscription, which a modern one needs.
    """

    def __init__(self, server: Server, session: Session):
        self._server, self._session = server, session
        self._declared = [one for one in LISTED if server.declares(one, "listChanged")]
        self.is_open = True
        if session.is_modern and self._declared:
            wanted = {FILTER_MEMBERS[_changed(one)]: True for one in self._declared}
            self.is_open = self._listen(wanted)

    def _listen(self, wanted: Mapping[str, object]) -> bool:
        listen = Listen(self._session, self._session.send(LISTEN, {"notifications": wanted}))
        self._wait(lambda: listen.is_answered)
        return listen.acknowledgment is not None and all(listen.agreed.get(one) for one in wanted)

    def _wait(self, arrived: Callable[[], object], seconds: float = NOTIFICATION_SECONDS) -> None:
        self._session.wait_for(arrived, self._session.scaled_timeout(seconds))

    def _came(self, method: str, uri: str = "") -> list[Line]:
        """Return the lines of the announcements so far, those of a resource if ``uri`` is given."""
        found = self._session.received.notifications(method)
        return [line for line, message in found if not uri or uri == _uri_of(message)]

    def _comes(self, method: str, known: int, uri: str = "") -> bool:
        """Return whether more than the known announcements come."""
        self._wait(lambda: self._came(method, uri)[known:])
        return bool(self._came(method, uri)[known:])

    def _now(self, uris: Sequence[str] = ()) -> ServerSnapshot:
        return snapshot(self._server, self._session, uris)

    # Lists

    def makes(self, shop: Workshop, thing: Thing) -> Iterator[Announcement]:
        """Make things, and yield the lists that have changed each time."""
        known = {one: len(self._came(_changed(one))) for one in self._declared}
        if not known or self._now().names != (before := self._now().names):
            return
        always, made = set(known), None
        for _ in range(TRIALS):
            made = shop.make(thing.maker)
            after = self._now().names
            always &= {one for one in known if made is not None and after.get(one) != before.get(one)}
            before = after
        for one in sorted(always):
            assert made is not None
            because = f"each call of {quoted(thing.maker.name)} has changed {one}/list"
            is_broken = not self._comes(_changed(one), known[one])
            yield _list_announcement(
                one, thing.maker.name, because, made.call.reply.lines, is_broken=is_broken
            )

    def reads(self, shop: Workshop, thing: Thing) -> Iterator[Announcement]:
        """Read a thing again and again, and yield the lists that are announced though they are the same."""
        made = shop.make(thing.maker) if self._declared else None
        for link in thing.links[:2] if made is not None else ():
            assert made is not None
            idle = set(self._declared)
            for _ in range(2):  # an announcement of an earlier change may come late
                idle &= self._idle(partial(shop.read, link, made))
                if not idle:
                    break
                self._wait(lambda: False, IDLE_SECONDS)
            for one in sorted(idle):
                because = f"one after nearly each call of {quoted(link.tool)}, and {one}/list is the same"
                lines = tuple(self._came(_changed(one))[-MIN_IDLE:])
                yield _list_announcement(one, link.tool, because, lines, is_idle=True)

    def _idle(self, read: Callable[[], object]) -> set[str]:
        """Return the lists that several reads announce, and that are the same."""
        self._session.drain()
        before = self._now().names
        came = dict.fromkeys(self._declared, 0)
        for _ in range(TRIALS):
            known = {one: len(self._came(_changed(one))) for one in came}
            read()
            self._session.drain()
            for one in came:
                came[one] += bool(self._came(_changed(one))[known[one] :])
        after = self._now().names
        return {one for one in came if came[one] >= MIN_IDLE and before.get(one) == after.get(one)}

    # Resources

    def changes(self, shop: Workshop, thing: Thing, effect: Effect) -> Iterator[Announcement]:
        """Change one of two things whose resources are subscribed to, and yield whether that is announced."""
        if not self._server.declares("resources", "subscribe"):
            return
        silent, idle, lines = 0, 0, tuple[Line, ...]()
        for _ in range(TRIALS):
            one, other = self._made(shop, thing), self._made(shop, thing)
            if one is None or other is None or not self._subscribe(one[1], other[1]):
                return
            before = self._now([one[1], other[1]]).contents
            known = {uri: len(self._came(UPDATED, uri)) for uri in (one[1], other[1])}
            done = shop.apply(effect, other[0])
            after = self._now([one[1], other[1]]).contents
            is_moved = [before.get(uri) != after.get(uri) for uri in (one[1], other[1])]
            if done is None or is_moved != [False, True] or len(before) < len(known):
                return
            silent += not self._comes(UPDATED, known[other[1]], other[1])
            idle += bool(self._came(UPDATED, one[1])[known[one[1]] :])
            lines = done.call.reply.lines
        rule, tool = "resources.subscribe.updated-sent", effect.tool
        because = f"{quoted(tool)} has changed the contents of a resource that is subscribed to, each time"
        yield Announcement(rule, tool, UPDATED, because, lines, is_broken=silent == TRIALS)
        if idle == TRIALS and silent < TRIALS:
            because = f"one for another resource too, each time that {quoted(tool)} changed one"
            yield Announcement(rule, tool, UPDATED, because, lines, is_idle=True)

    def _made(self, shop: Workshop, thing: Thing) -> tuple[Made, str] | None:
        """Make a thing, and return it with the URI that is new on the list of resources; None without."""
        before = self._now().names.get("resources")
        made = shop.make(thing.maker)
        after = self._now().names.get("resources")
        if made is None or before is None or after is None or len(after - before) != 1:
            return None
        return made, next(iter(after - before))

    def _subscribe(self, *uris: str) -> bool:
        """Subscribe to resources; return whether the server agrees."""
        if self._session.is_modern:
            return self._listen({FILTER_MEMBERS[UPDATED]: list(uris)})
        return all(self._session.request(SUBSCRIBE, {"uri": uri}).value is not None for uri in uris)


def _list_announcement(  # noqa: PLR0913  (what is said of a list)
    feature: str,
    tool: str,
    because: str,
    lines: tuple[Line, ...],
    *,
    is_broken: bool = False,
    is_idle: bool = False,
) -> Announcement:
    rule = f"{feature}.list-changed.sent"
    return Announcement(rule, tool, _changed(feature), because, lines, is_broken=is_broken, is_idle=is_idle)


def _changed(feature: str) -> str:
    return f"notifications/{feature}/list_changed"


def _uri_of(message: object) -> object:
    params = message.get("params") if isinstance(message, dict) else None
    return params.get("uri") if isinstance(params, dict) else None
