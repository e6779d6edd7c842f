"""The ``_meta`` of modern requests: requests with incomplete ones, and what each request's ``_meta`` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conformance.client.input_required import replies_in
from mcp_conformance.client.message_log import scan
from mcp_conformance.client.reply import Reply, Silence
from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.client.tool_call import SLOW_SECONDS, Tool
from mcp_conformance.expect import require_answer, skip
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

UNKNOWN_VERSION = "1900-01-01"
FIRST_CALL_SECONDS = 2.5 * SLOW_SECONDS
"""How long the first call may take at the start of a run; a tool that is slow is not called first."""
ANSWER_SECONDS = 2.0
"""How long a request may go unanswered after two later ones were answered."""


def send_as_is(session: Session, method: str, params: Any = NO_PARAMS) -> Line:
    """Send a request with these params; add nothing to its ``_meta``."""
    message = {"jsonrpc": "2.0", "id": f"bare {len(session.lines)}", "method": method}
    return session.send_message(message if params is NO_PARAMS else {**message, "params": params})


def request_as_is(session: Session, method: str, params: Any = NO_PARAMS, seconds: float = 0.0) -> Reply:
    """Send a request with these params, and return the reply.

    Waits only until the server answers later requests, and then ``seconds`` more: the time that the request
    takes if the server carries it out.  An error without an id is an answer: the server may not have
    understood the request.
    """
    sent = send_as_is(session, method, params)
    session.drain()
    session.drain()
    return session.await_reply(sent, session.scaled_timeout(ANSWER_SECONDS) + seconds, alone=True)


def meta_without(session: Session, *names: str) -> dict[str, Any]:
    """Return the ``_meta`` of a session's requests without these members."""
    return {name: value for name, value in session.envelope.items() if name not in names}


def modern_session(server: Server) -> Session:
    """Return a session for unusual requests in which the server has just answered a good modern one.

    Discovery does not settle the era: a server may take it for a question before the choice.
    """
    if not server.served_lists():
        skip("the server offers no list")
    session = server.shared("unusual requests")
    if require_answer(session.request(simple_method(server))).value is None:
        skip(f"{simple_method(server)} is no longer answered with a result")
    return session


@scenario
def first_exchange(server: Server) -> tuple[Session, Reply]:
    """Start a process, send a list request first, and return its session, which stays open, and the reply."""
    session = server.sessions.launch("a list request first")
    return session, session.request(simple_method(server), timeout=server.settings.start_timeout)


def release_first_exchange(server: Server) -> None:
    """Keep the session of the first exchange for the next check that needs one."""
    _release(server, first_exchange(server)[0])


def first_request_without_capabilities(server: Server) -> Reply:
    """Start a process, and send it a request that declares no capabilities; return the reply."""
    return _first_requests(server)[0]


def first_calls(server: Server) -> tuple[Reply, ...]:
    """Return the reply to a call before any list in a process and, if it fails, to the same after tools/list.

    Skips the check if no tool that only reads may be called, or the process had to be sent a list request, or
    the tool is slow or ends every process.
    """
    _, tool, calls = _first_requests(server)
    if tool is None:
        skip("no tool that only reads may be called")
    if isinstance(calls[0].fault, Silence) or (calls[0].fault and server.call(tool).failed):
        skip(f"{tool.name} is slow, or does not succeed at once")
    return calls


@scenario
def _first_requests(server: Server) -> tuple[Reply, Tool | None, tuple[Reply, ...]]:
    """Start a process, send a list request without capabilities, and if it is refused call a tool.

    The list is not that of the tools where the server has another one: a call may be refused before that.
    """
    session = server.sessions.launch("a request without capabilities first")
    meta = meta_without(session, revisions.CLIENT_CAPABILITIES)
    others = (method for method in server.served_lists() if method != "tools/list")
    sent = send_as_is(session, next(others, simple_method(server)), {"_meta": meta})
    reply = session.await_reply(sent, server.settings.start_timeout)
    tool = next(_reading_tools(server), None) if reply.error is not None else None
    calls = _calls_around_a_list(server, session, tool) if tool is not None else ()
    _release(server, session)
    return reply, tool, calls


def _calls_around_a_list(server: Server, session: Session, tool: Tool) -> tuple[Reply, ...]:
    """Call a tool; if the answer is a failure, list the tools and repeat the call."""
    params = {"name": tool.name, "arguments": server.arguments.valid(tool)}
    seconds = min(session.timeout, session.scaled_timeout(FIRST_CALL_SECONDS))
    first = session.request("tools/call", params, timeout=seconds)
    if succeeds(first) or first.fault is not None:
        return (first,)
    session.request("tools/list", timeout=seconds)
    return first, session.request("tools/call", params, timeout=seconds)


def succeeds(call: Reply) -> bool:
    """Return whether the reply to a call is a result that is not an error of the tool."""
    return call.value is not None and not call.is_tool_error


def _reading_tools(server: Server) -> Iterator[Tool]:
    """Yield the tools that only read, and may be called with known arguments."""
    for tool in server.tools:
        if tool.read_only and tool.name and server.settings.may_call(tool):
            with suppress(NoExample):
                server.arguments.valid(tool)
                yield tool


