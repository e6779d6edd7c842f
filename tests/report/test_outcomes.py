"""The table of outcomes: every outcome is described, and a new one is a row of the table and nothing else."""

import ast
import json
from pathlib import Path

import pytest

import mcp_conformance
from mcp_conformance.outcome import COUNTED, FAILING, FINDINGS, Listed, Outcome, Weight, listed_by
from mcp_conformance.report.formats.sarif import level
from mcp_conformance.report.text import sdk_note
from support.made_up_outcome import texts_of_a_new_outcome
from support.sample_report import result

ROOT = Path(__file__).parents[2]


def test_every_outcome_is_in_the_docs():
    lines = (ROOT / "docs" / "reference" / "outcomes.md").read_text(encoding="utf-8").splitlines()
    assert {line.split("|")[1].strip() for line in lines if line.startswith("| ")} >= set(Outcome)


def test_weights_of_outcomes_fit_their_order_and_their_lists():
    weights = [list(Weight).index(one.style.weight) for one in FINDINGS]
    assert tuple(Outcome)[: len(FINDINGS)] == FINDINGS
    assert tuple(Outcome)[: len(COUNTED)] == COUNTED
    assert tuple(Outcome)[: len(FAILING)] == FAILING
    assert weights[: len(COUNTED)] == sorted(weights[: len(COUNTED)])
    assert set(FINDINGS) <= set(listed_by(Listed.ON_PAGE))
    assert set(COUNTED) <= set(listed_by(Listed.ALWAYS)) <= set(listed_by(Listed.VERBOSE))


@pytest.mark.parametrize("outcome", Outcome)
def test_what_a_report_lists_has_what_it_is_shown_by(outcome):
    style = outcome.style
    assert bool(style.sign) == (style.listed is Listed.ALWAYS)
    assert bool(style.mark) == outcome.counts
    assert bool(style.headline) == outcome.is_finding
    assert ("{}" in style.headline) == outcome.fails
    assert (level(outcome) == "none") == (not outcome.is_finding)


def test_letters_and_marks_distinguish_outcomes():
    for member in ("letter", "mark", "sign"):
        shown = [getattr(one.style, member) for one in Outcome if getattr(one.style, member)]
        assert len(set(shown)) == len(shown)


def test_lists_of_outcomes_are_made_from_the_table():
    """A tuple, set or mapping of three members elsewhere is one that a new outcome would be forgotten in."""
    offences = []
    for path in Path(mcp_conformance.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "Outcome." in source else ():
            listed = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            named = [one for one in listed if ast.unparse(one or node).startswith("Outcome.")]
            if len(named) > 2 and path.name != "outcome.py":
                offences.append(f"{path.name}: {ast.unparse(node)}")
    assert offences == []


def test_a_new_outcome_is_a_row_of_the_table():
    """Every format shows it: nothing but ``outcome.py`` changes."""
    texts = texts_of_a_new_outcome()
    assert texts["verdict"] == "passed, with 1 jolt (1 shaky)"
    assert json.loads(texts["badge"])["message"] == "passed, 1 warning"
    assert texts["github"].startswith("::warning file=src/server one.py,title=MCP ping.responds shaky")
    assert '<article id="shaky-ping.responds" class="shaky"' in texts["html"]
    assert ".shaky { --hue: var(--info); }" in texts["html"]
    assert json.loads(texts["json"])["verdict"]["counts"] == {"shaky": 1}
    assert "### ? shaky: `ping.responds`" in texts["markdown"]
    assert json.loads(texts["sarif"])["runs"][0]["results"][0]["level"] == "warning"
    assert "SHAKY ping.responds (MUST, keyword)" in texts["terminal"]
    assert '<span class="tag shaky">~ 1</span>' in texts["servers.html"]
    assert "? shaky, `it was answered" in texts["servers.md"]
    assert "0 s, 3 shaky: starting the server" in texts["status line"]
    assert '<span class="tag shaky">1</span>' in texts["survey"]


@pytest.mark.parametrize(("outcome", "said"), [(Outcome.WARNED, "it counts, as it"), (Outcome.INFO, "it")])
def test_only_what_counts_is_said_to_count(outcome, said):
    found = result("ping.responds", outcome, deviation="Go SDK", harm="loses an answer")
    assert sdk_note(found) == f"every server built on the Go SDK does this; {said} loses an answer"
