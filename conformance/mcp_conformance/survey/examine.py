"""Examine one target: run the suite, run what is red once more, and make a result of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from mcp_conformance.outcome import COUNTED, Outcome
from mcp_conformance.project.env_file import read_env_file
from mcp_conformance.project.version import tool_version
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.exit_status import FAILED, MACHINE, NOT_STARTED, NOTHING_TESTED, PASSED
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.model import Report, Result, without_repeats
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.sandbox.sandbox import AUTO, NONE, Choice
from mcp_conformance.survey.cleaning import cleaned
from mcp_conformance.survey.installed import Unusable, start_command
from mcp_conformance.survey.learned import LEARNED, copy_learned
from mcp_conformance.survey.prepare import Installation
from mcp_conformance.survey.programs import SAFE_PATH, Ended, run, surroundings
from mcp_conformance.survey.results import Grade, Obstacle, SurveyResult
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.files import BadFile, read_file
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.machine import machine_fault
from mcp_conformance.transport.throwaway import scratch_folder
from mcp_conformance.transport.writing import write

JUDGED = (PASSED, FAILED)
ENV, ENV_FILE = "--env", "--env-file"
DUMMY = "dummy"
MAX_DIAGNOSIS, MAX_FAULT = 4_000, 400
SETUP_SECONDS = 60.0
OPTIONS = ("--revision", "latest", "--seed", "0", "--sdk-findings", "fail", "-q")


@dataclass(frozen=True)
class Examination:
    """How targets are examined: options for ``run``, the seconds that one run may take, and the sandbox.

    The sandbox ``auto`` is the strongest that the worker's machine has, maybe none; the result says which.
    """

    options: tuple[str, ...] = ()
    seconds: float = 600.0
    sandbox: str = AUTO

    def confinement(self) -> tuple[tuple[str, ...], str]:
        """Return the options of ``run`` that confine a server, and what confines it, in words."""
        options = () if self.sandbox == NONE else ("--sandbox", self.sandbox)
        if self.sandbox != AUTO:
            return options, self.sandbox
        try:
            found = Choice(AUTO).sandbox()
        except Unavailable as reason:
            return (), f"none: {reason}"
        return options, found.describe(listens=False) if found else NONE


def examine(
    target: Target, installation: Installation, how: Examination, learned: Path | None = None
) -> SurveyResult:
    """Run the suite against a target, and once more the rules that were red; return what came of it.

    The folder ``learned`` has what earlier surveys learned of the target; what this one learns is added.
    Nothing is shared without it.
    Raises `OSError` if this machine has no room for it.
    """
    started, begun = datetime.now(UTC), time.monotonic()
    confined, sandbox = how.confinement()
    result = SurveyResult(
        target,
        tool_version(),
        how.options,
        Grade.NOT_JUDGED,
        sdk=installation.sdk,
        sandbox=sandbox,
        started=started.isoformat(timespec="seconds"),
    )
    if target.url:
        return replace(result, obstacle=Obstacle.REMOTE, diagnosis="a survey starts its servers itself")
    if installation.failure:
        return replace(result, obstacle=Obstacle.INSTALLATION, diagnosis=installation.failure)
    try:
        command = start_command(target, installation.folder)
    except Unusable as error:
        return replace(result, obstacle=Obstacle.INSTALLATION, diagnosis=str(error))
    with scratch_folder("mcp-survey-") as folder:
        own = folder.resolve()
        place = _Place(own, target, installation.folder, command, confined)
        if learned is not None:
            copy_learned(learned, place.learned)
        result = _examined(result, place, how)
        if learned is not None:
            copy_learned(place.learned, learned)
    places = {"{SURVEY}": str(own), **({"{ENV}": installation.folder} if installation.folder else {})}
    return cleaned(replace(result, seconds=round(time.monotonic() - begun, 3)), places)


class _Place:
    """A folder for one target's runs: ``{WORK}`` in its command is an empty folder for each run.

    Each begins with what the last one has ``learned`` of the server.
    """

    def __init__(
        self, folder: Path, target: Target, env: str, command: Sequence[str], confined: tuple[str, ...]
    ):
        self._folder, self._target, self._env, self._command = folder, target, env, command
        self._confined = confined
        self._runs = 0
        self.learned = folder / "run" / LEARNED

    def run(self, how: Examination, *more: str) -> tuple[Ended, Report | None]:
        """Run the suite with options; return its end, and the report unless it wrote none."""
        own = self._emptied()
        work, report = own / "work", own / "report.json"
        work.mkdir(parents=True)
        places = {"ENV": self._env, "WORK": str(work)}
        env = {name: text for name, text in os.environ.items() if name != SAFE_PATH}
        for step in self._target.setup:
            subprocess.run(_filled(step, places), shell=True, check=True, timeout=SETUP_SECONDS, env=env)  # noqa: S602
        written = ("--allow-write", str(work)) if self._confined else ()
        options, own_variables = _without_variables((*how.options, *self._target.options))
        given = {**own_variables, **_variables(self._target)}
        words = [*OPTIONS, *self._confined, *written, *(_filled(word, places) for word in options), *more]
        words += ["--cwd", str(work), "--report", str(report)]
        variables = {name: _filled(text, places) for name, text in given.items()}
        if variables:
            # Other users see the words of a command, and a variable of this name may be one of Python's.
            file = own / "env.json"
            write(file, json.dumps(variables), 0o600)
            words += [ENV_FILE, str(file)]
        command = [_filled(word, places) for word in self._command]
        program = [sys.executable, "-P", "-m", "mcp_conformance", "run", *words, "--", *command]
        ended = run(program, own, surroundings(), how.seconds)
        return ended, _read(report)

    def _emptied(self) -> Path:
        """Return the folder of the next run, with nothing in it but what the last one learned."""
        self._runs += 1
        own, last = self._folder / "run", self._folder / str(self._runs - 1)
        if self._runs > 1:
            own.rename(last)
            copy_learned(last / LEARNED, self.learned)
        return own


def _variables(target: Target) -> Mapping[str, str]:
    """Return the variables of a target; secrets that nobody gave have a dummy value."""
    return {**dict.fromkeys(target.secrets, DUMMY), **target.env}


def _without_variables(options: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return options for ``run`` without ``--env NAME=VALUE`` and ``--env-file``, and their variables.

    Raises `BadFile`.
    """
    rest: list[str] = []
    in_files: dict[str, str] = {}
    found: dict[str, str] = {}
    words = iter(options)
    for word in words:
        option, has_value, text = word.partition("=")
        given = text if has_value else next(words, "") if option in (ENV, ENV_FILE) else ""
        name, is_pair, value = given.partition("=")
        if option == ENV_FILE:
            in_files = read_env_file(Path(given))
        elif option == ENV and is_pair:
            found[name] = value
        else:
            rest += [word] if has_value or option != ENV else [word, given]
    return rest, in_files | found


