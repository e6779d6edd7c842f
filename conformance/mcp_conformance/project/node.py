"""Detection of a Node project: JavaScript or TypeScript, with npm, pnpm, yarn or bun."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp_conformance.project.files import as_string, as_table, read_json, read_text, repository_root
from mcp_conformance.project.model import MCP, CommandGuess, Project, SetupStep, distinct, ranked

SHELL_CHARACTERS = re.compile(r"[&|;<>$`*?(){}=\n\\]")
"""Characters that need a shell to run a line of ``scripts``."""
RUNNER_PREFIXES = {"node": (), "bun": (), "deno": (), "tsx": ("npx",), "ts-node": ("npx",)}
"""Programs that run a JavaScript or TypeScript file, with the words before them."""
LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
INSTALLS = {"npm": "npm ci", "pnpm": "pnpm install", "yarn": "yarn install", "bun": "bun install"}
COREPACK = "npm install -g corepack && corepack enable"
MAX_WORKSPACES_SHOWN = 10


def detect_node(folder: Path) -> Project | None:
    """Return the Node project in a folder; None if there is none."""
    if not (folder / "package.json").is_file():
        return None
    about = read_json(folder / "package.json")
    manager = _manager(folder, about)
    guesses = distinct([*_bins(about), *_start(about, manager), *_main(folder, about)])
    build = _build_commands(folder, about, manager, guesses)
    runs = (*_install_commands(manager), *build)
    needs_node = manager != "bun" or any(guess.command[0] in ("node", "npx") for guess in guesses[:1])
    return Project(
        "Node",
        "package.json",
        guesses,
        (
            *(
                [SetupStep(uses="actions/setup-node@v6", options=_version_option(folder))]
                if needs_node
                else []
            ),
            *([SetupStep(uses="oven-sh/setup-bun@v2")] if manager == "bun" else []),
            *(SetupStep(run) for run in runs),
        ),
        build,
        hint=_workspaces(folder, about),
        names_mcp=bool(MCP.search(read_text(folder / "package.json"))),
    )


def _manager(folder: Path, about: Mapping[str, Any]) -> str:
    named = as_string(about.get("packageManager")).partition("@")[0]
    above = repository_root(folder)
    places = [one for one in (folder, *folder.parents) if one.is_relative_to(above)]
    locks = [manager for place in places for lock, manager in LOCKS.items() if (place / lock).is_file()]
    return named if named in INSTALLS and named != "npm" else next(iter(locks), "")


def _install_commands(manager: str) -> tuple[str, ...]:
    install = INSTALLS.get(manager, "npm install")
    return (COREPACK, install) if manager in ("pnpm", "yarn") else (install,)


def _version_option(folder: Path) -> dict[str, str]:
    named = next((name for name in (".nvmrc", ".node-version") if (folder / name).is_file()), "")
    return {"node-version-file": named} if named else {"node-version": "lts/*"}


def _build_commands(
    folder: Path, about: Mapping[str, Any], manager: str, guesses: Sequence[CommandGuess]
) -> tuple[str, ...]:
    """Return the commands that build the JavaScript of the server."""
    if as_table(about, "scripts").get("build"):
        return (f"{manager or 'npm'} run build",)
    is_there = not guesses or any((folder / word).is_file() for word in guesses[0].command[1:])
    return () if is_there or not (folder / "tsconfig.json").is_file() else ("npx tsc",)


def _bins(about: Mapping[str, Any]) -> Iterator[CommandGuess]:
    named = about.get("bin")
    package = as_string(about.get("name")).rpartition("/")[2]
    files = {package: named} if isinstance(named, str) else as_table(named)
    for name in ranked((name for name in files if as_string(files[name])), package):
        yield CommandGuess(_run_command(files[name]), "bin in package.json")


def _run_command(file: str) -> tuple[str, ...]:
    """Return the command that runs a JavaScript or TypeScript file."""
    name = file.removeprefix("./")
    return ("npx", "tsx", name) if name.endswith((".ts", ".mts")) else ("node", name)


def _start(about: Mapping[str, Any], manager: str) -> Iterator[CommandGuess]:
    script = as_string(as_table(about, "scripts").get("start"))
    words = [] if SHELL_CHARACTERS.search(script) else _split(script)
    if words and words[0] in RUNNER_PREFIXES:
        yield CommandGuess((*RUNNER_PREFIXES[words[0]], *words), "scripts.start in package.json")
    elif script:
        silent = () if manager in ("yarn", "bun") else ("--silent",)
        yield CommandGuess((manager or "npm", "run", *silent, "start"), "scripts.start in package.json")


def _split(script: str) -> list[str]:
    try:
        return shlex.split(script)
    except ValueError:
        return []


def _main(folder: Path, about: Mapping[str, Any]) -> Iterator[CommandGuess]:
    if main := as_string(about.get("main")):
        yield CommandGuess(_run_command(main), "main in package.json")
    elif (folder / "index.js").is_file():
        yield CommandGuess(("node", "index.js"), "index.js")


def _workspaces(folder: Path, about: Mapping[str, Any]) -> str:
    """Return a hint that names the packages of a workspace; empty if there are none."""
    listed = about.get("workspaces")
    names = listed if isinstance(listed, list) else as_table(about, "workspaces").get("packages", [])
    places = [place for name in names if as_string(name) for place in sorted(folder.glob(name.strip("/!")))]
    found = [one.relative_to(folder).as_posix() for one in places if (one / "package.json").is_file()]
    shown = ", ".join([*found[:MAX_WORKSPACES_SHOWN], *(["..."] if found[MAX_WORKSPACES_SHOWN:] else [])])
    return f"package.json has no server, but workspaces: {shown}" if found else ""
