"""The command ``mcp-conformance compare``: show what changed between two JSON reports."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from conformance.cli.arguments import UsageError, expect_no_more
from conformance.report.compare import compared, comparison_lines
from conformance.report.formats.json import BadReport, read
from conformance.report.model import Report


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print the comparison; return 1 if a rule broke or a tool changed in a way that breaks clients."""
    expect_no_more(rest, command)
    old, new = _report_in(options.old), _report_in(options.new)
    comparison = compared(old, new)
    for line in comparison_lines(old, new, comparison):
        print(line)  # noqa: T201
    return 1 if comparison.is_worse else 0


def _report_in(path: Path) -> Report:
    try:
        return read(path.read_text(encoding="utf-8"))
    except (BadReport, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"compare: {path}: {error}") from error
