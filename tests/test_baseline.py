"""What is known does not fail, what is new does, and what is out of date is told with its line."""

import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import REFERENCE, environment, forked, quick_mutant, run_suite

from conformance.report.baseline import (
    BadBaseline,
    Baseline,
    Entry,
    Seen,
    complaints,
    parse,
    updated,
    written,
)
from conformance.report.model import Result
from conformance.requirements.checks import checked
from conformance.verdicts import Outcome

TODAY = date(2026, 11, 21)
NOW, BEFORE = "2025-11-25", "2025-06-18"
TITLE = "tools.def.title-string"
CHECK = next(f"{check.suite}::{check.name}" for check in checked()[TITLE])
LOOK = "test_messages.py::test_a_message_has_the_form_of_its_kind"
LISTED = {NOW: frozenset({"add", "nothing"})}
FAILED, PASSED, SKIPPED = Outcome.FAILED, Outcome.PASSED, Outcome.SKIPPED


def result(outcome, tool="nothing", check=CHECK, revision=NOW, requirement=TITLE):
    node = f"conformance/suites/{check}[{revision}{'-' if tool else ''}{tool}]"
    return Result(node, requirement, "MUST", "schema", revision, "", "", outcome, tool)


def look(outcome, requirement="jsonrpc.message-shape", revision=NOW):
    return result(outcome, "", LOOK, revision, requirement)


def told(entry, *results, listed=LISTED):
    """What is said of an entry after a run, without its place."""
    baseline = Baseline("known.toml", (replace(entry, line=7),))
    texts = list(complaints(baseline, Seen(results, listed), TODAY))
    assert all(text.startswith("known.toml:7: ") for text in texts)
    return [text.removeprefix("known.toml:7: ") for text in texts]


def excused(entry, one):
    return Baseline("", (entry,)).excuse(one, TODAY) is entry


# What is excused


@pytest.mark.parametrize(
    ("entry", "holds"),
    [
        (Entry(TITLE), True),
        (Entry(TITLE, "nothing"), True),
        (Entry(TITLE, "add"), False),
        (Entry(TITLE, revisions=(NOW,)), True),
        (Entry(TITLE, revisions=(BEFORE,)), False),
        (Entry("tools.def.name-string"), False),
        (Entry(TITLE, expires=TODAY), True),
        (Entry(TITLE, expires=date(2026, 11, 20)), False),
    ],
    ids=["rule", "tool", "other tool", "revision", "other revision", "other rule", "last day", "expired"],
)
def test_an_entry_excuses_what_it_names(entry, holds):
    assert excused(entry, result(FAILED)) is holds


@pytest.mark.parametrize("outcome", [PASSED, SKIPPED, Outcome.INTERNAL_ERROR])
def test_only_findings_are_excused(outcome):
    assert not excused(Entry(TITLE), result(outcome))


def test_the_look_at_all_messages_knows_no_tool():
    assert excused(Entry(TITLE, "nothing"), look(FAILED, TITLE))
    assert not excused(Entry(TITLE, "nothing"), result(FAILED, tool="add"))


def test_the_narrower_entry_gives_the_reason():
    wide, narrow = Entry(TITLE, reason="all"), Entry(TITLE, "nothing", reason="this one")
    assert Baseline("", (wide, narrow)).excuse(result(FAILED), TODAY) is narrow
    assert Baseline("", (narrow, wide)).excuse(look(FAILED, TITLE), TODAY) is wide


# What is out of date

MENDED = [f"{TITLE} (nothing) is mended: remove this entry"]
FOUND_BY = Entry(TITLE, "nothing", checks=(CHECK,))
BY_HAND = Entry(TITLE, "nothing")


@pytest.mark.parametrize("entry", [FOUND_BY, BY_HAND], ids=["found", "by hand"])
def test_what_is_mended_is_stale(entry):
    assert told(entry, result(PASSED), look(PASSED)) == MENDED


