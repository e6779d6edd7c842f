"""Log messages: requested in both eras, and the requests during which the server logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.client.subscriptions import LISTEN
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, kind
from mcp_conformance.protocol.methods import LOG_LEVELS, liveness_method
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS

MESSAGE = "notifications/message"
SILENT_METHODS = {liveness_method(revisions.LATEST_MODERN), LISTEN}
"""The methods of a modern revision during which hardly a server logs."""


@dataclass(frozen=True)
class LoggingRequest:
    """A harmless or permitted request during which the server logs at ``levels``, all below the highest."""

    method: str
    params: Any
    levels: tuple[str, ...]

    def params_with(self, level: str) -> Any:
        """Return its params in a modern revision, with a level."""
        return with_log_level(self.params, level)


@scenario
def logging_requests(server: Server) -> tuple[LoggingRequest, ...]:
    """Send harmless requests at the level debug, and return those during which the server logs."""
    return tuple(find_logging_requests(server, logging_session(server)))


def logging_session(server: Server) -> Session:
    """Return the session in which log messages are requested."""
    return server.shared("logging" if server.declares("logging") else CALLS)


def find_logging_requests(server: Server, session: Session) -> Iterator[LoggingRequest]:
    """Send harmless requests at the level debug in a session; yield those during which the server logs."""
    is_modern = revisions.is_modern(server.revision)
    if server.declares("logging") and not is_modern and set_each_level(server)["debug"].value is not None:
        set_level(session, "debug")
    for method, params in _harmless_requests(server):
        session.drain()
        seen = len(session.received.notifications(MESSAGE))
        reply = session.request(method, with_log_level(params, "debug") if is_modern else params)
        if reply.fault is not None or session.drain().fault is not None:
            return
        sent = [level_of(Value(message)) for _, message in session.received.notifications(MESSAGE)[seen:]]
        levels = tuple(level for level in LOG_LEVELS[:-1] if level in sent)
        if levels:
            yield LoggingRequest(method, params, levels)


def with_log_level(params: Any, level: Any) -> Any:
    """Return params of a modern request that requests log messages of a level and above."""
    given = params if isinstance(params, Mapping) else {}
    meta = given.get("_meta", {})
    return {**given, "_meta": {**meta, revisions.LOG_LEVEL: level}}


@scenario
def set_each_level(server: Server) -> Mapping[str, Reply]:
    """Set each level; return the replies by level, up to the first request that is not answered."""
    session, replies = server.shared("logging"), {}
    for level in LOG_LEVELS:
        replies[level] = set_level(session, level)
        if replies[level].fault is not None:
            break
    return replies


def set_level(session: Session, level: str) -> Reply:
    """Set the level of a session, in a handshake revision."""
    return session.request("logging/setLevel", {"level": level})


def level_of(message: Value) -> Any:
    """Return the level of a log message, None if it has none."""
    level = message.get("params", "level")
    return None if level is None else level.json


def _harmless_requests(server: Server) -> list[tuple[str, Any]]:
    """Return the lists, calls, gets and reads that the server answered before, without ``_meta``.

    A progress token that is used again would make late progress that of another request.
    """
    calls = [call.reply for call in server.quick_calls() if len(call.rounds) < 2]
    lists = [listing.replies[0] for listing in server.listings()]
    replies = lists + calls + server.prompts() + server.resources()
    requests = [reply.request.message for reply in replies if reply.fault is None]
    return [(message["method"], _without_meta(message.get("params", NO_PARAMS))) for message in requests]


def _without_meta(params: Any) -> Any:
    if not isinstance(params, Mapping):
        return params
    return {name: value for name, value in params.items() if name != "_meta"}


# When a modern server logs


@dataclass(frozen=True)
class LogMessage:
    """A log message of a modern session, and the requests that were open when it came.

    ``open`` are the requests without an answer by then; ``is_requested``: an earlier request, open or not,
    requested log messages.
    """

    message: Value
    open: tuple[Any, ...]
    is_requested: bool

    @property
    def is_wanted(self) -> bool:
        """Whether an open request requests log messages."""
        return any(requests_logs(request) for request in self.open)

    @property
    def is_late(self) -> bool:
        """Whether all requests that can have caused it were answered by then.

        One that is open may have caused it although it requests none, unless it is a ping or a subscription.
        """
        methods = {request["method"] for request in self.open}
        return self.is_requested and not self.is_wanted and methods <= SILENT_METHODS


def requests_logs(request: Any) -> bool:
    """Return whether a modern request requests log messages."""
    return Value(request).get("params", "_meta", revisions.LOG_LEVEL) is not None


def log_messages_in(lines: Sequence[Line]) -> Iterator[LogMessage]:
    """Yield the log messages of a modern session, in order."""
    is_requested = False
    for message, line, open in messages_with_open_requests(lines):
        if line.sent:
            is_requested = is_requested or requests_logs(message)
        elif kind(message) is Kind.NOTIFICATION and message["method"] == MESSAGE:
            yield LogMessage(Value(message, "", (line,)), open, is_requested)


def messages_with_open_requests(lines: Sequence[Line]) -> Iterator[tuple[Any, Line, tuple[Any, ...]]]:
    """Yield every message of a session with its line and the requests without an answer by then."""
    open: dict[IdKey, Any] = {}
    for line in lines:
        for message in line.parts():
            what = kind(message)
            if line.sent and what is Kind.REQUEST:
                open[id_key(message["id"])] = message
            yield message, line, tuple(open.values())
            if not line.sent and what in (Kind.RESULT, Kind.ERROR):
                open.pop(id_key(message.get("id", ABSENT)), None)
