"""Calls of tools that wait for the API at the same time, and calls that are cancelled meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_conformance.backend.contact import Contact
from mcp_conformance.backend.sickness import ANSWERED, ASKED, ECHOES, WELL, Sickness
from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require_some, skip
from mcp_conformance.json_schema.validation import Unjudgeable, is_valid_in_all
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.scenarios.api_inventory import NO_API, inventory, is_analytics
from mcp_conformance.scenarios.sick_api import SILENT
from mcp_conformance.scenarios.ward import HELD_SECONDS, Ward, ward
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.lines import HttpLines

if TYPE_CHECKING:
    from mcp_conformance.backend.backend import Backend

CALLS = 4
"""How many calls of a tool wait for the API at once."""
MAX_TOOLS = 3
"""How many tools are tried, of each of which as many arguments."""
CANCEL_SECONDS = 3.0
"""How long a request may go on after the cancellation.  Not measured: it ends within milliseconds in servers
that end it at all, and no timeout of a client is shorter."""
ANSWER = re.compile(rf"{ANSWERED}([0-9]{{12}})")


@dataclass(frozen=True)
class MixedCalls:
    """Calls of a tool at once: by the number of the word in the arguments of each, the reply."""

    tool: str
    replies: Mapping[str, Reply]

    def wrong(self) -> Iterator[tuple[str, Reply]]:
        """Yield the replies that have the words of other calls and not their own."""
        for word, reply in self.replies.items():
            if (said := words_in(reply)) and word not in said:
                yield word, reply


@dataclass(frozen=True)
class Cancelled:
    """A call that was cancelled while its tool waited for the API.

    ``left`` are the requests whose answers the server still waits for `CANCEL_SECONDS` later.  ``is_closing``
    says that the end of the connection was the cancellation.
    """

    tool: str
    lines: tuple[Line, ...]
    left: tuple[Contact, ...]
    is_closing: bool = False


@dataclass(frozen=True)
class AtOnce:
    """What came of calls at once, and of cancelled ones."""

    mixed: tuple[MixedCalls, ...] = ()
    cancelled: tuple[Cancelled, ...] = ()


def words_in(reply: Reply) -> frozenset[str]:
    """Return the words of which an answer has what the API makes of them."""
    return frozenset(ANSWER.findall(reply.line.text)) if reply.line is not None else frozenset()


@scenario
def at_once(server: Server) -> AtOnce:
    """Call tools at once, and cancel a call of each, on one process with an API of its own."""
    backend = server.settings.backend
    if backend is None or not backend.sicknesses:
        skip("no sickness was chosen (--backend sick)")
    judged = require_some(inventory(server).judged, skip=NO_API)
    calls = [one.call for one in judged if isinstance(one.call, Call)][:MAX_TOOLS]
    with ward(server) as room:
        mixed = [found for call in calls if (found := _mixed(room, call)) is not None]
        cancelled = [_cancelled(room, call) for call in calls]
    return AtOnce(tuple(mixed), tuple(one for one in cancelled if one is not None))


def _mixed(room: Ward, call: Call) -> MixedCalls | None:
    """Call a tool at once with other words; None if it shows no word of what the API answers to it."""
    numbers = iter(range(1000))
    for name in _worded(room.server, call):
        for sickness in ECHOES:
            (one,) = _called(room, call, name, sickness, [_word(next(numbers))])
            if one[0] in words_in(one[1]):
                words = [_word(next(numbers)) for _ in range(CALLS)]
                return MixedCalls(call.tool.name, dict(_called(room, call, name, sickness, words)))
    return None


def _word(number: int) -> str:
    return f"{number:012}"


def _worded(server: Server, call: Call) -> list[str]:
    """Return the names of arguments that can be a word of ours."""
    return [name for name in call.arguments if _is_valid(server, call, name)][:MAX_TOOLS]


def _is_valid(server: Server, call: Call, name: str) -> bool:
    arguments = _params(call, name, _word(0))["arguments"]
    try:
        is_text = isinstance(call.arguments[name], str)
        return is_text and is_valid_in_all(arguments, call.tool.input_schema, server.revision)
    except Unjudgeable:
        return False


def _called(
    room: Ward, call: Call, name: str, sickness: Sickness, words: list[str]
) -> list[tuple[str, Reply]]:
    """Call a tool with each of these words at once, and return the replies.

    The API answers once all have asked, or no more do: a server may make one call after the other.
    """
    session, backend = room.session, room.backend
    backend.become(sickness, held=True)
    begun = len(backend.contacts)
    sent = [(word, session.send("tools/call", _params(call, name, word))) for word in words]

    def missing() -> int:
        return begun + len(words) - len(backend.contacts)

    while (left := missing()) > 0:
        room.wait(partial(lambda before: missing() < before, left), HELD_SECONDS)
        if missing() == left:
            break
    backend.release()
    replies = [(word, reply_within(session, request, session.timeout)) for word, request in sent]
    backend.become(WELL)
    return replies


def _params(call: Call, name: str, word: str) -> dict[str, Any]:
    return {**call.params, "arguments": {**call.arguments, name: f"{ASKED}{word}"}}


def _cancelled(room: Ward, call: Call) -> Cancelled | None:
    """Cancel a call that waits for the API, over HTTP as the revision says.

    None if the server does not read the cancellation before the call ends, as one that makes one call after
    the other, or cannot know whose it is, as one without sessions.
    """
    session, backend = room.session, room.backend
    over_http = session.process if isinstance(session.process, HttpLines) else None
    if over_http is not None and not (session.is_modern or over_http.mirror.session_id):
        return None
    backend.become(SILENT)
    request = session.send("tools/call", call.params)
    room.wait(lambda: _needed(backend) or session.is_answered(request), session.timeout)
    waits = bool(_needed(backend)) and not session.is_answered(request)
    line = session.notify(CANCELLED, {"requestId": request.message["id"], "reason": "Not needed any more."})
    is_read = waits and session.drain().fault is None and not _has_result(session, request)
    if is_read:
        room.wait(lambda: not _needed(backend), CANCEL_SECONDS)
    left = _needed(backend)
    backend.become(WELL)
    if not is_read or session.closed or (not left and _has_result(session, request)):
        return None
    is_closing = over_http is not None and session.is_modern
    return Cancelled(call.tool.name, (request,) if is_closing else (request, line), left, is_closing)


def _has_result(session: Session, request: Line) -> bool:
    """Return whether a request was answered, and not with an error."""
    return session.is_answered(request) and session.await_reply(request).error is None


def _needed(backend: Backend) -> tuple[Contact, ...]:
    """Return the requests that wait, but those to services that only count: these may outlive a call."""
    return tuple(one for one in backend.waiting if not is_analytics(one))
