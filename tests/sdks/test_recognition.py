"""An SDK is recognised by two independent signs; one alone recognises nothing."""

import sys
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import Reply, Unanswered
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.sdks import recognition
from mcp_conformance.sdks.names import Sdk
from mcp_conformance.sdks.packages import Package
from mcp_conformance.sdks.recognition import HTTP_TEXT, RUST_NAME, Sign, recognise
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance_fixtures.mutants import method, params, refused
from support import REFERENCE, mutant, run_suite, script
from support.in_memory import MemorySettings, VirtualClock, mutated
from support.sdk_samples import ISSUES
from support.typescript1_server import mutate as errors_of_typescript_1

MODERN = "2026-07-28"
TYPESCRIPT_1 = (sys.executable, script("typescript1_server"))
NOTE = "every server built on the TypeScript SDK 1.x"


def words_server(sdk):
    """Return the command of the reference server with words of an SDK."""
    return (sys.executable, script("sdk_words_server"), sdk)


# Runs


@pytest.mark.parametrize("sdk", ["go", "rust"])
def test_the_words_for_an_unknown_method_alone_excuse_nothing(sdk):
    run = run_suite(words_server(sdk), "--fuzz", "none", "--revision", MODERN, "--select", "reqmeta")
    assert [case.requirement for case in run.of("failed")] == ["reqmeta.missing-protocol-version"]
    assert "every server built on" not in run.output
    assert run.exit == 1


def test_an_sdk_that_ends_the_process_is_named_and_fails():
    run = run_suite(words_server("python1"), "--fuzz", "none", "--select", "cancel.race-graceful")
    (case,) = run.of("failed")
    assert (
        "every server built on the Python SDK 1.x does this; it counts, as it ends the process" in case.text
    )
    assert "not yours" not in run.output
    assert run.exit == 1


@pytest.mark.parametrize(("how", "exit"), [("report", 0), ("fail", 1)])
def test_a_deviation_of_an_sdk_is_reported_with_its_name(how, exit):
    run = run_suite(
        TYPESCRIPT_1, "--select", "errors", "--fuzz", "none", "--pedantic", "--strict", "--sdk-findings", how
    )
    known = {case.requirement: case.outcome for case in run.cases if f"{NOTE} does this" in case.text}
    assert known["errors.invalid-params-code"] == ("failed" if how == "fail" else "expected")
    assert (f"not yours: {NOTE} breaks " in run.output) == (how == "report")
    assert run.exit == exit


def test_a_deviation_of_the_server_itself_is_not():
    name = "get_without_a_name_is_an_internal_error"
    run = run_suite(mutant(name), "--select", "errors", "--fuzz", "none")
    assert [case.requirement for case in run.findings] == ["errors.invalid-params-code"]
    assert "every server built on" not in run.output


# Signs


def recognised(mutate, monkeypatch=None, packages=()):
    """Return what a mutated reference server is taken for, whose program has these packages."""
    if monkeypatch is not None:
        monkeypatch.setattr(recognition, "packages", lambda *_: list(packages))
    settings = MemorySettings(("in-memory",), serve=mutated(mutate), clock=VirtualClock())
    with closing(Server(settings, probe(settings, "2025-11-25", exactly=True))) as server:
        return recognise(server)


def with_errors(**words):
    """Return a mutation that gives other errors, as code and text.

    They are for an ``unknown`` method, params of the wrong ``shape`` and an unknown ``tool``.
    """

    def mutate(server, request, reply):
        name = method(request)
        if name == NO_SUCH_METHOD:
            given = words.get("unknown")
        elif name == "tools/call" and params(request).get("name") == NO_SUCH_NAME:
            given = words.get("tool")
        else:
            is_refusal = isinstance(reply, dict) and reply.get("error", {}).get("code") == -32602
            given = words.get("shape") if is_refusal else None
        if given is None:
            return None
        code, text = given
        return refused(request, code, text.replace("{}", name))

    return mutate


UNKNOWN = {
    Sdk.GO: (-32601, 'method not found: "{}"'),
    Sdk.RUST: (-32601, "{}"),
    Sdk.CSHARP: (-32601, "Method '{}' is not available."),
    Sdk.KOTLIN: (-32601, "Server does not support {}"),
}
SECOND = {
    Sdk.GO: {"shape": (-32602, "handling '{}': invalid params: unmarshaling it")},
    Sdk.RUST: {"tool": (-32602, "tool not found")},
    Sdk.CSHARP: {"shape": (-32603, "An error occurred.")},
}


@pytest.mark.parametrize("sdk", UNKNOWN)
def test_one_wording_recognises_nothing(sdk):
    assert recognised(with_errors(unknown=UNKNOWN[sdk])) is None


