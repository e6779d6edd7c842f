"""Which server a repository holds: its language, the command that starts it, and what builds it."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MCP = re.compile(r"mcp|modelcontextprotocol", re.IGNORECASE)
PYTHON_SERVER = re.compile(r"^\s*(?:from|import)\s+(?:mcp|fastmcp)\b", re.MULTILINE)
PYTHON_MAIN = re.compile(r"""__name__\s*==\s*["']__main__["']""")
GO_MAIN = re.compile(r"^package main\b", re.MULTILINE)
GO_IGNORED = re.compile(r"^//go:build ignore\b", re.MULTILINE)
SHELL = re.compile(r"[&|;<>$`*?(){}=\n\\]")
"""What makes a line of ``scripts`` more than a program and its words."""
RUNNERS = {"node": (), "bun": (), "deno": (), "tsx": ("npx",), "ts-node": ("npx",)}
"""Programs that run a JavaScript or TypeScript file, with what finds them."""
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
VENV_FIRST = 'echo "$PWD/.venv/bin" >> "$GITHUB_PATH"'
PYTHON_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
SHOWN = 10
"""How many packages of a workspace are named."""
OLDEST_PYTHON = 11
"""The minor version of the oldest Python 3 that this package runs on."""


class Unreadable(Exception):  # noqa: N818
    """A file that describes a project cannot be read; the message says which, and why."""


@dataclass(frozen=True)
class Step:
    """What a CI machine does: a shell command, or an action with its options (as YAML)."""

    run: str = ""
    uses: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Guess:
    """A command that may start the server, and what tells so."""

    command: tuple[str, ...]
    origin: str


@dataclass(frozen=True)
class Project:
    """What a folder holds, in one language.

    ``guesses`` are the commands that may start its server, the likeliest first; ``steps`` prepare a CI
    machine for that; ``build`` are the commands that build the server where its dependencies are installed;
    ``install`` is the command that brings this package into it, and ``prefix`` what runs a program of it.
    ``hint`` says where the server may be, if there is no guess.
    """

    language: str
    manifest: str
    guesses: tuple[Guess, ...] = ()
    steps: tuple[Step, ...] = ()
    build: tuple[str, ...] = ()
    install: str = ""
    prefix: tuple[str, ...] = ()
    hint: str = ""
    names_mcp: bool = False


def projects(folder: Path) -> list[Project]:
    """What the folder holds, the likeliest to be an MCP server first.  Raises `Unreadable`."""
    found = [one for look in (_python, _node, _go, _rust) if (one := look(folder)) is not None]
    return sorted(found, key=lambda one: (not one.guesses, not one.names_mcp))


def top(folder: Path) -> Path:
    """The folder of the repository that a folder lies in; the folder itself if it lies in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


# Reading -----------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path.name}: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file; nothing if there is none.  Raises `Unreadable`."""
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"{path.name}: not TOML: {error}") from error


def read_ini(path: Path) -> configparser.RawConfigParser:
    """An INI file; nothing if there is none.  Raises `Unreadable`."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(_text(path))
    except configparser.Error as error:
        raise Unreadable(f"{path.name}: {str(error).splitlines()[0]}") from error
    return parser


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path) or "{}")
    except ValueError as error:
        raise Unreadable(f"{path.name}: not JSON: {error}") from error
    return table(found)


def table(value: Any, *names: str) -> dict[str, Any]:
    """The table in a table, by the names on the way; an empty one for what is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _ranked(names: Iterable[str], project: str) -> list[str]:
    """Names of programs, the likeliest to be the server first."""

    def unlikely(name: str) -> tuple[bool, bool, bool]:
        return "mcp" not in name.lower(), name != project, "server" not in name.lower()

    return sorted(names, key=unlikely)


def _distinct(guesses: Iterable[Guess]) -> tuple[Guess, ...]:
    """The guesses without those whose command an earlier one has."""
    first: dict[tuple[str, ...], Guess] = {}
    for guess in guesses:
        first.setdefault(guess.command, guess)
    return tuple(first.values())


def _folders(folder: Path) -> Iterator[Path]:
    hidden = (".", "_")
    yield from sorted(one for one in folder.glob("*/") if one.is_dir() and not one.name.startswith(hidden))


# Python ------------------------------------------------------------------------------------------


