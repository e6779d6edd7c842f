"""Facts about methods: which lists there are, what identifies their items, what a client says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.protocol import revisions

CLIENT_INFO = {"name": "mcp-conformance", "version": "0.1.0"}
IDENTIFIERS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
"""The member that identifies an item of each list."""
LISTED = {"tools": "tools/list", "prompts": "prompts/list", "resources": "resources/list"}
"""A list of each feature."""
FEATURES = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""What a server may ask of a client that declared the capability."""


def liveness_method(revision: str) -> str:
    """A method that every server answers at once, and that changes nothing."""
    return "server/discover" if revisions.is_modern(revision) else "ping"


def envelope(
    revision: str, capabilities: Mapping[str, Any], client_info: Mapping[str, Any] = CLIENT_INFO
) -> dict[str, Any]:
    """What a request in a modern revision says of itself in ``_meta``."""
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
"""Each list method with the capability it belongs to and the member of its result."""
