"""``mcp-conformance init``: pytest's configuration and a CI workflow for a server's repository."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.project.detection import Guess, Project, Step, projects, read_ini, read_toml, table, top

NAME = "mcp-conformance"
WORKFLOWS = Path(".github/workflows")
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]|\$\{\{")
"""What cannot stand in the command of a workflow: control characters, and GitHub's own expressions."""
IN_PLACE = ("npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "hatch", "cargo", "go", "make", "deno")
"""Programs that need the project around them."""
PLAIN = re.compile(r"[A-Za-z][^:#]*")
"""What may stand in YAML without quotes."""
INI_FILES = ("pytest.ini", ".pytest.ini")
TOML_FILES = ("pytest.toml", ".pytest.toml")
SECTIONS = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}
TABLE = "tool.pytest.ini_options"
INI_PLACE = ("pytest.ini", "pytest")
UNBUILT = "      # Install and build the server here."
WORKFLOW = """\
# Written by `mcp-conformance init`, which never overwrites it: change what you like.
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
      - run: pipx install "pytest-mcp-conformance{version}"
      # A tool is called only if it says readOnlyHint: true. To release others, add --call NAME.
      # Findings that stay for now: mcp-conformance baseline update known.toml; here, --baseline known.toml.
      # If the server needs a key: add --env API_KEY, and, below, env: API_KEY: ${{{{ secrets.API_KEY }}}}
      - name: Run the suites
        run: >-
          mcp-conformance run --junitxml=reports/junit.xml
          --report reports/conformance.html --report reports/conformance.json
          --transcripts reports/transcripts{in_place}
          -- {command}
      - uses: actions/upload-artifact@v7
        if: ${{{{ !cancelled() }}}}
        with:
          name: {artifact}
          path: {reports}
"""


class CannotTell(Exception):  # noqa: N818
    """What the user has to say before anything can be written, in one line."""


