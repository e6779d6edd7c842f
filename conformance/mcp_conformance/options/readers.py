"""Readers of options: what the user wrote, as a value.

A reader raises `ValueError` or `OSError` for what it cannot read; `Option.read` names the option.  What is
slow to import is imported only when an option needs it: every pytest run loads this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_conformance.options.given import Given
from mcp_conformance.protocol import revisions as known_revisions
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.transport.files import json_value, read_file

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

    from mcp_conformance.backend.choice import Choice as ApiChoice
    from mcp_conformance.report.baseline import Baseline
    from mcp_conformance.report.exercise import RequiredExercise
    from mcp_conformance.report.model import Report
    from mcp_conformance.tap.sessions import Recorded
    from mcp_conformance.target.contract import Contract
    from mcp_conformance.target.settings import Sample
    from mcp_conformance.target.tool_limits import ToolLimits

VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)*")
SELECTION = re.compile(r"[^,\s\[]+(?:\[[^\]]*\])?")
TOOL_LIMITS = ("timeout", "fuzz", "calls-per-tool")
"""The options that may hold for single tools."""
NO_FILE = "none"
"""What stands for no file at all where there is one by default."""


# Texts and numbers -------------------------------------------------------------------------------


class OneOf:
    """A reader of a word that stands for a value."""

    def __init__(self, values: Mapping[str, Any]):
        self.values = values

    def __call__(self, given: Given) -> Any:
        """Return the value of the word."""
        words = tuple(self.values)
        if given.text not in words:
            listed = f"{', '.join(words[:-1])} or {words[-1]}"
            near = did_you_mean(given.text, words)
            raise ValueError(f"{listed} is expected, not {given.text!r}{near}")
        return self.values[given.text]


def seconds(given: Given) -> float:
    """Return a duration in seconds."""
    return _above_0(given.text.removesuffix("s"), "seconds", given.text)


def api(given: Given) -> ApiChoice:
    """Return which API the server has, and what goes wrong with it."""
    from mcp_conformance.backend.choice import choice  # noqa: PLC0415

    return choice(given.text, given.own_path)


def megabytes(given: Given) -> int:
    """Return a size in bytes."""
    return int(_above_0(given.text, "megabytes", given.text) * 1_000_000)


def _above_0(text: str, unit: str, shown: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise ValueError(f"a number of {unit} above 0 is expected, not {shown!r}")
    return found


def number(given: Given) -> int:
    """Return a whole number."""
    if not given.text.isdecimal():
        raise ValueError(f"a number is expected, not {given.text!r}")
    return int(given.text)


def rate(given: Given) -> float:
    """Return how many requests a second are sent at most."""
    try:
        found = float(given.text)
    except ValueError:
        found = 0.0
    if not found > 0:
        raise ValueError(f"a number over 0 is expected, not {given.text!r}")
    return found


def version(given: Given) -> str:
    """Return a version of this tool."""
    if not VERSION.fullmatch(given.text):
        raise ValueError(f"a version such as 0.1 is expected, not {given.text!r}")
    return given.text


def revisions(given: Given) -> tuple[str, ...]:
    """Return revisions to test, or ``("latest",)``."""
    if given.words in (("all",), ("latest",)):
        return known_revisions.KNOWN if given.words == ("all",) else given.words
    for word in given.words:
        if word not in known_revisions.KNOWN:
            known = ", ".join(("latest", "all", *known_revisions.KNOWN))
            raise ValueError(f"unknown revision {word!r}; known are {known}")
    return tuple(dict.fromkeys(given.words))


# Rules, tools and clients ------------------------------------------------------------------------


def selection(given: Given) -> tuple[tuple[frozenset[str], str], ...]:
    """Return sets of ids of requirements, each with a tool's name or an empty string."""
    return tuple(_selected(text) for each in given.texts for text in SELECTION.findall(each))


def _selected(text: str) -> tuple[frozenset[str], str]:
    from mcp_conformance.requirements.catalogue import OWN  # noqa: PLC0415
    from mcp_conformance.requirements.checks import checked  # noqa: PLC0415

    pattern, bracket, tool = text.partition("[")
    found = _ids(pattern)
    if not any(id in checked() or id.startswith(f"{OWN}.") for id in found):
        raise ValueError(f"no check covers {pattern!r} yet")
    return found, tool.removesuffix("]") if bracket else ""


