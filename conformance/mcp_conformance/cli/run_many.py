"""Run the suites against several servers of a configuration, each in a process, several at once."""

from __future__ import annotations

import math
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import pytest

from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.plugin.status_line import StatusLine, can_rewrite, duration
from mcp_conformance.protocol.text import named
from mcp_conformance.report.exit_status import INTERNAL_ERROR, INTERRUPTED, WORDS
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.servers.model import ServerOutcome
from mcp_conformance.report.servers.text import MAX_TEXT
from mcp_conformance.transport import interrupts
from mcp_conformance.transport.throwaway import scratch_folder
from mcp_conformance.transport.writing import write

END_SECONDS = 3.0
"""How long an interrupted run may take to end.  Not measured: `mcp-conformance run` has 5 s."""
IS_WINDOWS = sys.platform == "win32"
NEW_PROCESS_GROUP = 0x200
"""What keeps Ctrl-C from a process of Windows."""
MAX_JOBS = 4
LOOK_SECONDS = 0.5
"""How often the status line changes while no run ends."""
REPORT_FILE, JUNIT_FILE = "report.json", "junit.xml"


@dataclass(frozen=True)
class RunPlan:
    """The servers to test, the file that lists them, and the options that name the file for each run.

    ``lines`` has the line of each server in the file.  ``untested`` returns the outcome of a server that is
    not, or cannot be, tested; None for one that can.  ``jobs`` says how many servers are tested at once,
    ``verbose`` that the output for a server that passed is printed too.
    """

    path: Path
    names: tuple[str, ...]
    lines: Mapping[str, int]
    untested: Callable[[str], ServerOutcome | None] = lambda _: None
    options: Sequence[str] = ()
    jobs: int = 1
    verbose: bool = False


def default_jobs() -> int:
    """Return how many servers are tested at once, unless the user says it: as many as there are cores."""
    return min(MAX_JOBS, os.cpu_count() or 1)


def end_with_parent() -> None:
    """Interrupt this run when its parent asks for that on stdin, and end it when the parent is gone."""
    # pytest soon puts an empty file in the place of stdin: a thread that runs only then took it for our end.
    lifeline = os.dup(0)

    def wait() -> None:
        if not os.read(lifeline, 1):
            os._exit(INTERRUPTED)  # nobody reads the report; the watchdog ends the server
        interrupts.interrupt()

    threading.Thread(target=wait, daemon=True).start()


