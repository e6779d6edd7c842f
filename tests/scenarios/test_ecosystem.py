"""What an SDK does wrong in every server is reported as such; what a server does wrong itself is not."""

import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from mcp_conformance.client.reply import Closed, Reply, Silence, Unanswered
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.scenarios import sdk_deviations as ecosystem
from mcp_conformance.scenarios.sdk_deviations import (
    CSHARP,
    GO,
    KOTLIN,
    PYTHON_1,
    PYTHON_2,
    RUST,
    TYPESCRIPT_1,
    TYPESCRIPT_2,
    UNHANDLED,
)
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding
from mcp_conformance_fixtures.mutants import method, refused
from support import mutant, run_suite, script
from support.bench import run_checks, settings_in_memory
from support.in_memory import MemorySettings, VirtualClock, mutated
from support.typescript1_server import mutate as errors_of_typescript_1

IMITATION = (sys.executable, script("typescript1_server"))
NOTE = "every server built on the TypeScript SDK 1.x"


@pytest.mark.parametrize(("how", "exit"), [("report", 0), ("fail", 1)])
def test_a_deviation_of_an_sdk_is_reported_with_its_name(how, exit):
    run = run_suite(
        IMITATION, "--select", "errors", "--fuzz", "none", "--pedantic", "--strict", "--sdk-findings", how
    )
    known = {case.requirement: case.outcome for case in run.cases if f"{NOTE} does this" in case.text}
    assert known["errors.invalid-params-code"] == ("failed" if how == "fail" else "expected")
    assert f"not yours: {NOTE} breaks " in run.output
    assert run.exit == exit


def test_a_deviation_of_the_server_itself_is_not():
    name = "get_without_a_name_is_an_internal_error"
    run = run_suite(mutant(name), "--select", "errors", "--fuzz", "none")
    assert [case.requirement for case in run.findings] == ["errors.invalid-params-code"]
    assert "every server built on" not in run.output


def result(text, structured):
    """Return the line of a tool result."""
    return (
        f'< {{"result":{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{structured}}}}}'
    )


CONTENT = "tools.structured.text-fallback"
UNEXPLAINED = '{"id":1,"error":{"code":-32603,"message":"An error occurred."}}'
NOT_FOUND = '{"id":1,"error":{"code":-32602,"message":"Resource not found"}}'
BATCH = '> [{"id":"mixed 1"},{"id":"mixed 2"}]'
GARBAGE = "jsonrpc.garbage-not-fatal"
HINTS = "caching.hints.prompts-list"
MALFORMED = "tools.call.malformed-request-code"
CALL = '> {"id":1,"method":"tools/call","params":{}}'
LEVEL = "logging.set-level.invalid-code"
EARLY, OPEN = "lifecycle.request-before-initialize", "subscriptions.stays-open"
IDS, EVERY = "jsonrpc.id-types-accepted", "jsonrpc.response-every-request"
DEEP = f'"params":{{"a":{"[" * 5000}{"]" * 5000}}}'
LISTEN = '> {"id":4,"method":"subscriptions/listen","params":{"notifications":{}}}'
LISTEN_TO_TOOLS = LISTEN.replace("{}", '{"toolsListChanged":true}')
NAMED = '< {"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}},"tools":[]}}'


def as_text(body):
    """Return that a request was refused over HTTP with a text, so that no answer comes."""
    return Unanswered(0.0, instead=f"HTTP 400 Bad Request with the body {body!r}", status=400)


def known(monkeypatch, sdk, requirement, lines, fault=None):
    """Return the SDK that is named with a finding, on a server built on this one."""
    monkeypatch.setattr(ecosystem, "sdk_of", lambda server: sdk)
    proof = [Line(sent=line[0] == ">", raw=line[2:].encode()) for line in lines]
    return ecosystem.known_deviation(None, requirement, Finding("one", "other", proof, fault=fault))