@pytest.mark.parametrize("sdk", SECOND)
def test_two_wordings_of_different_paths_recognise_an_sdk(sdk):
    found = recognised(with_errors(unknown=UNKNOWN[sdk], **SECOND[sdk]))
    assert found is not None
    assert (found.sdk, found.version) == (sdk, "")
    assert len(found.signs) == 2


@pytest.mark.parametrize("sdk", UNKNOWN)
def test_a_wording_and_a_package_recognise_an_sdk_with_its_version(monkeypatch, sdk):
    found = recognised(with_errors(unknown=UNKNOWN[sdk]), monkeypatch, [Package(sdk, "1.2.3")])
    assert found is not None
    assert (found.sdk, found.version) == (sdk, "1.2.3")


@pytest.mark.parametrize("sdk", Sdk)
def test_a_package_alone_recognises_nothing(monkeypatch, sdk):
    assert recognised(lambda *_: None, monkeypatch, [Package(sdk, "1.2.3")]) is None


def test_words_of_json_rpc_itself_are_no_second_sign_beside_a_package(monkeypatch):
    common = with_errors(unknown=(-32601, "Method not found"))
    assert recognised(common, monkeypatch, [Package(Sdk.TYPESCRIPT_1, "1.32.2")]) is None


def test_the_rust_sdks_error_for_wrong_params_is_of_the_same_path_as_for_unknown_methods():
    assert recognised(with_errors(unknown=UNKNOWN[Sdk.RUST], shape=(-32601, "{}"))) is None


def test_the_rust_sdk_is_recognised_by_its_own_name_in_server_info():
    unknown = with_errors(unknown=UNKNOWN[Sdk.RUST])

    def with_its_name(server, request, reply):
        if method(request) == "initialize":
            reply["result"]["serverInfo"] |= {"name": RUST_NAME, "version": "3.4.0"}
        return unknown(server, request, reply)

    found = recognised(with_its_name)
    assert found is not None
    assert (found.sdk, found.version) == (Sdk.RUST, "3.4.0")
    assert found.signs == {Sign.NAME, Sign.UNKNOWN_METHOD}


def test_the_typescript_sdk_1_is_recognised_without_tools():
    def without_calls(server, request, reply):
        if isinstance(request, dict) and method(request) == "tools/call":
            return refused(request, -32601, "Method not found")
        return errors_of_typescript_1(server, request, reply)

    found = recognised(without_calls)
    assert found is not None
    assert found.sdk is Sdk.TYPESCRIPT_1


def test_the_typescript_sdk_2_is_recognised_by_its_error_for_a_call():
    def mutate(server, request, reply):
        given = errors_of_typescript_1(server, request, reply)
        if method(request) == "tools/call" and "error" in reply:
            return refused(request, -32602, f"Invalid tools/call request: {ISSUES}")
        return given

    found = recognised(mutate)
    assert found is not None
    assert found.sdk is Sdk.TYPESCRIPT_2


def test_the_package_tells_two_majors_apart(monkeypatch):
    prompts_only = with_errors(unknown=(-32601, "Method not found"), shape=(-32603, ISSUES))

    def without_tools(server, request, reply):
        if method(request) == "initialize":
            reply["result"]["capabilities"].pop("tools")
        return prompts_only(server, request, reply)

    found = recognised(without_tools, monkeypatch, [Package(Sdk.TYPESCRIPT_2, "2.4.0")])
    assert found is not None
    assert found.sdk is Sdk.TYPESCRIPT_2


def test_the_go_sdk_is_recognised_by_its_text_over_http(monkeypatch):
    fault = Unanswered(0.0, instead=f"HTTP 400 Bad Request with the body {HTTP_TEXT!r}", status=400)

    def request(name, params):
        return Reply(Line.sending({"id": 1, "method": name}), fault=fault)

    settings = SimpleNamespace(command=("server",), here=None, env={})
    surface = SimpleNamespace(server_info=None)
    server = SimpleNamespace(
        session=SimpleNamespace(request=request), records={}, settings=settings, surface=surface
    )
    monkeypatch.setattr(recognition, "undeclared_requests", lambda _: [])
    monkeypatch.setattr(recognition, "misshapen_requests", lambda _: [])
    server.declares = lambda *_: False
    monkeypatch.setattr(recognition, "packages", lambda *_: [])
    assert recognise(server) is None
    server.records.clear()
    monkeypatch.setattr(recognition, "packages", lambda *_: [Package(Sdk.GO, "1.8.0")])
    found = recognise(server)
    assert found is not None
    assert found.sdk is Sdk.GO


def test_the_reference_server_is_on_no_sdk():
    settings = replace(MemorySettings(REFERENCE, clock=VirtualClock()), serve=mutated(None))
    with closing(Server(settings, probe(settings, "2025-11-25", exactly=True))) as server:
        assert recognise(server) is None
