"""Whether a list is the same in every process, and the same after other requests as before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from conformance.client.listing import Listing, fetch_list
from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.expect import skip
from conformance.json_schema.validation import TOO_COSTLY
from conformance.protocol.methods import LISTS
from conformance.protocol.value import Value
from conformance.scenarios.request_metadata import first_talk
from conformance.target.server import Server
from conformance.verdicts import Cause, Finding

COMPARED = ("tools/list", "prompts/list", "resources/list")
"""The lists that must not depend on the connection, nor on what was asked for on it before."""
PATIENCE = 5.0
"""How many seconds the requests may have taken altogether that are made once more."""


def expect_same_in_every_process(server: Server, method: str) -> None:
    """Raise a `Finding` if a second process lists other things than the first, whenever they are asked."""
    first, second = _listed(server, method), _walk(second_process(server), method)
    if _names(first) != _names(second):
        again = [_walk(server.session, method), _walk(second_process(server), method)]
        if [_names(walk) for walk in again] == [_names(first), _names(second)]:
            got = f"{_different(first, second)} only in one of two processes"
            lines = (*first.replies[0].lines, *second.replies[0].lines)
            raise Finding(f"the same {method} from each process", got, lines)


def second_process(server: Server) -> Session:
    """A process other than the one that most is asked of."""
    return first_talk(server)[0]


def expect_same_order(server: Server, method: str) -> None:
    """Raise a `Finding` if a list comes in another order when it is asked for again, here or elsewhere."""
    first = _listed(server, method)
    for session in (server.session, server.session, second_process(server)):
        other = _walk(session, method)
        pairs = zip(first.identifiers(), other.identifiers(), strict=False)
        moved = [name for one, name in pairs if one != name]
        if moved and sorted(first.identifiers()) == sorted(other.identifiers()):
            where = "the same process" if session is server.session else "another process"
            got = f"{moved[0]!r} at another place when {where} was asked"
            raise Finding(f"the same order of {method} each time", got, other.replies[0].lines)


def repeated(server: Server, session: Session, method: str) -> Iterator[tuple[str, list[Value]]]:
    """What identifies several items of a list, each time it is fetched, and those items.

    Equal items on different pages are left out: they are a matter of the pages.
    """
    walk = server.listing(method)
    found = walk.namesakes()
    again = Counter(fetch_list(session, method, LISTS[method][1]).identifiers() if found else ())
    on_two_pages = {*walk.repeated()}
    for name, items in found.items():
        differ = any(item.json != items[0].json for item in items)
        if again[name] > 1 and (differ or name not in on_two_pages):
            yield name, items


def expect_same_after_others(server: Server, method: str) -> None:
    """Raise a `Finding` if requests that only read, between two requests for a list, have changed it."""
    _listed(server, method)
    found = after_others(server)
    if not found.others:
        skip("there is nothing that only reads, may be asked for, and was answered each time")
    before, after = found.before[method], found.after[method]
    if before.failure or after.failure:
        skip(before.failure or after.failure)
    stays = _names(after) == _names(found.again[method]) and _names(before) == _names(found.elsewhere[method])
    if _names(before) != _names(after) and stays:
        asked = ", ".join(dict.fromkeys(map(_title, found.others)))
        got = f"{_different(before, after)} only before or after {asked}"
        raise Finding(f"the same {method} after requests that only read", got, after.replies[0].lines)


@dataclass(frozen=True)
class Aftermath:
    """A process that was asked for its lists before and after ``others``, requests that only read.

    ``elsewhere`` is what another process, in which there were no such requests, listed after that; then the
    first was asked ``again``.
    """

    before: Mapping[str, Listing]
    others: tuple[Reply, ...]
    after: Mapping[str, Listing]
    elsewhere: Mapping[str, Listing]
    again: Mapping[str, Listing]


def after_others(server: Server) -> Aftermath:
    """What became of the lists, found out once."""
    found: Aftermath = server.once("after others", lambda: _after_others(server))
    return found


def _after_others(server: Server) -> Aftermath:
    wanted = list(_reading(server))
    with server.fresh() as session:
        before = _walks(server, session)
        others = tuple(_asked_again(session, wanted))
        if not others or others[-1].fault is not None:
            return Aftermath({}, (), {}, {}, {})
        after = _walks(server, session)
        elsewhere = _walks(server, second_process(server))
        return Aftermath(before, others, after, elsewhere, _walks(server, session))


def _reading(server: Server) -> Iterator[Reply]:
    """What was asked of the server that changes nothing by what it says of itself, up to some seconds."""
    calls = [call.reply for call in server.calls() if call.tool.read_only and len(call.rounds) < 2]
    replies = [reply for reply in (*server.prompts(), *server.resources(), *calls) if reply.fault is None]
    taken = accumulate(reply.seconds for reply in replies)
    yield from (reply for reply, seconds in zip(replies, taken, strict=True) if seconds <= PATIENCE)


def _asked_again(session: Session, replies: list[Reply]) -> Iterator[Reply]:
    """The answers to the same requests, up to the first that is not answered."""
    for reply in replies:
        again = session.request(*_asked(reply))
        yield again
        if again.fault is not None:
            return


def _asked(reply: Reply) -> tuple[str, dict[str, Any]]:
    params = reply.request.message["params"]
    return reply.method, {name: value for name, value in params.items() if name != "_meta"}


def _title(reply: Reply) -> str:
    params = reply.request.message["params"]
    return f"{reply.method} of {params.get('name', params.get('uri'))}"


def _listed(server: Server, method: str) -> Listing:
    """A list as it came first; skips the check unless it came in full."""
    if method not in server.served_lists():
        skip(f"{method} is not declared and served")
    return _whole(server.listing(method))


def _walk(session: Session, method: str) -> Listing:
    return _whole(fetch_list(session, method, LISTS[method][1]))


def _whole(walk: Listing) -> Listing:
    """Return the listing; skip the check unless it came in full."""
    if walk.left_out:
        skip(f"{walk.left_out} items of {walk.method} are {TOO_COSTLY}", cause=Cause.TOO_COSTLY)
    if walk.failure:
        skip(walk.failure)
    return walk


def _walks(server: Server, session: Session) -> dict[str, Listing]:
    served = [method for method in COMPARED if method in server.served_lists()]
    return {method: fetch_list(session, method, LISTS[method][1]) for method in served}


def _names(walk: Listing) -> set[str]:
    return set(walk.identifiers())


def _different(one: Listing, other: Listing) -> str:
    return ", ".join(sorted(_names(one) ^ _names(other))[:3])
