"""What was exercised, in the verdict and in each format: its tools, and what the user requires of it."""

import json
from collections import Counter
from dataclasses import replace

import jsonschema
import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.compare import compared, comparison_lines
from mcp_conformance.report.exercise import (
    ASKS_CLIENT,
    NEEDS_TASK,
    NOT_PERMITTED,
    NOT_REACHED,
    ExercisedTool,
    RequiredExercise,
    exercised_tools,
)
from mcp_conformance.report.formats import badge_json, changes, github, html, markdown, sarif, terminal
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.report.servers.text import table
from mcp_conformance.report.text import lacking_line, limit_lines
from mcp_conformance.target.exercise import ToolExercise
from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.mutants import item, method
from support.bench import settings_in_memory
from support.in_memory import mutated
from support.sample_report import REPORT, failed, is_read_back, result

REVISION = "2025-11-25"
SCHEMA = json.loads(json_format.SCHEMA.read_text())
PASSED = result("ping.empty-result", Outcome.PASSED)
TOO_FEW = "too few tools were exercised; otherwise passed"
WARNED = result("pagination.invalid-cursor-code", Outcome.WARNED)

UNLISTED = result(
    "tools.list.answered",
    Outcome.SKIPPED,
    reason="tools/list could not be judged: no host (fetch failed)",
    cause="no-host",
)


def works(name, **more):
    return ExercisedTool(name, calls=20, successes=10, answers=2, origins=("made up",), **more)


def fails(name):
    return ExercisedTool(name, calls=20)


def unreached(name):
    return ExercisedTool(name, calls=20, lacks="ENOTFOUND")


def barred(name):
    return ExercisedTool(name, NOT_PERMITTED)


def report(*tools, results=(PASSED,), **more):
    return replace(REPORT, results=results, ended="", exercise=tools, **{"lacking": "", **more})


# The verdict -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "status", "headline"),
    [
        (report(works("a"), fails("b")), "passed", "passed; 1 of 2 tools exercised"),
        (report(works("a"), barred("b")), "passed", "passed; 1 of 1 tool exercised, 1 not called"),
        (report(), "passed", "passed"),
        (report(barred("a")), "passed", "passed"),
        (report(ExercisedTool("a", NEEDS_TASK)), "passed", "passed"),
        (report(fails("a"), fails("b")), "unexercised", "passed at the door: none of 2 tools was exercised"),
        (report(fails("a"), barred("b")), "unexercised", "passed at the door: its tool was not exercised"),
        (
            report(unreached("a"), unreached("b")),
            "unexercised",
            "could not be judged: no host is reached (ENOTFOUND), so none of 2 tools was exercised",
        ),
        (
            report(unreached("a"), fails("b")),
            "unexercised",
            "passed at the door: none of 2 tools was exercised",
        ),
        (
            report(results=(PASSED, UNLISTED)),
            "unexercised",
            "tools/list could not be judged: no host (fetch failed)",
        ),
        (
            report(fails("a"), results=(PASSED, WARNED)),
            "unexercised",
            "passed at the door, with 1 warning: its tool was not exercised",
        ),
        (
            report(fails("a"), results=(failed("a"),)),
            "failed",
            "does not conform: 1 rule broken; 0 of 1 tool exercised",
        ),
        (
            report(works("a"), fails("b"), lacking="80%"),
            "failed",
            f"{TOO_FEW}; 1 of 2 tools exercised",
        ),
        (
            report(fails("b"), lacking="80%", outdated=("x",)),
            "failed",
            f"the baseline is out of date and {TOO_FEW}; 0 of 1 tool exercised",
        ),
        (report(works("a"), results=()), "untested", "nothing was tested"),
        (report(works("a"), fails("b"), is_partial=True), "passed", "passed"),
        (report(fails("a"), is_partial=True), "passed", "passed"),
    ],
)
def test_the_verdict_says_how_much_was_exercised(found, status, headline):
    assert (found.status, found.headline) == (status, headline)
    data = json.loads(json_format.render(found))
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data)) == []
    assert data["verdict"]["status"] == status
    assert is_read_back(found, json_format.read(json_format.render(found)))
    assert terminal.render(found).splitlines()[0] == f"verdict: {headline}"
    assert headline in markdown.render(found)
    assert f'<p class="verdict {status}">{headline}</p>' in html.render(found)


def test_a_report_without_the_figures_is_read():
    """Those of earlier versions have none."""
    data = json.loads(json_format.render(report(works("a"))))
    del data["exercise"]
    assert is_read_back(report(), json_format.read(json.dumps(data)))


