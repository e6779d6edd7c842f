"""``mcp-conformance init``: write the configuration and a CI workflow for a server's repository."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_conformance.project.detection import detect_projects
from mcp_conformance.project.files import (
    CONFIGURATION_FILE,
    CONFIGURATION_TABLE,
    PROJECT_FILE,
    as_table,
    read_toml,
    repository_root,
)
from mcp_conformance.project.model import CommandGuess, Project, SetupStep
from mcp_conformance.protocol.text import shell_line
from mcp_conformance.transport.http.server import PORT
from mcp_conformance.transport.writing import append, create

NAME = "mcp-conformance"
WORKFLOWS = Path(".github/workflows")
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]|\$\{\{")
"""Characters that a workflow's command cannot have: control characters, and GitHub's expressions."""
PROJECT_PROGRAMS = (
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "uv",
    "poetry",
    "pdm",
    "hatch",
    "cargo",
    "go",
    "make",
    "deno",
)
"""Programs that run only in the project's directory."""
PLAIN_SCALAR = re.compile(r"[A-Za-z][^:#]*")
"""Text that YAML takes without quotes."""
NO_STEPS = "      # Install and build the server here."
WORKFLOW = """\
# Written by `mcp-conformance init`, which never overwrites it: edit it freely.
name: MCP conformance

on:
  push:
    branches: [main, master]
  pull_request:

permissions:
  contents: read

jobs:
  conformance:
    runs-on: ubuntu-latest
    timeout-minutes: 30
{defaults}    steps:
      - uses: actions/checkout@v6
        with:
          persist-credentials: false
{steps}
      - run: pipx install "pytest-mcp-conformance{release}"
      # The server and its options are in {file}.
      # Only tools with readOnlyHint: true are called. To allow others: call = ["NAME"]
      # A tool that throws on valid arguments fails the run. To be told without that: fuzz-errors = "none"
      # To accept findings: mcp-conformance baseline update known.toml, and baseline = "known.toml"
      # If the server needs a key: env = ["API_KEY"], and here env: API_KEY: ${{{{ secrets.API_KEY }}}}
      - name: Run the suites
        run: >-
          mcp-conformance run --junitxml=reports/junit.xml
          --report reports/conformance.html --report reports/conformance.json
          --transcripts reports/transcripts
      - uses: actions/upload-artifact@v7
        if: ${{{{ !cancelled() }}}}
        with:
          name: {artifact}
          path: {reports}
"""


class InitError(Exception):
    """Nothing can be written yet; the message says in one line what the user has to add."""


@dataclass(frozen=True)
class StartCommand:
    """The command that starts the server, its origin, and the other guesses if it is a guess."""

    command: tuple[str, ...]
    origin: str
    is_guessed: bool = False
    others: tuple[CommandGuess, ...] = ()


@dataclass(frozen=True)
class Configured:
    """The configuration file of the repository, and the command of the server in it; none if it has none.

    ``url`` is that of a server which runs already, and ``http`` says that the command serves HTTP.
    """

    file: str
    exists: bool
    command: tuple[str, ...] = ()
    url: str = ""
    http: bool = False


@dataclass(frozen=True)
class FileChange:
    """The outcome for a file, with output lines: written, there already, or (neither) left for the user."""

    lines: list[str]
    is_written: bool = False
    is_there: bool = False


def initialise(folder: Path, command: Sequence[str] | None, version: str) -> Iterator[str]:
    """Write the missing files, and yield a line for each step.

    Raises `InitError` and `BadFile` before anything is written, and `OSError`.
    """
    found = detect_projects(folder)
    project = found[0] if found else Project("", "")
    config = _configured(folder, project)
    start = _start_command(folder, project, command, config)
    yield from _detected(found, start)
    changes = [
        _configure(folder, config, start.command, version),
        _write_workflow(folder, project, config.file, _release(config, start.command, version)),
    ]
    for change in changes:
        yield from change.lines
    if start.is_guessed and any(change.is_written for change in changes):
        yield "if the server starts in another way, or needs arguments such as `stdio`, edit it there"
    if all(change.is_there for change in changes):
        yield "nothing to write: all files are there already"
    yield f"arguments with which your tools work: {NAME} learn --write"
    yield f"next: {_next_command(folder, project)}"


