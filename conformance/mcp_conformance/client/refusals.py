"""Requests that every conforming server refuses, and the comparison of two refusals."""

from __future__ import annotations

import json
import re
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.protocol.methods import NO_SUCH_METHOD

MAX_REFUSAL = 300
"""How many characters of a text may hold the words of a refusal."""
MAX_COMPLAINT = 2000
"""How many may hold those about a network, which come with the trace of an exception; these take 0.7 ms."""
NO_SUCH_NAME = "conformance_no_such_name_8f14e45fceea167a"
"""A name, URI or cursor that no server has."""
NO_SUCH_URI = f"conformance://{NO_SUCH_NAME}"

REFUSED: tuple[tuple[str, Any], ...] = (
    (NO_SUCH_METHOD, {}),
    ("tools/call", {"name": NO_SUCH_NAME, "arguments": {}}),
    ("tools/call", {}),
    ("tools/list", {"cursor": 5}),
)
"""Requests that a conforming server refuses; none of them runs anything."""

FEATURE_REQUESTS: tuple[tuple[tuple[str, ...], str, str, dict[str, Any]], ...] = (
    (("tools",), "2024-11-05", "tools/list", {}),
    (("tools",), "2024-11-05", "tools/call", {"name": NO_SUCH_NAME, "arguments": {}}),
    (("prompts",), "2024-11-05", "prompts/list", {}),
    (("prompts",), "2024-11-05", "prompts/get", {"name": NO_SUCH_NAME}),
    (("resources",), "2024-11-05", "resources/list", {}),
    (("resources",), "2024-11-05", "resources/templates/list", {}),
    (("resources",), "2024-11-05", "resources/read", {"uri": NO_SUCH_URI}),
    (("resources", "subscribe"), "2024-11-05", "resources/subscribe", {"uri": NO_SUCH_URI}),
    (("logging",), "2024-11-05", "logging/setLevel", {"level": "info"}),
    (
        ("completions",),
        "2025-03-26",
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": NO_SUCH_NAME}, "argument": {"name": "a", "value": ""}},
    ),
)
"""For each feature a well-formed request, and the first revision that has it."""

MISSHAPEN: tuple[tuple[str, str, Any], ...] = (
    ("tools", "tools/call", {}),
    ("tools", "tools/list", {"cursor": 5}),
    ("prompts", "prompts/get", {}),
    ("prompts", "prompts/list", {"cursor": 5}),
    ("resources", "resources/read", {}),
    ("resources", "resources/list", {"cursor": 5}),
    ("resources", "resources/templates/list", {"cursor": 5}),
    ("resources.subscribe", "resources/subscribe", {}),
    ("completions", "completion/complete", {}),
    ("logging", "logging/setLevel", {}),
)
"""For each feature a request whose params have the wrong shape."""

NOT_FOUND: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("prompts", "prompts/get", {"name": NO_SUCH_NAME}),
    ("resources", "resources/read", {"uri": NO_SUCH_URI}),
)
"""For each feature a well-formed request for something that does not exist."""


NO_NETWORK = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|UND_ERR_CONNECT|fetch failed"
    r"|getaddrinfo|name or service not known|(?:name|host) resolution|no such host|network is unreachable"
    r"|connection refused|could not resolve host|failed to resolve|nodename nor servname|dial tcp"
    r"|all connection attempts failed|connection issue|error sending request for url",
    re.IGNORECASE,
)
"""What runtimes and HTTP clients say when they reach no host."""


NO_FILE = re.compile(
    r"\b(?:ENOENT|EISDIR|ENOTDIR|EEXIST|EACCES|EPERM|ENAMETOOLONG|ELOOP)\b|no such file or directory"
    r"|(?:is|not) a directory|permission denied|file name too long|file (?:already )?exists"
    r"|system cannot find the (?:file|path)",
    re.IGNORECASE,
)
"""What systems say of files."""


CLIENT_NEEDED_CODES = (-32042, -32021)
"""The errors with which a server asks for something of the client, or of its user."""


def asks_client(reply: Reply) -> bool:
    """Return whether the server asks for something of the client, or of its user, before it goes on."""
    return reply.needs_input or reply.code in CLIENT_NEEDED_CODES


def complaint_about_network(reply: Reply) -> str:
    """Return the words in a refusal that say that no host was reached; empty if there are none."""
    found = NO_NETWORK.search(words(reply)) if _refuses(reply) else None
    return found[0] if found is not None else ""


def complaint_about_files(reply: Reply) -> bool:
    """Return whether a refusal has the system's words for a file that is missing, or is of another kind."""
    return _refuses(reply) and NO_FILE.search(words(reply)) is not None


INTERNAL_CODES = (-32603, *range(-32019, -31999))
"""The codes of errors that are not about the request: an internal one, and those of servers."""


def unreached(reply: Reply) -> str:
    """Return the words in an error that is not about the request, and says that no host was reached."""
    return complaint_about_network(reply) if reply.code in INTERNAL_CODES else ""


REFUSAL = re.compile(
    r"\A\W*(?:error|exception|invalid|missing|failed|failure|unknown|unsupported)\b"
    r"|\A\W*(?:cannot|could not|unable|no such)\b"
    r"|\bmust (?:be|not|have|contain)\b|\b(?:is|are) required\b|\bis not (?:a |an )?(?:valid|allowed)\b",
    re.IGNORECASE,
)
"""What the text of a result says that refuses the arguments, or fails."""


def refuses_in_words(reply: Reply) -> bool:
    """Return whether a result without ``isError`` refuses in its first text, or complains about a network."""
    if reply.is_tool_error:
        return False
    return bool(network_in_text(reply)) or any(REFUSAL.search(one[:MAX_REFUSAL]) for one in reply.texts[:1])


def network_in_text(reply: Reply) -> str:
    """Return the words in the first text of a result that say that no host was reached; empty without any."""
    found = [NO_NETWORK.search(text[:MAX_COMPLAINT]) for text in reply.texts[:1]]
    return next((one[0] for one in found if one is not None), "")


def same_refusal(one: Reply, other: Reply) -> bool:
    """Return whether two requests are refused in the same words."""
    return _refuses(one) and _refuses(other) and words(one) == words(other)


def fails_alike(one: Reply, other: Reply) -> bool:
    """Return whether two requests are refused in the same words, or fail with the same internal code."""
    return same_refusal(one, other) or (one.code in INTERNAL_CODES and one.code == other.code)


UNKNOWN = re.compile(r"unknown|unrecogni[sz]ed|not found|no such|not exist|no tool|no prompt", re.IGNORECASE)
"""What a refusal says of something that does not exist."""


def refused_as_unknown(reply: Reply, name: str, unknown: Reply) -> bool:
    """Return whether a call of ``name`` is refused like one of `NO_SUCH_NAME`, the name in the text aside.

    A refusal without that name must say that something does not exist.
    """
    if not (_refuses(reply) and _refuses(unknown)):
        return False
    text = words(unknown)
    if NO_SUCH_NAME in text:
        return words(reply).replace(name, NO_SUCH_NAME) == text
    return words(reply) == text and UNKNOWN.search(text) is not None


def _refuses(reply: Reply) -> bool:
    return reply.error is not None or reply.is_tool_error


def words(reply: Reply) -> str:
    """Return the result or the error object as text."""
    return json.dumps(reply.result if reply.error is None else reply.error, sort_keys=True)
