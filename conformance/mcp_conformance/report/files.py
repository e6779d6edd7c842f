"""The files of reports: the format by the ending of the name, and writing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import NamedTuple

from mcp_conformance.report import formats, servers
from mcp_conformance.report.file_format import FileFormat


@cache
def file_formats() -> tuple[FileFormat, ...]:
    """Return the formats that the package has, in the order of their endings."""
    combined = {name: getattr(module, "COMBINED", None) for name, module in _modules(servers)}
    found = [
        replace(one, combined=combined.get(name))
        for name, module in _modules(formats)
        if (one := getattr(module, "FILE_FORMAT", None)) is not None
    ]
    return tuple(sorted(found, key=lambda one: one.endings))


def _modules(package: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Yield the modules of a package by their names."""
    for one in iter_modules(package.__path__):
        yield one.name, import_module(f"{package.__name__}.{one.name}")


def format_of(path: Path) -> FileFormat:
    """Return the format of a file by its name, of which the longest ending counts.  Raises `ValueError`."""
    endings = {ending: one for one in file_formats() for ending in one.endings}
    matching = [ending for ending in endings if path.name.lower().endswith(ending)]
    if not matching:
        raise ValueError(f"{path.name!r} ends in none of {', '.join(sorted(endings))}")
    return endings[max(matching, key=len)]


def format_help() -> str:
    """Return what each format is for, in one sentence."""
    known = "; ".join(f"{', '.join(one.endings)}: {one.help}" for one in file_formats())
    return f"The endings of --report FILE are {known}."


def expect_formats(paths: Iterable[Path]) -> None:
    """Raise `ValueError` for a file whose name gives no format, or that is a directory."""
    for path in paths:
        format_of(path)
        if path.is_dir():
            raise ValueError(f"{path} is a directory")


class Written(NamedTuple):
    """What became of a file, in words; and the error, if it is not written."""

    text: str
    error: OSError | None = None


def write_file(path: Path, text: str, mode: str = "w") -> Written:
    """Write to a file, whole or not at all."""
    folder = "" if path.parent.exists() else f" (made the folder {path.parent})"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, text, mode)
    except OSError as error:
        return Written(f"report: not written: {path}: {error.strerror or error}", error)
    return Written(f"report: {path}{folder}")


def _write(path: Path, text: str, mode: str) -> None:
    """Write a text; a new file, or one that is replaced, appears when all of it is there."""
    path = Path(os.path.realpath(path))  # a link stays one
    is_whole = mode == "w" and (path.is_file() or not path.exists())
    part = path.with_name(f".{path.name}.{os.getpid()}.part") if is_whole else path
    try:
        with part.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        if is_whole:
            part.replace(path)
    except BaseException:
        if is_whole:
            part.unlink(missing_ok=True)
        raise
