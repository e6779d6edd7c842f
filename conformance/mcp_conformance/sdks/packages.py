"""The SDKs that the program of a command is installed with: read from files beside it, nothing is executed.

Only what the words of the command name is looked at, and the folder it is started from.  A launcher that
downloads the server, as `npx` and `uvx` do, hides its packages; then nothing is found here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from mcp_conformance.sdks.names import Sdk
from mcp_conformance.transport.files import regular_bytes

Name = TypeVar("Name", bound=str)
MAX_MANIFEST_BYTES = 4_000_000
"""A manifest that is longer is not read."""
MAX_PROGRAM_BYTES, MAX_SECONDS = 512_000_000, 2.0
"""How much of a compiled program is read, and for how long; what comes later is not found."""
MAX_JAR_ENTRIES = 100_000
CHUNK_BYTES, OVERLAP_BYTES = 1 << 22, 200
MAX_PARENTS = 40
"""How many folders above a file are looked at, so that a path made to be deep costs little."""
NODE = ("node", "nodejs", "bun", "deno", "tsx", "ts-node", "npm", "npx", "pnpm", "yarn")
PYTHON_TOOLS = ("uv", "poetry", "pdm", "hatch", "pipenv", "rye")
NPM = {"sdk": Sdk.TYPESCRIPT_1, "server": Sdk.TYPESCRIPT_2}
LINKED = {
    b"\tgithub.com/modelcontextprotocol/go-sdk\tv": Sdk.GO,  # a line of Go's build info
    b"/rmcp-": Sdk.RUST,  # the path of a source file in a panic's message
    b'"ModelContextProtocol.Core/': Sdk.CSHARP,  # the manifest in a program that is a single file
}
VERSION = re.compile(rb"\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?(?![0-9A-Za-z])")
MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe")
"""The first bytes of compiled programs on Linux, Windows and macOS."""
KOTLIN_CLASSES = "io/modelcontextprotocol/kotlin/sdk/"
KOTLIN_JAR = "kotlin-sdk-"
NET_LIBRARIES = ("ModelContextProtocol.Core", "ModelContextProtocol")


@dataclass(frozen=True)
class Package:
    """An SDK that is installed with a program; ``version`` is empty if it is not known."""

    sdk: Sdk
    version: str = ""


def packages(command: Sequence[str], here: Path, path: str = "") -> list[Package]:
    """Return the SDKs that the program of a command is installed with.

    ``here`` is the folder it is started from, ``path`` the search path.  What cannot be read is left out.
    """
    try:
        return list(dict.fromkeys(_found(command, here, path)))
    except (OSError, ValueError, RecursionError):
        return []


def _found(command: Sequence[str], here: Path, path: str) -> Iterator[Package]:
    program = _program(command[0], here, path) if command else None
    if program is None:
        return
    name = program.name.lower().removesuffix(".exe").removesuffix(".cmd")
    files = [file for word in command[1:] if (file := _file(here / word)) is not None]
    if name in NODE:
        yield from _npm([one.resolve() for one in files] or [here / "package.json"])
    elif name.startswith(("python", "pypy")):
        yield from _pypi([program.parent.parent])
    elif name in PYTHON_TOOLS:
        folders = [here / word for word in command[1:] if (here / word).is_dir()]
        yield from _pypi(folder / ".venv" for folder in (*folders, here))
    elif name == "java":
        yield from _jars(here / part for word in command[1:] for part in word.split(os.pathsep))
    elif name == "dotnet":
        yield from _net(files)
    else:
        yield from _of_program(program)


def _program(word: str, here: Path, path: str) -> Path | None:
    """Return the file of a program: the path that the word is, or what the search path has of that name."""
    if Path(word).name != word:
        return _file(here / word)
    found = shutil.which(word, path=path or None)
    return Path(found) if found else None


def _file(path: Path) -> Path | None:
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):  # a word that cannot be a path
        return None


def _of_program(program: Path) -> Iterator[Package]:
    """Yield the SDKs of a program that is not a known interpreter."""
    with program.open("rb") as file:
        start = file.read(256)
    if start.startswith(b"#!"):
        yield from _of_script(program, start.partition(b"\n")[0].decode("utf-8", "replace"))
    elif start.startswith(MAGIC):
        yield from _pypi([program.parent.parent] if sys.platform == "win32" else [])
        if (found := compiled_in(program, LINKED)) is not None:
            yield Package(*found)
        yield from _net([program])


def _of_script(program: Path, shebang: str) -> Iterator[Package]:
    """Yield the SDKs of a script, by the interpreter that its first line names."""
    interpreter = Path(shebang.removeprefix("#!").split()[0])
    if "python" in interpreter.name:
        yield from _pypi([interpreter.parent.parent])
    elif "python" in shebang:
        yield from _pypi([program.resolve().parent.parent])
    elif any(name in shebang for name in NODE):
        yield from _npm([program.resolve()])
    else:
        yield from _jars((program.resolve().parent.parent / "lib").glob(f"{KOTLIN_JAR}*.jar"))


def _pypi(environments: Iterator[Path] | list[Path]) -> Iterator[Package]:
    """Yield the Python SDK of an environment, by the name of its folder of metadata."""
    for environment in environments:
        for libraries in ("lib/python*/site-packages", "lib/python*/dist-packages", "Lib/site-packages"):
            for metadata in islice(environment.glob(f"{libraries}/mcp-*.dist-info"), 1):
                version = metadata.name.removeprefix("mcp-").removesuffix(".dist-info")
                is_first = version.partition(".")[0] == "1"
                yield Package(Sdk.PYTHON_1 if is_first else Sdk.PYTHON_2, version)


def _npm(files: list[Path]) -> Iterator[Package]:
    """Yield the TypeScript SDKs that a file can import: those of the nearest folder that has one."""
    for file in files:
        for folder in islice(file.parents, MAX_PARENTS):
            scope = folder / "node_modules" / "@modelcontextprotocol"
            manifests = [(sdk, scope / name / "package.json") for name, sdk in NPM.items()]
            found = [Package(sdk, _npm_version(path)) for sdk, path in manifests if path.is_file()]
            yield from found
            if found:
                return


def _npm_version(manifest: Path) -> str:
    described = _json(manifest)
    version = described.get("version") if isinstance(described, dict) else None
    return version if isinstance(version, str) else ""


def _json(path: Path) -> object:
    content = regular_bytes(path, MAX_MANIFEST_BYTES)
    return None if content is None else json.loads(content)


def _net(files: list[Path]) -> Iterator[Package]:
    """Yield the C# SDK that the manifest beside an assembly or its host lists."""
    for file in files:
        manifest = file.with_name(f"{file.name.removesuffix('.dll').removesuffix('.exe')}.deps.json")
        described = _json(manifest) if manifest.is_file() else None
        libraries = described.get("libraries") if isinstance(described, dict) else None
        for name in libraries if isinstance(libraries, dict) else ():
            library, _, version = name.partition("/")
            if library in NET_LIBRARIES:
                yield Package(Sdk.CSHARP, version)
                return