# The formats -------------------------------------------------------------------------------------

SOME = report(works("a"), fails("b"), barred("c"), ExercisedTool("d", NEEDS_TASK))


def test_the_terminal_has_a_table_if_it_is_verbose():
    quiet, verbose = (terminal.render(SOME, verbose=verbose) for verbose in (False, True))
    assert "successes" not in quiet
    rows = [line.split() for line in verbose.splitlines()]
    assert ["a", "20", "10", "2", "made", "up"] in rows
    assert ["b", "20", "0", "0"] in rows
    assert "not counted, as it can only be called as a task: d" in verbose


def test_a_long_line_of_origins_is_wrapped():
    origins = tuple(f"an answer of list_things_{number}" for number in range(9))
    shown = terminal.render(report(replace(works("x" * 80), origins=origins)), verbose=True)
    assert max(map(len, shown.splitlines())) <= 115
    assert "list_things_8" in shown


def test_the_badge_and_github_do_not_call_an_empty_run_green():
    empty = report(fails("a"), fails("b"))
    badge = json.loads(badge_json.render(empty))
    assert (badge["message"], badge["color"]) == ("no tool exercised", "yellow")
    (line,) = github.commands(empty)
    assert line.startswith("::warning ")
    assert line.endswith("::passed at the door: none of 2 tools was exercised")


def test_too_little_is_an_error_everywhere():
    lacks = report(works("a"), fails("b"), lacking="1 of 2 tools exercised, 2 required")
    badge = json.loads(badge_json.render(lacks))
    assert (badge["message"], badge["color"]) == ("too few tools exercised", "red")
    texts = (terminal.render(lacks), markdown.render(lacks), html.render(lacks), sarif.render(lacks))
    assert all(lacks.lacking in text for text in (*texts, *github.commands(lacks)))


def test_the_markdown_is_short_with_many_tools():
    many = report(*(works(f"tool_{number}|{'x' * 200}") for number in range(500)))
    text = markdown.render(many)
    assert len(text) < markdown.MAX_LENGTH
    assert "and 440 more" in text


def test_servers_have_a_column_if_one_has_tools():
    outcomes = (
        ServerOutcome("one", 0, report=SOME),
        ServerOutcome("two", 0, report=report()),
        ServerOutcome("part", 0, report=replace(SOME, is_partial=True)),
        ServerOutcome("three", None, "it is remote"),
    )
    head, *rows = table(ServersReport("mcp.json", outcomes, "1"))
    assert head.split() == ["server", "outcome", "passed", "exercised", "seconds"]
    assert rows[0].split() == ["one", "passed", "1", "1/2", "12"]
    assert rows[1].split() == ["two", "passed", "1", "12"]
    head, *_ = table(ServersReport("mcp.json", outcomes[1:], "1"))
    assert "exercised" not in head


# Two reports -------------------------------------------------------------------------------------


def test_a_comparison_names_the_tools():
    old = report(works("a"), fails("b"), works("gone"))
    new = report(fails("a"), works("b"), works("new"))
    found = compared(old, new)
    assert (found.newly_exercised, found.no_longer_exercised) == (("b",), ("a",))
    assert not found.is_worse
    assert not found.is_empty
    lines = list(comparison_lines(old, new, found))
    assert "\ntools no longer exercised: a" in lines
    assert "#### Tools exercised for the first time\n\n- `b`" in "\n".join(changes.blocks(old, found, "main"))


def test_a_run_that_no_longer_gets_inside_is_worse():
    found = compared(report(works("a"), fails("b")), report(fails("a"), fails("b")))
    assert found.is_worse
    assert found.verdict.endswith("no tool is exercised any more")
    assert not compared(report(), report(fails("a"))).is_worse
    assert compared(report(works("a")), report(works("a"))).is_empty
    assert compared(report(works("a")), report(fails("a"), is_partial=True)).is_empty


# What a user requires ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tools", "is_met"),
    [
        ("80%", [works("a")] * 4 + [fails("b")], True),
        ("80%", [works("a")] * 3 + [fails("b")], False),
        ("80%", [works("a"), works("b"), barred("c")], True),
        ("100%", [works("a"), fails("b")], False),
        ("0%", [fails("a"), barred("b")], True),
        ("0.5%", [fails("a")], False),
        ("2", [works("a"), works("b"), fails("c")], True),
        ("2", [works("a"), barred("b")], False),
        ("80%", [], True),
        ("1", [], False),
        ("80%", [barred("a")], False),
        ("80%", [ExercisedTool("a", NEEDS_TASK)], True),
    ],
)
def test_what_is_required(text, tools, is_met):
    assert RequiredExercise.of(text).is_met(tools) is is_met
    assert (lacking_line(tools, RequiredExercise.of(text)) == "") is is_met


