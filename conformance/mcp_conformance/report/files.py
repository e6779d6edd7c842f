"""The files of reports: the format by the ending of the name, and writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import NamedTuple

from mcp_conformance.report import formats, servers
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.transport.writing import write_named


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


def write_file(path: Path, text: str, by: Callable[[Path, str], None] = write_named) -> Written:
    """Write to a file, whole or not at all; or at its end, `append`."""
    folder = "" if path.parent.exists() else f" (made the folder {path.parent})"
    try:
        by(path, text)
    except OSError as error:
        return Written(f"report: not written: {path}: {error.strerror or error}", error)
    return Written(f"report: {path}{folder}")