def _python(folder: Path) -> Project | None:
    manifest = next((name for name in PYTHON_MANIFESTS if (folder / name).is_file()), "")
    about = read_toml(folder / "pyproject.toml")
    guesses = _distinct([*_scripts(folder, about), *_modules(folder, about), *_programs(folder)])
    if not manifest and not guesses:
        return None
    manager = _python_manager(folder, about)
    return Project(
        "Python",
        manifest,
        guesses,
        (*_python_set_up(folder, about, manager), *(Step(run) for run in _python_builds(folder, manager))),
        install=_python_install(folder, about, manager),
        prefix=() if manager == "pip" else (manager, "run"),
        names_mcp=bool(MCP.search(_text(folder / manifest))) if manifest else True,
    )


def _python_manager(folder: Path, about: Mapping[str, Any]) -> str:
    tools = table(about, "tool")
    if (folder / "uv.lock").exists() or "uv" in tools:
        return "uv"
    return "poetry" if (folder / "poetry.lock").exists() or "poetry" in tools else "pip"


def _is_installed(folder: Path, about: Mapping[str, Any]) -> bool:
    """Whether the project itself is installed with its dependencies; uv leaves out what it cannot build."""
    packaged = table(about, "tool", "uv").get("package")
    return _python_manager(folder, about) != "uv" or bool(about.get("build-system") or packaged)


def _scripts(folder: Path, about: Mapping[str, Any]) -> Iterator[Guess]:
    name = _word(table(about, "project").get("name")) or _word(table(about, "tool", "poetry").get("name"))
    if _is_installed(folder, about):
        for where in (("project", "scripts"), ("tool", "poetry", "scripts")):
            for script in _ranked(table(about, *where), name):
                yield Guess((script,), f"[{'.'.join(where)}] in pyproject.toml")
    lines = _setup_cfg_scripts(folder)
    for script in _ranked((line.partition("=")[0].strip() for line in lines), name):
        yield Guess((script,), "console_scripts in setup.cfg")


def _setup_cfg_scripts(folder: Path) -> list[str]:
    text = read_ini(folder / "setup.cfg").get("options.entry_points", "console_scripts", fallback="") or ""
    return [line for line in text.splitlines() if "=" in line]


def _modules(folder: Path, about: Mapping[str, Any]) -> Iterator[Guess]:
    """Packages that can be run with ``python -m``."""
    places = (folder, folder / "src") if _is_installed(folder, about) else (folder,)
    found = {one.parent.name: one for place in places for one in sorted(place.glob("*/__main__.py"))}
    for name in _ranked((name for name in found if name.isidentifier() and name != "tests"), ""):
        yield Guess(("python", "-m", name), found[name].relative_to(folder).as_posix())


def _programs(folder: Path) -> Iterator[Guess]:
    """Files that import an SDK and can be run."""
    for path in sorted((*folder.glob("*.py"), *folder.glob("src/*.py")), key=_unlikely):
        text = path.read_text(encoding="utf-8", errors="replace")
        if PYTHON_SERVER.search(text) and PYTHON_MAIN.search(text):
            name = path.relative_to(folder).as_posix()
            yield Guess(("python", name), f"{name}, which imports an MCP SDK and can be run")


def _unlikely(path: Path) -> tuple[bool, bool]:
    return "server" not in path.stem, path.stem not in ("main", "app", "__main__")


def _python_set_up(folder: Path, about: Mapping[str, Any], manager: str) -> Iterator[Step]:
    if manager == "uv":
        yield Step(uses="astral-sh/setup-uv@v7")
        return
    version = {"python-version": '"3.13"'}
    if (folder / ".python-version").is_file():
        version = {"python-version-file": ".python-version"}
    elif table(about, "project").get("requires-python"):
        version = {"python-version-file": "pyproject.toml"}
    yield Step(uses="actions/setup-python@v6", options=version)


def _python_builds(folder: Path, manager: str) -> tuple[str, ...]:
    if manager == "uv":
        return ("uv sync", VENV_FIRST)
    if manager == "poetry":
        return ("pipx install poetry", "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install", VENV_FIRST)
    what = _pip_installs(folder)
    return (f"pip install {what}",) if what else ()


def _pip_installs(folder: Path) -> str:
    about = read_toml(folder / "pyproject.toml")
    if "project" in about or "build-system" in about or (folder / "setup.py").is_file():
        return "."
    if read_ini(folder / "setup.cfg").has_section("metadata"):
        return "."
    return "-r requirements.txt" if (folder / "requirements.txt").is_file() else ""


