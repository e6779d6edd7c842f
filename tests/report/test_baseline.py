"""The baseline: expected findings do not fail, new ones do, and outdated entries are reported."""

import re
import shlex
import sys
import tomllib
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.baseline import (
    Baseline,
    BaselineEntry,
    RunEvidence,
    outdated_entries,
    parse,
    to_toml,
    updated,
)
from mcp_conformance.report.model import Result
from mcp_conformance.requirements.checks import checked
from mcp_conformance.transport.files import BadFile
from support import REFERENCE, forked, quick_mutant, run_suite
from support.nightly import nightly

TODAY = date(2026, 11, 21)
NOW, BEFORE = "2025-11-25", "2025-06-18"
TITLE = "tools.def.title-string"
CHECK = next(f"{check.suite}::{check.name}" for check in checked()[TITLE])
ALL_MESSAGES = "test_messages.py::test_a_message_has_the_form_of_its_kind"
LISTED = {NOW: frozenset({"add", "nothing"})}
FAILED, PASSED, SKIPPED = Outcome.FAILED, Outcome.PASSED, Outcome.SKIPPED


def result(outcome, tool="nothing", check=CHECK, revision=NOW, requirement=TITLE):
    node = f"mcp_conformance_suites/{check}[{revision}{'-' if tool else ''}{tool}]"
    return Result(node, requirement, "MUST", "schema", revision, "", "", outcome, tool)


def all_messages(outcome, requirement="jsonrpc.message-shape", revision=NOW):
    return result(outcome, "", ALL_MESSAGES, revision, requirement)


def outdated(entry, *results, listed=LISTED):
    """Return the reports about an outdated entry after a run, without its line."""
    baseline = Baseline("expected.toml", (replace(entry, line=7),))
    texts = list(outdated_entries(baseline, RunEvidence(results, listed), TODAY))
    assert all(text.startswith("expected.toml:7: ") for text in texts)
    return [text.removeprefix("expected.toml:7: ") for text in texts]


def excused(entry, one):
    return Baseline("", (entry,)).excuse(one, TODAY) is entry


# Expected findings


@pytest.mark.parametrize(
    ("entry", "holds"),
    [
        (BaselineEntry(TITLE), True),
        (BaselineEntry(TITLE, "nothing"), True),
        (BaselineEntry(TITLE, "add"), False),
        (BaselineEntry(TITLE, revisions=(NOW,)), True),
        (BaselineEntry(TITLE, revisions=(BEFORE,)), False),
        (BaselineEntry("tools.def.name-string"), False),
        (BaselineEntry(TITLE, expires=TODAY), True),
        (BaselineEntry(TITLE, expires=date(2026, 11, 20)), False),
    ],
    ids=["rule", "tool", "other tool", "revision", "other revision", "other rule", "last day", "expired"],
)
def test_entry_excuses_the_findings_that_it_names(entry, holds):
    assert excused(entry, result(FAILED)) is holds


@pytest.mark.parametrize("outcome", [PASSED, SKIPPED, Outcome.INTERNAL_ERROR])
def test_only_findings_are_excused(outcome):
    assert not excused(BaselineEntry(TITLE), result(outcome))


def test_check_of_all_messages_fits_the_entry_of_any_tool():
    assert excused(BaselineEntry(TITLE, "nothing"), all_messages(FAILED, TITLE))
    assert not excused(BaselineEntry(TITLE, "nothing"), result(FAILED, tool="add"))


def test_narrower_entry_gives_the_reason():
    wide, narrow = BaselineEntry(TITLE, reason="all"), BaselineEntry(TITLE, "nothing", reason="this one")
    assert Baseline("", (wide, narrow)).excuse(result(FAILED), TODAY) is narrow
    assert Baseline("", (narrow, wide)).excuse(all_messages(FAILED, TITLE), TODAY) is wide


# Outdated entries

FIXED = [f"{TITLE} (nothing) is fixed: remove this entry"]
FOUND_BY = BaselineEntry(TITLE, "nothing", checks=(CHECK,))
BY_HAND = BaselineEntry(TITLE, "nothing")


@pytest.mark.parametrize("entry", [FOUND_BY, BY_HAND], ids=["found", "by hand"])
def test_entry_of_a_fixed_rule_is_outdated(entry):
    assert outdated(entry, result(PASSED), all_messages(PASSED)) == FIXED


