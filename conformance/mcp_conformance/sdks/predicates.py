"""Predicates on the evidence of a finding: each accepts what one fault of an SDK looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conformance.client.reply import Closed, Silence, Unanswered
from mcp_conformance.generation.boundary import FLOOD_SIZE
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LOG_LEVEL, PROTOCOL_VERSION, SERVER_INFO
from mcp_conformance.sdks.evidence import Answer, Evidence, texts_of

Predicate = Callable[[Evidence], bool]
Numbers = tuple[type[int | float], ...]
INTERNAL, INVALID_PARAMS, INVALID_REQUEST, UNKNOWN_METHOD = -32603, -32602, -32600, -32601
SECOND_ANSWER = ("anyio.BrokenResourceError", "AssertionError: Request already responded to")
MISSING_SESSION = "Bad Request: Missing session ID"
MEDIA_TYPE = "Unsupported Media Type: Content-Type must be application/json"
"""The words of the Python SDK's transport."""
PYDANTIC_MODEL = re.compile(r" validation errors? for (?:union\[)?JSONRPC")
"""What Pydantic says of a message, and not of the arguments that an author checks."""
ANCIENT, OLDER = "1900-01-01", "1999-01-01"
"""The revisions that no server has, which our checks ask for, the latter in the handshake."""
ROUNDED_ID, ROUNDED_TO = 2**53 + 1, 2**53
"""An integer that a double cannot hold, and the double that is nearest."""
ID_BEYOND_64_BITS = 2**64
OLD_DRAFT = "http://json-schema.org/draft-07/schema#"
"""The dialect that Zod writes where no other is asked for."""
MAX_SERDE_DEPTH, BEYOND_DOUBLE = 128, 10**309
"""How deep serde_json reads, the JSON library of the Rust SDK, and a number that it does not read.

Our deep params are 500 and 5,000 deep.
"""
MAX_GO_DEPTH = 1000
"""How deep the Go SDK's reader reads since 1.8.0: its error says so."""
MAX_NET_DEPTH = 64
"""How deep System.Text.Json reads, the JSON library of the C# SDK."""
MAX_PYDANTIC_DEPTH, BEYOND_INT = 200, 10**4300
"""How deep Pydantic's parser reads, and the first integer that it does not (seen in 2.14)."""
LONG_INTEGER = re.compile(rb"(?<![\w.])\d{4301,}(?![\w.])")
"""Such an integer as it is on the wire: our own reader makes an infinite number of it."""
OF_A_REQUEST = re.compile(r"\AInvalid [A-Za-z_/]+ request: ")
JSON_TEXT, BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"'), re.compile(rb"[][{}]")
TRAILING_SPACE = re.compile(rb"[ \t]\r?\n?\Z")
SURROGATE = re.compile("[\ud800-\udfff]")


# Errors


def fails(code: int, text: str | None = None, data: Any = ABSENT) -> Predicate:
    """Accept an error with this code, and with this message and data if they are given."""

    def accepts(answer: Answer) -> bool:
        is_text = text is None or answer.text == text
        return answer.code == code and is_text and (data is ABSENT or answer.error.get("data") == data)

    return lambda evidence: any(map(accepts, evidence.answers))


def fails_naming(code: int, before: str, member: str, after: str = "") -> Predicate:
    """Accept an error that names a member of the params: as it is, or in quotes, between two texts."""

    def accepts(answer: Answer) -> bool:
        name = answer.params.get(member)
        return answer.code == code and answer.text in _naming(before, name, after)

    return lambda evidence: any(map(accepts, evidence.answers))


def fails_for_method(code: int, before: str, after: str) -> Predicate:
    """Accept an error that names the method of the request between two texts."""
    return lambda evidence: any(
        answer.code == code and answer.text == f"{before}{answer.method}{after}"
        for answer in evidence.answers
    )


def prompt_refused(code: int, before: str, after: str) -> Predicate:
    """Accept an error that names the prompt between two texts, and says more."""

    def accepts(answer: Answer) -> bool:
        return answer.code == code and answer.text.startswith(f"{before}{answer.params.get('name')}{after}")

    return lambda evidence: any(map(accepts, evidence.answers))


