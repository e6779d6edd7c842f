"""The files of a run of several servers: one for all of them, and where it is of use one for each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mcp_conformance.report.files import Written, format_of, write_file
from mcp_conformance.report.model import plural
from mcp_conformance.report.servers import junit, markdown
from mcp_conformance.report.servers.model import ServersReport
from mcp_conformance.transport.writing import append

JUNIT_OPTIONS = ("--junitxml", "--junit-xml")


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
        form = format_of(path)
        has_own_files = form.combined is None or form.combined.has_own_files
        reports_of_each = servers.reports if has_own_files else []
        own = {one.name: prefixed(path, before[one.name]) for one, _ in reports_of_each}
        if form.combined is not None:
            pages = {name: file.name for name, file in own.items()}
            written.append(write_file(path, form.combined.render(replace(servers, pages=pages))))
        written += _write_own(path, [(own[one.name], form.render(report)) for one, report in reports_of_each])
    if os.environ.get("GITHUB_ACTIONS") == "true" and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        written.append(write_file(Path(summary), f"{markdown.render(servers)}\n", append))
    for one in written:
        print(one.text)  # noqa: T201
    return not any(one.error for one in written)


def _write_own(path: Path, texts: Sequence[tuple[Path, str]]) -> Iterator[Written]:
    """Write a file for each server; yield one line about all that are written, and one for each other."""
    written = [write_file(file, text) for file, text in texts]
    yield from (one for one in written if one.error)
    if number := sum(not one.error for one in written):
        yield Written(f"report: {prefixed(path, 'NAME')} of {plural(number, 'server')}")


def prefixes(names: Sequence[str]) -> dict[str, str]:
    """Return the prefix of each server's files; no two servers have the same."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip(".").lstrip("-.") or "_"
        same = sum(1 for other in found.values() if other.lower().partition("~")[0] == plain.lower())
        found[name] = f"{plain}~{same + 1}" if same else plain
    return found


def prefixed(path: Path, prefix: str) -> Path:
    """Return a file's path with a prefix to its name."""
    return path.with_name(f"{prefix}-{path.name}")
