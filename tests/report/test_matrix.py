"""The worst outcome of each rule in each revision: in a report, on a terminal, in HTML."""

from dataclasses import replace

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.formats import html as html_format
from mcp_conformance.report.formats import terminal
from mcp_conformance.report.model import in_order
from support.sample_report import REPORT, RESULTS, REVISION, result

OLD = "2024-11-05"
TWO = replace(
    REPORT,
    results=in_order(
        (
            *RESULTS,
            result("ping.responds", Outcome.PASSED, revision=OLD),
            result("ping.responds", Outcome.PASSED),
        )
    ),
)


def test_a_rule_has_its_worst_outcome_in_each_revision():
    assert TWO.matrix["ping.responds"] == {OLD: Outcome.PASSED, REVISION: Outcome.BLOCKED}
    assert list(TWO.matrix["ping.responds"]) == [OLD, REVISION]


@pytest.mark.parametrize("width", [50, 110])
def test_a_terminal_shows_chapters_by_revision(width):
    text = terminal.render(TWO, width=width, verbose=True)
    head = next(line for line in text.splitlines() if line.split() == [OLD, REVISION])
    row = next(line for line in text.splitlines() if line.split() == ["ping", "passed", "1", "blocked", "1"])
    assert head.index(REVISION) + len(REVISION) == len(row) <= width
    assert f" {OLD} " not in terminal.render(REPORT, verbose=True)


def test_a_page_shows_rules_by_revision():
    page = html_format.render(TWO)
    assert f'<th scope="col">{OLD}</th><th scope="col">{REVISION}</th>' in page
    assert '<td><span class="tag passed">passed</span></td><td><span class="tag blocked">blocked' in page
    assert "Rules by revision" not in html_format.render(REPORT)


def test_a_finding_that_the_check_of_all_messages_repeats_counts_once():
    node = "test_messages.py::test_a_message_has_the_form_of_its_kind"
    results = [result("tools.list.result-shape", Outcome.FAILED)] * 2
    results += [replace(results[0], node=node), replace(results[0], node=node, requirement="ping.responds")]
    assert replace(REPORT, results=in_order(results)).counts == {Outcome.FAILED: 3}
