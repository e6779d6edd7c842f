"""Detection of a Rust crate or workspace."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from mcp_conformance.project.files import as_string, as_table, read_text, read_toml
from mcp_conformance.project.model import MCP, CommandGuess, Project, SetupStep, ranked


def detect_rust(folder: Path) -> Project | None:
    """Return the Rust project in a folder; None if there is none."""
    if not (folder / "Cargo.toml").is_file():
        return None
    about = read_toml(folder / "Cargo.toml")
    members = as_table(about, "workspace").get("members", [])
    crates = [folder, *(path for name in members for path in sorted(folder.glob(str(name))))]
    found = [(name, crate) for crate in crates for name in _binaries(crate)]
    package = as_string(as_table(about, "package").get("name"))
    names = ranked(dict(found), as_string(as_table(about, "package").get("default-run")) or package)
    locked = " --locked" if (folder / "Cargo.lock").is_file() else ""
    builds = tuple(f"cargo build --release{locked} --bin {shlex.quote(name)}" for name in names[:1])
    return Project(
        "Rust",
        "Cargo.toml",
        tuple(CommandGuess((f"target/release/{name}",), _crate(dict(found)[name], folder)) for name in names),
        tuple(SetupStep(build) for build in builds),
        builds,
        names_mcp=bool(MCP.search(read_text(folder / "Cargo.toml"))),
    )


def _crate(crate: Path, folder: Path) -> str:
    return f"the binary of {(crate / 'Cargo.toml').relative_to(folder).as_posix()}"


def _binaries(crate: Path) -> Iterator[str]:
    """Yield the names of the programs that a crate builds."""
    about = read_toml(crate / "Cargo.toml")
    package = as_string(as_table(about, "package").get("name"))
    bins = about.get("bin", [])
    yield from (name for one in bins if isinstance(one, dict) and (name := as_string(one.get("name"))))
    taken = {as_string(one.get("path")) for one in bins if isinstance(one, dict)}
    if package and (crate / "src/main.rs").is_file() and "src/main.rs" not in taken:
        yield package
    yield from (
        path.stem for path in sorted(crate.glob("src/bin/*.rs")) if f"src/bin/{path.name}" not in taken
    )
