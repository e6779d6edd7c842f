"""A revision without changes is a handful of lines: in a copy of the tree all rules hold in it, unread."""

import os
import re
import sys
from dataclasses import replace

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.revisions import KNOWN
from mcp_conformance.requirements.catalogue import all_requirements, requirement
from mcp_conformance.verdicts import Blocked, Finding, outcome_of
from mcp_conformance_fixtures.stateless import VERSION
from support.new_revision import NEXT, PACKAGES, PLACES, ROOT, SCHEMA, copy_with_next, run_copy
from support.nightly import nightly

HOLD = [row.id for row in all_requirements().values() if row.holds_in(KNOWN[-1])]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    copy_with_next(folder)
    return folder


def server(folder, *words):
    """Return the options for a server of the copy, and its command."""
    path = os.pathsep.join(str(folder / name) for name in PACKAGES)
    return ("--env", f"PYTHONPATH={path}", "--", sys.executable, "-m", *words)


def test_it_takes_a_line_in_three_files(tree):
    changed = {}
    for name in PACKAGES:
        for path in (tree / name).rglob("*.*"):
            other = ROOT / path.relative_to(tree)
            old = other.read_bytes().splitlines() if other.exists() else []
            new = path.read_bytes().splitlines() if path.is_file() else old
            if new != old:
                changed[path.relative_to(tree).as_posix()] = len(set(new) - set(old))
    assert changed == dict.fromkeys((*PLACES, SCHEMA), 1)


def test_every_rule_of_the_newest_revision_holds_and_is_to_be_read(tree):
    status, output = run_copy(tree, "list", "--unreviewed")
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()] == HOLD
    _, explained = run_copy(tree, "explain", "tools.def.name-string")
    assert f"  {NEXT}  informs only: nobody has read this rule against {NEXT} yet\n" in explained


@nightly
def test_the_reference_server_passes_in_it(tree):
    words = ("run", "--revision", NEXT, "--fuzz", "none")
    status, output = run_copy(tree, *words, *server(tree, "mcp_conformance_fixtures.reference"))
    assert status == 0, output
    assert "verdict: passed; 22 of 23 tools exercised" in output
    assert f"reference 1.0.0, revision {NEXT}" in output
    assert int(re.search(r"(\d+) passed", output)[1]) > 500


@nightly
def test_a_rule_that_nobody_has_read_against_it_informs_only_and_says_so(tree):
    mutant = server(tree, "mcp_conformance_fixtures.mutants", "the_versions_are_a_string")
    words = ("run", "--select", "discover", "--fuzz", "none", "--revision")
    status, output = run_copy(tree, *words, NEXT, "-v", *mutant)
    assert status == 0, output
    assert "INFO discover.supported-versions (MUST, schema)" in output
    assert f"informs only: nobody has read this rule against {NEXT} yet" in output
    status, output = run_copy(tree, *words, NEXT, *mutant)
    assert "2 notes on rules not read against this revision yet (-v shows them): discover." in output
    assert run_copy(tree, *words, requirement("discover.supported-versions").reviewed, *mutant)[0] == 1


@nightly
def test_a_soak_says_so_too(tree):
    mutant = server(tree, "mcp_conformance_fixtures.mutants", "a_result_has_no_content")
    status, output = run_copy(tree, "soak", "--for", "1s", "--revision", NEXT, *mutant)
    assert "  note      informs only: nobody has read this rule" in output
    assert status == 0


@nightly
def test_a_rule_counts_once_its_family_was_read_against_it(tmp_path):
    copy_with_next(tmp_path)
    path = tmp_path / "conformance" / "mcp_conformance" / "requirements" / "families.toml"
    text, number = re.subn(
        r"(?<=\[discover\]\n)(title = .*\nreviewed = ).*", rf'\1"{NEXT}"', path.read_text(encoding="utf-8")
    )
    assert number == 1
    path.write_text(text, encoding="utf-8")
    left = [line.split()[0] for line in run_copy(tmp_path, "list", "--unreviewed")[1].splitlines()]
    assert left == [id for id in HOLD if not id.startswith("discover.")]
    mutant = server(tmp_path, "mcp_conformance_fixtures.mutants", "the_versions_are_a_string")
    status, output = run_copy(
        tmp_path, "run", "--revision", NEXT, "--select", "discover", "--fuzz", "none", *mutant
    )
    assert status == 1
    assert "FAILED discover.supported-versions" in output


@nightly
def test_a_server_of_the_revision_before_is_tested_in_that(tree):
    stateless = server(tree, "mcp_conformance_fixtures.stateless")
    status, output = run_copy(tree, "run", "--fuzz", "none", *stateless)
    assert status == 0, output
    assert f"stateless 1.0.0, revision {VERSION}" in output
    status, output = run_copy(tree, "run", "--fuzz", "none", "--revision", NEXT, *stateless)
    assert status == 4
    assert f"the server does not speak {NEXT}; it offers {VERSION}" in output
    status, output = run_copy(tree, "doctor", *stateless)
    assert status == 0, output
    assert f"stateless 1.0.0, revision {VERSION}" in output


def test_what_no_revision_allows_counts_before_anybody_has_read_the_rule():
    row = replace(requirement("tools.def.name-string"), reviewed="2025-06-18")
    broken, fatal, blocked = Finding("a", "b"), Finding("a", "b", fatal=True), Blocked("no answer")
    found = [outcome_of(one, row, "2025-11-25", pedantic=True) for one in (broken, fatal, blocked)]
    assert found == [Outcome.INFO, Outcome.FAILED, Outcome.BLOCKED]
    assert outcome_of(broken, row, "2025-06-18") is Outcome.FAILED
