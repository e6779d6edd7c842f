"""What a server shows at one moment: the names on its lists, and the contents of resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.target.server import Server

MAX_RESOURCES = 10
LISTED = ("tools", "prompts", "resources")


@dataclass(frozen=True)
class ServerSnapshot:
    """The identifiers on each list that could be fetched, and the contents that two reads agree on."""

    names: Mapping[str, frozenset[str]]
    contents: Mapping[str, Any]


def snapshot(server: Server, session: Session, uris: Iterable[str]) -> ServerSnapshot:
    """Return the identifiers on each list, and the contents of these resources."""
    uris = list(uris)
    first, second = contents(session, uris), contents(session, uris)
    steady = {uri: content for uri, content in second.items() if first.get(uri) == content}
    methods = [f"{feature}/list" for feature in LISTED if server.declares(feature)]
    listings = [fetch_list(session, method, LISTS[method][1]) for method in methods]
    complete = [one for one in listings if one.is_complete]
    return ServerSnapshot({LISTS[one.method][0]: frozenset(one.identifiers()) for one in complete}, steady)


def changes(before: ServerSnapshot, after: ServerSnapshot) -> set[str]:
    """Return the features whose lists differ in two snapshots, and the resources whose contents do."""
    lists = {one for one, names in before.names.items() if after.names.get(one, names) != names}
    return lists | {uri for uri, had in before.contents.items() if after.contents.get(uri, had) != had}


def watched(server: Server, session: Session) -> list[str]:
    """Return the first and the last resources on the list of a session, if one may subscribe to them.

    The last are those that calls of this run have made.
    """
    if not server.declares("resources", "subscribe"):
        return []
    uris = fetch_list(session, "resources/list", LISTS["resources/list"][1]).identifiers()
    half = MAX_RESOURCES // 2
    return uris if len(uris) <= MAX_RESOURCES else [*uris[:half], *uris[-half:]]


def contents(session: Session, uris: Iterable[str]) -> dict[str, Any]:
    """Read each URI and return its contents; leave out those that cannot be read."""
    return {
        uri: reply.result["contents"]
        for uri, reply in replies_for(session, "resources/read", uris)
        if isinstance(reply.result, dict) and "contents" in reply.result
    }


def replies_for(session: Session, method: str, uris: Iterable[str]) -> Iterator[tuple[str, Reply]]:
    """Send a request for each URI, and yield the replies; stop after the first that is not answered."""
    for uri in uris:
        if session.is_silent or session.closed:
            return
        yield uri, session.request(method, {"uri": uri})