# The server --------------------------------------------------------------------------------------


def _start_command(
    folder: Path, project: Project, command: Sequence[str] | None, config: Configured
) -> StartCommand:
    if command:
        _refuse_unwritable(command)
        return StartCommand(tuple(command), "from the command line")
    if config.url:
        return StartCommand((config.url,), f"the URL in {config.file}")
    if config.command:
        return StartCommand(config.command, f"from {config.file}")
    if not project.guesses:
        raise InitError(_no_guess(folder, project))
    first, *others = project.guesses
    _refuse_unwritable(first.command)
    return StartCommand(first.command, f"guessed from {first.origin}", True, tuple(others))


def _no_guess(folder: Path, project: Project) -> str:
    wanted = f"give the command that starts the server: {NAME} init -- COMMAND [ARGUMENTS ...]"
    if not project.language:
        return f"no project was found in {folder}; {wanted}"
    reason = project.hint or f"{project.manifest} names no program that may be the server"
    instead = f"name the server's own folder ({NAME} init DIR), or " if project.hint else ""
    return f"{reason}; {instead}{wanted}"


def _refuse_unwritable(command: Sequence[str]) -> None:
    odd = next((word for word in command if UNWRITABLE.search(word)), None)
    if odd is not None:
        raise InitError(f"a workflow cannot contain {odd!r}; put the command in a script and name that")


def _detected(found: Sequence[Project], start: StartCommand) -> Iterator[str]:
    names = [f"{one.language} ({one.manifest})" if one.manifest else one.language for one in found]
    if names:
        besides = f"; ignored: {', '.join(names[1:])}" if names[1:] else ""
        yield f"found: {names[0]}{besides}"
    else:
        yield "found: no pyproject.toml, package.json, go.mod or Cargo.toml"
    yield f"server: {shell_line(start.command)}   ({start.origin})"
    for other in start.others[:3]:
        yield f"    or: {shell_line(other.command)}   ({other.origin})"


# The configuration -------------------------------------------------------------------------------


def _configured(folder: Path, project: Project) -> Configured:
    """Return the configuration file that is there, or the one to write."""
    own = (folder / CONFIGURATION_FILE).is_file()
    is_python = project.language == "Python" and (folder / PROJECT_FILE).is_file()
    about = read_toml(folder / CONFIGURATION_FILE) if own else _table(folder)
    file = PROJECT_FILE if not own and (is_python or about is not None) else CONFIGURATION_FILE
    if about is None:
        return Configured(file, exists=False)
    if "servers" in about:
        raise InitError(f"{file} lists several servers: let a workflow run {NAME} run --all")
    command = about.get("command", ())
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    url = str(about.get("url", ""))
    return Configured(file, exists=True, command=tuple(words), url=url, http=about.get("http") is True)


def _table(folder: Path) -> dict[str, Any] | None:
    """Return the table of pyproject.toml with our configuration; None if there is none."""
    tools = as_table(read_toml(folder / PROJECT_FILE), "tool")
    return as_table(tools, CONFIGURATION_TABLE) if CONFIGURATION_TABLE in tools else None


def _configure(folder: Path, config: Configured, command: Sequence[str], version: str) -> FileChange:
    """Write the command of the server to the configuration if that is safe."""
    if config.url and command == (config.url,):
        return FileChange([f"there already: the URL in {config.file}"], is_there=True)
    lines = [f"command = {json.dumps(list(command), ensure_ascii=False)}"]
    if _serves_http(command):
        lines.append("http = true")
    if command[0] in PROJECT_PROGRAMS:
        lines.append('cwd = "."')
    if version:
        release = ".".join(version.split(".")[:2])
        lines.append(f'rules = "{release}"  # findings of newer rules are reported, and do not fail')
    if config.exists and config.command == tuple(command):
        return FileChange([f"there already: the command in {config.file}"], is_there=True)
    if config.exists:
        left = f"left as it is: {config.file} has another command, or none; it needs:"
        return FileChange([left, *_indented(lines)])
    table = [f"[tool.{CONFIGURATION_TABLE}]"] if config.file == PROJECT_FILE else []
    if _append(folder / config.file, [*table, *lines]):
        return FileChange([f"wrote {config.file}:", *_indented([*table, *lines])], is_written=True)
    by_hand = f"left as it is: {config.file}; add this to its [tool.{CONFIGURATION_TABLE}] by hand:"
    return FileChange([by_hand, *_indented(lines)])


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _append(path: Path, lines: Sequence[str]) -> bool:
    """Append a section to a file; return False, without a change, if that would alter the rest."""
    before = path.read_bytes() if path.is_file() else b""
    end = "\r\n" if b"\r\n" in before else "\n"
    text = "".join(f"{line}{end}" for line in lines)
    gap = "" if not before else end if before.endswith(b"\n") else end * 2
    addition = f"{gap}{text}"
    if path.suffix == ".toml" and not _keeps_both(before, addition.encode()):
        return False
    append(path, addition)
    return True