@pytest.mark.parametrize(
    ("sdk", "requirement", "lines", "fault"),
    [
        (CSHARP, "pagination.cursor-type", [f"< {UNEXPLAINED}"], None),
        (CSHARP, "pagination.invalid-cursor-code", ['< {"id":1,"result":{"tools":[]}}'], None),
        (GO, "jsonrpc.garbage-not-fatal", ["> not JSON"], Closed(0)),
        (GO, "logging.set-level.invalid-code", ['< {"id":1,"result":{}}'], None),
        (GO, "pagination.cursor-same-operation", ['< {"id":1,"result":{"tools":[]}}'], None),
        (GO, "resources.read.not-found-code", [f"< {NOT_FOUND}"], None),
        (PYTHON_1, "batch.receive", [BATCH], None),
        (PYTHON_1, "batch.receive", [BATCH, '< {"id":null,"error":{}}'], None),
        (PYTHON_1, "cancel.race-graceful", ["> {}"], Closed(1)),
        (PYTHON_1, "cancel.race-graceful", ['< {"error":{"code":0,"message":"Request cancelled"}}'], None),
        (PYTHON_1, "errors.internal-error-code", ['< {"error":{"code":0,"message":"no"}}'], None),
        (PYTHON_2, CONTENT, ["> {}", result(2, '{"result":2}')], None),
        (PYTHON_2, CONTENT, [result("a", '{"result":"a"}')], None),
        (TYPESCRIPT_2, "reqmeta.wrong-types", ['> {"params":{"_meta":[]}}'], Silence(2)),
        (GO, GARBAGE, ["> this is not JSON", '> {"id":2,"method":"ping"}'], Closed(1)),
        (RUST, HINTS, ["> {}", '< {"result":{"resultType":"complete","prompts":[]}}'], None),
        (RUST, MALFORMED, [CALL, '< {"id":1,"error":{"code":-32601,"message":"tools/call"}}'], None),
        (CSHARP, MALFORMED, [CALL, f"< {UNEXPLAINED}"], None),
        (KOTLIN, "batch.receive", [BATCH], None),
        (GO, "batch.empty-array", ["> []"], Closed(1)),
        (GO, "batch.notifications-only-silent", ['> [{"method":"a"}]'], Closed(0)),
        (GO, OPEN, [LISTEN, '< {"id":4,"result":{}}'], None),
        (RUST, EARLY, ['> {"id":3,"method":"initialize"}'], Closed(1)),
        (RUST, "result.server-info", ["> {}", '< {"result":{"tools":[]}}'], None),
        (CSHARP, LEVEL, ['> {"params":{"level":3}}', '< {"result":{}}'], None),
        (GO, IDS, ['> {"id":9007199254740993}', '< {"id":9007199254740992,"result":{}}'], None),
        (RUST, IDS, ['> {"id":18446744073709551616}'], None),
        (GO, EVERY, [f'> {{"method":"ping",{DEEP}}}'], Closed(1)),
        (RUST, EVERY, [f'> {{"method":"server/discover",{DEEP}}}'], None),
        (GO, "errors.method-not-found-code", ["> {}"], as_text(UNHANDLED)),
        (GO, MALFORMED, ["> {}"], as_text('invalid request: missing required "params"')),
    ],
)
def test_what_an_sdk_does_is_recognised(monkeypatch, sdk, requirement, lines, fault):
    assert known(monkeypatch, sdk, requirement, lines, fault) == sdk


@pytest.mark.parametrize(
    ("sdk", "requirement", "lines", "fault"),
    [
        (CSHARP, "pagination.cursor-type", ['< {"error":{"code":-32603,"message":"no"}}'], None),
        (GO, "jsonrpc.garbage-not-fatal", ["> not JSON"], Silence(2)),
        (GO, "logging.set-level.invalid-code", ['< {"id":1,"error":{"code":-32603}}'], None),
        (PYTHON_1, "batch.receive", [BATCH, '< {"id":"mixed 1","result":{}}'], None),
        (PYTHON_1, "batch.receive", [BATCH], Closed(1)),
        (PYTHON_1, "cancel.race-graceful", ["> {}"], Closed(-11)),
        (PYTHON_1, "errors.internal-error-code", ['< {"error":{"code":-1,"message":"no"}}'], None),
        (PYTHON_2, CONTENT, [result("two", '{"result":2}')], None),
        (PYTHON_2, CONTENT, [result(2, '{"sum":2}')], None),
        (PYTHON_2, CONTENT, [result(2, '{"result":2}'), result(2, '{"sum":2}')], None),
        (TYPESCRIPT_2, "reqmeta.wrong-types", ['> {"params":{"_meta":5}}'], Silence(2)),
        (TYPESCRIPT_2, "reqmeta.wrong-types", ['> {"params":{"_meta":[]}}', '< {"result":{}}'], None),
        (GO, GARBAGE, ["> this is not JSON"], Closed(2)),
        (RUST, HINTS, ["> {}", '< {"result":{"ttlMs":5,"prompts":[]}}'], None),
        (RUST, HINTS, ["> {}", '< {"result":{"prompts":[{"name":"a"}]}}'], None),
        (RUST, MALFORMED, [CALL, '< {"id":1,"error":{"code":-32601,"message":"no tool"}}'], None),
        (CSHARP, MALFORMED, [CALL, '< {"error":{"code":-32603,"message":"no tool"}}'], None),
        (GO, "batch.empty-array", ["> []", '< {"id":null,"error":{"code":-32700}}'], None),
        (GO, OPEN, [LISTEN_TO_TOOLS, '< {"id":4,"result":{}}'], None),
        (RUST, EARLY, ['> {"id":3,"method":"initialize"}'], Closed(-11)),
        (RUST, EARLY, ['> {"id":3,"method":"tools/list"}'], Closed(1)),
        (RUST, "result.server-info", ["> {}", NAMED, '< {"result":{"tools":[]}}'], None),
        (CSHARP, LEVEL, ['> {"params":{"level":"loud"}}', '< {"result":{}}'], None),
        (GO, IDS, ['> {"id":9007199254740993}', '< {"id":5,"result":{}}'], None),
        (RUST, IDS, ['> {"id":18446744073709551616}'], Closed(1)),
        (RUST, IDS, ['> {"id":9007199254740993}'], None),
        (GO, EVERY, [f'> {{"method":"tools/call",{DEEP}}}'], Closed(1)),
        (GO, EVERY, [f'> {{"method":"ping",{DEEP}}}'], Closed(2)),
        (RUST, EVERY, ['> {"method":"ping","params":{}}'], None),
    ],
)
def test_what_a_server_does_itself_is_not_an_sdks(monkeypatch, sdk, requirement, lines, fault):
    assert known(monkeypatch, sdk, requirement, lines, fault) == ""