def _python_install(folder: Path, about: Mapping[str, Any], manager: str) -> str:
    """The command that installs this package beside the project; not on a Python that is too old for it."""
    least = re.search(r">=?\s*3\.(\d+)", _word(table(about, "project").get("requires-python")))
    is_old = least is not None and int(least[1]) < OLDEST_PYTHON
    name = "pytest-mcp-conformance"
    if manager == "uv":
        marked = f"\"{name}; python_version >= '3.{OLDEST_PYTHON}'\"" if is_old else name
        return f"uv add --dev {marked}"
    if manager == "poetry":
        return f'poetry add --group dev {name} --python ">=3.{OLDEST_PYTHON}"'
    what = _pip_installs(folder)
    return f"pip install {'-e ' if what == '.' else ''}{what}{' ' if what else ''}{name}"


# Node --------------------------------------------------------------------------------------------


def _node(folder: Path) -> Project | None:
    if not (folder / "package.json").is_file():
        return None
    about = _json(folder / "package.json")
    manager = _node_manager(folder, about)
    guesses = _distinct([*_bins(about), *_start(about, manager), *_main(folder, about)])
    build = _node_build(folder, about, manager, guesses)
    runs = (*_node_installs(manager), *build)
    needs_node = manager != "bun" or any(guess.command[0] in ("node", "npx") for guess in guesses[:1])
    return Project(
        "Node",
        "package.json",
        guesses,
        (
            *([Step(uses="actions/setup-node@v6", options=_node_version(folder))] if needs_node else []),
            *([Step(uses="oven-sh/setup-bun@v2")] if manager == "bun" else []),
            *(Step(run) for run in runs),
        ),
        build,
        hint=_workspaces(folder, about),
        names_mcp=bool(MCP.search(_text(folder / "package.json"))),
    )


def _node_manager(folder: Path, about: Mapping[str, Any]) -> str:
    named = _word(about.get("packageManager")).partition("@")[0]
    above = top(folder)
    places = [one for one in (folder, *folder.parents) if one.is_relative_to(above)]
    locks = [manager for place in places for lock, manager in LOCKS.items() if (place / lock).is_file()]
    return named if named in INSTALLS and named != "npm" else next(iter(locks), "")


def _node_installs(manager: str) -> tuple[str, ...]:
    install = INSTALLS.get(manager, "npm install")
    return (COREPACK, install) if manager in ("pnpm", "yarn") else (install,)


def _node_version(folder: Path) -> dict[str, str]:
    named = next((name for name in (".nvmrc", ".node-version") if (folder / name).is_file()), "")
    return {"node-version-file": named} if named else {"node-version": "lts/*"}


def _node_build(
    folder: Path, about: Mapping[str, Any], manager: str, guesses: Sequence[Guess]
) -> tuple[str, ...]:
    """What makes the JavaScript that the server is started from."""
    if table(about, "scripts").get("build"):
        return (f"{manager or 'npm'} run build",)
    is_there = not guesses or any((folder / word).is_file() for word in guesses[0].command[1:])
    return () if is_there or not (folder / "tsconfig.json").is_file() else ("npx tsc",)


def _bins(about: Mapping[str, Any]) -> Iterator[Guess]:
    named = about.get("bin")
    package = _word(about.get("name")).rpartition("/")[2]
    files = {package: named} if isinstance(named, str) else table(named)
    for name in _ranked((name for name in files if _word(files[name])), package):
        yield Guess(_running(files[name]), "bin in package.json")


def _running(file: str) -> tuple[str, ...]:
    """What runs a file of JavaScript or TypeScript."""
    name = file.removeprefix("./")
    return ("npx", "tsx", name) if name.endswith((".ts", ".mts")) else ("node", name)


def _start(about: Mapping[str, Any], manager: str) -> Iterator[Guess]:
    script = _word(table(about, "scripts").get("start"))
    words = [] if SHELL.search(script) else _split(script)
    if words and words[0] in RUNNERS:
        yield Guess((*RUNNERS[words[0]], *words), "scripts.start in package.json")
    elif script:
        silent = () if manager in ("yarn", "bun") else ("--silent",)
        yield Guess((manager or "npm", "run", *silent, "start"), "scripts.start in package.json")


