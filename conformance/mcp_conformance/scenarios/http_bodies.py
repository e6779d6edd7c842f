"""Requests that a server refuses before it has read their bodies, and what follows on their connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.scenarios.http_requests import (
    HttpReply,
    http_session,
    lines_of,
    post,
    post_message,
    request_to,
    send_raw,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.exchange import Misreading
from mcp_conformance.transport.http.headers import ACCEPT, JSON
from mcp_conformance.transport.http.tally import Tally
from mcp_conformance.verdicts import Finding, Repeat

UNAUTHORIZED, TOO_LARGE = 401, 413
LARGE = 1_000_000
"""The bytes in a body that some servers refuse: Express has a limit of 100 kB, nginx one of 1 MiB."""
NOT_HERE = "-not-here"
"""What makes of the path of the endpoint another one."""
# Not measured: a head is refused before the body, or not at all, and a second answer follows the first.
HEAD_SECONDS, SECOND_SECONDS = 1.0, 0.3
UNACCEPTABLE = {"Origin": "http://conformance.invalid", "Content-Type": "text/plain", "Accept": "image/png"}
"""Headers for which servers refuse a request."""


@scenario
def refused_in_passing(server: Server) -> tuple[HttpReply, ...]:
    """Send requests that servers refuse by their heads, each before a good one; return all responses.

    They come from another origin, go to a path that is not the endpoint, or have a body of another type.
    """
    session = http_session(server)
    method = next(iter(server.served_lists()), session.liveness_method)
    message = session.request_of(method)
    at = lines_of(session).server.endpoint
    usual = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    elsewhere = replace(request_to(session, "POST", usual, encode(message)), target=f"{at.target}{NOT_HERE}")
    replies = [send_raw(session, elsewhere, message=message), post(session, method)]
    for name, value in UNACCEPTABLE.items():
        replies += (post_message(session, message, {name: value}), post(session, method))
    return tuple(replies)


@scenario
def large_body(server: Server) -> HttpReply:
    """Send a harmless request with a body of one megabyte."""
    session = http_session(server)
    return post(session, session.liveness_method, {"_meta": {"org.example/padding": "x" * LARGE}})


@scenario
def request_in_large_body(server: Server) -> HttpReply | None:
    """Send the head of a request whose body is refused with 413, and a request as the beginning of that body.

    A server that reads the body waits for the rest of it, and one that does not closes the connection.
    Return None if no body is refused so, or if the server wants to read all of it first.
    """
    refused, session = large_body(server), http_session(server)
    if refused.status != TOO_LARGE:
        return None
    inner = request_to(session, "GET")
    inner = replace(inner, target=f"{inner.target}{NOT_HERE}")
    outer = refused.exchange.request
    request = replace(outer, body=inner.encoded, lingers=session.scaled_timeout(SECOND_SECONDS))
    exchange = lines_of(session).exchange(request)
    if exchange.wait_for_head(session.scaled_timeout(HEAD_SECONDS)):
        exchange.wait(session.timeout)
    if not exchange.has_ended:
        exchange.give_up(session.timeout)
    return HttpReply(exchange) if exchange.status == TOO_LARGE else None


def is_unauthorized(misread: Misreading) -> bool:
    """Return whether the request before was refused for its credential."""
    return misread.before is not None and misread.before.status == UNAUTHORIZED


def expect_large_body_read(server: Server) -> None:
    """Expect that no request is read in the body of one that is refused with 413.

    Where other bodies stay unread too, they have the finding.
    """
    reply = request_in_large_body(server)
    if reply is None or reply.exchange.unasked is None or _tally(server).misread:
        return
    got = f"HTTP {reply.status}, and HTTP {reply.exchange.unasked} to the beginning of the body"
    raise Finding("one response to one request", got, reply.lines, fatal=True)


def expect_bodies_read(server: Server, is_judged: Callable[[Misreading], bool]) -> None:
    """Expect that no request was misread after a refused one; skip the check if none followed one.

    Where several refusals of a server leave bodies unread, they have one finding: that for credentials.
    """
    tally = _tally(server)
    for one in tally.misread:
        if is_judged(one) and not (any(map(is_unauthorized, tally.misread)) and not is_unauthorized(one)):
            raise _misread(one)
    if tally.misread:
        skip("the requests that were misread followed others than these")
    if not tally.refused_before:
        skip("no request followed a refused one on its connection")


def _tally(server: Server) -> Tally:
    return lines_of(next(iter(server.sessions))).server.tally


def _misread(one: Misreading) -> Finding:
    before = f" ({one.before.status})" if one.before is not None else ""
    after = f"HTTP {one.status} after a refused request with a body{before}"
    got = f"{after}, and HTTP {one.exchange.status} elsewhere"
    known = (each for each in (one.before, one.exchange) if each is not None)
    return Finding(
        "the same response on a reused connection as on a new one",
        got,
        [line for each in known for line in HttpReply(each).lines],
        fatal=True,
        repeat=Repeat.BY_RUN,
    )
