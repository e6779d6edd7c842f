"""The probe: one session in each revision, to find out what the server offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any

from mcp_conformance import remedies
from mcp_conformance.client.listing import Listing, fetch_list
from mcp_conformance.client.message_log import without_message
from mcp_conformance.client.refusals import CLIENT_NEEDED_CODES, unreached
from mcp_conformance.client.reply import Closed, Fault, Flood, Reply, Silence, Unanswered
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, Line, compact_size, kind, show, torn
from mcp_conformance.protocol.methods import LISTED, LISTS, NO_SUCH_METHOD
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.beside import find_alone
from mcp_conformance.target.head_start import LATEST, MAX_SESSIONS, probe_order
from mcp_conformance.target.protection import wants_credential
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.spoiling import serves_each, spoiling
from mcp_conformance.target.surface import (
    LOCKED,
    OLD,
    REFUSING,
    SILENT,
    SPOILT,
    START,
    ProbeFailure,
    Subject,
    Surface,
    is_live,
)
from mcp_conformance.transport.http.http_sse import names_endpoint
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import NotServing
from mcp_conformance.transport.process_tree import ports
from mcp_conformance.verdicts import empty_response, wrong_answer

NOT_MODERN = "no modern revision"
NO_LISTING = Listing("tools/list", "tools", ())
MIN_DISCOVER_SECONDS = 3.0
"""The least time for ``server/discover`` on a server that has answered ``initialize``."""
LAST_DISCOVER_SECONDS = 0.5
"""What is left of it when a whole start's time has passed.  Not measured: a started server needs less."""
MAX_LIST_TRIES = 3
SAY_NOTHING = {"_meta", "resultType", "ttlMs", "cacheScope"}
"""The members that any result may have: one with no others is empty."""
OF_REQUEST = (-32601, revisions.UNSUPPORTED_VERSION, *CLIENT_NEEDED_CODES)
"""The codes of errors that speak of the request, not of the server: its method, version and client."""
OLD_REVISION = "2024-11-05"
"""The revision that has HTTP+SSE."""


def probe(settings: Settings, revision: str, *, exactly: bool) -> Surface:
    """Open one conversation and see what the server offers.

    With ``exactly``, a server that offers another revision than ``revision`` has refused it; otherwise the
    revision it offers is taken.  Raises `CannotStart`; all else is in the surface.
    """
    with closing(settings.session(settings.start(), revision)) as session:
        return opened(settings, session, exactly=exactly)


def opened(settings: Settings, session: Session, *, exactly: bool, timeout: float | None = None) -> Surface:
    """Open this session and return what the server offers, as `probe` does."""
    revision = session.revision
    opening = session.open(timeout or settings.start_timeout)
    refused = _refused(session, opening)
    if refused:
        return Surface(revision, opening.lines, refused=refused)
    found = _served_features(session) if session.is_modern and opening.error is not None else ()
    failure = None if found else _opening_failure(settings, session, opening)
    if failure is not None:
        return Surface(revision, opening.lines, failures=(failure,), noise=len(session.received.non_json()))
    if exactly and session.revision != revision:
        return Surface(revision, opening.lines, refused=session.revision)
    has_tools = "tools" in found or session.declares("tools")
    listing, failures = _probe_tools(session) if has_tools else (NO_LISTING, ())
    is_unread = any(failure.is_unread for failure in failures)
    if failures and session.inbox.wrong_answers:
        is_lost = session.drain().fault is not None
        verdict = wrong_answer(*session.inbox.wrong_answers[0])
        failures = (ProbeFailure.of(SILENT if is_lost else "tools", verdict),)
    elif session.is_silent and not is_unread:
        pong = session.drain()
        if isinstance(pong.fault, Silence) and not pong.fault.strays:
            failures = (_silence(opening, listing, pong, pong.fault.stderr, _blocked_by_stream(session)),)
    elif (refusal := _refusal_of_all(session, listing)) is not None:
        failures = (refusal,)
    tools = tuple(_tested(listing, settings))
    if len(tools) < listing.size:
        tools = tuple(_without_messages(tools))
    return Surface(
        session.revision,
        opening.lines,
        tools,
        failures,
        len(session.received.non_json()),
        first_list=session.first_list,
        left_out=listing.size - len(tools),
        found_features=found,
        tools_bytes=sum(compact_size(one.value.json) for one in listing.replies if one.value is not None),
    )