def ids(given: Given) -> frozenset[str]:
    """Return ids of requirements."""
    return frozenset(id for word in given.words for id in _ids(word))


def _ids(pattern: str) -> frozenset[str]:
    from mcp_conformance.requirements import catalogue  # noqa: PLC0415

    try:
        return catalogue.select(pattern)
    except catalogue.UnknownRequirement as error:
        raise ValueError(str(error)) from error


def words(given: Given) -> tuple[str, ...]:
    """Return the words in the texts."""
    return given.words


def above_0(given: Given) -> int:
    """Return a whole number of at least 1."""
    if not number(given):
        raise ValueError("a number of at least 1 is expected")
    return number(given)


def required_exercise(given: Given) -> RequiredExercise:
    """Return how many tools must be exercised."""
    from mcp_conformance.report.exercise import RequiredExercise  # noqa: PLC0415

    return RequiredExercise.of(given.text)


def callable_tools(given: Given) -> tuple[str, ...]:
    """Return patterns of tools that may be called; without ``none``, read-only tools are among them."""
    others = tuple(word for word in given.words if word != "none")
    return others if "none" in given.words else ("readonly", *others)


def samples(given: Given) -> tuple[Sample, ...]:
    """Return tool calls: names of tools with their arguments."""
    return tuple(map(_sample, given.texts))


def sample(given: Given) -> Sample:
    """Return a tool call: the name of a tool and its arguments."""
    return _sample(given.text)


def _sample(text: str) -> Sample:
    from mcp_conformance.target.settings import Sample  # noqa: PLC0415

    tool, _, arguments = text.strip().partition(" ")
    made = json_value(arguments or "{}")
    if not isinstance(made, dict):
        raise ValueError(f"arguments are a JSON object, not {arguments!r}")  # noqa: TRY004
    return Sample(tool, made)


def tool_limits(given: Given) -> tuple[ToolLimits, ...]:
    """Return limits of tools: the pattern of a name, and pairs of a limit and its value."""
    return tuple(map(_tool_limits, given.texts))


def _tool_limits(text: str) -> ToolLimits:
    from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES  # noqa: PLC0415
    from mcp_conformance.target.tool_limits import ToolLimits  # noqa: PLC0415

    pattern, *pairs = text.split()
    found = dict(pair.partition("=")[::2] for pair in pairs)
    unknown = next((name for name in found if name not in TOOL_LIMITS), "")
    if unknown or not found:
        near = did_you_mean(unknown, TOOL_LIMITS)
        raise ValueError(f"{pattern}: {', '.join(TOOL_LIMITS)} can be limited, not {unknown!r}{near}")
    timeout, fuzz, calls = (
        Given(found[name], "") if name in found else None for name in ("timeout", "fuzz", "calls-per-tool")
    )
    return ToolLimits(
        pattern,
        seconds(timeout) if timeout else None,
        OneOf(FUZZ_EXAMPLES)(fuzz) if fuzz else None,
        number(calls) if calls else None,
    )


def budgets(given: Given) -> dict[str, float]:
    """Return limits, by the figure that each limits, in bytes and seconds."""
    from mcp_conformance.target.budgets import read_budgets  # noqa: PLC0415

    return read_budgets(list(given.texts))


def clients(given: Given) -> tuple[str, ...]:
    """Return names of clients."""
    from mcp_conformance.clients.limits import chosen  # noqa: PLC0415

    return chosen(list(given.words))


# Variables and headers ---------------------------------------------------------------------------


VARIABLE = re.compile(r"[A-Za-z_]\w*")


def variables(given: Given) -> dict[str, str]:
    """Return environment variables by name."""
    return dict(map(_variable, given.texts))


def _variable(text: str) -> tuple[str, str]:
    name, equals, content = text.partition("=")
    if not name or (not equals and name not in os.environ):
        shown = f", not {text!r}" if VARIABLE.fullmatch(text) else ""  # anything else may be a credential
        raise ValueError(f"NAME=VALUE, or the name of a variable set here{shown}")
    return name, content if equals else os.environ[name]


