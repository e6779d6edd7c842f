"""What a played server does wrong on purpose, to try a client: a fault has the name of its rule, if any."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import encode, is_response
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.tap.conversation import items, part
from mcp_conformance.tap.exchanges import Said

HUGE = 20_000_000
"""Bytes of a line: more than the 16 MB at which many clients, and ours, stop."""
NOT_FOUND, SERVER_ERROR = 404, 500
OPENINGS = frozenset({"initialize", "server/discover"})
Sent = Iterator[dict[str, Any] | bytes]
Spoil = Callable[[dict[str, Any]], Sent]
"""Yields what is sent in the place of an answer: messages, or bytes that are a line."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with the answers to all requests but those that open, or to those with some ``methods``.

    Over HTTP a response may also have another ``content_type`` or ``status``, be ``endless``, or lack its
    session id (``has_session``).
    """

    says: str
    spoil: Spoil = lambda message: iter((message,))
    methods: frozenset[str] = frozenset()
    content_type: str = ""
    status: int = 0
    is_endless: bool = False
    has_session: bool = True

    def is_about(self, method: str) -> bool:
        """Return whether answers to a method are spoiled."""
        return method in self.methods if self.methods else method not in OPENINGS


_found: dict[str, Fault] = {}


def _fault(name: str, *methods: str) -> Callable[[Spoil], Spoil]:
    """Add a fault; its docstring says what the server does."""

    def add(spoil: Spoil) -> Spoil:
        _found[name] = Fault((spoil.__doc__ or "").rstrip("."), spoil, frozenset(methods))
        return spoil

    return add


# Each message ------------------------------------------------------------------------------------


@_fault("jsonrpc.response-exactly-once")
def _twice(message: dict[str, Any]) -> Sent:
    """Answer twice."""
    yield from (message, message)


@_fault("jsonrpc.response-id-echo")
def _other_id(message: dict[str, Any]) -> Sent:
    """Answer with the id as a text, or 0 for a text."""
    yield {**message, "id": str(message["id"]) if isinstance(message["id"], int) else 0}


@_fault("null-id")
def _null_id(message: dict[str, Any]) -> Sent:
    """Answer with the id null."""
    yield {**message, "id": None}


@_fault("jsonrpc.response-every-request")
def _never(_: dict[str, Any]) -> Sent:
    """Never answer."""
    yield from ()


@_fault("jsonrpc.version-member")
def _no_version(message: dict[str, Any]) -> Sent:
    """Leave jsonrpc out."""
    yield {name: value for name, value in message.items() if name != "jsonrpc"}


@_fault("jsonrpc.result-xor-error")
def _both(message: dict[str, Any]) -> Sent:
    """Answer with a result and an error in one."""
    yield {**message, "result": {}, "error": {"code": -32603, "message": "spoiled"}}


@_fault("jsonrpc.error-object")
def _bare_error(message: dict[str, Any]) -> Sent:
    """Answer with an error that is a text."""
    yield {"jsonrpc": "2.0", "id": message["id"], "error": "spoiled"}


@_fault("jsonrpc.error-code-integer")
def _text_code(message: dict[str, Any]) -> Sent:
    """Answer with an error whose code is a text."""
    yield {"jsonrpc": "2.0", "id": message["id"], "error": {"code": "spoiled", "message": "spoiled"}}


@_fault("text-result")
def _text_result(message: dict[str, Any]) -> Sent:
    """Answer with a result that is a text."""
    yield {"jsonrpc": "2.0", "id": message["id"], "result": "spoiled"}


@_fault("jsonrpc.request-id-unused")
def _same_pings(message: dict[str, Any]) -> Sent:
    """Send two pings with the same id before each answer."""
    ping = {"jsonrpc": "2.0", "id": "spoiled", "method": "ping"}
    yield from (ping, ping, message)


@_fault("cancel.server-only-own")
def _cancels(message: dict[str, Any]) -> Sent:
    """Cancel a request that was never sent, before each answer."""
    yield {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "spoiled"}}
    yield message


@_fault("progress.token-known")
def _progress(message: dict[str, Any]) -> Sent:
    """Send progress for a token that nobody gave, before each answer."""
    params = {"progressToken": "spoiled", "progress": 1}
    yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    yield message


@_fault("unknown-notification")
def _unknown(message: dict[str, Any]) -> Sent:
    """Send a notification that no client knows, before each answer; it is to be ignored."""
    yield {"jsonrpc": "2.0", "method": "notifications/spoiled"}
    yield message


# Each line ---------------------------------------------------------------------------------------


@_fault("stdio.stdout-purity")
def _noise(message: dict[str, Any]) -> Sent:
    """Write a line of its log before each answer."""
    yield b"DEBUG: answering"
    yield message


@_fault("stdio.no-embedded-newline")
def _torn(message: dict[str, Any]) -> Sent:
    """Write each answer over several lines."""
    yield json.dumps(message, indent=1).encode()


@_fault("stdio.utf8-output")
def _latin(message: dict[str, Any]) -> Sent:
    """Write each answer with a letter in Latin-1."""
    text = json.dumps({**message, "_note": "\u00e9"}, ensure_ascii=False)
    yield text.encode("latin-1", "replace")


@_fault("cut-line")
def _cut(message: dict[str, Any]) -> Sent:
    """Write half of each answer."""
    raw = encode(message)
    yield raw[: len(raw) // 2]


@_fault("huge-line")
def _huge(message: dict[str, Any]) -> Sent:
    """Write 20 MB in the _meta of each result."""
    result = message.get("result")
    if isinstance(result, dict):
        message = {**message, "result": {**result, "_meta": {"spoiled": "x" * HUGE}}}
    yield message


# Some results ------------------------------------------------------------------------------------


def _changed(message: dict[str, Any], **members: Any) -> Sent:
    """Yield an answer whose result has other members; an error stays."""
    result = message.get("result")
    yield {**message, "result": {**result, **members}} if isinstance(result, dict) else message


@_fault("tools.call.result-content-array", "tools/call")
def _no_content(message: dict[str, Any]) -> Sent:
    """Answer calls with the content null."""
    yield from _changed(message, content=None)


@_fault("tools.structured.conforms", "tools/call")
def _breaks_schema(message: dict[str, Any]) -> Sent:
    """Answer calls with an empty structuredContent, whatever the output schema requires."""
    yield from _changed(message, structuredContent={})


@_fault("tools.structured.present", "tools/call")
def _without_structure(message: dict[str, Any]) -> Sent:
    """Leave structuredContent out of the results of calls."""
    kept = {name: one for name, one in (message.get("result") or {}).items() if name != "structuredContent"}
    yield {**message, "result": kept} if "result" in message else message


@_fault("tools.list.result-shape", "tools/list")
def _tools_by_name(message: dict[str, Any]) -> Sent:
    """List tools as an object by their names."""
    tools = items(part(message, "result"), "tools")
    yield from _changed(message, tools={str(one.get("name")): one for one in tools})


@_fault("tools.def.name-unique", "tools/list")
def _tools_twice(message: dict[str, Any]) -> Sent:
    """List each tool twice."""
    yield from _changed(message, tools=[*items(part(message, "result"), "tools")] * 2)


@_fault("pagination.progress", *LISTS)
def _same_cursor(message: dict[str, Any]) -> Sent:
    """Answer each list with the same cursor for ever."""
    yield from _changed(message, nextCursor="spoiled")


@_fault("lifecycle.initialize.version-counter-offer", "initialize")
def _wrong_version(message: dict[str, Any]) -> Sent:
    """Open with a revision that there is not."""
    yield from _changed(message, protocolVersion="1999-01-01")


OVER_HTTP = {
    "http-content-type": Fault("Name the content type text/plain", content_type="text/plain"),
    "http-status-404": Fault("Answer as if the session was over", status=NOT_FOUND),
    "http-status-500": Fault("Answer with an error of HTTP and no body", status=SERVER_ERROR),
    "http-endless": Fault("Open an event stream that has no answer and no end", is_endless=True),
    "http-no-session": Fault("Give no Mcp-Session-Id", methods=frozenset({"initialize"}), has_session=False),
}
"""The faults of responses over HTTP alone."""
FAULTS: Mapping[str, Fault] = {**_found, **OVER_HTTP}


def spoiled(fault: Fault, said: Said, method: str) -> Iterator[Said]:
    """Yield what a server with a fault sends in the place of its answer to a request."""
    if not is_response(said.message) or not fault.is_about(method):
        yield said
        return
    for one in fault.spoil(said.message):
        yield replace(said, spoiled=one if isinstance(one, bytes) else encode(one))