def _tested(listing: Listing, settings: Settings) -> Iterator[Tool]:
    """Yield the tools that are tested, of those that the user wants the first."""
    are_all_wanted = not (settings.only_tools or settings.not_tools)
    listed = listing.first(settings.max_tools if are_all_wanted else listing.size)
    return islice(filter(settings.tests, map(Tool, listed)), settings.max_tools)


def _refused(session: Session, opening: Reply) -> str:
    """Return what a server offers that does not speak the era of this session; empty if it speaks it."""
    if opening.code == revisions.UNSUPPORTED_VERSION:
        supported = opening.error_value.get("data", "supported")
        return show(supported.json, 80) if supported is not None else "other versions"
    if not session.is_modern or opening.fault is not None:
        return ""
    if is_discovered(opening):
        return _refused_after_discovery(session, opening)
    return "" if _serves_lists(session, opening) else NOT_MODERN


def _refused_after_discovery(session: Session, opening: Reply) -> str:
    """Return the versions that a server lists if it neither lists nor serves this one; empty if it does."""
    supported = opening.value.get("supportedVersions") if opening.value is not None else None
    if supported is None or not supported.is_a(list) or session.revision in supported.json:
        return ""
    is_refused = session.request("tools/list").code == revisions.UNSUPPORTED_VERSION
    is_refused = is_refused or _refusal_of_all(session, NO_LISTING) is not None
    return show(supported.json, 80) if is_refused else ""


def is_discovered(opening: Reply) -> bool:
    """Return whether the answer to ``server/discover`` comes from a server that knows the method."""
    result = opening.value
    return result is not None and any(result.get(name) for name in ("supportedVersions", "resultType"))


def _serves_lists(session: Session, opening: Reply) -> bool:
    """Return whether a server that rejects ``server/discover`` answers other requests in the modern way."""
    listed = session.request("tools/list", timeout=max(1.0, 4 * opening.seconds)).value
    return listed is not None and listed.get("resultType") is not None


def _served_features(session: Session) -> tuple[str, ...]:
    """Return the features whose lists the server serves."""
    return tuple(feature for feature, method in LISTED.items() if session.request(method).value is not None)


def _opening_failure(settings: Settings, session: Session, opening: Reply) -> ProbeFailure | None:
    """Return why no session opened; None if one did."""
    method = opening.method
    requirement, reason, where = "", "", ""
    if opening.fault is not None and session.inbox.wrong_answers:
        return ProbeFailure.of(START, wrong_answer(*session.inbox.wrong_answers[0]))
    if settings.http is not None and wants_credential(settings.http, opening):
        return _locked(settings.http, opening, _opening_rule(session.revision))
    if session.inbox.unended is not None:
        requirement = "stdio.newline-delimited"
        reason = f"the server answered {method} without a line end: {shorten(session.inbox.unended.text)}"
    elif opening.fault is not None and torn(session.received.kept_lines):
        requirement = "stdio.no-embedded-newline"
        reason = f"the server never answered {method} on one line: it wrote a message of several lines"
    elif opening.fault is not None:
        is_noisy = settings.http is None and not all(map(_has_message, session.received.kept_lines))
        noise = "; what it wrote to stdout is not JSON-RPC" if is_noisy else ""
        where = _advice(settings, opening.fault)
        reason = f"the server never answered {method}: {opening.fault}{noise}{_confinement(settings)}"
    elif opening.value is None:
        reason = f"the server refused {method}: {opening}"
    elif not session.is_modern:
        reason = _unknown_revision(opening.value)
    if not reason:
        return None
    rule = requirement or _opening_rule(session.revision)
    options = f" --sandbox {settings.sandbox.kind}" if settings.sandbox is not None else ""
    doctor = f"doctor{options} -- COMMAND" if settings.http is None else "doctor"
    is_end = isinstance(opening.fault, Closed | Unanswered)
    is_mute = isinstance(opening.fault, Silence | Flood) and not requirement and not _has_spoken(session)
    return ProbeFailure(
        *(START, rule, reason, opening.lines, session.process.stderr),
        is_end=is_end,
        is_mute=is_mute,
        fix=remedies.NO_START if is_end and settings.http is None else "",
        ports=ports() if is_mute and settings.http is None else (),
        hint=f"{where} (mcp-conformance {doctor} finds out more)",
    )


