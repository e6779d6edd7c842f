"""A report as lines for a terminal: the verdict, the findings, what is not the server's, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress

from mcp_conformance.outcome import Listed, Outcome, listed_by, worst
from mcp_conformance.protocol.text import first_names, named, shorten
from mcp_conformance.report.connecting import in_words
from mcp_conformance.report.exercise import FETCHED, NOT_PERMITTED, NOT_REACHED, ExercisedTool
from mcp_conformance.report.model import SDK_FINDING, TESTED, Report, Result, by_reason, grouped, plural
from mcp_conformance.report.text import (
    WIDTH,
    clients_title,
    defect_lines,
    figures_of,
    not_called_line,
    sdk_note,
    server_lines,
    vain_lines,
    wrapped,
)
from mcp_conformance.verdicts import NORMATIVE

Row = tuple[tuple[str, str], ...]
"""A line: texts, each with the names of its colour and weight, or an empty string."""
VERDICTS = {
    "passed": "green",
    **dict.fromkeys(("unexercised", "not-started", "unfinished", "untested"), "yellow"),
}
"""The colours of verdicts that are not red."""
MAX_DEFECTS = 5
"""How many defects follow the verdict without ``-v``."""
FEW_REASONS = 5
"""Not measured: how many reasons why nothing applies stand in a report without any check."""
MAX_CASES, FEW_CASES = 12, 3
"""How many cases of one rule are listed, with and without ``-v``."""
MAX_LATER_REASON = 300
"""The longest reason of a case after the first without ``-v``: three lines of a terminal."""
MAX_TEXT = 20_000
MAX_WIRE_LINES, MAX_WIRE_LINE = 4, 300
MAX_REASON = 100
"""How much of a reason why checks are skipped is shown: a line of a terminal."""
NAME_WIDTH = 14
MATRIX_WIDTH = 14
CELL_WIDTHS = (10, 9)
"""The width of a column, the second if there are many."""
TOOL_COLUMNS, TOOL_CELL = ("calls", "successes", "answers"), 11
MAX_TOOL_NAME, MIN_ORIGINS = 40, 20


def render(report: Report, *, width: int = WIDTH, verbose: bool = False, tracebacks: bool = False) -> str:
    """Return the lines as one text without colours."""
    rows = lines(report, width=width, verbose=verbose, tracebacks=tracebacks)
    return "".join("".join(text for text, _ in row) + "\n" for row in rows)


def lines(report: Report, *, width: int, verbose: bool = False, tracebacks: bool = False) -> Iterator[Row]:
    """Yield the lines, ``width`` characters long at most, except commands, lines on the wire and the verdict.

    With ``verbose`` they list notes too, and all lines on the wire; with ``tracebacks`` they show internal
    errors in full.  Control characters that a server wrote are escaped.
    """
    for row in _lines(report, width, verbose=verbose, tracebacks=tracebacks):
        shown = [(named(text, MAX_TEXT), style) for text, style in row]
        while shown and not shown[-1][0].strip():
            shown.pop()
        yield tuple(shown)


def _lines(report: Report, width: int, *, verbose: bool, tracebacks: bool) -> Iterator[Row]:
    yield ((f"verdict: {report.headline}", weighty(VERDICTS.get(report.status, "red"))),)
    yield from _defects(report, width, verbose=verbose)
    for line in vain_lines(report):
        yield from map(plain, wrapped(f"- {line}", width, "  ", "    "))
    if not report.never_opened:
        yield from _plain(server_lines(report.revisions), width)
    if report.clients:
        yield from _plain([f"{clients_title(report)}: {in_words(report.clients)}"], width)
    listed = listed_by(Listed.VERBOSE if verbose else Listed.ALWAYS)
    blocks: list[list[Row]] = []
    for group in grouped(report.judged, *listed):
        if tracebacks and group[0].outcome is Outcome.INTERNAL_ERROR:
            blocks += [list(_internal_error(one)) for one in group]
        else:
            blocks.append(list(_finding(group, width, verbose=verbose)))
    blocks.append(list(_plain(_not_yours(report), width)))
    blocks.append(list(_plain(_notes(report, verbose=verbose), width)))
    if verbose:
        blocks.append([*_table(report, width), *_plain(_skipped(report), width)])
        blocks.append(list(_matrix(report, width)))
        blocks.append(list(_exercise(report, width)))
        blocks.append(list(_plain(_starts(report), width)))
    blocks.append(list(_plain([_counts(report, verbose=verbose)], width)))
    for block in filter(None, blocks):
        yield plain("")
        yield from block


def _defects(report: Report, width: int, *, verbose: bool) -> Iterator[Row]:
    """Yield a line for each defect, the worst first."""
    most, lines = MAX_CASES if verbose else MAX_DEFECTS, defect_lines(report)
    for _, line in lines[:most]:
        yield from map(plain, wrapped(f"- {line}", width, "  ", "    "))
    if len(lines) > most:
        yield plain(f"  - and {len(lines) - most} more")


def _plain(texts: Iterable[str], width: int) -> Iterator[Row]:
    """Yield texts without colours, wrapped."""
    return (plain(line) for text in texts for line in wrapped(text, width, "", "  "))


def concise(report: Report) -> Iterator[str]:
    """Yield the verdict, and a line for each broken rule and its cases."""
    yield f"verdict: {report.verdict}"
    for group in grouped(report.judged, *listed_by(Listed.ALWAYS)):
        for case in by_reason(group):
            first = case[0]
            yield named(f"{first.outcome} {first.requirement} {_places(case)}: {first.reason}", MAX_TEXT)


def weighty(colour: str) -> str:
    """Return a colour in bold, except yellow: bold yellow is too bright for a light background."""
    return colour if colour == "yellow" else f"{colour} bold"


def plain(text: str) -> Row:
    """Return a line without colours."""
    return ((text, ""),)


# Chapters ----------------------------------------------------------------------------------------


def _table(report: Report, width: int) -> Iterator[Row]:
    """Yield the number of each outcome in each chapter that is not skipped altogether."""
    if not report.results:
        return
    shown = [outcome for outcome in Outcome if not outcome.style.rare or outcome in report.counts]
    cell = next((one for one in CELL_WIDTHS if NAME_WIDTH + one * len(shown) <= width), CELL_WIDTHS[-1])
    widths = {outcome: max(cell, len(outcome) + 1) for outcome in shown}
    heads = (f"{outcome:>{width}}" for outcome, width in widths.items())
    yield ((f"{'':<{NAME_WIDTH}}{''.join(heads)}", "bold"),)
    for family, counts in report.chapters.items():
        if set(counts) != {Outcome.SKIPPED}:
            yield ((f"{family:<{NAME_WIDTH}}", ""), *_cells(counts, widths))
    totals = ((text, weighty(colour)) for text, colour in _cells(report.counts, widths))
    yield ((f"{'all':<{NAME_WIDTH}}", "bold"), *totals)


def _cells(counts: Mapping[Outcome, int], widths: Mapping[Outcome, int]) -> Row:
    return tuple((f"{counts.get(one) or '':>{width}}", one.style.colour) for one, width in widths.items())


def _matrix(report: Report, width: int) -> Iterator[Row]:
    """Yield the worst outcome of each chapter in each revision, and how many rules have it."""
    revisions = sorted({one.revision for one in report.judged})
    if len(revisions) == 1:
        return
    found: dict[tuple[str, str], Counter[Outcome]] = {}
    for rule, outcomes in report.matrix.items():
        for revision, outcome in outcomes.items():
            found.setdefault((rule.partition(".")[0], revision), Counter())[outcome] += 1
    chapters = [name for name, counts in report.chapters.items() if set(counts) != {Outcome.SKIPPED}]
    columns = (width - NAME_WIDTH) // MATRIX_WIDTH
    for first in range(0, len(revisions), columns):
        shown = revisions[first : first + columns]
        yield ((f"{'':<{NAME_WIDTH}}{''.join(f'{one:>{MATRIX_WIDTH}}' for one in shown)}", "bold"),)
        for chapter in chapters:
            cells = (_worst(found.get((chapter, revision), Counter())) for revision in shown)
            yield ((f"{chapter:<{NAME_WIDTH}}", ""), *cells)


def _worst(counts: Counter[Outcome]) -> tuple[str, str]:
    """Return a cell: the worst outcome, and how often it came."""
    if not counts:
        return " " * MATRIX_WIDTH, ""
    found = worst(counts)
    return f"{f'{found} {counts[found]}':>{MATRIX_WIDTH}}", found.style.colour


def _exercise(report: Report, width: int) -> Iterator[Row]:
    """Yield the calls of each tool, and why others were not there to be exercised."""
    tools = [one for one in report.exercise if not one.why_not]
    if tools:
        column = min(MAX_TOOL_NAME, max(len(named(one.title, MAX_TOOL_NAME)) for one in tools)) + 2
        yield ((report.share_exercised or FETCHED, "bold"),)
        heads = "".join(f"{head:>{TOOL_CELL}}" for head in TOOL_COLUMNS)
        yield ((f"{'':<{column}}{heads}  arguments from", "bold"),)
        for one in tools:
            numbers = "".join(f"{getattr(one, head):>{TOOL_CELL},}" for head in TOOL_COLUMNS)
            start = f"{named(one.title, MAX_TOOL_NAME):<{column}}{numbers}  "
            room = max(MIN_ORIGINS, width - len(start))
            first, *others = wrapped(", ".join(one.origins), room, "", "") or [""]
            yield ((f"{start}{first}", "" if one.is_exercised else "yellow"),)
            yield from (plain(f"{'':<{len(start)}}{other}") for other in others)
    for why, names in _by_reason(report.exercise).items():
        yield from _plain([f"not counted, as {why}: {first_names(names)}"], width)


def _by_reason(tools: Iterable[ExercisedTool]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in tools:
        if one.why_not not in ("", NOT_PERMITTED, NOT_REACHED):
            found.setdefault(one.why_not, []).append(named(one.title, MAX_TOOL_NAME))
    return found


def _skipped(report: Report) -> Iterator[str]:
    """Yield the chapters of which all checks are skipped, and why checks are."""
    skipped = {name: many for name, many in report.chapters.items() if set(many) == {Outcome.SKIPPED}}
    names = [f"{name} ({sum(many.values())})" for name, many in skipped.items()]
    if names:
        yield f"skipped altogether: {', '.join(names)}"
    reasons = Counter(one.reason for one in report.results if one.outcome is Outcome.SKIPPED)
    if reasons:
        listed = (f"{shorten(reason, MAX_REASON)} ({number})" for reason, number in reasons.most_common())
        yield f"skipped, as {'; '.join(listed)}"


# Findings ----------------------------------------------------------------------------------------


def _finding(group: Sequence[Result], width: int, *, verbose: bool) -> Iterator[Row]:
    """Yield the findings of one requirement: the rule once, then each case, and what to do next."""
    first, cases = group[0], by_reason(group)
    yield (
        (first.outcome.upper(), weighty(first.outcome.style.colour)),
        (f" {first.requirement}", "bold"),
        (f" ({first.level}, {first.basis})", ""),
    )
    yield from map(plain, wrapped(first.says, width, "  ", "  "))
    most = MAX_CASES if verbose else FEW_CASES
    shown: set[tuple[tuple[str, ...], str]] = set()
    is_like = [verbose or len(one[0].reason) <= MAX_LATER_REASON for one in cases[1:most]]
    listed = [*cases[:1], *compress(cases[1:most], is_like)]
    for number, case in enumerate(listed):
        yield from map(plain, wrapped(f"- {_places(case)}: {case[0].reason}", width, "  ", "    "))
        evidence = case[0].wire, case[0].stderr
        if evidence in shown:
            yield plain("      (seen in the same lines as above)")
        elif number == 0 or verbose:
            yield from map(plain, _evidence(case[0], verbose=verbose))
            shown |= {evidence} - {((), "")}
        if case[0].replay:
            yield plain(f"      replay: {case[0].replay}")
    if folded := [one for one in cases if one not in listed]:
        yield from map(plain, wrapped(_folded(folded, verbose=verbose), width, "  ", "    "))
    yield from (plain(f"  {why}") for why in dict.fromkeys(one.baseline for one in group) if why)
    if first.deviation:
        yield plain(f"  {'SDK' if first.harm or first.outcome.counts else 'not yours'}: {sdk_note(first)}")
    for fix in dict.fromkeys(one.fix for one in group if one.fix):
        yield from map(plain, wrapped(f"fix: {fix}", width, "  ", "    "))
    if again := next((one.reproduce for one in group if one.reproduce), ""):
        yield plain(f"  again: {again}")
    if first.page.startswith("https:"):
        yield plain(f"  rule: {first.page}")


def _folded(cases: Sequence[Sequence[Result]], *, verbose: bool) -> str:
    """Return how many cases are not listed, and of which tools."""
    tools = first_names(list(dict.fromkeys(named(one[0].tool, 40) for one in cases if one[0].tool)))
    return f"- and {len(cases)} more{': ' if tools else ''}{tools}{'' if verbose else ' (-v lists them)'}"


def _places(case: Sequence[Result]) -> str:
    """Return the revisions and tools of findings."""
    return first_names(list(dict.fromkeys(f"{one.revision} {named(one.tool)}".strip() for one in case)))


def _evidence(one: Result, *, verbose: bool) -> Iterator[str]:
    wire = one.wire if verbose else one.wire[:MAX_WIRE_LINES]
    for line in wire:
        yield f"      {line if verbose else shorten(line, MAX_WIRE_LINE)}"
    if len(one.wire) > len(wire):
        yield f"      ... and {len(one.wire) - len(wire)} more lines (-v shows them)"
    for number, line in enumerate(one.stderr.splitlines()):
        yield f"      {'stderr: ' if number == 0 else '        '}{line}"


def _internal_error(one: Result) -> Iterator[Row]:
    """Yield an internal error in full."""
    yield (
        (one.outcome.upper(), weighty(one.outcome.style.colour)),
        (f" {one.requirement}", "bold"),
        (f" {one.revision}", ""),
    )
    yield from (plain(f"  {line}".rstrip()) for line in one.text.splitlines()[1:])


def _not_yours(report: Report) -> Iterator[str]:
    """Yield the rules that an SDK breaks in every server built on it, a paragraph for each SDK.

    Those that cost a client the process or an answer are not among them.
    """
    for sdk, rules in report.not_yours.items():
        yield f"not yours: every server built on the {sdk} breaks {', '.join(rules)}"
    if any(one.baseline == SDK_FINDING for one in report.findings):
        yield "(--sdk-findings fail judges them like your own)"


# Notes -------------------------------------------------------------------------------------------


def _notes(report: Report, *, verbose: bool) -> Iterator[str]:
    """Yield what the baseline expects, what was not called or not tested, and what is out of date."""
    yield from _expected(report.results)
    if report.not_called:
        yield not_called_line(report.not_called)
    if report.not_run:
        yield f"not run: {', '.join(f'{name} ({number})' for name, number in report.not_run.items())}"
    yield from report.notices
    yield from (f"baseline: {text}" for text in report.outdated)
    if report.lacking:
        yield f"--require-exercised: {report.lacking}"
    if not verbose:
        yield from _informing(report)
    yield from _inapplicable(report, verbose=verbose)


def _informing(report: Report) -> Iterator[str]:
    """Yield the broken rules that only inform: without a keyword, or not read against the revision yet."""
    own = [one for one in report.judged if one.outcome is Outcome.INFO and not one.is_of_sdk]
    kinds: dict[str, dict[str, None]] = {}
    for one in own:
        why = "without a keyword" if one.basis not in NORMATIVE else "broken in a way that may be meant"
        why = "not read against this revision yet" if one.baseline else why
        kinds.setdefault(why, {})[one.requirement] = None
    for why, rules in kinds.items():
        yield f"{plural(len(rules), 'note')} on rules {why} (-v shows them): {first_names(list(rules))}"


def _counts(report: Report, *, verbose: bool) -> str:
    """Return the number of checks with each outcome, and the duration of the run."""
    why = " (-v says why)" if [*report.counts][-1:] == [Outcome.SKIPPED] and not verbose else ""
    return f"{report.counted}{why} in {report.seconds:.1f} s"


def _inapplicable(report: Report, *, verbose: bool) -> Iterator[str]:
    """Yield why checks are not among those of the run, if that is wanted or the run has none."""
    counts = report.not_applicable
    is_told = verbose or not report.results
    if counts and is_told and any(one.state == TESTED for one in report.revisions):
        listed = "; ".join(f"{reason}: {number}" for reason, number in counts.items())
        why = listed if verbose or len(counts) <= FEW_REASONS else "-v lists why"
        yield f"{plural(sum(counts.values()), 'check')} did not apply ({why})"


def _starts(report: Report) -> Iterator[str]:
    """Yield what was started or opened and what for, the lines sent, figures and seconds."""
    for revision, purposes in report.starts.items():
        yield f"processes started in {revision}: {_purposes(purposes)}"
    for revision, purposes in report.sessions.items():
        yield f"HTTP sessions opened in {revision}: {_purposes(purposes)}"
    if report.sessions:
        yield f"processes started: {report.processes}"
    for revision, number in report.sent.items():
        yield f"lines sent in {revision}: {number}"
    yield from (f"measured in {revision}: {figures}" for revision, figures in figures_of(report))
    if report.phases:
        each = (f"{name} {one['seconds']:.1f} ({one['waiting']:.1f})" for name, one in report.phases.items())
        yield f"seconds in each phase (those of waiting for the server): {', '.join(each)}"
    if report.sequences:
        each = (f"{name} {one['calls']} ({one['seconds']:.1f} s)" for name, one in report.sequences.items())
        calls = sum(int(one["calls"]) for one in report.sequences.values())
        yield f"calls in sequences: {calls:,} ({', '.join(each)})"


def _purposes(purposes: Mapping[str, int]) -> str:
    """Return how many there are, and what for."""
    each = (purpose if number == 1 else f"{purpose} ({number})" for purpose, number in purposes.items())
    return f"{sum(purposes.values())} ({', '.join(each)})"


def _expected(results: Iterable[Result]) -> Iterator[str]:
    """Yield the expected findings, a line for each rule and reason."""
    for group in grouped((one for one in results if not one.is_of_sdk), Outcome.EXPECTED):
        for reason in dict.fromkeys(one.baseline for one in group):
            tools = dict.fromkeys(named(one.tool) for one in group if one.baseline == reason and one.tool)
            about = f" ({', '.join(tools)})" if tools else ""
            yield f"expected: {group[0].requirement}{about}: {named(reason, 300) or 'no reason is given'}"
