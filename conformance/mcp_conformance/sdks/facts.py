"""The table of facts: which rule every server on an SDK breaks, how that looks, and where it is reported.

A row was seen on the wire, or read in the SDK's source: Python SDK 1.9.4, 1.30.0 and 2.3.0, TypeScript SDK
1.32.2 and 2.4.0, Go SDK 1.8.0 (and the source of 1.7.0), Rust SDK 3.4.0 and 1.1.1 (and the sources from 1.1.1
to 3.1.4).  The rows of the C# SDK about arrays, params, levels and cursors were seen in a server on 1.0.0 and
in the source of 2.2.0, those of 2026-07-28 in one on 2.0.0-preview.3 and in the source of 2.2.0; its other
rows, and those of the Kotlin SDK 0.14.0, are known from their sources.  The Java SDK has no rows: its
error for an unknown method has no words of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.revisions import CLIENT_INFO, UNSUPPORTED_VERSION
from mcp_conformance.sdks import predicates as p
from mcp_conformance.sdks.names import PYTHON, TYPESCRIPT, Sdk, version_key

NO_HANDLER = "no code of the server's author sees the message"
OWN_WORDS = "an error that the author's code raises has other words"
OWN_RESULT = "a result of the author's code is not empty"
CHOSEN_CODE = "an exception that names a code keeps it, so a handler can choose another"
CANCELLED = (
    "a call that ends the process by itself does so without a cancellation too, and has its own finding"
)
PROXY = "no code of the author's sees the request, unless it is a proxy or middleware of their own"
SAME = "it is not told apart from a handler of the low-level API that does the same"
SAME_LIST = "it is not told apart from a list handler of the low-level API that ignores its cursor"


@dataclass(frozen=True)
class Fact:
    """A rule that every server on an SDK breaks, if its evidence is ``shown``.

    ``apart`` says what tells the same fault of the server's own code apart.  The fact holds from version
    ``since`` on, and before ``until``; empty if no such version is known.  ``issue`` is where the tracker of
    the SDK has it, empty if it was not found there.  ``mended`` is a version, if need be of the next series,
    that was seen without it.  ``framework`` is what the server is built on if not each server on the SDK has
    the fault; the evidence names it, or ``of_tool`` does, which takes the definition of the tool that was
    called, and the arguments.
    """

    rule: str
    sdk: Sdk
    shown: p.Predicate
    apart: str
    issue: str = ""
    since: str = ""
    until: str = ""
    mended: str = ""
    framework: str = ""
    of_tool: Callable[[Any, Any], bool] | None = None

    @property
    def maker(self) -> str:
        """The name of what breaks the rule in every server built on it."""
        return self.framework or str(self.sdk)

    @property
    def way_out(self) -> str:
        """What the author of a server on the SDK can do about it; empty if nothing is known."""
        if self.mended or self.until:
            return f"fixed in {self.mended or self.until}: upgrade"
        return f"reported: {self.issue}" if self.issue else ""

    def holds_for(self, version: str) -> bool:
        """Return whether it holds for a version of the SDK; an unknown version is taken for any."""
        if not version:
            return True
        key = version_key(version)
        is_before = bool(self.until) and key >= version_key(self.until)
        return key >= version_key(self.since) and not is_before


def _issue(repository: str, path: str) -> str:
    return f"https://github.com/modelcontextprotocol/{repository}/{path}"


def _for(
    sdks: tuple[Sdk, ...], rule: str, shown: p.Predicate, apart: str, issues: dict[Sdk, str] | None = None
) -> tuple[Fact, ...]:
    """Return the same row for several SDKs."""
    return tuple(Fact(rule, sdk, shown, apart, (issues or {}).get(sdk, "")) for sdk in sdks)


def _before_1_7(rule: str) -> tuple[Fact, ...]:
    """Return the row for params that the Go SDK refused with the code 0, as read in 1.4.1 and 1.6.0."""
    return (Fact(rule, Sdk.GO, p.fails_beginning(0, "unmarshaling "), NO_HANDLER, until="1.7.0"),)


NOT_HANDLED = p.fails_beginning(0, "JSON RPC not handled: ")
PY1, PY2, TS1, TS2 = *PYTHON, *TYPESCRIPT
GO, RUST, CSHARP, KOTLIN = Sdk.GO, Sdk.RUST, Sdk.CSHARP, Sdk.KOTLIN

FASTMCP_2, FASTMCP_3, FASTMCP_4 = (f"fastmcp package {series}.x" for series in (2, 3, 4))
"""The packages of that name, seen in 2.14.7, 3.4.11 and 4.1.4; the last is built on the Python SDK 2.x."""
ZOD_3 = "TypeScript SDK 1.x with Zod 3"
"""It writes `additionalProperties: false` for each object and drops other members (zod-to-json-schema)."""
RUST_READS, RUST_OFFERS, RUST_ANSWERS = "1.7.0", "1.8.0", "3.0.0"
"""The versions, by their sources, that go on after a line they cannot read (rust-sdk #833), offer a revision
they have for an older one (#855), and answer what comes in place of `initialize`; 1.1.1 was seen.
"""
CSHARP_FINAL = "2.0.0"
"""The prereleases of this version were seen (preview.3) and read (rc.1)."""
NO_TASKS = "does not support task-augmented execution"
PY_CANCEL = _issue("python-sdk", "issues/2416")
PY_MENDED = "2.3.0"
"""The cancellation that crosses an answer ends 1.30.0; 2.3.0 goes on."""
PY_READS, PY_PINGS, PY_STRINGS = "1.27.0", "1.14.0", "1.12.4"
"""The versions, by their sources, that go on after a line that is not UTF-8, answer a ping at any time, and
keep an id of digits a string; 1.9.4 was seen, and 1.12.0 makes a number of such an id too.
"""
PY_METHOD = _issue("python-sdk", "issues/1561")
PY_BODY = _issue("python-sdk", "issues/3557")
PY_RESOURCE = _issue("python-sdk", "issues/1579")
PY_NAMES = _issue("python-sdk", "pull/1872")
PY_ACCEPT = _issue("python-sdk", "issues/1641")
TS_PARAMS = _issue("typescript-sdk", "issues/2284")
TS_TOOL = _issue("typescript-sdk", "issues/1510")
TS_RESOURCE = _issue("typescript-sdk", "issues/2194")
TS_DROPPED = _issue("typescript-sdk", "issues/563")
GO_LINE = _issue("go-sdk", "issues/1209")
GO_LEVEL = _issue("go-sdk", "issues/1070")
GO_VERSION = _issue("go-sdk", "issues/1260")
GO_RESOURCE = _issue("go-sdk", "pull/931")
GO_TEXT = _issue("go-sdk", "issues/976")
RUST_EARLY = _issue("rust-sdk", "issues/488")
KOTLIN_PROMPT = _issue("kotlin-sdk", "pull/955")
BATCHES = {
    PY1: _issue("python-sdk", "issues/934"),
    PY2: _issue("python-sdk", "issues/934"),
    TS1: _issue("typescript-sdk", "issues/275"),
    TS2: _issue("typescript-sdk", "issues/275"),
    CSHARP: _issue("csharp-sdk", "issues/158"),
    KOTLIN: _issue("kotlin-sdk", "issues/82"),
}
BODIES, NAMES = dict.fromkeys(PYTHON, PY_BODY), dict.fromkeys(PYTHON, PY_NAMES)
PARAMS = dict.fromkeys(TYPESCRIPT, TS_PARAMS)
UNEXPLAINED = p.fails(p.INTERNAL, "An error occurred.")
EXCEPTION = p.fails(0)
NO_MESSAGE = p.fails(-32700, "Parse error: Invalid JSON-RPC message")

FACTS: tuple[Fact, ...] = (
    Fact("batch.empty-array", GO, p.reader_ended, NO_HANDLER, GO_LINE),
    Fact("batch.notifications-only-silent", GO, p.reader_ended, NO_HANDLER, GO_LINE),
    *_for(tuple(Sdk), "batch.receive", p.unanswered_array, NO_HANDLER, BATCHES),
    Fact("capabilities.completions.declared", RUST, p.no_completions, OWN_RESULT),
    Fact("caching.hints.prompts-list", RUST, p.empty_list_without_hints, OWN_RESULT),
    Fact("caching.hints.resources-list", RUST, p.empty_list_without_hints, OWN_RESULT),
    Fact("caching.hints.resources-templates-list", RUST, p.empty_list_without_hints, OWN_RESULT),
    Fact("cancel.malformed-ignored", RUST, p.fails(p.INVALID_REQUEST, "Invalid request"), NO_HANDLER),
    Fact("cancel.malformed-ignored", RUST, p.ended_itself, NO_HANDLER, until=RUST_READS),
    Fact("cancel.no-further-messages", TS2, p.sends("notifications/progress"), SAME),
    Fact("cancel.race-graceful", PY1, p.second_answer_cancelled, NO_HANDLER, PY_CANCEL, mended=PY_MENDED),
    Fact("cancel.race-graceful", PY1, p.ended_at_cancellation, NO_HANDLER, PY_CANCEL, mended=PY_MENDED),
    Fact("cancel.race-graceful", PY1, p.session_lost, PROXY, PY_CANCEL, mended=PY_MENDED),
    Fact("cancel.stops-work", TS2, p.sends("notifications/progress"), SAME),
    *_for(PYTHON, "capabilities.logging.declared", p.sends("notifications/message"), SAME),
    *_for(TYPESCRIPT, "completion.missing-arguments-code", p.zod_error, OWN_WORDS, PARAMS),
    Fact("completion.undeclared-code", RUST, p.no_completions, OWN_RESULT),
    *_for(PYTHON, "completion.unknown-prompt-code", p.no_completions, OWN_RESULT),
    *_for(TYPESCRIPT, "completion.unknown-ref-type", p.zod_error, OWN_WORDS, PARAMS),
    Fact("completion.unknown-ref-type", CSHARP, UNEXPLAINED, OWN_WORDS),
    Fact("discover.server-info", CSHARP, p.discovered_server_info, NO_HANDLER, until=CSHARP_FINAL),
    *_for(PYTHON, "errors.internal-error-code", EXCEPTION, CHOSEN_CODE),
    *_for(TYPESCRIPT, "errors.invalid-params-code", p.zod_error, OWN_WORDS, PARAMS),
    Fact("errors.invalid-params-code", CSHARP, UNEXPLAINED, OWN_WORDS),
    Fact("errors.invalid-params-code", RUST, p.another_method, NO_HANDLER),
    *_for(PYTHON, "errors.invalid-request-code", p.pydantic_error, NO_HANDLER, BODIES),
    *_for(TYPESCRIPT, "errors.invalid-request-code", NO_MESSAGE, PROXY),
    Fact("errors.internal-error-code", GO, EXCEPTION, CHOSEN_CODE),
    Fact("errors.legacy-range", PY2, p.fails(-32000, "Connection closed"), NO_HANDLER),
    *_for(PYTHON, "errors.message-concise", p.pydantic_error, NO_HANDLER, BODIES),
    *_for(TYPESCRIPT, "errors.message-concise", p.zod_message, OWN_WORDS),
    Fact(
        *("errors.message-concise", GO),
        p.fails_beginning(p.INVALID_PARAMS, "invalid params: unmarshaling"),
        OWN_WORDS,
    ),
    Fact(
        *("errors.method-not-found-code", PY1),
        p.fails(p.INVALID_PARAMS, "Invalid request parameters", ""),
        *(NO_HANDLER, PY_METHOD),
    ),
    Fact("errors.method-not-found-code", GO, p.refused_without_json, PROXY, GO_TEXT),
    Fact("errors.method-not-found-code", GO, NOT_HANDLED, NO_HANDLER, until="1.7.0"),
    *_before_1_7("errors.invalid-params-code"),
    Fact("errors.undeclared-feature", GO, p.fails_beginning(p.INVALID_PARAMS, "unknown prompt "), NO_HANDLER),
    *_for(PYTHON, "http.auth.scope", p.has_status(401), PROXY),
    *_for((PY1, TS1, TS2, RUST), "http.post.accept-any", p.has_status(406), PROXY, {PY1: PY_ACCEPT}),
    Fact("http.post.accept-listed", TS2, p.has_status(200), PROXY),
    *_for((*PYTHON, *TYPESCRIPT, RUST), "http.post.accept-syntax", p.has_status(406), PROXY),
    *_for(TYPESCRIPT, "http.post.batch-refused", p.array_served, PROXY),
    *_for(
        *(PYTHON, "http.post.content-type-parameters"),
        *(p.fails(p.INVALID_REQUEST, p.MEDIA_TYPE), OWN_WORDS),
    ),
    Fact("http.post.invalid-utf8", PY1, p.has_status(500), PROXY),
    *_for((*PYTHON, RUST), "http.security.origin-malformed", p.has_status(200), PROXY),
    Fact("http.post.content-type-parameters", RUST, p.has_status(415), PROXY),
    Fact("http.session.missing-400", RUST, p.has_status(422), PROXY),
    *_for(PYTHON, "http.session.stable", p.first_request_refused, PROXY),
    *_for((*PYTHON, RUST), "http.session.two-ids", p.has_status(200), PROXY),
    Fact("http.version.era-by-metadata", PY2, p.session_missed, PROXY),
    Fact("jsonrpc.garbage-not-fatal", GO, p.reader_ended, NO_HANDLER, GO_LINE),
    Fact("jsonrpc.garbage-not-fatal", PY1, p.ended_by_wrong_bytes, NO_HANDLER, until=PY_READS),
    Fact("jsonrpc.garbage-not-fatal", RUST, p.ended_itself, NO_HANDLER, until=RUST_READS),
    Fact("jsonrpc.id-types-accepted", GO, p.rounded_id, NO_HANDLER),
    *_for((RUST, CSHARP), "jsonrpc.id-types-accepted", p.dropped_large_id, NO_HANDLER),
    *_for(TYPESCRIPT, "jsonrpc.id-types-accepted", p.dropped_unsafe_id, NO_HANDLER),
    Fact("jsonrpc.id-types-accepted", TS1, p.rounded_id, NO_HANDLER),  # before 1.26
    *_for(TYPESCRIPT, "jsonrpc.invalid-params", p.zod_error, OWN_WORDS, PARAMS),
    Fact("jsonrpc.invalid-params", CSHARP, UNEXPLAINED, OWN_WORDS),
    Fact("jsonrpc.invalid-params", RUST, p.another_method, NO_HANDLER),
    *_for(PYTHON, "jsonrpc.invalid-request", p.pydantic_error, NO_HANDLER, BODIES),
    *_for(TYPESCRIPT, "jsonrpc.invalid-request", NO_MESSAGE, PROXY),
    Fact(
        *("jsonrpc.method-not-found", PY1),
        p.fails(p.INVALID_PARAMS, "Invalid request parameters", ""),
        *(NO_HANDLER, PY_METHOD),
    ),
    Fact("jsonrpc.method-not-found", GO, p.refused_without_json, PROXY, GO_TEXT),
    *_for(PYTHON, "jsonrpc.response-every-request", p.confused_ids, PROXY),
    *_for(PYTHON, "jsonrpc.response-every-request", p.dropped_unreadable, NO_HANDLER),
    Fact("jsonrpc.response-every-request", PY1, p.delayed_by_members, NO_HANDLER, framework=FASTMCP_3),
    Fact(
        *("jsonrpc.response-exactly-once", PY1, p.second_answer_cancelled, NO_HANDLER, PY_CANCEL),
        mended=PY_MENDED,
    ),
    Fact(
        "jsonrpc.response-every-request",
        PY1,
        p.ended_by_a_second_answer,
        NO_HANDLER,
        PY_CANCEL,
        mended=PY_MENDED,
    ),
    Fact(
        *("jsonrpc.response-every-request", PY1, p.ended_among_cancellations, CANCELLED, PY_CANCEL),
        mended=PY_MENDED,
    ),
    Fact("jsonrpc.response-id-echo", PY1, p.number_for_digits, NO_HANDLER, until=PY_STRINGS),
    Fact("jsonrpc.response-every-request", GO, p.ended_at_deep_params, NO_HANDLER),
    Fact("jsonrpc.response-every-request", GO, p.ended_beyond_depth, NO_HANDLER, since="1.8.0"),
    Fact("jsonrpc.response-every-request", GO, p.ended_at_trailing_space, NO_HANDLER),
    Fact("jsonrpc.response-every-request", RUST, p.dropped_by_serde, NO_HANDLER),
    Fact("jsonrpc.response-every-request", RUST, p.ended_at_unreadable, NO_HANDLER, until=RUST_READS),
    Fact("jsonrpc.response-every-request", CSHARP, p.dropped_by_net, NO_HANDLER, until=CSHARP_FINAL),
    *_for(TYPESCRIPT, "jsonrpc.response-every-request", p.dropped_unknown_member, NO_HANDLER),
    Fact(
        *("jsonschema.recommended-dialect", TS1, p.schemas_by_zod),
        "a tool that a low-level handler lists has no `execution` that says nothing",
    ),
    Fact("lifecycle.capabilities.advertised", GO, p.level_taken, NO_HANDLER),
    Fact("lifecycle.initialization-first", GO, p.sends("notifications/tools/list_changed"), SAME),
    Fact(
        *("lifecycle.initialize.counter-offer-latest", GO, p.offers("2025-06-18"), NO_HANDLER),
        until="1.5.0",  # read in 1.4.1, which knows 2025-11-25 too
    ),
    Fact(
        *("lifecycle.initialize.incomplete-answered", RUST, p.ended_at_initialize, NO_HANDLER),
        until=RUST_ANSWERS,
    ),
    Fact(
        *("lifecycle.initialize.version-counter-offer", RUST, p.echoes_older, NO_HANDLER),
        until=RUST_OFFERS,
    ),
    Fact(
        *("lifecycle.initialize.version-counter-offer", CSHARP),
        p.fails_ending(UNSUPPORTED_VERSION, " is not available through the initialize handshake."),
        NO_HANDLER,
    ),
    Fact(
        *("lifecycle.ping-before-initialize", PY1),
        p.fails(p.INVALID_PARAMS, "Invalid request parameters", ""),
        NO_HANDLER,
        until=PY_PINGS,
    ),
    Fact(
        *("lifecycle.ping-before-initialize", RUST, p.ended_before_initialize, NO_HANDLER),
        until="1.2.0",
    ),
    Fact("lifecycle.request-before-initialize", RUST, p.ended_at_initialize, NO_HANDLER, RUST_EARLY),
    Fact(
        *("lifecycle.request-before-initialize", RUST, p.ended_before_initialize, NO_HANDLER, RUST_EARLY),
        until=RUST_ANSWERS,  # seen in 2.2.0
    ),
    *_for(
        (GO, RUST, CSHARP),
        *("logging.invalid-level-rejected", p.result_for_level, NO_HANDLER, {GO: GO_LEVEL}),
    ),
    Fact("logging.invalid-level-rejected", CSHARP, UNEXPLAINED, NO_HANDLER),
    *_for(TYPESCRIPT, "logging.set-level.invalid-code", p.zod_error, OWN_WORDS, PARAMS),
    Fact("logging.set-level.invalid-code", CSHARP, UNEXPLAINED, OWN_WORDS),
    Fact("logging.set-level.invalid-code", CSHARP, p.empty_result_for_number, NO_HANDLER),
    Fact("logging.set-level.invalid-code", GO, p.empty_result, NO_HANDLER, GO_LEVEL),
    *_before_1_7("logging.set-level.invalid-code"),
    Fact("pagination.cursor-same-operation", GO, p.result_for_cursor, NO_HANDLER),
    *_for(TYPESCRIPT, "pagination.cursor-type", p.zod_error, OWN_WORDS, PARAMS),
    Fact("pagination.cursor-type", CSHARP, UNEXPLAINED, OWN_WORDS),
    *_before_1_7("pagination.cursor-type"),
    Fact("pagination.cursor-type", RUST, p.result_for_wrong_cursor, NO_HANDLER),
    *_for(
        (*PYTHON, *TYPESCRIPT, CSHARP, KOTLIN, RUST),
        *("pagination.invalid-cursor-code", p.result_for_cursor, SAME_LIST),
    ),
    Fact(
        *("prompts.get.arguments-optional", TS1),
        p.prompt_refused(p.INVALID_PARAMS, "MCP error -32602: Invalid arguments for prompt ", ": "),
        OWN_WORDS,
    ),
    *_for((*PYTHON, GO), "prompts.get.internal-error-code", EXCEPTION, CHOSEN_CODE),
    Fact("prompts.get.missing-argument-code", GO, EXCEPTION, CHOSEN_CODE),
    *_for(
        *(PYTHON, "prompts.get.missing-argument-code"),
        p.fails_beginning(0, "Missing required arguments: {"),
        *(OWN_WORDS, NAMES),
    ),
    Fact(
        *("prompts.get.missing-argument-code", PY2),
        p.fails(p.INTERNAL, "Internal server error"),
        *(CHOSEN_CODE, PY_NAMES),
    ),
    Fact(
        *("prompts.get.missing-argument-code", PY2),
        p.prompt_refused(p.INTERNAL, "Error rendering prompt '", "': Missing required arguments: {"),
        OWN_WORDS,
        framework=FASTMCP_4,
    ),
    *_for(
        PYTHON, "prompts.get.unknown-name-code", p.fails_naming(0, "Unknown prompt: ", "name"), SAME, NAMES
    ),
    Fact(
        *("prompts.get.unknown-name-code", PY2),
        p.fails(p.INTERNAL, "Internal server error"),
        *(CHOSEN_CODE, PY_NAMES),
    ),
    Fact(
        *("prompts.get.unknown-name-code", KOTLIN),
        p.fails_naming(p.INTERNAL, "Prompt not found: ", "name"),
        *(OWN_WORDS, KOTLIN_PROMPT),
    ),
    Fact("meta.key-name", PY1, p.has_key("_fastmcp"), "no author writes this key", framework=FASTMCP_2),
    Fact(
        *("reqmeta.client-info-optional", CSHARP),
        p.fails_ending(p.INVALID_PARAMS, f" must include '_meta/{CLIENT_INFO}'."),
        NO_HANDLER,
        until=CSHARP_FINAL,
    ),
    *_for((GO, CSHARP), "reqmeta.missing-meta", p.result_without_meta, NO_HANDLER),
    *_for((GO, CSHARP), "reqmeta.missing-protocol-version", p.result_without_version, NO_HANDLER),
    *_for((TS2, RUST), "reqmeta.wrong-types", p.silent_at_array_as_meta, NO_HANDLER, {TS2: TS_DROPPED}),
    Fact("reqmeta.wrong-types", RUST, p.refused_array_as_meta, PROXY),
    *_for((GO, RUST, CSHARP), "reqmeta.wrong-types", p.result_for_meta, NO_HANDLER),
    Fact("reqmeta.wrong-types", CSHARP, UNEXPLAINED, NO_HANDLER),
    *_for((PY1, GO), "resources.read.internal-error-code", EXCEPTION, CHOSEN_CODE),
    Fact(
        *("resources.read.not-found-code", PY1),
        p.fails_naming(0, "Unknown resource: ", "uri"),
        *(OWN_WORDS, PY_RESOURCE),
    ),
    Fact(
        *("resources.read.not-found-code", PY2),
        p.fails_naming(p.INVALID_PARAMS, "Unknown resource: ", "uri"),
        *(OWN_WORDS, PY_RESOURCE),
    ),
    Fact(
        *("resources.read.not-found-code", PY2),  # in the words of FastMCP 4
        p.fails_naming(p.INVALID_PARAMS, "Resource not found: ", "uri"),
        *(OWN_WORDS, PY_RESOURCE),
    ),
    Fact(
        *("resources.read.not-found-code", TS1),
        p.fails_naming(p.INVALID_PARAMS, "MCP error -32602: Resource ", "uri", " not found"),
        OWN_WORDS,
    ),
    Fact(
        *("resources.read.not-found-code", TS2),
        p.fails_naming(p.INVALID_PARAMS, "Resource not found: ", "uri"),
        *(OWN_WORDS, TS_RESOURCE),
    ),
    Fact(
        *("resources.read.not-found-code", GO),
        p.fails(p.INVALID_PARAMS, "Resource not found"),
        *(OWN_WORDS, GO_RESOURCE),
        since="1.7.0",  # go-sdk #931 changed the code for this version; before, it was -32002
    ),
    Fact(
        *("resources.read.not-found-data-uri", PY1),
        p.fails_naming(0, "Unknown resource: ", "uri"),
        *(OWN_WORDS, PY_RESOURCE),
    ),
    Fact(
        *("resources.read.not-found-data-uri", PY1),
        p.fails_naming(-32002, "Resource not found: Unknown resource: ", "uri"),
        OWN_WORDS,
        framework=FASTMCP_3,
    ),
    Fact(
        *("resources.read.not-found-data-uri", TS1),
        p.fails_naming(p.INVALID_PARAMS, "MCP error -32602: Resource ", "uri", " not found"),
        OWN_WORDS,
    ),
    Fact("resources.read.uri-required", GO, p.refused_without_json, PROXY, GO_TEXT),
    Fact("result.server-info", RUST, p.unnamed_results, NO_HANDLER),
    Fact("result.server-info", CSHARP, p.unnamed_results, NO_HANDLER, until=CSHARP_FINAL),
    Fact(
        "subscriptions.filter-required", PY2, p.sends("notifications/subscriptions/acknowledged"), NO_HANDLER
    ),
    Fact("subscriptions.filter-required", CSHARP, UNEXPLAINED, OWN_WORDS),
    Fact("subscriptions.graceful-result", PY2, p.fails(-32000, "Connection closed"), NO_HANDLER),
    *_for((GO, TS2), "subscriptions.stays-open", p.result_for_empty_filter, NO_HANDLER),
    Fact(
        *("tasks.tool-forbidden", TS1),
        p.fails_beginning(p.INVALID_PARAMS, "MCP error -32602: Invalid task creation result: ["),
        OWN_WORDS,
    ),
    Fact("tasks.tool-forbidden", PY1, p.tool_error_ending(NO_TASKS), OWN_WORDS, framework=FASTMCP_2),
    Fact(
        *("tasks.undeclared-ignored", PY1),
        p.fails_ending(p.UNKNOWN_METHOD, NO_TASKS),
        OWN_WORDS,
        framework=FASTMCP_3,
    ),
    Fact(
        *("tasks.undeclared-ignored", TS1),
        p.fails_for_method(p.INTERNAL, "Server does not support task creation (required for ", ")"),
        OWN_WORDS,
    ),
    Fact(
        *("tasks.undeclared-ignored", RUST, p.fails(p.INTERNAL, "Task processing not implemented")),
        "an `enqueue_task` of the author's has other words",
        since="0.13.0",
        until=RUST_ANSWERS,
    ),
    Fact(
        *("tools.call.inputs-validated", TS1, p.carried_out),
        "a schema that a low-level handler writes has no `execution` beside it",
        framework=ZOD_3,
        of_tool=p.strips_unlisted,
    ),
    Fact("tools.call.malformed-request", GO, p.refused_without_json, PROXY, GO_TEXT),
    Fact(
        *("tools.call.malformed-request", GO),
        *(p.tool_error_beginning('validating "arguments": unmarshaling arguments: '), OWN_WORDS),
    ),
    Fact("tools.call.malformed-request-code", TS1, p.zod_error, OWN_WORDS),
    Fact("tools.call.malformed-request-code", CSHARP, UNEXPLAINED, OWN_WORDS),
    Fact("tools.call.malformed-request-code", GO, p.refused_without_json, PROXY, GO_TEXT),
    *_before_1_7("tools.call.malformed-request-code"),
    Fact(
        *("tools.call.malformed-request-code", GO),
        p.fails_beginning(p.INVALID_REQUEST, "invalid request: missing required"),
        NO_HANDLER,
    ),
    Fact("tools.call.malformed-request-code", RUST, p.another_method, NO_HANDLER),
    Fact("tools.call.schema-honest", PY1, p.unexpected_keyword, OWN_WORDS, framework=FASTMCP_2),
    *_for(TYPESCRIPT, "tools.call.tool-result-member", p.content_without_tool_result, SAME),
    *_for(PYTHON, "tools.call.unknown-tool-is-error", p.tool_error_naming("Unknown tool: "), SAME, NAMES),
    Fact(
        *("tools.call.unknown-tool-is-error", TS1),
        p.tool_error_naming("MCP error -32602: Tool ", " not found"),
        *(OWN_WORDS, TS_TOOL),
    ),
    Fact("tools.call.unknown-tool-is-error", KOTLIN, p.tool_error_naming("Tool ", " not found"), OWN_WORDS),
    *_for(PYTHON, "tools.structured.text-fallback", p.wrapped_values, SAME),
    Fact("version.list-consistent", CSHARP, p.fails(UNSUPPORTED_VERSION), NO_HANDLER, until=CSHARP_FINAL),
    Fact("version.per-request", TS2, p.result_for_ancient, NO_HANDLER),
    Fact("version.unsupported-error", TS2, p.result_for_ancient, NO_HANDLER),
    Fact(
        *("version.unsupported-error", CSHARP),
        p.fails_beginning(p.INVALID_REQUEST, "The negotiated protocol version cannot change within"),
        NO_HANDLER,
    ),
    Fact(
        *("version.unsupported-error", GO),
        p.unknown_method_for_ancient,
        *(NO_HANDLER, GO_VERSION),
        since="1.8.0",  # go-sdk #1260: 1.7.0 answers with the code 0
    ),
)
