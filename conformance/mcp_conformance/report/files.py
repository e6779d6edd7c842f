"""The files of reports: the format by the ending of the name, and writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mcp_conformance.report.formats import badge, html, markdown, sarif
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.model import Report

RENDERERS: Mapping[str, Callable[[Report], str]] = {
    "badge.json": badge.endpoint,
    ".sarif.json": sarif.render,
    ".json": json_format.render,
    ".html": html.render,
    ".md": markdown.render,
    ".sarif": sarif.render,
    ".svg": badge.svg,
}
"""The function that makes a report, by the ending of the file's name; the first match counts."""


def renderer(path: Path) -> Callable[[Report], str]:
    """Return the function that makes the report in a file of that name.  Raises `ValueError`."""
    matching = (render for ending, render in RENDERERS.items() if path.name.lower().endswith(ending))
    found = next(matching, None)
    if found is None:
        endings = ", ".join(ending for ending in RENDERERS if ending.startswith("."))
        raise ValueError(f"{path.name!r} ends in none of {endings}, badge.json")
    return found


def expect_formats(paths: Iterable[Path]) -> None:
    """Raise `ValueError` for a file whose name gives no format, or that is a directory."""
    for path in paths:
        renderer(path)
        if path.is_dir():
            raise ValueError(f"{path} is a directory")


def write_file(path: Path, text: str, mode: str = "w") -> tuple[str, bool]:
    """Write to a file; return a text about it, and whether it is written."""
    folder = "" if path.parent.exists() else f" (made the folder {path.parent})"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        return f"report: not written: {error}", False
    return f"report: {path}{folder}", True
