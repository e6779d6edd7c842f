"""The command ``mcp-conformance init``: write the files of a server's repository."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mcp_conformance.cli.arguments import UsageError, expect_no_more
from mcp_conformance.project.init import InitError, initialise
from mcp_conformance.project.version import tool_version


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Write pytest's configuration and a CI workflow, and print what was written."""
    expect_no_more(rest)
    if not options.folder.is_dir():
        raise UsageError(f"init: no such directory: {options.folder}")
    try:
        for line in initialise(options.folder.resolve(), command, tool_version()):
            print(line)  # noqa: T201
    except (InitError, OSError) as error:
        raise UsageError(f"init: {error}") from error
    return 0