def _jars(paths: Iterator[Path]) -> Iterator[Package]:
    """Yield the Kotlin SDK: a jar of it, by its name, or a jar that contains its classes."""
    for path in paths:
        if path.suffix != ".jar" or _file(path) is None:
            continue
        if path.name.startswith(KOTLIN_JAR):
            yield Package(Sdk.KOTLIN, path.stem.rpartition("-")[2])
            return
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as jar:
            if any(name.startswith(KOTLIN_CLASSES) for name in islice(jar.namelist(), MAX_JAR_ENTRIES)):
                yield Package(Sdk.KOTLIN)
                return


def compiled_in(
    program: Path, marks: Mapping[bytes, Name], seconds: float = MAX_SECONDS
) -> tuple[Name, str] | None:
    """Return the library that is compiled into a program, with its version; None if none is found in time.

    ``marks`` are the bytes that stand before the version of each.
    """
    until, left = time.monotonic() + seconds, MAX_PROGRAM_BYTES
    with program.open("rb") as file:
        end = b""
        while left > 0 and time.monotonic() < until and (piece := file.read(CHUNK_BYTES)):
            text = end + piece
            for mark, name in marks.items():
                if version := _version_after(text, mark):
                    return name, version
            end, left = piece[-OVERLAP_BYTES:], left - len(piece)
    return None


def _version_after(text: bytes, mark: bytes) -> str:
    """Return the version that follows a mark, as 1.8.0 or 2.0.0-rc.1; empty if there is none."""
    start = text.find(mark)
    while start >= 0:
        tail = text[start + len(mark) : start + len(mark) + 40]
        if (version := VERSION.match(tail)) is not None:
            return version[0].decode()
        start = text.find(mark, start + 1)
    return ""
