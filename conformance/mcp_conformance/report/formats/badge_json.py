"""The verdict as the JSON that shields.io makes a badge from."""

from __future__ import annotations

import json

from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.formats.badge import LABEL, badge_verdict
from mcp_conformance.report.model import Report


def render(report: Report) -> str:
    """Return the JSON for a badge of shields.io (``https://img.shields.io/endpoint?url=...``)."""
    message, colour = badge_verdict(report)
    is_error = report.status == "failed"
    badge = {"schemaVersion": 1, "label": LABEL, "message": message, "color": colour, "isError": is_error}
    return json.dumps(badge, indent=1) + "\n"


FILE_FORMAT = FileFormat(("badge.json",), "the badge's text for shields.io", render)
