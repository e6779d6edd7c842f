"""What the user chose with the options of the plugin, and the settings made of it."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_conformance.plugin.configuration import COMMAND
from mcp_conformance.plugin.option_values import configuration, configured, path_of, server_text, value
from mcp_conformance.plugin.sandbox_options import sandbox
from mcp_conformance.project.env_file import BadEnvFile, read_env_file
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import checked

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

    from mcp_conformance.report.baseline import Baseline
    from mcp_conformance.report.model import Report
    from mcp_conformance.target.contract import Contract
    from mcp_conformance.target.settings import Sample, Settings


LEFT_OUT = pytest.StashKey[frozenset[str]]()
VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)*")
SELECTION = re.compile(r"[^,\s\[]+(?:\[[^\]]*\])?")


def reports(config: pytest.Config) -> list[Path]:
    """Return the files to write reports to."""
    return [path_of(config, "report", text) for text in value(config, "report")]


def validate(config: pytest.Config) -> None:
    """Read every option once.  Raises `pytest.UsageError` with one line for the first error."""
    chosen = settings(config)
    if chosen.http is None or not chosen.http.url:
        _expect_program(config, chosen)
    wanted_revisions(config)
    selected(config)
    left_out(config)
    baseline(config)
    earlier_report(config)
    tool_bugs_fail(config)
    sdk_findings_fail(config)
    output_format(config)
    rules_as_of(config)
    budgets(config)
    clients(config)
    contract(config)


def _expect_program(config: pytest.Config, chosen: Settings) -> None:
    """Raise `pytest.UsageError` if the first word of the command is not a program."""
    program = chosen.command[0]
    if shutil.which(program, path=chosen.env.get("PATH")) is None and not _is_program(chosen, program):
        what = f"no such program, or not executable: {program}{_similar_server(config)}"
        raise pytest.UsageError(
            f"--conformance-server: {what} (mcp-conformance doctor -- COMMAND finds out more)"
        )


def _similar_server(config: pytest.Config) -> str:
    """Return the configured server that the user may mean, as a question; empty if there is none."""
    file = configuration(config)
    return did_you_mean(server_text(config), file.servers) if file is not None else ""


def severities(config: pytest.Config) -> dict[str, bool]:
    """Return what the user chose about `mcp_conformance.verdicts.outcome_of`."""
    strict, pedantic = bool(value(config, "strict")), bool(value(config, "pedantic"))
    return {"strict": strict, "pedantic": pedantic, "tool_bugs_fail": tool_bugs_fail(config)}


def tool_bugs_fail(config: pytest.Config) -> bool:
    """Return whether mistakes in tools that break no rule fail (``--fuzz-errors``)."""
    return _choice(config, "fuzz-errors", ("inform", "fail")) == "fail"


def sdk_findings_fail(config: pytest.Config) -> bool:
    """Return whether findings that are due to the SDK count like others (``--sdk-findings``)."""
    return _choice(config, "sdk-findings", ("report", "fail")) == "fail"


def rules_as_of(config: pytest.Config) -> str:
    """Return the version of this tool whose rules count; empty if all do.  Raises `pytest.UsageError`."""
    text = str(value(config, "rules-as-of") or "")
    if text and not VERSION.fullmatch(text):
        raise pytest.UsageError(f"--conformance-rules-as-of: a version such as 0.1 is expected, not {text!r}")
    return text


def output_format(config: pytest.Config) -> str:
    """Return what is printed at the end (``--output-format``)."""
    return _choice(config, "output-format", ("full", "concise", "json", "github"))


def _choice(config: pytest.Config, name: str, words: Sequence[str]) -> str:
    """Return the word that the user chose, else the first.  Raises `pytest.UsageError` for another one."""
    chosen = str(value(config, name) or words[0])
    if chosen not in words:
        listed = f"{', '.join(words[:-1])} or {words[-1]}"
        near = did_you_mean(chosen, words)
        raise pytest.UsageError(f"--conformance-{name}: {listed} is expected, not {chosen!r}{near}")
    return chosen


def _is_program(chosen: Settings, program: str) -> bool:
    return chosen.cwd is not None and (chosen.cwd / program).is_file()


def settings(config: pytest.Config) -> Settings:
    """Return the settings of the server under test.  Raises `pytest.UsageError`."""
    from mcp_conformance.plugin.http_options import http_server, is_remote  # noqa: PLC0415
    from mcp_conformance.target.settings import MAX_TOOLS, Settings  # noqa: PLC0415  (loads jsonschema, which a run without a server does not need)

    command = _command(config)
    return Settings(
        command=command,
        env={**_variables(config), **dict(_pair(text) for text in value(config, "env"))},
        cwd=_directory(config),
        inherit_home=bool(value(config, "inherit-home")),
        timeout=_amount(config, "timeout", 30.0),
        start_timeout=_amount(config, "start-timeout", 30.0),
        call=_callable(_words(value(config, "call")) or (["none"] if is_remote(config) else [])),
        failing_call=_sample(config, "failing-call"),
        mutating_call=_sample(config, "mutating-call"),
        samples=tuple(_sample_in(text, "example") for text in value(config, "example")),
        transcripts=Path(value(config, "transcripts") or ".mcp-conformance"),
        seed=_number(config, "seed", 0),
        max_line=int(_amount(config, "max-line", 16.0) * 1_000_000),
        max_time=_amount(config, "max-time", 3600.0),
        time=_amount(config, "time", math.inf),
        calls_per_tool=_number(config, "calls-per-tool", 0),
        max_tools=_number(config, "max-tools", MAX_TOOLS),
        examples=_examples(config),
        budgets=budgets(config),
        clients=clients(config),
        http=http_server(config, command),
        database=_database(config),
        sandbox=sandbox(config),
        surroundings=bool(value(config, "surroundings")),
    )


def _database(config: pytest.Config) -> ExampleDatabase | None:
    """Return the database of values that failed before, if one is named.  Raises `pytest.UsageError`."""
    from mcp_conformance.fuzzing.databases import REDIS, BadDatabase, database_at  # noqa: PLC0415  (loads Hypothesis)

    address = str(value(config, "database") or "")
    if not address.startswith(REDIS):
        address = address and str(path_of(config, "database", address))
    try:
        return database_at(address) if address else None
    except BadDatabase as error:
        raise pytest.UsageError(f"--conformance-database: {error}") from error


def _command(config: pytest.Config) -> tuple[str, ...]:
    """Return the words of the server's command, or its URL.  Raises `pytest.UsageError`."""
    if url := value(config, "url"):
        return (str(url),)
    text = configured(config).get(COMMAND) or server_text(config)
    if text.lstrip().startswith("["):
        words = _json(text, "--conformance-server")
        if not words or not all(isinstance(word, str) for word in words):
            raise pytest.UsageError("--conformance-server: a JSON array of words is expected")
        return tuple(words)
    try:
        words = shlex.split(text, posix=os.name == "posix")
    except ValueError as error:
        raise pytest.UsageError(f"--conformance-server: {error} in {text!r}") from error
    if not words:
        raise pytest.UsageError("--conformance-server: a command is expected")
    return tuple(word.strip('"') if os.name != "posix" else word for word in words)


