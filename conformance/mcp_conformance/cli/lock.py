"""The command ``mcp-conformance lock``: write what a server offers to a file, its contract."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_conformance.cli.arguments import UsageError, chosen_by, expect_no_more, require_server, usage_errors
from mcp_conformance.options.probing import probed
from mcp_conformance.options.readers import NO_FILE
from mcp_conformance.options.run_options import default_place, read_options
from mcp_conformance.protocol.text import named
from mcp_conformance.report.build import interfaces
from mcp_conformance.report.exit_status import FAILED, PASSED
from mcp_conformance.report.model import plural
from mcp_conformance.report.text import server_lines
from mcp_conformance.scenarios.contract import KINDS, Observed, differences, observed
from mcp_conformance.target.contract import FILE, Contract, from_text, to_text
from mcp_conformance.target.server import Server
from mcp_conformance.target.surface import Subject
from mcp_conformance.transport.files import BadFile, read_file
from mcp_conformance.transport.throwaway import throwaway_folder
from mcp_conformance.transport.writing import write_named

ALL_TOOLS: dict[str, Any] = {"max_tools": sys.maxsize, "only_tools": (), "not_tools": ()}
"""The settings with which a contract has every tool."""


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Write the file; return 0 if it is written or right already, 1 if the server cannot be locked."""
    expect_no_more(rest)
    server = require_server(options, command, "lock", "lock [options]")
    given = chosen_by(options, server, "lock")
    with usage_errors("lock"):
        path: Path = options.file or default_place(given, "contract", FILE)
    if path.exists() and not options.update:
        raise UsageError(f"lock: {path} is there already: --update renews it")
    if not path.parent.is_dir():
        raise UsageError(f"lock: no such directory: {path.parent}")
    with usage_errors("lock"):
        # the file that is written is not what the server is compared with, and may be broken
        chosen = read_options(given.having("contract", NO_FILE))
        with throwaway_folder() as throwaway:
            settings = replace(chosen.settings.within(throwaway), **ALL_TOOLS)
            return _lock(probed(chosen, settings), path, _contract_in(path))


def _contract_in(path: Path) -> Contract | None:
    """Return the contract in a file; None if there is none, or if it has to be written anew."""
    text = read_file(path, str) if path.exists() else ""
    try:
        return from_text(text, path.name)
    except BadFile:
        return None


def _lock(subject: Subject, path: Path, old: Contract | None) -> int:
    """Look at the server, write the file, and return the exit status."""
    try:
        found = dict(_observed(subject))
    finally:
        subject.close()
    _print(server_lines(interfaces(subject)))
    if wrong := _why_not(subject, found):
        _print([f"not written: {subject.settings.redaction(wrong)}"])
        return FAILED
    sizes = {one.revision: one.tools_bytes for one in subject.live}
    offers = {revision: one.offer for revision, one in found.items()}
    name = next(one.server for one in interfaces(subject) if one.revision in found)
    text = to_text(Contract(path.name, name, offers, sizes))
    if old is not None:
        _print(_changes(old, found))
    try:
        write_named(path, text)
    except OSError as error:
        raise UsageError(f"lock: not written: {error}") from error
    counted = ", ".join(plural(len(offers[max(offers)][member]), kind) for member, kind in KINDS.items())
    _print([f"written: {path} ({counted})"])
    return PASSED


def _observed(subject: Subject) -> Iterator[tuple[str, Observed]]:
    """Yield what the server offers in each revision."""
    for surface in subject.live:
        server = Server.of(subject, surface.revision)
        try:
            yield surface.revision, observed(server)
        finally:
            server.close()


def _why_not(subject: Subject, found: dict[str, Observed]) -> str:
    """Return why the server has no contract; empty if it has one."""
    failures = [
        f"in {one.revision}: {failure.reason}" for one in subject.surfaces for failure in one.failures
    ]
    for revision, one in found.items():
        failures += [
            f"in {revision}: not all of its {name} could be listed" for name in sorted(one.incomplete)
        ]
    return failures[0] if failures else ""


def _changes(old: Contract, found: dict[str, Observed]) -> Iterator[str]:
    """Yield what changed since the contract was written, each change once for all revisions."""
    shared = [revision for revision in found if revision in old.offers]
    lists = [differences(old.offers[revision], found[revision], revision) for revision in shared]
    changes = dict.fromkeys(one.change for each in lists for one in each)
    yield from map(str, sorted(changes, key=lambda one: not one.breaking))
    yield from (f"{revision} is new" for revision in found if revision not in old.offers)
    yield from (f"{revision} is gone" for revision in old.offers if revision not in found)
    if number := sum(one.breaking for one in changes):
        yield f"{plural(number, 'change')} that can break clients"


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(named(line, 2000))  # noqa: T201
