"""The command ``mcp-conformance watch``: run the suites again whenever the project's files change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from mcp_conformance.cli.arguments import (
    UsageError,
    chosen_by,
    configuration,
    expect_known_options,
    expect_no_stray_path,
    require_server,
)
from mcp_conformance.cli.pytest_run import run_suites
from mcp_conformance.options.given import Chosen
from mcp_conformance.plugin.rerun import Known, RerunPlugin
from mcp_conformance.project.changes import Edits, stamps
from mcp_conformance.protocol.text import first_names, harmless, named
from mcp_conformance.report.exit_status import INTERRUPTED
from mcp_conformance.report.formats import terminal
from mcp_conformance.report.model import Report, Result, plural
from mcp_conformance.transport import interrupts

MAX_STILL = 10
"""How many findings are listed that were there before."""
MAX_REASON = 200
OURS = "mcp_conformance"
"""How the names of our packages begin, which stay loaded also in a copy of our own repository."""


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Run until a signal ends this command.  Errors in the options end only the first run."""
    expect_known_options(rest, "watch")
    expect_no_stray_path(rest, "watch")

    def chosen() -> Chosen:
        """Read the options again: the configuration is one of the files that may change."""
        server = require_server(options, command, "watch", "watch [options]", rest)
        return chosen_by(options, server, "watch")

    first = chosen()
    file = configuration("watch")
    folder = file.path.parent.absolute() if file is not None else Path.cwd()
    reports = [path for text in first.texts("report") if (path := _below(folder, Path(text)))]
    watch = Watch(folder, Edits(partial(stamps, folder), reports), rest)
    try:
        status = watch.run(first)
        while not status:
            watch.wait()
            try:
                watch.run(chosen())
            except UsageError as error:
                _say(f"mcp-conformance: {error}")
    except KeyboardInterrupt:
        interrupts.taken()
        _say("\nno longer watching")
        return INTERRUPTED
    return status


def _below(folder: Path, path: Path) -> str:
    """Return the path below a folder, with ``/``; empty if it is elsewhere."""
    path = path.absolute()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ""


class Watch:
    """Runs one after another on a project's folder, and what is known after them.

    ``rest`` are pytest's options.
    """

    def __init__(self, folder: Path, edits: Edits, rest: Sequence[str]):
        self._folder, self._edits, self._rest = folder, edits, rest
        self._known = Known()
        self._again: frozenset[str] | None = None

    def run(self, chosen: Chosen) -> int:
        """Run once, and print what is new, gone and still there; return the status of a usage error, or 0.

        Raises `KeyboardInterrupt` if the user ends the run.
        """
        is_first = self._known.report is None
        plugin = RerunPlugin(self._known, self._edits.in_run)
        self._edits.begin_run()
        self._forget_modules()
        # A run that others follow prints no finding meanwhile: most are known.
        of_run = chosen if is_first else chosen.having("output-format", "concise")
        status = run_suites(of_run, self._rest, plugin, name="watch")
        if status == pytest.ExitCode.INTERRUPTED and not plugin.stopped:
            raise KeyboardInterrupt
        if status == pytest.ExitCode.USAGE_ERROR:
            return int(status)
        if plugin.report is not None:
            now = self._known.after(plugin.report)
            if not is_first:
                _say("\n".join(changes(self._known, now, plugin.report)))
            self._known = now
        elif plugin.unstarted is not None and not is_first:
            _say(terminal.render(plugin.unstarted))
        self._learn(stopped=plugin.stopped)
        return 0

    def _learn(self, *, stopped: bool) -> None:
        """Note whether to run again at once, and print which files are ignored from now on."""
        before = set(self._edits.ignored)
        changed = self._edits.end_run(stopped=stopped)
        self._again = changed if changed or stopped else None
        for path in sorted(self._edits.ignored - before):
            _say(f"{named(path)}: the runs write it, so it starts none until you edit it")

    def wait(self) -> None:
        """Wait for changes, unless some came during the run, and print what changed."""
        if self._again is None:
            number = plural(len(self._edits.files), "file")
            _say(f"watching {number} in {self._folder} (Ctrl-C ends it)")
        changed = self._edits.wait() if self._again is None else self._again
        names = first_names([named(one) for one in sorted(changed)])
        _say(f"\n{datetime.now():%H:%M:%S} changed: {names or 'nothing more'}")

    def _forget_modules(self) -> None:
        """Let the modules of the project be imported again."""
        for name, module in list(sys.modules.items()):
            place = getattr(module, "__file__", None)
            if place and not name.startswith(OURS) and _below(self._folder, Path(place)) in self._edits.files:
                del sys.modules[name]


# What is printed ---------------------------------------------------------------------------------


def changes(before: Known, now: Known, report: Report) -> Iterator[str]:
    """Yield the new findings with all that is known of them, those that are gone, and the others."""
    old, new = before.findings, now.findings
    for key, result in new.items():
        if key not in old:
            yield f"{result.text}\n"
    for key, one in old.items():
        if key not in new:
            yield f"{'gone' if now.judges(one) else 'no longer judged'}: {_line(one)}"
    still = [one for key, one in new.items() if key in old]
    if report.ended:
        yield f"{plural(len(new), 'finding')} so far; the run ended early: {report.ended}"
        return
    yield from (f"still: {_line(one)}" for one in still[:MAX_STILL])
    if len(still) > MAX_STILL:
        yield f"still: {len(still) - MAX_STILL} more"
    counted = (
        f"{len(new.keys() - old.keys())} new, {len(old.keys() - new.keys())} gone, {len(still)} still there"
    )
    yield f"{plural(len(new), 'finding')}: {counted}, in {report.seconds:.1f} s"


def _line(result: Result) -> str:
    about = f" ({named(result.tool)})" if result.tool else ""
    return f"{result.outcome} {result.requirement}{about}: {named(result.reason, MAX_REASON)}"


def _say(text: str) -> None:
    print(harmless(text), flush=True)  # noqa: T201
