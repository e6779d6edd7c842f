"""Facts about the revisions of the protocol."""

from __future__ import annotations

HANDSHAKE = ("2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that open with ``initialize``, oldest first."""

MODERN = ("2026-07-28",)
"""Stateless revisions, which open with ``server/discover``, oldest first."""

KNOWN = HANDSHAKE + MODERN
"""All revisions, oldest first. docs/how-to/add-a-revision.md says what a new one needs."""
LATEST_HANDSHAKE = HANDSHAKE[-1]
LATEST_MODERN = MODERN[-1]

HAS_NO_CAPABILITY = {"completions": frozenset({"2024-10-07", "2024-11-05"})}
"""Features that a server of these revisions may serve, but has no capability to declare."""

REMOVED = frozenset(
    {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list"}
)
"""Methods of handshake revisions that the modern ones lack."""

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
HEADER_MISMATCH, LACKS_CAPABILITY = -32020, -32021
"""The error codes for headers that do not match the body, and for a capability that the client lacks."""
UNSUPPORTED_VERSION = -32022
"""The error code of a modern server for a revision that it does not speak."""


def is_modern(revision: str) -> bool:
    """Return whether every request carries the revision, and no handshake opens a session."""
    return revision in MODERN


def not_found(revision: str) -> int:
    """Return the error code for a resource that does not exist."""
    return -32602 if is_modern(revision) else -32002


CONTENT_SINCE = {
    **dict.fromkeys(("text", "image", "resource"), "2024-11-05"),
    "audio": "2025-03-26",
    "resource_link": "2025-06-18",
}
"""The types of content blocks, each with the first revision that has it."""


def content_types(revision: str) -> frozenset[str]:
    """Return the types that a content block may have (2024-10-07 has no content blocks)."""
    return frozenset(name for name, since in CONTENT_SINCE.items() if since <= revision)


DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The JSON Schema dialect of a schema without ``$schema``, from 2025-11-25 on."""


def names_a_dialect(revision: str) -> bool:
    """Return whether the revision names the dialect of a schema without ``$schema`` (since 2025-11-25)."""
    return revision >= "2025-11-25"


def has_content(revision: str) -> bool:
    """Return whether tool results have ``content``; the 2024-10-07 draft has ``toolResult`` instead."""
    return revision >= "2024-11-05"


def paginates(revision: str) -> bool:
    """Return whether lists have cursors (since 2024-11-05)."""
    return revision >= "2024-11-05"


def elicits(revision: str) -> bool:
    """Return whether a server may send elicitation requests (since 2025-06-18)."""
    return revision >= "2025-06-18"


def elicits_by_url(revision: str) -> bool:
    """Return whether a server may elicit by URL, and sample with tools (since 2025-11-25)."""
    return revision >= "2025-11-25"
