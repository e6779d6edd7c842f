"""What a client owes its server in the headers of its requests, over Streamable HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.protocol.jsonrpc import Kind, Line, kind, show
from mcp_conformance.protocol.wire_schema import CLIENT
from mcp_conformance.tap.conversation import Conversation, part
from mcp_conformance.tap.rules import rule

PAGE = "basic/transports#streamable-http"
MODERN_PAGE = "basic/transports/streamable-http#server-validation"
BOTH = ("application/json", "text/event-stream")
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats."""


@rule(CLIENT, "fromclient.http-accept", "MUST", PAGE, since="2025-03-26")
def _accept(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each POST accepts JSON and event streams."""
    accepted = (known.headers or {}).get("accept", "")
    if known.headers is not None and not all(one in accepted for one in BOTH):
        yield f"Accept is {show(accepted)}"


@rule(CLIENT, "fromclient.http-content-type", "MUST", PAGE, since="2025-03-26")
def _content_type(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each POST has the content type application/json."""
    found = (known.headers or {}).get("content-type", "")
    if known.headers is not None and found.partition(";")[0].strip().lower() != BOTH[0]:
        yield f"Content-Type is {show(found)}"


@rule(CLIENT, "fromclient.http-session", "MUST", PAGE, since="2025-03-26", until="2025-11-25")
def _session(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each request after the handshake has the session id that the server gave."""
    is_later = known.headers is not None and part(message, "method") != "initialize"
    if is_later and known.session and (known.headers or {}).get("mcp-session-id") != known.session:
        yield "Mcp-Session-Id is missing or another one"


@rule(CLIENT, "fromclient.http-version", "MUST", PAGE, since="2025-06-18")
def _version(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each request after the handshake has the header MCP-Protocol-Version with the revision."""
    is_opened = known.is_modern or known.session or known.server_capabilities is not None
    is_later = is_opened and known.headers is not None and part(message, "method") != "initialize"
    found = (known.headers or {}).get("mcp-protocol-version", "")
    if is_later and found != known.revision:
        yield f"MCP-Protocol-Version is {show(found)}, and the revision is {known.revision}"


@rule(CLIENT, "fromclient.http-method", "MUST", MODERN_PAGE, since="2026-07-28")
def _method(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """The header Mcp-Method repeats the method, and Mcp-Name what is called, got or read."""
    if known.headers is None or not known.is_modern or kind(message) is not Kind.REQUEST:
        return
    wanted = {"mcp-method": message["method"]}
    if message["method"] in NAMED:
        wanted["mcp-name"] = part(message, "params", NAMED[message["method"]])
    for name, text in wanted.items():
        if isinstance(text, str) and text.isascii() and known.headers.get(name) != text:
            yield f"{name} is {show(known.headers.get(name))}, and the body has {show(text)}"