def _filled(text: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


def _read(path: Path) -> Report | None:
    try:
        return read_file(path, json_format.read, follows=False)
    except BadFile:
        return None


def _examined(result: SurveyResult, place: _Place, how: Examination) -> SurveyResult:
    try:
        ended, report = place.run(how)
    except (CannotStart, OSError, BadFile, subprocess.SubprocessError) as error:
        if lack := machine_fault(error):
            raise OSError(lack) from error
        return replace(result, obstacle=Obstacle.TOOL, diagnosis=str(error)[-MAX_DIAGNOSIS:])
    if ended.status == MACHINE:
        raise OSError(shorten(_diagnosis(ended), MAX_FAULT))
    result = replace(result, cpu_seconds=round(ended.cpu_seconds, 3))
    if report is None or ended.status not in JUDGED:
        return replace(result, obstacle=_obstacle(result.target, ended), diagnosis=_diagnosis(ended))
    red = _red(report)
    try:
        again = place.run(how, *_selecting(red)) if red else (None, None)
    except OSError:  # a process that the server left behind has a file of the first run open (Windows)
        again = (None, None)
    return _graded(result, report, red, *again)


def _obstacle(target: Target, ended: Ended) -> Obstacle:
    """Return why a run gave no verdict on the server."""
    if ended.status is None:
        return Obstacle.TIME
    if ended.status in (NOT_STARTED, NOTHING_TESTED):
        return Obstacle.SECRET if target.secrets else Obstacle.START
    return Obstacle.TOOL


def _diagnosis(ended: Ended) -> str:
    """Return what a run says about why it gave no verdict: what the doctor found, or the last lines."""
    _, cause, rest = ended.output.rpartition("\nCause:\n")
    text = rest if cause else ended.output
    return "\n".join(line.strip() for line in text.strip().splitlines())[-MAX_DIAGNOSIS:]


def _red(report: Report) -> list[Result]:
    return without_repeats(report.judged, *COUNTED)


def _selecting(red: Sequence[Result]) -> list[str]:
    """Return the options that select the rules that were red."""
    rules = dict.fromkeys(one.requirement for one in red)
    return [word for rule in rules for word in ("--select", rule)]


def _graded(
    result: SurveyResult, report: Report, red: list[Result], ended: Ended | None, again: Report | None
) -> SurveyResult:
    """Return the result of a run, and of the second run of what was red."""
    seen = {_key(one) for one in _red(again)} if again is not None else set()
    steady = tuple(replace(one, text="") for one in red if _key(one) in seen)
    unsteady = tuple(replace(one, text="") for one in red if _key(one) not in seen)
    fails = any(one.outcome.fails for one in steady)
    lacks = bool(report.lacking) and not fails
    return replace(
        result,
        grade=Grade.DOES_NOT_CONFORM if fails else Grade.NOT_JUDGED if lacks else Grade.CONFORMS,
        obstacle=Obstacle.EXERCISE if lacks else "",
        diagnosis=report.lacking if lacks else "",
        exercise=() if report.is_partial else report.exercise,
        hosts=report.hosts,
        server=report.server,
        server_version=report.version,
        revisions=tuple(report.tested),
        cpu_seconds=round(result.cpu_seconds + (ended.cpu_seconds if ended else 0.0), 3),
        requests=sum(report.sent.values()) + (sum(again.sent.values()) if again else 0),
        matrix=_without(report.matrix, {(one.requirement, one.revision) for one in unsteady}),
        findings=steady,
        unsteady=unsteady,
    )


def _key(one: Result) -> tuple[str, str, str]:
    return one.requirement, one.revision, one.tool


def _without(
    matrix: Mapping[str, Mapping[str, Outcome]], unsteady: set[tuple[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the outcomes of a report; a rule that was red only once is no outcome."""
    return {
        rule: {revision: str(one) for revision, one in row.items() if (rule, revision) not in unsteady}
        for rule, row in matrix.items()
    }