def ends_after_empty_batch(server, request, reply):
    """End at an empty array."""
    if request == []:
        raise SystemExit(1)


def ends_after_notices(server, request, reply):
    """End at an array of notifications."""
    if isinstance(request, list) and not any("id" in one for one in request):
        raise SystemExit(1)


def ends_at_late_initialize(server, request, reply):
    """Answer a request for the tools before initialize, and end then."""
    if method(request) == "tools/list":
        server.memory["listed"] = True
    if method(request) == "initialize" and "listed" in server.memory:
        raise SystemExit(1)


@pytest.mark.parametrize(
    ("sdk", "requirement", "revision", "mutate"),
    [
        (GO, "batch.empty-array", "2025-03-26", ends_after_empty_batch),
        (GO, "batch.notifications-only-silent", "2025-03-26", ends_after_notices),
        (RUST, EARLY, "2025-11-25", ends_at_late_initialize),
    ],
)
def test_a_check_shows_that_the_process_ended(monkeypatch, sdk, requirement, revision, mutate):
    settings = settings_in_memory(mutated(mutate))
    found = run_checks(settings, revision, lambda check: requirement in check.ids, is_whole=False)
    (error,) = {verdict.row.id: verdict.error for verdict in found.verdicts}.values()
    monkeypatch.setattr(ecosystem, "sdk_of", lambda server: sdk)
    assert ecosystem.known_deviation(None, requirement, error) == sdk


@pytest.mark.parametrize(
    ("sdk", "message"),
    [
        (GO, 'method not found: "{}"'),
        (RUST, "{}"),
        (CSHARP, "Method '{}' is not available."),
        (KOTLIN, "Server does not support {}"),
        ("", "No method {}"),
    ],
)
def test_an_sdk_is_recognised_by_its_words_for_an_unknown_method(sdk, message):
    def with_its_words(server, request, reply):
        if reply and "error" in reply and request["method"] == NO_SUCH_METHOD:
            return {**reply, "error": {"code": -32601, "message": message.format(NO_SUCH_METHOD)}}
        return None

    assert recognised(with_its_words) == sdk


def test_the_go_sdk_is_recognised_by_its_text_over_http():
    def request(name, params):
        return Reply(Line.sending({"id": 1, "method": name}), fault=as_text(UNHANDLED))

    server = SimpleNamespace(session=SimpleNamespace(request=request), records={})
    assert ecosystem.sdk_of(server) == GO


def test_an_sdk_is_recognised_by_a_method_that_the_server_has():
    def without_calls(server, request, reply):
        if isinstance(request, dict) and method(request) == "tools/call":
            return refused(request, -32601, "Method not found")
        return errors_of_typescript_1(server, request, reply)

    assert recognised(without_calls) == TYPESCRIPT_1


def recognised(mutate):
    """Return the SDK that a mutated reference server is taken for."""
    settings = MemorySettings(("in-memory",), serve=mutated(mutate), clock=VirtualClock())
    with closing(Server(settings, probe(settings, "2025-11-25", exactly=True))) as server:
        return ecosystem.sdk_of(server)
