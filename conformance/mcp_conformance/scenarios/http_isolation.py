"""Two clients of one HTTP server at once: equal ids, log levels and subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require, skip
from mcp_conformance.protocol.jsonrpc import Kind, kind
from mcp_conformance.protocol.methods import LOG_LEVELS
from mcp_conformance.scenarios.changing_call import mutating_call, params_of
from mcp_conformance.scenarios.http_requests import HttpReply, http_session
from mcp_conformance.scenarios.http_sessions import Peer, peers
from mcp_conformance.scenarios.log_messages import MESSAGE, logging_requests
from mcp_conformance.scenarios.request_metadata import simple_method
from mcp_conformance.scenarios.server_snapshot import watched
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange

ROUNDS = 5
ROUND_SECONDS = 3.0
"""How long two responses may take beyond the time that they take alone."""
LATE_SECONDS = 10.0
"""How much longer two responses may take if one has not come, though a later request has its answer.

The list of a server that waits for a host took 5 s at its first request.
"""
HELD_SECONDS = 0.3
"""How long a call that asks the client for something is kept open at most until a ping has its answer."""
UPDATE_SECONDS = 0.5
"""How long updates of resources may take."""
PREFIX = "isolation"
"""The beginning of the progress tokens of the first client."""


@dataclass(frozen=True)
class Meeting:
    """Two requests with one id, sent at once by two clients; ``alone`` are those that each sent alone.

    ``again`` is the request of the first client, sent alone once more after one without an answer.
    """

    alone: tuple[HttpReply, HttpReply]
    both: tuple[HttpReply, HttpReply]
    again: HttpReply | None = None


@dataclass(frozen=True)
class Meetings:
    """Several meetings of two clients; ``stream`` is the stream that the second one opened with GET."""

    rounds: tuple[Meeting, ...]
    stream: HttpReply


@scenario
def meetings(server: Server) -> Meetings:
    """Send pairs of requests with equal ids from two clients, while the second one listens.

    The first client sends the permitted call that reports progress or takes the longest, and then a list
    request, which takes as long as the ping that the second one sends: each finds other races.
    """
    session = http_session(server)
    long, short = long_request(server), (simple_method(server), NO_PARAMS, 0.0)
    with peers(session, 2) as [one, other]:
        pairs = [
            (request, _alone(one, other, request)) for request in {short[0]: short, long[0]: long}.values()
        ]
        stream = other.listen()
        rounds = [
            meeting for request, alone in reversed(pairs) for meeting in _meet(one, other, request, alone)
        ]
        other.post("ping")
        return Meetings(tuple(rounds), HttpReply(stream))


def _alone(one: Peer, other: Peer, request: tuple[str, Any, float]) -> tuple[HttpReply, HttpReply]:
    """Send the requests of both clients one after the other; skip the check if one is not served."""
    method, params, _ = request
    alone = one.post(method, _with_token(params, 0)), other.post("ping")
    if not all(reply.was_served for reply in alone):
        skip(f"{method} and ping of two clients are not served one after the other either")
    return alone


def _meet(
    one: Peer, other: Peer, request: tuple[str, Any, float], alone: tuple[HttpReply, HttpReply]
) -> Iterator[Meeting]:
    """Let two clients meet some times; end with a request that got no answer in time."""
    method, params, seconds = request
    for number in range(1, ROUNDS + 1):
        message = one.session.request_of(method, _with_token(params, number), id=f"same {method} {number}")
        first, second = _at_once(one, message, other, seconds)
        again = None
        if not (first.answer and second.answer):
            again = one.post(method, params, seconds=seconds + ROUND_SECONDS)
            limit = LATE_SECONDS if again.answer else 0.0
            first.exchange.wait_or_abort(limit)
            second.exchange.wait_or_abort(limit)
        both = HttpReply(first.exchange, first.sent), HttpReply(second.exchange, second.sent)
        yield Meeting(alone, both, again)
        if any(reply.exchange.aborted for reply in both):
            return


def long_request(server: Server) -> tuple[str, Any, float]:
    """Return a request that takes its time, with the seconds that it takes."""
    calls = [
        call
        for call in server.quick_calls()
        if not (call.failed or call.asked) and call.tool.task_support != "required"
    ]
    if not calls:
        return simple_method(server), NO_PARAMS, 0.0
    call = max(calls, key=lambda one: (bool(one.progress), _span(one), one.reply.seconds))
    params = call.params
    return "tools/call", params, call.reply.seconds


def _span(call: Call) -> float:
    """Return the seconds between the first progress of a call and the last, which noise does not change."""
    times = [one.lines[0].at for one in call.progress]
    return round(max(times) - min(times), 3) if times else 0.0


def _with_token(params: Any, number: int) -> Any:
    """Return the params of a call with a progress token."""
    return params if params is NO_PARAMS else {**params, "_meta": {"progressToken": f"{PREFIX}-{number}"}}


def _at_once(one: Peer, message: dict[str, Any], other: Peer, seconds: float) -> tuple[HttpReply, HttpReply]:
    """Send a request of one client, and a ping of the other with its id; return what came in time."""
    ping = {"jsonrpc": "2.0", "id": message["id"], "method": "ping"}
    one.may_answer.clear()
    first = one.begin(message)
    first.wait_until_sent(ROUND_SECONDS)
    second = other.begin(ping)
    second.wait(HELD_SECONDS)
    one.may_answer.set()
    limit = one.session.scaled_timeout(ROUND_SECONDS) + seconds
    for exchange in (first, second):
        exchange.wait(limit)
    return HttpReply(first, message), HttpReply(second, ping)


def foreign_progress(replies: Iterable[HttpReply]) -> list[HttpReply]:
    """Return the responses to the second client that have progress of the first one."""
    return [reply for reply in replies if any(map(is_of_first_client, reply.messages))]


def is_of_first_client(message: Any) -> bool:
    """Return whether a message is progress of the first client."""
    if kind(message) is not Kind.NOTIFICATION or not isinstance(message.get("params"), dict):
        return False
    return str(message["params"].get("progressToken", "")).startswith(PREFIX)


@dataclass(frozen=True)
class Levels:
    """The log messages that a client with the highest level got for a request.

    ``before`` another client had requested all levels, and ``after``.
    """

    before: HttpReply
    after: HttpReply
    stream: HttpReply

    @property
    def low(self) -> list[HttpReply]:
        """The responses after the other client's request that have messages of a lower level."""
        return [one for one in (self.after, self.stream) if low_messages(one)]


