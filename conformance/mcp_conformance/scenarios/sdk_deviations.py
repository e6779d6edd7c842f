"""Deviations from the specification that an official SDK brings to every server built on it.

They excuse nothing: a known deviation counts like any other, but it is reported once and with its origin.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from mcp_conformance.client.reply import Closed, Reply, Unanswered
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.scenarios.invalid_requests import is_unknown_method, misshapen_requests
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Finding, Skipped

PYTHON_1, PYTHON_2 = "Python SDK 1.x", "Python SDK 2.x"
TYPESCRIPT_1, TYPESCRIPT_2 = "TypeScript SDK 1.x", "TypeScript SDK 2.x"
GO, RUST = "Go SDK", "Rust SDK"
CSHARP, KOTLIN = "C# SDK", "Kotlin SDK"
PYTHON, TYPESCRIPT = (PYTHON_1, PYTHON_2), (TYPESCRIPT_1, TYPESCRIPT_2)
ZOD = re.compile(r'"path"|"code": "(invalid|unrecognized|too)_')

WRAPPED = r'"text":"(?P<text>[^"]*)"[^\n]*"structuredContent":\{"result":"?(?P=text)"?\}'
"""Matches a result that has the tool's value as text, and as the single member ``result``."""
UNEXPLAINED = r'"code":-32603,"message":"An error occurred\."'
"""Matches the C# SDK's error for params that it cannot deserialize."""
UNANSWERED = r'\A> \[[^\n]*(\n< (?![^\n]*"id":"(mixed|requests) \d")[^\n]*)*\Z'
"""Matches an array without an answer to any of its requests, from a server that goes on."""
UNKNOWN_TYPE = r'"method":"(?P<method>[^"]*)"[^\n]*\n<[^\n]*-32601,"message":"(?P=method)"'
"""Matches the Rust SDK's error for them: it takes the request for one of another method."""
WITHOUT_HINTS = r'\n< (?![^\n]*"(ttlMs|cacheScope)")[^\n]*"(prompts|resources|resourceTemplates)":\[\]'
"""Matches an empty list without caching hints, which the Rust SDK lists for a server that has none."""
NUMBERED_LEVEL = r'"level":\d+\b[^\n]*\n<[^\n]*"result":\{\}'
"""Matches a level that is a number: the C# SDK reads it as the number of a level."""
UNNAMED = r'\A(?![\s\S]*"io\.modelcontextprotocol/serverInfo")[\s\S]*"result"'
"""Matches results of a server that names itself in none of them."""
ENDED = r"^! Closed [01]$"
"""Matches the end of a process that did not crash."""
UNINITIALIZED = rf'"method":"initialize"[\s\S]*{ENDED}'
"""Matches that end at `initialize`: the Rust SDK serves no client whose first request was another."""
ROUNDED_ID = r'"id":9007199254740993\b[^\n]*\n< (?=[^\n]*"id":9007199254740992\b)[^\n]*\Z'
"""Matches an integer id that comes back as the nearest binary fraction."""
DEEP_PARAMS = r'\A> [^\n]*"method":"(ping|server/discover)"[^\n]*"a":\[{129}[^\n]*'
"""Matches a request that no handler of a server sees, with params that are deeper than the SDK can read.

The member before the brackets keeps the time linear in the length of the line.
"""


SAME_ID = r'\A> [^\n]*"id":"?(?P<id>\d+)\b[^\n]*\n> [^\n]*"id":"?(?P=id)\b'
"""Matches requests with the ids 1 and "1" at once: over HTTP, the Python SDK confuses their streams."""
UNION = r'"message":"Validation error: \d+ validation errors for union\[JSONRPC'
"""Matches the Python SDK's error over HTTP for a body that is not a message."""
UNHANDLED = f'JSON RPC not handled: "{NO_SUCH_METHOD}" unsupported'
"""The body with which the Go SDK refuses an unknown method over HTTP, without a JSON-RPC error."""
REFUSED_AS_TEXT = r"^! Unanswered HTTP 400 [^\n]*'(JSON RPC not handled|invalid request): "
"""Matches such a body."""


@dataclass(frozen=True)
class Deviation:
    """A rule that every server built on one of ``sdks`` breaks, with `evidence` that ``pattern`` matches."""

    requirement: str
    sdks: tuple[str, ...]
    pattern: str

    def matches(self, shown: str) -> bool:
        """Return whether the pattern matches this evidence."""
        return re.search(self.pattern, shown, re.MULTILINE) is not None


