"""Facts about methods: the lists, the identifiers of their items, the client features, the envelope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, kind, show
from mcp_conformance.protocol.value import Value

CLIENT_INFO = {"name": "mcp-conformance", "version": "0.1.0"}
IDENTIFIERS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
"""The member that identifies an item of each list."""
LISTED = {"tools": "tools/list", "prompts": "prompts/list", "resources": "resources/list"}
"""A list method of each feature."""
CANCELLED = "notifications/cancelled"
NO_SUCH_METHOD = "conformance/no-such-method"
"""A method that no server has."""
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
FEATURES = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""The requests that a server may send, and the client capability that permits each."""


def liveness_method(revision: str) -> str:
    """Return a method that every server answers at once, and that changes nothing."""
    return "server/discover" if revisions.is_modern(revision) else "ping"


def envelope(
    revision: str, capabilities: Mapping[str, Any], client_info: Mapping[str, Any] = CLIENT_INFO
) -> dict[str, Any]:
    """Return the members of ``_meta`` that a modern request must have (basic: `_meta`)."""
    return {
        revisions.PROTOCOL_VERSION: revision,
        revisions.CLIENT_CAPABILITIES: dict(capabilities),
        revisions.CLIENT_INFO: dict(client_info),
    }


LISTS = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resourceTemplates"),
}
"""The capability of each list method, and the member of its result with the items."""


def requests_in(message: Value) -> list[Value]:
    """Return the requests to the client in a message: itself, or the ``inputRequests`` of its result."""
    if kind(message.json) is Kind.REQUEST:
        return [message]
    wanted = message.get("result", "inputRequests") if kind(message.json) is Kind.RESULT else None
    if wanted is None or not wanted.is_a(dict):
        return []
    parts = (Value(one, f"{wanted.path}[{show(key, 40)}]", message.lines) for key, one in wanted.json.items())
    return [part for part in parts if part.is_a(dict)]