@pytest.mark.parametrize("entry", [FOUND_BY, BY_HAND], ids=["found", "by hand"])
@pytest.mark.parametrize(
    "results",
    [
        [],
        [all_messages(PASSED)],
        [result(SKIPPED), all_messages(PASSED)],
        [result(Outcome.INTERNAL_ERROR), all_messages(PASSED)],
        [result(PASSED, tool="add"), all_messages(PASSED)],
        [result(PASSED, revision=BEFORE), all_messages(PASSED, revision=BEFORE)],
        [result(FAILED, requirement="tools.def.name-string"), all_messages(PASSED)],
        [result(FAILED)],
        [result(Outcome.EXPECTED)],
        [result(Outcome.INFO)],
    ],
    ids=[
        *("not run", "not selected", "skipped", "internal error", "other tool", "other revision"),
        *("broken otherwise", "failed", "expected", "info"),
    ],
)
def test_entry_of_a_rule_broken_or_not_tested_is_not_outdated(entry, results):
    assert outdated(entry, *results) == []


def test_flaky_entry_is_not_outdated():
    flaky = replace(FOUND_BY, flaky=True)
    assert outdated(flaky, result(PASSED)) == []
    assert renewed([flaky], result(PASSED)) == ([flaky], [])


def test_entry_without_checks_is_outdated_only_after_the_check_of_all_messages():
    assert outdated(BY_HAND, result(PASSED)) == []
    assert outdated(FOUND_BY, result(PASSED)) == FIXED


def test_entry_is_outdated_only_after_all_its_checks():
    entry = replace(FOUND_BY, checks=(CHECK, "test_tools_call.py::test_gone_from_the_suites", ALL_MESSAGES))
    assert outdated(entry, result(PASSED)) == []
    assert outdated(entry, result(PASSED), all_messages(FAILED)) == FIXED


def test_check_of_all_messages_does_not_keep_the_entry_of_a_tool():
    assert outdated(FOUND_BY, result(PASSED), all_messages(FAILED, TITLE)) == FIXED
    assert outdated(replace(FOUND_BY, tool=""), result(PASSED), all_messages(FAILED, TITLE)) == []


def test_entry_of_a_removed_tool_is_outdated():
    assert outdated(BaselineEntry(TITLE, "gone")) == [
        f"{TITLE}: the server lists no tool 'gone': remove this entry"
    ]
    assert outdated(BaselineEntry(TITLE, "gone"), listed={NOW: None}) == []
    assert outdated(BaselineEntry(TITLE, "gone", (BEFORE, NOW))) == []


def test_each_revision_is_judged_by_itself():
    both = {NOW: LISTED[NOW], BEFORE: LISTED[NOW]}
    entry = replace(FOUND_BY, revisions=(BEFORE, NOW))
    results = [result(PASSED, revision=BEFORE), result(Outcome.EXPECTED)]
    assert outdated(entry, *results, listed=both) == [
        f"{TITLE} (nothing) is fixed in 2025-06-18: remove that from `revisions`"
    ]
    assert outdated(FOUND_BY, *results, listed=both) == []
    assert outdated(FOUND_BY, result(PASSED), result(SKIPPED, revision=BEFORE), listed=both) == []


def test_unknown_requirement_is_reported_with_suggestions():
    (text,) = outdated(BaselineEntry("tools.def.titel-string"))
    assert re.match(f"there is no requirement 'tools.def.titel-string' .did you mean {TITLE} or ", text)
    assert text.endswith(": remove this entry")
    assert outdated(BaselineEntry("tools"))


def test_expired_entry_is_reported_if_its_rule_was_tested():
    entry = replace(FOUND_BY, expires=date(2026, 11, 20))
    assert outdated(entry, result(FAILED)) == [
        f"{TITLE} (nothing) expired on 2026-11-20 and is still broken: fix it, or set a later date"
    ]
    assert outdated(entry, result(PASSED)) == FIXED
    assert outdated(entry, result(SKIPPED)) == []


# Updating


def renewed(entries, *results, listed=LISTED):
    update = updated(Baseline("expected.toml", tuple(entries)), RunEvidence(results, listed))
    return list(update.baseline.entries), list(update.changes)


def test_new_finding_is_added_without_a_reason():
    entries, changes = renewed([], result(FAILED), result(PASSED, "add"), all_messages(FAILED, TITLE))
    assert entries == [FOUND_BY]
    assert changes == [f"added: {TITLE} (nothing)"]


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.WARNED])
def test_blocked_or_warned_finding_is_added(outcome):
    assert renewed([], result(outcome))[0] == [FOUND_BY]


