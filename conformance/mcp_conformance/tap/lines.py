"""The lines of a recorded session: a row of its file as a line of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_conformance.client.transcript import line_of_row
from mcp_conformance.protocol.jsonrpc import Line


def line_of(row: Mapping[str, Any]) -> Line | None:
    """Return the line of a row; None for one of another kind, or of which only the beginning is kept.

    An event that was delivered again, as its client has lost the connection, has none either.
    """
    return None if "raw" not in row or "cut_from" in row or is_again(row) else line_of_row(row)


def is_again(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an event that was delivered before."""
    http = row.get("http")
    return isinstance(http, dict) and "again" in http


def has_only_headers(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a request without a body, such as one that opens a stream or ends a session."""
    http = row.get("http")
    return isinstance(http, dict) and http.get("method") in ("GET", "DELETE") and "raw" not in row


def headers_of(row: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the headers of the HTTP request that carried a row, by names in lower case; None on stdio."""
    http = row.get("http")
    found = http.get("headers") if isinstance(http, dict) else None
    return {str(name).lower(): str(text) for name, text in found} if isinstance(found, list) else None
