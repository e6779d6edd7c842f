"""A report as Markdown, short enough for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mcp_conformance.outcome import Listed, Outcome, listed_by
from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.report.connecting import in_words
from mcp_conformance.report.exercise import FETCHED
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.hosts import HOSTS
from mcp_conformance.report.model import Report, Result, by_reason, grouped
from mcp_conformance.report.text import clients_title, defect_lines, figures_of, vain_lines
from mcp_conformance.requirements.catalogue import OWN, UnknownRequirement, families, requirement

MAX_LENGTH = 60_000
"""GitHub takes a comment of 65,536 characters."""
SIGNS = {
    "passed": "✅",
    "unexercised": "⚠️",
    "failed": "❌",
    "internal-error": "💥",
    "untested": "⚪",
    "not-started": "⚪",
    "unfinished": "⚪",
}
MAX_CASES = MAX_DEFECTS = 5
MAX_NAMES = 8
MAX_TEXT = 600
MAX_WIRE_LINES = 6
MAX_TOOLS, MAX_TOOL_NAME, MAX_HOSTS = 60, 60, 60


def render(report: Report, changes: Sequence[str] = ()) -> str:
    """Return the report: the verdict, the broken rules worst first, and a table of the chapters.

    Blocks about ``changes`` against another report follow the verdict, if there are any.
    """
    blocks = [*_head(report), *changes, *_about(report)]
    tail = list(_tail(report))
    groups = grouped(report.judged, *listed_by(Listed.ALWAYS))
    found = ["\n\n".join(_finding(group)) for group in groups]
    room = MAX_LENGTH - sum(len(block) + 2 for block in (*blocks, *tail))
    return "\n\n".join([*blocks, *fitting(found, room, "rules"), *tail]) + "\n"


def fitting(blocks: Sequence[str], room: int, noun: str) -> Iterator[str]:
    """Yield the first blocks, as many as fit into ``room`` characters, and how many more there are."""
    for number, block in enumerate(blocks):
        room -= len(block) + 2
        if room < 0:
            yield f"… and {len(blocks) - number} more {noun}, for which there is no room here."
            return
        yield block


def _head(report: Report) -> Iterator[str]:
    yield f"## {SIGNS[report.status]} MCP conformance: {report.verdict}"
    tested = ", ".join(report.tested)
    facts = [f"{code(report.server)} {code(report.version)}", tested or "no session could be used"]
    facts += [f"{report.seconds:.0f} s", f"pytest-mcp-conformance {report.tool_version}"]
    yield " · ".join(facts)
    if defects := defect_lines(report):
        lines = [f"- {one.outcome.with_sign}: {code(line)}" for one, line in defects[:MAX_DEFECTS]]
        left = len(defects) - MAX_DEFECTS
        yield "\n".join([*lines, *([f"- and {left} more"] if left > 0 else [])])
    if vain := list(vain_lines(report)):
        yield "\n".join(f"- {code(line)}" for line in vain)


def _about(report: Report) -> Iterator[str]:
    lines = [f"**Not finished:** {code(report.ended)}"] if report.ended else []
    if report.clients:
        lines.append(f"**{clients_title(report).capitalize()}:** {in_words(report.clients)}")
    if report.not_run:
        lacking = ", ".join(f"{families()[name].title} ({number})" for name, number in report.not_run.items())
        lines.append(f"Checks that did not run: {lacking}")
    lines += [f"**Out of date in the baseline:** {code(one)}" for one in report.outdated[:MAX_NAMES]]
    lines += [f"**Too little exercised:** {code(report.lacking)}"] if report.lacking else []
    lines += [f"Not called: {_names(report.not_called)}"] if report.not_called else []
    lines += [code(notice) for notice in report.notices[:MAX_NAMES]]
    lines += [
        f"Not only this server: every server built on the {sdk} breaks {_names(rules)}"
        for sdk, rules in report.deviations.items()
    ]
    lines += [f"Measured in {revision}: {figures}" for revision, figures in figures_of(report)]
    if lines:
        yield "\n".join(f"- {one}" for one in lines)


def _finding(group: Sequence[Result]) -> Iterator[str]:
    first, cases = group[0], by_reason(group)
    yield f"### {first.outcome.with_sign}: {code(first.requirement)} ({first.level}, {first.basis})"
    says = sentence(first.requirement, first.says)
    yield f"{says} [Specification]({first.spec})" if first.spec.startswith("https:") else says
    items = [f"{_names(_place(one) for one in case)}: {code(case[0].reason)}" for case in cases[:MAX_CASES]]
    items += [f"and {len(cases) - MAX_CASES} more"] if len(cases) > MAX_CASES else []
    yield "\n".join(f"- {item}" for item in items)
    yield from _evidence(first)


def _place(one: Result) -> str:
    return f"{one.revision} {one.tool}".strip()


def _evidence(one: Result) -> Iterator[str]:
    lines = [shorten(line, MAX_TEXT) for line in one.wire[:MAX_WIRE_LINES]]
    lines += [shorten(one.stderr, MAX_TEXT)] if one.stderr else []
    commands = "\n".join(filter(None, (one.replay, one.reproduce)))
    shown = "".join(
        f"\n\n{fence(text, kind)}" for text, kind in (("\n".join(lines), ""), (commands, "sh")) if text
    )
    if shown:
        title = "On the wire, and the command that reproduces it"
        yield f"<details><summary>{title}</summary>{shown}\n\n</details>"


def _tail(report: Report) -> Iterator[str]:
    yield from _exercise(report)
    yield from _hosts(report)
    if not report.results:
        return
    shown = [outcome for outcome in Outcome if outcome in report.counts]
    rows = [["chapter", *shown], ["---", *("---:" for _ in shown)]]
    for name, counts in report.chapters.items():
        rows.append([families()[name].title, *(str(counts.get(outcome, "")) for outcome in shown)])
    yield folded("Chapters", rows)


def _exercise(report: Report) -> Iterator[str]:
    """Yield the table of the tools, those that were not exercised first."""
    if all(one.why_not for one in report.exercise):
        return
    tools = sorted(report.exercise, key=lambda one: (bool(one.why_not), one.is_exercised))
    rows = [["tool", "calls", "successes", "answers", "arguments from"], ["---", *["---:"] * 3, "---"]]
    for one in tools[:MAX_TOOLS]:
        numbers = [str(number) for number in (one.calls, one.successes, one.answers)]
        about = f"not counted: {one.why_not}" if one.why_not else ", ".join(one.origins)
        rows.append([code(named(one.title, MAX_TOOL_NAME)), *numbers, code(about)])
    if len(tools) > MAX_TOOLS:
        rows.append([f"and {len(tools) - MAX_TOOLS} more", "", "", "", ""])
    yield folded(report.share_exercised or FETCHED, rows)


def _hosts(report: Report) -> Iterator[str]:
    """Yield the table of what the server asks of other hosts, if that was looked at."""
    if not report.hosts:
        return
    rows = [
        ["host", "when", "request", "bytes sent", "bytes back", "times"],
        ["---", "---", "---", "---:", "---:", "---:"],
    ]
    for one in report.hosts[:MAX_HOSTS]:
        numbers = [str(one.sent), str(one.received), str(one.times)]
        rows.append([code(named(one.host)), code(one.occasion), code(one.request), *numbers])
    if len(report.hosts) > MAX_HOSTS:
        rows.append([f"and {len(report.hosts) - MAX_HOSTS} more", "", "", "", "", ""])
    yield folded(HOSTS, rows)


def folded(title: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a table that opens."""
    table = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    return f"<details><summary>{title}</summary>\n\n{table}\n\n</details>"


def _names(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else ""
    return ", ".join(map(code, known[:MAX_NAMES])) + more


def code(text: str) -> str:
    """Return a text as a span of code, in which Markdown has no effect."""
    plain = named(text, MAX_TEXT)
    if not plain.strip():
        return ""
    ticks = "`" * (_longest_ticks(plain) + 1)
    space = " " if "`" in (plain[0], plain[-1]) else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def sentence(id: str, text: str) -> str:
    """Return what a rule says; as code if it is not in our catalogue, as a repository may have it."""
    try:
        is_ours = requirement(id).says == text and not id.startswith(f"{OWN}.")
    except UnknownRequirement:
        is_ours = False
    return text if is_ours else code(text)


def fence(text: str, kind: str = "") -> str:
    """Return a text as a block of code."""
    plain = shorten(text, MAX_LENGTH)
    ticks = "`" * max(3, _longest_ticks(plain) + 1)
    return f"{ticks}{kind}\n{plain}\n{ticks}"


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


FILE_FORMAT = FileFormat((".md",), "a comment on a pull request, never longer than GitHub takes", render)
