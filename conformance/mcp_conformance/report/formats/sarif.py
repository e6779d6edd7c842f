"""A report as SARIF 2.1.0, which GitHub code scanning and editors read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, assert_never
from urllib.parse import quote

from mcp_conformance.outcome import Defect, Outcome, Weight
from mcp_conformance.protocol.text import named, shell_line, shorten
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.formats.json import client_members, exercise_members, host_members
from mcp_conformance.report.formats.markdown import code
from mcp_conformance.report.model import Report, Result
from mcp_conformance.report.strict_json import strict_json
from mcp_conformance.report.text import defect_lines
from mcp_conformance.requirements.catalogue import OWN
from mcp_conformance.requirements.official import official_ids

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
TOOL = "pytest-mcp-conformance"
MAX_TEXT = 4000
NO_FILE = "mcp-server"
"""The place of findings if no file of the project is known."""


@dataclass(frozen=True)
class Located:
    """A report, and the place of its findings: a file, "" if none is known, and a line counted from 1.

    ``name`` is what a file calls the server; it tells the findings of several servers apart.
    """

    report: Report
    file: str
    line: int = 1
    name: str = ""


def render(report: Report) -> str:
    """Return the findings as SARIF."""
    return render_all([Located(report, report.source)], report.tool_version)


def render_all(reports: Iterable[Located], tool_version: str) -> str:
    """Return the findings of all reports as SARIF with one run, as GitHub takes only one of each tool."""
    located = list(reports)
    found = [(one, where) for where in located for one in where.report.findings]
    rules = {one.requirement: one for one, _ in found}
    places = {id: place for place, id in enumerate(rules)}
    driver = {"name": TOOL, "version": tool_version, "rules": [_rule(one) for one in rules.values()]}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(where.report) for where in located],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, where, places[one.requirement]) for one, where in found],
    }
    return strict_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def level(outcome: Outcome) -> str:
    """Return SARIF's level of an outcome; an excused finding has that of a warning, and is suppressed."""
    match outcome.style.weight:
        case Weight.FAILS:
            return "error"
        case Weight.WARNS | Weight.EXCUSED:
            return "warning"
        case Weight.NOTED:
            return "note"
        case Weight.HOLDS | Weight.SAYS_NOTHING:
            return "none"
        case other:
            assert_never(other)


def _rule(one: Result) -> dict[str, Any]:
    fix = f" Fix: {one.fix}" if one.fix else ""
    said = code(f"{one.says}{fix}") if one.basis == OWN else f"{one.says}{fix}"  # a repository wrote its own
    more = f"mcp-conformance explain {one.requirement}"
    official = official_ids(one.requirement)
    return {
        "id": one.requirement,
        "shortDescription": {"text": one.says},
        "helpUri": one.page,
        "help": {
            "text": f"{one.says}{fix} See {one.page} and: {more}",
            "markdown": f"{said}\n\nSee [the rule]({one.page}) and `{more}`.",
        },
        "defaultConfiguration": {"level": level(one.outcome)},
        "properties": {
            "tags": ["mcp", one.family, one.level, one.basis, *filter(None, [one.defect])],
            **({"official": official} if official else {}),
        },
    }


def _invocation(report: Report) -> dict[str, Any]:
    done = report.status != "internal-error" and not report.ended
    lines = [f"verdict: {report.verdict}", *(line for _, line in defect_lines(report))]
    lines += [f"not finished: {report.ended}"] if report.ended else []
    lines += [f"{number} checks of {name} did not run" for name, number in report.not_run.items()]
    lines += [f"baseline: {text}" for text in report.outdated]
    lines += [f"--require-exercised: {report.lacking}"] if report.lacking else []
    notes = [
        {"level": "note", "message": {"text": shorten(text, MAX_TEXT)}} for text in (*lines, *report.notices)
    ]
    return {
        "commandLine": named(shell_line(["mcp-conformance", "run", "--", *report.command]), MAX_TEXT),
        "startTimeUtc": report.started.replace("+00:00", "Z"),
        "executionSuccessful": done,
        "toolExecutionNotifications": notes,
        "properties": {
            "exercise": exercise_members(report),
            **host_members(report),
            **client_members(report),
        },
    }


def _result(one: Result, where: Located, place: int) -> dict[str, Any]:
    facts = {
        "revision": one.revision,
        "node": one.node,
        "replay": one.replay,
        "reproduce": one.reproduce,
        "deviation": one.deviation,
        "defect": one.defect,
    }
    expected = {"kind": "external", "justification": shorten(one.baseline, MAX_TEXT)}
    suppressed = {"suppressions": [expected]} if one.outcome.style.weight is Weight.EXCUSED else {}
    return suppressed | {
        "ruleId": one.requirement,
        "ruleIndex": place,
        "level": level(one.outcome),
        "message": {"text": _message(one)},
        "locations": [_location(one, where)],
        "partialFingerprints": {"mcpConformance/v1": _fingerprint(one, where.name)},
        "properties": {name: shorten(text, MAX_TEXT) for name, text in facts.items() if text},
    }


def _message(one: Result) -> str:
    about = f" (tool {named(one.tool)})" if one.tool else ""
    expected = f"\nexpected: {one.expected}" if one.expected else ""
    wire = "".join(f"\n{line}" for line in one.wire)
    stderr = f"\nstderr: {one.stderr}" if one.stderr else ""
    got = f"got: {one.got or one.reason}{wire}{stderr}"
    return shorten(f"{_defect(one)}{one.says}{about}{expected}\n{got}", MAX_TEXT)


def _defect(one: Result) -> str:
    if one.defect not in frozenset(Defect):
        return ""
    return f"{Defect(one.defect).told_of(named(one.tool) or 'the server')}. "


def _location(one: Result, where: Located) -> dict[str, Any]:
    server = named(where.name or where.report.server)
    name = named(one.tool) if one.tool else server
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(where.file), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": where.line},
        },
        "logicalLocations": [{"name": name, "fullyQualifiedName": f"{server}/{name}", "kind": "function"}],
    }


def _uri(file: str) -> str:
    return quote(file.replace("\\", "/")) if file else NO_FILE


def _fingerprint(one: Result, server: str) -> str:
    """Return a text that is the same for a finding in every run."""
    facts = [one.requirement, one.revision, one.tool, one.check, *([server] if server else [])]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


FILE_FORMAT = FileFormat((".sarif", ".sarif.json"), "SARIF 2.1.0, for code scanning and editors", render)
