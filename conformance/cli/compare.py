"""The command ``mcp-conformance compare``: show what changed between two JSON reports."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from conformance.cli.arguments import expect_no_more
from conformance.cli.report_file import report_in
from conformance.report.compare import compared, comparison_lines


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print the comparison; return 1 if a rule broke or a tool changed in a way that breaks clients."""
    expect_no_more(rest, command)
    old, new = report_in(options.old), report_in(options.new)
    comparison = compared(old, new)
    for line in comparison_lines(old, new, comparison):
        print(line)  # noqa: T201
    return 1 if comparison.is_worse else 0
