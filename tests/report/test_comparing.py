"""Comparison of two reports: rules that broke or are fixed, and changes that clients notice."""

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.compare import compared, comparison_lines
from mcp_conformance.report.model import DEAD, Interface, OfferedTool, Report, Result
from support import REFERENCE, forked, quick_mutant

NOW, BEFORE = "2025-11-25", "2025-06-18"
TITLE, SHAPE = "tools.def.title-string", "jsonrpc.message-shape"
ALL_MESSAGES = "test_messages.py::test_a_message_has_the_form_of_its_kind"
PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


def result(outcome, tool="add", check="test_a.py::test_a", rule=TITLE, *, cited=(), revision=NOW):
    node = f"mcp_conformance_suites/{check}[{revision}-{tool}]"
    facts = {"tool": tool, "reason": "wrong", "requirements": cited or (rule,)}
    return Result(node, rule, "MUST", "schema", revision, "", "", outcome, **facts)


def all_messages(outcome, rule=SHAPE):
    return result(outcome, "", ALL_MESSAGES, rule, cited=(SHAPE,))


def report(*results, tools=(), revision=NOW, **more):
    offered = Interface(revision, tools=tuple(tools), left_out=more.pop("left_out", 0))
    facts = {"revisions": (offered,), "results": results} | more
    return Report("1", ("server",), "server", "1.0", "2026-11-21", 1.0, **facts)


def between(old, new):
    return compared(report(*old), report(*new))


def names(rules):
    return [(one.requirement, one.tool, one.was, one.now) for one in rules]


# Rules


@pytest.mark.parametrize("outcome", [FAILED, Outcome.BLOCKED, Outcome.WARNED, Outcome.EXPECTED])
def test_rule_that_passed_and_is_broken_broke(outcome):
    worse = between([result(PASSED)], [result(outcome)])
    assert names(worse.broke) == [(TITLE, "add", "kept", outcome)]
    assert worse.is_worse
    better = between([result(outcome)], [result(PASSED)])
    assert (names(better.fixed), better.is_worse) == ([(TITLE, "add", outcome, "kept")], False)


@pytest.mark.parametrize("outcome", [PASSED, SKIPPED, Outcome.INTERNAL_ERROR, Outcome.INFO])
def test_rule_that_is_not_broken_did_not_break(outcome):
    comparison = between([result(PASSED)], [result(outcome)])
    assert (comparison.broke, comparison.fixed, comparison.is_worse) == ((), (), False)


def test_rule_that_was_broken_before_did_not_break():
    assert not between([result(FAILED)], [result(Outcome.EXPECTED)]).is_worse


def test_rule_that_is_no_longer_tested_is_reported():
    assert names(between([], [result(FAILED)]).broke) == [(TITLE, "add", "not tested", "failed")]
    comparison = between([result(FAILED)], [result(SKIPPED)])
    assert names(comparison.unseen) == [(TITLE, "add", "failed", "not tested")]
    assert (comparison.fixed, comparison.is_worse) == ((), False)


def test_rule_is_kept_if_its_check_found_nothing():
    """This includes rules that the check does not cite, and other findings of the check of all messages."""
    rule = "jsonrpc.response-every-request"
    assert names(between([result(PASSED)], [result(FAILED, rule=rule)]).broke) == [
        (rule, "add", "kept", "failed")
    ]
    comparison = between([all_messages(FAILED, rule)], [all_messages(FAILED)])
    assert names(comparison.fixed) == [(rule, "", "failed", "kept")]
    assert names(comparison.broke) == [(SHAPE, "", "kept", "failed")]


def test_finding_repeated_by_the_check_of_all_messages_is_reported_once():
    assert names(between([result(PASSED)], [result(FAILED), all_messages(FAILED, TITLE)]).broke) == [
        (TITLE, "add", "kept", "failed")
    ]


def test_same_change_in_several_revisions_is_one_change():
    old = [result(PASSED, revision=revision) for revision in (BEFORE, NOW)]
    new = [result(FAILED, revision=revision) for revision in (BEFORE, NOW)]
    (one,) = between(old, new).broke
    assert str(one) == f"{TITLE} (add) in 2025-06-18, 2025-11-25: was kept, now failed: wrong"


def test_rules_newly_or_no_longer_tested_are_named():
    comparison = between([result(PASSED)], [result(SKIPPED), all_messages(PASSED)])
    assert (comparison.newly_tested, comparison.no_longer_tested) == ((SHAPE,), (TITLE,))


# Tools


def tool(name="add", **definition):
    return OfferedTool(name, called=True, definition={"name": name, "inputSchema": {}} | definition)


def tool_changes(old, new, **more):
    comparison = compared(report(tools=old), report(tools=new, **more))
    return [str(one) for one in comparison.tools], comparison.is_worse