@pytest.mark.parametrize("entry", [FOUND_BY, BY_HAND], ids=["found", "by hand"])
@pytest.mark.parametrize(
    "results",
    [
        [],
        [look(PASSED)],
        [result(SKIPPED), look(PASSED)],
        [result(Outcome.INTERNAL_ERROR), look(PASSED)],
        [result(PASSED, tool="add"), look(PASSED)],
        [result(PASSED, revision=BEFORE), look(PASSED, revision=BEFORE)],
        [result(FAILED, requirement="tools.def.name-string"), look(PASSED)],
        [result(FAILED)],
        [result(Outcome.EXPECTED)],
        [result(Outcome.INFO)],
    ],
    ids=[
        *("not run", "not selected", "skipped", "crashed", "other tool", "other revision"),
        *("broken otherwise", "failed", "known", "informed"),
    ],
)
def test_what_is_broken_or_was_not_tried_is_not_stale(entry, results):
    assert told(entry, *results) == []


def test_what_comes_and_goes_is_not_stale():
    flaky = replace(FOUND_BY, flaky=True)
    assert told(flaky, result(PASSED)) == []
    assert renewed([flaky], result(PASSED)) == ([flaky], [])


def test_an_entry_by_hand_is_stale_only_when_all_messages_were_looked_at():
    assert told(BY_HAND, result(PASSED)) == []
    assert told(FOUND_BY, result(PASSED)) == MENDED


def test_all_checks_that_found_it_must_have_looked():
    entry = replace(FOUND_BY, checks=(CHECK, "test_tools_call.py::test_gone_from_the_suites", LOOK))
    assert told(entry, result(PASSED)) == []
    assert told(entry, result(PASSED), look(FAILED)) == MENDED


def test_the_look_at_all_messages_does_not_keep_the_entry_of_a_tool():
    assert told(FOUND_BY, result(PASSED), look(FAILED, TITLE)) == MENDED
    assert told(replace(FOUND_BY, tool=""), result(PASSED), look(FAILED, TITLE)) == []


def test_a_tool_that_is_gone_is_stale():
    assert told(Entry(TITLE, "gone")) == [f"{TITLE}: the server lists no tool 'gone': remove this entry"]
    assert told(Entry(TITLE, "gone"), listed={NOW: None}) == []
    assert told(Entry(TITLE, "gone", (BEFORE, NOW))) == []


def test_each_revision_is_judged_by_itself():
    both = {NOW: LISTED[NOW], BEFORE: LISTED[NOW]}
    entry = replace(FOUND_BY, revisions=(BEFORE, NOW))
    results = [result(PASSED, revision=BEFORE), result(Outcome.EXPECTED)]
    assert told(entry, *results, listed=both) == [
        f"{TITLE} (nothing) is mended in 2025-06-18: take that out of `revisions`"
    ]
    assert told(FOUND_BY, *results, listed=both) == []
    assert told(FOUND_BY, result(PASSED), result(SKIPPED, revision=BEFORE), listed=both) == []


def test_an_unknown_requirement_is_told_with_its_like():
    (text,) = told(Entry("tools.def.titel-string"))
    assert re.match(f"there is no requirement 'tools.def.titel-string' .did you mean {TITLE} or ", text)
    assert text.endswith(": remove this entry")
    assert told(Entry("tools"))


def test_an_expired_entry_is_told_if_its_rule_was_tried():
    entry = replace(FOUND_BY, expires=date(2026, 11, 20))
    assert told(entry, result(FAILED)) == [
        f"{TITLE} (nothing) has expired on 2026-11-20 and is still broken: mend it, or set a later date"
    ]
    assert told(entry, result(PASSED)) == MENDED
    assert told(entry, result(SKIPPED)) == []


# Updating


def renewed(entries, *results, listed=LISTED):
    update = updated(Baseline("known.toml", tuple(entries)), Seen(results, listed))
    return list(update.baseline.entries), list(update.changes)


