"""Hypothesis strategies for scripts of `scripted_server`, in which most messages stay partly valid."""

from typing import Any

from hypothesis import strategies as st

METHODS = (
    *("initialize", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get"),
    *("resources/list", "resources/templates/list", "resources/read", "completion/complete", "ping"),
    *("tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "subscriptions/listen", "logging/setLevel"),
    *("resources/subscribe", "resources/unsubscribe", "notifications/message", "notifications/progress"),
    *("notifications/tools/list_changed", "notifications/resources/updated", "notifications/tasks/status"),
    *("notifications/subscriptions/acknowledged", "sampling/createMessage", "elicitation/create"),
    *("roots/list", "conformance/no-such-method"),
)
"""The methods that a step applies to; every conversation has the first ones."""
ASKED = ("ping", "roots/list", "sampling/createMessage", "elicitation/create", "tasks/get", "no/such")
NAMES = (
    *("name", "title", "type", "text", "data", "mimeType", "uri", "uriTemplate", "id", "method", "params"),
    *("result", "error", "code", "message", "jsonrpc", "content", "contents", "structuredContent", "isError"),
    *("inputSchema", "outputSchema", "annotations", "_meta", "nextCursor", "tools", "prompts", "resources"),
    *(
        "capabilities",
        "protocolVersion",
        "serverInfo",
        "icons",
        "resultType",
        "inputRequests",
        "requestState",
    ),
    *(
        "task",
        "taskId",
        "status",
        "ttl",
        "ttlMs",
        "cacheScope",
        "progress",
        "progressToken",
        "total",
        "values",
    ),
    *(
        "role",
        "messages",
        "arguments",
        "supportedVersions",
        "supported",
        "requestId",
        "level",
        "blob",
        "size",
    ),
    *("io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/related-task", "resource", "src"),
    *(
        "extensions",
        "experimental",
        "notifications",
        "requestedSchema",
        "createdAt",
        "pollInterval",
        "hasMore",
    ),
)
KEYWORDS = (
    *("$ref", "$defs", "$schema", "$id", "$anchor", "$dynamicRef", "type", "properties", "required", "items"),
    *("prefixItems", "enum", "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "anyOf"),
    *("multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "contains", "allOf"),
    *("oneOf", "not", "if", "then", "else", "dependentRequired", "patternProperties", "propertyNames"),
    *("additionalProperties", "unevaluatedProperties", "definitions", "default", "examples", "minContains"),
    *("additionalItems", "dependencies", "contentEncoding", "minProperties", "maxProperties", "nullable"),
)
WORDS = (
    *("", "a", "\ud800", "\x00", "\x1b[2J", "\u202eabc", "a\nb", "\r", "x" * 3000, "-1", "null", "é", "😀"),
    *("2025-11-25", "2026-07-28", "2024-10-07", "1900-01-01", "object", "string", "array", "integer", "text"),
    *(
        "image",
        "audio",
        "resource",
        "resource_link",
        "complete",
        "input_required",
        "task",
        "public",
        "working",
    ),
    *("http://[", "file:///x", "data:text/plain;base64,!!", "memo://{a", "memo://{+a,b*}", "{", "%zz", "a b"),
    *("(a+)+$", "[", "(?P<a>", "\\p{L}", "#", "#/", "#/$defs/a", "#/properties", "http://localhost:1/x"),
    *("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "urn:x:y"),
    *(
        "2020-01-01T00:00:00Z",
        "AAAA",
        "A===",
        "image/png",
        "text/html; charset=",
        "accept",
        "user",
        "date-time",
    ),
)
NUMBERS = (
    *(0, 1, -1, 2, 3.5, -0.0, 1e308, 1e-320, 2**31, 2**53, 2**53 + 1, -(2**63), 2**64, 10**30, 10**400),
    *(
        float("inf"),
        float("-inf"),
        float("nan"),
        -32601,
        -32602,
        -32603,
        -32700,
        -32002,
        -32042,
        -32021,
        -32022,
    ),
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.sampled_from(WORDS),
    st.integers(),
    st.text(st.characters(exclude_categories=()), max_size=5),
)
names = st.sampled_from(NAMES) | st.sampled_from(NAMES) | st.sampled_from(WORDS)


def nested(depth):
    """Return a value nested in this number of lists and objects."""
    value: Any = 0
    for at in range(depth):
        value = [value] if at % 2 else {"properties": value}
    return value


values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)
"""Arbitrary JSON, often with names of the protocol."""

schemas = st.recursive(
    st.one_of(scalars, st.just({}), st.builds(lambda name: {"type": name}, scalars)),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(KEYWORDS), inner, min_size=1, max_size=3),
        st.builds(lambda key, name, one: {key: {name: one}}, st.sampled_from(KEYWORDS), names, inner),
        st.builds(lambda key, some: {key: some}, st.sampled_from(KEYWORDS), st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)
"""Values that resemble JSON Schemas."""

replacements = st.one_of(values, values, schemas, st.sampled_from([20, 200, 400, 900]).map(nested))
numbers = st.integers(0, 400)
few_bytes = st.binary(max_size=20).map(lambda data: data.decode("latin-1"))
odd_bytes = few_bytes | st.sampled_from(
    ["\n", "\r\n", "\x00", "\xff", "\xef\xbb\xbf", '{"a":1}\n', '"', "[]\n"]
)


def message(**members):
    """Return a strategy for messages with some of these members."""
    return st.fixed_dictionaries({"jsonrpc": st.just("2.0")}, optional=members)


ids = st.one_of(st.just("$id"), st.integers(0, 30), scalars)
requests = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": ids, "method": st.sampled_from(ASKED) | values},
    optional={"params": values},
)
notifications = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS) | values}, optional={"params": values}
)
errors = st.fixed_dictionaries(
    {}, optional={"code": st.sampled_from(NUMBERS) | scalars, "message": scalars, "data": values}
)
answers = st.one_of(
    st.builds(lambda named, error: {"jsonrpc": "2.0", "id": named, "error": error}, ids, errors | values),
    st.builds(lambda named, result: {"jsonrpc": "2.0", "id": named, "result": result}, ids, values),
    message(id=ids, result=values, error=errors | values, method=scalars, params=values),
)
messages = st.one_of(requests, notifications, answers, values)


