"""Findings as text: what a reader needs to see what went wrong, why, and how to see it again."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.json_schema.validation import TOO_COSTLY
from conformance.protocol.jsonrpc import Line
from conformance.protocol.text import named, shorten
from conformance.report.model import DEAD, REFUSED, Interface, Result
from conformance.requirements.catalogue import Requirement, families
from conformance.requirements.checks import checked
from conformance.target.settings import FUZZ_EXAMPLES, Settings
from conformance.target.surface import Subject
from conformance.transport.credentials import redacted, without
from conformance.transport.sandbox import SECRET
from conformance.verdicts import Blocked, Finding, Outcome

WIDTH = 110
LINE_SHOWN = 600
LINES_SHOWN = 6
GOT_SHOWN = 4000
CRASH_SHOWN = 20_000
STDERR_SHOWN = 1000
LINE_KEPT, LINES_KEPT = 1500, 10
NAMES_SHOWN = 12
RARE = (Outcome.INTERNAL_ERROR, Outcome.EXPECTED)
"""Outcomes that have no column where there are none."""


@dataclass(frozen=True)
class Evidence:
    """What a check found: ``expected`` and ``got``, the lines that prove it, and the server's stderr."""

    expected: str = ""
    got: str = ""
    lines: tuple[Line, ...] = ()
    stderr: str = ""


def evidence_of(what: Finding | Blocked) -> Evidence:
    """What a check has told."""
    if isinstance(what, Finding):
        return Evidence(what.expected, what.got, what.lines)
    return Evidence(got=what.reason, lines=what.lines, stderr=what.stderr)


def without_credentials(evidence: Evidence, hidden: Sequence[str]) -> Evidence:
    """The evidence with these credentials left out."""
    if not hidden:
        return evidence
    lines = [replace(line, raw=without(line.text, hidden).encode()) for line in evidence.lines]
    expected, got, stderr = (
        without(text, hidden) for text in (evidence.expected, evidence.got, evidence.stderr)
    )
    return Evidence(expected, got, tuple(lines), stderr)


def with_evidence(result: Result, evidence: Evidence, reproduce: str, folder: Path) -> Result:
    """A result with as much of the evidence as a report keeps; conversations are written to ``folder``."""
    return replace(
        result,
        text=finding_text(result, evidence, reproduce),
        expected=shorten(evidence.expected, GOT_SHOWN),
        got=shorten(evidence.got, GOT_SHOWN),
        wire=tuple(_wire(evidence.lines, LINES_KEPT, LINE_KEPT)),
        stderr=_stderr(evidence),
        transcripts=tuple(_transcripts(evidence.got, folder)),
        reproduce=named(reproduce, GOT_SHOWN),
    )


def _transcripts(text: str, folder: Path) -> Iterator[str]:
    """The files in this folder that a text names."""
    for found in re.finditer(re.escape(str(folder)) + r"[/\\][\w-]+\.jsonl", text):
        if Path(found[0]).is_file():
            yield found[0]


def _stderr(evidence: Evidence) -> str:
    return shorten(evidence.stderr[-STDERR_SHOWN:].strip(), STDERR_SHOWN)


def finding_text(result: Result, evidence: Evidence, reproduce: str) -> str:
    """A finding in full."""
    about = f" · tool {named(result.tool)}" if result.tool else ""
    word = f"{result.outcome}: " if result.outcome is Outcome.BLOCKED else ""
    head = f"{word}{result.requirement} · {result.level} ({result.basis}) · {result.revision}{about}"
    rows = [
        ("expected", shorten(evidence.expected, GOT_SHOWN)),
        ("got", shorten(evidence.got, GOT_SHOWN)),
        ("wire", "\n".join(_wire(evidence.lines, LINES_SHOWN, LINE_SHOWN))),
        ("stderr", _stderr(evidence)),
        ("SDK", f"every server built on the {result.deviation} does this" if result.deviation else ""),
        ("spec", result.spec),
        ("reproduce", named(reproduce, GOT_SHOWN)),
    ]
    return "\n".join([head, *wrapped(result.says, WIDTH, "  ", "  "), *_table(rows)])


def crash_text(result: Result, traceback: str, reproduce: str) -> str:
    """A mistake of ours in full, for a report of it."""
    head = f"{result.outcome}: {result.requirement} · {result.revision}"
    says = "This is a mistake in pytest-mcp-conformance, not in the server. Please report it with this text."
    rows = _table([("reproduce", named(reproduce, GOT_SHOWN))])
    return "\n".join([head, *wrapped(says, WIDTH, "  ", "  "), *rows, "", shorten(traceback, CRASH_SHOWN)])


