"""One conversation in each revision, to see what the server offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from conformance.client.listing import Listing, fetch_list
from conformance.client.reply import Flood, Reply
from conformance.client.session import Session
from conformance.client.tool_call import Tool
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Line, show, torn
from conformance.protocol.methods import LISTED, LISTS
from conformance.protocol.text import shorten
from conformance.protocol.value import Value
from conformance.target.settings import Settings
from conformance.target.surface import ProbeFailure, Subject, Surface, is_live

NOT_MODERN = "no modern revision"
NO_WALK = Listing("tools/list", "tools", ())
PROBE_PATIENCE = 3.0
"""How many seconds, at the least, a server that speaks a handshake revision has for ``server/discover``."""


# Probing -----------------------------------------------------------------------------------------


def probe(settings: Settings, revision: str, *, exactly: bool, timeout: float | None = None) -> Surface:
    """Open one conversation and see what the server offers.

    With ``exactly``, a server that offers another revision than ``revision`` has refused it; otherwise the
    revision it offers is taken.  The opening takes ``timeout`` seconds at most, else the settings' own.
    Raises `conformance.process.CannotStart`; all else is in the surface.
    """
    with closing(Session(settings.start(), revision=revision, timeout=settings.timeout)) as session:
        return opened(settings, session, exactly=exactly, timeout=timeout)


def opened(settings: Settings, session: Session, *, exactly: bool, timeout: float | None = None) -> Surface:
    """What a server offers in a conversation that is opened with this, as `probe` tells it."""
    revision = session.revision
    hello = session.open(timeout or settings.start_timeout)
    refused = _refused(session, hello)
    if refused:
        return Surface(revision, hello.lines, refused=refused)
    found = _found(session) if session.is_modern and hello.error is not None else ()
    trouble = None if found else _hello_trouble(settings, session, hello)
    if trouble is not None:
        return Surface(revision, hello.lines, failures=(trouble,), noise=len(session.non_json_lines()))
    if exactly and session.revision != revision:
        return Surface(revision, hello.lines, refused=session.revision)
    has_tools = "tools" in found or session.declares("tools")
    walk, failures = _probe_tools(session) if has_tools else (NO_WALK, ())
    tools = tuple(map(Tool, walk.first(settings.most_tools)))
    if len(tools) < walk.size:
        tools = tuple(_lean(tools))
    return Surface(
        session.revision,
        hello.lines,
        tools,
        failures,
        len(session.non_json_lines()),
        settled=session.settled,
        left_out=walk.size - len(tools),
        found=found,
    )


def _refused(session: Session, hello: Reply) -> str:
    """What a server offers that does not speak the era of this conversation; empty if it speaks it."""
    if hello.code == revisions.UNSUPPORTED_VERSION:
        supported = hello.error_value.get("data", "supported")
        return show(supported.json, 80) if supported is not None else "other versions"
    if not session.is_modern or hello.fault is not None or is_discovered(hello):
        return ""
    return "" if _serves_lists(session, hello) else NOT_MODERN


def is_discovered(hello: Reply) -> bool:
    """Whether the answer to ``server/discover`` is that of a server which knows what it was asked."""
    result = hello.value
    return result is not None and any(result.get(name) for name in ("supportedVersions", "resultType"))


def _serves_lists(session: Session, hello: Reply) -> bool:
    """Whether a server that did not tell what it offers answers other requests in the modern way."""
    listed = session.request("tools/list", timeout=max(1.0, 4 * hello.seconds)).value
    return listed is not None and listed.get("resultType") is not None


def _found(session: Session) -> tuple[str, ...]:
    """The features whose lists are served."""
    return tuple(feature for feature, method in LISTED.items() if session.request(method).value is not None)


def _hello_trouble(settings: Settings, session: Session, hello: Reply) -> ProbeFailure | None:
    asked = hello.method
    opening = "discover.implemented" if session.is_modern else "lifecycle.initialize.responds"

    def trouble(reason: str, rule: str = opening) -> ProbeFailure:
        told = f"{reason} (mcp-conformance doctor -- COMMAND tells more)"
        return ProbeFailure("start", rule, told, hello.lines, session.process.stderr)

    if session.unended is not None:
        reason = f"the server answered {asked} without a line end: {shorten(session.unended.text)}"
        return trouble(reason, "stdio.newline-delimited")
    if hello.fault is not None and torn(session.said):
        reason = f"the server never answered {asked} on one line: it wrote a message of several lines"
        return trouble(reason, "stdio.no-embedded-newline")
    if hello.fault is not None:
        what = "; what it wrote to stdout is not JSON-RPC" if session.non_json_lines() else ""
        where = "" if settings.cwd else "; it ran in a throwaway directory, --cwd . runs it here"
        return trouble(f"the server never answered {asked}: {hello.fault}{what}{where}")
    if hello.value is None:
        return trouble(f"the server refused {asked}: {hello}")
    offered = hello.value.get("protocolVersion")
    if not session.is_modern and (offered is None or offered.json not in revisions.HANDSHAKE):
        known = ", ".join(revisions.HANDSHAKE)
        got = "no protocolVersion" if offered is None else f"revision {show(offered.json)}"
        return trouble(f"the server answered initialize with {got}; known revisions are {known}")
    return None


def _probe_tools(session: Session) -> tuple[Listing, tuple[ProbeFailure, ...]]:
    walk = stable_listing(session, "tools/list")
    last = walk.replies[-1]
    if last.value is not None and not any(page is not None for page in _arrays(walk)):
        trouble = ProbeFailure("tools", "tools.list.result-shape", "tools/list has no array of tools", last.lines)
        return NO_WALK, (trouble,)
    if not walk.failure:
        return walk, ()
    id = "pagination.progress" if walk.never_ends else "tools.list.answered"
    if len(walk.replies) > 1 and not walk.never_ends:
        id = "pagination.cursor-accepted"
    stderr = last.fault.stderr if last.fault else ""
    return walk, (ProbeFailure("tools", id, walk.failure, last.lines, stderr, isinstance(last.fault, Flood)),)


def _lean(tools: Iterable[Tool]) -> Iterator[Tool]:
    """These tools, whose lines are kept without the many others that came with them."""
    known: dict[int, tuple[Line, ...]] = {}
    for tool in tools:
        lines = tool.definition.lines
        if id(lines) not in known:
            known[id(lines)] = tuple(line if line.sent else replace(line, message=ABSENT) for line in lines)
        yield Tool(replace(tool.definition, lines=known[id(lines)]))


def _arrays(walk: Listing) -> Iterator[Value | None]:
    for reply in walk.replies:
        array = reply.value.get(walk.member) if reply.value is not None else None
        yield array if array is not None and array.is_a(list) else None


def stable_listing(session: Session, method: str) -> Listing:
    """Fetch a list; if a change is announced meanwhile, fetch it again (three times at most).

    Servers that add a tool right after the handshake are settled this way.
    """
    session.drain()
    member = LISTS[method][1]
    changed = f"notifications/{LISTS[method][0]}/list_changed"
    for _ in range(3):
        known = len(session.notifications(changed))
        walk = fetch_list(session, method, member)
        if walk.failure or session.drain().fault is not None:
            break
        if len(session.notifications(changed)) == known:
            break
    return walk


def probe_all(settings: Settings, wanted: Sequence[str]) -> Subject:
    """Probe the server in each revision of ``wanted``.

    ``("latest",)`` takes the handshake revision that it agrees to, and the newest modern one if it speaks it.
    Raises `conformance.process.CannotStart`.
    """
    latest = tuple(wanted) == ("latest",)
    found: list[Surface] = []
    for revision in (revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN) if latest else wanted:
        patience = _patience(settings, found) if revisions.is_modern(revision) else None
        found.append(probe(settings, revision, exactly=not latest, timeout=patience))
    found = [_reconciled(one, found) for one in found]
    if latest:
        found = [one for one in found if is_live(one)] or found[:1]
    return Subject(settings, tuple(found))


def _patience(settings: Settings, found: Sequence[Surface]) -> float:
    """How long the answer to ``server/discover`` may take, by how long those to ``initialize`` took."""
    taken = [one.hello[-1].at for one in found if is_live(one)]
    return (
        min(settings.start_timeout, max(PROBE_PATIENCE, 4 * max(taken))) if taken else settings.start_timeout
    )


def _reconciled(surface: Surface, found: Sequence[Surface]) -> Surface:
    """A surface; one without a conversation is one of an era that is not spoken, if only the other is."""
    alive = {one.is_modern for one in found if is_live(one)}
    if not surface.dead or alive != {not surface.is_modern}:
        return surface
    refused = NOT_MODERN if surface.is_modern else ", ".join(revisions.MODERN)
    return Surface(surface.revision, surface.hello, refused=refused)