def _json(text: str, flag: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise pytest.UsageError(f"{flag}: not JSON: {error} in {text!r}") from error


def _pair(text: str) -> tuple[str, str]:
    name, equals, content = text.partition("=")
    if not name or (not equals and name not in os.environ):
        raise pytest.UsageError(
            f"--conformance-env: NAME=VALUE, or the name of a variable set here, not {text!r}"
        )
    return name, content if equals else os.environ[name]


def _variables(config: pytest.Config) -> dict[str, str]:
    """Return the variables in the file of ``--env-file``.  Raises `pytest.UsageError`."""
    text = value(config, "env-file")
    if not text:
        return {}
    try:
        return read_env_file(path_of(config, "env-file", text))
    except BadEnvFile as error:
        raise pytest.UsageError(f"--conformance-env-file: {error}") from None


def _directory(config: pytest.Config) -> Path | None:
    text = value(config, "cwd")
    if not text:
        return None
    path = path_of(config, "cwd", text)
    if not path.is_dir():
        raise pytest.UsageError(f"--conformance-cwd: no such directory: {text}")
    return path.absolute()


def _amount(config: pytest.Config, name: str, default: float) -> float:
    text = value(config, name)
    if not text:
        return default
    try:
        seconds = float(text if name == "max-line" else text.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        what = "megabytes" if name == "max-line" else "seconds"
        raise pytest.UsageError(f"--conformance-{name}: a number of {what} above 0 is expected, not {text!r}")
    return seconds


def _number(config: pytest.Config, name: str, default: int) -> int:
    text = str(value(config, name) or default)
    if not text.isdecimal():
        raise pytest.UsageError(f"--conformance-{name}: a number is expected, not {text!r}")
    return int(text)


def _examples(config: pytest.Config) -> int:
    from mcp_conformance.target.settings import FUZZ_EXAMPLES  # noqa: PLC0415

    return FUZZ_EXAMPLES[
        _choice(config, "fuzz", ("quick", *(one for one in FUZZ_EXAMPLES if one != "quick")))
    ]


def _words(texts: list[str]) -> list[str]:
    return [word for text in texts for word in text.replace(",", " ").split()]


def _callable(words: list[str]) -> tuple[str, ...]:
    """Return the patterns of tools that may be called; without ``none``, read-only tools are among them."""
    return tuple(word for word in words if word != "none") if "none" in words else ("readonly", *words)


def _sample(config: pytest.Config, name: str) -> Sample | None:
    text = value(config, name)
    return _sample_in(text, name) if text else None


def _sample_in(text: str, name: str) -> Sample:
    from mcp_conformance.target.settings import Sample  # noqa: PLC0415

    tool, _, arguments = text.strip().partition(" ")
    made = _json(arguments or "{}", f"--conformance-{name}")
    if not isinstance(made, dict):
        raise pytest.UsageError(f"--conformance-{name}: arguments are a JSON object, not {arguments!r}")
    return Sample(tool, made)


def wanted_revisions(config: pytest.Config) -> tuple[str, ...]:
    """Return the revisions to test, or ``("latest",)``.  Raises `pytest.UsageError`."""
    words = tuple(_words([value(config, "revision") or "latest"]))
    if words == ("all",):
        return revisions.KNOWN
    if words == ("latest",):
        return words
    for word in words:
        if word not in revisions.KNOWN:
            known = ", ".join(("latest", "all", *revisions.KNOWN))
            raise pytest.UsageError(f"--conformance-revision: unknown revision {word!r}; known are {known}")
    return tuple(dict.fromkeys(words))


def baseline(config: pytest.Config) -> Baseline | None:
    """Return the baseline, if a file is given.  Raises `pytest.UsageError`."""
    text = value(config, "baseline")
    if not text:
        return None
    from mcp_conformance.report.baseline import BadBaseline, read  # noqa: PLC0415

    try:
        return read(path_of(config, "baseline", text), text)
    except BadBaseline as error:
        raise pytest.UsageError(f"--conformance-baseline: {error}") from None


def contract(config: pytest.Config) -> Contract | None:
    """Return the contract of the server: the file given, else the one here.  Raises `pytest.UsageError`."""
    from mcp_conformance.target.contract import FILE, BadContract, from_text  # noqa: PLC0415

    text = value(config, "contract") or ""
    path = path_of(config, "contract", text) if text else Path(FILE)
    if text == "none" or not (text or (path.is_file() and not _is_one_of_several(config))):
        return None
    try:
        return from_text(path.read_text(encoding="utf-8"), str(text or path))
    except (OSError, UnicodeDecodeError, BadContract) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise pytest.UsageError(f"--conformance-contract: {path}: {reason}") from None


def _is_one_of_several(config: pytest.Config) -> bool:
    """Return whether the server is one of several configured ones: a file that names none is not its own."""
    file = configuration(config)
    return file is not None and len(file.servers) > 1 and bool(configured(config))


def budgets(config: pytest.Config) -> dict[str, float]:
    """Return the limit of each figure that the user limits (``--budget``).  Raises `pytest.UsageError`."""
    from mcp_conformance.target.budgets import BadBudget, read_budgets  # noqa: PLC0415  (slow to import)

    try:
        return read_budgets(value(config, "budget"))
    except BadBudget as error:
        raise pytest.UsageError(f"--conformance-budget: {error}") from None


def clients(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the clients that the user chooses (``--client``).  Raises `pytest.UsageError`."""
    from mcp_conformance.clients.limits import UnknownClient, chosen  # noqa: PLC0415  (slow to import)

    try:
        return chosen(_words(value(config, "client")))
    except UnknownClient as error:
        raise pytest.UsageError(f"--conformance-client: {error}") from None


def earlier_report(config: pytest.Config) -> Report | None:
    """Return the report of an earlier run, if a file is given.  Raises `pytest.UsageError`."""
    text = value(config, "since")
    if not text:
        return None
    from mcp_conformance.report.formats.json import BadReport, read  # noqa: PLC0415

    try:
        return read(path_of(config, "since", text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, BadReport) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise pytest.UsageError(f"--conformance-since: {text}: {reason}") from None


def selected(config: pytest.Config) -> list[tuple[frozenset[str], str]]:
    """Return what ``--conformance-select`` names: sets of ids, each with a tool's name or an empty string.

    Raises `pytest.UsageError` for an id the catalogue lacks and for one that no check covers.
    """
    return [_selection(text) for given in value(config, "select") for text in SELECTION.findall(given)]


def left_out(config: pytest.Config) -> frozenset[str]:
    """Return the ids that ``--skip`` names.  Raises `pytest.UsageError` for an unknown one."""
    if LEFT_OUT not in config.stash:
        try:
            ids = [id for text in _words(value(config, "skip")) for id in catalogue.select(text)]
        except catalogue.UnknownRequirement as error:
            raise pytest.UsageError(f"--conformance-skip: {error}") from error
        config.stash[LEFT_OUT] = frozenset(ids)
    return config.stash[LEFT_OUT]


def _selection(text: str) -> tuple[frozenset[str], str]:
    pattern, bracket, tool = text.partition("[")
    try:
        ids = catalogue.select(pattern)
    except catalogue.UnknownRequirement as error:
        raise pytest.UsageError(f"--conformance-select: {error}") from error
    if not any(id in checked() for id in ids):
        raise pytest.UsageError(f"--conformance-select: no check covers {pattern!r} yet")
    return ids, tool.removesuffix("]") if bracket else ""
