"""The installed version of this tool, and the pages of its documentation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version

PACKAGE = "pytest-mcp-conformance"


def tool_version() -> str:
    """Return the version of this tool; empty where it is not installed."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


def rule_page(requirement: str) -> str:
    """Return the address of a rule's page in our documentation; empty while that has none."""
    site = _documentation()
    family, anchor = requirement.partition(".")[0], requirement.replace(".", "")
    return f"{site}/reference/made/requirements/{family}.html#{anchor}" if site else ""


@cache
def _documentation() -> str:
    """Return the address of the documentation, which the package's metadata names; empty if it does not."""
    try:
        urls = metadata(PACKAGE).get_all("Project-URL") or ()
    except PackageNotFoundError:
        return ""
    labels = (one.partition(", ") for one in urls)
    return next((address.rstrip("/") for label, _, address in labels if label == "Documentation"), "")
