"""Tools that reach an open world are called a few times only, unless the user wants more."""

import math
import re
from collections import Counter
from dataclasses import replace

import pytest

from mcp_conformance.client.session import timeout_of
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.options.given import BadOption, Given
from mcp_conformance.options.table import BY_NAME
from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.value import Value
from mcp_conformance.report.model import Result
from mcp_conformance.report.text import limit_lines
from mcp_conformance.requirements.catalogue import requirement
from mcp_conformance.sandbox.sandbox import Sandbox
from mcp_conformance.target.exercise import ToolExercise
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import OPEN_WORLD_CALLS, Settings
from mcp_conformance.target.tool_limits import ToolLimits
from mcp_conformance_fixtures.mutants import item, method, params
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
FIRST_CALLS = 1
FUZZED = "mcp_conformance_suites/test_fuzz_tools.py::test_valid_arguments_are_handled"


def in_open_world(server, request, reply):
    """Make echo a tool of an open world."""
    if method(request) == "tools/list" and item(reply, "echo"):
        item(reply, "echo")["annotations"] = {"readOnlyHint": True, "openWorldHint": True}


def calls_of_echo(*, open_world=True, fuzz="quick", **limits):
    """Fuzz the tool echo, and return how often it is called."""
    called = []

    def count(server, request, reply):
        if method(request) == "tools/call" and params(request).get("name") == "echo":
            called.append(request)
        if method(request) == "tools/list" and item(reply, "echo"):
            said = {} if open_world is None else {"openWorldHint": open_world}
            item(reply, "echo")["annotations"] = {"readOnlyHint": True, **said}

    settings = settings_in_memory(mutated(count), FUZZ_EXAMPLES[fuzz], **limits)
    run_checks(
        settings, REVISION, lambda check: check.suite == "test_fuzz_tools", is_whole=False, tools=("echo",)
    )
    return len(called) - FIRST_CALLS


@pytest.mark.parametrize(("limits", "most"), [({}, OPEN_WORLD_CALLS), ({"calls_per_tool": 60}, 60)])
def test_an_open_tool_is_called_a_few_times(limits, most):
    assert most / 2 < calls_of_echo(**limits) <= most


def test_a_tool_that_says_nothing_is_open():
    assert OPEN_WORLD_CALLS / 2 < calls_of_echo(open_world=None) <= OPEN_WORLD_CALLS


def test_no_tool_reaches_out_of_a_sandbox_without_network():
    (tool,) = tools_of({"name": "echo", "annotations": {"openWorldHint": True}})
    for sandbox, calls in ((Sandbox("landlock"), math.inf), (Sandbox("landlock", network=True), 20)):
        assert Settings(("x",), sandbox=sandbox).fuzzed_calls(tool) == calls


def test_a_tool_that_says_nothing_is_explored_in_full():
    silent, loud = tools_of({"name": "a"}, {"name": "b", "annotations": {"openWorldHint": True}})
    settings = Settings(("x",))
    assert (settings.explored_calls(silent), settings.explored_calls(loud)) == (math.inf, 10)
    assert Settings(("x",), calls_per_tool=8).explored_calls(silent) == 4


def tools_of(*definitions):
    return [Tool(Value(one)) for one in definitions]


@pytest.mark.parametrize("choice", [{"open_world": False}, {"fuzz": "thorough"}])
def test_other_tools_and_thorough_fuzzing_have_no_limit(choice):
    assert calls_of_echo(**choice) > 2 * OPEN_WORLD_CALLS


@pytest.mark.parametrize(("limits", "is_reported"), [({}, True), ({"calls_per_tool": 60}, False)])
def test_the_report_lists_the_tools_with_few_calls(limits, is_reported):
    settings = settings_in_memory(mutated(in_open_world), FUZZ_EXAMPLES["quick"], **limits)
    subject = probe_all(settings, (REVISION,))
    exercise = {"echo": ToolExercise(9, 0, Counter(a=9)), "add": ToolExercise(9, 0, Counter(a=9))}
    wanted = (
        "fuzzed with at most 20 calls each, as they may reach an open world: echo (openWorldHint: false says "
        "that they do not, a sandbox sees to it, and --calls-per-tool allows more)"
    )
    rule = requirement("tools.call.valid-not-fatal")
    results = [
        Result.of(rule, REVISION, node=FUZZED, outcome=Outcome.PASSED, tool=tool) for tool in ("echo", "add")
    ]
    assert list(limit_lines(subject, results, exercise)) == ([wanted] if is_reported else [])
    assert list(limit_lines(subject, results[:0], exercise)) == []
    subject.close()


# What holds for single tools ---------------------------------------------------------------------


def limited(*texts, **more):
    """Return settings in memory with limits as ``--tool-limits`` gives them."""
    limits = BY_NAME["tool-limits"].read(Given(texts, "--tool-limits"))
    return settings_in_memory(mutated(in_open_world), tool_limits=limits, **more)


def test_a_tool_has_limits_of_its_own_before_those_of_a_pattern():
    settings = limited(
        "e* timeout=5 fuzz=none", "echo timeout=0.5 calls-per-tool=7", timeout=20.0, examples=50
    )
    assert [settings.timeout_of(name) for name in ("echo", "end", "add")] == [0.5, 5.0, 20.0]
    assert [settings.examples_of(name) for name in ("echo", "end", "add", "")] == [50, 0, 50, 50]
    assert [settings.calls_of(name) for name in ("echo", "end")] == [7, 0]
    assert replace(settings, max_examples=9).examples_of("add") == 9
    assert replace(settings, max_examples=9).examples_of("end") == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo", "echo: timeout, fuzz, calls-per-tool can be limited, not ''"),
        ("echo timout=5", "not 'timout'; did you mean timeout?"),
        ("echo fuzz=quik", "not 'quik'; did you mean quick?"),
        ("echo timeout=0", "a number of seconds above 0 is expected"),
    ],
)
def test_a_wrong_limit_is_named(text, message):
    with pytest.raises(BadOption, match=re.escape(message)):
        limited(text)


def test_an_answer_of_a_tool_is_awaited_as_long_as_its_own_limit():
    session = next(iter(probe_all(limited("echo timeout=3"), (REVISION,)).sessions.values()))
    call = Line.sending({"id": 1, "method": "tools/call", "params": {"name": "echo"}})
    assert timeout_of(session, call) == 3.0
    assert timeout_of(session, Line.sending({"id": 1, "method": "ping"})) == session.timeout
    session.close()


def test_one_tool_alone_may_be_fuzzed():
    calls = {
        level: calls_of_echo(open_world=False, fuzz="none", tool_limits=(ToolLimits("echo", examples=level),))
        for level in (0, 50)
    }
    assert calls[0] == -FIRST_CALLS
    assert calls[50] > 2 * OPEN_WORLD_CALLS


@pytest.mark.parametrize(
    ("choice", "names"),
    [({"only_tools": ("e*",), "not_tools": ("env",)}, {"echo"}), ({"not_tools": ("*",)}, set())],
)
def test_only_the_chosen_tools_are_tested(choice, names):
    subject = probe_all(settings_in_memory(mutated(in_open_world), **choice), (REVISION,))
    (surface,) = subject.live
    assert {tool.name for tool in surface.tools} & {"echo", "env", "add"} == names
    (line,) = limit_lines(subject, [], {})
    assert line.endswith("(--tool and --not-tool leave them out)")
    subject.close()
