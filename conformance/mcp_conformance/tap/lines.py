"""The lines of a recorded session: a row of its file as a line of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import Line


def line_of(row: Mapping[str, Any]) -> Line | None:
    """Return the line of a row; None for one of another kind, or of which only the beginning is kept."""
    if "raw" not in row or "cut_from" in row:
        return None
    read = Line.received(row["raw"].encode("latin-1"), row["at"], row.get("carried_by", ""))
    return replace(read, sent=row["sent"])


def headers_of(row: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the headers of the HTTP request that carried a row, by names in lower case; None on stdio."""
    http = row.get("http")
    found = http.get("headers") if isinstance(http, dict) else None
    return {str(name).lower(): str(text) for name, text in found} if isinstance(found, list) else None
