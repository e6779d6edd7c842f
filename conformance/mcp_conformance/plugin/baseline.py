"""The baseline of a run: which findings it expects, and which of its entries are out of date."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.report.baseline import Baseline, RunEvidence, outdated_entries
from mcp_conformance.report.model import Result
from mcp_conformance.target.surface import Subject


def baseline_of(config: pytest.Config) -> Baseline:
    """Return the baseline of this run; an empty one if the user names none."""
    return config.stash[RUN_OPTIONS].baseline or Baseline("")


def with_baseline(config: pytest.Config, result: Result) -> Result:
    """Return the result, as an expected one if the baseline lists it."""
    entry = baseline_of(config).excuse(result, date.today())
    return result if entry is None else replace(result, outcome=Outcome.EXPECTED, baseline=entry.reason)


def run_evidence(subject: Subject, results: list[Result]) -> RunEvidence:
    """Return what a baseline is compared with: the results, and the tools of each revision tested."""
    listed = {
        one.revision: None if one.left_out or one.failures else frozenset(tool.name for tool in one.tools)
        for one in subject.live
    }
    return RunEvidence(results, listed)


def outdated(config: pytest.Config, subject: Subject, results: list[Result]) -> list[str]:
    """Return what is out of date in the baseline, and how to fix it."""
    return list(outdated_entries(baseline_of(config), run_evidence(subject, results), date.today()))
