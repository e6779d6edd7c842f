"""For each fact about an SDK a verdict that shows it."""

import json

from mcp_conformance.client.reply import Closed, Silence, Unanswered
from mcp_conformance.protocol.jsonrpc import Line, encode
from mcp_conformance.protocol.revisions import CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from mcp_conformance.sdks.facts import FACTS
from mcp_conformance.sdks.names import Sdk
from mcp_conformance.verdicts import Blocked, Finding

ISSUES = json.dumps(
    [{"code": "invalid_type", "path": ["params", "name"], "message": "Invalid input"}], indent=2
)
PYDANTIC = "Validation error: 4 validation errors for JSONRPCMessage\nJSONRPCRequest.method\n  Field required"
MISSING = "Bad Request: Missing session ID"
TYPE = "Unsupported Media Type: Content-Type must be application/json"
URI = "file:///nowhere"
UNEXPECTED = (
    "1 validation error for call[nothing]\nextra\n"
    "  Unexpected keyword argument [type=unexpected_keyword_argument, input_value='a', input_type=str]"
)


def request(method, /, id=1, **params):
    """Return a request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id=1, /, **members):
    """Return a result."""
    return {"jsonrpc": "2.0", "id": id, "result": members}


def error(code, message, /, id=1, **more):
    """Return an error."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def notification(method, /, **params):
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def finding(sent, *received, fault=None):
    """Return a finding that shows messages of the client, then those of the server."""
    lines = [Line.sending(one) for one in (sent if isinstance(sent, tuple) else (sent,))]
    return Finding("what the rule says", "", [*lines, *_received(received)], fault=fault)


def blocked(sent, fault, stderr=""):
    """Return that a request was not answered."""
    return Blocked("", [Line.sending(sent)], stderr, fault=fault)


def over_http(sent, status, *received):
    """Return a finding that shows an HTTP request and its response."""
    shown = Line(True, b"POST /mcp HTTP/1.1 | ...", message=sent)
    return Finding("what the rule says", "", [shown, _response(status, received)])


def _received(messages):
    return [Line.received(encode(one)) for one in messages]


def _response(status, messages):
    return Line(False, f"HTTP {status} | ...".encode(), message=list(messages), status=status)


def tool_error(text):
    """Return the answer to a call of a tool that does not exist, with the call."""
    content = [{"type": "text", "text": text}]
    return finding(request("tools/call", name="nothing"), result(content=content, isError=True))


def for_all(sdks, verdicts):
    """Return the same verdicts for several SDKs."""
    return {sdk: list(verdicts) for sdk in sdks}


