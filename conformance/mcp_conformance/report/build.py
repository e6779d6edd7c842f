"""Build the report of a run: facts about a check become a `Result`, facts about a run become a `Report`.

Credentials are left out here (`Settings.redaction`), before a text is cut to the length that a report keeps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from mcp_conformance.backend.contact import HostUse
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.outcome import Defect, Listed, Outcome
from mcp_conformance.project.version import tool_version
from mcp_conformance.protocol.jsonrpc import Kind, Line, kind, show, strict
from mcp_conformance.protocol.last_words import panic_at
from mcp_conformance.protocol.text import named, shell_line, shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.report.connecting import connecting_clients
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.hosts import asked_hosts
from mcp_conformance.report.model import (
    DEAD,
    REFUSED,
    TESTED,
    Interface,
    OfferedTool,
    Report,
    Result,
    in_order,
    plural,
)
from mcp_conformance.report.text import finding_text, internal_error_text, unread
from mcp_conformance.report.tool_links import ToolLink
from mcp_conformance.requirements.catalogue import Requirement
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Subject, Surface
from mcp_conformance.verdicts import Blocked, Cause, Finding

MAX_REASON, MAX_GOT, MAX_STDERR, MAX_TRACEBACK = 1000, 4000, 1000, 20_000
"""How many characters of each text a result keeps."""
MAX_WIRE_LINES, MAX_WIRE_LINE = 10, 1500
"""How many lines a result keeps, and how many characters of each."""
MAX_TEXT_LINES, MAX_TEXT_LINE = 6, 600
"""The same for the text of a finding."""
MAX_NAME = 200
HTTP_HEAD = re.compile(r"[A-Z]+ \S+(?= HTTP/)")
NAMING, MAX_NAMED = ("name", "uri", "cursor", "level"), 50
"""The params by which a request names what it asks for, and how many characters of it are kept."""
PROJECT = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", "README.md")
"""Files that describe a project, in case the command names no file of it."""
MAX_DEFINITION, MAX_DEFINITIONS = 100_000, 2_000_000
"""How many characters of JSON the definition of a tool, and those of all tools in a revision, may have."""


# Checks ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """What a check found: ``expected`` and ``got``, the lines that prove it, and the server's stderr.

    ``fix`` is the remedy for what was seen, if it is not the rule's.
    """

    expected: str = ""
    got: str = ""
    lines: tuple[Line, ...] = ()
    stderr: str = ""
    transcripts: tuple[str, ...] = ()
    fix: str = ""

    @classmethod
    def of(cls, verdict: Finding | Blocked) -> Evidence:
        """Return the evidence of a verdict."""
        transcripts, fix = tuple(map(str, verdict.transcripts)), verdict.fix
        if isinstance(verdict, Finding):
            return cls(verdict.expected, verdict.got, verdict.lines, verdict.stderr, transcripts, fix)
        return cls("", verdict.reason, verdict.lines, verdict.stderr, transcripts, fix)


@dataclass(frozen=True)
class CheckFacts:
    """The facts about one check: the rule that was judged, and what came of it.

    ``requirements`` are all rules that the check cites.  ``replay`` and ``again`` are the commands that send
    a transcript and run the check again; they are empty if that would not show it.  ``deviation``, ``harm``
    and ``way_out`` are those of a `Result`; ``sdk`` is the one that the server is recognised to be built on.
    An internal error has a ``traceback`` in place of ``evidence``.
    """

    node: str
    row: Requirement
    revision: str
    outcome: Outcome
    tool: str = ""
    reason: str = ""
    requirements: tuple[str, ...] = ()
    replay: str = ""
    again: str = ""
    deviation: str = ""
    harm: str = ""
    way_out: str = ""
    sdk: str = ""
    cause: Cause | None = None
    defect: Defect | None = None
    evidence: Evidence = Evidence()
    traceback: str = ""


def build_result(facts: CheckFacts, settings: Settings) -> Result:
    """Return the result of a check, without credentials and cut to what a report keeps."""
    redact = settings.redaction
    facts = redact(facts)
    result = Result.of(
        facts.row,
        facts.revision,
        node=facts.node,
        outcome=facts.outcome,
        tool=facts.tool,
        reason=shorten(facts.reason, MAX_REASON),
        deviation=facts.deviation,
        harm=facts.harm,
        way_out=facts.way_out if facts.harm else "",
        requirements=facts.requirements,
        cause=str(facts.cause or ""),
        defect=str(facts.defect or ""),
    )
    if result.outcome.style.listed is Listed.NEVER:
        return result
    result = replace(result, replay=_pasted(facts.replay), reproduce=_pasted(facts.again))
    if not result.outcome.is_judged:
        return replace(result, text=internal_error_text(result, shorten(facts.traceback, MAX_TRACEBACK)))
    of_rule = "" if facts.cause is Cause.NO_SESSION else facts.row.remedy(facts.sdk)
    fix = facts.evidence.fix or of_rule
    is_read = facts.row.is_reviewed_in(facts.row.stated_in(facts.revision))
    if result.outcome is Outcome.INFO and not is_read:
        result = replace(result, baseline=unread(facts.revision))
    return _with_evidence(result, facts.evidence, fix)


def _pasted(command: str) -> str:
    """Return a command that a terminal shows as it is; empty for one that is too long, or has other signs."""
    return command if named(command, MAX_GOT) == command else ""


def _with_evidence(result: Result, evidence: Evidence, fix: str) -> Result:
    """Return the result with its remedy, and as much of the evidence as a report keeps."""
    result = replace(
        result,
        fix=fix,
        expected=shorten(evidence.expected, MAX_GOT),
        got=shorten(evidence.got, MAX_GOT),
        asked=_asked(evidence.lines),
        wire=tuple(_wire(evidence.lines, MAX_WIRE_LINES, MAX_WIRE_LINE)),
        stderr=shorten(_telling(evidence.stderr).strip(), MAX_STDERR),
        transcripts=evidence.transcripts,
    )
    return replace(
        result, text=finding_text(result, list(_wire(evidence.lines, MAX_TEXT_LINES, MAX_TEXT_LINE)))
    )


def _telling(stderr: str) -> str:
    """Return the part of stderr that a report keeps: the end, or of a panic with its long trace the begin."""
    begin = panic_at(stderr)
    kept = stderr[-MAX_STDERR:] if begin is None else stderr[begin : begin + MAX_STDERR]
    return kept.expandtabs(2)


def _asked(lines: Iterable[Line]) -> str:
    """Return the last request of ours among these lines: its method, and what it names; empty without one.

    A request that is wrong on purpose may have anything as its method and params; an exchange over HTTP
    without a message has a method and a target.
    """
    sent = [line for line in lines if line.sent]
    requests = [line.message for line in sent if kind(line.message) is Kind.REQUEST]
    if not requests:
        heads = [found[0] for line in sent if (found := HTTP_HEAD.match(line.text)) is not None]
        return shorten(heads[-1], MAX_NAMED) if heads else ""
    method, params = requests[-1].get("method"), requests[-1].get("params")
    title = named(method) if isinstance(method, str) else show(method, MAX_NAMED)
    for name in NAMING:
        if isinstance(params, dict) and name in params:
            said = "" if name in ("name", "uri") else f"with the {name} "
            return f"{title} {said}{show(params[name], MAX_NAMED)}"
    return title


def _wire(lines: Sequence[Line], most: int, longest: int) -> Iterator[str]:
    """Yield lines as text; lines that were dropped from memory are only counted."""
    shown = [line for line in lines if line.raw or line.fault]
    for line in shown[:most]:
        note = f"   ({line.fault})" if line.fault else ""
        yield f"{line.shown(longest)}{note}"
    if len(shown) > most:
        yield f"... and {len(shown) - most} more lines"
    if dropped := len(lines) - len(shown):
        yield f"... and {plural(dropped, 'line')} dropped, as the server wrote too much to keep"


# Runs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunFacts:
    """The facts about a run: its start, its duration, and why it ``ended`` early, if it did.

    ``not_run`` counts the checks of each chapter that did not run, ``outdated`` lists what to fix in the
    baseline.  ``sent`` counts the lines that were sent in each revision, ``not_applicable`` the checks that
    do not apply by the reason.  ``measured`` has the figures of each revision in bytes and seconds.
    ``processes``, ``starts``, ``sessions``, ``phases``, ``exercise``, ``lacking``, ``hosts``, ``links``
    and ``sequences`` are those of a `Report`, which ``is_partial`` if only some checks were to run.
    """

    started: datetime
    seconds: float
    ended: str = ""
    not_run: Mapping[str, int] = field(default_factory=dict)
    outdated: tuple[str, ...] = ()
    processes: int = 0
    starts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sessions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    not_applicable: Mapping[str, int] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    phases: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    exercise: tuple[ExercisedTool, ...] = ()
    lacking: str = ""
    is_partial: bool = False
    hosts: Mapping[HostUse, int] = field(default_factory=dict)
    links: tuple[ToolLink, ...] = ()
    sequences: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def build_report(
    subject: Subject,
    results: Iterable[Result],
    facts: RunFacts,
    options: Mapping[str, Any],
    notices: Iterable[str],
) -> Report:
    """Return the report of a run, without credentials."""
    settings = subject.settings
    command = settings.shown_command
    found = interfaces(subject)
    newest = next((one for one in reversed(found) if one.server), Interface(""))
    report = Report(
        tool_version=tool_version(),
        command=command,
        server=newest.server or shell_line(command),
        version=newest.version,
        started=facts.started.isoformat(timespec="seconds"),
        seconds=round(facts.seconds, 2),
        source=source(settings),
        revisions=found,
        options=options,
        ended=facts.ended,
        results=in_order(replace(one, tool=_name(one.tool)) for one in results),
        not_called=tuple(map(_name, tools_not_called(subject))),
        notices=tuple(notices),
        not_run=facts.not_run,
        outdated=facts.outdated,
        processes=facts.processes,
        starts=facts.starts,
        sessions=facts.sessions,
        sent=facts.sent,
        not_applicable=facts.not_applicable,
        measured=facts.measured,
        phases=facts.phases,
        never_opened=subject.never_opened,
        exercise=facts.exercise,
        lacking=facts.lacking,
        is_partial=facts.is_partial,
        hosts=asked_hosts(facts.hosts),
        links=facts.links,
        sequences=facts.sequences,
        clients=connecting_clients(subject),
    )
    return settings.redaction(report)


def interfaces(subject: Subject) -> tuple[Interface, ...]:
    """Return what the server offers in each revision, without credentials."""
    settings = subject.settings
    return settings.redaction(tuple(_interface(one, settings) for one in subject.surfaces))


def source(settings: Settings) -> str:
    """Return the file that the command starts, else one that describes the project; empty without either."""
    words = [word for word in settings.command if not word.startswith("-")]
    modules = [word.replace(".", "/") for before, word in pairwise(settings.command) if before == "-m"]
    places = [place for module in modules for place in (f"{module}/__main__.py", f"{module}.py")]
    candidates = [*words[1:], *places, *(f"src/{place}" for place in places), *words[:1], *PROJECT]
    return next((one for one in candidates if _is_source(settings, one)), "")


def _is_source(settings: Settings, name: str) -> bool:
    here = settings.here
    try:
        path = (here / name).resolve()
        return path.is_relative_to(here.resolve()) and path.is_file() and path == (here / name).absolute()
    except (OSError, ValueError):
        return False


def tools_not_called(subject: Subject) -> list[str]:
    """Return the names of the tools that may not be called."""
    settings = subject.settings
    return sorted({one.name for face in subject.live for one in face.tools if not settings.may_call(one)})


def _interface(surface: Surface, settings: Settings) -> Interface:
    if surface.refused:
        return Interface(surface.revision, REFUSED, named(surface.refused, MAX_NAME))
    info = surface.server_info or Value({})
    offered = surface.offers.json if surface.offers.is_a(dict) else {}
    return Interface(
        revision=surface.revision,
        state=DEAD if surface.dead else TESTED,
        server=_word(info.get("name")),
        version=_word(info.get("version")),
        offers=tuple(named(str(name), MAX_NAME) for name in offered),
        found=bool(surface.found_features),
        tools=tuple(_tools(surface.tools, settings)),
        left_out=surface.left_out,
        noise=surface.noise,
    )


def _name(tool: str) -> str:
    """Return the name of a tool, cut if it is very long."""
    return tool if len(tool) <= MAX_NAME else named(tool, MAX_NAME)


def _word(value: Value | None) -> str:
    return named(str(value.json), MAX_NAME) if value is not None else ""


def _tools(tools: Iterable[Tool], settings: Settings) -> Iterator[OfferedTool]:
    room = MAX_DEFINITIONS
    for tool in tools:
        text = _definition(tool)
        room -= len(text)
        definition = json.loads(text) if room >= 0 else {}
        yield OfferedTool(_name(tool.name), settings.may_call(tool), definition)


def _definition(tool: Tool) -> str:
    """Return a tool's definition as strict JSON; an empty object if it is not an object, or too long."""
    try:
        plain = strict(tool.definition.json)
        text = json.dumps(plain, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "{}"
    return text if len(text) <= MAX_DEFINITION and isinstance(plain, dict) else "{}"
