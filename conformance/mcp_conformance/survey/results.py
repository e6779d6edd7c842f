"""The result of one target: an immutable value, written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from mcp_conformance.outcome import Outcome, worst
from mcp_conformance.protocol.shape import misfit
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.formats.json import read_exercise
from mcp_conformance.report.hosts import AskedHost
from mcp_conformance.report.model import Result
from mcp_conformance.report.strict_json import strict_json
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.credentials import redacted
from mcp_conformance.transport.files import json_value

FORMAT = 1


class NoResults(ValueError):  # noqa: N818  (its message is what the user reads)
    """There is no result to show or to compare."""


class Grade(StrEnum):
    """What a survey says about a target; a target that could not be judged has no other grade."""

    CONFORMS = "conforms"
    DOES_NOT_CONFORM = "does not conform"
    NOT_JUDGED = "could not be judged"


class Obstacle(StrEnum):
    """Why a target could not be judged."""

    INSTALLATION = "it did not install"
    START = "it did not start"
    SECRET = "it needs a secret"  # noqa: S105  (a sentence)
    TIME = "it took too long"
    EXERCISE = "too few of its tools were exercised"
    REMOTE = "it is remote"
    TOOL = "this tool failed"


@dataclass(frozen=True)
class SurveyResult:
    """What a survey found out about one target, with one version of this tool and one set of options.

    ``obstacle`` and ``diagnosis`` say why it could not be judged.  ``sdk`` is the SDK with its version, as
    the installation has it.  ``matrix`` has the worst outcome of each rule in each revision; ``findings``
    are those that failed, warned or blocked in both of two runs, ``unsteady`` those that did so only once.
    ``seconds`` is the wall time, ``cpu_seconds`` the processor time of the whole examination, ``requests``
    the lines that were sent to the server.  ``exercise`` has what was exercised of each tool,
    ``hosts`` what it asked of other hosts, if that was looked at.
    """

    target: Target
    tool_version: str
    options: tuple[str, ...]
    grade: Grade
    obstacle: str = ""
    diagnosis: str = ""
    sdk: str = ""
    server: str = ""
    server_version: str = ""
    revisions: tuple[str, ...] = ()
    started: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    requests: int = 0
    sandbox: str = ""
    matrix: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    findings: tuple[Result, ...] = ()
    unsteady: tuple[Result, ...] = ()
    exercise: tuple[ExercisedTool, ...] = ()
    hosts: tuple[AskedHost, ...] = ()

    @property
    def shown(self) -> SurveyResult:
        """The result without the credentials of its target and its options."""
        shown = replace(self, target=self.target.shown, options=redacted(self.options))
        return self.target.redaction(self.options)(shown)

    @property
    def callable_tools(self) -> tuple[ExercisedTool, ...]:
        """The tools that were there to be exercised."""
        return tuple(one for one in self.exercise if one.is_callable)

    @property
    def exercised_tools(self) -> tuple[ExercisedTool, ...]:
        """Those of which a call succeeded."""
        return tuple(one for one in self.callable_tools if one.is_exercised)

    @property
    def exercised(self) -> str:
        """How many of its callable tools were exercised, such as ``31/46``; empty if none was callable."""
        could = len(self.callable_tools)
        return f"{len(self.exercised_tools)}/{could}" if could else ""

    @property
    def is_at_the_door(self) -> bool:
        """Whether it has callable tools, and none was exercised."""
        return bool(self.callable_tools) and not self.exercised_tools

    @property
    def sdks(self) -> tuple[tuple[str, str], ...]:
        """The SDK's name and version, before it those of a framework that is built on it."""
        pairs = (one.rpartition(" ") for one in self.sdk.split(" on ") if one)
        return tuple((name or version, version if name else "") for name, _, version in pairs)

    @property
    def broken(self) -> Mapping[str, Outcome]:
        """The worst outcome of each rule that was red in both of two runs."""
        found: dict[str, Outcome] = {}
        for one in self.findings:
            found[one.requirement] = worst((one.outcome, found.get(one.requirement, one.outcome)))
        return found

    def to_members(self) -> dict[str, Any]:
        """Return the members of the result's JSON."""
        rows = {name: [one.to_row() for one in getattr(self, name)] for name in ("findings", "unsteady")}
        exercise = [asdict(one) for one in self.exercise]
        members = {**vars(self), "target": asdict(self.target), "exercise": exercise, **rows}
        members["hosts"] = [asdict(one) for one in self.hosts]
        return {name: value for name, value in members.items() if value or name != "hosts"}

    def to_json(self) -> str:
        """Return the result as JSON."""
        return strict_json({"format": FORMAT, **self.to_members()}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SurveyResult:
        """Return the result that `to_json` wrote.  Raises `ValueError`."""
        members: Any = json_value(text)
        if not isinstance(members, dict) or members.pop("format", None) != FORMAT:
            raise ValueError(f"it is not a result of format {FORMAT}")
        return cls.from_members(members)

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> SurveyResult:
        """Return the result with these members.  Raises `ValueError`."""
        try:
            given = {name: _tuple(value) for name, value in members.items()}
            given["target"] = Target(**{name: _tuple(value) for name, value in given["target"].items()})
            given["grade"] = Grade(given["grade"])
            for name in ("findings", "unsteady"):
                given[name] = tuple(map(_result, given[name]))
            given["exercise"] = read_exercise(given.get("exercise", ()))
            given["hosts"] = tuple(AskedHost(**one) for one in given.get("hosts", ()))
            found = cls(**given)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a member is missing or wrong: {error}") from error
        if place := misfit(found, SurveyResult, "result"):
            raise ValueError(f"a member is of the wrong type: {place}")
        return found


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _result(row: Mapping[str, Any]) -> Result:
    return Result.from_row({name: _tuple(value) for name, value in row.items()})