def _has_spoken(session: Session) -> bool:
    """Return whether a server wrote a message in answer to its opening; what floods stdout is none."""
    return not session.inbox.is_flooded and any(map(_has_message, session.received.kept_lines))


def _has_message(line: Line) -> bool:
    """Return whether a line is a message, or an array with one; other JSON is no more than noise."""
    return any(kind(part) is not Kind.OTHER for part in line.parts())


def _locked(http: HttpServer, opening: Reply, rule: str) -> ProbeFailure:
    """Return the failure of a server that serves nobody without a credential, or not with the one given."""
    if http.has_credential:
        what, advice = f"with the credential that is given: {opening.method} is answered with", http.rejection
    else:
        status = opening.fault.status if isinstance(opening.fault, Unanswered) else 200
        error = "" if opening.fault is not None else " and an error"
        what = f"without a credential: {opening.method} is answered with HTTP {status}{error};"
        advice = "--header-env Authorization=VARIABLE gives one, such as 'Bearer ...'"
        advice += f", or mcp-conformance login --url {http.url}" if http.url else ""
    return ProbeFailure(LOCKED, rule, f"could not be examined {what} {advice}", opening.lines)


def _advice(settings: Settings, fault: Fault) -> str:
    """Return what the user may try when no session opens."""
    if settings.http is None:
        return "" if settings.cwd else "; it ran in a throwaway directory, --cwd . runs it here"
    status = fault.status if isinstance(fault, Unanswered) else None
    if status == 403:
        return "; --header 'Authorization: ...' sends credentials, and --url chooses another host name"
    if status in (404, 405):
        return f"; the endpoint may have another path than {settings.http.endpoint.target}"
    return ""


def _confinement(settings: Settings) -> str:
    """Return that the server ran in a sandbox; empty without one.  What that refused is for the doctor."""
    return f"; it ran in a sandbox ({settings.sandbox.kind})" if settings.sandbox is not None else ""


def _unknown_revision(result: Value) -> str:
    """Return what is wrong with the revision in an initialize result; empty if nothing is."""
    offered = result.get("protocolVersion")
    if offered is not None and offered.json in revisions.HANDSHAKE:
        return ""
    got = "no protocolVersion" if offered is None else f"revision {show(offered.json)}"
    return f"the server answered initialize with {got}; known revisions are {', '.join(revisions.HANDSHAKE)}"


def _probe_tools(session: Session) -> tuple[Listing, tuple[ProbeFailure, ...]]:
    listing = stable_listing(session, "tools/list")
    last = listing.replies[-1]
    if last.value is not None and not any(page is not None for page in _arrays(listing)):
        failure = ProbeFailure(
            "tools", "tools.list.result-shape", "tools/list has no array of tools", last.lines
        )
        return NO_LISTING, (failure,)
    if not listing.failure:
        return listing, ()
    id = "pagination.progress" if listing.never_ends else "tools.list.answered"
    if len(listing.replies) > 1 and not listing.never_ends:
        id = "pagination.cursor-accepted"
    if (complaint := unreached(last)) and complaint == unreached(session.request("tools/list")):
        reason = f"tools/list could not be judged: the server reaches no host, as it says twice ({complaint})"
        failure = ProbeFailure("tools", id, reason, last.lines, is_unreached=True)
        return listing, (failure,)
    fault = last.fault
    if isinstance(fault, Unanswered) and fault.empty is not None:
        finding = empty_response(last.lines, fault.empty, fault.instead, [last.method])
        return listing, (ProbeFailure.of("tools", finding),)
    failure = ProbeFailure(
        "tools",
        id,
        listing.failure,
        last.lines,
        fault.stderr if fault is not None else "",
        is_flood=isinstance(fault, Flood),
        is_unread=isinstance(fault, Silence) and bool(fault.unread),
        is_too_costly=listing.is_too_costly,
    )
    return listing, (failure,)


def _is_unknown_session(session: Session, refusal: Reply) -> bool:
    """Return whether a server over HTTP refuses a request as one of a session that it has assigned itself."""
    lines, got = session.process, refusal.line
    is_assigned = isinstance(lines, HttpLines) and bool(lines.mirror.session_id)
    return is_assigned and got is not None and got.carried_by.endswith("HTTP 404")


