"""What an SDK does wrong in every server is told as such; what a server does wrong itself is not."""

import sys

import pytest
from support import mutant, run_suite, script

from conformance.protocol.jsonrpc import Line
from conformance.scenarios import sdk_deviations as ecosystem
from conformance.scenarios.sdk_deviations import PYTHON_1, PYTHON_2, TYPESCRIPT_2
from conformance.verdicts import Finding

IMITATION = (sys.executable, script("typescript1_server"))
NOTE = "every server built on the TypeScript SDK 1.x"


def test_a_deviation_of_an_sdk_is_told_with_its_name():
    run = run_suite(IMITATION, "--select", "errors", "--fuzz", "none")
    known = [case.requirement for case in run.findings if f"{NOTE} does this" in case.text]
    assert "errors.invalid-params-code" in known
    assert f"Not only your server: {NOTE} breaks" in run.output


def test_a_deviation_of_the_server_itself_is_not():
    name = "get_without_a_name_is_an_internal_error"
    run = run_suite(mutant(name), "--select", "errors", "--fuzz", "none")
    assert [case.requirement for case in run.findings] == ["errors.invalid-params-code"]
    assert "every server built on" not in run.output


def result(text, structured):
    return f'{{"result":{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{structured}}}}}'


CONTENT = "tools.structured.text-fallback"
SILENT = "tools/list: no answer within 2 s"


def known(monkeypatch, sdk, requirement, got, line):
    """The SDK that is told with a finding, in a server on this one."""
    monkeypatch.setattr(ecosystem, "sdk_of", lambda server: sdk)
    finding = Finding("something else", got, [Line(sent=False, raw=line.encode())])
    return ecosystem.known_deviation(None, requirement, finding)


@pytest.mark.parametrize(
    ("sdk", "requirement", "got", "line"),
    [
        (PYTHON_1, "batch.receive", "none to mixed 1 and mixed 2", "[]"),
        (PYTHON_1, "cancel.race-graceful", "the server process ended (exit status 1)", ""),
        (PYTHON_2, CONTENT, 'result.structuredContent = {"result": 2}', result(2, '{"result":2}')),
        (PYTHON_2, CONTENT, 'result.structuredContent = {"result": "a"}', result("a", '{"result":"a"}')),
        (TYPESCRIPT_2, "reqmeta.wrong-types", SILENT, '{"_meta":[]}'),
    ],
)
def test_what_an_sdk_does_is_told_by_what_was_seen(monkeypatch, sdk, requirement, got, line):
    assert known(monkeypatch, sdk, requirement, got, line) == sdk


@pytest.mark.parametrize(
    ("sdk", "requirement", "got", "line"),
    [
        (PYTHON_1, "batch.receive", "none to mixed 2", "[]"),
        (PYTHON_1, "batch.receive", "none to mixed 1 and mixed 2: the server process ended", "[]"),
        (PYTHON_1, "cancel.race-graceful", "the server process ended (signal 11)", ""),
        (PYTHON_2, CONTENT, 'result.structuredContent = {"result": 2}', result("two", '{"result":2}')),
        (PYTHON_2, CONTENT, 'result.structuredContent = {"sum": 2}', result(2, '{"sum":2}')),
        (TYPESCRIPT_2, "reqmeta.wrong-types", SILENT, '{"_meta":5}'),
    ],
)
def test_what_a_server_does_itself_is_told_by_what_was_seen(monkeypatch, sdk, requirement, got, line):
    assert known(monkeypatch, sdk, requirement, got, line) == ""
