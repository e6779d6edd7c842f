"""A JSON report that a command line names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_conformance.report.formats import json
from mcp_conformance.report.model import Report
from mcp_conformance.report.servers import json as servers_json
from mcp_conformance.report.servers.model import ServersReport
from mcp_conformance.transport.files import read_file


def report_in(path: Path) -> Report:
    """Return the report of one server in a file.  Raises `BadFile` if it holds none."""
    return read_file(path, json.read)


def reports_in(path: Path) -> Mapping[str, Report]:
    """Return the reports in a file by server, "" for a run of one.  Raises `BadFile` if it holds none."""
    found = report_or_reports_in(path)
    return {"": found} if isinstance(found, Report) else {one.name: report for one, report in found.reports}


def report_or_reports_in(path: Path) -> Report | ServersReport:
    """Return the report in a file, of one server or of several.  Raises `BadFile` if it holds none."""
    return read_file(path, servers_json.read)