class ReportFilePlugin:
    """A pytest plugin that writes the report to a file, for the process that started it."""

    def __init__(self, path: Path):
        self._path = path

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Write the report, if there is one."""
        if (report := run_state(config).report) is not None:
            write(self._path, json_format.render(report))


@dataclass
class _Run:
    """The run of one server: its process, and the folder of what it writes."""

    name: str
    folder: Path
    command: Sequence[str]
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self, ended: queue.SimpleQueue[_Run]) -> None:
        """Start the process; it is put into the queue when it has ended."""
        self.folder.mkdir()
        environment = {**os.environ, "COLUMNS": str(shutil.get_terminal_size().columns)}
        environment.pop("GITHUB_STEP_SUMMARY", None)  # one summary is written for all servers
        with (self.folder / "output").open("wb") as output:
            self.process = subprocess.Popen(
                self.command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # A terminal's Ctrl-C would reach it twice.
                start_new_session=not IS_WINDOWS,
                creationflags=NEW_PROCESS_GROUP if IS_WINDOWS else 0,
            )
        threading.Thread(target=self._wait, args=(ended,), daemon=True).start()

    def interrupt(self) -> None:
        """Ask the run to end in order."""
        with suppress(OSError), self._lifeline as pipe:
            pipe.write(b"!")

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()

    @property
    def _lifeline(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def _wait(self, ended: queue.SimpleQueue[_Run]) -> None:
        self.process.wait()
        ended.put(self)

    @property
    def output(self) -> str:
        """The output of the run, without empty lines around it."""
        return (self.folder / "output").read_text(errors="replace").strip("\n")

    def outcome(self, *, is_interrupted: bool) -> ServerOutcome:
        """Return the outcome of a run that has ended."""
        status = self.process.returncode if self.process.returncode in WORDS else INTERNAL_ERROR
        report, junit = (self.folder / name for name in (REPORT_FILE, JUNIT_FILE))
        return ServerOutcome(
            self.name,
            INTERRUPTED if is_interrupted else status,
            report=json_format.read(report.read_text(encoding="utf-8")) if report.exists() else None,
            junit=junit.read_text(encoding="utf-8") if junit.exists() else "",
        )


def run_servers(plan: RunPlan, words: Callable[[str], Sequence[str]]) -> tuple[ServerOutcome, ...]:
    """Test each server, print what came of it, and return the outcomes in the plan's order.

    ``words`` returns the arguments of ``mcp-conformance run`` for a server's name.
    """
    with scratch_folder("mcp-conformance-") as folder:
        found = _Runs(plan, words, folder).outcomes()
    waiting = ServerOutcome("", None, "interrupted before its turn")
    return tuple(
        replace(found.get(name, waiting), name=name, line=plan.lines.get(name, 1)) for name in plan.names
    )


class _Runs:
    """The runs of the servers of a plan; ``_found`` has the outcomes of those that are done."""

    def __init__(self, plan: RunPlan, words: Callable[[str], Sequence[str]], folder: Path):
        self._plan, self._words, self._folder = plan, words, folder
        self._running: list[_Run] = []
        self._ended: queue.SimpleQueue[_Run] = queue.SimpleQueue()
        self._found: dict[str, ServerOutcome] = {}
        self._is_interrupted = False
        self._is_log = not can_rewrite()
        self._line = StatusLine(sys.stdout, is_log=self._is_log)

    def outcomes(self) -> Mapping[str, ServerOutcome]:
        """Return the outcomes by name; without those of servers that had no turn before an interrupt."""
        try:
            self._test_all()
        except KeyboardInterrupt:
            interrupts.taken()
            self._is_interrupted = True
            self._end()
        finally:
            for run in self._running:
                run.kill()
        return self._found

    def _test_all(self) -> None:
        for name in self._plan.names:
            untested = self._plan.untested(name)
            if untested is not None:
                self._add(untested)
                continue
            if len(self._running) >= self._plan.jobs:
                self._await_one()
            self._start(name)
        while self._running:
            self._await_one()

    def _end(self) -> None:
        """Interrupt the runs, and kill them if they do not end."""
        for end in (_Run.interrupt, _Run.kill):
            for run in self._running:
                end(run)
            deadline = time.monotonic() + END_SECONDS
            while self._running and time.monotonic() < deadline:
                self._await_one(deadline)

    def _start(self, name: str) -> None:
        folder = self._folder / str(len(self._found) + len(self._running))
        command = [
            sys.executable,
            "-P",
            "-m",
            "mcp_conformance",
            "run",
            f"--report-file={folder / REPORT_FILE}",
        ]
        colours = ["--color=yes"] if not self._is_log and "NO_COLOR" not in os.environ else []
        words = [*colours, *self._words(name), f"--junitxml={folder / JUNIT_FILE}"]
        run = _Run(name, folder, [*command, *words])
        run.start(self._ended)
        self._running.append(run)

    def _await_one(self, deadline: float = math.inf) -> None:
        """Wait for the end of a run, until the ``deadline`` of `time.monotonic` at most."""
        while time.monotonic() < deadline:
            self._show_progress()
            with suppress(queue.Empty):
                run = self._ended.get(timeout=LOOK_SECONDS)
                self._running.remove(run)
                self._add(run.outcome(is_interrupted=self._is_interrupted), run.output)
                return

    def _add(self, outcome: ServerOutcome, output: str = "") -> None:
        """Keep an outcome, and print it in a line; the output of the run follows unless the server passed."""
        self._found[outcome.name] = outcome
        self._line.clear()
        time_taken = f" in {duration(outcome.report.seconds)}" if outcome.report else ""
        about = f": {named(outcome.remark, MAX_TEXT)}" if outcome.remark else ""
        place = f"[{len(self._found)} of {len(self._plan.names)}]"
        print(f"{place} {named(outcome.name)}: {outcome.word}{time_taken}{about}", flush=True)  # noqa: T201
        if output and (outcome.status or self._plan.verbose):
            print(f"\n{output}\n", flush=True)  # noqa: T201

    def _show_progress(self) -> None:
        self._line.done, self._line.total = len(self._found), len(self._plan.names)
        self._line.activity = ", ".join(named(run.name) for run in self._running)
        self._line.show()