DEVIATIONS = (
    Deviation("batch.empty-array", (GO,), ENDED),
    Deviation("batch.notifications-only-silent", (GO,), ENDED),
    Deviation("batch.receive", (*PYTHON, *TYPESCRIPT, GO, RUST, CSHARP, KOTLIN), UNANSWERED),
    Deviation("caching.hints.prompts-list", (RUST,), WITHOUT_HINTS),
    Deviation("caching.hints.resources-list", (RUST,), WITHOUT_HINTS),
    Deviation("caching.hints.resources-templates-list", (RUST,), WITHOUT_HINTS),
    Deviation("cancel.malformed-ignored", (RUST,), r'-32600,"message":"Invalid request"'),
    Deviation("cancel.no-further-messages", (TYPESCRIPT_2,), r"notifications/progress"),
    Deviation("cancel.race-graceful", (PYTHON_1,), r"Request cancelled|Session not found|^! Closed 1$"),
    Deviation("cancel.stops-work", (TYPESCRIPT_2,), r"notifications/progress"),
    Deviation("capabilities.logging.declared", PYTHON, r"notifications/message"),
    Deviation("completion.missing-arguments-code", TYPESCRIPT, r"-32603"),
    Deviation("completion.undeclared-code", (RUST,), r'"values":\[\]'),
    Deviation("completion.unknown-prompt-code", PYTHON, r'"values"'),
    Deviation("completion.unknown-ref-type", TYPESCRIPT, r"-32603"),
    Deviation("completion.unknown-ref-type", (CSHARP,), UNEXPLAINED),
    Deviation("errors.internal-error-code", PYTHON, r'"code":0\b'),
    Deviation("errors.invalid-params-code", TYPESCRIPT, r"-32603"),
    Deviation("errors.invalid-params-code", (CSHARP,), UNEXPLAINED),
    Deviation("errors.invalid-params-code", (RUST,), UNKNOWN_TYPE),
    Deviation("errors.invalid-request-code", PYTHON, UNION),
    Deviation("errors.message-concise", PYTHON, UNION),
    Deviation("errors.message-concise", TYPESCRIPT, r"path"),
    Deviation("errors.message-concise", (GO,), r"invalid params: unmarshaling"),
    Deviation("errors.method-not-found-code", (PYTHON_1,), r"-32602"),
    Deviation("errors.method-not-found-code", (GO,), REFUSED_AS_TEXT),
    Deviation("http.post.accept-any", (PYTHON_1, *TYPESCRIPT), r"^< HTTP 406 "),
    Deviation("http.post.accept-listed", (TYPESCRIPT_2,), r"^< HTTP 200 "),
    Deviation("http.post.accept-syntax", (*PYTHON, *TYPESCRIPT), r"^< HTTP 406 "),
    Deviation("http.post.batch-refused", TYPESCRIPT, r"^< HTTP 200 "),
    Deviation("http.post.content-type-parameters", PYTHON, r"Application/JSON[^\n]*\n< HTTP 415 "),
    Deviation("http.post.invalid-utf8", (PYTHON_1,), r"^< HTTP 500 "),
    Deviation("http.security.origin-malformed", PYTHON, r"^< HTTP 200 "),
    Deviation("http.session.stable", PYTHON, r"Missing session ID|Invalid request parameters"),
    Deviation("http.session.two-ids", PYTHON, r"^< HTTP 200 "),
    Deviation("http.version.era-by-metadata", (PYTHON_2,), r"Missing session ID"),
    Deviation("jsonrpc.garbage-not-fatal", (GO,), ENDED),
    Deviation("jsonrpc.id-types-accepted", (GO,), ROUNDED_ID),
    Deviation("jsonrpc.id-types-accepted", (RUST,), r'\A> [^\n]*"id":18446744073709551616\b[^\n]*\Z'),
    Deviation("jsonrpc.invalid-params", TYPESCRIPT, r"-32603"),
    Deviation("jsonrpc.invalid-request", PYTHON, UNION),
    Deviation("jsonrpc.invalid-params", (CSHARP,), UNEXPLAINED),
    Deviation("jsonrpc.invalid-params", (RUST,), UNKNOWN_TYPE),
    Deviation("jsonrpc.method-not-found", (PYTHON_1,), r"-32602"),
    Deviation("jsonrpc.method-not-found", (GO,), REFUSED_AS_TEXT),
    Deviation("jsonrpc.response-every-request", PYTHON, SAME_ID),
    Deviation("jsonrpc.response-every-request", (PYTHON_1,), r"anyio\.BrokenResourceError"),
    Deviation("jsonrpc.response-every-request", (GO,), rf"{DEEP_PARAMS}\n{ENDED}"),
    Deviation("jsonrpc.response-every-request", (RUST,), rf"{DEEP_PARAMS}\Z"),
    Deviation("lifecycle.request-before-initialize", (RUST,), UNINITIALIZED),
    Deviation("logging.invalid-level-rejected", (GO, RUST), r'"result"'),
    Deviation("logging.set-level.invalid-code", TYPESCRIPT, r"-32603"),
    Deviation("logging.set-level.invalid-code", (CSHARP,), UNEXPLAINED),
    Deviation("logging.set-level.invalid-code", (CSHARP,), NUMBERED_LEVEL),
    Deviation("logging.set-level.invalid-code", (GO,), r'"result":\{\}'),
    Deviation("pagination.cursor-same-operation", (GO,), r'"result"'),
    Deviation("pagination.cursor-type", TYPESCRIPT, r"-32603"),
    Deviation("pagination.cursor-type", (CSHARP,), UNEXPLAINED),
    Deviation("pagination.cursor-type", (RUST,), r'"result"'),
    Deviation("pagination.invalid-cursor-code", (*PYTHON, *TYPESCRIPT), r"result"),
    Deviation("pagination.invalid-cursor-code", (CSHARP, KOTLIN), r'"result"'),
    Deviation("prompts.get.missing-argument-code", PYTHON, r'"code":0\b'),
    Deviation("prompts.get.unknown-name-code", PYTHON, r'"code":0\b'),
    Deviation("prompts.get.unknown-name-code", (PYTHON_2,), r"-32603"),
    Deviation("prompts.get.unknown-name-code", (KOTLIN,), r'-32603,"message":"Prompt not found: '),
    Deviation("reqmeta.missing-meta", (GO,), r'"result"'),
    Deviation("reqmeta.missing-protocol-version", (GO,), r'"result"'),
    Deviation("reqmeta.wrong-types", (TYPESCRIPT_2,), r'"_meta":\[\][^\n]*\n! Silence'),
    Deviation("reqmeta.wrong-types", (GO, RUST), r'"result"'),
    Deviation("resources.read.internal-error-code", (PYTHON_1,), r'"code":0\b'),
    Deviation("resources.read.not-found-code", (PYTHON_1,), r'"code":0\b'),
    Deviation("resources.read.not-found-code", (PYTHON_2, *TYPESCRIPT), r"-32602"),
    Deviation("resources.read.not-found-code", (GO,), r'-32602,"message":"Resource not found"'),
    Deviation("resources.read.uri-required", (GO,), REFUSED_AS_TEXT),
    Deviation("result.server-info", (RUST,), UNNAMED),
    Deviation("subscriptions.filter-required", (PYTHON_2,), r"toolsListChanged"),
    Deviation("subscriptions.graceful-result", (PYTHON_2,), r"-32000"),
    Deviation("subscriptions.stays-open", (GO, TYPESCRIPT_2), r'"notifications":\{\}[^\n]*\n<[^\n]*"result"'),
    Deviation("tasks.tool-forbidden", (TYPESCRIPT_1,), r"Invalid task creation result"),
    Deviation("tasks.undeclared-ignored", (TYPESCRIPT_1,), r"does not support task creation"),
    Deviation("tools.call.malformed-request", (GO,), REFUSED_AS_TEXT),
    Deviation("tools.call.malformed-request-code", (TYPESCRIPT_1,), r"-32603"),
    Deviation("tools.call.malformed-request-code", (CSHARP,), UNEXPLAINED),
    Deviation("tools.call.malformed-request-code", (GO,), REFUSED_AS_TEXT),
    Deviation(
        "tools.call.malformed-request-code", (GO,), r'-32600,"message":"invalid request: missing required'
    ),
    Deviation("tools.call.malformed-request-code", (RUST,), UNKNOWN_TYPE),
    Deviation("tools.call.unknown-tool-is-error", (*PYTHON, TYPESCRIPT_1), r"isError"),
    Deviation("tools.call.unknown-tool-is-error", (KOTLIN,), r'"Tool [^"]* not found"'),
    Deviation("tools.structured.text-fallback", PYTHON, rf"\A(> [^\n]*\n?|< [^\n]*{WRAPPED}[^\n]*\n?)+\Z"),
    Deviation("version.per-request", (TYPESCRIPT_2,), r"1900-01-01"),
    Deviation("version.unsupported-error", (TYPESCRIPT_2,), r"1900-01-01"),
    Deviation("version.unsupported-error", (GO,), r"1900-01-01[^\n]*\n<[^\n]*-32601"),
)
"""Seen in every server of the SDK that was tried; the ``sdk`` notes of the requirements say more.

Those of the Go SDK were seen in a server on 1.8.0 and in the source of 1.7.0, those of the Rust SDK in one on
3.4.0 and the source of 3.1.4, those of the C# SDK about arrays, params, levels and cursors in one on 1.0.0
and the source of 2.2.0.  The others of the C# SDK, and those of the Kotlin SDK 0.14.0, are known from their
sources.  The Java SDK has no entries: its error for an unknown method has no words of its own.
"""


