"""A report as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from conformance.protocol.text import named, shorten
from conformance.report.model import TESTED, Report, Result, by_reason, grouped
from conformance.requirements.catalogue import families
from conformance.verdicts import ORDER, Outcome

LONGEST = 60_000
"""GitHub takes a comment of 65,536 characters."""
SIGNS = {"passed": "✅", "failed": "❌", "internal-error": "💥", "untested": "⚪", "unfinished": "⚪"}
WORDS = {
    Outcome.FAILED: "❌ failed",
    Outcome.BLOCKED: "⛔ blocked",
    Outcome.WARNED: "⚠️ warned",
    Outcome.INTERNAL_ERROR: "💥 internal error",
}
CASES_SHOWN = 5
NAMES_SHOWN = 8
TEXT_SHOWN = 600
WIRE_SHOWN = 6


def render(report: Report) -> str:
    """The report: the verdict, the broken rules worst first, and a table of the chapters."""
    blocks = [*_head(report), *_about(report)]
    tail = list(_tail(report))
    room = LONGEST - sum(len(block) + 2 for block in (*blocks, *tail))
    groups = list(grouped(report.judged, *WORDS))
    for number, group in enumerate(groups):
        block = "\n\n".join(_finding(group))
        room -= len(block) + 2
        if room < 0:
            blocks.append(f"… and {len(groups) - number} more rules, which have no room here.")
            break
        blocks.append(block)
    return "\n\n".join([*blocks, *tail]) + "\n"


def _head(report: Report) -> Iterator[str]:
    yield f"## {SIGNS[report.status]} MCP conformance: {report.verdict}"
    tested = ", ".join(one.revision for one in report.revisions if one.state == TESTED)
    facts = [f"{code(report.server)} {code(report.version)}", tested or "no conversation came about"]
    facts += [f"{report.seconds:.0f} s", f"pytest-mcp-conformance {report.tool_version}"]
    yield " · ".join(facts)


def _about(report: Report) -> Iterator[str]:
    told = [f"**Not finished:** {code(report.ended)}"] if report.ended else []
    if report.not_run:
        lacking = ", ".join(f"{families()[name].title} ({number})" for name, number in report.not_run.items())
        told.append(f"Checks that did not run: {lacking}")
    told += [f"**Out of date in the baseline:** {code(one)}" for one in report.outdated[:NAMES_SHOWN]]
    told += [f"Not called: {_names(report.not_called)}"] if report.not_called else []
    told += [code(notice) for notice in report.notices[:NAMES_SHOWN]]
    told += [
        f"Not this server's alone: every server built on the {sdk} breaks {_names(rules)}"
        for sdk, rules in report.deviations.items()
    ]
    if told:
        yield "\n".join(f"- {one}" for one in told)


def _finding(group: Sequence[Result]) -> Iterator[str]:
    first, cases = group[0], by_reason(group)
    yield f"### {WORDS[first.outcome]}: {code(first.requirement)} ({first.level}, {first.basis})"
    yield f"{first.says} [Specification]({first.spec})"
    items = [f"{_names(_place(one) for one in case)}: {code(case[0].reason)}" for case in cases[:CASES_SHOWN]]
    items += [f"and {len(cases) - CASES_SHOWN} more"] if len(cases) > CASES_SHOWN else []
    yield "\n".join(f"- {item}" for item in items)
    yield from _evidence(first)


def _place(one: Result) -> str:
    return f"{one.revision} {one.tool}".strip()


def _evidence(one: Result) -> Iterator[str]:
    lines = [shorten(line, TEXT_SHOWN) for line in one.wire[:WIRE_SHOWN]]
    lines += [shorten(one.stderr, TEXT_SHOWN)] if one.stderr else []
    shown = "".join(
        f"\n\n{fence(text, kind)}" for text, kind in (("\n".join(lines), ""), (one.reproduce, "sh")) if text
    )
    if shown:
        yield f"<details><summary>On the wire, and how to see it again</summary>{shown}\n\n</details>"


def _tail(report: Report) -> Iterator[str]:
    if not report.results:
        return
    shown = [outcome for outcome in reversed(ORDER) if outcome in report.counts]
    rows = [["chapter", *shown], ["---", *("---:" for _ in shown)]]
    for name, counts in report.chapters.items():
        rows.append([families()[name].title, *(str(counts.get(outcome, "")) for outcome in shown)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    yield f"<details><summary>Chapters</summary>\n\n{table}\n\n</details>"


def _names(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - NAMES_SHOWN} more" if len(known) > NAMES_SHOWN else ""
    return ", ".join(map(code, known[:NAMES_SHOWN])) + more


def code(text: str) -> str:
    """A text as a span of code, in which nothing is obeyed."""
    plain = named(text, TEXT_SHOWN)
    if not plain.strip():
        return ""
    ticks = "`" * (_longest_ticks(plain) + 1)
    space = " " if "`" in (plain[0], plain[-1]) else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def fence(text: str, kind: str = "") -> str:
    """A text as a block of code."""
    plain = shorten(text, LONGEST)
    ticks = "`" * max(3, _longest_ticks(plain) + 1)
    return f"{ticks}{kind}\n{plain}\n{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
