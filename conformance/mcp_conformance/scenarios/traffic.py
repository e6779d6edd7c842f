"""All that a server can harmlessly be made to send: the traffic that general rules are judged on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mcp_conformance.client.refusals import REFUSED
from mcp_conformance.client.reply import Reply
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding, Repeat


@scenario
def exercise_everything(server: Server) -> tuple[Reply, ...]:
    """Fetch every list, call, get and read once; send requests that fail, and a line that is not JSON.

    Return the replies.
    """
    replies = [*send_what_fails(server), *(one for listing in server.listings() for one in listing.replies)]
    replies += [*server.prompts(), *server.resources()]
    replies += [one.reply for call in server.calls() for one in call.with_others]
    return tuple(replies)


@scenario
def send_what_fails(server: Server) -> tuple[Reply, ...]:
    """Send requests that fail, and a line that is not JSON; return the replies."""
    replies = tuple(server.session.request(method, params) for method, params in REFUSED)
    server.malformed_session.send_raw(b"this line is not JSON")
    server.malformed_session.drain()
    return replies


@contextmanager
def judged_in_all(server: Server, *also: Line) -> Iterator[None]:
    """Say of what is found in any exchange so far how it is seen again: ``also`` has lines of the check."""
    try:
        yield
    except Finding as finding:
        finding.repeat = repeat_of(server, finding.lines, *also)
        raise


def repeat_of(server: Server, lines: Sequence[Line], *also: Line) -> Repeat:
    """Return how lines are seen again: by a check that exercises everything, or else by all checks.

    Lines over HTTP are made for each look at them: their messages count.
    """
    own = [line for reply in exercise_everything(server) for line in reply.lines]
    own += [*server.surface.opening_lines, *also]
    ids, messages = {id(line) for line in own}, [line.message for line in own if line.sent]
    is_own = all(id(line) in ids or line.message in messages for line in lines if line.sent)
    return Repeat.BY_CHECK if is_own else Repeat.BY_RUN
