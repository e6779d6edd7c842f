"""What an installation contains: the program that starts the server, and the SDK it is built on."""

from __future__ import annotations

import math
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from mcp_conformance.sdks.packages import LINKED, compiled_in
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.files import json_value, read_file

NPM_SDKS = ("sdk", "server")
"""The packages of the TypeScript SDK 1.x and 2.x."""
MARKS: Mapping[bytes, str] = {**LINKED, b"\tgithub.com/mark3labs/mcp-go\tv": "mcp-go"}
"""What a compiled program contains before the version of a library."""
MIN_PROGRAM_BYTES = 1_000_000
WRONG = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What a manifest raises that its package has written wrongly."""
IS_WINDOWS = sys.platform == "win32"


class Unusable(Exception):  # noqa: N818  (its message is the reason)
    """The package has no program that could be started without arguments."""


# The program


def start_command(target: Target, folder: str) -> tuple[str, ...]:
    """Return the command of a target: its own, or the package's program with its arguments.

    Raises `Unusable`.
    """
    return target.command or _program(target, Path(folder))


def _program(target: Target, folder: Path) -> tuple[str, ...]:
    found = _npm_program if target.registry == "npm" else _python_program
    try:
        return (*found(target.package, folder), *target.arguments)
    except WRONG as error:
        raise Unusable(f"the manifest of {target.package} cannot be read: {error}") from error


def _npm_program(package: str, folder: Path) -> tuple[str, ...]:
    place = folder / "node_modules" / package
    described: Any = read_file(place / "package.json", json_value)
    programs = described.get("bin")
    if isinstance(programs, str):
        return ("node", str(place / programs))
    name = _chosen(package.rpartition("/")[2], programs if isinstance(programs, dict) else {}, package)
    return ("node", str(place / programs[name]))


def _python_program(package: str, folder: Path) -> tuple[str, ...]:
    scripts = {
        entry.name: entry.value
        for one in _distributions(folder)
        if _same(one.metadata["Name"], package)
        for entry in one.entry_points
        if entry.group == "console_scripts"
    }
    name = _chosen(package, scripts, package)
    return (str(folder / "Scripts" / f"{name}.exe" if IS_WINDOWS else folder / "bin" / name),)


def _chosen(wanted: str, programs: dict[str, str], package: str) -> str:
    """Return the name of the only program, or of that which is called like the package."""
    same = [name for name in programs if _same(name, wanted)]
    if len(programs) != 1 and not same:
        names = ", ".join(sorted(programs)) or "none"
        raise Unusable(f"{package} has no program of its name (it has {names}): name one as `command`")
    return same[0] if same else next(iter(programs))


def _same(one: str, other: str) -> bool:
    return re.sub(r"[-_.]+", "-", one).lower() == re.sub(r"[-_.]+", "-", other).lower()


# The SDK


def sdk(folder: Path) -> str:
    """Return the SDK with its version, as the installed files have it; empty if none is known."""
    return _npm_sdk(folder) or _python_sdk(folder) or _linked_sdk(folder)


def _npm_sdk(folder: Path) -> str:
    for name in NPM_SDKS:
        found = folder.glob(f"**/node_modules/@modelcontextprotocol/{name}/package.json")
        for path in sorted(found, key=lambda path: len(path.parts)):
            with suppress(*WRONG):
                return f"TypeScript SDK {read_file(path, json_value)['version']}"
    return ""


def _python_sdk(folder: Path) -> str:
    known = {one.metadata["Name"].lower(): one.version for one in _distributions(folder)}
    names = [f"FastMCP {known['fastmcp']}"] if "fastmcp" in known else []
    names += [f"Python SDK {known['mcp']}"] if "mcp" in known else []
    return " on ".join(names)


def _distributions(folder: Path) -> Iterator[Distribution]:
    places = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    yield from distributions(path=list(map(str, places))) if places else ()


def _linked_sdk(folder: Path) -> str:
    for path in sorted(folder.rglob("*")):
        if _is_program(path) and (found := compiled_in(path, MARKS, math.inf)) is not None:
            return " ".join(found)
    return ""


def _is_program(path: Path) -> bool:
    facts = path.lstat()
    is_executable = bool(facts.st_mode & stat.S_IXUSR) or os.name == "nt"
    return stat.S_ISREG(facts.st_mode) and is_executable and facts.st_size > MIN_PROGRAM_BYTES