def fails_beginning(code: int, beginning: str) -> Predicate:
    """Accept an error whose message begins so, after a prefix that names the method as the Go SDK does."""

    def accepts(answer: Answer) -> bool:
        return answer.code == code and own_words(answer).startswith(beginning)

    return lambda evidence: any(map(accepts, evidence.answers))


def fails_ending(code: int, ending: str) -> Predicate:
    """Accept an error whose message ends so."""
    return lambda evidence: any(
        answer.code == code and answer.text.endswith(ending) for answer in evidence.answers
    )


def own_words(answer: Answer) -> str:
    """Return the message of an error without the Go SDK's prefix ``handling 'METHOD': ``."""
    before, separator, text = answer.text.partition("': ")
    return text if separator and before.startswith("handling '") else answer.text


def _naming(before: str, name: Any, after: str) -> tuple[str, ...]:
    return (f"{before}{name}{after}", f"{before}{name!r}{after}") if isinstance(name, str) else ()


def zod_issues(text: str) -> list[Any]:
    """Return the issues of the Zod library with a request that a message is; empty if it is another text.

    The SDK parses whole requests, the code of an author their arguments: its paths begin elsewhere.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    issues = found if isinstance(found, list) else []
    paths = [one.get("path") if isinstance(one, dict) else None for one in issues]
    return issues if all(isinstance(path, list) and path[:1] == ["params"] for path in paths) else []


def zod_error(evidence: Evidence) -> bool:
    """Accept -32603 with Zod's issues as its message."""
    return any(answer.code == INTERNAL and zod_issues(answer.text) for answer in evidence.answers)


def zod_message(evidence: Evidence) -> bool:
    """Accept an error whose message is Zod's issues, as they are or as those of an invalid request."""
    return any(zod_issues(OF_A_REQUEST.sub("", answer.text, count=1)) for answer in evidence.answers)


def pydantic_error(evidence: Evidence) -> bool:
    """Accept -32602 with Pydantic's report on a body that is no message: no params were invalid."""
    return any(
        answer.code == INVALID_PARAMS
        and answer.text.startswith("Validation error: ")
        and PYDANTIC_MODEL.search(answer.text) is not None
        for answer in evidence.answers
    )


def another_method(evidence: Evidence) -> bool:
    """Accept -32601 with the method as message, for one that the server has: no request has such params."""
    return any(
        answer.code == UNKNOWN_METHOD and answer.text == answer.method != "" for answer in evidence.answers
    )


# Results


def _result(condition: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]) -> Predicate:
    """Accept a result if a condition holds for the params and the result."""

    def accepts(answer: Answer) -> bool:
        return isinstance(answer.result, Mapping) and condition(answer.params, answer.result)

    return lambda evidence: any(map(accepts, evidence.answers))


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, Mapping) else {}


result_without_meta = _result(lambda params, _: params.get("_meta", {}) == {})
result_without_version = _result(
    lambda params, _: bool(_meta(params)) and PROTOCOL_VERSION not in _meta(params)
)
result_for_meta = _result(lambda params, _: "_meta" in params)
result_for_level = _result(lambda params, _: LOG_LEVEL in _meta(params))
result_for_cursor = _result(lambda params, _: isinstance(params.get("cursor"), str))
result_for_wrong_cursor = _result(lambda params, _: not isinstance(params.get("cursor", ""), str))
result_for_ancient = _result(lambda params, _: _meta(params).get(PROTOCOL_VERSION) == ANCIENT)
empty_result_for_number = _result(
    lambda params, result: isinstance(params.get("level"), int | float) and result.keys() <= {"resultType"}
)
empty_result = _result(lambda _, result: not result)
level_taken = _result(lambda params, result: "level" in params and not result)
no_completions = _result(
    lambda _, result: isinstance(it := result.get("completion"), Mapping) and it.get("values") == []
)
content_without_tool_result = _result(lambda _, result: "content" in result and "toolResult" not in result)
result_for_empty_filter = _result(lambda params, _: params.get("notifications") == {})


discovered_server_info = _result(lambda _, result: "supportedVersions" in result and "serverInfo" in result)
carried_out = _result(lambda params, result: "arguments" in params and result.get("isError") is not True)
echoes_older = _result(
    lambda params, result: params.get("protocolVersion") == result.get("protocolVersion") == OLDER
)


