"""The commands ``mcp-conformance list`` and ``explain``: the requirements of the catalogue."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from conformance.cli.arguments import UsageError, expect_no_more
from conformance.report.text import explanation
from conformance.requirements import catalogue
from conformance.requirements.checks import checked


def list_requirements(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print a line for each requirement: its id, its levels, whether it is checked, and the rule."""
    expect_no_more(rest, command)
    rows = catalogue.all_requirements()
    wanted = _matching(options.pattern) if options.pattern else frozenset(rows)
    for id, row in rows.items():
        if id not in wanted or (options.revision and not row.holds_in(options.revision)):
            continue
        levels = sorted(
            {row.level(revision) for revision in row.revisions if options.revision in (None, revision)}
        )
        if options.level and options.level not in levels:
            continue
        if (options.checked and id not in checked()) or (options.unchecked and id in checked()):
            continue
        mark = "checked" if id in checked() else "untestable" if row.untestable else "-"
        print(f"{id:<48} {'/'.join(levels):<12} {mark:<11} {row.says}")  # noqa: T201
    return 0


def explain(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print a requirement in full."""
    expect_no_more(rest, command)
    _matching(options.id)
    if options.id not in catalogue.all_requirements():
        raise UsageError(
            f"{options.id!r} is a family: name one of its requirements (mcp-conformance list {options.id})"
        )
    for line in explanation(catalogue.requirement(options.id)):
        print(line)  # noqa: T201
    return 0


def _matching(pattern: str) -> frozenset[str]:
    """Return the ids that a pattern selects.  Raises `UsageError` if it selects none."""
    try:
        return catalogue.select(pattern)
    except catalogue.UnknownRequirement as error:
        raise UsageError(str(error)) from error