def _wire(lines: Sequence[Line], most: int, longest: int) -> Iterator[str]:
    """Lines as text, but for those that were not kept, which are counted."""
    shown = [line for line in lines if line.raw or line.fault]
    for line in shown[:most]:
        note = f"   ({line.fault})" if line.fault else ""
        yield f"{'>' if line.sent else '<'} {shorten(line.text, longest)}{note}"
    if len(shown) > most:
        yield f"... and {len(shown) - most} more lines"
    if gone := len(lines) - len(shown):
        yield f"... and {gone} line{'s' if gone > 1 else ''} let go, as the server wrote too much to keep"


def wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    """A text as lines that are not too long, unless a word is; with these before the first and the others."""
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
            yield f"  {name if number == 0 else '':<10} {line}"


def reproduce_command(settings: Settings, requirement: str, revision: str, tool: str) -> str:
    """The command that runs this one check again, without credentials."""
    select = f"{requirement}[{tool}]" if tool else requirement
    words = ["mcp-conformance", "run", *(["--select", select] if requirement in checked() else [])]
    words += ["--revision", revision]
    words += ["--seed", str(settings.seed)] if settings.seed else []
    fuzz = next((name for name, examples in FUZZ_EXAMPLES.items() if examples == settings.examples), "quick")
    words += ["--fuzz", fuzz] if fuzz != "quick" else []
    for sample in settings.samples:
        words += ["--example", f"{sample.tool} {json.dumps(sample.arguments)}"]
    if settings.cwd is not None:
        words += ["--cwd", str(settings.cwd)]
    words += ["--inherit-home"] if settings.inherit_home else []
    for name, content in settings.env.items():
        words += ["--env", name if SECRET.search(name) else f"{name}={content}"]
    if "readonly" not in settings.call:
        words += ["--call", "none"]
    for pattern in settings.call:
        words += ["--call", pattern] if pattern != "readonly" else []
    return shlex.join([*words, "--", *redacted(settings.command)])


# The subject -------------------------------------------------------------------------------------


def subject_lines(interfaces: Iterable[Interface]) -> Iterator[str]:
    """Who the server is and what it offers, a line for each revision."""
    for one in interfaces:
        if one.state == REFUSED:
            yield f"{one.revision}: not spoken (it offered {named(one.answered, 80)})"
        elif one.state == DEAD:
            yield f"{one.revision}: no conversation came about"
        else:
            name = named(f"{one.server} {one.version}".strip(), 80) or "(no name)"
            yield f"{name}, revision {one.revision}: {_offer(one)}"


def _offer(one: Interface) -> str:
    words = [f"tools ({len(one.tools)})" if name == "tools" else named(name, 40) for name in one.offers]
    noise = f"; {one.noise} lines on stdout were no JSON" if one.noise else ""
    more = len(words) - NAMES_SHOWN
    words = [*words[:NAMES_SHOWN], f"{more} more"] if more > 0 else words
    untold = " (as found; the server does not tell)" if one.found else ""
    return f"offers {', '.join(words) or 'nothing'}{untold}{noise}"


def held_back_line(names: Sequence[str]) -> str:
    """Which tools were not called, and what would release them."""
    shown = names_in_short([named(name, 40) for name in names])
    return f"not called: {shown} (release them by name with --call NAME, or all with --call all)"


def names_in_short(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def limits(subject: Subject, results: Iterable[Result], noted: Mapping[str, int]) -> Iterator[str]:
    """What was not tested because a limit of ours was met; ``noted`` is what `newly_noted` has counted."""
    for surface in subject.live:
        if surface.left_out:
            listed = len(surface.tools) + surface.left_out
            yield (
                f"not tested: {surface.left_out} of {listed} tools in {surface.revision} "
                "(--max-tools, or mcp_max_tools, allows more)"
            )
    skipped = (one.reason for one in results if one.outcome is Outcome.SKIPPED)
    met = Counter(reason for reason in skipped if TOO_COSTLY in reason)
    for reason, times in list(met.items())[:NAMES_SHOWN]:
        yield f"not judged: {reason} ({times} check{'s' if times > 1 else ''})"
    if len(met) > NAMES_SHOWN:
        yield f"not judged: {len(met) - NAMES_SHOWN} more things, for the same reasons"
    if dropped := noted.get("dropped"):
        yield f"not kept: {dropped} of the lines that the server wrote, so not every check has seen them"
    if repeats := noted.get("repeats"):
        yield f"repeated members: {repeats} of the server's lines name one twice; the last one counts"


# A requirement -----------------------------------------------------------------------------------


def explanation(row: Requirement) -> Iterator[str]:
    """A requirement in full: the rule, why it matters, how it is checked, and where it is written."""
    yield row.id
    yield from wrapped(row.says, WIDTH, "  ", "  ")
    yield ""
    for revision in row.revisions:
        yield f"  {revision}  {row.level(revision):<6} ({row.basis(revision)})  {row.url(revision)}"
    texts = (
        ("Why it matters", families()[row.family].why),
        ("How it is checked", f"Not at all: {row.untestable}" if row.untestable else row.observe),
        ("Changed", row.changed),
        ("Careful", row.pitfalls),
        ("A server that breaks it", row.mutant),
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