def offers(version: str) -> Predicate:
    """Accept an opening with this version."""
    return _result(lambda _, result: result.get("protocolVersion") == version)


def empty_list_without_hints(evidence: Evidence) -> bool:
    """Accept an empty list with neither ``ttlMs`` nor ``cacheScope``."""
    results = [answer.result for answer in evidence.answers if isinstance(answer.result, Mapping)]
    lists = {member for _, member in LISTS.values()}
    return any(
        any(result.get(member) == [] for member in lists) and not {"ttlMs", "cacheScope"} & result.keys()
        for result in results
    )


def schemas_by_zod(evidence: Evidence) -> bool:
    """Accept lists whose tools with a schema of an older draft all have ``execution``, which an SDK adds."""
    lists = [answer.result for answer in evidence.answers if answer.method == "tools/list"]
    tools = [
        tool for result in lists if isinstance(result, Mapping) for tool in _objects(result.get("tools"))
    ]
    old = [
        tool
        for tool in tools
        if OLD_DRAFT in map(_dialect, (tool.get("inputSchema"), tool.get("outputSchema")))
    ]
    return bool(old) and all(isinstance(tool.get("execution"), Mapping) for tool in old)


def strips_unlisted(definition: Any, arguments: Any) -> bool:
    """Return whether McpServer wrote a closed schema for a Zod 3 object, which drops other members.

    ``definition`` is that of the tool, ``arguments`` are those it was called with: nothing but members that
    the schema does not list are wrong with them.  A `z.strictObject` refuses these.
    """
    schema = definition.get("inputSchema") if isinstance(definition, Mapping) else None
    if _dialect(schema) != OLD_DRAFT or not isinstance(definition.get("execution"), Mapping):
        return False
    with suppress(Unjudgeable):
        return not instance_errors(arguments, _opened(schema), LATEST_HANDSHAKE)
    return False


def _opened(schema: Any) -> Any:
    """Return a schema that forbids no further members anywhere."""
    if isinstance(schema, Mapping):
        kept = (one for one in schema.items() if one != ("additionalProperties", False))
        return {name: _opened(value) for name, value in kept}
    return [_opened(one) for one in schema] if isinstance(schema, list) else schema


def _objects(values: Any) -> list[Mapping[str, Any]]:
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, list) else []


def _dialect(schema: Any) -> Any:
    return schema.get("$schema") if isinstance(schema, Mapping) else None


def has_key(name: str) -> Predicate:
    """Accept a result in which some object has a member of this name."""

    def accepts(answer: Answer) -> bool:
        values = (one for level in _levels(answer.result) for one in level)
        return any(isinstance(one, Mapping) and name in one for one in values)

    return lambda evidence: any(map(accepts, evidence.answers))


def unnamed_results(evidence: Evidence) -> bool:
    """Accept results of which none names its server."""
    results = [answer.result for answer in evidence.answers if isinstance(answer.result, Mapping)]
    return bool(results) and not any(SERVER_INFO in _meta(result) for result in results)


def wrapped_values(evidence: Evidence) -> bool:
    """Accept results with a bare value as text, and as the only member ``result`` of structured content."""
    results = [answer.result for answer in evidence.answers]
    return bool(results) and all(map(_is_wrapped, results))


def _is_wrapped(result: Any) -> bool:
    structured = result.get("structuredContent") if isinstance(result, Mapping) else None
    if not isinstance(structured, Mapping) or list(structured) != ["result"]:
        return False
    value, texts = structured["result"], texts_of(result)
    items = value if isinstance(value, list) and len(value) == len(texts) else None
    if items is not None and all(map(_shows, texts, items)):  # one text for each item
        return True
    return any(_shows(text, value) for text in texts)


def _shows(text: str, value: Any) -> bool:
    """Return whether a text is a value, or its JSON; a date, for example, has quotes there."""
    try:
        return text == value or bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def tool_error_naming(before: str, after: str = "") -> Predicate:
    """Accept a tool result with ``isError`` whose text names the tool that was called, between two texts."""
    return lambda evidence: any(
        answer.tool_error in _naming(before, answer.params.get("name"), after) for answer in evidence.answers
    )


# Notifications


def tool_error_beginning(beginning: str) -> Predicate:
    """Accept a tool error whose first text begins so."""
    return lambda evidence: any(answer.tool_error.startswith(beginning) for answer in evidence.answers)