def evidence(error: Finding | Blocked) -> str:
    """Return what the server did: the lines, the kind of fault with the exit status or response, and stderr.

    The words of this tool are left out, so that they may change, except those around a response over HTTP
    that is not an answer.
    """
    fault, status = error.fault, ""
    if isinstance(fault, Closed):
        status = f" {fault.exit_code}"
    elif isinstance(fault, Unanswered):
        status = f" {fault.instead}"
    lines = [f"{'>' if line.sent else '<'} {line.text}" for line in error.lines]
    lines += [f"! {type(fault).__name__}{status}"] if fault is not None else []
    lines += [error.stderr] if isinstance(error, Blocked) and error.stderr else []
    return "\n".join(lines)


def known_deviation(server: Server, requirement: str, error: Finding | Blocked) -> str:
    """Return the SDK that breaks this rule in every server built on it; empty if the server itself does."""
    shown = evidence(error)
    fitting = [one for one in DEVIATIONS if one.requirement == requirement and one.matches(shown)]
    sdk = sdk_of(server) if fitting else ""
    return sdk if any(sdk in one.sdks for one in fitting) else ""


@scenario
def sdk_of(server: Server) -> str:
    """Return the official SDK whose errors have the same words as this server's; empty if there is none."""
    try:
        unknown = server.session.request(NO_SUCH_METHOD, {})
        found = _by_unknown_method(unknown)
        return found or _by_wrong_params(unknown, _refused_params(server))
    except (Blocked, Skipped):
        return ""


