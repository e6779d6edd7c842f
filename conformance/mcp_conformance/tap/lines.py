"""The lines of a recorded session: a row of its file as a line of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_conformance.client.transcript import line_of_row
from mcp_conformance.protocol.jsonrpc import Line


def line_of(row: Mapping[str, Any]) -> Line | None:
    """Return the line of a row; None for one of another kind.

    That is one of which only the beginning is kept too, and an event that was delivered ``again``, as its
    client has lost the connection.
    """
    http = row.get("http")
    if "raw" not in row or "cut_from" in row or (isinstance(http, dict) and "again" in http):
        return None
    return line_of_row(row)


def headers_of(row: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the headers of the HTTP request that carried a row, by names in lower case; None on stdio."""
    http = row.get("http")
    found = http.get("headers") if isinstance(http, dict) else None
    return {str(name).lower(): str(text) for name, text in found} if isinstance(found, list) else None
