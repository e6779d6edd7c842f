"""Findings are shown as they are found: those of the lists first, each once."""

from io import StringIO

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.collection import LISTED, STAGES
from mcp_conformance.plugin.finding_lines import FindingLines
from mcp_conformance.report.model import Result
from mcp_conformance.requirements.catalogue import requirement
from mcp_conformance.target.probe import probe_all
from support.bench import Bench, all_checks, checks_of, settings_in_memory
from support.in_memory import mutated


def result(outcome, revision="2025-11-25", tool="add", reason="expected x,\ngot y"):
    return Result.of(
        requirement("tools.def.title-string"),
        revision,
        node="",
        outcome=outcome,
        tool=tool,
        reason=reason,
    )


def test_a_rule_that_is_broken_in_two_revisions_and_tools_is_shown_once():
    lines = FindingLines(StringIO(), lambda text, style: f"<{style}>{text}")
    both = [result(Outcome.FAILED, one) for one in ("2025-11-25", "2026-07-28")]
    assert list(lines.of(both)) == ["<red bold>FAILED tools.def.title-string add: expected x,\\ngot y"]
    assert list(lines.of([*both, result(Outcome.FAILED, tool="other", reason="else")])) == []
    assert list(lines.of([result(Outcome.WARNED, tool="")])) == [
        "<yellow>WARNED tools.def.title-string: expected x,\\ngot y"
    ]


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.INFO, Outcome.PASSED, Outcome.EXPECTED])
def test_what_is_no_finding_is_not_shown(outcome):
    assert list(FindingLines(StringIO(), lambda text, _: text).of([result(outcome)])) == []


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_checks_of_the_first_stage_send_nothing(revision):
    asked = []
    settings = settings_in_memory(mutated(lambda _, request, __: asked.append(request)))
    subject = probe_all(settings, (revision,))
    bench = Bench(subject, revision)
    del asked[:]
    listed = [one for one in checks_of(revision) if one.stage == STAGES[LISTED]]
    bench.run_all(listed)
    assert asked == []
    assert bench.passed
    bench.server.close()
    assert len(all_checks()) > len(listed) > 30
