"""Our wire schemas: they agree with the official ones, and the messages that we send are valid."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mcp_conformance.protocol import revisions
from mcp_conformance.protocol import schemas as own
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER, conversation_errors, message_errors
from mcp_conformance.requirements import catalogue
from support.bench import run_checks, settings_in_memory
from support.in_memory import recorded

REVISIONS = own.revisions()
OFFICIAL = REVISIONS[1:]
AGREEMENT = Path(__file__).parents[2] / "benchmarks" / "schema_agreement.py"
MODERN = "2026-07-28"
OFFICIAL_SCHEMAS = os.environ.get("OFFICIAL_SCHEMAS", "")
MESSAGES = os.environ.get("OFFICIAL_MESSAGES", "2000")


# --- the official schemas -------------------------------------------------------------------------
# They are only in the repository of the specification: OFFICIAL_SCHEMAS=folder names a checkout of it, or a
# bare repository.  benchmarks/schema_agreement.py documents the comparison and the expected differences.


@pytest.mark.skipif(not OFFICIAL_SCHEMAS, reason="OFFICIAL_SCHEMAS names no folder with the official schemas")
@pytest.mark.parametrize("revision", OFFICIAL)
def test_our_schema_agrees_with_the_official_one(revision):
    where = ("--revision", revision, "--messages", MESSAGES)
    command = [sys.executable, str(AGREEMENT), OFFICIAL_SCHEMAS, *where]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


# --- our schemas alone ----------------------------------------------------------------------------


def test_every_revision_has_a_schema():
    assert list(revisions.KNOWN) == REVISIONS


@pytest.mark.parametrize("revision", OFFICIAL)
def test_a_rule_in_a_schema_holds_in_its_revision(revision):
    rules = [
        part[name]
        for part in parts(own.schema(revision))
        if isinstance(part, dict)
        for name in RULES & set(part)
    ]
    named = {rule for rule in rules if isinstance(rule, str)}
    assert [rule for rule in sorted(named) if not catalogue.requirement(rule).holds_in(revision)] == []


RULES = {"rule", "ruleBelow", "ruleMissing", "ruleMissingBelow"}


def parts(schema):
    """Yield every value inside a schema, and the schema itself."""
    yield schema
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from parts(part)


@pytest.mark.parametrize("revision", ["base", *REVISIONS])
def test_our_schema_is_json_schema(revision):
    whole = own.schema(revision)
    defs, references = whole["$defs"], set()
    for part in parts(whole):
        references |= (
            {part["$ref"]} if isinstance(part, dict) and isinstance(part.get("$ref"), str) else set()
        )
    assert references <= {f"#/$defs/{name}" for name in defs}
    for schema in [*defs.values(), *whole["envelopes"].values()]:
        Draft202012Validator.check_schema(schema)


def answer(**result):
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def errors_of(message, asked=None, revision="2025-11-25", sender=SERVER):
    return [(str(wrong), wrong.rule) for wrong in message_errors(message, revision, sender, asked)]


CALL = {"method": "tools/call", "params": {}}


@pytest.mark.parametrize(
    ("message", "asked", "path", "rule"),
    [
        (
            answer(content=[{"type": "text", "text": 5}]),
            CALL,
            "result.content[0].text",
            "content.text.text-string",
        ),
        (answer(content=[{"type": "x"}]), CALL, "result.content[0].type", "tools.call.content-known-type"),
        (answer(), CALL, "result.content", "tools.call.result-content-array"),
        (answer(_meta=None), None, "result._meta", "result.meta-object"),
        (answer(task={}), {**CALL, "params": {"task": {}}}, "result.task.taskId", "tasks.create-result"),
        (
            answer(tools=[{"name": "x"}]),
            {"method": "tools/list"},
            "result.tools[0].inputSchema",
            "tools.def.input-schema-present",
        ),
        ({"jsonrpc": "2.0", "id": 1}, None, "message", "jsonrpc.result-xor-error"),
        ({"id": 1, "result": {}}, None, "jsonrpc", "jsonrpc.version-member"),
        (
            {"jsonrpc": "2.0", "id": None, "method": "notifications/x"},
            None,
            "id",
            "jsonrpc.notification-no-id",
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}},
            None,
            "error.code",
            "jsonrpc.error-code-integer",
        ),
        ([], None, "message", "jsonrpc.message-shape"),
    ],
)
def test_an_error_has_its_path_and_the_broken_rule(message, asked, path, rule):
    assert (path, rule) in [(wrong.partition(":")[0], broken) for wrong, broken in errors_of(message, asked)]


@pytest.mark.parametrize("revision", REVISIONS)
def test_unknown_members_and_methods_are_legal(revision):
    tool = {"name": "x", "inputSchema": {"type": "object", "x-more": 1}, "x-more": 1}
    page = {**answer(tools=[tool], more=1, resultType="complete", **HINTS), "x-more": 1}
    assert errors_of(page, modern_request("tools/list"), revision) == []
    assert (
        errors_of({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {"a": 1}}, None, revision)
        == []
    )


def test_a_member_of_a_newer_revision_is_unknown_in_older_ones():
    tool = {"name": "x", "title": 5, "inputSchema": {"type": "object"}}
    page = answer(tools=[tool], resultType="complete", **HINTS)
    wrong = [revision for revision in OFFICIAL if errors_of(page, modern_request("tools/list"), revision)]
    assert wrong == ["2025-06-18", "2025-11-25", "2026-07-28"]


def test_a_batch_is_a_message_in_one_revision_only():
    batch = [answer(), answer(content=5)]
    assert errors_of(batch, revision="2025-03-26") == []
    assert errors_of(batch, revision="2025-06-18") != []
    assert [wrong for wrong, _ in errors_of(batch, CALL, "2025-03-26")] == [
        "result.content: is missing",
        "result.content: 5 is not of type array",
    ]


def test_a_message_nested_too_deeply_is_not_judged():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    lines = [Line(sent=False, raw=b"", message=answer(content=[], structuredContent={"a": deep}))]
    assert list(conversation_errors(lines, "2025-11-25", SERVER)) == []


# --- the modern era -------------------------------------------------------------------------------

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "checker", "version": "0.1"},
    "io.modelcontextprotocol/logLevel": "info",
    "progressToken": "p-11",
}
CAPABILITIES = {"tools": {"listChanged": True}, "extensions": {"x/y": {}}}
HINTS = {"ttlMs": 60_000, "cacheScope": "public"}
SERVED = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "abacus", "version": "3.1"}}}
OF_LISTEN = {"_meta": {"io.modelcontextprotocol/subscriptionId": 0}}
FILTER = {"toolsListChanged": True, "resourceSubscriptions": ["abacus://total"]}
NAME_FORM = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
QUESTION = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "New name?", "requestedSchema": NAME_FORM},
}
SAMPLING = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "2?"}}], "maxTokens": 9},
}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "2!"}, "model": "abacus-1"}
RETRY = {
    "inputResponses": {"new_name": {"action": "accept", "content": {"value": "soroban"}}},
    "requestState": "b64.sealed",
}


def modern_request(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": ENVELOPE}}


def announced(method, **params):
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def failure(code, **data):
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", **data}}


def complete(**result):
    return answer(resultType="complete", **result)


def needs_input(**result):
    return answer(resultType="input_required", **result)


TOOL = {"name": "count", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}}
FROM_CLIENT = {
    "discover": modern_request("server/discover"),
    "list": modern_request("tools/list", cursor="2"),
    "call": modern_request("tools/call", name="count", arguments={"upTo": 3}),
    "retry": modern_request("tools/call", name="rename", arguments={}, **RETRY),
    "get": modern_request("prompts/get", name="greet", arguments={"name": "x"}, **RETRY),
    "read": modern_request("resources/read", uri="abacus://total", **RETRY),
    "listen": {**modern_request("subscriptions/listen", notifications=FILTER), "id": 0},
    "cancelled": announced("cancelled", requestId=0, reason="done listening"),
}
FROM_SERVER = {
    "discovered": (
        "server/discover",
        complete(supportedVersions=[MODERN], capabilities=CAPABILITIES, instructions="", **HINTS, **SERVED),
    ),
    "tools": ("tools/list", complete(tools=[TOOL], **HINTS)),
    "prompts": ("prompts/list", complete(prompts=[{"name": "greet"}], **HINTS)),
    "resources": ("resources/list", complete(resources=[], nextCursor="2", **HINTS)),
    "templates": ("resources/templates/list", complete(resourceTemplates=[], **HINTS)),
    "contents": ("resources/read", complete(contents=[{"uri": "a:b", "text": "6"}], **HINTS)),
    "called": ("tools/call", complete(content=[], structuredContent=None, **SERVED)),
    "completed": ("completion/complete", complete(completion={"values": ["a"]})),
    "question": (
        "tools/call",
        needs_input(inputRequests={"new_name": QUESTION}, requestState="b64.sealed"),
    ),
    "questions": (
        "prompts/get",
        needs_input(inputRequests={"a": SAMPLING, "b": {"method": "roots/list"}}),
    ),
    "busy": ("resources/read", needs_input(requestState="later")),
    "extended": ("tools/call", answer(resultType="task", taskId="t1")),
    "closed": ("subscriptions/listen", complete(**OF_LISTEN)),
    "progress": ("", announced("progress", progressToken="p-11", progress=1, total=3)),
    "log": ("", announced("message", level="info", logger="abacus", data=None)),
    "acknowledged": ("", announced("subscriptions/acknowledged", notifications=FILTER, **OF_LISTEN)),
    "changed": ("", announced("tools/list_changed", **OF_LISTEN)),
    "updated": ("", announced("resources/updated", uri="abacus://total", **OF_LISTEN)),
    "ended": ("", announced("cancelled", requestId=0)),
    "lacks": ("", failure(-32021, data={"requiredCapabilities": {"elicitation": {"form": {}}}})),
    "unsupported": ("", failure(-32022, data={"supported": [MODERN], "requested": "1900-01-01"})),
    "unknown": ("", failure(-32601)),
}


def judged(name, message):
    """Return the errors of a message that takes the place of a valid one."""
    if name in FROM_CLIENT:
        return errors_of(message, None, MODERN, CLIENT)
    return errors_of(message, modern_request(FROM_SERVER[name][0]), MODERN, SERVER)


def mutated(message, path, value):
    """Return a copy with another value at a path, or without that value."""
    step, *further = path
    copy = dict(message) if isinstance(message, dict) else list(message)
    if further:
        copy[step] = mutated(copy[step], further, value)
    elif value is GONE:
        del copy[step]
    else:
        copy[step] = value
    return copy


def steps(path):
    """Return the members that a path names; the names of those in ``_meta`` contain dots."""
    before, key, after = path.partition(KEY)
    last = [key + after.partition(".")[0], *after.split(".")[1:]] if key else []
    return [int(one) if one.isdigit() else one for one in before.rstrip(".").split(".")] + last


GONE = object()
KEY = "io.modelcontextprotocol/"
VALID = FROM_CLIENT | {name: message for name, (_, message) in FROM_SERVER.items()}


@pytest.mark.parametrize("name", VALID)
def test_a_valid_modern_message_has_no_errors(name):
    assert judged(name, VALID[name]) == []


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("discover", "params", GONE),
        ("discover", "params._meta", GONE),
        ("list", f"params._meta.{KEY}protocolVersion", GONE),
        ("list", f"params._meta.{KEY}clientCapabilities", GONE),
        ("list", f"params._meta.{KEY}clientCapabilities.elicitation", True),
        ("list", f"params._meta.{KEY}clientInfo.version", GONE),
        ("list", f"params._meta.{KEY}logLevel", "loud"),
        ("list", "params._meta.progressToken", 1.5),
        ("list", "params.cursor", 2),
        ("list", "id", None),
        ("call", "params.name", GONE),
        ("retry", "params.requestState", 5),
        ("retry", "params.inputResponses", []),
        ("retry", "params.inputResponses.new_name", {"action": "perhaps"}),
        ("get", "params.inputResponses.new_name", 12345),
        ("get", "params.inputResponses.new_name", {**SAMPLED, "_meta": 1}),
        ("read", "params.uri", 1.5),
        ("read", "params.requestState", None),
        ("listen", "params.notifications", GONE),
        ("listen", "params.notifications.toolsListChanged", "yes"),
        ("cancelled", "params.requestId", GONE),
    ],
)
def test_an_invalid_member_of_a_modern_client_is_found(name, path, value):
    wrong = judged(name, mutated(VALID[name], steps(path), value))
    assert [one.partition(": ")[0] for one, _ in wrong] == [path]


@pytest.mark.parametrize(
    ("name", "path", "value", "rule"),
    [
        ("called", "result.resultType", GONE, "result.result-type-present"),
        ("called", "result.resultType", 1, "result.result-type-string"),
        ("called", "result.content", GONE, "tools.call.result-content-array"),
        ("called", f"result._meta.{KEY}serverInfo.name", GONE, "result.server-info-shape"),
        ("discovered", "result.supportedVersions", MODERN, "discover.supported-versions"),
        ("discovered", "result.capabilities", GONE, "discover.capabilities"),
        ("discovered", "result.capabilities.extensions.x/y", True, "extensions.settings-object"),
        ("discovered", "result.capabilities.tools.listChanged", 1, "capabilities.tools.shape"),
        ("discovered", "result.instructions", None, "discover.instructions"),
        ("discovered", "result.ttlMs", GONE, "caching.hints.server-discover"),
        ("tools", "result.ttlMs", GONE, "caching.hints.tools-list"),
        ("tools", "result.ttlMs", 0.5, "caching.ttl-integer"),
        ("tools", "result.ttlMs", -1, "caching.ttl-non-negative"),
        ("tools", "result.cacheScope", "shared", "caching.scope-enum"),
        ("tools", "result.tools.0.outputSchema", True, "tools.def.output-schema-is-object"),
        ("tools", "result.tools.0.inputSchema.type", "array", "tools.def.input-schema-object-type"),
        ("prompts", "result.cacheScope", GONE, "caching.hints.prompts-list"),
        ("resources", "result.cacheScope", GONE, "caching.hints.resources-list"),
        ("templates", "result.cacheScope", GONE, "caching.hints.resources-templates-list"),
        ("contents", "result.cacheScope", GONE, "caching.hints.resources-read"),
        ("contents", "result.contents.0.text", GONE, "resources.read.result-shape"),
        ("completed", "result.completion.values", ["a"] * 101, "completion.values-max-100"),
        ("tools", "result.resultType", "input_required", "mrtr.allowed-methods"),
        ("question", "result.requestState", {}, "mrtr.state-is-string"),
        ("question", "result.inputRequests", [], "mrtr.request-kinds"),
        ("question", "result.inputRequests.new_name.method", "tools/call", "mrtr.request-kinds"),
        ("question", "result.inputRequests.new_name.params", GONE, "mrtr.request-kinds"),
        (
            "question",
            "result.inputRequests.new_name.params.requestedSchema",
            GONE,
            "clientfeature.elicitation.schema",
        ),
        ("questions", "result.inputRequests.a.params.maxTokens", GONE, "clientfeature.sampling.schema"),
        ("questions", "result.inputRequests", GONE, "mrtr.at-least-one"),
        ("closed", f"result._meta.{KEY}subscriptionId", GONE, "subscriptions.result-meta"),
        ("closed", "result._meta", GONE, "subscriptions.result-meta"),
        ("acknowledged", "params.notifications", GONE, "subscriptions.ack-sent"),
        ("acknowledged", "params.notifications.toolsListChanged", 1, "subscriptions.ack-subset"),
        ("changed", f"params._meta.{KEY}subscriptionId", None, "subscriptions.id-tag"),
        ("updated", "params.uri", GONE, "resources.subscribe.updated-shape"),
        ("ended", "params.requestId", GONE, "cancel.server-only-subscription"),
        ("log", "params.data", GONE, "logging.message.data-present"),
        ("lacks", "error.data", GONE, "errors.missing-client-capability"),
        ("lacks", "error.data.requiredCapabilities", ["elicitation"], "errors.missing-client-capability"),
        ("unsupported", "error.data", GONE, "version.unsupported-supported-list"),
        ("unsupported", "error.data.supported", MODERN, "version.unsupported-supported-list"),
        ("unsupported", "error.data.requested", GONE, "version.unsupported-requested"),
        ("unknown", "error.code", "-32601", "jsonrpc.error-code-integer"),
    ],
)
def test_an_invalid_member_of_a_modern_server_is_found(name, path, value, rule):
    found = judged(name, mutated(VALID[name], steps(path), value))
    location = path.replace(".0.", "[0].")
    assert [(one.partition(": ")[0], broken) for one, broken in found][:1] == [(location, rule)]


def test_modern_servers_send_no_requests_and_modern_clients_send_no_answers():
    asked = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    assert [rule for _, rule in errors_of(asked, None, MODERN, SERVER)] == ["stdio.no-server-requests"]
    assert errors_of(answer(roots=[]), asked, MODERN, CLIENT) != []
    assert errors_of(failure(-32601), asked, MODERN, CLIENT) != []


def test_a_modern_answer_is_a_result_or_an_error():
    both = {**FROM_SERVER["called"][1], "error": {"code": 1, "message": ""}}
    assert [rule for _, rule in judged("called", both)] == ["jsonrpc.result-xor-error"]


def test_a_result_is_modern_if_its_request_is_modern():
    plain = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert errors_of(answer(tools=5), plain, MODERN) == []
    assert errors_of(answer(tools=5), None, MODERN) == []
    assert errors_of(answer(tools=5), modern_request("tools/list"), MODERN) != []


def test_an_equal_result_is_judged_again_for_a_modern_request():
    plain = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    requests = [modern_request("server/discover"), plain, {**modern_request("tools/list"), "id": 3}]
    lines = [Line(True, b"", message=one) for one in requests]
    lines += [Line(False, b"", message={**complete(tools=[]), "id": id}) for id in (2, 3)]
    found = [wrong.path for _, wrong in conversation_errors(lines, MODERN, SERVER)]
    assert sorted(found) == ["result.cacheScope", "result.ttlMs"]


def test_a_modern_conversation_opened_without_a_version_is_not_judged():
    opened = [modern_request("tools/list"), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    asked = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
    found = [
        list(
            conversation_errors(
                [Line(True, b"", message=first), Line(False, b"", message=asked)], MODERN, SERVER
            )
        )
        for first in opened
    ]
    assert [bool(wrong) for wrong in found] == [True, False]


# --- our own messages -----------------------------------------------------------------------------

RETRIED = {
    *("params.inputResponses", "params.inputResponses.elicitation-1", "params.inputResponses.sampling-1"),
    "params.requestState",
}
DELIBERATE = {
    "": {"", "result.content"},
    "completion/complete": {
        *("params.argument", "params.argument.name", "params.argument.value"),
        *("params.ref", "params.ref.name", "params.ref.type"),
    },
    "initialize": {"params.capabilities", "params.clientInfo"},
    "logging/setLevel": {"params.level"},
    "notifications/cancelled": {"params", "params.requestId"},
    "prompts/get": {"params.arguments.name", "params.arguments.tone", "params.name", *RETRIED},
    "prompts/list": {"params.cursor"},
    "resources/list": {"params.cursor"},
    "resources/read": {"params", "params.uri", *RETRIED},
    "resources/subscribe": {"params.uri"},
    "resources/templates/list": {"params.cursor"},
    "server/discover": {f"params._meta.{revisions.LOG_LEVEL}"},
    "subscriptions/listen": {
        *("params.notifications", "params.notifications.resourceSubscriptions"),
        "params.notifications.toolsListChanged",
    },
    "tools/call": {"params", "params.arguments", "params.name", *RETRIED},
    "tools/list": {"jsonrpc", "params", "params.cursor"},
    "1": {"method", "params"},
}
"""The paths that checks make invalid on purpose, by method (empty for answers and for non-messages)."""


def is_deliberate(message, path):
    """Return True if an error is on purpose; requests with the id "bare ..." lack members of ``_meta``."""
    method, id = (message.get("method", ""), message.get("id")) if isinstance(message, dict) else ("", None)
    is_bare = str(id).startswith("bare ") and (path == "params" or path.startswith("params._meta"))
    return is_bare or path in DELIBERATE.get(str(method), ())


def agreed_revision(lines):
    """Return the revision that a conversation agreed on."""
    revision = revisions.LATEST_HANDSHAKE
    for line in lines:
        result = line.message.get("result") if isinstance(line.message, dict) else None
        if not line.sent and isinstance(result, dict):
            discovered = MODERN if "supportedVersions" in result else revision
            revision = result.get("protocolVersion", discovered)
    return revision


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", MODERN])
def test_our_messages_are_valid_unless_invalid_on_purpose(revision):
    conversations = []
    run = run_checks(settings_in_memory(recorded(conversations)), revision)
    assert (run.failures, run.verdicts) == ([], [])
    assert len([line for lines in conversations for line in lines if line.sent]) > 500
    wrong = {
        str(error): line.text
        for lines in conversations
        for (*_, line), error in conversation_errors(lines, agreed_revision(lines), CLIENT)
        if not is_deliberate(line.message, error.path)
    }
    assert wrong == {}


def test_three_thousand_messages_are_judged_in_a_second():
    tools = [{"name": f"tool{n}", "title": "Tool", "inputSchema": {"type": "object"}} for n in range(20)]
    lines = []
    for id in range(1500):
        asked = (
            {"jsonrpc": "2.0", "id": id, "method": "tools/list"}
            if id % 3
            else {"jsonrpc": "2.0", "id": id, **CALL}
        )
        result = {"tools": tools} if id % 3 else {"content": [{"type": "text", "text": str(id)}]}
        lines += [Line(True, b"", message=asked), Line(False, b"", message={**answer(**result), "id": id})]
    start = time.process_time()
    assert list(conversation_errors(lines, "2025-11-25", SERVER)) == []
    assert time.process_time() - start < 1
