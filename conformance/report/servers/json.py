"""The combined report as JSON: the report of each server, and what became of those without one."""

from __future__ import annotations

import json
from typing import Any

from conformance.report.formats import json as json_format
from conformance.report.servers.model import ServerOutcome, ServersReport


def render(servers: ServersReport) -> str:
    """Return the combined report, in ASCII.  ``servers-1.schema.json`` describes it."""
    found = {
        "format": json_format.FORMAT,
        "tool": {"name": json_format.TOOL, "version": servers.tool_version},
        "file": servers.file,
        "verdict": {"exit": servers.status, "text": servers.headline},
        "servers": [_server(one) for one in servers.outcomes],
    }
    return json.dumps(found, indent=1) + "\n"


def _server(one: ServerOutcome) -> dict[str, Any]:
    report = json.loads(json_format.render(one.report)) if one.report else None
    about = {"name": one.name, "line": one.line, "outcome": one.word, "exit": one.status, "text": one.text}
    return {**about, "report": report}
