"""A report in the form of the official conformance suite: an array of checks, by its ids where it has them.

A check of ours without an official id has the id of its rule, which has dots.  An id that several rules judge
has the worst of them.  Each id stands once for each revision in which the official suite has it too; its
``details`` say which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from mcp_conformance.outcome import Weight
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.model import Report, Result
from mcp_conformance.report.strict_json import strict_json
from mcp_conformance.requirements.official import official_ids

MAX_TEXT = 4000
STATUS: Mapping[Weight, str] = MappingProxyType(
    {
        Weight.FAILS: "FAILURE",
        Weight.WARNS: "WARNING",
        Weight.EXCUSED: "WARNING",
        Weight.NOTED: "INFO",
        Weight.HOLDS: "SUCCESS",
        Weight.SAYS_NOTHING: "SKIPPED",
    }
)
"""The official status of an outcome; an excused one counts there neither."""


def render(report: Report) -> str:
    """Return the checks as JSON."""
    found: dict[tuple[str, str], list[Result]] = {}
    for one in report.judged:
        cited = one.requirements if not one.outcome.is_finding else (one.requirement,)
        for rule in cited or (one.requirement,):
            for id in official_ids(rule, one.revision) or [rule]:
                found.setdefault((one.revision, id), []).append(one)
    when = _timestamp(report.started)
    checks = [_check(id, revision, results, when) for (revision, id), results in sorted(found.items())]
    return strict_json(checks, indent=2) + "\n"


def _timestamp(started: str) -> str:
    """Return a time as JavaScript writes it: in UTC, with milliseconds."""
    return datetime.fromisoformat(started).astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _check(id: str, revision: str, results: Sequence[Result], when: str) -> dict[str, Any]:
    worst = min(results, key=lambda one: one.outcome.place)
    status = STATUS[worst.outcome.style.weight]
    error = shorten(worst.reason, MAX_TEXT) if status != "SUCCESS" else ""
    places = {one.requirement: one.spec for one in results}
    tool = {"tool": worst.tool} if worst.tool else {}
    return {
        "id": id,
        "name": "".join(word[:1].upper() + word[1:] for word in id.replace(".", "-").split("-")),
        "description": worst.says,
        "status": status,
        "timestamp": when,
        **({"errorMessage": error} if error else {}),
        "specReferences": [{"id": rule, "url": spec} for rule, spec in places.items()],
        "details": {"specVersion": revision, "outcome": worst.outcome, **tool},
    }


FILE_FORMAT = FileFormat(("checks.json",), "the checks in the form of the official conformance suite", render)
