"""Log messages: asked for in both eras, and the requests that a server logs something about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.client.reply import Reply
from conformance.client.session import NO_PARAMS, Session
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, kind
from conformance.protocol.value import Value
from conformance.target.server import Server

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MESSAGE = "notifications/message"


@dataclass(frozen=True)
class Chatty:
    """A harmless or permitted request that the server logs something about, below the highest level."""

    method: str
    params: Any
    levels: tuple[str, ...]

    def at(self, level: str) -> Any:
        """Its params in a modern revision, with a level."""
        return with_level(self.params, level)


def chatty_requests(server: Server) -> list[Chatty]:
    """The requests about which something is logged at the level debug, found out once."""
    found: list[Chatty] = server.once(
        "logged at debug", lambda: list(logged_at_debug(server, server.shared("logging")))
    )
    return found


def logged_at_debug(server: Server, session: Session) -> Iterator[Chatty]:
    """The same, asked for in a conversation."""
    is_modern = revisions.is_modern(server.revision)
    asks = server.declares("logging")
    if asks and not is_modern and levels(server)["debug"].value is not None:
        set_level(session, "debug")
    for method, params in _harmless_requests(server):
        session.drain()
        seen = len(session.notifications(MESSAGE))
        reply = session.request(method, with_level(params, "debug") if is_modern else params)
        if reply.fault is not None or session.drain().fault is not None:
            return
        told = [level_of(Value(message)) for _, message in session.notifications(MESSAGE)[seen:]]
        lower = tuple(level for level in LEVELS[:-1] if level in told)
        if lower:
            yield Chatty(method, params, lower)


def with_level(params: Any, level: Any) -> Any:
    """Params of a modern request that ask for log messages from a level on."""
    given = params if isinstance(params, Mapping) else {}
    meta = given.get("_meta", {})
    return {**given, "_meta": {**meta, revisions.LOG_LEVEL: level}}


def levels(server: Server) -> dict[str, Reply]:
    """What became of setting each level, up to the first that was not answered."""
    found: dict[str, Reply] = server.once("levels", lambda: dict(_set_each_level(server.shared("logging"))))
    return found


def set_level(session: Session, level: str) -> Reply:
    """Set the level of a session, in a handshake revision."""
    return session.request("logging/setLevel", {"level": level})


def level_of(message: Value) -> Any:
    """The level of a log message, None if it has none."""
    level = message.get("params", "level")
    return None if level is None else level.json


def _set_each_level(session: Session) -> Iterator[tuple[str, Reply]]:
    for level in LEVELS:
        reply = set_level(session, level)
        yield level, reply
        if reply.fault is not None:
            return


def _harmless_requests(server: Server) -> list[tuple[str, Any]]:
    """What was asked of the server before: its lists, and all that it let be called, fetched and read."""
    calls = [call.reply for call in server.calls() if not server.is_slow(call) and len(call.rounds) < 2]
    replies = [walk.replies[0] for walk in server.listings()] + calls + server.prompts() + server.resources()
    asked = [reply.request.message for reply in replies if reply.fault is None]
    return [(message["method"], message.get("params", NO_PARAMS)) for message in asked]


# When a modern server logs


@dataclass(frozen=True)
class Logged:
    """A log message of a modern conversation, and what was under way when it came.

    ``open`` are the requests that were not answered or cancelled then, ``asked`` says that any request before
    it asked for log messages.
    """

    message: Value
    open: tuple[Any, ...]
    asked: bool

    @property
    def is_wanted(self) -> bool:
        """Whether a request under way asked for log messages."""
        return any(asks_for_logs(request) for request in self.open)

    @property
    def is_late(self) -> bool:
        """Whether those that asked for log messages were answered by then."""
        return self.asked and not self.is_wanted


def asks_for_logs(request: Any) -> bool:
    """Whether a modern request asks for log messages."""
    return Value(request).get("params", "_meta", revisions.LOG_LEVEL) is not None


def logged_in(lines: Sequence[Line]) -> Iterator[Logged]:
    """The log messages of a modern conversation, in order."""
    asked = False
    for message, line, open in under_way(lines):
        if line.sent:
            asked = asked or asks_for_logs(message)
        elif kind(message) is Kind.NOTIFICATION and message["method"] == MESSAGE:
            yield Logged(Value(message, "", (line,)), open, asked)


def under_way(lines: Sequence[Line]) -> Iterator[tuple[Any, Line, tuple[Any, ...]]]:
    """Every message of a conversation with its line and the requests that were not answered by then."""
    open: dict[tuple[str, str], Any] = {}
    for line in lines:
        for message in line.parts():
            what = kind(message)
            if line.sent and what is Kind.REQUEST:
                open[id_key(message["id"])] = message
            yield message, line, tuple(open.values())
            if not line.sent and what in (Kind.RESULT, Kind.ERROR):
                open.pop(id_key(message.get("id", ABSENT)), None)
