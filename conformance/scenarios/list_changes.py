"""A tool that changes things: the lists and the resources before it is called, and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.client.listing import fetch_list
from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.client.subscriptions import NEWS, UPDATED
from conformance.expect import skip
from conformance.protocol.methods import LISTS
from conformance.target.server import Server
from conformance.target.settings import Sample
from conformance.verdicts import Blocked

MOST = 10
GRACE = 2.0
HUSH = 0.5
"""How many seconds more a server that should be silent is listened to, once it has worked off everything."""


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


def mutating_call(server: Server) -> Sample:
    """The tool that changes things; skips the check if the user names none."""
    return server.settings.mutating_call or skip(
        "--mcp-mutating-call names a tool that changes a list, or a resource"
    )


def unheard_change(server: Server) -> Change:
    """A change in a modern conversation in which nobody listens, made once."""
    return answered(server, quiet_change(server))


def quiet_change(server: Server) -> Change:
    """The same, though its call may be without an answer."""
    sample = mutating_call(server)
    change: Change = server.once("unheard change", lambda: _quiet_change(server, sample))
    return change


def _quiet_change(server: Server, sample: Sample) -> Change:
    with server.fresh() as session:
        change = change_in(server, session, sample, state_in(server, session), state_in)
        session.drain()
        session.wait_for(lambda: any(map(session.notifications, NEWS)), session.scaled_timeout(HUSH))
        return change


def list_change(server: Server, sample: Sample) -> tuple[Change, list[str]]:
    """A change of lists in a session of the handshake era, made once, and what was announced of it."""
    found: tuple[Change, list[str]] = server.once("list change", lambda: _announced(server, sample))
    return found


def _announced(server: Server, sample: Sample) -> tuple[Change, list[str]]:
    with server.fresh() as session:
        change = change_in(server, session, sample, names_in(server, session), names_in)
        declared = [feature for feature in change.features if server.declares(feature, "listChanged")]
        methods = [f"notifications/{feature}/list_changed" for feature in declared]
        session.wait_for(lambda: all(map(session.notifications, methods)), session.scaled_timeout(GRACE))
        return change, [method for method in methods if session.notifications(method)]


def answered(server: Server, change: Change) -> Change:
    """The change; raises `Blocked` for the check that first meets one whose call was not answered."""
    call = change.call
    if call.fault is not None:
        reason = f"calling {change.tool} was not answered: {call.fault}"
        server.raise_once("changing tool", Blocked(reason, call.lines, call.fault.stderr))
    return change


def change_in(
    server: Server,
    session: Session,
    sample: Sample,
    before: State,
    state: Callable[[Server, Session], State],
) -> Change:
    """Make a change, and look at what ``state`` looks at after it."""
    call = session.request("tools/call", {"name": sample.tool, "arguments": dict(sample.arguments)})
    return Change(sample.tool, call, before, before if call.fault else state(server, session))


def names_in(server: Server, session: Session) -> State:
    """The names on each list, and no contents."""
    methods = [f"{feature}/list" for feature in ("tools", "prompts", "resources") if server.declares(feature)]
    walks = [fetch_list(session, method, LISTS[method][1]) for method in methods]
    return State(
        {LISTS[one.method][0]: frozenset(one.identifiers()) for one in walks if not (one.failure or one.left_out)},
        {},
    )


def state_in(server: Server, session: Session) -> State:
    """The names on each list, and the contents of the first resources if they can be subscribed to."""
    uris = server.listing("resources/list").identifiers()[:MOST] if server.declares("resources", "subscribe") else []
    once, again = contents(session, uris), contents(session, uris)
    steady = {uri: what for uri, what in again.items() if once.get(uri) == what}
    return State(names_in(server, session).names, steady)


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
        if session.is_silent or session.closed:
            return
        yield uri, session.request(method, {"uri": uri})
