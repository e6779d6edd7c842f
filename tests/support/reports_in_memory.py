"""Runs of some checks on a scripted server in memory, with a report."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import patch

from mcp_conformance.fuzzing import repeated_calls
from mcp_conformance.fuzzing.budgets import REPEATED, DriftBudget
from mcp_conformance.report.build import CheckFacts, Evidence, RunFacts, build_report, build_result
from mcp_conformance.report.formats import terminal
from mcp_conformance.sdks.deviations import known_fact
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.surface import Surface
from support.bench import Bench, settings_in_memory
from support.in_memory import scripted

FEW_CALLS = replace(REPEATED, drift=DriftBudget(pause_seconds=0.0, min_seconds=0.0, min_calls=300))
"""Enough calls of one process to judge its drift: in virtual time 100,000 pass before 20 seconds do."""


@patch.object(repeated_calls, "REPEATED", FEW_CALLS)
def run_in_memory(script, revisions, chosen, examples=0):
    """Run checks on a scripted server, and return counts of checks and verdicts.

    ``chosen`` has the checks to run, each with its case and the number of a tool.  Raise the
    engine's errors.
    """
    subject = probe_all(settings_in_memory(scripted(tuple(script)), examples), revisions)
    surfaces = [one.to_json() for one in subject.surfaces]
    assert [Surface.from_json(one).to_json() for one in surfaces] == surfaces
    subject.error_in_samples()
    counts = Counter(live=len(subject.live))
    for surface in subject.live:
        results = _results(Bench(subject, surface.revision), chosen, counts)
        facts = RunFacts(datetime.now(UTC), 1.0)
        report = build_report(subject, results, facts, {}, ["a notice"])
        "\n".join([terminal.render(report, verbose=True), *(one.text for one in results)]).encode()
    return counts


def _results(bench, chosen, counts):
    results = []
    try:
        for check, case, at in chosen:
            tools = bench.server.tools
            if not any(row.holds_in(bench.revision) and row.transport != "http" for row in check.rows):
                continue
            if check.source.per_session or (check.source.per_tool and not tools):
                continue
            tool = tools[at % len(tools)] if check.source.per_tool else None
            found = bench.run(check, case, tool)
            counts["checks"] += 1
            counts["verdicts"] += len(found)
            results += [_result(bench.server, verdict, tool) for verdict in found]
    finally:
        bench.server.close()
    return results


def _result(server, verdict, tool):
    """Return the result of a verdict, as a report has it."""
    fact = known_fact(server, verdict.row.id, verdict.error)
    facts = CheckFacts(
        node=verdict.check.suite,
        row=verdict.row,
        revision=verdict.revision,
        outcome=verdict.outcome,
        tool=tool.name if tool is not None else "",
        reason=str(verdict.error),
        deviation="" if fact is None else str(fact.sdk),
        evidence=Evidence.of(verdict.error),
    )
    return build_result(facts, server.settings)
