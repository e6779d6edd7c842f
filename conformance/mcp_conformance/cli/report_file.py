"""A JSON report that a command line names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from mcp_conformance.cli.arguments import UsageError
from mcp_conformance.report.formats import json
from mcp_conformance.report.formats.json import BadReport
from mcp_conformance.report.model import Report
from mcp_conformance.report.servers import json as servers_json
from mcp_conformance.report.servers.model import ServersReport
from mcp_conformance.transport.files import bounded_text

Found = TypeVar("Found")


def report_in(path: Path) -> Report:
    """Return the report of one server in a file.  Raises `UsageError` if it holds none."""
    return _read(path, json.read)


def reports_in(path: Path) -> Mapping[str, Report]:
    """Return the reports in a file by server, "" for a run of one.  Raises `UsageError` if it holds none."""
    found = report_or_reports_in(path)
    return {"": found} if isinstance(found, Report) else {one.name: report for one, report in found.reports}


def report_or_reports_in(path: Path) -> Report | ServersReport:
    """Return the report in a file, of one server or of several.  Raises `UsageError` if it holds none."""
    return _read(path, servers_json.read)


def _read(path: Path, read: Callable[[str], Found]) -> Found:
    try:
        return read(bounded_text(path))
    except (BadReport, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