def step(do, **more):
    """Return a strategy for steps with this action."""
    return st.fixed_dictionaries(
        {
            "on": st.sampled_from(METHODS[:9]) | st.sampled_from(METHODS) | st.just("*"),
            "nth": st.none() | st.none() | st.integers(0, 6),
            "do": st.just(do),
            **more,
        }
    )


odd_values = st.sampled_from([[], {}, [[]], [{}], {"a": []}, [None], None, True, 0, 1.5, "", "x", -1, ["x"]])
value_steps = st.one_of(
    step("put", at=numbers, member=names, value=odd_values),
    step("put", at=numbers, member=names, value=replacements),
    step("put", at=numbers, member=names, value=odd_values | scalars),
    step("put", at=numbers, value=replacements),
    step("put", at=numbers, value=odd_values | scalars),
    step("drop", at=numbers, member=names),
    step("drop", at=numbers),
    step("double", at=numbers, name=names),
    step("wrap", at=numbers),
    step("wrap", at=numbers, name=names),
    step("swap", at=numbers, **{"with": numbers}),
)
message_steps = st.one_of(
    step("say", messages=st.lists(messages, max_size=3)),
    step("say", messages=st.lists(answers, min_size=1, max_size=2)),
    step("before", message=messages),
    step("after", message=messages),
    step("twice"),
    step("silence"),
    step("late"),
)
byte_steps = st.one_of(
    step("bytes", bytes=odd_bytes),
    step("cut", at=st.integers(0, 3000), ended=st.booleans()),
    step("insert", at=st.integers(0, 3000), bytes=odd_bytes),
    step("glue", ended=st.booleans()),
    step("torn", at=numbers, ended=st.booleans()),
    step("stderr", bytes=odd_bytes),
)
end_steps = st.one_of(
    step("exit", at=st.integers(0, 300), status=st.sampled_from([0, 1, 3, 255])),
    step("signal", at=st.integers(0, 300), signal=st.sampled_from([6, 9, 11, 15])),
    step("close", at=st.integers(0, 300)),
)
steps = st.one_of(value_steps, value_steps, value_steps, message_steps, byte_steps, end_steps)
scripts = st.lists(steps, min_size=1, max_size=5)
"""Scripts of one to five steps."""
