"""What the tools, prompts and resources of a server answer while its API is sick."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from mcp_conformance.backend.contact import Contact
from mcp_conformance.backend.sickness import RETRY_SECONDS, SICKNESSES, WELL, Kind, Sickness, flood, silence
from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.reply import Fault, Flood, Reply, Silence, Unread
from mcp_conformance.client.tool_call import SLOW_SECONDS, Call
from mcp_conformance.expect import require_some
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import first_names, named, shorten
from mcp_conformance.scenarios.api_fetches import Fetch
from mcp_conformance.scenarios.api_inventory import NO_API, inventory, needed
from mcp_conformance.scenarios.ward import SURE_SECONDS, Treatment, Ward, ward
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.interface import NotServing
from mcp_conformance.verdicts import Finding

MAX_REQUESTS = 10
"""How often a call may make one request to a host that fails.  Not measured: clients repeat it thrice."""
PAUSE_SECONDS = RETRY_SECONDS
"""How long a client is to wait after 429."""
MAX_NAMES = 5
"""How many tools a finding names."""
PATIENT_SECONDS = 0.4
"""The pause before a request is made again that shows a loop with pauses: libraries begin with 0.5 s, and
what asks again at once takes milliseconds, on a busy machine a tenth of a second."""
MAX_WHOLE, MAX_SLOW = 10, 5
"""How many tools, and how many fetches, are tried with all sicknesses of a kind, and how many with a kind
that they take long over, if the run is not thorough.