def _split(script: str) -> list[str]:
    try:
        return shlex.split(script)
    except ValueError:
        return []


def _main(folder: Path, about: Mapping[str, Any]) -> Iterator[Guess]:
    if main := _word(about.get("main")):
        yield Guess(_running(main), "main in package.json")
    elif (folder / "index.js").is_file():
        yield Guess(("node", "index.js"), "index.js")


def _workspaces(folder: Path, about: Mapping[str, Any]) -> str:
    """Where the packages of a workspace are."""
    listed = about.get("workspaces")
    names = listed if isinstance(listed, list) else table(about, "workspaces").get("packages", [])
    places = [place for name in names if _word(name) for place in sorted(folder.glob(name.strip("/!")))]
    found = [one.relative_to(folder).as_posix() for one in places if (one / "package.json").is_file()]
    shown = ", ".join([*found[:SHOWN], *(["..."] if found[SHOWN:] else [])])
    return f"package.json has no server, but workspaces: {shown}" if found else ""


# Go ----------------------------------------------------------------------------------------------


def _go(folder: Path) -> Project | None:
    text = _text(folder / "go.mod")
    if not text:
        return None
    named = re.search(r"^module\s+\"?([^\s\"]+)", text, re.MULTILINE)
    module = re.sub(r"/v\d+$", "", named[1]).rpartition("/")[2] if named else folder.name
    mains = {path.name: f"./cmd/{path.name}" for path in _folders(folder / "cmd") if _is_main(path)}
    names = _ranked(mains, module)
    if _is_main(folder):
        names, mains = [module, *(name for name in names if name != module)], {**mains, module: "."}
    places = [(name, mains[name]) for name in names]
    builds = [f"go build -o bin/{shlex.quote(name)} {shlex.quote(place)}" for name, place in places[:1]]
    return Project(
        "Go",
        "go.mod",
        tuple(Guess((f"bin/{name}",), f"package main in {place}") for name, place in places),
        (
            Step(uses="actions/setup-go@v6", options={"go-version-file": "go.mod"}),
            *(Step(build) for build in builds),
        ),
        tuple(builds),
        names_mcp=bool(MCP.search(text)),
    )


def _is_main(folder: Path) -> bool:
    """Whether a folder holds Go's package main."""
    files = (path for path in folder.glob("*.go") if not path.name.endswith("_test.go"))
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files)
    return any(GO_MAIN.search(text) and not GO_IGNORED.search(text) for text in texts)


# Rust --------------------------------------------------------------------------------------------


def _rust(folder: Path) -> Project | None:
    if not (folder / "Cargo.toml").is_file():
        return None
    about = read_toml(folder / "Cargo.toml")
    members = table(about, "workspace").get("members", [])
    crates = [folder, *(path for name in members for path in sorted(folder.glob(str(name))))]
    found = [(name, crate) for crate in crates for name in _binaries(crate)]
    package = _word(table(about, "package").get("name"))
    names = _ranked(dict(found), _word(table(about, "package").get("default-run")) or package)
    locked = " --locked" if (folder / "Cargo.lock").is_file() else ""
    builds = tuple(f"cargo build --release{locked} --bin {shlex.quote(name)}" for name in names[:1])
    return Project(
        "Rust",
        "Cargo.toml",
        tuple(Guess((f"target/release/{name}",), _crate(dict(found)[name], folder)) for name in names),
        tuple(Step(build) for build in builds),
        builds,
        names_mcp=bool(MCP.search(_text(folder / "Cargo.toml"))),
    )


def _crate(crate: Path, folder: Path) -> str:
    return f"the binary of {(crate / 'Cargo.toml').relative_to(folder).as_posix()}"


def _binaries(crate: Path) -> Iterator[str]:
    """The names of the programs that a crate builds."""
    about = read_toml(crate / "Cargo.toml")
    package = _word(table(about, "package").get("name"))
    bins = about.get("bin", [])
    yield from (name for one in bins if isinstance(one, dict) and (name := _word(one.get("name"))))
    taken = {_word(one.get("path")) for one in bins if isinstance(one, dict)}
    if package and (crate / "src/main.rs").is_file() and "src/main.rs" not in taken:
        yield package
    yield from (
        path.stem for path in sorted(crate.glob("src/bin/*.rs")) if f"src/bin/{path.name}" not in taken
    )
