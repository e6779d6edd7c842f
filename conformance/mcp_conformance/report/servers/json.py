"""The combined report as JSON, written and read: the report of each server, and why others have none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_conformance.protocol.shape import misfit
from mcp_conformance.report.file_format import CombinedFormat
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.formats.json import read_members, report_from
from mcp_conformance.report.model import Report
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.report.strict_json import strict_json
from mcp_conformance.transport.files import BadFile


def render(servers: ServersReport) -> str:
    """Return the combined report, in ASCII.  ``servers-1.schema.json`` describes it."""
    found = {
        "format": json_format.FORMAT,
        "tool": {"name": json_format.TOOL, "version": servers.tool_version},
        "file": servers.file,
        "require_all": servers.require_all,
        "verdict": {"exit": servers.status, "text": servers.headline},
        "servers": [_server(one) for one in servers.outcomes],
    }
    return strict_json(found, indent=1) + "\n"


def _server(one: ServerOutcome) -> dict[str, Any]:
    report = json.loads(json_format.render(one.report)) if one.report else None
    about = {"name": one.name, "line": one.line, "outcome": one.word, "exit": one.status, "text": one.remark}
    return {**about, "report": report}


def read(text: str) -> Report | ServersReport:
    """Return the report of one server, or of several, that a JSON report holds.  Raises `BadFile`."""
    data = read_members(text)
    if "servers" not in data:
        return report_from(data)
    try:
        outcomes = tuple(_read_server(one) for one in data["servers"])
        found = ServersReport(
            data["file"], outcomes, data["tool"]["version"], require_all=data.get("require_all", False)
        )
    except (KeyError, TypeError) as error:
        raise BadFile(f"a member is missing or of the wrong type: {error}") from error
    if place := misfit(found, ServersReport, "report"):
        raise BadFile(f"a member is of the wrong type: {place}")
    return found


def _read_server(one: Mapping[str, Any]) -> ServerOutcome:
    report = report_from(one["report"]) if one["report"] else None
    return ServerOutcome(one["name"], one["exit"], one["text"], one["line"], report)


COMBINED = CombinedFormat(render)
