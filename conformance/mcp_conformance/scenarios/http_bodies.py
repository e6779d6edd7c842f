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
from mcp_conformance.verdicts import Finding, Repeat

UNAUTHORIZED = 401
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
    elsewhere = replace(request_to(session, "POST", usual, encode(message)), target=f"{at.target}-not-here")
    replies = [send_raw(session, elsewhere, message=message), post(session, method)]
    for name, value in UNACCEPTABLE.items():
        replies += (post_message(session, message, {name: value}), post(session, method))
    return tuple(replies)


def is_unauthorized(misread: Misreading) -> bool:
    """Return whether the request before was refused for its credential."""
    return misread.before is not None and misread.before.status == UNAUTHORIZED


def expect_bodies_read(server: Server, is_judged: Callable[[Misreading], bool]) -> None:
    """Expect that no request was misread after a refused one; skip the check if none followed one.

    Where several refusals of a server leave bodies unread, they have one finding: that for credentials.
    """
    tally = lines_of(next(iter(server.sessions))).server.tally
    for one in tally.misread:
        if is_judged(one) and not (any(map(is_unauthorized, tally.misread)) and not is_unauthorized(one)):
            raise _misread(one)
    if tally.misread:
        skip("the requests that were misread followed others than these")
    if not tally.refused_before:
        skip("no request followed a refused one on its connection")


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
