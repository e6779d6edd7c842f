"""The report of a run, put together from what was probed and what the checks told."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

from conformance.client.tool_call import Tool
from conformance.protocol.text import named
from conformance.protocol.value import Value
from conformance.report.model import DEAD, REFUSED, TESTED, Interface, OfferedTool, Report, Result, in_order
from conformance.target.settings import Settings
from conformance.target.surface import Subject, Surface
from conformance.transport.credentials import credentials, redacted, without

NAME_KEPT = 200
PROJECT = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", "README.md")
"""What describes a project, where the command names no file of it."""
MOST_DEFINITION, MOST_DEFINITIONS = 100_000, 2_000_000
"""How many characters of JSON the definition of a tool, and those of all tools in a revision, may have."""


@dataclass(frozen=True)
class Course:
    """How a run went: when it ``started``, how long it took, and why it ``ended`` early, if it did.

    ``not_run`` says how many checks of each chapter have not run, and ``outdated`` what in the baseline has
    to be mended.
    """

    started: datetime
    seconds: float
    ended: str = ""
    not_run: Mapping[str, int] = field(default_factory=dict)
    outdated: tuple[str, ...] = ()


def assembled(
    subject: Subject,
    results: Iterable[Result],
    course: Course,
    options: Mapping[str, Any],
    notices: Iterable[str],
) -> Report:
    """The report of a run."""
    settings = subject.settings
    hidden = credentials(settings.command, settings.env)
    command = tuple(without(word, hidden) for word in redacted(settings.command))
    found = interfaces(subject)
    known = next((one for one in reversed(found) if one.server), Interface(""))
    return Report(
        tool_version=tool_version(),
        command=command,
        server=known.server or shlex.join(command),
        version=known.version,
        started=course.started.isoformat(timespec="seconds"),
        seconds=round(course.seconds, 2),
        source=source(settings),
        revisions=found,
        options=_shown(options, hidden),
        ended=course.ended,
        results=in_order(replace(one, tool=_name(one.tool)) for one in results),
        not_called=tuple(map(_name, held_back(subject))),
        notices=tuple(notices),
        not_run=course.not_run,
        outdated=course.outdated,
    )


def interfaces(subject: Subject) -> tuple[Interface, ...]:
    """What the server offered in each revision, without credentials."""
    settings = subject.settings
    hidden = credentials(settings.command, settings.env)
    return tuple(_interface(one, settings, hidden) for one in subject.surfaces)


def tool_version() -> str:
    """Our own version; empty where we are not installed."""
    try:
        return version("pytest-mcp-conformance")
    except PackageNotFoundError:
        return ""


def source(settings: Settings) -> str:
    """The file that the command starts, or one that describes the project; empty if neither is found."""
    words = [word for word in settings.command if not word.startswith("-")]
    modules = [word.replace(".", "/") for before, word in pairwise(settings.command) if before == "-m"]
    places = [place for module in modules for place in (f"{module}/__main__.py", f"{module}.py")]
    candidates = [*words[1:], *places, *(f"src/{place}" for place in places), *words[:1], *PROJECT]
    return next((one for one in candidates if _is_source(settings.here, one)), "")


def _is_source(here: Path, name: str) -> bool:
    try:
        path = (here / name).resolve()
        return path.is_relative_to(here.resolve()) and path.is_file() and path == (here / name).absolute()
    except (OSError, ValueError):
        return False


def held_back(subject: Subject) -> list[str]:
    """The names of the tools that may not be called."""
    settings = subject.settings
    return sorted({one.name for face in subject.live for one in face.tools if not settings.may_call(one)})


def _shown(options: Mapping[str, Any], hidden: Sequence[str]) -> dict[str, Any]:
    """The options without credentials."""
    shown: dict[str, Any] = json.loads(without(json.dumps(options), hidden))
    return shown


def _interface(surface: Surface, settings: Settings, hidden: Sequence[str]) -> Interface:
    if surface.refused:
        return Interface(surface.revision, REFUSED, named(surface.refused, NAME_KEPT))
    info = surface.server_info or Value({})
    offered = surface.offers.json if surface.offers.is_a(dict) else {}
    return Interface(
        revision=surface.revision,
        state=DEAD if surface.dead else TESTED,
        server=without(_word(info.get("name")), hidden),
        version=without(_word(info.get("version")), hidden),
        offers=tuple(named(str(name), NAME_KEPT) for name in offered),
        found=bool(surface.found),
        tools=tuple(_tools(surface.tools, settings, hidden)),
        left_out=surface.left_out,
        noise=surface.noise,
    )


def _name(tool: str) -> str:
    """The name of a tool; one that is very long is cut."""
    return tool if len(tool) <= NAME_KEPT else named(tool, NAME_KEPT)


def _word(value: Value | None) -> str:
    return named(str(value.json), NAME_KEPT) if value is not None else ""


def _tools(tools: Iterable[Tool], settings: Settings, hidden: Sequence[str]) -> Iterator[OfferedTool]:
    room = MOST_DEFINITIONS
    for tool in tools:
        text = without(_definition(tool), hidden)
        room -= len(text)
        definition = json.loads(text) if room >= 0 else {}
        yield OfferedTool(_name(tool.name), settings.may_call(tool), definition)


def _definition(tool: Tool) -> str:
    """A tool's definition as JSON by the letter; an empty object if it is none, or too long."""
    try:
        told = json.dumps(tool.definition.json)
        plain = json.loads(told, parse_constant=str)
        text = json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace").decode()
    except (ValueError, RecursionError):
        return "{}"
    return text if len(text) <= MOST_DEFINITION and isinstance(plain, dict) else "{}"
