"""What a modern request says of itself in ``_meta``: requests that say it badly, and who said what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.client.input_required import replies_in
from conformance.client.reply import Reply
from conformance.client.session import NO_PARAMS, Session
from conformance.expect import require_answer, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, kind
from conformance.protocol.value import Value
from conformance.target.server import Server

GRACE = 2.0
"""How many seconds a request has for its answer when two later ones are answered already."""


def send_bare(session: Session, method: str, params: Any = NO_PARAMS) -> Line:
    """Send a request with these params alone: nothing is added to its ``_meta``."""
    message = {"jsonrpc": "2.0", "id": f"bare {len(session.lines)}", "method": method}
    return session.send_message(message if params is NO_PARAMS else {**message, "params": params})


def ask_bare(session: Session, method: str, params: Any = NO_PARAMS, patience: float = 0.0) -> Reply:
    """The same, and the answer; it is not waited for when the server answers later requests instead.

    ``patience`` is how long a server may take that does what it is asked.
    """
    sent = send_bare(session, method, params)
    session.drain()
    session.drain()
    return session.await_reply(sent, session.scaled_timeout(GRACE) + patience)


def without(session: Session, *names: str) -> dict[str, Any]:
    """What a session's requests say of themselves, without these members."""
    return {name: value for name, value in session.envelope.items() if name not in names}


def settled(server: Server) -> Session:
    """A conversation for odd requests, in which a good one has just shown of which era it is.

    Discovery does not show it: a server may take that for a question that comes before the choice.
    """
    if not server.served_lists():
        skip("the server offers no list")
    session = server.shared("envelope")
    if require_answer(session.request(plain_method(server))).value is None:
        skip(f"{plain_method(server)} is no longer answered as it was")
    return session


def first_talk(server: Server) -> tuple[Session, Reply]:
    """A process that met nothing before a list request, and its answer; it is shared, and held open."""
    talk: tuple[Session, Reply] = server.once("first talk", lambda: _first_talk(server))
    return talk


def _first_talk(server: Server) -> tuple[Session, Reply]:
    session = server.launch()
    return session, session.request(plain_method(server), timeout=server.settings.start_timeout)


def shaken(server: Server, wanted: str) -> tuple[Reply, Reply | None]:
    """What a new process answers to ``initialize``, and then to a ping, if it agrees to shake hands."""
    told: tuple[Reply, Reply | None] = server.once(f"shaken {wanted}", lambda: _shaken(server, wanted))
    return told


def _shaken(server: Server, wanted: str) -> tuple[Reply, Reply | None]:
    with server.launch() as session:
        params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": session.client_info}
        hello = session.await_reply(send_bare(session, "initialize", params), first_patience(server))
        agreed = hello.value.get("protocolVersion") if hello.value is not None else None
        if agreed is None or agreed.json not in revisions.HANDSHAKE:
            return hello, None
        session.revision = agreed.json
        session.notify("notifications/initialized")
        return hello, session.drain()


def first_patience(server: Server) -> float:
    """How long a new process may take to answer, by how long it took when it was probed."""
    settings, taken = server.settings, server.surface.opening[-1].at
    return min(settings.start_timeout, max(settings.timeout, 4 * taken))


def plain_method(server: Server) -> str:
    """A method that the server answers without ado: a list, if there is one."""
    return next(iter(server.served_lists()), "server/discover")


def modern_lines(session: Session) -> Iterator[Line]:
    """The lines of a conversation up to one that a server may take for a choice of the handshake era.

    That is what names no version and is sent before the answer to a good request; discovery is none yet.
    """
    chosen = False
    for line in session.lines if session.is_modern else ():
        if line.sent and not chosen and said_of(line.message, revisions.PROTOCOL_VERSION) is ABSENT:
            return
        yield line
        result = Value(line.message).get("result") if not line.sent else None
        if result is not None and result.get("resultType") and not result.get("supportedVersions"):
            chosen = True


def modern_messages(server: Server, *kinds: Kind) -> list[Value]:
    """What the server has sent so far of these kinds, where it knows of which era it has to be."""
    lines = (line for session in server.sessions for line in modern_lines(session) if not line.sent)
    found = (Value(message, "", (line,)) for line in lines for message in line.parts())
    return [one for one in found if kind(one.json) in kinds]


def exchanges(server: Server) -> Iterator[tuple[Mapping[str, Any], Value]]:
    """Each request so far with its answer, where the server knows of which era it has to be."""
    for session in server.sessions:
        asked: dict[tuple[str, str], Line] = {}
        for line in modern_lines(session):
            for message in line.parts():
                if line.sent and kind(message) is Kind.REQUEST:
                    asked[id_key(message["id"])] = line
                elif not line.sent and kind(message) in (Kind.RESULT, Kind.ERROR):
                    request = asked.pop(id_key(message.get("id", ABSENT)), None)
                    if request is not None:
                        yield request.message, Value(message, "", (request, line))


def modern_results(server: Server) -> list[Reply]:
    """Every result so far of a request that names its revision, in conversations that such a one opened.

    Others a server may take for those of the handshake era.
    """
    found = (reply for session in server.sessions if _opens(session) for reply in replies_in(session))
    return [reply for reply in found if reply.value is not None and _is_of(reply, server.revision)]


def _is_of(reply: Reply, revision: str) -> bool:
    return bool(said_of(reply.request.message, revisions.PROTOCOL_VERSION) == revision)


def _opens(session: Session) -> bool:
    first = next((line.message for line in session.lines if line.sent), None)
    return names_revision(first)


def names_revision(request: Any) -> bool:
    """Whether a request says of which revision it is."""
    return said_of(request, revisions.PROTOCOL_VERSION) is not ABSENT


def needs_client(reply: Reply) -> bool:
    """Whether the client is asked for something first, or told that it lacks what is needed."""
    return reply.needs_input or reply.code == -32021


def said_of(request: Any, name: str) -> Any:
    """What a request says of itself under a name; `ABSENT` if it says nothing."""
    found = Value(request).get("params", "_meta", name)
    return ABSENT if found is None else found.json


def versions(value: Value | None) -> set[str]:
    """The versions in a list; none if it is no list of strings."""
    listed = value.json if value is not None else None
    return {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()


def is_later(version: str) -> bool:
    """Whether a version is none of those that are opened with a handshake."""
    return version > revisions.LATEST_HANDSHAKE