def _refusal_of_all(session: Session, listing: Listing) -> ProbeFailure | None:
    """Return the failure of a server that refuses each request after the opening alike; None without one.

    An empty answer to each request is such a failure too.  Errors of `OF_REQUEST`, or for want of a network,
    do not count.
    """
    opening = session.opening
    if session.is_modern and opening is not None and _is_empty(opening):
        return _empty_answers(session, (), opening)
    lists = [method for feature, method in LISTED.items() if session.declares(feature)]
    if not lists or session.closed or len(listing.replies) > 1:
        return None
    first = listing.replies[0] if listing.replies else session.request(lists[0])
    if _is_empty(first):
        return _empty_answers(session, lists, first)
    if first.error is None or first.code in OF_REQUEST or unreached(first):
        return None
    others = [session.request(method) for method in (*lists, NO_SUCH_METHOD) if method != first.method]
    if any(_without_method(other) != _without_method(first) for other in others):
        return None
    rule = "discover.versions-include-used" if session.is_modern else "lifecycle.capabilities.advertised"
    how = "as server/discover lists it" if session.is_modern else "as initialize agrees to it"
    reason = f"{first} for each request: {', '.join(lists)} and an unknown method"
    expected = f"{session.revision} to be served, {how}"
    fix = "" if session.is_modern else remedies.REFUSES_ALL
    if _is_unknown_session(session, first):
        rule, fix = "http.session.any-connection", ""
        expected = "later requests to find the session that initialize assigned"
    return ProbeFailure(REFUSING, rule, reason, first.lines, expected=expected, fix=fix, is_fatal=True)


def _empty_answers(session: Session, lists: Sequence[str], first: Reply) -> ProbeFailure | None:
    """Return the failure of a server whose answer to each request, even of an unknown method, is empty."""
    others = (session.request(method) for method in (*lists, NO_SUCH_METHOD) if method != first.method)
    if not all(map(_is_empty, others)):
        return None
    reason = f"{first} for each request: {', '.join(lists or [first.method])} and an unknown method"
    of_list, wanted = f"{first.method.replace('/', '.')}.result-shape", "the list that was requested"
    return ProbeFailure(
        REFUSING,
        of_list if lists else "discover.supported-versions",
        reason,
        first.lines,
        expected=f"{wanted if lists else 'what it supports'}, and an error for an unknown method",
        fix=remedies.EMPTY_ANSWERS,
        is_fatal=True,
        defect=Defect.NEVER_WORKS,
    )


def _is_empty(reply: Reply) -> bool:
    """Return whether the answer to a request is a result that says nothing."""
    value = reply.value
    return value is not None and value.is_a(dict) and value.json.keys() <= SAY_NOTHING


def _without_method(reply: Reply) -> tuple[Any, str]:
    """Return the code and the words of an error, the method of its request aside; no words for a result."""
    said = reply.error_value.get("message")
    return reply.code, said.json.replace(reply.method, "") if said is not None and said.is_a(str) else ""


def _blocked_by_stream(session: Session) -> str:
    """Return that the server answers again once the GET stream is closed; empty if it does not."""
    lines = session.process
    if not isinstance(lines, HttpLines) or not lines.stop_listening() or session.drain().fault is not None:
        return ""
    return (
        "; it answers again as soon as the stream that GET opened is closed, so an open stream blocks POSTs"
    )


def _silence(opening: Reply, listing: Listing, pong: Reply, stderr: str, cause: str) -> ProbeFailure:
    """Return the failure of a server that answers nothing any more."""
    last = listing.replies[-1] if listing.replies else opening
    answered, missing = (opening, f"neither {last.method} nor a") if last.fault is not None else (last, "no")
    reason = f"the server answered {answered.method}, and then {missing} ping: {pong.fault}{cause}"
    lines = (*last.lines, *pong.lines)
    fix = remedies.FREE_STREAM if cause else ""
    return ProbeFailure(SILENT, "jsonrpc.response-every-request", reason, lines, stderr, fix=fix)


