"""The command ``mcp-conformance compare``: show what changed between two JSON reports."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mcp_conformance.cli.arguments import UsageError, expect_no_more
from mcp_conformance.cli.report_file import reports_in
from mcp_conformance.protocol.text import harmless
from mcp_conformance.report.servers.compare import blocks, comparisons, lines


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print the comparison; return 1 if a rule broke or a tool changed in a way that breaks clients."""
    expect_no_more(rest, command)
    old, new = reports_in(options.old), reports_in(options.new)
    found = comparisons(old, new)
    if not found:
        raise UsageError(f"compare: no server is in both {options.old} and {options.new}")
    if options.output_format == "markdown":
        text = "\n\n".join(blocks(old, new, found, options.old.name))
    else:
        text = "\n".join(lines(old, new, found))
    print(harmless(text))  # noqa: T201
    return 1 if any(one.is_worse for one in found.values()) else 0
