"""Findings as annotations of GitHub Actions: workflow commands, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_conformance.outcome import Outcome, Weight, weighing
from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.report.model import Report, Result, by_reason, grouped
from mcp_conformance.report.text import defect_lines

MAX_ANNOTATIONS = 10
"""How many errors, and how many warnings, GitHub shows for one step."""
MAX_REASON = 500
MAX_LACKING = 2000
MAX_CASES = 3
MAX_DEFECTS = 10


def commands(report: Report) -> Iterator[str]:
    """Yield a line for each broken rule, an error or a warning, and for what concerns the whole run.

    A notice before them has the two axes of the verdict, if the server has defects.
    """
    if defects := defect_lines(report):
        lines = [named(line, MAX_REASON) for _, line in defects[:MAX_DEFECTS]]
        lines += [f"and {len(defects) - MAX_DEFECTS} more"] if len(defects) > MAX_DEFECTS else []
        verdict = named(report.headline, MAX_REASON)
        yield _command("notice", report.source, "MCP conformance", "\n".join([verdict, *lines]))
    general = list(_general(report))
    yield from general
    yield from _commands("error", report, MAX_ANNOTATIONS - len(general), *weighing(Weight.FAILS))
    is_empty = report.status == "unexercised"
    if is_empty:
        yield _command("warning", report.source, "MCP tools not exercised", report.headline)
    yield from _commands("warning", report, MAX_ANNOTATIONS - is_empty, *weighing(Weight.WARNS))


def _general(report: Report) -> Iterator[str]:
    """Yield an error for a run that ended early, a baseline that is out of date, and too little exercise."""
    if report.ended:
        yield _command("error", report.source, "MCP run not finished", named(report.headline, MAX_REASON))
    if report.outdated:
        lines = [named(one, MAX_REASON) for one in report.outdated[:MAX_CASES]]
        more = len(report.outdated) - len(lines)
        lines += [f"and {more} more"] if more else []
        yield _command("error", report.source, "MCP baseline out of date", "\n".join(lines))
    if report.lacking:
        yield _command("error", report.source, "MCP tools not exercised", named(report.lacking, MAX_LACKING))


def _commands(kind: str, report: Report, most: int, *outcomes: Outcome) -> Iterator[str]:
    groups = list(grouped(report.judged, *outcomes))
    shown = groups if len(groups) <= most else groups[: most - 1]
    for group in shown:
        yield _command(kind, report.source, _title(group[0]), _message(group))
    if len(groups) > len(shown):
        yield _command(kind, report.source, "MCP", f"and {len(groups) - len(shown)} more rules: see the log")


def _title(first: Result) -> str:
    defect = f", {first.defect}" if first.defect else ""
    return f"MCP {first.requirement} {first.outcome} ({first.level}, {first.basis}{defect})"


def _message(group: Sequence[Result]) -> str:
    cases = by_reason(group)
    lines = [group[0].says]
    for case in cases[:MAX_CASES]:
        names = ", ".join(f"{one.revision} {named(one.tool)}".strip() for one in case[:MAX_CASES])
        more = f" and {len(case) - MAX_CASES} more" if len(case) > MAX_CASES else ""
        lines.append(f"{names}{more}: {shorten(case[0].reason, MAX_REASON)}")
    lines += [f"and {len(cases) - MAX_CASES} more"] if len(cases) > MAX_CASES else []
    return "\n".join([*lines, group[0].page])


def _command(kind: str, source: str, title: str, message: str) -> str:
    file = f"file={_property(source)}," if source else ""
    return f"::{kind} {file}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
