"""The files of a run of several servers: one for all of them, and where it is of use one for each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from conformance.cli.arguments import UsageError
from conformance.plugin.output import renderer, write_file
from conformance.report.model import plural
from conformance.report.servers import html, json, junit, markdown, sarif
from conformance.report.servers.model import ServersReport

Combined: TypeAlias = Callable[[ServersReport], str]
FORMATS: Mapping[str, tuple[Combined | None, bool]] = {
    "badge.json": (None, True),
    ".sarif.json": (sarif.render, False),
    ".json": (json.render, True),
    ".html": (html.render, True),
    ".md": (markdown.render, False),
    ".sarif": (sarif.render, False),
    ".svg": (None, True),
}
"""By the ending of the file's name: the function that makes the combined report, if there is one, and whether
each server has a file for itself: a badge, a page, a report to compare.  The first match counts."""
JUNIT_OPTIONS = ("--junitxml", "--junit-xml")


def expect_formats(reports: Sequence[str]) -> None:
    """Raise `UsageError` for a file whose name gives no format, or that is a directory."""
    for path in map(Path, reports):
        if path.is_dir():
            raise UsageError(f"run: --report: {path} is a directory")
        try:
            renderer(path)
        except pytest.UsageError as error:
            raise UsageError(f"run: {str(error).replace('conformance-', '')}") from error


def junit_files(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files for JUnit XML that pytest's options name, and the other options."""
    files, others = list[str](), list[str]()
    words = iter(rest)
    for word in words:
        option, equals, path = word.partition("=")
        if option in JUNIT_OPTIONS:
            files.append(path if equals else next(words, ""))
        else:
            others.append(word)
    return [file for file in files if file], others


def write_files(servers: ServersReport, reports: Sequence[str], junits: Sequence[str]) -> bool:
    """Write the files, and print their names; return whether all are written."""
    before = prefixes([one.name for one in servers.outcomes])
    written = [write_file(Path(path), junit.render(servers)) for path in junits]
    for path in map(Path, reports):
        combined, of_each = next(form for end, form in FORMATS.items() if path.name.lower().endswith(end))
        own = {one.name: prefixed(path, before[one.name]) for one, _ in servers.reports if of_each}
        if combined:
            pages = {name: file.name for name, file in own.items()}
            written.append(write_file(path, combined(replace(servers, pages=pages))))
        if own:
            texts = [(own[one.name], renderer(path)(report)) for one, report in servers.reports]
            written += _write_own(path, texts)
    if os.environ.get("GITHUB_ACTIONS") == "true" and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        written.append(write_file(Path(summary), f"{markdown.render(servers)}\n", mode="a"))
    for line, _ in written:
        print(line)  # noqa: T201
    return all(is_written for _, is_written in written)


def _write_own(path: Path, texts: Sequence[tuple[Path, str]]) -> Iterator[tuple[str, bool]]:
    """Write a file for each server; yield one line about all that are written, and one for each other."""
    written = [write_file(file, text) for file, text in texts]
    yield from (one for one in written if not one[1])
    if number := sum(is_written for _, is_written in written):
        yield f"report: {prefixed(path, 'NAME')} of {plural(number, 'server')}", True


def prefixes(names: Sequence[str]) -> dict[str, str]:
    """Return the prefix of each server's files; no two servers have the same."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip(".") or "_"
        same = sum(1 for other in found.values() if other.lower().partition("~")[0] == plain.lower())
        found[name] = f"{plain}~{same + 1}" if same else plain
    return found


def prefixed(path: Path, prefix: str) -> Path:
    """Return a file's path with a prefix to its name."""
    return path.with_name(f"{prefix}-{path.name}")
