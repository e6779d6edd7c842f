"""Texts that several formats share: a finding in full, the server's description, limits, a requirement."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from mcp_conformance import remedies
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.outcome import Defect, Outcome
from mcp_conformance.protocol.text import MAX_NAMES, first_names, named, shell_line, shorten
from mcp_conformance.report.exercise import NOT_PERMITTED, ExercisedTool, RequiredExercise
from mcp_conformance.report.model import DEAD, REFUSED, FoundDefect, Interface, Report, Result, plural
from mcp_conformance.requirements.catalogue import Requirement, families
from mcp_conformance.requirements.checks import FUZZING, checked
from mcp_conformance.requirements.official import official_ids
from mcp_conformance.target.budgets import written
from mcp_conformance.target.exercise import ToolExercise
from mcp_conformance.target.settings import OPEN_WORLD_CALLS, Settings
from mcp_conformance.target.surface import Subject
from mcp_conformance.verdicts import Cause
from mcp_conformance.world.nearest import Nearest, form_of

WIDTH = 110
FEW_NAMES = 5
MAX_NEAREST, MAX_ANSWER = 3, 200
"""Of how many tools that never worked the nearest call is shown, and how much of its answer."""
# Not measured: three lines of a terminal.
MAX_FORM = 300
"""How many characters an option with arguments to fill in may have; of a longer one the name is shown."""
LEAST_SECONDS = 0.05  # less is shown as 0.0


def finding_text(result: Result, wire: Sequence[str]) -> str:
    """Return a finding in full, with these lines of the conversation."""
    about = f" · tool {named(result.tool)}" if result.tool else ""
    word = f"{result.outcome}: " if result.outcome is Outcome.BLOCKED else ""
    head = f"{word}{result.requirement} · {result.level} ({result.basis}) · {result.revision}{about}"
    rows = [
        ("expected", result.expected),
        ("got", result.got),
        ("wire", "\n".join(wire)),
        ("stderr", result.stderr),
        ("SDK", sdk_note(result)),
        ("note", result.baseline),
        ("fix", result.fix),
        ("spec", result.spec),
        ("replay", result.replay),
        ("reproduce", result.reproduce),
    ]
    return "\n".join([head, *wrapped(result.says, WIDTH, "  ", "  "), *_table(rows)])


def sdk_note(result: Result) -> str:
    """Return the sentence about the SDK that breaks this rule; empty if there is none."""
    if not result.deviation:
        return ""
    why = "it counts, as it" if result.outcome.counts else "it"  # a note counts for nothing
    counts = f"; {why} {result.harm}" if result.harm else ""
    way_out = f" ({result.way_out})" if result.way_out else ""
    return f"every server built on the {result.deviation} does this{counts}{way_out}"


def internal_error_text(result: Result, traceback: str) -> str:
    """Return an internal error in full, for a bug report."""
    head = f"{result.outcome}: {result.requirement} · {result.revision}"
    says = "This is a bug in pytest-mcp-conformance, not in the server. Please report it with this text."
    rows = _table([("reproduce", result.reproduce)])
    return "\n".join([head, *wrapped(says, WIDTH, "  ", "  "), *rows, "", traceback])


def wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    """Wrap a text between words; ``first`` comes before the first line, ``rest`` before the others."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        for number, line in enumerate(text.splitlines()):
            yield f"  {name if number == 0 else '':<9} {line}"


# The server --------------------------------------------------------------------------------------


def server_lines(interfaces: Iterable[Interface]) -> Iterator[str]:
    """Yield the server's name and what it offers, a line for each revision."""
    for one in interfaces:
        if one.state == REFUSED:
            yield f"{one.revision}: not spoken (it offered {named(one.answered, 80)})"
        elif one.state == DEAD:
            yield f"{one.revision}: no session could be used"
        else:
            name = named(f"{one.server} {one.version}".strip(), 80) or "(no name)"
            yield f"{name}, revision {one.revision}: {_offer(one)}"


