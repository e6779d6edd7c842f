"""Detection of a Go module."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from mcp_conformance.project.files import MAX_FILE_BYTES, read_text, subfolders
from mcp_conformance.project.model import MCP, CommandGuess, Project, SetupStep, ranked
from mcp_conformance.transport.files import regular_bytes

PACKAGE_MAIN = re.compile(r"^package main\b", re.MULTILINE)
IGNORED_FILE = re.compile(r"^//go:build ignore\b", re.MULTILINE)


def detect_go(folder: Path) -> Project | None:
    """Return the Go module in a folder; None if there is none."""
    text = read_text(folder / "go.mod")
    if not text:
        return None
    named = re.search(r"^module\s+\"?([^\s\"]+)", text, re.MULTILINE)
    module = re.sub(r"/v\d+$", "", named[1]).rpartition("/")[2] if named else folder.name
    mains = {path.name: f"./cmd/{path.name}" for path in subfolders(folder / "cmd") if _is_main(path)}
    names = ranked(mains, module)
    if _is_main(folder):
        names, mains = [module, *(name for name in names if name != module)], {**mains, module: "."}
    places = [(name, mains[name]) for name in names]
    builds = [f"go build -o bin/{shlex.quote(name)} {shlex.quote(place)}" for name, place in places[:1]]
    return Project(
        "Go",
        "go.mod",
        tuple(CommandGuess((f"bin/{name}",), f"package main in {place}") for name, place in places),
        (
            SetupStep(uses="actions/setup-go@v6", options={"go-version-file": "go.mod"}),
            *(SetupStep(build) for build in builds),
        ),
        tuple(builds),
        names_mcp=bool(MCP.search(text)),
    )


def _is_main(folder: Path) -> bool:
    """Return whether a folder holds Go's package main."""
    files = (path for path in folder.glob("*.go") if not path.name.endswith("_test.go"))
    texts = ((regular_bytes(path, MAX_FILE_BYTES) or b"").decode(errors="replace") for path in files)
    return any(PACKAGE_MAIN.search(text) and not IGNORED_FILE.search(text) for text in texts)
