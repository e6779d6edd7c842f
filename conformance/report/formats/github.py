"""Findings as annotations of GitHub Actions: workflow commands, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.protocol.text import named, shorten
from conformance.report.model import Report, Result, by_reason, grouped
from conformance.verdicts import Outcome

MOST = 10
"""How many errors, and how many warnings, GitHub shows of one step."""
REASON_SHOWN = 500
CASES_SHOWN = 3


def commands(report: Report) -> Iterator[str]:
    """A line for each rule that is broken: an error, or a warning."""
    general = list(_general(report))
    yield from general
    yield from _commands("error", report, MOST - len(general), Outcome.FAILED, Outcome.BLOCKED)
    yield from _commands("warning", report, MOST, Outcome.WARNED)


def _general(report: Report) -> Iterator[str]:
    """What makes the run fail, or worth less, whatever the server does."""
    if report.ended:
        yield _command("error", report.source, "MCP run not finished", named(report.headline, REASON_SHOWN))
    if report.outdated:
        told = [named(one, REASON_SHOWN) for one in report.outdated[:CASES_SHOWN]]
        more = len(report.outdated) - len(told)
        told += [f"and {more} more"] if more else []
        yield _command("error", report.source, "MCP baseline out of date", "\n".join(told))


def _commands(kind: str, report: Report, most: int, *outcomes: Outcome) -> Iterator[str]:
    groups = list(grouped(report.judged, *outcomes))
    shown = groups if len(groups) <= most else groups[: most - 1]
    for group in shown:
        yield _command(kind, report.source, _title(group[0]), _message(group))
    if len(groups) > len(shown):
        yield _command(kind, report.source, "MCP", f"and {len(groups) - len(shown)} more rules: see the log")


def _title(first: Result) -> str:
    return f"MCP {first.requirement} {first.outcome} ({first.level}, {first.basis})"


def _message(group: Sequence[Result]) -> str:
    cases = by_reason(group)
    lines = [group[0].says]
    for case in cases[:CASES_SHOWN]:
        names = ", ".join(f"{one.revision} {named(one.tool)}".strip() for one in case[:CASES_SHOWN])
        more = f" and {len(case) - CASES_SHOWN} more" if len(case) > CASES_SHOWN else ""
        lines.append(f"{names}{more}: {shorten(case[0].reason, REASON_SHOWN)}")
    lines += [f"and {len(cases) - CASES_SHOWN} more"] if len(cases) > CASES_SHOWN else []
    return "\n".join([*lines, group[0].spec])


def _command(kind: str, source: str, title: str, message: str) -> str:
    file = f"file={_property(source)}," if source else ""
    return f"::{kind} {file}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
