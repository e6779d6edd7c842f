"""The table of facts about SDKs: each is named with its SDK, and the same fault counts without the SDK."""

import json
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from mcp_conformance.client.reply import Closed, Silence, Unanswered
from mcp_conformance.protocol.jsonrpc import Line, decode
from mcp_conformance.requirements.catalogue import requirement
from mcp_conformance.sdks import deviations, facts
from mcp_conformance.sdks.evidence import Evidence
from mcp_conformance.sdks.facts import FACTS, Fact
from mcp_conformance.sdks.names import Sdk
from mcp_conformance.sdks.predicates import dropped_unreadable, ended_among_cancellations, ended_beyond_depth
from mcp_conformance.sdks.recognition import Recognised, Sign
from mcp_conformance.verdicts import Blocked, Finding, outcome_of
from support import REFERENCE, run_suite
from support.sdk_samples import (
    ARRAY,
    BEYOND,
    CALL,
    COMPLETE,
    DEEP,
    ISSUES,
    LISTEN,
    PROMPT,
    READ,
    URI,
    ZOD_TOOL,
    blocked,
    error,
    finding,
    notification,
    request,
    result,
    samples,
    tool_error,
)

OWN_ISSUES = json.dumps([{"code": "invalid_type", "path": ["name"], "message": "Invalid input"}])
OWN_ERRORS = "Validation error: 2 validation errors for Order\nprice\n  Field required"
REVISION = "2025-11-25"
COUNTED = ("failed", "blocked", "warned")
SAMPLES = samples()
NUMBERS = [number for number, fact in enumerate(FACTS) if fact.of_tool is None]
ROWS = pytest.mark.parametrize(
    "number", NUMBERS, ids=[f"{FACTS[one].rule} {FACTS[one].sdk}" for one in NUMBERS]
)
PY1, PY2, TS1, TS2 = Sdk.PYTHON_1, Sdk.PYTHON_2, Sdk.TYPESCRIPT_1, Sdk.TYPESCRIPT_2
GO, RUST, CSHARP, KOTLIN = Sdk.GO, Sdk.RUST, Sdk.CSHARP, Sdk.KOTLIN
LIST = request("prompts/list")
OWN_TOOL = {"name": "sum", "inputSchema": ZOD_TOOL["inputSchema"]}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Return a function that returns the result of each fact in a run that recognises the SDK, or not."""

    @cache
    def report(is_recognised):
        path = tmp_path_factory.mktemp("report") / "report.json"
        with pytest.MonkeyPatch.context() as patch:
            if is_recognised:
                patch.setenv("RECOGNISED", "yes")
            run_suite(
                REFERENCE,
                *("--select", "ping.empty-result", "--revision", REVISION),
                *("-p", "support.sdk_facts_plugin", "--report", str(path)),
            )
        results = json.loads(path.read_text())["results"]
        return {one.get("got") or one["reason"]: one for one in results}

    return report


def alone(number):
    """Return the outcome that a fact has on a server without an SDK."""
    fact, verdict = SAMPLES[number]
    return outcome_of(verdict, requirement(fact.rule), REVISION)


@ROWS
def test_a_fact_is_named_with_its_sdk(reported, number):
    found = reported(True)[f"fact {number}"]
    harm = Evidence.of(SAMPLES[number][1]).harm
    is_excused = alone(number) in COUNTED and not harm
    assert found["deviation"] == FACTS[number].maker
    assert found.get("harm", "") == harm
    assert found["outcome"] == ("expected" if is_excused else alone(number))


@ROWS
def test_the_same_fault_without_the_sdk_counts(reported, number):
    found = reported(False)[f"fact {number}"]
    assert "deviation" not in found
    assert found["outcome"] == alone(number)


def test_an_ended_process_and_a_lost_answer_do_harm():
    harms = {(fact.rule, Evidence.of(verdict).harm) for fact, verdict in SAMPLES}
    assert {rule for rule, harm in harms if harm == "ends the process"} == {
        *("batch.empty-array", "batch.notifications-only-silent", "cancel.race-graceful"),
        *("cancel.malformed-ignored", "jsonrpc.garbage-not-fatal", "jsonrpc.response-every-request"),
        *("lifecycle.initialize.incomplete-answered", "lifecycle.ping-before-initialize"),
        "lifecycle.request-before-initialize",
    }
    assert {rule for rule, harm in harms if harm == "loses an answer"} == {
        *("batch.receive", "jsonrpc.id-types-accepted", "jsonrpc.response-every-request"),
        *("jsonrpc.response-id-echo", "reqmeta.wrong-types"),
    }
    assert {rule for rule, harm in harms if harm == "ends the session"} == {"cancel.race-graceful"}


def test_a_request_that_an_http_status_refuses_is_no_lost_answer():
    refused = Unanswered(0.0, instead="HTTP 400", status=400)
    assert Evidence.of(finding(request("ping", id=5), fault=refused)).harm == ""
    assert Evidence.of(finding(request("ping", id=5), fault=replace(refused, status=503))).harm


def test_each_fact_says_what_tells_the_server_apart():
    assert all(fact.apart for fact in FACTS)
    assert all(
        fact.issue.startswith("https://github.com/modelcontextprotocol/") for fact in FACTS if fact.issue
    )


# Predicates


def test_the_assertion_that_a_request_is_answered_once_is_the_sdks():
    ended = Closed(1, "AssertionError: Request already responded to")
    evidence = Evidence.of(blocked(request("ping"), ended))
    assert any(fact.shown(evidence) for fact in FACTS if fact.mended and fact.sdk is PY1)


@pytest.mark.parametrize(
    ("rule", "sent"),
    [
        ("batch.empty-array", []),
        ("jsonrpc.garbage-not-fatal", "not JSON"),
        ("jsonrpc.response-every-request", DEEP),
    ],
)
def test_a_reader_that_has_ended_is_the_sdks_however_late_its_process_ends(rule, sent):
    evidence = Evidence.of(finding(sent, fault=Silence(10)))
    assert {fact.sdk for fact in FACTS if fact.rule == rule and fact.shown(evidence)} >= {GO}


@pytest.mark.parametrize(
    ("sdk", "rule", "verdict"),
    [
        (CSHARP, "pagination.cursor-type", finding(LIST, error(-32603, "no"))),
        (GO, "jsonrpc.garbage-not-fatal", finding("not JSON", fault=Closed(2))),
        (GO, "logging.set-level.invalid-code", finding(request("logging/setLevel"), error(-32603, "no"))),
        (PY1, "batch.receive", finding(ARRAY, result("mixed 1"))),
        (PY1, "batch.receive", finding(ARRAY, fault=Closed(1))),
        (PY1, "cancel.race-graceful", finding(LIST, fault=Closed(-11))),
        (PY1, "cancel.race-graceful", finding(LIST, fault=Closed(1))),
        (PY1, "jsonrpc.response-every-request", blocked(LIST, Closed(1, "ZeroDivisionError"))),
        (PY1, "errors.internal-error-code", finding(PROMPT, error(-1, "no"))),
        (PY1, "prompts.get.missing-argument-code", finding(PROMPT, error(0, "Missing required argument: a"))),
        (PY1, "prompts.get.unknown-name-code", finding(PROMPT, error(0, "no such prompt"))),
        (PY1, "resources.read.not-found-code", finding(READ, error(0, f"nothing at {URI}"))),
        (PY1, "completion.unknown-prompt-code", finding(COMPLETE, result(completion={"values": ["a"]}))),
        (PY1, "tools.call.unknown-tool-is-error", tool_error("no such tool")),
        (PY1, "jsonrpc.response-every-request", finding(READ, fault=Silence(3))),
        (PY2, "jsonrpc.response-every-request", finding(DEEP)),
        (PY2, "tools.structured.text-fallback", finding(CALL, result(structuredContent={"sum": 2}))),
        (TS1, "resources.read.not-found-code", finding(READ, error(-32602, "no such resource"))),
        (TS1, "errors.invalid-params-code", finding(CALL, error(-32603, "bad"))),
        (TS1, "errors.invalid-params-code", finding(CALL, error(-32603, OWN_ISSUES))),
        (TS1, "errors.message-concise", finding(CALL, error(-32602, f"Not an order: {ISSUES}"))),
        (TS2, "errors.message-concise", finding(CALL, error(-32602, f"MCP error -32602: {OWN_ISSUES}"))),
        (PY1, "errors.message-concise", finding(CALL, error(-32602, OWN_ERRORS))),
        (TS1, "jsonrpc.id-types-accepted", finding(request("ping", id=2**53 - 1))),
        (
            *(TS1, "jsonschema.recommended-dialect"),
            finding(request("tools/list"), result(tools=[ZOD_TOOL, OWN_TOOL])),
        ),
        (TS1, "jsonrpc.response-every-request", finding(request("ping"))),
        (TS2, "jsonrpc.response-every-request", finding(request("ping", conformance=True))),
        (PY2, "prompts.get.missing-argument-code", finding(PROMPT, error(-32603, "There is no code"))),
        (TS1, "errors.invalid-params-code", finding(CALL, error(-32600, ISSUES))),
        (TS2, "reqmeta.wrong-types", finding(request("a", _meta=5), fault=Silence(2))),
        (TS2, "reqmeta.wrong-types", finding(request("a", _meta=[]), result())),
        (TS2, "version.unsupported-error", finding(request("server/discover"), result())),
        (RUST, "caching.hints.prompts-list", finding(LIST, result(ttlMs=5, prompts=[]))),
        (RUST, "caching.hints.prompts-list", finding(LIST, result(prompts=[{"name": "a"}]))),
        (RUST, "tools.call.malformed-request-code", finding(CALL, error(-32601, "no tool"))),
        (RUST, "lifecycle.request-before-initialize", finding(request("initialize"), fault=Closed(-11))),
        (RUST, "jsonrpc.id-types-accepted", finding(request("ping", id=2**64), fault=Closed(1))),
        (RUST, "jsonrpc.id-types-accepted", finding(request("ping", id=2**53 + 1))),
        (RUST, "jsonrpc.response-every-request", finding(request("ping"))),
        (GO, "batch.empty-array", finding([], error(-32700, "no", id=None))),
        (GO, "subscriptions.stays-open", finding(request("x", notifications={"a": True}), result())),
        (GO, "jsonrpc.id-types-accepted", finding(request("ping", id=2**53 + 1), result(5))),
        (GO, "jsonrpc.response-every-request", blocked({**DEEP, "method": "tools/call"}, Closed(1))),
        (GO, "jsonrpc.response-every-request", blocked(DEEP, Closed(2))),
        (GO, "reqmeta.missing-meta", finding(request("tools/list", _meta={"a": 1}), result())),
        (CSHARP, "logging.set-level.invalid-code", finding(request("a", level="loud"), result())),
    ],
)
def test_what_a_server_does_itself_is_not_an_sdks(sdk, rule, verdict):
    evidence = Evidence.of(verdict)
    assert not any(fact.shown(evidence) for fact in FACTS if (fact.rule, fact.sdk) == (rule, sdk))


@pytest.mark.parametrize(
    ("sdk", "rule", "verdict"),
    [(fact.sdk, fact.rule, verdict) for fact, verdict in SAMPLES],
    ids=[f"{one.rule} {one.sdk}" for one in FACTS],
)
def test_a_fact_is_not_another_sdks(monkeypatch, sdk, rule, verdict):
    those = {fact.sdk for fact in FACTS if fact.rule == rule and fact.shown(Evidence.of(verdict))}
    for other in set(Sdk) - those:
        monkeypatch.setattr(deviations, "recognise", lambda _, sdk=other: Recognised(sdk, "", frozenset()))
        assert deviations.known_fact(None, rule, verdict) is None
    assert sdk in those


@pytest.mark.parametrize(
    ("value", "texts", "is_wrapped"),
    [
        ("2024-02-29", ['"2024-02-29"'], True),
        ("Köln", ["Köln"], True),
        ({"a": ["ö"]}, ['{"a":["ö"]}'], True),
        (["a", "b"], ["a", "b"], True),
        ([{"a": 1}], ['{\n  "a": 1\n}'], True),
        ([], [], True),
        (5, ["five"], False),
        (["a", "b"], ["a"], False),
        ("a", [], False),
    ],
)
def test_a_wrapped_value_is_known_by_its_text(value, texts, is_wrapped):
    content = [{"type": "text", "text": text} for text in texts]
    evidence = Evidence.of(finding(CALL, result(content=content, structuredContent={"result": value})))
    (fact,) = (one for one in FACTS if (one.rule, one.sdk) == ("tools.structured.text-fallback", PY2))
    assert fact.shown(evidence) is is_wrapped


ZOD_3_TOOL = {
    "name": "add",
    "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {}, "additionalProperties": False}},
        "additionalProperties": False,
    },
    "execution": {"taskSupport": "forbidden"},
}


@pytest.mark.parametrize(
    ("change", "arguments", "is_sdks"),
    [
        ({}, {"b": 1}, True),
        ({}, {"a": {"b": 1}}, True),
        ({}, {"a": 5, "b": 1}, False),
        ({"execution": None}, {"b": 1}, False),
        ({"inputSchema": {"type": "object", "additionalProperties": False}}, {"b": 1}, False),
        ({"inputSchema": True}, {"b": 1}, False),
    ],
)
def test_a_member_that_zod_3_drops_though_its_schema_forbids_it_is_the_sdks(
    change, arguments, is_sdks, monkeypatch
):
    verdict = finding(request("tools/call", name="add", arguments=arguments), result(content=[]))
    monkeypatch.setattr(deviations, "recognise", lambda _: Recognised(TS1, "", frozenset()))
    tool = SimpleNamespace(name="add", definition=SimpleNamespace(json={**ZOD_3_TOOL, **change}))
    server = SimpleNamespace(surface=SimpleNamespace(tools=(tool,)))
    found = deviations.known_fact(server, "tools.call.inputs-validated", verdict)
    assert (found is not None and found.maker) == (is_sdks and "TypeScript SDK 1.x with Zod 3")


def test_a_subscription_and_a_cancelled_request_need_no_answer():
    cancelled = (request("ping", id=5), notification("notifications/cancelled", requestId=5))
    assert Evidence.of(finding(LISTEN)).harm == ""
    assert Evidence.of(finding(cancelled)).harm == ""
    assert Evidence.of(finding(request("ping", id=5))).harm == "loses an answer"


def test_a_line_is_read_as_it_was_on_the_wire():
    line = Line(True, b'{"id":1,"method":"ping","params":{"a":1}}', message={"id": 1, "method": "ping"})
    assert Evidence.of(finding(())) == Evidence(stderr="\n")
    shown = finding(())
    shown.lines = (line,)
    assert Evidence.of(shown).requests == [{"id": 1, "method": "ping", "params": {"a": 1}}]


# Versions


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        *(("", True), ("1.6.9", False), ("1.7.0", True), ("1.10.0", True)),
        *(("2.0.0", False), ("2.0.0-rc.1", True), ("1.7.0-rc.1", False), ("2.0.1-rc.1", False)),
    ],
)
def test_a_fact_holds_for_versions(version, holds):
    fact = Fact("ping.responds", GO, lambda _: True, "nothing", since="1.7.0", until="2.0.0")
    assert fact.holds_for(version) is holds


def test_the_version_of_the_sdk_selects_the_facts(monkeypatch):
    verdict = finding(READ, error(-32602, "Resource not found"))

    def named(version):
        signs = frozenset((Sign.PACKAGE, Sign.UNKNOWN_METHOD))
        monkeypatch.setattr(deviations, "recognise", lambda _: Recognised(GO, version, signs))
        return deviations.known_fact(None, "resources.read.not-found-code", verdict) is not None

    assert [named("1.6.1"), named("1.8.0"), named("")] == [False, True, True]


def test_a_call_that_was_not_cancelled_may_have_ended_the_process_itself():
    crossed = SAMPLES[next(n for n, fact in enumerate(FACTS) if fact.apart == facts.CANCELLED)][1]
    (call, cancellation, ping) = crossed.history
    for history, is_sdks in (((call, cancellation, ping), True), ((call, ping), False), ((ping,), False)):
        one = Blocked("", crossed.lines, fault=crossed.fault)
        one.history = history
        assert ended_among_cancellations(Evidence.of(one)) is is_sdks


def test_an_end_that_is_reported_without_its_fault_is_recognised():
    deep = Blocked("", [BEYOND])
    deep.seen = Closed(1)
    assert ended_beyond_depth(Evidence.of(deep))
    deep.seen = Closed(-11)
    assert not ended_beyond_depth(Evidence.of(deep))


@pytest.mark.parametrize(
    ("number", "is_dropped"), [("1" + "0" * 4999, True), ("1" + "0" * 99, False), ("1e400", False)]
)
def test_an_integer_of_more_digits_than_python_reads_is_dropped_by_the_python_sdk(number, is_dropped):
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"a":{number}}}}}'.encode()
    line = Line(True, raw, message=decode(raw)[0])
    evidence = Evidence.of(Finding("an answer", "none", [line], fault=Silence(3)))
    assert dropped_unreadable(evidence) == is_dropped
