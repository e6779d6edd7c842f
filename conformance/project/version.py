"""The version of this tool."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def tool_version() -> str:
    """Return the version of this tool; empty where it is not installed."""
    try:
        return version("pytest-mcp-conformance")
    except PackageNotFoundError:
        return ""