def tool_error_ending(ending: str) -> Predicate:
    """Accept a tool error whose first text ends so."""
    return lambda evidence: any(answer.tool_error.endswith(ending) for answer in evidence.answers)


def unexpected_keyword(evidence: Evidence) -> bool:
    """Accept a tool error in which Pydantic refuses a member as an argument of the author's function."""
    texts = [answer.tool_error for answer in evidence.answers]
    return any(
        text.startswith("1 validation error for call[") and "type=unexpected_keyword_argument" in text
        for text in texts
    )


def sends(method: str) -> Predicate:
    """Accept a notification of this method."""
    return lambda evidence: any(one["method"] == method for one in evidence.notifications)


def second_answer_cancelled(evidence: Evidence) -> bool:
    """Accept an answer, and error 0 for the same request, as it was cancelled."""
    return len(evidence.answers) > 1 and fails(0, "Request cancelled")(evidence)


# Faults


def reader_ended(evidence: Evidence) -> bool:
    """Accept that the process ended by itself, or answers nothing any more.

    The Go SDK's reader ends at such a line; the author's `main` then returns, soon, late or never.
    """
    return evidence.has_ended or isinstance(evidence.fault, Silence)


def ended_at_cancellation(evidence: Evidence) -> bool:
    """Accept that the process ended with the status 1 after a cancellation."""
    return _has_failed(evidence) and any(_is_cancellation(one) for one in evidence.sent)


def _has_failed(evidence: Evidence) -> bool:
    return isinstance(evidence.fault, Closed) and evidence.fault.exit_code == 1