def test_new_and_removed_tools_are_reported():
    assert tool_changes([tool("a")], [tool("b")]) == (["a: BREAKING is gone", "b: is new"], True)
    assert tool_changes([tool("a")], [tool("b")], left_out=1) == (["b: is new"], False)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({"description": "a"}, {"description": "b"}, '`description` changed to "b"'),
        ({"title": "a"}, {}, "`title` changed to null"),
        ({}, {"annotations": {"readOnlyHint": True}}, "`readOnlyHint` is true, was null"),
        ({}, {"outputSchema": {}}, "outputSchema is new"),
        ({"outputSchema": {}}, {}, "BREAKING outputSchema is gone"),
        (
            *({"inputSchema": {}}, {"inputSchema": {"required": ["a"]}}),
            "BREAKING inputSchema: a is required now",
        ),
        (
            {"inputSchema": {"enum": [1]}},
            {"inputSchema": {}},
            "inputSchema: the value may also be other values",
        ),
        (
            *({"outputSchema": {"required": ["a"]}}, {"outputSchema": {}}),
            "BREAKING outputSchema: a is no longer required",
        ),
        ({"outputSchema": {}}, {"outputSchema": {"required": ["a"]}}, "outputSchema: a is required now"),
        ({"inputSchema": 1}, {"inputSchema": []}, "inputSchema: the value is described differently"),
    ],
    ids=str,
)
def test_definition_of_a_tool_is_compared(old, new, text):
    assert tool_changes([tool(**old)], [tool(**new)]) == ([f"add: {text}"], "BREAKING" in text)
    assert tool_changes([tool(**old)], [tool(**old)]) == ([], False)


def test_definition_missing_from_a_report_is_not_compared():
    assert tool_changes([tool()], [OfferedTool("add", called=True)]) == (
        ["add: is not compared, as its definition is too long"],
        False,
    )


def test_without_a_common_revision_the_newest_ones_are_compared():
    old, new = report(tools=[tool("a")], revision=BEFORE), report(tools=[tool("b")])
    comparison = compared(old, new)
    assert [str(one) for one in comparison.tools] == ["a: BREAKING is gone", "b: is new"]
    assert comparison.notes == ("2025-06-18 is no longer tested", "2025-11-25 was not tested before")
    dead = report(revisions=(Interface(NOW, state=DEAD),))
    assert compared(old, dead).tools == ()


def test_obstacles_to_the_comparison_are_notes():
    old = report(options={"fuzz": "none", "seed": "1"}, ended="interrupted")
    assert compared(old, report(options={"seed": "1"})).notes == (
        "the run of the first report ended early: interrupted",
        'option fuzz is null, was "none"',
    )


# The command

SELECTED = ("--select", "tools.def.title-string,pagination.invalid-cursor-code", "--revision", NOW)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Write the reports of three releases of a server; return their folder."""
    folder = tmp_path_factory.mktemp("reports")
    releases = {
        "good": REFERENCE,
        "title": quick_mutant("a_tool_has_a_null_title"),
        "cursor": quick_mutant("forged_cursor_gives_the_first_page"),
    }
    for name, server in releases.items():
        forked(["run", *SELECTED, "--report", f"{name}.json", "--", *server], folder, 120)
    (folder / "bad.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "exit", "verdict"),
    [
        ("title", "cursor", 1, "1 rule broke, 1 fixed"),
        ("title", "good", 0, "0 rules broke, 1 fixed"),
        ("good", "title", 1, "1 rule broke, 0 fixed"),
        ("good", "good", 0, "0 rules broke, 0 fixed"),
    ],
)
def test_exit_status_is_1_if_a_rule_broke(reports, old, new, exit, verdict):
    status, output = forked(["compare", f"{old}.json", f"{new}.json"], reports, 60)
    assert (status, output.splitlines()[-1]) == (exit, verdict)
    assert ("\nbroke\n" in output, "\nfixed\n" in output) == ("1 rule broke" in verdict, "1 fixed" in verdict)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("good.json", "none.json"), "none.json: "),
        (("bad.json", "good.json"), "bad.json: it is not a report"),
        (("good.json", "."), ".: "),
        (("good.json",), "required: new"),
        (("good.json", "good.json", "more"), "unrecognised arguments: more"),
    ],
    ids=" ".join,
)
def test_usage_error_is_one_line_and_exit_status_4(reports, words, message):
    status, output = forked(["compare", *words], reports, 60)
    assert (status, len(output.splitlines())) == (4, 1)
    assert message in output


def test_comparison_is_plain_text():
    """The names of tools cannot add control characters."""
    old, new = report(), report(result(FAILED, "a\x1b[2J\nb"), tools=[tool("a\x1b[2J\nb")])
    text = "\n".join(comparison_lines(old, new, compared(old, new)))
    assert "tools.def.title-string (a\\u001b[2J\\nb)" in text
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"const": "x"}, {"const": "x", "type": "string"}),
        ({"type": "string"}, {"type": "string", "minLength": 0}),
    ],
)
def test_schema_that_is_written_otherwise_breaks_nobody(old, new):
    for member in ("inputSchema", "outputSchema"):
        before, after = ({member: {"type": "object", "properties": {"a": one}}} for one in (old, new))
        assert not tool_changes([tool(**before)], [tool(**after)])[1]
        assert not tool_changes([tool(**after)], [tool(**before)])[1]