def low_messages(reply: HttpReply) -> list[Any]:
    """Return the log messages in a response that are below the highest level."""
    found = [one for one in reply.messages if kind(one) is Kind.NOTIFICATION and one["method"] == MESSAGE]
    levels = (one.get("params", {}) for one in found)
    return [one for one in levels if isinstance(one, dict) and one.get("level") in LOG_LEVELS[:-1]]


@scenario
def levels(server: Server) -> Levels:
    """Set the highest level in one session, the lowest in another, and make the server log in the first."""
    if not server.declares("logging"):
        skip("the server does not declare logging")
    request = require(next(iter(logging_requests(server)), None), skip="no permitted request makes it log")
    with peers(http_session(server), 2) as [one, other]:
        stream = one.listen()
        if not one.post("logging/setLevel", {"level": LOG_LEVELS[-1]}).was_served:
            skip("the level of a session cannot be set")
        before = one.post(request.method, request.params)
        one.post("ping")
        if low_messages(before) or low_messages(HttpReply(stream)):
            skip("the server logs below the level of the session although it is alone")
        if not other.post("logging/setLevel", {"level": LOG_LEVELS[0]}).was_served:
            skip("the level of a second session cannot be set")
        after = one.post(request.method, request.params)
        one.post("ping")
        return Levels(before, after, HttpReply(stream))


@dataclass(frozen=True)
class Streams:
    """What two clients got for a change of resources: one had subscribed to them, the other had not.

    ``own`` are the stream of the first one and the response to its call.
    """

    own: tuple[HttpReply, ...]
    other: HttpReply


@scenario
def streams_of_a_change(server: Server) -> Streams:
    """Subscribe to resources in one session, change them there; return its streams and that of another."""
    if not server.declares("resources", "subscribe"):
        skip("the server does not declare that resources can be subscribed to")
    sample = mutating_call(server)
    params = params_of(server.shared(CALLS), sample)
    uris = watched(server, http_session(server))
    with peers(http_session(server), 2) as [one, other]:
        stream, own = other.listen(), one.listen()
        if stream.media_type != EVENT_STREAM or stream.has_ended:
            skip("the server keeps no stream open for GET")
        accepted = [one.post("resources/subscribe", {"uri": uri}).was_served for uri in uris]
        if not any(accepted):
            skip("no resource can be subscribed to")
        called = one.post("tools/call", params)
        _let_pass(one.session, own)
        other.post("ping")
        return Streams((HttpReply(own), called), HttpReply(stream))


def _let_pass(session: Session, stream: Exchange) -> None:
    """Wait a little for the updates of the first client."""
    stream.wait(session.scaled_timeout(UPDATE_SECONDS))


def updates(reply: HttpReply) -> list[Any]:
    """Return the updates of resources in a response."""
    method = "notifications/resources/updated"
    return [one for one in reply.messages if kind(one) is Kind.NOTIFICATION and one["method"] == method]
