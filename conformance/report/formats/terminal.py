"""A report as lines for a terminal: who was tested, the chapters, the findings worst first, the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conformance.protocol.text import named, shorten
from conformance.report.model import Report, Result, by_reason, grouped
from conformance.report.text import RARE, WIDTH, not_called_line, first_names, server_lines, wrapped
from conformance.verdicts import ORDER, Outcome

Row = tuple[tuple[str, str], ...]
"""A line: texts, each with the names of its colour and weight, which may be none."""
COLOURS = {
    Outcome.FAILED: "red",
    Outcome.BLOCKED: "red",
    Outcome.INTERNAL_ERROR: "red",
    Outcome.WARNED: "yellow",
    Outcome.PASSED: "green",
}
VERDICTS = {"passed": "green", "unfinished": "yellow", "untested": "yellow"}
"""The colours of verdicts; all others are red."""
LISTED = (Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED, Outcome.INTERNAL_ERROR)
CASES_SHOWN = 12
LONGEST = 20_000
WIRE_SHOWN, LINE_SHOWN = 4, 300
NAME = 14
CELLS = (10, 9)
"""How wide a column is, and where there are many."""


def render(report: Report, *, width: int = WIDTH, verbose: bool = False, crashes: bool = False) -> str:
    """The lines as one text without colours."""
    rows = lines(report, width=width, verbose=verbose, crashes=crashes)
    return "".join("".join(text for text, _ in row) + "\n" for row in rows)


def lines(report: Report, *, width: int, verbose: bool = False, crashes: bool = False) -> Iterator[Row]:
    """The lines, none of them longer than ``width`` but for commands, lines on the wire and the verdict.

    With ``verbose`` what informs is listed too, and all lines on the wire are shown; with ``crashes`` the
    traceback of a mistake of ours.  Nothing that a server wrote is obeyed in them.
    """
    for row in _lines(report, width, verbose=verbose, crashes=crashes):
        shown = [(named(text, LONGEST), style) for text, style in row]
        while shown and not shown[-1][0].strip():
            shown.pop()
        yield tuple(shown)


def _lines(report: Report, width: int, *, verbose: bool, crashes: bool) -> Iterator[Row]:
    listed = (*LISTED, Outcome.INFO) if verbose else LISTED
    blocks = [
        [plain(line) for one in server_lines(report.revisions) for line in wrapped(one, width, "", "  ")]
    ]
    blocks.append(list(_table(report, width)))
    blocks.append(list(_skipped(report, width)))
    for group in grouped(report.judged, *listed):
        if crashes and group[0].outcome is Outcome.INTERNAL_ERROR:
            blocks += [list(_crash(one)) for one in group]
        else:
            blocks.append(list(_finding(group, width, verbose=verbose)))
    blocks += [[plain(line) for line in wrapped(text, width, "", "  ")] for text in _of_sdks(report)]
    blocks.append([plain(line) for text in _notes(report) for line in wrapped(text, width, "", "  ")])
    for block in filter(None, blocks):
        yield from block
        yield plain("")
    hint = _hint(report)
    if hint and not verbose:
        yield plain(hint)
    yield ((f"verdict: {report.verdict}", _weighty(VERDICTS.get(report.status, "red"))),)


def _weighty(colour: str) -> str:
    """A colour in bold, but for yellow, which would be too bright for a light background."""
    return colour if colour == "yellow" else f"{colour} bold"


def plain(text: str) -> Row:
    """A line without colours."""
    return ((text, ""),)


# Chapters ----------------------------------------------------------------------------------------


def _table(report: Report, width: int) -> Iterator[Row]:
    """How many results of each outcome each chapter has, but for those of which all is skipped."""
    shown = [outcome for outcome in reversed(ORDER) if outcome not in RARE or outcome in report.counts]
    cell = next((one for one in CELLS if NAME + one * len(shown) <= width), CELLS[-1])
    if not report.results:
        return
    yield ((f"{'':<{NAME}}" + "".join(f"{outcome.value:>{cell}}" for outcome in shown), "bold"),)
    for family, counts in report.chapters.items():
        if set(counts) != {Outcome.SKIPPED}:
            cells = ((f"{counts.get(one) or '':>{cell}}", COLOURS.get(one, "")) for one in shown)
            yield ((f"{family:<{NAME}}", ""), *cells)
    cells = ((f"{report.counts.get(one) or '':>{cell}}", _weighty(COLOURS.get(one, ""))) for one in shown)
    yield ((f"{'all':<{NAME}}", "bold"), *cells)


def _skipped(report: Report, width: int) -> Iterator[Row]:
    """The chapters of which all is skipped."""
    skipped = {name: many for name, many in report.chapters.items() if set(many) == {Outcome.SKIPPED}}
    names = [f"{name} ({sum(many.values())})" for name, many in skipped.items()]
    if names:
        yield from map(plain, wrapped(f"skipped altogether: {', '.join(names)}", width, "", "  "))


# Findings ----------------------------------------------------------------------------------------


def _finding(group: Sequence[Result], width: int, *, verbose: bool) -> Iterator[Row]:
    """The findings of one requirement: the rule once, then each case, and what to do next."""
    first, cases = group[0], by_reason(group)
    yield (
        (first.outcome.upper(), _weighty(COLOURS.get(first.outcome, ""))),
        (f" {first.requirement}", "bold"),
        (f" ({first.level}, {first.basis})", ""),
    )
    yield from map(plain, wrapped(first.says, width, "  ", "  "))
    for number, case in enumerate(cases[:CASES_SHOWN]):
        places = dict.fromkeys(f"{one.revision} {named(one.tool)}".strip() for one in case)
        text = f"- {first_names(list(places))}: {case[0].reason}"
        yield from map(plain, wrapped(text, width, "  ", "    "))
        if number == 0 or verbose:
            yield from map(plain, _evidence(case[0], verbose=verbose))
    if len(cases) > CASES_SHOWN:
        yield plain(f"  - and {len(cases) - CASES_SHOWN} more")
    if first.deviation:
        yield plain(f"  SDK: every server built on the {first.deviation} does this")
    if first.reproduce:
        yield plain(f"  reproduce: {first.reproduce}")
    yield plain(f"  more:  mcp-conformance explain {first.requirement}")


def _evidence(one: Result, *, verbose: bool) -> Iterator[str]:
    wire = one.wire if verbose else one.wire[:WIRE_SHOWN]
    for line in wire:
        yield f"      {line if verbose else shorten(line, LINE_SHOWN)}"
    if len(one.wire) > len(wire):
        yield f"      ... and {len(one.wire) - len(wire)} more lines (-v shows them)"
    for number, line in enumerate(one.stderr.splitlines()):
        yield f"      {'stderr: ' if number == 0 else '        '}{line}"


def _crash(one: Result) -> Iterator[Row]:
    """A mistake of ours in full."""
    yield ((one.outcome.upper(), "red bold"), (f" {one.requirement}", "bold"), (f" {one.revision}", ""))
    yield from (plain(f"  {line}".rstrip()) for line in one.text.splitlines()[1:])


def _of_sdks(report: Report) -> Iterator[str]:
    """The rules that an SDK breaks in every server built on it, a paragraph for each SDK."""
    for sdk, rules in report.deviations.items():
        yield f"Not yours alone: every server built on the {sdk} breaks {', '.join(rules)}."


# Notes -------------------------------------------------------------------------------------------


def _notes(report: Report) -> Iterator[str]:
    """What was excused, what was not called, not tested or not kept, and what is to be mended."""
    yield from _excused(report.results)
    if report.not_called:
        yield not_called_line(report.not_called)
    if report.not_run:
        yield f"not run: {', '.join(f'{name} ({number})' for name, number in report.not_run.items())}"
    yield from report.notices
    yield from (f"baseline: {text}" for text in report.outdated)


def _excused(results: Iterable[Result]) -> Iterator[str]:
    """The known findings, a line for each rule and reason."""
    for group in grouped(results, Outcome.EXPECTED):
        for reason in dict.fromkeys(one.baseline for one in group):
            tools = dict.fromkeys(named(one.tool) for one in group if one.baseline == reason and one.tool)
            about = f" ({', '.join(tools)})" if tools else ""
            yield f"expected: {group[0].requirement}{about}: {named(reason, 300) or 'no reason is given'}"


def _hint(report: Report) -> str:
    informed = len({one.requirement for one in report.judged if one.outcome is Outcome.INFO})
    rules = "1 rule that rests" if informed == 1 else f"{informed} rules that rest"
    return f"not kept: {rules} on no keyword (-v lists them)" if informed else ""