@pytest.mark.parametrize("outcome", [Outcome.INFO, SKIPPED, Outcome.INTERNAL_ERROR])
def test_note_or_skip_is_not_added(outcome):
    assert renewed([], result(outcome)) == ([], [])


def test_reason_and_date_of_a_broken_rule_are_kept():
    entry = replace(FOUND_BY, reason="soon", expires=date(2020, 1, 1))
    assert renewed([entry], result(FAILED)) == ([entry], [])
    assert renewed([entry]) == ([entry], [])
    assert renewed([entry], result(PASSED)) == ([], [f"dropped: {TITLE} (nothing) is fixed"])


def test_entry_without_checks_gets_its_checks():
    assert renewed([BY_HAND], result(FAILED))[0] == [FOUND_BY]


def test_revisions_are_named_if_they_differ():
    both = {NOW: LISTED[NOW], BEFORE: LISTED[NOW]}
    here, there = result(FAILED), result(FAILED, revision=BEFORE)
    assert renewed([], here, there, listed=both)[0] == [FOUND_BY]
    assert renewed([], here, result(PASSED, revision=BEFORE), listed=both)[0] == [
        replace(FOUND_BY, revisions=(NOW,))
    ]
    entry = replace(FOUND_BY, revisions=(BEFORE, NOW), reason="soon")
    assert renewed([entry], here, result(PASSED, revision=BEFORE), listed=both) == (
        [replace(entry, revisions=(NOW,))],
        [f"fixed in 2025-06-18: {TITLE} (nothing)"],
    )


# The file

ENTRIES = st.builds(
    BaselineEntry,
    requirement=st.text(st.characters(codec="utf-8"), min_size=1),
    tool=st.text(st.characters(codec="utf-8")),
    revisions=st.sampled_from([(), (NOW,), (BEFORE, NOW)]),
    reason=st.text(st.characters(codec="utf-8")),
    expires=st.none() | st.dates(),
    flaky=st.booleans(),
    checks=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=2).map(tuple),
)


@given(st.lists(ENTRIES, max_size=4))
def test_baseline_survives_writing_and_reading(entries):
    text = to_toml(Baseline("expected.toml", tuple(entries)))
    assert [replace(entry, line=0) for entry in parse(text, "expected.toml").entries] == entries