def variables_in_file(given: Given) -> dict[str, str]:
    """Return the environment variables in a file."""
    from mcp_conformance.project.env_file import read_env_file  # noqa: PLC0415

    return read_env_file(given.own_path(given.text))


def headers(given: Given) -> tuple[tuple[bytes, bytes], ...]:
    """Return HTTP headers."""
    from mcp_conformance.transport.http.headers import header_of  # noqa: PLC0415

    return tuple(map(header_of, given.texts))


def headers_in_variables(given: Given) -> tuple[tuple[bytes, bytes], ...]:
    """Return HTTP headers whose values, or all of them, are in environment variables."""
    from mcp_conformance.transport.http.headers import header_of  # noqa: PLC0415

    return tuple(header_of(text) for text in _from_variables(given.texts))


def origins(given: Given) -> tuple[str, ...]:
    """Return the origins of http and https URLs."""
    from mcp_conformance.transport.http.endpoint import Endpoint  # noqa: PLC0415

    return tuple(Endpoint.parse(text).origin for text in given.texts)


def _from_variables(texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts:
        name, equals, variable = text.rpartition("=")
        if variable not in os.environ:
            shown = f"variable {variable!r}" if VARIABLE.fullmatch(variable) else "variable of that name"
            raise ValueError(f"no {shown} is set here, to have the value of the header")
        yield f"{name}: {os.environ[variable]}" if equals else os.environ[variable]


# Files -------------------------------------------------------------------------------------------


def path(given: Given) -> Path:
    """Return a path."""
    return given.path(given.text)


def own_path(given: Given) -> Path:
    """Return a path of what a run writes."""
    return given.own_path(given.text)


def paths(given: Given) -> tuple[Path, ...]:
    """Return paths."""
    return tuple(map(given.path, given.texts))


def report_files(given: Given) -> tuple[Path, ...]:
    """Return paths of files for reports, whose names give the format."""
    from mcp_conformance.report.files import expect_formats  # noqa: PLC0415

    found = tuple(map(given.own_path, given.texts))
    expect_formats(found)
    return found


def existing_paths(given: Given) -> tuple[Path, ...]:
    """Return absolute paths of files and directories that exist."""
    found = tuple(one.absolute() for one in paths(given))
    missing = next((one for one in found if not one.exists()), None)
    if missing is not None:
        raise ValueError(f"no such file or directory: {missing}")
    return found


def directory(given: Given) -> Path:
    """Return the absolute path of a directory."""
    if not path(given).is_dir():
        raise ValueError(f"no such directory: {given.text}")
    return path(given).absolute()


def baseline(given: Given) -> Baseline:
    """Return the baseline in a file."""
    from mcp_conformance.report.baseline import read  # noqa: PLC0415

    return read(path(given), given.text)


def report(given: Given) -> Report:
    """Return the report in a JSON file."""
    from mcp_conformance.report.formats.json import read  # noqa: PLC0415

    return read_file(path(given), read)


def contract(given: Given) -> Contract | None:
    """Return the contract in a file; None for `NO_FILE`."""
    return contract_in(path(given), given.text) if given.text != NO_FILE else None


def contract_in(path: Path, name: str) -> Contract:
    """Return the contract in a file, which sentences call ``name``."""
    from mcp_conformance.target.contract import from_text  # noqa: PLC0415

    return read_file(path, lambda text: from_text(text, name))


def sessions(given: Given) -> tuple[Recorded, ...]:
    """Return the recorded sessions in files and folders."""
    from mcp_conformance.tap.sessions import read_sessions  # noqa: PLC0415

    return tuple(read_sessions(map(given.own_path, given.texts)))


def database(given: Given) -> ExampleDatabase:
    """Return the database of values that failed before, at a URL or in a folder."""
    from mcp_conformance.fuzzing.databases import REDIS, database_at  # noqa: PLC0415  (loads Hypothesis)

    return database_at(given.text if given.text.startswith(REDIS) else str(own_path(given)))
