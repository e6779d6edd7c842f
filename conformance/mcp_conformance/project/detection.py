"""Detection of the server in a repository, in any of the known languages."""

from __future__ import annotations

from pathlib import Path

from mcp_conformance.project.go import detect_go
from mcp_conformance.project.model import Project
from mcp_conformance.project.node import detect_node
from mcp_conformance.project.python import detect_python
from mcp_conformance.project.rust import detect_rust

DETECTORS = (detect_python, detect_node, detect_go, detect_rust)


def detect_projects(folder: Path) -> list[Project]:
    """Return the projects in a folder, the most likely MCP server first.  Raises `BadFile`."""
    found = [project for detect in DETECTORS if (project := detect(folder)) is not None]
    return sorted(found, key=lambda one: (not one.guesses, not one.names_mcp))
