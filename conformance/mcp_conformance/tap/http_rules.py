"""What a client owes its server in the headers of its requests, over Streamable HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.protocol.jsonrpc import Kind, Line, kind, show
from mcp_conformance.protocol.wire_schema import CLIENT
from mcp_conformance.tap.conversation import Conversation, part
from mcp_conformance.tap.rules import rule
from mcp_conformance.transport.http.headers import METHOD, NAME, PARAMETER, Mirror, annotated, decoded

PAGE = "basic/transports#streamable-http"
MODERN_PAGE = "basic/transports/streamable-http#server-validation"
BOTH = ("application/json", "text/event-stream")


@rule(CLIENT, "fromclient.http-accept", "MUST", PAGE, since="2025-03-26")
def _accept(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each POST accepts JSON and event streams, each GET event streams."""
    accepted = (known.headers or {}).get("accept", "")
    wanted = {"POST": BOTH, "GET": BOTH[1:]}.get(line.carried_by.partition(" ")[0], ())
    if known.headers is not None and not all(one in accepted for one in wanted):
        yield f"Accept is {show(accepted)}"


@rule(CLIENT, "fromclient.http-content-type", "MUST", PAGE, since="2025-03-26")
def _content_type(known: Conversation, line: Line, message: Any) -> Iterator[str]:
    """Each POST has the content type application/json."""
    found = (known.headers or {}).get("content-type", "")
    if known.headers is not None and line.raw and found.partition(";")[0].strip().lower() != BOTH[0]:
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
    """Mcp-Method repeats the method, Mcp-Name what is called, got or read, and Mcp-Param- an argument.

    A client that does not know a tool's schema sends no headers for its arguments.
    """
    if known.headers is None or not known.is_modern or kind(message) is not Kind.REQUEST:
        return
    mirror = Mirror({name: tuple(annotated(tool.get("inputSchema"))) for name, tool in known.tools.items()})
    for name, value in mirror.headers(message):
        header, text = name.decode(), decoded(value.decode("latin-1"))
        found = known.headers.get(header.lower())
        is_wrong = found is None or not _is_same(decoded(found), text)
        if is_wrong and (header in (METHOD, NAME) or (header.startswith(PARAMETER) and found is not None)):
            yield f"{header} is {show(found)}, and the body has {show(text)}"


def _is_same(one: str, other: str) -> bool:
    """Return whether two headers say the same, also as numbers: ``1.0`` and ``1``."""
    try:
        return one == other or float(one) == float(other)
    except ValueError:
        return False