def test_comment_at_the_head_is_kept_and_entries_have_lines():
    text = "# ours\n# of 2026\n\n[[expected]]\nrequirement = 'a'\n[[ expected ]]\nrequirement = 'b'\n"
    baseline = parse(text, "expected.toml")
    assert [entry.line for entry in baseline.entries] == [4, 6]
    assert to_toml(baseline).startswith("# ours\n# of 2026\n\n[[expected]]\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[expected]", "expected.toml: not TOML: "),
        ("[expected]", "expected.toml: only tables [[expected]] are allowed"),
        ("[[ignored]]", "expected.toml: only tables [[expected]] are allowed"),
        ("expected = [1]", "expected.toml: only tables [[expected]] are allowed"),
        ("[[expected]]", "expected.toml:1: an entry needs a `requirement`"),
        ("expected = [{}]", "expected.toml: entry 1: an entry needs a `requirement`"),
        ("[[expected]]\nrequirement = 3", "expected.toml:1: `requirement` must be the id of a requirement"),
        ("\n[[expected]]\nid = 'a'", "expected.toml:2: unknown member 'id'; allowed are requirement, tool,"),
        (
            "[[expected]]\nexpires = '2027-01-01'",
            "expected.toml:1: `expires` must be a date without quotes",
        ),
        (
            "[[expected]]\nexpires = 2027-01-01T00:00:00",
            "expected.toml:1: `expires` must be a date without quotes",
        ),
        (
            "[[expected]]\nrevisions = '2025-11-25'",
            "expected.toml:1: `revisions` must be a list of revisions",
        ),
        (
            "[[expected]]\nrevisions = ['2025-13-13']",
            "expected.toml:1: `revisions` must be a list of revisions",
        ),
        (
            "[[expected]]\nrevisions = [['a']]",
            "expected.toml:1: `revisions` must be a list of revisions",
        ),
        ("[[expected]]\nflaky = 'no'", "expected.toml:1: `flaky` must be true or false"),
        ("[[expected]]\nreason = 1", "expected.toml:1: `reason` must be a text"),
        ("[[expected]]\ntool = ''", "expected.toml:1: `tool` must be the name of a tool"),
        ("[[expected]]\nchecks = 'a'", "expected.toml:1: `checks` must be a list of names of checks"),
    ],
)
def test_error_in_the_file_is_one_line(text, message):
    with pytest.raises(BadFile) as caught:
        parse(text, "expected.toml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# Whole runs

SELECTED = ("--select", "tools.def.title-string,errors.method-not-found-code,pagination.invalid-cursor-code")
NULL_TITLE, FORGED_CURSOR = "a_tool_has_a_null_title", "forged_cursor_gives_the_first_page"
REASON = 'until "3.0" is out'


def update(path, server, *options):
    words = ["baseline", "update", str(path), "--revision", NOW, *options, "--", *server]
    return forked(words, path.parent, 120)


def run_with(path, server, *options):
    return run_suite(server, *SELECTED, "--baseline", str(path), *options)


@pytest.fixture(scope="module")
def baseline_file(tmp_path_factory):
    """Return the baseline of a server with a null title, with a reason."""
    path = tmp_path_factory.mktemp("baseline") / "expected.toml"
    exit, output = update(path, quick_mutant(NULL_TITLE), *SELECTED)
    assert exit == 0, output
    assert f"added: {TITLE} (nothing)\n{path} has 1 expected finding\n1 of them need a reason" in output
    text = path.read_text()
    assert tomllib.loads(text) == {
        "expected": [{"requirement": TITLE, "tool": "nothing", "reason": "", "checks": [CHECK]}]
    }
    path.write_text(text.replace('reason = ""', f"reason = '{REASON}'"))
    return path


def test_expected_finding_does_not_fail(baseline_file):
    run = run_with(baseline_file, quick_mutant(NULL_TITLE))
    assert (run.exit, [case.requirement for case in run.of("expected")]) == (0, [TITLE]), run.output
    assert "got       tools[3].title = null" in run.of("expected")[0].text
    assert f"expected: {TITLE} (nothing): {REASON}" in run.output
    assert "verdict: passed, with 1 expected finding\n" in run.output
    assert re.search(r"^1 expected, \d+ passed.* in [\d.]+ s$", run.output, re.MULTILINE)


@nightly
def test_workers_use_the_baseline_and_outdated_entry_is_reported_once(baseline_file, tmp_path):
    rule = "errors.method-not-found-code"
    (check,) = checked()[rule]
    path = tmp_path / "expected.toml"
    entry = (
        f"[[expected]]\nrequirement = '{rule}'\nreason = 'ours'\nchecks = ['{check.suite}::{check.name}']\n"
    )
    path.write_text(f"{baseline_file.read_text()}{entry}")
    run = run_with(path, quick_mutant(NULL_TITLE), "-n", "2", "--strict")
    assert (run.exit, len(run.of("expected"))) == (1, 1), run.output
    assert plain(run.output).count(f"baseline: {path}:8: {rule} is fixed: remove this entry") == 1


def test_junit_has_the_reason(baseline_file, tmp_path):
    report = tmp_path / "junit.xml"
    words = [*("run", "--revision", NOW, "--select", f"{TITLE}[nothing]"), "--baseline", str(baseline_file)]
    exit, _ = forked([*words, f"--junitxml={report}", "--", *quick_mutant(NULL_TITLE)], tmp_path, 120)
    assert exit == 0
    text = report.read_text()
    assert '<property name="outcome" value="expected" />' in text
    assert '<property name="baseline" value="until &quot;3.0&quot; is out" />' in text


@nightly
def test_release_that_breaks_one_rule_and_fixes_another_shows_both(baseline_file):
    run = run_with(baseline_file, quick_mutant(FORGED_CURSOR), "--strict")
    assert (run.exit, [case.requirement for case in run.of("failed")]) == (
        1,
        ["pagination.invalid-cursor-code"],
    )
    assert "baseline: " + f"{baseline_file}:3: {TITLE} (nothing) is fixed:" in plain(run.output)


def test_release_that_fixes_a_rule_fails_until_the_entry_is_removed(baseline_file, tmp_path):
    run = run_with(baseline_file, REFERENCE)
    assert (run.exit, run.findings) == (1, [])
    assert f"baseline: {baseline_file}:3: {TITLE} (nothing) is fixed: remove this entry" in plain(run.output)
    assert "the baseline is out of date; otherwise passed" in run.output
    path = tmp_path / "expected.toml"
    path.write_text(baseline_file.read_text())
    exit, output = update(path, REFERENCE, *SELECTED)
    assert (exit, tomllib.loads(path.read_text())) == (0, {})
    assert f"dropped: {TITLE} (nothing) is fixed\n{path} has 0 expected findings" in output


def test_entry_of_a_rule_not_selected_is_not_outdated(baseline_file):
    run = run_suite(REFERENCE, "--select", "ping", "--baseline", str(baseline_file))
    assert (run.exit, "baseline" in run.output.replace(str(baseline_file), "")) == (0, False)


def test_unknown_requirement_fails_the_run(tmp_path):
    path = tmp_path / "expected.toml"
    path.write_text("[[expected]]\nrequirement = 'tools.def.titel'\nreason = 'a typing error'\n")
    run = run_suite(REFERENCE, "--select", "ping", "--baseline", str(path))
    assert run.exit == 1
    assert f"baseline: {path}:1: there is no requirement 'tools.def.titel'" in plain(run.output)


def test_expired_entry_excuses_nothing(baseline_file, tmp_path):
    path = tmp_path / "expected.toml"
    path.write_text(f"{baseline_file.read_text()}expires = 2026-01-31\n")
    run = run_with(path, quick_mutant(NULL_TITLE))
    assert (run.exit, len(run.of("failed"))) == (1, 1)
    assert "expired on 2026-01-31 and is still broken: fix it, or set a later date" in plain(run.output)


@nightly
def test_blocked_check_can_be_expected(tmp_path):
    path, dead = tmp_path / "expected.toml", quick_mutant("no-such-mutant")
    assert update(path, dead)[0] == 0
    run = run_suite(dead, "--baseline", str(path))
    assert run.exit == 0, run.output
    assert len(run.of("expected")) == 1


def plain(output):
    """Return the output on one line."""
    return re.sub(r"\s+", " ", output)


@pytest.mark.parametrize("options", [("-x",), ("--max-time", "0.001")], ids=" ".join)
def test_run_that_ends_early_changes_no_file(options, tmp_path):
    exit, output = update(tmp_path / "expected.toml", quick_mutant(NULL_TITLE), "--select", TITLE, *options)
    assert exit == 1
    assert "expected.toml is unchanged, as the run ended early" in output
    assert list(tmp_path.glob("*.toml")) == []


def test_baseline_can_be_named_in_pytests_configuration(baseline_file, tmp_path):
    """Its path is relative to the root directory, also if pytest runs in another one."""
    server = shlex.join(quick_mutant(NULL_TITLE))
    (tmp_path / "expected.toml").write_text(baseline_file.read_text())
    ini = (
        f"[pytest]\nconformance = true\nconformance_server = {server}\nconformance_baseline = expected.toml\n"
    )
    ini += f"conformance_select = {TITLE}[nothing]\nconformance_revision = {NOW}\nconformance_fuzz = none\n"
    (tmp_path / "pytest.ini").write_text(ini)
    (tmp_path / "below").mkdir()
    exit, output = forked(["-p", "no:cacheprovider"], tmp_path / "below", 120, program="pytest")
    assert exit == 0, output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("run", "--baseline", "none.toml", "--", sys.executable),
            "--baseline: no such file: none.toml",
        ),
        (
            ("run", "--baseline", "bad.toml", "--", sys.executable),
            "--baseline: bad.toml:1: an entry needs a",
        ),
        (("run", "--baseline", ".", "--", sys.executable), "--baseline: .: "),
        (("baseline",), "required: update"),
        (("baseline", "update"), "required: FILE"),
        (("baseline", "update", "new.toml"), "baseline update: no server is given"),
        (
            ("baseline", "update", "bad.toml", "--", sys.executable),
            "baseline: bad.toml:1: an entry needs a",
        ),
        (
            ("baseline", "update", "no/new.toml", "--", sys.executable),
            "baseline update: no such directory: no",
        ),
        (
            ("baseline", "update", "new.toml", "bad.toml", "--", sys.executable),
            "'bad.toml' must come after --",
        ),
        (("baseline", "update", "new.toml", "--", "no-such-program"), "There is no program on the PATH"),
    ],
    ids=" ".join,
)
def test_usage_error_is_one_line_and_exit_status_4(words, message, tmp_path):
    (tmp_path / "bad.toml").write_text("[[expected]]\n")
    exit, output = forked(words, tmp_path, 60)
    assert exit == 4
    assert message in output
    assert len([line for line in output.splitlines() if line.strip()]) == 1
    assert not (tmp_path / "new.toml").exists()