def _refused_params(server: Server) -> Reply | None:
    """Return the answer to params of the wrong shape for a method that the server has."""
    replies = (server.session.request(method, params) for method, params in misshapen_requests(server))
    return next((reply for reply in replies if not is_unknown_method(server, reply)), None)


def _by_unknown_method(unknown: Reply) -> str:
    error = unknown.error if isinstance(unknown.error, dict) else {}
    words = (error.get("code"), error.get("message"), error.get("data"))
    if words == (-32602, "Invalid request parameters", ""):
        return PYTHON_1
    if words == (-32601, "Method not found", NO_SUCH_METHOD):
        return PYTHON_2
    if words == (-32601, f'method not found: "{NO_SUCH_METHOD}"', None) or UNHANDLED in str(unknown.fault):
        return GO
    if words == (-32601, f"Method '{NO_SUCH_METHOD}' is not available.", None):
        return CSHARP
    if words == (-32601, f"Server does not support {NO_SUCH_METHOD}", None):
        return KOTLIN
    return RUST if words == (-32601, NO_SUCH_METHOD, None) else ""


def _by_wrong_params(unknown: Reply, reply: Reply | None) -> str:
    """Recognise a TypeScript SDK by its validator's messages; only 2.x sends them with the right code."""
    if reply is None or unknown.error != {"code": -32601, "message": "Method not found"}:
        return ""
    message = reply.error_message if isinstance(reply.error_message, str) else ""
    if reply.code == -32603 and ZOD.search(message) and _is_array(message):
        return TYPESCRIPT_1
    is_second = reply.code == -32602 and message.startswith("Invalid tools/call request: [")
    return TYPESCRIPT_2 if is_second else ""


def _is_array(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
