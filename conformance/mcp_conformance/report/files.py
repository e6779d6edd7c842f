"""The files of reports: the format by the ending of the name, and writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

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


def write_file(path: Path, text: str, mode: str = "w") -> tuple[str, bool]:
    """Write to a file; return a text about it, and whether it is written."""
    folder = "" if path.parent.exists() else f" (made the folder {path.parent})"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        return f"report: not written: {error}", False
    return f"report: {path}{folder}", True