def test_what_is_new_is_added_without_a_reason():
    entries, changes = renewed([], result(FAILED), result(PASSED, "add"), look(FAILED, TITLE))
    assert entries == [FOUND_BY]
    assert changes == [f"added: {TITLE} (nothing)"]


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.WARNED])
def test_what_is_blocked_or_warned_is_added_too(outcome):
    assert renewed([], result(outcome))[0] == [FOUND_BY]


@pytest.mark.parametrize("outcome", [Outcome.INFO, SKIPPED, Outcome.INTERNAL_ERROR])
def test_what_needs_no_excuse_is_not_added(outcome):
    assert renewed([], result(outcome)) == ([], [])


def test_reasons_and_dates_of_what_is_broken_are_kept():
    entry = replace(FOUND_BY, reason="soon", expires=date(2020, 1, 1))
    assert renewed([entry], result(FAILED)) == ([entry], [])
    assert renewed([entry]) == ([entry], [])
    assert renewed([entry], result(PASSED)) == ([], [f"dropped: {TITLE} (nothing) is mended"])


def test_an_entry_by_hand_learns_its_checks():
    assert renewed([BY_HAND], result(FAILED))[0] == [FOUND_BY]


def test_a_revision_is_named_where_it_differs():
    both = {NOW: LISTED[NOW], BEFORE: LISTED[NOW]}
    here, there = result(FAILED), result(FAILED, revision=BEFORE)
    assert renewed([], here, there, listed=both)[0] == [FOUND_BY]
    assert renewed([], here, result(PASSED, revision=BEFORE), listed=both)[0] == [
        replace(FOUND_BY, revisions=(NOW,))
    ]
    entry = replace(FOUND_BY, revisions=(BEFORE, NOW), reason="soon")
    assert renewed([entry], here, result(PASSED, revision=BEFORE), listed=both) == (
        [replace(entry, revisions=(NOW,))],
        [f"mended in 2025-06-18: {TITLE} (nothing)"],
    )


# The file

ENTRIES = st.builds(
    Entry,
    requirement=st.text(st.characters(codec="utf-8"), min_size=1),
    tool=st.text(st.characters(codec="utf-8")),
    revisions=st.sampled_from([(), (NOW,), (BEFORE, NOW)]),
    reason=st.text(st.characters(codec="utf-8")),
    expires=st.none() | st.dates(),
    flaky=st.booleans(),
    checks=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=2).map(tuple),
)


@given(st.lists(ENTRIES, max_size=4))
def test_what_is_written_is_read_again(entries):
    text = written(Baseline("known.toml", tuple(entries)))
    assert [replace(entry, line=0) for entry in parse(text, "known.toml").entries] == entries


