"""A JSON report that a command line names."""

from __future__ import annotations

from pathlib import Path

from conformance.cli.arguments import UsageError
from conformance.report.formats.json import BadReport, read
from conformance.report.model import Report


def report_in(path: Path) -> Report:
    """Return the report in a file.  Raises `UsageError` if it holds none."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except (BadReport, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