With 10 s for each kind of sickness instead, one of six runs of a server skipped a rule, as the machine was
busy.  A server of 22 tools that asks three times took five minutes for 503 alone without a bound.
"""
CREATING = ("POST", "PATCH")
"""The methods that do more when they are repeated (RFC 9110, 9.2.2)."""
SILENT = next(one for one in SICKNESSES if one.answer is silence)
LARGE = next(one for one in SICKNESSES if one.answer is flood)
MAX_RESULT_BYTES = 1_000_000
"""How long an answer may be at most.  Not measured: clients cut what a model gets at a tenth of that."""
UNREADABLE = (Flood, Unread)
"""What comes in place of an answer that is too long."""
NO_FAILURE = "no sickness was chosen that is a failure (--backend 503, reset, ...)"


@scenario
def treatments(server: Server) -> tuple[Treatment, ...]:
    """Call, or fetch, what needs the API under each sickness that is soon over; return what came of it.

    A tool that takes long under one sickness is not called under others of its kind: servers repeat requests,
    and wait in between.  Unless the run is thorough, only the first `MAX_WHOLE` tools and fetches are tried
    with all sicknesses of a kind, the others with one; and once `MAX_SLOW` took long over a kind, no others
    are tried with it.  A tool that answers with a success although it was refused is called once more with
    the answer held longer: it may not need it.  A kind that one tool took long over is over soon for the
    others: they repeat requests alike.
    """
    soon_over = _chosen(server, ends=True)
    found: list[Treatment] = []
    slow: Counter[Kind] = Counter()
    with ward(server) as room:
        for number, call in _numbered(_asking(server)):
            chosen = turned(soon_over, number)
            if server.settings.is_gentle:
                some = chosen if number < MAX_WHOLE else first_of_kinds(chosen)
                chosen = [one for one in some if slow[one.kind] < MAX_SLOW]
            treated = _under_all(room, call, chosen, slow)
            slow.update({one.sickness.kind for one in treated if _is_slow(one)})
            found += treated
    return tuple(found)


def _numbered(asking: Sequence[Treatment]) -> list[tuple[int, Call | Fetch]]:
    """Return the calls, then the fetches, each with its number among them."""
    calls = [one.call for one in asking if not one.is_fetch]
    return [*enumerate(calls), *enumerate(one.call for one in asking if one.is_fetch)]


def first_of_kinds(sicknesses: Sequence[Sickness]) -> list[Sickness]:
    """Return the first sickness of each kind."""
    return list({one.kind: one for one in reversed(sicknesses)}.values())[::-1]


def turned(sicknesses: Sequence[Sickness], number: int) -> list[Sickness]:
    """Return the sicknesses by their kinds, of each kind those after the first ``number`` first.

    A tool that takes long under one of a kind is not tried with the others: other tools are.
    """
    kinds: dict[Kind, list[Sickness]] = {}
    for one in sicknesses:
        kinds.setdefault(one.kind, []).append(one)
    starts = {kind: number % len(some) for kind, some in kinds.items()}
    return [one for kind, some in kinds.items() for one in (*some[starts[kind] :], *some[: starts[kind]])]


def _is_slow(one: Treatment) -> bool:
    """Return whether a call took long, or waited before it made a request again.

    The pauses count, and not the time of the whole: a busy machine shall change no verdict.
    """
    is_patient = any(pause > PATIENT_SECONDS for _, pause in pauses(one))
    is_long = one.reply.seconds > SLOW_SECONDS and one.sickness.kind is not Kind.SIZE
    return is_patient or is_long or one.reply.fault is not None


def _chosen(server: Server, *, ends: bool) -> list[Sickness]:
    """Return the sicknesses that the user chose, either those that are soon over or the others."""
    backend = server.settings.backend
    assert backend is not None
    return [one for one in backend.sicknesses if one.ends is ends]


def _asking(server: Server) -> Sequence[Treatment]:
    return require_some(inventory(server).judged, skip=NO_API)


def _under_all(
    room: Ward, call: Call | Fetch, sicknesses: Iterable[Sickness], known: Collection[Kind]
) -> list[Treatment]:
    """Return what came of a tool under each sickness; nothing if it does not need the API after all.

    Another tool took long over those of the ``known`` kinds.
    """
    found: list[Treatment] = []
    slow: set[Kind] = set()
    is_sure = False
    for sickness in sicknesses:
        if sickness.kind in slow:
            continue
        one = room.treat(call, sickness, SLOW_SECONDS if sickness.kind in known else math.inf)
        if one.is_success and sickness.is_failure and not (is_sure or one.is_cut):
            is_sure = room.hold(call, SURE_SECONDS)[1]
            if not is_sure:
                return []
        if _is_slow(one):
            slow.add(sickness.kind)
        found.append(one)
    return [*found, room.treat(call, WELL)] if found else []


def reached(one: Treatment) -> bool:
    """Return whether a call asked the API, or tried to."""
    return needed(one) or bool(one.attempts and not (one.sickness.listens and one.sickness.resolves))


def failures(server: Server) -> list[Treatment]:
    """Return what asked the API while it failed.  Skips the check if nothing did."""
    failing = [one for one in treatments(server) if one.sickness.is_failure and reached(one)]
    return require_some([one for one in failing if not one.is_cut], skip=NO_FAILURE)


def failed_calls(server: Server) -> list[Treatment]:
    """Return the calls of tools among the `failures`.  Skips the check if there are none."""
    calls = [one for one in failures(server) if not one.is_fetch]
    return require_some(calls, skip="no tool that may be called asks another host")


def failed_fetches(server: Server) -> list[Treatment]:
    """Return the fetches among the `failures`.  Skips the check if there are none."""
    fetches = [one for one in failures(server) if one.is_fetch]
    return require_some(fetches, skip="no prompt and no resource asks another host")


def depends(server: Server, tried: Iterable[Treatment]) -> bool:
    """Return whether the answers of a tool that was ``tried`` depend on its API.

    They do if it succeeds while that is well, or answers one sickness otherwise than another.
    """
    tools = {one.tool for one in tried}
    if any(one.is_success for one in inventory(server).judged if one.tool in tools):
        return True
    answers: dict[str, list[object]] = {}
    for one in treatments(server):
        answers.setdefault(one.tool, []).append((one.reply.result, one.reply.error))
    return any(some != [some[0]] * len(some) for tool, some in answers.items() if tool in tools)


def sent_twice(one: Treatment) -> Contact | None:
    """Return a request of a call that may have acted and was made again; None if there is none.

    Tools that only read, and requests with a key by which the API knows them, may be repeated.
    """
    if not one.sickness.may_have_acted or one.call.tool.read_only:
        return None
    sent: set[int] = set()
    for contact in one.asked:
        if contact.same in sent:
            return contact
        if contact.method in CREATING and not contact.is_keyed:
            sent.add(contact.same)
    return None


def creating(server: Server) -> list[Treatment]:
    """Return the calls that sent what may have acted, and then failed.  Skips the check if there are none."""
    asked = [one for one in treatments(server) if one.sickness.may_have_acted and not one.is_cut]
    sent = [one for one in asked if any(each.method in CREATING for each in one.asked)]
    changing = [one for one in sent if not one.call.tool.read_only]
    return require_some(changing, skip="no tool that may write sends POST or PATCH (--backend 500,reset)")


def noisy(server: Server) -> list[Treatment]:
    """Return the calls during which other lines than messages came; not of tools that write some always."""
    treated = require_some(treatments(server), skip=NO_API)
    always = {one.tool for one in (*inventory(server).calls, *treated) if one.noise and one.sickness is WELL}
    return [one for one in treated if one.noise and one.tool not in always]


def oversized(server: Server) -> list[Treatment]:
    """Return the calls that pass on most of a far too long answer.  Skips the check if there was none."""
    large = [one for one in treatments(server) if one.sickness is LARGE and one.asked and not one.is_cut]
    require_some(large, skip="no tool asked an API that answers with 50 MB (--backend large)")
    return [
        one for one in large if isinstance(one.reply.fault, UNREADABLE) or size_of(one) > MAX_RESULT_BYTES
    ]


def size_of(one: Treatment) -> int:
    """Return the length of an answer, in bytes."""
    return len(one.reply.line.raw) if one.reply.line is not None else 0


def indistinct(server: Server) -> list[Treatment]:
    """Return a call of each tool that says the same of a refused key, of a limit and of an outage.

    Skips the check if no tool was refused in three ways.
    """
    kinds = (Kind.SERVER, Kind.RIGHT, Kind.LIMIT)
    told: dict[str, dict[Kind, Treatment]] = {}
    for one in treatments(server):
        if one.reply.is_tool_error and needed(one) and not one.is_cut:
            told.setdefault(one.tool, {}).setdefault(one.sickness.kind, one)
    tried = [some for some in told.values() if all(kind in some for kind in kinds)]
    require_some(tried, skip="no tool refuses 401, 429 and 503 with isError (--backend 401,429,503)")
    return [
        some[Kind.SERVER]
        for some in tried
        if some[Kind.SERVER].reply.result == some[Kind.RIGHT].reply.result == some[Kind.LIMIT].reply.result
    ]


def most_repeated(one: Treatment) -> tuple[Contact, int]:
    """Return the request that a call has made most often, and how often."""
    same, times = Counter(contact.same for contact in one.asked).most_common(1)[0]
    return next(contact for contact in one.asked if contact.same == same), times


def repeated_after_limit(server: Server) -> list[Treatment]:
    """Return the calls that made a request again after 429.  Skips the check if there are none."""
    limited = [one for one in treatments(server) if one.sickness.kind is Kind.LIMIT]
    again = [one for one in limited if one.asked and most_repeated(one)[1] > 1]
    return require_some(again, skip="no request is repeated after 429 (--backend 429)")


def pauses(one: Treatment) -> Iterator[tuple[Contact, float]]:
    """Yield each request of a call that was made before, and the seconds since it was made last."""
    before: dict[int, float] = {}
    for contact in one.asked:
        if contact.same in before:
            yield contact, contact.at - before[contact.same]
        before[contact.same] = contact.at


def hurried(one: Treatment) -> tuple[Contact, float] | None:
    """Return a request that came again before the time that Retry-After said, and after how many seconds.

    None if there is none.
    """
    return next(((contact, pause) for contact, pause in pauses(one) if pause < PAUSE_SECONDS), None)


@dataclass(frozen=True)
class Waited:
    """Calls of all tools at once while the API did not answer: those without an answer, and all requests."""

    sickness: Sickness
    unanswered: tuple[Treatment, ...] = ()
    contacts: tuple[Contact, ...] = ()


def unanswered(server: Server) -> list[Treatment]:
    """Return the calls that were not answered while the API was silent or slow."""
    return [one for waited in waits(server) for one in waited.unanswered]


def repeated_unanswered(server: Server) -> tuple[Contact, Treatment] | None:
    """Return a request that may have acted and was made again while it was not answered, and its usual call.

    None if there is none; skips the check if no tool sends one that may act.
    """
    usual = inventory(server).judged
    often = Counter(contact.same for one in usual for contact in one.asked)
    acting = {
        contact.same: one
        for one in usual
        for contact in one.asked
        if contact.method in CREATING and not (contact.is_keyed or one.call.tool.read_only)
    }
    require_some(acting, skip="no tool that may write sends POST or PATCH")
    for waited in waits(server):
        sent = Counter(contact.same for contact in waited.contacts)
        for contact in waited.contacts:
            if contact.same in acting and sent[contact.same] > often[contact.same]:
                return contact, replace(acting[contact.same], sickness=waited.sickness)
    return None


@scenario
def waits(server: Server) -> tuple[Waited, ...]:
    """Call all tools that need the API at once while it does not answer.

    Each way in which it does not has a process of its own, so that their timeouts pass at the same time.  Of
    a server that answers nothing else meanwhile only the first call counts: the others may wait for it.
    """
    chosen = _chosen(server, ends=False)
    require_some(chosen, skip="no sickness was chosen that keeps a tool waiting (--backend silent)")
    calls = [one.call for one in _asking(server)]
    with ExitStack() as opened:
        begun = [_begun(opened.enter_context(ward(server)), calls, sickness) for sickness in chosen]
        return tuple(one.ended() for one in begun)


@dataclass(frozen=True)
class _Together:
    """Calls that were sent at once to a server whose API has a sickness, and a ping after them.

    ``before`` is the number of contacts until then.
    """

    room: Ward
    sickness: Sickness
    before: int
    sent: Sequence[tuple[Call | Fetch, Line]]
    ping: Line

    def ended(self) -> Waited:
        """Wait for the answers."""
        session = self.room.session
        replies = [
            Treatment(call, self.sickness, reply_within(session, request, session.timeout))
            for call, request in self.sent
        ]
        contacts = self.room.backend.contacts[self.before :]
        self.room.backend.become(WELL)
        counted = replies if session.is_answered(self.ping) else replies[:1]
        silent = tuple(one for one in counted if isinstance(one.reply.fault, Silence))
        return Waited(self.sickness, silent, tuple(one for one in contacts if one.method))


def _begun(room: Ward, calls: Sequence[Call | Fetch], sickness: Sickness) -> _Together:
    session = room.session
    before = len(room.backend.contacts)
    room.backend.become(sickness)
    sent = [(call, session.send(call.method, call.params)) for call in calls]
    return _Together(room, sickness, before, sent, session.send(session.liveness_method))


@scenario
def opened_alone(server: Server) -> tuple[Reply, ...]:
    """Start the server while no host answers; return its replies to the opening, and to the list of tools."""
    inventory(server)  # which shows that it opens while they do
    with ward(server) as room:
        room.backend.become(SILENT)
        try:
            session = room.begin()
        except NotServing as error:
            raise Finding(
                "a server that listens", f"{error}, while no other host answers", (), stderr=error.stderr
            ) from None
        opening = session.open(room.settings.start_timeout)
        lists = (
            [session.request("tools/list")] if opening.value is not None and server.declares("tools") else []
        )
    return (opening, *lists)


def told(treated: Sequence[Treatment], tried: int) -> str:
    """Return which tools these are, if several were tried."""
    names = list(dict.fromkeys(one.tool for one in treated))
    shown = first_names([named(name, 40) for name in names], MAX_NAMES)
    kind = "fetches" if all(one.is_fetch for one in treated) else "tools"
    return f" ({len(names)} of {tried} {kind}: {shown})" if tried > 1 else ""


def expect_no_treatment(
    wrong: Sequence[Treatment], expected: str, tried: Iterable[Treatment], *, well: Iterable[Treatment] = ()
) -> None:
    """Report the first of these calls, of all that were ``tried``, and the names of the tools of all.

    One that is answered as it is while the API is ``well`` comes first: nobody can tell its answers apart.
    """
    if not wrong:
        return
    usual = {one.tool: one.reply.result for one in well}
    alike = [one for one in wrong if one.tool in usual and usual[one.tool] == one.reply.result]
    first = (*alike, *wrong)[0]
    asked = list(dict.fromkeys(map(str, first.asked)))
    times = f" {len(first.asked)} times" if len(first.asked) > 1 else ""
    requests = f", asked{times} with {asked[0]}," if asked else ""
    same = ", the same as while it works" if alike else ""
    number = len({one.tool for one in tried})
    got = f"{shorten(str(first.reply), 300)} while the API{requests} {first.sickness.says}{same}"
    raise fault_of(first, expected, f"{got}{told(wrong, number)}", fault=first.reply.fault)


def fault_of(
    one: Treatment,
    expected: str,
    got: str,
    lines: Sequence[Line] | None = None,
    fault: Fault | None = None,
) -> Finding:
    """Return a finding on a call or a fetch, with its lines unless others are given."""
    return Finding(
        expected,
        f"{one.tool}: {got}" if one.is_fetch else got,
        one.lines if lines is None else lines,
        fault=fault,
        tool="" if one.is_fetch else one.tool,
        stderr=one.stderr,
    )
