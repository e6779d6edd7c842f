"""Lists: what every listing method owes, and whether a list depends on the process or on earlier requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from mcp_conformance.client.listing import Listing, fetch_list
from mcp_conformance.client.reply import Reply, results_of
from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_result,
    is_object,
    require_some,
    skip,
)
from mcp_conformance.json_schema.validation import TOO_COSTLY
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.remedies import UNSTEADY
from mcp_conformance.scenarios.request_metadata import first_exchange
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Cause, Finding

COMPARED = ("tools/list", "prompts/list", "resources/list")
"""The lists that must depend neither on the connection, nor on earlier requests in it."""
MAX_READING_SECONDS = 5.0
"""How long the requests that are repeated between two lists may have taken altogether."""
# Not measured: a list that gives a random part of its items each time shows it in so many answers.
LOOKS, MORE_LOOKS, MIN_TURNS = 2, 6, 3
"""How often a list is fetched again, then once more if it has differed; how often an item comes or goes."""
OTHER_LISTS = "the lists of another process"
NO_ARGUMENTS_FORMS: Mapping[str, Any] = {"absent": NO_PARAMS, "empty": {}, "meta": {"_meta": {}}}
"""The forms of params without a cursor."""


# What every listing method owes


def require_pages(server: Server, method: str) -> list[Value]:
    """Return the results of a list, one for each page; skip the check if there is none."""
    pages = results_of(server.listing(method).replies)
    return require_some(pages, skip=f"{method} gave no result")


def require_answered_form(
    session: Session, method: str, form: str, forms: Iterable[str] = NO_ARGUMENTS_FORMS
) -> Reply:
    """Return the reply to params of one of `NO_ARGUMENTS_FORMS`; skip if no form gets a result."""
    reply = session.request(method, NO_ARGUMENTS_FORMS[form])
    others = (session.request(method, NO_ARGUMENTS_FORMS[other]) for other in forms if other != form)
    if reply.value is None and all(other.value is None for other in others):
        skip(f"{method} gives no result in any form")
    return reply


def expect_list_answered(server: Server, session: Session, method: str) -> None:
    """Expect a result; one internal error is tolerated."""
    require_served(server, method)
    reply = session.request(method)
    if reply.code == -32603:
        reply = session.request(method)
    expect_result(reply)


def expect_items(
    pages: Iterable[Value],
    method: str,
    is_item: Callable[[Any], bool] = is_object,
    expected_item: str = "an object",
) -> None:
    """Expect an array of items in each page of a list."""
    member = LISTS[method][1]
    for page in pages:
        array = page.get(member)
        expect(array or page, array is not None and array.is_a(list), f"an array in {member}")
        items = [item for found in members([page], member) for item in found.each()]
        expect_each(items, is_item, expected_item)


def repeated_identifiers(server: Server, session: Session, method: str) -> Iterator[tuple[str, list[Value]]]:
    """Yield each identifier that several items of a list share whenever it is fetched, and these items.

    Equal items on different pages are left out: the checks of pagination judge them.
    """
    listing = server.listing(method)
    namesakes = listing.namesakes()
    again = Counter(fetch_list(session, method, LISTS[method][1]).identifiers() if namesakes else ())
    on_two_pages = {*listing.repeated()}
    for name, items in namesakes.items():
        differ = any(item.json != items[0].json for item in items)
        if again[name] > 1 and (differ or name not in on_two_pages):
            yield name, items


# The same list in each process, and each time


def expect_same_in_every_process(server: Server, method: str, other: Session | None = None) -> None:
    """Expect that another process lists the same items as the first, whenever they are fetched."""
    other = other or second_process(server)
    first, second = _served_listing(server, method), complete_listing(other, method)
    if _identifiers(first) != _identifiers(second):
        again = [complete_listing(session, method) for session in (server.session, other)]
        if [_identifiers(listing) for listing in again] == [_identifiers(first), _identifiers(second)]:
            got = f"{difference(first, second)} only in one of two processes"
            lines = (*first.replies[0].lines, *second.replies[0].lines)
            raise Finding(f"the same {method} from each process", got, lines)
        skip(f"{method} differs within one process: {difference(first, again[0]) or difference(*again)}")


def second_process(server: Server) -> Session:
    """Return a session with another process than the one most checks use."""
    return first_exchange(server)[0]


@dataclass(frozen=True)
class Unsteady:
    """A list whose items come and go in one session with nothing asked between: which, and two answers."""

    names: str
    looks: int
    lines: tuple[Line, ...]


@scenario
def unsteady_list(server: Server, method: str) -> Unsteady | None:
    """Return how a list comes and goes in the shared session and in another process; None if it does not.

    The requests are the same, so no authorization explains it.  A list that only grows, shrinks or changes
    once does not count, nor does one whose change is announced.
    """
    found = _comings_and_goings(server.session, method)
    if found is None:
        return None
    other = second_process(server) if server.surface.is_modern else server.shared(OTHER_LISTS)
    return found if _comings_and_goings(other, method) is not None else None


def _comings_and_goings(session: Session, method: str) -> Unsteady | None:
    """Return how items of a list come and go when it is fetched again and again in a session."""
    announced = f"notifications/{LISTS[method][0]}/list_changed"
    known = len(session.received.notifications(announced))
    looks = [complete_listing(session, method) for _ in range(1 + LOOKS)]
    if not any(difference(looks[0], other) for other in looks[1:]):
        return None
    looks += [complete_listing(session, method) for _ in range(MORE_LOOKS)]
    if session.drain().fault is not None or session.received.notifications(announced)[known:]:
        return None
    names = sorted(set().union(*map(_identifiers, looks)))
    listed = {name: [name in _identifiers(one) for one in looks] for name in names}
    turns = {name: sum(one != other for one, other in pairwise(seen)) for name, seen in listed.items()}
    flapping = [name for name in names if turns[name] >= MIN_TURNS]
    if not flapping:
        return None
    one, other = next(pair for pair in pairwise(looks) if difference(*pair))
    lines = (*one.replies[0].lines, *other.replies[0].lines)
    return Unsteady(", ".join(map(repr, flapping[:3])), len(looks), lines)


def expect_same_each_time(server: Server, method: str) -> None:
    """Expect a list that is the same when it is fetched again at once, as long as nothing else is asked."""
    feature, is_paged = LISTS[method][0], bool(_served_listing(server, method).cursors)
    found = unsteady_list(server, method)
    if found is None:
        return
    if is_paged:
        skip(f"{method} has pages: pagination.no-overlap compares walks through them")
    if not server.surface.is_modern and server.declares(feature, "listChanged"):
        skip(f"{feature}.list-changed.sent judges a list that changes")
    got = f"{found.names} in some of {found.looks} answers in a row only, with nothing asked between them"
    raise Finding(f"the same {method} each time", got, found.lines, defect=Defect.MISLEADS, fix=UNSTEADY)


def expect_same_order(server: Server, method: str) -> None:
    """Expect a list in the same order when it is requested again, from the same or another process."""
    first, compared = _served_listing(server, method), 0
    for session in (server.session, server.session, second_process(server)):
        other = complete_listing(session, method)
        if sorted(first.identifiers()) != sorted(other.identifiers()):
            continue
        compared += 1
        pairs = zip(first.identifiers(), other.identifiers(), strict=True)
        moved = [name for one, name in pairs if one != name]
        if moved:
            where = "the same process" if session is server.session else "another process"
            got = f"{moved[0]!r} at another place when {where} listed them"
            raise Finding(f"the same order of {method} each time", got, other.replies[0].lines)
    if not compared or len(first.identifiers()) < 2:
        skip(f"{method} never had the same two items or more twice")


# The same list after requests that only read


def require_lists_around_reads(server: Server, method: str) -> ListsAroundReads:
    """Return the lists around requests that only read; skip the check if one of them is not complete."""
    _served_listing(server, method)
    found = lists_around_reads(server)
    if not found.reads:
        skip("no permitted request that only reads was answered each time")
    failure = found.before[method].failure or found.after[method].failure
    if failure:
        skip(failure)
    return found


def expect_same_after_reads(found: ListsAroundReads, method: str) -> None:
    """Expect that requests which only read do not change a list."""
    before, after = found.before[method], found.after[method]
    is_lasting = _identifiers(after) == _identifiers(found.again[method])
    is_same_elsewhere = _identifiers(before) == _identifiers(found.elsewhere[method])
    if _identifiers(before) != _identifiers(after) and is_lasting and is_same_elsewhere:
        titles = ", ".join(dict.fromkeys(map(title, found.reads)))
        got = f"{difference(before, after)} only before or after {titles}"
        raise Finding(f"the same {method} after requests that only read", got, after.replies[0].lines)
    if not is_lasting:
        skip(f"{method} differs within one process: {difference(after, found.again[method])}")


@dataclass(frozen=True)
class ListsAroundReads:
    """The lists of one process before and after ``reads``, requests that only read.

    After that came the lists of another process (``elsewhere``), and of the first one once more (``again``).
    """

    before: Mapping[str, Listing]
    reads: tuple[Reply, ...]
    after: Mapping[str, Listing]
    elsewhere: Mapping[str, Listing]
    again: Mapping[str, Listing]


@scenario
def lists_around_reads(server: Server) -> ListsAroundReads:
    """Fetch the lists before and after requests that only read; no reads if one of them goes unanswered.

    The shared session is used; that of another process if the lists of the shared one have changed before.
    """
    wanted = reading_replies(server)
    session, untouched = server.session, second_process(server)
    before, elsewhere = lists_in(server, session), lists_in(server, untouched)
    if _have_changed(server, before):
        session, before, elsewhere = untouched, elsewhere, _first_lists(server)
        reads = tuple(_repeat(session, wanted))
    else:
        reads = repeated_reads(server)
    if not reads or reads[-1].fault is not None:
        return ListsAroundReads({}, (), {}, {}, {})
    after = lists_in(server, session)
    return ListsAroundReads(before, reads, after, elsewhere, lists_in(server, session))


def _first_lists(server: Server) -> dict[str, Listing]:
    """Return each list as it came first."""
    return {method: server.listing(method) for method in COMPARED if method in server.served_lists()}


def _have_changed(server: Server, lists: Mapping[str, Listing]) -> bool:
    """Return whether some list is not the one that came first."""
    first = _first_lists(server)
    return any(_identifiers(lists[method]) != _identifiers(first[method]) for method in first)


def reading_replies(server: Server) -> list[Reply]:
    """Return replies to requests that change nothing, by what the server declares, up to some seconds.

    The last comes first, so that a repetition has another order.
    """
    calls = [call.reply for call in server.quick_calls() if call.tool.read_only and len(call.rounds) < 2]
    replies = [reply for reply in (*server.prompts(), *server.resources(), *calls) if reply.fault is None]
    taken = accumulate(reply.seconds for reply in replies)
    quick = [reply for reply, seconds in zip(replies, taken, strict=True) if seconds <= MAX_READING_SECONDS]
    return sorted(quick, key=lambda reply: -reply.request.at)


@scenario
def repeated_reads(server: Server) -> tuple[Reply, ...]:
    """Repeat, in the shared session, the requests that change nothing; return the new replies."""
    return tuple(_repeat(server.session, reading_replies(server)))


def _repeat(session: Session, replies: Iterable[Reply]) -> Iterator[Reply]:
    """Repeat requests, up to the first that is not answered, and yield the new replies."""
    for reply in replies:
        again = session.request(*method_and_params(reply))
        yield again
        if again.fault is not None:
            return


def method_and_params(reply: Reply) -> tuple[str, dict[str, Any]]:
    """Return the method of a request and its params without ``_meta``."""
    params = reply.request.message["params"]
    return reply.method, {name: value for name, value in params.items() if name != "_meta"}


def title(reply: Reply) -> str:
    """Return the method of a request with the name or URI it is about."""
    params = reply.request.message["params"]
    return f"{reply.method} of {params.get('name', params.get('uri'))}"


def _served_listing(server: Server, method: str) -> Listing:
    """Return a list as it came first; skip the check unless it came in full."""
    if method not in server.served_lists():
        skip(f"{method} is not declared and served")
    return _require_complete(server.listing(method))


def complete_listing(session: Session, method: str) -> Listing:
    """Fetch a list; skip the check unless it comes in full."""
    return _require_complete(fetch_list(session, method, LISTS[method][1]))


def _require_complete(listing: Listing) -> Listing:
    """Return the listing; skip the check unless it came in full."""
    if listing.left_out:
        skip(f"{listing.left_out} items of {listing.method} are {TOO_COSTLY}", cause=Cause.TOO_COSTLY)
    if listing.failure:
        skip(listing.failure)
    return listing


def lists_in(server: Server, session: Session) -> dict[str, Listing]:
    """Fetch the lists of `COMPARED` that are declared and served."""
    served = [method for method in COMPARED if method in server.served_lists()]
    return {method: fetch_list(session, method, LISTS[method][1]) for method in served}


def _identifiers(listing: Listing) -> set[str]:
    return set(listing.identifiers())


def difference(one: Listing, other: Listing) -> str:
    """Return the first identifiers that only one of two lists has; empty if there are none."""
    return ", ".join(sorted(_identifiers(one) ^ _identifiers(other))[:3])
