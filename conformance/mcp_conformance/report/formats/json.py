"""A report as JSON, written and read.  ``report-1.schema.json`` describes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.shape import misfit
from mcp_conformance.report.connecting import ConnectingClient
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.hosts import AskedHost
from mcp_conformance.report.model import FoundDefect, Interface, OfferedTool, Report, Result
from mcp_conformance.report.strict_json import strict_json
from mcp_conformance.report.tool_links import ToolLink
from mcp_conformance.requirements.catalogue import families
from mcp_conformance.requirements.official import official_ids
from mcp_conformance.transport.files import BadFile, json_value

FORMAT = 1
SCHEMA = Path(__file__).parents[1] / "report-1.schema.json"
TOOL = "pytest-mcp-conformance"
FACTS = ("node", "requirement", "revision", "outcome", "level", "basis")
EVIDENCE = (
    *("tool", "requirements", "reason", "expected", "got", "asked", "wire", "stderr"),
    *("transcripts", "replay", "reproduce", "fix"),
    *("deviation", "harm", "way_out", "baseline", "cause", "defect"),
)
"""The members of a result: `FACTS` always, `EVIDENCE` unless they are empty."""
SERVER = {"name": "server", "version": "version", "command": "command", "source": "source"}
RUN = ("started", "seconds", "ended")
COUNTS = ("not_run", "starts", "sessions", "sent", "not_applicable", "measured", "phases", "sequences")


def render(report: Report) -> str:
    """Return the report as JSON, in ASCII, with a line for each result."""
    head = strict_json(_head(report), indent=1)
    results = ",\n".join(f"  {strict_json(_result(one))}" for one in report.results)
    return f'{head[:-2]},\n "results": [\n{results}\n ]\n}}\n'


def _head(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "tool": {"name": TOOL, "version": report.tool_version},
        "server": {name: getattr(report, member) for name, member in SERVER.items()},
        "run": {
            **{name: getattr(report, name) for name in (*RUN, "processes", *COUNTS)},
            "options": report.options,
        },
        "verdict": {
            "status": report.status,
            "text": report.verdict,
            "counts": report.counts,
            "defects": [_defect(one) for one in report.defects],
        },
        "chapters": [
            {"name": name, "title": families()[name].title, "counts": counts}
            for name, counts in report.chapters.items()
        ],
        "revisions": [_interface(one) for one in report.revisions],
        **client_members(report),
        "not_called": report.not_called,
        "notices": report.notices,
        "outdated": report.outdated,
        "exercise": exercise_members(report),
        **host_members(report),
        **({"links": [one.as_row() for one in report.links]} if report.links else {}),
        "deviations": [{"sdk": sdk, "requirements": rules} for sdk, rules in report.deviations.items()],
        "matrix": report.matrix,
        "rules": _rules(report.results),
    }


def _defect(one: FoundDefect) -> dict[str, Any]:
    rules = dict.fromkeys(result.requirement for result in one.results)
    revisions = dict.fromkeys(result.revision for result in one.results)
    return {
        "kind": one.kind,
        "tool": one.tool,
        "outcome": one.outcome,
        "text": one.text,
        "requirements": list(rules),
        "revisions": list(revisions),
    }


def exercise_members(report: Report) -> dict[str, Any]:
    """Return what was exercised, as JSON has it."""
    return {
        "callable": len(report.callable_tools),
        "exercised": len(report.exercised_tools),
        "lacking": report.lacking,
        "partial": report.is_partial,
        "tools": [vars(one) for one in report.exercise if one.is_tool],
        "fetched": [vars(one) for one in report.exercise if not one.is_tool],
    }


def client_members(report: Report) -> dict[str, Any]:
    """Return the member with the clients that can connect; none if nothing is known of them."""
    found = [asdict(one) for one in report.clients]
    return {"clients": found} if found else {}


def host_members(report: Report) -> dict[str, Any]:
    """Return what the server asks of other hosts, as JSON has it; nothing if that was not looked at."""
    return {"hosts": [vars(one) for one in report.hosts]} if report.hosts else {}


def _interface(one: Interface) -> dict[str, Any]:
    return {**vars(one), "tools": [vars(tool) for tool in one.tools]}


def _rules(results: Iterable[Result]) -> dict[str, Any]:
    """Return the text of each rule, its official ids, and its place in each revision of the specification."""
    rules: dict[str, Any] = {}
    for one in results:
        official = official_ids(one.requirement)
        names = {"official": official} if official else {}
        rule = rules.setdefault(one.requirement, {"says": one.says, **names, "spec": {}})
        rule["spec"][one.revision] = one.spec
    return rules


def _result(one: Result) -> dict[str, Any]:
    evidence = {name: getattr(one, name) for name in EVIDENCE}
    if one.requirements == (one.requirement,):
        del evidence["requirements"]
    return {name: getattr(one, name) for name in FACTS} | {
        name: some for name, some in evidence.items() if some
    }


# Reading -----------------------------------------------------------------------------------------


def read(text: str) -> Report:
    """Return the report that `render` wrote; its results have no text for a terminal.  Raises `BadFile`."""
    data = read_members(text)
    if "servers" in data:
        raise BadFile("it is about several servers: take the file whose name begins with the server's")
    return report_from(data)


def read_members(text: str) -> Mapping[str, Any]:
    """Return the members of a report, be it about one server or about several.  Raises `BadFile`."""
    data = json_value(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadFile(f"it is not a report of format {FORMAT}")
    return data


def report_from(data: Mapping[str, Any]) -> Report:
    """Return the report of one server that has these members.  Raises `BadFile`."""
    try:
        found = _report(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFile(f"a member is missing or of the wrong type: {error}") from error
    if place := misfit(found, Report, "report"):
        raise BadFile(f"a member is of the wrong type: {place}")
    return found


def _report(data: Mapping[str, Any]) -> Report:
    server, rules, exercise = data["server"], data["rules"], data.get("exercise", {})
    return Report(
        tool_version=data["tool"]["version"],
        command=tuple(server["command"]),
        server=server["name"],
        version=server["version"],
        source=server["source"],
        revisions=tuple(_read_interface(one) for one in data["revisions"]),
        results=tuple(_read_result(one, rules) for one in data["results"]),
        not_called=tuple(data["not_called"]),
        notices=tuple(data["notices"]),
        **{name: data["run"].get(name, {}) for name in COUNTS},
        processes=data["run"].get("processes", 0),
        outdated=tuple(data.get("outdated", [])),
        options=data["run"]["options"],
        **{name: data["run"][name] for name in RUN},
        never_opened=data["verdict"]["status"] == "not-started",
        exercise=read_exercise([*exercise.get("tools", ()), *exercise.get("fetched", ())]),
        lacking=exercise.get("lacking", ""),
        is_partial=exercise.get("partial", False),
        hosts=tuple(AskedHost(**one) for one in data.get("hosts", ())),
        links=tuple(map(ToolLink.from_row, data.get("links", ()))),
        clients=tuple(ConnectingClient(**one) for one in data.get("clients", ())),
    )


def read_exercise(rows: Iterable[Mapping[str, Any]]) -> tuple[ExercisedTool, ...]:
    """Return what was exercised of each tool, from the rows of a report.  Raises `TypeError`."""
    return tuple(ExercisedTool(**{**one, "origins": tuple(one["origins"])}) for one in rows)


def _read_interface(one: Mapping[str, Any]) -> Interface:
    tools = tuple(OfferedTool(**tool) for tool in one["tools"])
    return Interface(**{**one, "tools": tools, "offers": tuple(one["offers"])})


def _read_result(one: Mapping[str, Any], rules: Mapping[str, Any]) -> Result:
    rule = rules[one["requirement"]]
    facts = {name: one[name] for name in (*FACTS, *EVIDENCE) if name in one}
    facts |= {name: tuple(one.get(name, ())) for name in ("wire", "transcripts")}
    facts["requirements"] = tuple(one.get("requirements", [one["requirement"]]))
    return Result(
        **{**facts, "outcome": Outcome(one["outcome"])}, says=rule["says"], spec=rule["spec"][one["revision"]]
    )


FILE_FORMAT = FileFormat((".json",), "every result with its evidence, to keep and to compare", render)