def _without_messages(tools: Iterable[Tool]) -> Iterator[Tool]:
    """Yield these tools; their lines no longer hold the many others that came with them."""
    known: dict[int, tuple[Line, ...]] = {}
    for tool in tools:
        lines = tool.definition.lines
        if id(lines) not in known:
            known[id(lines)] = tuple(line if line.sent else without_message(line) for line in lines)
        yield Tool(replace(tool.definition, lines=known[id(lines)]))


def _arrays(listing: Listing) -> Iterator[Value | None]:
    for reply in listing.replies:
        array = reply.value.get(listing.member) if reply.value is not None else None
        yield array if array is not None and array.is_a(list) else None


def stable_listing(session: Session, method: str) -> Listing:
    """Fetch a list; if a change is announced meanwhile, fetch it again (three times at most).

    Servers that add a tool right after the handshake need this.
    """
    session.drain()
    member = LISTS[method][1]
    changed = f"notifications/{LISTS[method][0]}/list_changed"
    for _ in range(MAX_LIST_TRIES):
        known = len(session.received.notifications(changed))
        listing = fetch_list(session, method, member)
        if listing.failure or session.drain().fault is not None:
            break
        if len(session.received.notifications(changed)) == known:
            break
    return listing


def probe_all(settings: Settings, wanted: Sequence[str], begun: Sequence[Session] = ()) -> Subject:
    """Probe the server in each revision of ``wanted``; each process starts while the one before is probed.

    ``("latest",)`` means the handshake revision that it agrees to, and the newest modern one that it speaks.
    The first sessions may have ``begun`` already (`HeadStart`).  Sessions that checks can use stay open
    (`Subject.close`).  Raises `CannotStart`.
    """
    latest = tuple(wanted) == LATEST
    order = probe_order(wanted)
    subject, found, sessions = Subject(settings, ()), list[Surface](), list(begun)
    try:
        sessions = sessions or [settings.session(settings.start(), order[0])]
    except NotServing as error:
        return Subject(settings, (_not_serving(order[0], error),), probed=order)
    try:
        for place, _ in enumerate(order):
            for ahead in order[place + len(sessions) : place + MAX_SESSIONS]:
                sessions.append(settings.session(settings.start(), ahead))
            session = sessions.pop(0)
            timeout = _discover_timeout(settings, found, session) if session.is_modern else None
            found.append(_probed(subject, session, exactly=not latest, timeout=timeout))
    except BaseException:
        subject.close()
        raise
    finally:
        for session in sessions:
            session.close()
    if latest:
        _probe_named(subject, found)
    unopened = tuple(_started_alone(subject, order, found, exactly=not latest))
    if settings.http is not None and all(map(_is_refused, found)):
        if settings.http.use_name():
            subject.close()
            return probe_all(settings, wanted)
        found = [_old(found[0])] if names_endpoint(settings.http) else found
    found = _unspoilt(subject, found)
    start = _start_seconds(found[0])
    found = [replace(_reconciled(one, found), start_seconds=start) for one in found]
    probed = tuple(one.revision for one in found)
    if latest:
        found = [one for one in found if is_live(one) or one.refuses_all] or found[:1]
        kept = {one.revision for one in found}
        subject = replace(subject, unopened=tuple(one for one in unopened if one.revision not in kept))
    return replace(subject, surfaces=tuple(found), probed=probed)


def _probe_named(subject: Subject, found: list[Surface]) -> None:
    """Probe once more where the proposal was refused with an error that names what the server speaks.

    The error breaks `lifecycle.version-counter-offer`, for which a check proposes the newest revision again.
    """
    for place, one in enumerate(found):
        reply = one.opening_reply
        named = reply.error_value.get("data", "supported") if reply is not None and not one.refused else None
        known = [each for each in revisions.HANDSHAKE if named is not None and each in (named.json or ())]
        if known and known[-1] != one.revision:
            session = subject.settings.session(subject.settings.start(), known[-1])
            found[place] = _probed(subject, session, exactly=True, timeout=None)


