"""What official SDKs do in every server built on them, so that authors see what is theirs.

Nothing here excuses a server: a known deviation counts like any other, but is told once and with its origin.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from conformance.client.reply import Reply
from conformance.scenarios.invalid_requests import misshapen_requests
from conformance.target.server import Server
from conformance.verdicts import Blocked, Finding, Skipped

PYTHON_1, PYTHON_2 = "Python SDK 1.x", "Python SDK 2.x"
TYPESCRIPT_1, TYPESCRIPT_2 = "TypeScript SDK 1.x", "TypeScript SDK 2.x"
GO, RUST = "Go SDK", "Rust SDK"
PYTHON, TYPESCRIPT = (PYTHON_1, PYTHON_2), (TYPESCRIPT_1, TYPESCRIPT_2)
UNKNOWN_METHOD = "conformance/no-such-method"
ZOD = re.compile(r'"path"|"code": "(invalid|unrecognized|too)_')

WRAPPED = r'got (result\.structuredContent = \{"result": [^,;]*\}(; )?)+(and \d+ more)? '
"""That what tools gave is wrapped in nothing but a member ``result``."""
BARE = r'"text":"([^"]*)".*"structuredContent":\{"result":"?\4"?\}'
"""That the text of a result is what is wrapped."""


@dataclass(frozen=True)
class Deviation:
    """A rule that every server built on one of ``sdks`` breaks, if the evidence holds the text ``seen``."""

    requirement: str
    sdks: tuple[str, ...]
    seen: str


DEVIATIONS = (
    Deviation("batch.receive", (*PYTHON, *TYPESCRIPT), r"got none to (\w+) 1 and \1 2(?!: the server)"),
    Deviation("cancel.no-further-messages", (TYPESCRIPT_2,), r"notifications/progress"),
    Deviation("cancel.race-graceful", (PYTHON_1,), r"Request cancelled|process ended \(exit status 1\)"),
    Deviation("cancel.stops-work", (TYPESCRIPT_2,), r"notifications/progress"),
    Deviation("capabilities.logging.declared", PYTHON, r"notifications/message"),
    Deviation("completion.missing-arguments-code", TYPESCRIPT, r"-32603"),
    Deviation("completion.unknown-prompt-code", PYTHON, r'"values"'),
    Deviation("completion.unknown-ref-type", TYPESCRIPT, r"-32603"),
    Deviation("errors.internal-error-code", PYTHON, r"error 0\b"),
    Deviation("errors.invalid-params-code", TYPESCRIPT, r"-32603"),
    Deviation("errors.message-concise", TYPESCRIPT, r"path"),
    Deviation("errors.method-not-found-code", (PYTHON_1,), r"-32602"),
    Deviation("jsonrpc.method-not-found", (PYTHON_1,), r"-32602"),
    Deviation("jsonrpc.invalid-params", TYPESCRIPT, r"-32603"),
    Deviation("jsonrpc.response-every-request", (PYTHON_1,), r"anyio\.BrokenResourceError"),
    Deviation("lifecycle.operation.server-features", PYTHON, r"notifications/message"),
    Deviation("logging.set-level.invalid-code", TYPESCRIPT, r"-32603"),
    Deviation("pagination.cursor-type", TYPESCRIPT, r"-32603"),
    Deviation("pagination.invalid-cursor-code", (*PYTHON, *TYPESCRIPT), r"result"),
    Deviation("prompts.get.missing-argument-code", PYTHON, r"error 0\b"),
    Deviation("prompts.get.unknown-name-code", PYTHON, r"error 0\b"),
    Deviation("prompts.get.unknown-name-code", (PYTHON_2,), r"-32603"),
    Deviation("reqmeta.wrong-types", (TYPESCRIPT_2,), r'no answer .*"_meta":\[\]'),
    Deviation("resources.read.internal-error-code", (PYTHON_1,), r"error 0\b"),
    Deviation("resources.read.not-found-code", (PYTHON_1,), r"error 0\b"),
    Deviation("resources.read.not-found-code", (PYTHON_2, *TYPESCRIPT), r"-32602"),
    Deviation("subscriptions.filter-required", (PYTHON_2,), r"toolsListChanged"),
    Deviation("subscriptions.graceful-result", (PYTHON_2,), r"-32000"),
    Deviation("tasks.tool-forbidden", (TYPESCRIPT_1,), r"Invalid task creation result"),
    Deviation("tasks.undeclared-ignored", (TYPESCRIPT_1,), r"does not support task creation"),
    Deviation("tools.call.malformed-request-code", (TYPESCRIPT_1,), r"-32603"),
    Deviation("tools.call.unknown-tool-is-error", (*PYTHON, TYPESCRIPT_1), r"isError"),
    Deviation("tools.structured.text-fallback", PYTHON, f"{WRAPPED}.*{BARE}"),
    Deviation("version.unsupported-error", (TYPESCRIPT_2,), r"1900-01-01"),
    Deviation("version.per-request", (TYPESCRIPT_2,), r"1900-01-01"),
)
"""What was seen in every server of an SDK that was tried; the catalogue's ``sdk`` notes say more."""


def known_deviation(server: Server, requirement: str, error: Finding | Blocked) -> str:
    """The SDK that breaks this rule in every server built on it; empty if this is the server's own doing."""
    lines = " ".join(line.text for line in error.lines)
    evidence = f"{error} {lines} {getattr(error, 'stderr', '')}"
    fitting = [one for one in DEVIATIONS if one.requirement == requirement and re.search(one.seen, evidence)]
    sdk = sdk_of(server) if fitting else ""
    return sdk if any(sdk in one.sdks for one in fitting) else ""


def sdk_of(server: Server) -> str:
    """The official SDK that answers like this server, in the words of its errors; empty if none does."""
    found: str = server.once("sdk", lambda: _recognised(server))
    return found


def _recognised(server: Server) -> str:
    try:
        unknown = server.session.request(UNKNOWN_METHOD, {})
        wrong = [server.session.request(method, params) for method, params in misshapen_requests(server)[:1]]
    except (Blocked, Skipped):
        return ""
    return _by_unknown_method(unknown) or _by_wrong_params(unknown, wrong)


def _by_unknown_method(unknown: Reply) -> str:
    error = unknown.error if isinstance(unknown.error, dict) else {}
    words = (error.get("code"), error.get("message"), error.get("data"))
    if words == (-32602, "Invalid request parameters", ""):
        return PYTHON_1
    if words == (-32601, "Method not found", UNKNOWN_METHOD):
        return PYTHON_2
    if words == (-32601, f'method not found: "{UNKNOWN_METHOD}"', None):
        return GO
    return RUST if words == (-32601, UNKNOWN_METHOD, None) else ""


def _by_wrong_params(unknown: Reply, wrong: list[Reply]) -> str:
    """The TypeScript SDK reports what its validator said; 2.x does so with the right code for calls."""
    if unknown.error != {"code": -32601, "message": "Method not found"}:
        return ""
    for reply in wrong:
        message = reply.error_message if isinstance(reply.error_message, str) else ""
        if reply.code == -32603 and ZOD.search(message) and _is_array(message):
            return TYPESCRIPT_1
        if reply.code == -32602 and message.startswith("Invalid tools/call request: ["):
            return TYPESCRIPT_2
    return ""


def _is_array(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