CALL = request("tools/call")
ZOD_TOOL = {
    "name": "add",
    "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
    "execution": {"taskSupport": "forbidden"},
}
ARRAY = [request("ping", id="mixed 1"), request("ping", id="mixed 2")]
ZOD = [finding(CALL, error(-32603, ISSUES))]
UNEXPLAINED = [finding(CALL, error(-32603, "An error occurred."))]
ANOTHER = [finding(CALL, error(-32601, "tools/call"))]
NOT_JSON = [finding(notification("a"), error(-32602, PYDANTIC, id="server-error"))]
UNREAD = [finding(CALL, error(0, "handling 'tools/call': unmarshaling \"{}\" into a *mcp.A: no"))]
AS_TEXT = [blocked(CALL, Unanswered(0.0, instead="HTTP 400 Bad Request with a body", status=400))]
ENDED = [finding("not a message", fault=Closed(1))]
DEEP = request("ping", a=json.loads("[" * 150 + "]" * 150))
DEEPER = request("ping", a=json.loads("[" * 250 + "]" * 250))
BEYOND = Line(True, encode(request("prompts/get", name="[")).replace(b'"["', b"[" * 1500 + b"]" * 1500))
CROSSED = Blocked("", [Line.sending(request("ping", id=2))], fault=Closed(1))
CROSSED.history = (
    Line.sending(request("tools/call", id=7)),
    Line.sending(notification("notifications/cancelled", requestId=7)),
    Line.sending(request("ping", id=2)),
)
SPACED = Line(True, encode(request("ping")) + b" \t\r")
MANY = {f"m{index}": 0 for index in range(10_000)}
NOTICE = notification("notifications/message", level="error", data="Internal Server Error")
LISTEN = request("subscriptions/listen", notifications={})
LEVEL = [finding(request("tools/list", _meta={LOG_LEVEL: "loud"}), result(tools=[]))]
PROGRESS = [finding(request("tools/call", name="slow"), notification("notifications/progress", progress=1))]
ANCIENT = request("server/discover", _meta={PROTOCOL_VERSION: "1900-01-01"})
REFUSED_FIRST = [over_http(request("ping"), 400, error(-32600, MISSING, id="server-error"))]
UNKNOWN = request("conformance/unknown")
INVALID_REQUEST = error(-32602, "Invalid request parameters", data="")
CANCEL = notification("notifications/cancelled", requestId=1)
CURSOR = [finding(request("tools/list", cursor="forged"), result(tools=[]))]
META = [finding(request("tools/list", _meta={PROTOCOL_VERSION: 5}), result(tools=[]))]
READ = request("resources/read", uri=URI)
PROMPT = request("prompts/get", name="nothing")
COMPLETE = request("completion/complete")
NO_VALUES = [finding(COMPLETE, result(completion={"values": []}))]
EMPTY = {
    member: [finding(request("prompts/list"), result(resultType="complete", **{member: []}))]
    for member in ("prompts", "resources", "resourceTemplates")
}
PY1, PY2, TS1, TS2 = Sdk.PYTHON_1, Sdk.PYTHON_2, Sdk.TYPESCRIPT_1, Sdk.TYPESCRIPT_2
GO, RUST, CSHARP, KOTLIN = Sdk.GO, Sdk.RUST, Sdk.CSHARP, Sdk.KOTLIN
NO_MESSAGE = [
    over_http(request("ping"), 400, error(-32700, "Parse error: Invalid JSON-RPC message", id=None))
]
SAMPLES = {
    "batch.empty-array": {GO: ENDED},
    "batch.notifications-only-silent": {GO: ENDED},
    "batch.receive": for_all(Sdk, [finding(ARRAY)]),
    "caching.hints.prompts-list": {RUST: EMPTY["prompts"]},
    "caching.hints.resources-list": {RUST: EMPTY["resources"]},
    "caching.hints.resources-templates-list": {RUST: EMPTY["resourceTemplates"]},
    "cancel.malformed-ignored": {
        RUST: [
            finding(notification("x"), error(-32600, "Invalid request", id=None)),
            finding((CANCEL, request("ping")), fault=Closed(0)),
        ]
    },
    "cancel.no-further-messages": {TS2: PROGRESS},
    "cancel.race-graceful": {
        PY1: [
            finding((request("tools/list"), CANCEL), result(tools=[]), error(0, "Request cancelled")),
            finding((request("tools/list"), CANCEL), fault=Closed(1)),
            finding((request("tools/list"), CANCEL), fault=Unanswered(0.0, status=404)),
        ]
    },
    "cancel.stops-work": {TS2: PROGRESS},
    "capabilities.logging.declared": for_all(
        (PY1, PY2), [finding("not JSON", notification("notifications/message", level="error"))]
    ),
    "completion.missing-arguments-code": {TS1: ZOD, TS2: ZOD},
    "capabilities.completions.declared": {RUST: NO_VALUES},
    "completion.undeclared-code": {RUST: NO_VALUES},
    "completion.unknown-prompt-code": {PY1: NO_VALUES, PY2: NO_VALUES},
    "completion.unknown-ref-type": {TS1: ZOD, TS2: ZOD, CSHARP: UNEXPLAINED},
    "discover.server-info": {
        CSHARP: [finding(request("server/discover"), result(supportedVersions=[], serverInfo={}))]
    },
    "errors.internal-error-code": for_all((PY1, PY2, GO), [finding(PROMPT, error(0, "no"))]),
    "errors.invalid-params-code": {TS1: ZOD, TS2: ZOD, CSHARP: UNEXPLAINED, RUST: ANOTHER, GO: UNREAD},
    "errors.invalid-request-code": {PY1: NOT_JSON, PY2: NOT_JSON, TS1: NO_MESSAGE, TS2: NO_MESSAGE},
    "errors.legacy-range": {PY2: [finding((), error(-32000, "Connection closed"))]},
    "errors.message-concise": {
        PY1: NOT_JSON,
        PY2: NOT_JSON,
        TS1: ZOD,
        TS2: [finding((), error(-32602, f"Invalid tools/call request: {ISSUES}"))],
        GO: [finding(CALL, error(-32602, "handling 'tools/call': invalid params: unmarshaling \"{}\""))],
    },
    "errors.method-not-found-code": {
        PY1: [finding(UNKNOWN, INVALID_REQUEST)],
        GO: [*AS_TEXT, finding(UNKNOWN, error(0, 'JSON RPC not handled: "a" unsupported'))],
    },
    "errors.undeclared-feature": {GO: [finding(PROMPT, error(-32602, 'unknown prompt "nothing"'))]},
    "http.post.accept-any": for_all((PY1, TS1, TS2, RUST), [over_http(request("ping"), 406)]),
    "http.post.accept-listed": {TS2: [over_http(request("ping"), 200, result())]},
    "http.post.accept-syntax": for_all((PY1, PY2, TS1, TS2, RUST), [over_http(request("ping"), 406)]),
    "http.post.batch-refused": for_all((TS1, TS2), [over_http(ARRAY, 200, result("mixed 1"))]),
    "http.post.content-type-parameters": for_all(
        (PY1, PY2, RUST), [over_http(request("ping"), 415, error(-32600, TYPE, id=None))]
    ),
    "http.session.missing-400": {RUST: [over_http(request("ping"), 422)]},
    "http.auth.scope": for_all((PY1, PY2), [over_http(request("ping"), 401)]),
    "http.post.invalid-utf8": {PY1: [over_http(request("ping"), 500)]},
    "http.security.origin-malformed": for_all((PY1, PY2, RUST), [over_http(request("ping"), 200, result())]),
    "http.session.stable": {PY1: REFUSED_FIRST, PY2: REFUSED_FIRST},
    "http.session.two-ids": for_all((PY1, PY2, RUST), [over_http(request("ping"), 200, result())]),
    "http.version.era-by-metadata": {PY2: REFUSED_FIRST},
    "jsonrpc.garbage-not-fatal": {
        GO: ENDED,
        RUST: ENDED,
        PY1: [blocked(request("ping"), Closed(1, "  | UnicodeDecodeError: 'utf-8' codec can't decode byte"))],
    },
    "jsonrpc.response-id-echo": {PY1: [finding(request("ping", id="7"), result(7))]},
    "jsonrpc.id-types-accepted": {
        GO: [finding(request("ping", id=2**53 + 1), result(2**53))],
        RUST: [finding(request("ping", id=2**64))],
        CSHARP: [finding(request("ping", id=2**64))],
        TS1: [
            finding(request("ping", id=2**53 + 1)),
            finding(request("ping", id=2**53 + 1), result(2**53)),
        ],
        TS2: [finding(request("ping", id=2**64))],
    },
    "jsonrpc.invalid-params": {TS1: ZOD, TS2: ZOD, CSHARP: UNEXPLAINED, RUST: ANOTHER},
    "jsonrpc.invalid-request": {PY1: NOT_JSON, PY2: NOT_JSON, TS1: NO_MESSAGE, TS2: NO_MESSAGE},
    "jsonrpc.method-not-found": {PY1: [finding(UNKNOWN, INVALID_REQUEST)], GO: AS_TEXT},
    "jsonrpc.response-exactly-once": {
        PY1: [finding((request("tools/list"), CANCEL), result(tools=[]), error(0, "Request cancelled"))]
    },
    "jsonrpc.response-every-request": {
        PY1: [
            finding((request("ping", id="7"), request("ping", id=7))),
            finding({**READ, "params": {"uri": "\ud800"}}, NOTICE, fault=Silence(3)),
            finding({**CALL, "params": {"name": "a", "arguments": MANY}}, NOTICE, fault=Silence(3)),
            blocked(request("ping"), Closed(1, "anyio.BrokenResourceError")),
            CROSSED,
        ],
        PY2: [
            finding((request("ping", id="7"), request("ping", id=7))),
            finding(DEEPER),
        ],
        GO: [
            blocked(DEEP, Closed(1)),
            Blocked("", [BEYOND], fault=Closed(1)),
            Blocked("", [SPACED], fault=Closed(0)),
        ],
        RUST: [finding(DEEP), blocked(DEEP, Closed(0))],
        CSHARP: [finding(DEEP)],
        TS1: [finding({**request("ping"), "conformance": True})],
        TS2: [finding({**request("ping"), "conformance": True})],
    },
    "jsonschema.recommended-dialect": {TS1: [finding(request("tools/list"), result(tools=[ZOD_TOOL]))]},
    "lifecycle.initialization-first": {GO: [finding((), notification("notifications/tools/list_changed"))]},
    "lifecycle.initialize.counter-offer-latest": {
        GO: [finding(request("initialize"), result(protocolVersion="2025-06-18"))]
    },
    "lifecycle.initialize.incomplete-answered": {
        RUST: [finding(request("initialize", protocolVersion="2025-11-25"), fault=Closed(1))]
    },
    "lifecycle.initialize.version-counter-offer": {
        RUST: [
            finding(request("initialize", protocolVersion="1999-01-01"), result(protocolVersion="1999-01-01"))
        ],
        CSHARP: [
            finding(
                request("initialize", protocolVersion="2099-01-01"),
                error(
                    -32022,
                    "Protocol version '2099-01-01' is not available through the initialize handshake.",
                ),
            )
        ],
    },
    "lifecycle.capabilities.advertised": {GO: [finding(request("logging/setLevel", level="info"), result())]},
    "lifecycle.ping-before-initialize": {
        RUST: [finding(request("ping"), fault=Closed(1))],
        PY1: [finding(request("ping"), INVALID_REQUEST)],
    },
    "lifecycle.request-before-initialize": {
        RUST: [
            finding(request("initialize"), fault=Closed(1)),
            finding(request("tools/list"), fault=Closed(1)),
        ]
    },
    "logging.invalid-level-rejected": {GO: LEVEL, RUST: LEVEL, CSHARP: [*LEVEL, *UNEXPLAINED]},
    "logging.set-level.invalid-code": {
        TS1: ZOD,
        TS2: ZOD,
        CSHARP: [
            *UNEXPLAINED,
            finding(request("logging/setLevel", level=3), result(resultType="complete")),
        ],
        GO: [finding(request("logging/setLevel", level="loud"), result()), *UNREAD],
    },
    "pagination.cursor-same-operation": {GO: CURSOR},
    "pagination.cursor-type": {
        TS1: ZOD,
        TS2: ZOD,
        CSHARP: UNEXPLAINED,
        GO: UNREAD,
        RUST: [finding(request("tools/list", cursor=5), result(tools=[]))],
    },
    "pagination.invalid-cursor-code": for_all((PY1, PY2, TS1, TS2, CSHARP, KOTLIN, RUST), CURSOR),
    "prompts.get.arguments-optional": {
        TS1: [finding(PROMPT, error(-32602, "MCP error -32602: Invalid arguments for prompt nothing: no"))]
    },
    "prompts.get.internal-error-code": for_all((PY1, PY2, GO), [finding(PROMPT, error(0, "no"))]),
    "prompts.get.missing-argument-code": {
        GO: [finding(PROMPT, error(0, "topic is required"))],
        PY1: [finding(PROMPT, error(0, "Missing required arguments: {'code'}"))],
        PY2: [
            finding(PROMPT, error(0, "Missing required arguments: {'code'}")),
            finding(PROMPT, error(-32603, "Internal server error")),
            finding(
                PROMPT,
                error(-32603, "Error rendering prompt 'nothing': Missing required arguments: {'code'}"),
            ),
        ],
    },
    "prompts.get.unknown-name-code": {
        PY1: [finding(PROMPT, error(0, "Unknown prompt: nothing"))],
        PY2: [
            finding(PROMPT, error(0, "Unknown prompt: 'nothing'")),
            finding(PROMPT, error(-32603, "Internal server error")),
        ],
        KOTLIN: [finding(PROMPT, error(-32603, "Prompt not found: nothing"))],
    },
    "meta.key-name": {PY1: [finding((), result(tools=[{"name": "a", "_meta": {"_fastmcp": {}}}]))]},
    "reqmeta.client-info-optional": {
        CSHARP: [
            finding(
                request("tools/list", _meta={PROTOCOL_VERSION: "2026-07-28"}),
                error(
                    -32602,
                    f"Requests using protocol version '2026-07-28' must include '_meta/{CLIENT_INFO}'.",
                ),
            )
        ]
    },
    "reqmeta.missing-meta": for_all((GO, CSHARP), [finding(request("tools/list"), result(tools=[]))]),
    "reqmeta.missing-protocol-version": for_all(
        (GO, CSHARP), [finding(request("tools/list", _meta={LOG_LEVEL: "info"}), result(tools=[]))]
    ),
    "reqmeta.wrong-types": {
        TS2: [finding(request("tools/list", _meta=[]), fault=Silence(2.0))],
        GO: META,
        CSHARP: [*META, *UNEXPLAINED],
        RUST: [
            finding(request("tools/list", _meta=[]), fault=Silence(2.0)),
            finding(request("tools/list", _meta=[]), fault=Unanswered(0.0, instead="", status=415)),
            *META,
        ],
    },
    "resources.read.internal-error-code": for_all((PY1, GO), [finding(READ, error(0, "no"))]),
    "resources.read.not-found-code": {
        PY1: [finding(READ, error(0, f"Unknown resource: {URI}"))],
        PY2: [
            finding(READ, error(-32602, f"Unknown resource: {URI}")),
            finding(READ, error(-32602, f"Resource not found: {URI!r}")),
        ],
        TS1: [finding(READ, error(-32602, f"MCP error -32602: Resource {URI} not found"))],
        TS2: [finding(READ, error(-32602, f"Resource not found: {URI}"))],
        GO: [finding(READ, error(-32602, "Resource not found", data={"uri": URI}))],
    },
    "resources.read.not-found-data-uri": {
        PY1: [
            finding(READ, error(0, f"Unknown resource: {URI}")),
            finding(READ, error(-32002, f"Resource not found: Unknown resource: {URI!r}")),
        ],
        TS1: [finding(READ, error(-32602, f"MCP error -32602: Resource {URI} not found"))],
    },
    "resources.read.uri-required": {GO: AS_TEXT},
    "result.server-info": for_all((RUST, CSHARP), [finding(request("tools/list"), result(tools=[]))]),
    "subscriptions.filter-required": {
        PY2: [finding(LISTEN, notification("notifications/subscriptions/acknowledged", notifications={}))],
        CSHARP: UNEXPLAINED,
    },
    "subscriptions.graceful-result": {PY2: [finding(LISTEN, error(-32000, "Connection closed"))]},
    "subscriptions.stays-open": for_all((GO, TS2), [finding(LISTEN, result())]),
    "tasks.tool-forbidden": {
        PY1: [tool_error("Tool 'nothing' does not support task-augmented execution")],
        TS1: [finding(CALL, error(-32602, f"MCP error -32602: Invalid task creation result: {ISSUES}"))],
    },
    "tasks.undeclared-ignored": {
        PY1: [finding(PROMPT, error(-32601, "Prompt 'nothing' does not support task-augmented execution"))],
        TS1: [
            finding(PROMPT, error(-32603, "Server does not support task creation (required for prompts/get)"))
        ],
        RUST: [finding(CALL, error(-32603, "Task processing not implemented"))],
    },
    "tools.call.inputs-validated": {
        TS1: [finding(request("tools/call", name="add", arguments={"b": 1}), result(content=[]))]
    },
    "tools.call.malformed-request": {
        GO: [*AS_TEXT, tool_error('validating "arguments": unmarshaling arguments: json: cannot unmarshal')]
    },
    "tools.call.malformed-request-code": {
        TS1: ZOD,
        CSHARP: UNEXPLAINED,
        GO: [*AS_TEXT, *UNREAD, finding(CALL, error(-32600, 'invalid request: missing required "params"'))],
        RUST: ANOTHER,
    },
    "tools.call.schema-honest": {PY1: [tool_error(UNEXPECTED)]},
    "tools.call.tool-result-member": for_all((TS1, TS2), [finding(CALL, result(content=[]))]),
    "tools.call.unknown-tool-is-error": {
        PY1: [tool_error("Unknown tool: nothing")],
        PY2: [tool_error("Unknown tool: 'nothing'")],
        TS1: [tool_error("MCP error -32602: Tool nothing not found")],
        KOTLIN: [tool_error("Tool nothing not found")],
    },
    "tools.structured.text-fallback": for_all(
        (PY1, PY2),
        [finding(CALL, result(content=[{"type": "text", "text": "2"}], structuredContent={"result": 2}))],
    ),
    "version.list-consistent": {CSHARP: [finding(ANCIENT, error(-32022, "no"))]},
    "version.per-request": {TS2: [finding(ANCIENT, result(supportedVersions=[]))]},
    "version.unsupported-error": {
        TS2: [finding(ANCIENT, result(supportedVersions=[]))],
        CSHARP: [
            finding(
                ANCIENT,
                error(-32600, "The negotiated protocol version cannot change within a session. It was new."),
            )
        ],
        GO: [finding(ANCIENT, error(-32601, 'method not found: "server/discover"'))],
    },
}
"""The verdicts by rule and SDK, in the order of the facts."""


def samples():
    """Return each fact with the verdict that shows it."""
    left = {rule: {sdk: list(verdicts) for sdk, verdicts in of.items()} for rule, of in SAMPLES.items()}
    paired = [(fact, left[fact.rule][fact.sdk].pop(0)) for fact in FACTS]
    assert not any(verdicts for of in left.values() for verdicts in of.values())
    return paired