def _started_alone(
    subject: Subject, order: Sequence[str], found: list[Surface], *, exactly: bool
) -> Iterator[Surface]:
    """Probe once more, without another process, where one ended at its start; yield what never answered."""
    settings = subject.settings
    for place, one in enumerate(found):
        failure = next((failure for failure in one.failures if failure.name == START), None)
        if failure is not None and failure.is_end and settings.solo.end_running():
            subject.end_sessions()
            session = settings.session(settings.start(), order[place])
            again = _probed(subject, session, exactly=exactly, timeout=None)
            if again.opening_reply is not None:
                found[place], failure = again, None
                find_alone(settings, order[place])
        if failure is not None:
            yield one


def _unspoilt(subject: Subject, found: list[Surface]) -> list[Surface]:
    """Return the surfaces; the first with a session has the failure of a server that serves only one.

    From then on each conversation has a process of its own.
    """
    settings, live = subject.settings, next(filter(is_live, found), None)
    if settings.http is None or not settings.http.command or live is None:
        return found
    if serves_each(settings, live.revision) or (finding := spoiling(settings, live.revision)) is None:
        return found
    settings.http.is_spoilt = True
    subject.end_sessions()
    failure = ProbeFailure.of(SPOILT, finding)
    return [replace(one, failures=(*one.failures, failure)) if one is live else one for one in found]


def _not_serving(revision: str, error: NotServing) -> Surface:
    """Return the surface of a server over HTTP that takes no connection."""
    failure = ProbeFailure(
        *(START, _opening_rule(revision), str(error)),
        hint=" (mcp-conformance doctor finds out more)",
        stderr=error.stderr,
        is_end=True,
        fix=remedies.NOT_SERVING if not error.stderr else remedies.NO_START,
    )
    return Surface(revision, failures=(failure,))


def _is_refused(surface: Surface) -> bool:
    """Return whether HTTP gave no answer in a revision, for a reason that is not known."""
    return any(failure.name == START and failure.is_end for failure in surface.failures)


def _old(surface: Surface) -> Surface:
    """Return the surface of a server that speaks the transport of 2024-11-05."""
    reason = (
        "could not be examined: GET brings the event endpoint of HTTP+SSE (2024-11-05), of which only the "
        "rules http.sse24 are checked; the rest of the suite speaks only Streamable HTTP"
    )
    failure = ProbeFailure(OLD, _opening_rule(OLD_REVISION), reason, surface.opening)
    return Surface(OLD_REVISION, surface.opening, failures=(failure,))


def _opening_rule(revision: str) -> str:
    return "discover.implemented" if revisions.is_modern(revision) else "lifecycle.initialize.responds"


def _probed(subject: Subject, session: Session, *, exactly: bool, timeout: float | None) -> Surface:
    """Open a session of the subject and return what the server offers; begin to end it if it is of no use."""
    surface = None
    try:
        surface = opened(subject.settings, session, exactly=exactly, timeout=timeout)
        return surface
    finally:
        is_sound = surface is not None and is_live(surface) and not surface.failures
        if surface is None or not is_sound or surface.found_features or session.closed or session.is_silent:
            session.begin_close()
            subject.ending.append(session)
        else:
            subject.sessions[surface.revision] = session


def _start_seconds(first: Surface) -> float | None:
    """Return how long the first process took to answer; the others may have waited for it."""
    return first.opening[-1].at if first.opening_reply is not None else None


def _discover_timeout(settings: Settings, found: Sequence[Surface], session: Session) -> float:
    """Return how long ``server/discover`` may take, in seconds, by how long ``initialize`` took.

    Where that got no answer in its time, ``server/discover`` has had as much already if it was sent then.
    """
    taken = [one.opening[-1].at for one in found if one.opening_reply is not None]
    waited = session.process.age - session.begun.at if session.begun is not None and found else 0.0
    least = MIN_DISCOVER_SECONDS if taken else LAST_DISCOVER_SECONDS
    most = max(least, 4 * max(taken)) if taken else max(least, settings.start_timeout - waited)
    return min(settings.start_timeout, most)


def _reconciled(surface: Surface, found: Sequence[Surface]) -> Surface:
    """Return the surface; one without a session counts as refused if the server speaks only the other era."""
    alive = {one.is_modern for one in found if is_live(one)}
    is_unopened = any(failure.name == START for failure in surface.failures)
    if not is_unopened or alive != {not surface.is_modern}:
        return surface
    refused = NOT_MODERN if surface.is_modern else ", ".join(revisions.MODERN)
    return Surface(surface.revision, surface.opening, refused=refused)
