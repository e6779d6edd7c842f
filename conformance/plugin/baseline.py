"""What the baseline means for a run: which findings it excuses, and what in it is out of date."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from conformance.plugin.options import baseline
from conformance.report.baseline import Baseline, Seen, complaints
from conformance.report.model import Result
from conformance.target.surface import Subject
from conformance.verdicts import Outcome

BASELINE = pytest.StashKey[Baseline | None]()


def known_findings(config: pytest.Config) -> Baseline:
    """The baseline of this run; an empty one if none was named."""
    if BASELINE not in config.stash:
        config.stash[BASELINE] = baseline(config)
    return config.stash[BASELINE] or Baseline("")


def excused(config: pytest.Config, result: Result) -> Result:
    """The result, known if the baseline has it."""
    entry = known_findings(config).excuse(result, date.today())
    return result if entry is None else replace(result, outcome=Outcome.EXPECTED, baseline=entry.reason)


def seen(subject: Subject, results: list[Result]) -> Seen:
    """What a baseline is held against: the results, and the tools of each revision that was tested."""
    listed = {
        one.revision: None if one.left_out or one.failures else frozenset(tool.name for tool in one.tools)
        for one in subject.live
    }
    return Seen(results, listed)


def out_of_date(config: pytest.Config, subject: Subject, results: list[Result]) -> list[str]:
    """What in the baseline has to be mended."""
    return list(complaints(known_findings(config), seen(subject, results), date.today()))