def _is_cancellation(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("method") == "notifications/cancelled"


def session_lost(evidence: Evidence) -> bool:
    """Accept that a session is not found any more: HTTP 404 in place of an answer."""
    return _has_refused(evidence, 404)


def _has_refused(evidence: Evidence, status: int) -> bool:
    return isinstance(evidence.fault, Unanswered) and evidence.fault.status == status


def ended_by_a_second_answer(evidence: Evidence) -> bool:
    """Accept that the process ended with the status 1 as a request got a second answer.

    stderr has the assertion that fails then, or, if the reader of stdin meets that first, the exception of a
    stream whose reader is gone.
    """
    return _has_failed(evidence) and any(one in evidence.stderr for one in SECOND_ANSWER)


def ended_among_cancellations(evidence: Evidence) -> bool:
    """Accept that the process ended with the status 1 after calls that were all cancelled at once.

    Nothing else was asked of it: each answer may have crossed its cancellation, and stderr may be cut.
    """
    requests = [one for one in evidence.history if kind(one) is Kind.REQUEST and one["method"] != "ping"]
    asked = {id_key(one["id"]) for one in requests}
    given_up = {
        id_key(one["params"].get("requestId"))
        for one in evidence.history
        if _is_cancellation(one) and isinstance(one.get("params"), Mapping)
    }
    return _has_failed(evidence) and asked != set() and asked <= given_up


def ended_beyond_depth(evidence: Evidence) -> bool:
    """Accept that the process ended by itself at a line that is deeper than the Go SDK's reader reads."""
    return evidence.has_ended and _depth(evidence.last) > MAX_GO_DEPTH


def _depth(line: bytes) -> int:
    """Return how many objects and lists of a line of JSON are in each other."""
    deepest = depth = 0
    for bracket in BRACKET.findall(JSON_TEXT.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def ended_by_wrong_bytes(evidence: Evidence) -> bool:
    """Accept that the process ended with the status 1 as it could not decode a line."""
    return _has_failed(evidence) and "UnicodeDecodeError: " in evidence.stderr


def ended_at_initialize(evidence: Evidence) -> bool:
    """Accept that the process ended at `initialize`."""
    return evidence.has_ended and any(one["method"] == "initialize" for one in evidence.requests)


def ended_before_initialize(evidence: Evidence) -> bool:
    """Accept that the process ended at a request before `initialize`."""
    return evidence.has_ended and evidence.requests != []


def ended_at_unreadable(evidence: Evidence) -> bool:
    """Accept that the process ended at a request that serde_json cannot read."""
    return evidence.has_ended and _has_unreadable(evidence, MAX_SERDE_DEPTH, (int, float), BEYOND_DOUBLE)


def ended_itself(evidence: Evidence) -> bool:
    """Accept that the process ended by itself."""
    return evidence.has_ended


def ended_at_trailing_space(evidence: Evidence) -> bool:
    """Accept that the reader ended at a line with white space after its message."""
    return reader_ended(evidence) and TRAILING_SPACE.search(evidence.last) is not None


def refused_without_json(evidence: Evidence) -> bool:
    """Accept HTTP 400 with a text that is no JSON-RPC error."""
    return _has_refused(evidence, 400) and not evidence.answers


def unanswered_array(evidence: Evidence) -> bool:
    """Accept an array none of whose requests is answered, from a server that goes on."""
    is_array = any(isinstance(one, list) for one in evidence.sent)
    return is_array and evidence.fault is None and evidence.unanswered == evidence.requests != []


def refused_array_as_meta(evidence: Evidence) -> bool:
    """Accept HTTP 415 for a request whose ``_meta`` is an array."""
    return _has_refused(evidence, 415) and any(map(_has_array_as_meta, evidence.requests))


def silent_at_array_as_meta(evidence: Evidence) -> bool:
    """Accept that a request whose ``_meta`` is an array is not answered."""
    return isinstance(evidence.fault, Silence) and any(map(_has_array_as_meta, evidence.unanswered))


def _has_array_as_meta(request: Mapping[str, Any]) -> bool:
    return Answer({}, request).params.get("_meta") == []


def confused_ids(evidence: Evidence) -> bool:
    """Accept that one of two requests is not answered, with ids that differ only in their type (1, "1")."""
    texts = [str(one["id"]) for one in evidence.requests]
    return len(texts) == 2 and texts[0] == texts[1] and evidence.unanswered != []


def rounded_id(evidence: Evidence) -> bool:
    """Accept an answer whose id is that of the request as the nearest double."""
    ids = [answer.message.get("id") for answer in evidence.answers]
    return ROUNDED_TO in ids and any(one["id"] == ROUNDED_ID for one in evidence.unanswered)


def number_for_digits(evidence: Evidence) -> bool:
    """Accept an answer whose id is the number that the id of the request, a string, has the digits of."""
    texts = {one["id"] for one in evidence.unanswered if isinstance(one["id"], str)}
    return any(str(answer.message.get("id")) in texts for answer in evidence.answers)


def dropped_large_id(evidence: Evidence) -> bool:
    """Accept that a request is not answered whose id takes more than 64 bits, from a server that goes on."""
    is_large = any(one["id"] == ID_BEYOND_64_BITS for one in evidence.unanswered)
    return is_large and evidence.fault is None and not evidence.received


def dropped_unsafe_id(evidence: Evidence) -> bool:
    """Accept that a request is not answered whose id a double cannot hold, by a server that goes on."""
    is_unsafe = any(isinstance(one["id"], int) and abs(one["id"]) >= 2**53 for one in evidence.unanswered)
    return is_unsafe and evidence.fault is None and not evidence.received


def dropped_unknown_member(evidence: Evidence) -> bool:
    """Accept that a request with a member that JSON-RPC lacks is not answered, by a server that goes on."""
    known = {"jsonrpc", "id", "method", "params"}
    return evidence.fault is None and any(not one.keys() <= known for one in evidence.unanswered)


def ended_at_deep_params(evidence: Evidence) -> bool:
    """Accept that the reader ended at a request that no handler sees, with deep params."""
    return reader_ended(evidence) and any(_has_deep_params(one) for one in evidence.requests)


def dropped_by_serde(evidence: Evidence) -> bool:
    """Accept that a request is not answered which serde_json cannot read, by a server that goes on.

    It takes no lone surrogates, no numbers that a double cannot hold, and no depth beyond its limit.
    """
    return _dropped(evidence, MAX_SERDE_DEPTH, (int, float), BEYOND_DOUBLE)


def dropped_unreadable(evidence: Evidence) -> bool:
    """Accept that a request is not answered which Pydantic's parser cannot read, by a server that goes on.

    The parser takes no lone surrogates, no more digits than Python's `int`, and no depth beyond its limit.
    """
    is_long = isinstance(evidence.fault, Silence | None) and not evidence.answers
    is_long &= LONG_INTEGER.search(evidence.last) is not None
    return is_long or _dropped(evidence, MAX_PYDANTIC_DEPTH, (int,), BEYOND_INT)


def delayed_by_members(evidence: Evidence) -> bool:
    """Accept a call without an answer in time, by a server that goes on, with many arguments.

    Pydantic finds an error for each argument that the function does not take, and the errors are formatted
    before the answer: 5 to 30 s for 10,000 of them.
    """
    if not isinstance(evidence.fault, Silence | None) or evidence.answers:
        return False
    asked = [one["params"] for one in evidence.requests if one["method"] == "tools/call"]
    arguments = [one.get("arguments") for one in asked if isinstance(one, Mapping)]
    return any(isinstance(one, Mapping) and len(one) >= FLOOD_SIZE for one in arguments)


def dropped_by_net(evidence: Evidence) -> bool:
    """Accept that a request is not answered which System.Text.Json cannot read, by a server that goes on.

    It takes no lone surrogates, and no depth beyond its limit.
    """
    return _dropped(evidence, MAX_NET_DEPTH, (), 0)


def _dropped(evidence: Evidence, max_depth: int, numbers: Numbers, beyond: int) -> bool:
    """Return whether the server goes on and has not answered a request that its parser cannot read."""
    is_running = isinstance(evidence.fault, Silence | None)
    return is_running and _has_unreadable(evidence, max_depth, numbers, beyond)


def _has_unreadable(evidence: Evidence, max_depth: int, numbers: Numbers, beyond: int) -> bool:
    """Return whether a request that a parser cannot read has no answer in the lines, whatever else came.

    The parser reads no lone surrogates, nothing deeper than ``max_depth``, and no number of the types
    ``numbers`` that is as large as ``beyond``.
    """
    answered = [answer.request for answer in evidence.answers]
    return any(
        one not in answered and _is_unreadable(one, max_depth, numbers, beyond) for one in evidence.requests
    )


def _is_unreadable(request: Mapping[str, Any], max_depth: int, numbers: Numbers, beyond: int) -> bool:
    levels = list(_levels(request))
    values = [one for level in levels for one in level]
    names = [name for one in values if isinstance(one, Mapping) for name in one]
    has_surrogate = any(SURROGATE.search(one) for one in (*names, *values) if isinstance(one, str))
    is_large = any(abs(one) >= beyond for one in values if isinstance(one, numbers))
    return len(levels) > max_depth or has_surrogate or is_large


def _has_deep_params(request: Mapping[str, Any]) -> bool:
    is_ours = request["method"] in ("ping", "server/discover")
    return is_ours and any(depth > MAX_SERDE_DEPTH for depth, _ in enumerate(_levels(request.get("params"))))


def _levels(value: Any) -> Iterator[list[Any]]:
    """Yield the values of each depth of a JSON value."""
    level = [value]
    while level:
        yield level
        inside = [list(one.values()) if isinstance(one, Mapping) else one for one in level]
        level = [item for one in inside if isinstance(one, list) for item in one]


# HTTP


def has_status(status: int) -> Predicate:
    """Accept an HTTP response with this status."""
    return lambda evidence: status in evidence.statuses


def array_served(evidence: Evidence) -> bool:
    """Accept HTTP 200 for an array."""
    return 200 in evidence.statuses and any(isinstance(one, list) for one in evidence.sent)


def first_request_refused(evidence: Evidence) -> bool:
    """Accept the error for a request that names no session, or the one for its params."""
    is_refused = fails(INVALID_PARAMS, "Invalid request parameters")(evidence)
    return is_refused or fails(INVALID_REQUEST, MISSING_SESSION)(evidence)


def session_missed(evidence: Evidence) -> bool:
    """Accept HTTP 400 with the error that a session id is missing."""
    return 400 in evidence.statuses and fails(INVALID_REQUEST, MISSING_SESSION)(evidence)


def unknown_method_for_ancient(evidence: Evidence) -> bool:
    """Accept that a method is unknown in a request that asks for a revision no server has."""
    return any(
        answer.code == UNKNOWN_METHOD and _meta(answer.params).get(PROTOCOL_VERSION) == ANCIENT
        for answer in evidence.answers
    )