def _keeps_both(before: bytes, addition: bytes) -> bool:
    """Return whether a TOML file with an addition holds exactly the content of both."""
    try:
        old, new, both = (
            tomllib.loads(text.decode("utf-8-sig")) for text in (before, addition, before + addition)
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False
    return bool(both == _merged(old, new))


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merged(old[key], value) if key in old else value for key, value in new.items()}}


# The workflow ------------------------------------------------------------------------------------


def _workflow_path(folder: Path) -> Path:
    inside = folder.relative_to(repository_root(folder))
    suffix = "".join(f"-{part}" for part in inside.parts)
    return repository_root(folder) / WORKFLOWS / f"{NAME}{re.sub(r'[^A-Za-z0-9_.-]', '-', suffix)}.yml"


def _serves_http(command: Sequence[str]) -> bool:
    return any(PORT in word for word in command)


def _release(config: Configured, command: Sequence[str], version: str) -> str:
    """Return the extra that the server needs, and the version to install."""
    extra = "[http]" if config.url or config.http or _serves_http(command) else ""
    return extra + (f"~={version}" if re.fullmatch(r"\d+\.\d+\.\d+", version) else "")


def _write_workflow(folder: Path, project: Project, file: str, release: str) -> FileChange:
    """Write the workflow unless there is one."""
    path = _workflow_path(folder)
    shown = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
    text = _workflow(folder, project, file, release)
    if not path.exists():
        with create(path) as opened:
            opened.write(text)
        return FileChange([f"wrote {shown}"], is_written=True)
    there = path.read_text(encoding="utf-8", errors="replace")
    if f"{NAME} run" in there:
        return FileChange([f"there already: {shown}"], is_there=True)
    left = f"left as it is: {shown}, which does not run {NAME}; this would:"
    return FileChange([left, *_indented(text.splitlines())])


def _workflow(folder: Path, project: Project, file: str, release: str) -> str:
    inside = folder.relative_to(repository_root(folder)).as_posix()
    prefix = "" if inside == "." else f"{inside}/"
    defaults = f"    defaults:\n      run:\n        working-directory: {_scalar(inside)}\n" if prefix else ""
    return WORKFLOW.format(
        defaults=defaults,
        steps="\n".join(_step(step, prefix) for step in project.steps) or NO_STEPS,
        release=release,
        file=file,
        artifact=_workflow_path(folder).stem,
        reports=_scalar(f"{prefix}reports/"),
    )


def _step(step: SetupStep, prefix: str) -> str:
    if step.run:
        return f"      - run: {_scalar(step.run)}"
    options = {
        name: _scalar(f"{prefix}{value}") if name.endswith("-file") else value
        for name, value in step.options.items()
    }
    lines = [f"      - uses: {step.uses}", *(["        with:"] if options else [])]
    return "\n".join([*lines, *(f"          {name}: {value}" for name, value in options.items())])


def _scalar(text: str) -> str:
    """Return a text as a YAML scalar."""
    return (
        text if PLAIN_SCALAR.fullmatch(text) and text == text.strip() else "'" + text.replace("'", "''") + "'"
    )


# What to do next ---------------------------------------------------------------------------------


def _next_command(folder: Path, project: Project) -> str:
    """Return the command to run next."""
    where = "" if folder == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    if project.language == "Python":
        return f"{where}{project.install} && {shell_line([*project.prefix, 'pytest', '--conformance'])}"
    return where + " && ".join([*project.build, f"{NAME} run"])
