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
    return replace(Line.received(row["raw"].encode("latin-1"), row["at"]), sent=row["sent"])
