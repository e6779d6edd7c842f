"""Detection of a Python project."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_conformance.project.files import MAX_FILE_BYTES, as_string, as_table, read_ini, read_text, read_toml
from mcp_conformance.project.model import MCP, CommandGuess, Project, SetupStep, distinct, ranked
from mcp_conformance.transport.files import regular_bytes

SERVER_IMPORT = re.compile(r"^\s*(?:from|import)\s+(?:mcp|fastmcp)\b", re.MULTILINE)
MAIN_BLOCK = re.compile(r"""__name__\s*==\s*["']__main__["']""")
MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
VENV_FIRST = 'echo "$PWD/.venv/bin" >> "$GITHUB_PATH"'
MIN_PYTHON_MINOR = 11
"""The minor version of the oldest Python 3 that this package runs on."""


def detect_python(folder: Path) -> Project | None:
    """Return the Python project in a folder; None if there is none."""
    manifest = next((name for name in MANIFESTS if (folder / name).is_file()), "")
    about = read_toml(folder / "pyproject.toml")
    guesses = distinct([*_scripts(folder, about), *_modules(folder, about), *_programs(folder)])
    if not manifest and not guesses:
        return None
    manager = _manager(folder, about)
    return Project(
        "Python",
        manifest,
        guesses,
        (
            *_setup_steps(folder, about, manager),
            *(SetupStep(run) for run in _install_commands(folder, manager)),
        ),
        install=_install_ours(folder, about, manager),
        prefix=() if manager == "pip" else (manager, "run"),
        names_mcp=bool(MCP.search(read_text(folder / manifest))) if manifest else True,
    )


def _manager(folder: Path, about: Mapping[str, Any]) -> str:
    tools = as_table(about, "tool")
    if (folder / "uv.lock").exists() or "uv" in tools:
        return "uv"
    return "poetry" if (folder / "poetry.lock").exists() or "poetry" in tools else "pip"


def _is_installed(folder: Path, about: Mapping[str, Any]) -> bool:
    """Return whether installing the dependencies installs the project; uv skips one without a build."""
    packaged = as_table(about, "tool", "uv").get("package")
    return _manager(folder, about) != "uv" or bool(about.get("build-system") or packaged)


def _scripts(folder: Path, about: Mapping[str, Any]) -> Iterator[CommandGuess]:
    name = as_string(as_table(about, "project").get("name")) or as_string(
        as_table(about, "tool", "poetry").get("name")
    )
    if _is_installed(folder, about):
        for where in (("project", "scripts"), ("tool", "poetry", "scripts")):
            for script in ranked(as_table(about, *where), name):
                yield CommandGuess((script,), f"[{'.'.join(where)}] in pyproject.toml")
    lines = _setup_cfg_scripts(folder)
    for script in ranked((line.partition("=")[0].strip() for line in lines), name):
        yield CommandGuess((script,), "console_scripts in setup.cfg")


def _setup_cfg_scripts(folder: Path) -> list[str]:
    text = read_ini(folder / "setup.cfg").get("options.entry_points", "console_scripts", fallback="") or ""
    return [line for line in text.splitlines() if "=" in line]


def _modules(folder: Path, about: Mapping[str, Any]) -> Iterator[CommandGuess]:
    """Yield the packages that run with ``python -m``."""
    places = (folder, folder / "src") if _is_installed(folder, about) else (folder,)
    found = {one.parent.name: one for place in places for one in sorted(place.glob("*/__main__.py"))}
    for name in ranked((name for name in found if name.isidentifier() and name != "tests"), ""):
        yield CommandGuess(("python", "-m", name), found[name].relative_to(folder).as_posix())


def _programs(folder: Path) -> Iterator[CommandGuess]:
    """Yield the files that import an SDK and have a main block."""
    for path in sorted((*folder.glob("*.py"), *folder.glob("src/*.py")), key=_unlikely):
        text = (regular_bytes(path, MAX_FILE_BYTES) or b"").decode(errors="replace")
        if SERVER_IMPORT.search(text) and MAIN_BLOCK.search(text):
            name = path.relative_to(folder).as_posix()
            yield CommandGuess(("python", name), f"{name}, which imports an MCP SDK and has a main block")


def _unlikely(path: Path) -> tuple[bool, bool]:
    return "server" not in path.stem, path.stem not in ("main", "app", "__main__")


def _setup_steps(folder: Path, about: Mapping[str, Any], manager: str) -> Iterator[SetupStep]:
    if manager == "uv":
        yield SetupStep(uses="astral-sh/setup-uv@v7")
        return
    version = {"python-version": '"3.13"'}
    if (folder / ".python-version").is_file():
        version = {"python-version-file": ".python-version"}
    elif as_table(about, "project").get("requires-python"):
        version = {"python-version-file": "pyproject.toml"}
    yield SetupStep(uses="actions/setup-python@v6", options=version)


def _install_commands(folder: Path, manager: str) -> tuple[str, ...]:
    if manager == "uv":
        return ("uv sync", VENV_FIRST)
    if manager == "poetry":
        return ("pipx install poetry", "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install", VENV_FIRST)
    what = _pip_target(folder)
    return (f"pip install {what}",) if what else ()


def _pip_target(folder: Path) -> str:
    about = read_toml(folder / "pyproject.toml")
    if "project" in about or "build-system" in about or (folder / "setup.py").is_file():
        return "."
    if read_ini(folder / "setup.cfg").has_section("metadata"):
        return "."
    return "-r requirements.txt" if (folder / "requirements.txt").is_file() else ""


def _install_ours(folder: Path, about: Mapping[str, Any], manager: str) -> str:
    """Return the command that installs this package beside the project, not on too old a Python."""
    least = re.search(r">=?\s*3\.(\d+)", as_string(as_table(about, "project").get("requires-python")))
    is_old = least is not None and int(least[1]) < MIN_PYTHON_MINOR
    name = "pytest-mcp-conformance"
    if manager == "uv":
        marked = f"\"{name}; python_version >= '3.{MIN_PYTHON_MINOR}'\"" if is_old else name
        return f"uv add --dev {marked}"
    if manager == "poetry":
        return f'poetry add --group dev {name} --python ">=3.{MIN_PYTHON_MINOR}"'
    what = _pip_target(folder)
    return f"pip install {'-e ' if what == '.' else ''}{what}{' ' if what else ''}{name}"