def _offer(one: Interface) -> str:
    words = [f"tools ({len(one.tools)})" if name == "tools" else named(name, 40) for name in one.offers]
    noise = f"; {one.noise} lines on stdout were not JSON" if one.noise else ""
    more = len(words) - MAX_NAMES
    words = [*words[:MAX_NAMES], f"{more} more"] if more > 0 else words
    found = " (found by trying; the server does not declare it)" if one.found else ""
    return f"offers {', '.join(words) or 'nothing'}{found}{noise}"


def clients_title(report: Report) -> str:
    """Return the title of the clients that can connect, with the transport of the run if there are any."""
    return f"clients that can connect{f' over {report.clients[0].transport}' if report.clients else ''}"


def not_called_line(names: Sequence[str]) -> str:
    """Return which tools were not called, and the options that release them."""
    shown = first_names([named(name, 40) for name in names])
    return f"not called: {shown} (release them by name with --call NAME, or all with --call all)"


def limit_lines(
    subject: Subject, results: Sequence[Result], exercise: Mapping[str, ToolExercise], dropped: int = 0
) -> Iterator[str]:
    """Yield what was not tested because of a limit of this tool, or because no call of a tool succeeded.

    ``dropped`` counts the lines that were not kept.
    """
    yield from _circumstances(subject)
    for surface in subject.live:
        if surface.left_out:
            listed = len(surface.tools) + surface.left_out
            yield (
                f"not tested: {surface.left_out} of {listed} tools in {surface.revision} "
                f"({_why_left_out(subject.settings)})"
            )
    skipped = [one for one in results if one.outcome is Outcome.SKIPPED]
    costly = Counter(one.reason for one in skipped if one.cause == Cause.TOO_COSTLY)
    for reason, times in list(costly.items())[:MAX_NAMES]:
        yield f"not judged: {reason} ({plural(times, 'check')})"
    if len(costly) > MAX_NAMES:
        yield f"not judged: {len(costly) - MAX_NAMES} more things, for the same reasons"
    outside = Counter(one.reason for one in skipped if one.cause == Cause.CIRCUMSTANCES)
    yield from (f"{one.reason}; {remedies.NO_HOST}" for one in skipped if one.cause == Cause.NO_HOST)
    for reason, times in outside.items():
        yield f"not judged: {reason} ({plural(times, 'check')})"
    if late := [one for one in skipped if one.cause == Cause.NOT_REACHED]:
        tools = sorted({one.tool for one in late if one.tool})
        shown = f", of {first_names(tools)}" if tools else ""
        yield f"not fuzzed: {plural(len(late), 'check')}{shown}, as the time was over (--time)"
    fuzzed = {one.tool for one in results if one.outcome.is_judged and FUZZING in one.node}
    yield from _gentle_lines(subject, fuzzed)
    backend = subject.settings.backend
    if backend is None or not backend.api.is_empty:  # an API that answers {} lets no tool succeed
        yield from _failing_lines(subject, exercise)
    yield from _spared_lines(exercise)
    if dropped:
        yield f"not kept: {dropped} lines of the server, as its log was too large; not every check saw them"


def _circumstances(subject: Subject) -> Iterator[str]:
    """Yield that only one process could run at a time, and which revisions the server did not answer in."""
    if reason := subject.settings.solo.reason:
        yield f"one at a time: {reason}, so each was started after the end of the one before"
    for surface in subject.unopened if subject.live else ():
        yield f"not tested: {surface.revision}, as {shorten(surface.failures[0].reason, 300)}"


