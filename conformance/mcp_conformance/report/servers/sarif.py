"""The combined report as SARIF: the place of a finding is the entry of its server in the file."""

from __future__ import annotations

from mcp_conformance.report.file_format import CombinedFormat
from mcp_conformance.report.formats.sarif import Located, render_all
from mcp_conformance.report.servers.model import ServersReport


def render(servers: ServersReport) -> str:
    """Return the findings of all servers as SARIF."""
    located = [Located(report, servers.file, one.line, one.name) for one, report in servers.reports]
    return render_all(located, servers.tool_version)


COMBINED = CombinedFormat(render, has_own_files=False)