@dataclass(frozen=True)
class Start:
    """How the server starts: the command, what tells so, and what else it may be if that is guessed."""

    command: tuple[str, ...]
    origin: str
    is_guessed: bool = False
    others: tuple[Guess, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where pytest reads its configuration from: a file, and the section in it, if that ``exists``.

    ``server`` is the server that it names; empty if it names none.
    """

    file: str
    section: str
    exists: bool = True
    server: str = ""


@dataclass(frozen=True)
class Deed:
    """What became of a file, and what to tell of it; one that neither was there nor is written was left."""

    told: list[str]
    is_written: bool = False
    was_there: bool = False


def initialised(folder: Path, command: Sequence[str] | None, version: str) -> Iterator[str]:
    """Write what is missing; say what was done, line by line.

    Raises `CannotTell`, `Unreadable` and `OSError`, all of them before anything is written but the last.
    """
    found = projects(folder)
    project = found[0] if found else Project("", "")
    place = _place(folder) if project.language == "Python" else None
    start = _start(folder, project, command, place)
    yield from _recognised(found, start)
    deeds: list[Deed] = []
    if place is not None:
        deeds.append(_configure(folder, place, start.command))
        yield from deeds[-1].told
    deeds.append(_write_workflow(folder, project, start.command, version))
    yield from deeds[-1].told
    if start.is_guessed and any(deed.is_written for deed in deeds):
        yield "if it starts in another way, or wants arguments such as `stdio`, edit that there"
    if all(deed.was_there for deed in deeds):
        yield "nothing to write: everything is there"
    yield f"next: {_next(folder, project, start.command, place)}"


# The server --------------------------------------------------------------------------------------


def _start(folder: Path, project: Project, command: Sequence[str] | None, place: Place | None) -> Start:
    if command:
        _refuse_unwritable(command)
        return Start(tuple(command), "as you say")
    if place is not None and place.server:
        return Start(_words_of(place.server), f"mcp_server in {place.file}")
    if not project.guesses:
        raise CannotTell(_unknown(folder, project))
    first, *others = project.guesses
    _refuse_unwritable(first.command)
    return Start(first.command, f"guessed from {first.origin}", True, tuple(others))


def _unknown(folder: Path, project: Project) -> str:
    wanted = f"say how the server starts: {NAME} init -- COMMAND [ARGUMENTS ...]"
    if not project.language:
        return f"nothing in {folder} says which server it holds; {wanted}"
    reason = project.hint or f"{project.manifest} names no program that could be the server"
    instead = f"go into the server's own folder ({NAME} init DIR), or " if project.hint else ""
    return f"{reason}; {instead}{wanted}"


def _refuse_unwritable(command: Sequence[str]) -> None:
    odd = next((word for word in command if UNWRITABLE.search(word)), None)
    if odd is not None:
        raise CannotTell(f"{odd!r} cannot stand in a workflow; put the command in a script and name that")


def _words_of(server: str) -> tuple[str, ...]:
    """The words of a server that a configuration names."""
    try:
        words = json.loads(server) if server.lstrip().startswith("[") else shlex.split(server)
    except ValueError as error:
        raise CannotTell(f"mcp_server = {server!r} is no command: {error}") from error
    _refuse_unwritable(words)
    return tuple(words)


def _recognised(found: Sequence[Project], start: Start) -> Iterator[str]:
    names = [f"{one.language} ({one.manifest})" if one.manifest else one.language for one in found]
    if names:
        besides = f"; also here, and left alone: {', '.join(names[1:])}" if names[1:] else ""
        yield f"found: {names[0]}{besides}"
    else:
        yield "found: no pyproject.toml, package.json, go.mod or Cargo.toml"
    yield f"server: {shlex.join(start.command)}   ({start.origin})"
    for other in start.others[:3]:
        yield f"    or: {shlex.join(other.command)}   ({other.origin})"


# Pytest's configuration --------------------------------------------------------------------------


def _place(folder: Path) -> Place:
    """Where pytest reads its configuration from, in the order in which it looks."""
    found = (*_own_files(folder), *_in_pyproject(folder), *_in_others(folder))
    name, section = ("pyproject.toml", TABLE) if (folder / "pyproject.toml").is_file() else INI_PLACE
    return next(iter(found), Place(name, section, exists=False))


def _own_files(folder: Path) -> Iterator[Place]:
    """Files that hold nothing but pytest's configuration, which is there even if they are empty."""
    for name in TOML_FILES:
        if (folder / name).is_file():
            about = read_toml(folder / name)
            yield Place(name, "pytest", "pytest" in about, _server(about.get("pytest")))
    for name in INI_FILES:
        if (folder / name).is_file():
            yield _section(folder, name, "pytest")


def _in_pyproject(folder: Path) -> Iterator[Place]:
    found = table(read_toml(folder / "pyproject.toml"), "tool", "pytest")
    if native := {key: value for key, value in found.items() if key != "ini_options"}:
        yield Place("pyproject.toml", "tool.pytest", server=_server(native))
    if "ini_options" in found:
        yield Place("pyproject.toml", TABLE, server=_server(found["ini_options"]))


def _in_others(folder: Path) -> Iterator[Place]:
    places = (_section(folder, name, section) for name, section in SECTIONS.items())
    yield from (place for place in places if place.exists)


def _server(about: Any) -> str:
    return str(table(about).get("mcp_server", ""))


def _section(folder: Path, name: str, section: str) -> Place:
    parser = read_ini(folder / name)
    server = parser.get(section, "mcp_server", fallback="") or ""
    return Place(name, section, parser.has_section(section), server)


def _configure(folder: Path, place: Place, command: Sequence[str]) -> Deed:
    """Add the server to pytest's configuration if that is safe."""
    lines = _settings(place, command)
    if place.server:
        if _words_of(place.server) == tuple(command):
            return Deed([f"there already: mcp_server in {place.file}"], was_there=True)
        left = f"left as it is: {place.file} has another mcp_server, {place.server!r}; this would be it:"
        return Deed([left, *_shown(lines)])
    added = [f"[{place.section}]", *lines]
    if not place.exists and _added(folder / place.file, added):
        return Deed([f"wrote {place.file}:", *_shown(added)], is_written=True)
    by_hand = f"left as it is: {place.file}; add this to its [{place.section}] by hand:"
    return Deed([by_hand, *_shown(lines)])


def _settings(place: Place, command: Sequence[str]) -> list[str]:
    """The lines that name the server."""
    plain = shlex.join(command) == " ".join(command)
    server = " ".join(command) if plain else json.dumps(list(command), ensure_ascii=False)
    values = {"mcp_server": server, **({"mcp_cwd": "."} if command[0] in IN_PLACE else {})}
    quoted = place.file.endswith(".toml")
    return [
        f"{name} = {json.dumps(value, ensure_ascii=False) if quoted else value}"
        for name, value in values.items()
    ]


def _shown(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _added(path: Path, lines: Sequence[str]) -> bool:
    """Add a section at the end of a file; False, and nothing done, if the file would not mean the same."""
    before = path.read_bytes() if path.is_file() else b""
    end = "\r\n" if b"\r\n" in before else "\n"
    text = "".join(f"{line}{end}" for line in lines)
    gap = "" if not before else end if before.endswith(b"\n") else end * 2
    addition = f"{gap}{text}".encode()
    if path.suffix == ".toml" and not _means_both(before, addition):
        return False
    with path.open("ab") as file:
        file.write(addition)
    return True


def _means_both(before: bytes, addition: bytes) -> bool:
    """Whether a TOML file with an addition holds what both hold, in tables of their own."""
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
    inside = folder.relative_to(top(folder))
    suffix = "".join(f"-{part}" for part in inside.parts)
    return top(folder) / WORKFLOWS / f"{NAME}{re.sub(r'[^A-Za-z0-9_.-]', '-', suffix)}.yml"


def _write_workflow(folder: Path, project: Project, command: Sequence[str], version: str) -> Deed:
    """Write the workflow unless there is one."""
    path = _workflow_path(folder)
    shown = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
    text = _workflow(folder, project, command, version)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return Deed([f"wrote {shown}"], is_written=True)
    there = path.read_text(encoding="utf-8", errors="replace")
    if f"{NAME} run" in there:
        return Deed([f"there already: {shown}"], was_there=True)
    left = f"left as it is: {shown}, which does not run {NAME}; this would:"
    return Deed([left, *_shown(text.splitlines())])


def _workflow(folder: Path, project: Project, command: Sequence[str], version: str) -> str:
    inside = folder.relative_to(top(folder)).as_posix()
    prefix = "" if inside == "." else f"{inside}/"
    defaults = f"    defaults:\n      run:\n        working-directory: {_scalar(inside)}\n" if prefix else ""
    return WORKFLOW.format(
        defaults=defaults,
        steps="\n".join(_step(step, prefix) for step in project.steps) or UNBUILT,
        version=f"~={version}" if re.fullmatch(r"\d+\.\d+\.\d+", version) else "",
        in_place=" --cwd ." if command[0] in IN_PLACE else "",
        command=shlex.join(command),
        artifact=_workflow_path(folder).stem,
        reports=_scalar(f"{prefix}reports/"),
    )


def _step(step: Step, prefix: str) -> str:
    if step.run:
        return f"      - run: {_scalar(step.run)}"
    options = {
        name: _scalar(f"{prefix}{value}") if name.endswith("-file") else value
        for name, value in step.options.items()
    }
    lines = [f"      - uses: {step.uses}", *(["        with:"] if options else [])]
    return "\n".join([*lines, *(f"          {name}: {value}" for name, value in options.items())])


def _scalar(text: str) -> str:
    """A text as YAML."""
    return text if PLAIN.fullmatch(text) and text == text.strip() else "'" + text.replace("'", "''") + "'"


# What to do next ---------------------------------------------------------------------------------


def _next(folder: Path, project: Project, command: Sequence[str], place: Place | None) -> str:
    """The command to type next."""
    where = "" if folder == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    if place is not None:
        return f"{where}{project.install} && {shlex.join([*project.prefix, 'pytest'])}"
    in_place = ["--cwd", "."] if command[0] in IN_PLACE else []
    run = shlex.join([NAME, "run", *in_place, "--", *command])
    return where + " && ".join([*project.build, run])