def interference_lines(numbers: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield what somebody, such as the server, has done to the processes of this tool."""
    if stops := numbers.get(("stops", ""), 0):
        yield (
            f"stopped: this tool was stopped {plural(stops, 'time')} (SIGSTOP, Ctrl-Z), for about "
            f"{numbers['stopped', '']} s in all; answers of that time may count as late"
        )
    if lost := numbers.get(("lost watchdogs", ""), 0):
        yield (
            f"watchdog: something ended {lost} of the processes that clean up if this run is killed; "
            "another one took its place"
        )


def spacing_line(rate: float, calls_rate: float) -> str:
    """Return how many messages and calls of tools a server over stdio got a second; empty if both are 0."""
    figures = [f"{rate:.2g} messages"] if rate else []
    figures += [f"{calls_rate:.2g} calls of tools"] if calls_rate else []
    if not figures:
        return ""
    few = f", and the fuzzer called each tool {OPEN_WORLD_CALLS} times at most" if calls_rate else ""
    return (
        "slowed: the server refuses for their number requests that it serves otherwise, so it got at most "
        f"{' and '.join(figures)} a second from then on (--rate {rate or calls_rate:.2g} does so from the "
        f"start){few}"
    )


def connection_lines(
    numbers: Mapping[tuple[str, str], int], rate: float = 0.0, asked: float = 0.0
) -> Iterator[str]:
    """Yield what connections over HTTP have lost, and how often the server, or one before it, was busy.

    ``rate`` is the rate to which it has slowed us down, ``asked`` the longest wait that it asked for.
    """
    if lost := numbers.get(("lost", ""), 0):
        yield (
            f"connections: {lost} of {plural(numbers['reused', ''], 'request')} on a reused connection got "
            "no byte of a response; none of these was sent again, and later ones had connections of their own"
        )
    statuses = {status: number for (what, status), number in sorted(numbers.items()) if what == "status"}
    if statuses:
        listed = ", ".join(f"{number} with HTTP {status}" for status, number in statuses.items())
        waited = numbers.get(("waited", ""), 0)
        again = f"; pings and lists were sent again after waits of {waited} s in all" if waited else ""
        yield f"busy: the server, or a proxy before it, answered {listed}{again}"
    if rate:
        wait = f"asked for waits of up to {asked:g} s" if asked else "named no time to wait"
        yield (
            f"slowed: the server refused requests for their number and {wait}; they were sent again later, "
            f"and the rate sank to {rate:.2g} requests a second (--rate {rate:.2g} keeps to that from the "
            "start); the waiting is no part of the times that are measured"
        )


def lacking_line(tools: Sequence[ExercisedTool], required: RequiredExercise | None) -> str:
    """Return that less was exercised than the user requires, and what to do; empty if enough was."""
    if required is None or required.is_met(tools):
        return ""
    could = [one for one in tools if one.is_callable]
    never = [named(one.name, 40) for one in could if not one.is_exercised]
    lines = [f"{len(could) - len(never)} of {plural(len(could), 'tool')} exercised, {required} required"]
    if never:
        lines.append(
            f"never: {first_names(never)}; give arguments that work (--example), allow values that exist "
            "already (--found-values), let the server work in the folder of this run ({folder} in its "
            "command), or see what is tried: mcp-conformance learn -- COMMAND"
        )
    if barred := sum(one.why_not == NOT_PERMITTED for one in tools):
        lines.append(f"{plural(barred, 'tool')} may not be called (--call releases them)")
    return "; ".join(lines)


def _gentle_lines(subject: Subject, fuzzed: Collection[str]) -> Iterator[str]:
    """Yield which of the tools that were fuzzed got few calls, as they reach an open world."""
    settings, tools = subject.settings, {tool.name: tool for one in subject.live for tool in one.tools}
    few = [name for name, tool in sorted(tools.items()) if _is_spared(settings, tool)]
    called = [named(name, 40) for name in few if name in fuzzed]
    if called:
        yield (
            f"fuzzed with at most {OPEN_WORLD_CALLS} calls each, as they may reach an open world: "
            f"{first_names(called)} (openWorldHint: false says that they do not, a sandbox sees to it, and "
            "--calls-per-tool allows more)"
        )


def _why_left_out(settings: Settings) -> str:
    """Return by which options tools are left out."""
    if settings.only_tools or settings.not_tools:
        return "--tool and --not-tool leave them out"
    return "--max-tools, or conformance_max_tools, allows more"


def _is_spared(settings: Settings, tool: Tool) -> bool:
    """Return whether a tool is fuzzed with few calls, though the user does not say so."""
    is_chosen = settings.calls_of(tool.name) or not settings.examples_of(tool.name)
    is_few = settings.fuzzed_calls(tool) == OPEN_WORLD_CALLS
    return not is_chosen and is_few and settings.may_reach_out(tool)


def _failing_lines(subject: Subject, exercise: Mapping[str, ToolExercise]) -> Iterator[str]:
    """Yield which tools failed in every call with valid arguments, and an option that may help.

    A call that ended the server's process is a finding of its own, which no other arguments mend.
    """
    failing = [
        tool
        for tool, one in sorted(exercise.items())
        if one.calls and not (one.successes or one.deaths or one.asks)
    ]
    unreached = [tool for tool in failing if exercise[tool].complaint]
    if unreached:
        shown = first_names([named(tool, 40) for tool in unreached])
        yield (
            f"could not be judged: {shown}, as no host is reached ({exercise[unreached[0]].complaint}); "
            f"{remedies.NO_HOST}"
        )
    failing = [tool for tool in failing if tool not in unreached]
    if failing:
        shown = first_names([f"{named(tool, 40)} (0 of {exercise[tool].calls})" for tool in failing])
        nearest = {tool: one for tool in failing if (one := exercise[tool].nearest) is not None}
        by_rank = sorted(nearest, key=lambda tool: nearest[tool].order, reverse=True)
        first, *others = by_rank or [""]
        remedy = _remedy(subject, {first: nearest[first]} if first else dict.fromkeys(failing))
        yield f"no call succeeded: {shown}{remedy}"
        for tool in others[: MAX_NEAREST - 1]:
            yield f"the nearest call of another tool: {_nearest(subject, tool, nearest[tool])}"


def defect_lines(report: Report) -> list[tuple[FoundDefect, str]]:
    """Return a line for each defect, the worst first, with the defect.

    Tools that break one rule in the same way share a line, which shows what was seen of the first.  Each
    exception has a line of its own.  What two rules show in the same words is told once.
    """
    alike: dict[object, list[FoundDefect]] = {}
    for one in report.defects:
        first = one.results[0]
        is_own = not one.tool or one.kind is Defect.THROWS
        key = id(one) if is_own else (one.kind, one.outcome, first.requirement, first.expected)
        alike.setdefault(key, []).append(one)
    told = {str(some[0]) if len(some) == 1 else _of_several(some): some[0] for some in alike.values()}
    return [(defect, line) for line, defect in told.items()]


def _of_several(defects: Sequence[FoundDefect]) -> str:
    tools = first_names([named(one.tool, 40) for one in defects], FEW_NAMES)
    return f"{defects[0].kind.told_of(tools, several=True)}: {defects[0].text}"


def vain_lines(report: Report) -> Iterator[str]:
    """Yield for the first lines of a report what was called in vain, and why if that is known."""
    told = {one.tool for one in report.defects}
    vain = [one for one in report.exercise if one.is_vain and one.name not in told and not report.is_partial]
    lacking = [one for one in vain if one.lacks]
    failing = [one for one in vain if not one.lacks]
    if failing:
        yield f"no call succeeded, so nothing behind it was tested: {_names(failing)}"
    if lacking:
        yield f"could not be judged, as no host is reached ({lacking[0].lacks}): {_names(lacking)}"


def _names(tools: Iterable[ExercisedTool]) -> str:
    return first_names([named(one.title, 40) for one in tools], FEW_NAMES)


def _spared_lines(exercise: Mapping[str, ToolExercise]) -> Iterator[str]:
    """Yield which tools got fewer calls of the fuzzer, as it kept being refused, and what that saved."""
    spared = {tool: one for tool, one in sorted(exercise.items()) if one.left_out}
    if spared:
        calls = sum(one.left_out for one in spared.values())
        seconds = sum(one.saved_seconds for one in spared.values())
        shown = first_names([named(one, 40) for one in spared])
        saved = f", an estimated {seconds:.1f} s" if seconds >= LEAST_SECONDS else ""
        why = "as the fuzzer's calls kept getting refusals seen before"
        yield f"fuzzed less, {why}: {shown}; {plural(calls, 'call')} fewer{saved}"


def _remedy(subject: Subject, failing: Mapping[str, Nearest | None]) -> str:
    """Return the option with which a user gives arguments that work: from the nearest call, or plain ones."""
    for tool, nearest in failing.items():
        if nearest is not None:
            form = subject.settings.redaction(nearest.form)
            return f"{to_fill_in(tool, form)}; the nearest call: {_nearest(subject, tool, nearest)}"
    forms = ((tool, _form(subject, tool)) for tool in failing)
    said = [to_fill_in(tool, json.dumps(form)) for tool, form in forms if form]
    return min(said, key=len, default="")


def to_fill_in(tool: str, form: str) -> str:
    """Return how to give arguments in a form to fill in, whole or not at all; empty without a form."""
    if not form:
        return ""
    option = shell_line(["--example", f"{tool} {form}"])
    if named(option, MAX_FORM) == option:
        return f"; give arguments that work in place of <...>: {option}"
    return f"; give arguments that work: {shell_line(['--example', f'{named(tool, 40)} JSON'])}"


def _nearest(subject: Subject, tool: str, nearest: Nearest) -> str:
    """Return the arguments of the call that came nearest, its answer, and what it seems to lack."""
    redact = subject.settings.redaction
    call = f"{named(tool, 40)} {redact(nearest.arguments)}"
    answer = shorten(" ".join(redact(nearest.answer).split()), MAX_ANSWER)
    lacks = f"; it seems to lack {shorten(redact(nearest.lacks), MAX_ANSWER)}" if nearest.lacks else ""
    return f'{shorten(call, 300)}, which got "{answer}"{lacks}'


def _form(subject: Subject, name: str) -> Any:
    """Return arguments that a tool's input schema allows, for the user to fill in; None without any."""
    from mcp_conformance.generation import NoExample, example  # noqa: PLC0415  (loads Hypothesis, which not every command needs)

    for surface in subject.live:
        for tool in surface.tools:
            if tool.name == name:
                with suppress(NoExample):
                    return form_of(example(tool.input_schema, surface.revision), tool)
    return None


# A requirement -----------------------------------------------------------------------------------


def unread(revision: str) -> str:
    """Return the sentence about a rule that holds in a revision without having been read against it."""
    return f"informs only: nobody has read this rule against {revision} yet"


def explanation(row: Requirement) -> Iterator[str]:
    """Yield a requirement in full: the rule, why it matters, how it is checked, and its source."""
    yield row.id
    yield from wrapped(row.says, WIDTH, "  ", "  ")
    yield ""
    for revision in row.revisions:
        yield f"  {revision}  {row.level(revision):<6} ({row.basis(revision)})  {row.url(revision)}"
        if not row.is_reviewed_in(revision):
            yield f"  {revision}  {unread(revision)}"
    texts = (
        ("Why it matters", families()[row.family].why if row.family in families() else ""),
        ("Fix", row.fix),
        *((f"Fix with the {sdk} SDK", text) for sdk, text in row.fix_in.items()),
        ("How it is checked", f"Not at all: {row.untestable}" if row.untestable else row.observe),
        ("Since", f"version {row.as_of} of this tool"),
        ("Changed", row.changed),
        ("Careful", row.pitfalls),
        ("A server that breaks it", row.mutant),
        ("In the official suite", ", ".join(official_ids(row.id))),
    )
    for title, text in texts:
        if text:
            yield ""
            yield title
            yield from wrapped(text, WIDTH, "  ", "  ")
    if row.id in checked():
        yield ""
        yield "Checks"
        yield from (f"  {check.suite}::{check.name}" for check in checked()[row.id])


def figures_of(report: Report) -> Iterator[tuple[str, str]]:
    """Yield each revision and its measured figures with their units."""
    for revision, figures in report.measured.items():
        listed = ", ".join(f"{name} {written(name, amount)}" for name, amount in figures.items())
        yield revision, listed