@pytest.mark.parametrize("text", ["", "80 %x", "101%", "-1", "1.5", "all"])
def test_what_cannot_be_required(text):
    with pytest.raises(ValueError, match="percents such as 80%, or a number of tools, are expected"):
        RequiredExercise.of(text)


def test_the_line_names_what_was_never_exercised_and_what_to_do():
    line = lacking_line([works("a"), fails("b"), barred("c")], RequiredExercise.of("80%"))
    assert line.startswith("1 of 2 tools exercised, 80% required; never: b; give arguments that work (--ex")
    assert line.endswith("; 1 tool may not be called (--call releases them)")
    assert all(word in line for word in ("--example", "--found-values", "{folder}", "learn"))
    assert lacking_line([fails("b")], None) == ""
    many = lacking_line([fails(f"tool_{number}") for number in range(40)], RequiredExercise.of("80%"))
    assert "tool_11 and 28 more" in many


# The tools ---------------------------------------------------------------------------------------


def with_a_task(server, request, reply):
    """Make echo a tool that needs a task."""
    if method(request) == "tools/list" and item(reply, "echo"):
        item(reply, "echo")["execution"] = {"taskSupport": "required"}


@pytest.fixture(scope="module")
def subject():
    settings = replace(settings_in_memory(mutated(with_a_task)), call=("readonly", "fail", "echo"))
    found = probe_all(settings, (REVISION,))
    yield found
    found.close()


COUNTED = {
    "add": ToolExercise(5, 0, Counter(a=3, b=1), origins_of={"a": {"made up"}, "b": {"made up"}}),
    "fail": ToolExercise(2, 0),
    "nothing": ToolExercise(asks=1),
    "count": ToolExercise(obstacle="no valid arguments: none match"),
}


@pytest.mark.parametrize("is_whole", [True, False])
def test_each_tool_counts_or_has_a_reason(subject, is_whole):
    tools = {one.name: one for one in exercised_tools(subject, COUNTED, {}, is_whole=is_whole)}
    assert list(tools) == [tool.name for tool in subject.live[0].tools]
    assert tools["add"] == ExercisedTool("add", "", 5, 4, 2, ("made up",))
    assert tools["fail"] == ExercisedTool("fail", "", 2)
    assert tools["echo"].why_not == NEEDS_TASK
    assert tools["nothing"].why_not == ASKS_CLIENT
    assert tools["grow"].why_not == NOT_PERMITTED
    assert tools["count"].why_not == "no valid arguments: none match"
    others = {one.why_not for name, one in tools.items() if name not in (*COUNTED, "echo", "grow", "change")}
    assert others == {NEEDS_TASK, "" if is_whole else NOT_REACHED}


def test_an_earlier_run_counts_for_tools_that_were_not_called(subject):
    earlier = {"add": works("add"), "weather": works("weather")}
    known = {one.name: one for one in exercised_tools(subject, COUNTED, earlier, is_whole=True)}
    assert known["add"].calls == 5
    assert known["weather"] == earlier["weather"]


def test_a_tool_that_asks_the_client_is_not_said_to_fail(subject):
    lines = list(limit_lines(subject, [], {**COUNTED, "nothing": ToolExercise(3, asks=1)}))
    (line,) = [line for line in lines if line.startswith("no call succeeded")]
    assert line.startswith("no call succeeded: fail (0 of 2)")
    assert "nothing" not in line


def test_tools_of_which_no_call_succeeded_are_in_the_first_lines():
    vain = ExercisedTool("memo://{day}", calls=3, kind="template")
    found = report(works("a"), fails("b"), *map(unreached, "cdefghi"), vain)
    _, *lines = terminal.render(found).splitlines()
    assert lines[:3] == [
        "  - no call succeeded, so nothing behind it was tested: b, template memo://{day}",
        "  - could not be judged, as no host is reached (ENOTFOUND): c, d, e, f, g and 2 more",
        lines[2],
    ]
    assert all("nothing behind it was tested: b, " in one.render(found) for one in (markdown, html))
    some = replace(found, is_partial=True)
    assert "no call succeeded, so" not in terminal.render(some)
    assert "no call succeeded, so" not in terminal.render(report(works("a")))