def test_the_comment_at_the_head_is_kept_and_lines_are_known():
    text = "# ours\n# of 2026\n\n[[known]]\nrequirement = 'a'\n[[ known ]]\nrequirement = 'b'\n"
    baseline = parse(text, "known.toml")
    assert [entry.line for entry in baseline.entries] == [4, 6]
    assert written(baseline).startswith("# ours\n# of 2026\n\n[[known]]\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[known]", "known.toml: not TOML: "),
        ("[known]", "known.toml: tables [[known]] are expected, and nothing else"),
        ("[[ignored]]", "known.toml: tables [[known]] are expected, and nothing else"),
        ("known = [1]", "known.toml: tables [[known]] are expected, and nothing else"),
        ("[[known]]", "known.toml:1: an entry needs a `requirement`"),
        ("known = [{}]", "known.toml: entry 1: an entry needs a `requirement`"),
        ("[[known]]\nrequirement = 3", "known.toml:1: `requirement` is the id of a requirement"),
        ("\n[[known]]\nid = 'a'", "known.toml:2: unknown member 'id'; known are requirement, tool,"),
        ("[[known]]\nexpires = '2027-01-01'", "known.toml:1: `expires` is a date without quotes, such as"),
        ("[[known]]\nexpires = 2027-01-01T00:00:00", "known.toml:1: `expires` is a date without quotes"),
        ("[[known]]\nrevisions = '2025-11-25'", "known.toml:1: `revisions` is a list of revisions, of 2024"),
        (
            "[[known]]\nrevisions = ['2025-13-13']",
            "known.toml:1: `revisions` is a list of revisions, of 2024",
        ),
        ("[[known]]\nrevisions = [['a']]", "known.toml:1: `revisions` is a list of revisions, of 2024"),
        ("[[known]]\nflaky = 'no'", "known.toml:1: `flaky` is true or false"),
        ("[[known]]\nreason = 1", "known.toml:1: `reason` is a text"),
        ("[[known]]\ntool = ''", "known.toml:1: `tool` is the name of a tool"),
        ("[[known]]\nchecks = 'a'", "known.toml:1: `checks` is a list of checks' names"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(text, said):
    with pytest.raises(BadBaseline) as caught:
        parse(text, "known.toml")
    assert str(caught.value).startswith(said)
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
def known(tmp_path_factory):
    """The baseline of a server with a null title, with a reason."""
    path = tmp_path_factory.mktemp("baseline") / "known.toml"
    exit, output = update(path, quick_mutant(NULL_TITLE), *SELECTED)
    assert exit == 0, output
    assert f"added: {TITLE} (nothing)\n{path} has 1 known finding\ngive 1 of them a reason" in output
    text = path.read_text()
    assert tomllib.loads(text) == {
        "known": [{"requirement": TITLE, "tool": "nothing", "reason": "", "checks": [CHECK]}]
    }
    path.write_text(text.replace('reason = ""', f"reason = '{REASON}'"))
    return path


def test_what_is_known_does_not_fail(known):
    run = run_with(known, quick_mutant(NULL_TITLE))
    assert (run.exit, [case.requirement for case in run.of("known")]) == (0, [TITLE]), run.output
    assert "got       tools[3].title = null" in run.of("known")[0].text
    assert f"known: {TITLE} (nothing): {REASON}" in run.output
    assert re.search(r"verdict: no new rule found broken \(1 known, \d+ passed", run.output)
    assert re.search(r"=== .*1 known.* in", run.output)


def test_workers_know_it_too_and_what_is_stale_is_told_once(known, tmp_path):
    rule = "errors.method-not-found-code"
    (check,) = checked()[rule]
    path = tmp_path / "known.toml"
    entry = f"[[known]]\nrequirement = '{rule}'\nreason = 'ours'\nchecks = ['{check.suite}::{check.name}']\n"
    path.write_text(f"{known.read_text()}{entry}")
    run = run_with(path, quick_mutant(NULL_TITLE), "-n", "2", "--strict")
    assert (run.exit, len(run.of("known"))) == (1, 1), run.output
    assert plain(run.output).count(f"baseline: {path}:8: {rule} is mended: remove this entry") == 1


def test_junit_has_the_reason(known, tmp_path):
    report = tmp_path / "junit.xml"
    words = [*("run", "--revision", NOW, "--select", f"{TITLE}[nothing]"), "--baseline", str(known)]
    exit, _ = forked([*words, f"--junitxml={report}", "--", *quick_mutant(NULL_TITLE)], tmp_path, 120)
    assert exit == 0
    text = report.read_text()
    assert '<property name="outcome" value="known" />' in text
    assert '<property name="baseline" value="until &quot;3.0&quot; is out" />' in text


def test_a_release_that_breaks_one_rule_and_mends_another_is_told_both(known):
    run = run_with(known, quick_mutant(FORGED_CURSOR), "--strict")
    assert (run.exit, [case.requirement for case in run.of("failed")]) == (
        1,
        ["pagination.invalid-cursor-code"],
    )
    assert "baseline: " + f"{known}:3: {TITLE} (nothing) is mended:" in plain(run.output)


def test_a_release_that_mends_a_rule_fails_until_the_entry_is_removed(known, tmp_path):
    run = run_with(known, REFERENCE)
    assert (run.exit, run.findings) == (1, [])
    assert f"baseline: {known}:3: {TITLE} (nothing) is mended: remove this entry" in plain(run.output)
    assert "but the baseline is out of date" in run.output
    path = tmp_path / "known.toml"
    path.write_text(known.read_text())
    exit, output = update(path, REFERENCE, *SELECTED)
    assert (exit, tomllib.loads(path.read_text())) == (0, {})
    assert f"dropped: {TITLE} (nothing) is mended\n{path} has 0 known findings" in output


def test_what_is_not_selected_is_not_stale(known):
    run = run_suite(REFERENCE, "--select", "ping", "--baseline", str(known))
    assert (run.exit, "baseline" in run.output.replace(str(known), "")) == (0, False)


def test_an_unknown_requirement_fails_the_run(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text("[[known]]\nrequirement = 'tools.def.titel'\nreason = 'a typing error'\n")
    run = run_suite(REFERENCE, "--select", "ping", "--baseline", str(path))
    assert run.exit == 1
    assert f"baseline: {path}:1: there is no requirement 'tools.def.titel'" in plain(run.output)


def test_an_expired_entry_excuses_nothing(known, tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(f"{known.read_text()}expires = 2026-01-31\n")
    run = run_with(path, quick_mutant(NULL_TITLE))
    assert (run.exit, len(run.of("failed"))) == (1, 1)
    assert "has expired on 2026-01-31 and is still broken: mend it, or set a later date" in plain(run.output)


def test_what_is_blocked_can_be_known(tmp_path):
    path, dead = tmp_path / "known.toml", quick_mutant("no-such-mutant")
    assert update(path, dead)[0] == 0
    run = run_suite(dead, "--baseline", str(path))
    assert run.exit == 0, run.output
    assert len(run.of("known")) == 1


def plain(output):
    """The output without the breaks of its lines."""
    return re.sub(r"\s+", " ", output)


@pytest.mark.parametrize("options", [("-x",), ("--max-time", "0.001")], ids=" ".join)
def test_a_run_that_was_broken_off_changes_no_file(options, tmp_path):
    exit, output = update(tmp_path / "known.toml", quick_mutant(NULL_TITLE), "--select", TITLE, *options)
    assert exit == 1
    assert "known.toml is as it was, as the run did not come to its end" in output
    assert list(tmp_path.glob("*.toml")) == []


def test_a_baseline_stands_in_pytests_configuration(known, tmp_path):
    """Its path starts from the root directory, wherever pytest is run."""
    server = shlex.join(quick_mutant(NULL_TITLE))
    (tmp_path / "known.toml").write_text(known.read_text())
    ini = f"[pytest]\nmcp_server = {server}\nmcp_baseline = known.toml\nmcp_select = {TITLE}[nothing]\n"
    ini += f"mcp_revision = {NOW}\nmcp_profile = none\n"
    (tmp_path / "pytest.ini").write_text(ini)
    (tmp_path / "below").mkdir()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=tmp_path / "below", env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--baseline", "none.toml", "--", "python"), "--mcp-baseline: no such file: none.toml"),
        (("run", "--baseline", "bad.toml", "--", "python"), "--mcp-baseline: bad.toml:1: an entry needs a"),
        (("run", "--baseline", ".", "--", "python"), "--mcp-baseline: .: "),
        (("baseline",), "required: update"),
        (("baseline", "update"), "required: file"),
        (("baseline", "update", "known.toml"), "baseline update: which server?"),
        (("baseline", "update", "bad.toml", "--", "python"), "baseline update: bad.toml:1: an entry needs a"),
        (("baseline", "update", "no/known.toml", "--", "python"), "baseline update: no such directory: no"),
        (("baseline", "update", "known.toml", "bad.toml", "--", "python"), "'bad.toml' stands before --"),
        (("baseline", "update", "known.toml", "--", "no-such-program"), "no such program"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_line_and_exit_4(words, said, tmp_path):
    (tmp_path / "bad.toml").write_text("[[known]]\n")
    exit, output = forked(words, tmp_path, 60)
    assert exit == 4
    assert said in output
    assert len([line for line in output.splitlines() if line.strip()]) == 1
    assert not (tmp_path / "known.toml").exists()
