"""Compare two reports of the same servers, each of one server or of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcp_conformance.protocol.text import named
from mcp_conformance.report.compare import Comparison, compared, comparison_lines
from mcp_conformance.report.formats import changes
from mcp_conformance.report.formats.markdown import code
from mcp_conformance.report.model import Report

Reports = Mapping[str, Report]
"""The report of each server by its name, "" for a run of one server."""


def comparisons(old: Reports, new: Reports) -> Mapping[str, Comparison]:
    """Return the comparison of each server that both have."""
    return {name: compared(old[name], report) for name, report in new.items() if name in old}


def lines(old: Reports, new: Reports, found: Mapping[str, Comparison]) -> Iterator[str]:
    """Yield the comparisons as lines of text."""
    for name, comparison in found.items():
        if name:
            yield f"== {named(name)}"
        yield from comparison_lines(old[name], new[name], comparison)
        if name:
            yield ""
    yield from (f"{named(name)} {text}" for name, text in _in_one(old, new))


def blocks(old: Reports, new: Reports, found: Mapping[str, Comparison], where: str) -> Iterator[str]:
    """Yield the comparisons as blocks of Markdown; ``where`` names the old report."""
    alike = [name for name, one in found.items() if name and one.is_empty and not one.notes]
    for name, comparison in found.items():
        if name not in alike:
            yield from changes.blocks(old[name], comparison, where, name)
    if alike:
        yield f"No change against {code(where)}: {', '.join(map(code, alike))}"
    if others := [f"- {code(name)} {text}" for name, text in _in_one(old, new)]:
        yield "\n".join(others)


def _in_one(old: Reports, new: Reports) -> Iterator[tuple[str, str]]:
    """Yield each server that one report lacks, and what became of it."""
    yield from ((name, "was not tested before") for name in new if name not in old)
    yield from ((name, "is no longer tested") for name in old if name not in new)