@scenario
def replies_by_version(server: Server) -> tuple[Reply, ...]:
    """Send good requests, and some of an unknown version; return the replies up to an unanswered one.

    The first ones, one for each method, name the unknown version.
    """
    plain, unknown = simple_method(server), {"_meta": {revisions.PROTOCOL_VERSION: UNKNOWN_VERSION}}
    methods = [plain] if server.surface.found_features else ["server/discover", plain]
    bad = [(method, unknown) for method in methods]
    good: list[tuple[str, dict[str, Any]]] = [(method, {}) for method in methods]
    replies, timeout = list[Reply](), server.settings.start_timeout
    session = server.sessions.launch("an unknown version first")
    for method, params in [*bad, *good, *bad, good[-1], bad[-1], good[0]]:
        replies.append(session.request(method, params, timeout=timeout))
        if replies[-1].fault is not None:
            break
        timeout = session.timeout
    _release(server, session)
    return tuple(replies)


def _release(server: Server, session: Session) -> None:
    """Release a session if the server goes on to serve it."""
    if not (session.closed or session.is_silent or server.surface.found_features):
        session.discover(session.timeout)
    server.sessions.release(session)


@scenario
def handshake_result(server: Server, wanted: str) -> tuple[Reply, Reply | None]:
    """Return what a process answers to ``initialize`` first and, if it agrees to a handshake, to a ping.

    If checks run in the latest handshake revision too, its sessions are such processes.
    """
    other = server.run.servers.get(revisions.LATEST_HANDSHAKE)
    if other is not None:
        opening = other.proposed(wanted)
        return opening, other.session.drain() if opening.value is not None else None
    with server.sessions.launch(f"a handshake for {wanted}") as session:
        params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": session.client_info}
        opening = session.await_reply(send_as_is(session, "initialize", params), opening_seconds(server))
        agreed = opening.value.get("protocolVersion") if opening.value is not None else None
        if agreed is None or agreed.json not in revisions.HANDSHAKE:
            return opening, None
        session.revision = agreed.json
        session.notify("notifications/initialized")
        return opening, session.drain()


def opening_seconds(server: Server) -> float:
    """Return how long a new process may take to answer, from the time it took when it was probed."""
    settings, taken = server.settings, server.surface.opening[-1].at
    return min(settings.start_timeout, max(settings.timeout, 4 * taken))


def simple_method(server: Server) -> str:
    """Return a method that the server answers directly: that of a list if it serves one."""
    return next(iter(server.served_lists()), "server/discover")


@scan
def modern_lines(session: Session) -> Iterator[Line]:
    """Yield the lines of a session up to one that a server may take for a choice of the handshake era.

    That is a line that names no version, sent before the server answered a good request other than discovery.
    """
    is_settled = False
    for line in session.lines if session.is_modern else ():
        if line.sent and not is_settled and not names_revision(line.message):
            return
        yield line
        result = Value(line.message).get("result") if not line.sent else None
        if result is not None and result.get("resultType") and not result.get("supportedVersions"):
            is_settled = True


def modern_messages(server: Server, *kinds: Kind) -> list[Value]:
    """Return the messages of these kinds that the server has sent in the modern lines of its sessions."""
    lines = (line for session in server.sessions for line in modern_lines(session) if not line.sent)
    found = (Value(message, "", (line,)) for line in lines for message in line.parts())
    return [one for one in found if kind(one.json) in kinds]


def exchanges(server: Server) -> Iterator[tuple[Mapping[str, Any], Value]]:
    """Return each request so far with its answer, in the modern lines of the server's sessions."""
    return (exchange for session in server.sessions for exchange in _exchanges_of(session))


@scan
def _exchanges_of(session: Session) -> Iterator[tuple[Mapping[str, Any], Value]]:
    open: dict[IdKey, Line] = {}
    for line in modern_lines(session):
        for message in line.parts():
            if line.sent and kind(message) is Kind.REQUEST:
                open[id_key(message["id"])] = line
            elif not line.sent and is_response(message):
                request = open.pop(id_key(message.get("id", ABSENT)), None)
                if request is not None:
                    yield request.message, Value(message, "", (request, line))


def modern_results(server: Server) -> list[Reply]:
    """Return every result so far of a request that names this revision, in sessions opened by such a request.

    A server may take other sessions for those of the handshake era.
    """
    sessions = (session for session in server.sessions if _names_revision_first(session))
    replies = (reply for session in sessions for reply in replies_in(session))
    return [reply for reply in replies if reply.value is not None and _names(reply, server.revision)]


def _names(reply: Reply, revision: str) -> bool:
    return bool(meta_value(reply.request.message, revisions.PROTOCOL_VERSION) == revision)


def _names_revision_first(session: Session) -> bool:
    return names_revision(next((line.message for line in session.lines if line.sent), None))


def names_revision(request: Any) -> bool:
    """Return whether a request names its revision."""
    return meta_value(request, revisions.PROTOCOL_VERSION) is not ABSENT


def needs_client(reply: Reply) -> bool:
    """Return whether the server needs something of the client first, or an undeclared capability."""
    return reply.needs_input or reply.code == -32021


def meta_value(request: Any, name: str) -> Any:
    """Return the value of a member of a request's ``_meta``, `ABSENT` if there is none."""
    found = Value(request).get("params", "_meta", name)
    return ABSENT if found is None else found.json


def versions(value: Value | None) -> set[str]:
    """Return the versions in an array of strings, nothing for another value."""
    listed = value.json if value is not None else None
    return {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()


def is_later(version: str) -> bool:
    """Return whether a version is later than the last one with a handshake."""
    return version > revisions.LATEST_HANDSHAKE
