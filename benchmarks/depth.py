"""How deep a run gets into the tools of real servers: a Markdown table.

    python benchmarks/depth.py                      # all servers, with --found-values
    python benchmarks/depth.py --folder git memory  # these; the paths of their commands are {folder}
    python benchmarks/depth.py --program OTHER/bin/mcp-conformance git    # as another installation does

For each server: the tools that were exercised of those that could be called, the different answers that they
gave, the calls with valid arguments, and the seconds of the run.  For a Python server, a second run counts
the lines and branches of its own package that are executed: by a start and `tools/list` alone, and by the
run.  The servers are those of reports/targets.toml, installed in a folder beside the temporary one; what they
work on is made anew for each run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from mcp_conformance.survey.prepare import prepare  # noqa: E402
from mcp_conformance.survey.targets import Target, read_targets  # noqa: E402
from support.server_installation import filled  # noqa: E402

TARGETS = {one.name: one for one in read_targets(HERE.parent / "reports/targets.toml")}
NAMES = (
    *("git", "excel-py", "filesystem", "memory", "sqlite", "motherduck", "text-editor", "everything"),
    *("notion", "ruv-swarm", "repomix"),
)
MORE_SETUP = {
    "git": "cd {WORK}/repo && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -q -m a",
}
IN_FOLDER = {
    "git": ("{WORK}/repo", "{folder}"),
    "filesystem": ("{WORK}/root", "{folder}"),
    "memory": ("{WORK}/memory.jsonl", "{folder}/memory.jsonl"),
    "sqlite": ("{WORK}/t.db", "{folder}/example.db"),
    "motherduck": ("{WORK}/t.duckdb", "{folder}/t.duckdb"),
}
"""What stands for the path of a server's command if its world is the furnished folder."""
STORE = Path(os.environ.get("TMPDIR", tempfile.gettempdir())) / "mcp-conformance-depth"
INSTALL_SECONDS = 900.0
SETUP_SECONDS = 60.0
RUN_SECONDS = 1800.0
REVISION = "2025-11-25"
OTHER_REVISIONS = {"ruv-swarm": "2024-11-05"}
"""The revisions of servers that do not speak this one."""
HELLO = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "depth", "version": "1"}}
HEAD = "| server | tools exercised | answers | calls | seconds | CPU | lines and branches: start, run |"
COVERED = """
import atexit, os, signal, sys
from importlib.metadata import entry_points
import coverage
folder, name, *words = sys.argv[1:]
(entry,) = entry_points(group="console_scripts", name=name)
package = entry.value.partition(":")[0].partition(".")[0]
measured = coverage.Coverage(
    data_file=folder + "/data", data_suffix=True, source_pkgs=[package], branch=True, config_file=False
)
measured.start()
def save(*_):
    measured.stop()
    measured.save()
atexit.register(save)
signal.signal(signal.SIGTERM, lambda *_: (save(), os._exit(143)))
sys.argv = [name, *words]
entry.load()()
"""
"""Runs a console script, and saves the coverage of its package however it ends."""


@dataclass(frozen=True)
class Subject:
    """A server: its command and variables, and the python of its environment if it has one."""

    target: Target
    env: Path
    is_in_folder: bool

    @property
    def python(self) -> Path | None:
        """The interpreter of a server in Python."""
        found = self.env / ("Scripts" if os.name == "nt" else "bin") / "python"
        return found if self.target.registry == "pypi" else None

    def prepared(self, work: Path) -> tuple[list[str], dict[str, str]]:
        """Prepare what the server works on; return its command and its variables."""
        more = MORE_SETUP.get(self.target.name)
        places = {"ENV": str(self.env), "WORK": str(work)}
        for step in (*self.target.setup, *([more] if more else ())):
            subprocess.run(filled(step, places), shell=True, check=True, timeout=SETUP_SECONDS)
        command = [self._placed(word, places) for word in self.target.command]
        return command, {name: self._placed(text, places) for name, text in self.target.env.items()}

    def _placed(self, word: str, places: dict[str, str]) -> str:
        if self.is_in_folder and self.target.name in IN_FOLDER:
            word = word.replace(*IN_FOLDER[self.target.name])
        return filled(word, places)


def main() -> int:
    """Measure the servers, and print a row for each."""
    options = arguments()
    rows = [HEAD, "|---|---|---|---|---|---|---|"]
    print(*rows, sep="\n", flush=True)
    for name in options.names:
        print(row(name, options), flush=True)
    return 0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}, or other targets")
    parser.add_argument("--program", help="the mcp-conformance of another installation")
    parser.add_argument("--reports", type=Path, help="a folder that gets the JSON report of each run")
    parser.add_argument("--folder", action="store_true", help="give commands {folder}, not a folder of ours")
    parser.add_argument("--no-coverage", action="store_true", help="leave out the runs that count lines")
    parser.add_argument("--option", action="append", default=[], help="an option of `run`, such as --seed=1")
    options = parser.parse_args()
    options.names = options.names or NAMES
    if unknown := set(options.names) - TARGETS.keys():
        parser.error(f"there is no target called {', '.join(sorted(unknown))}")
    options.program = [options.program] if options.program else [sys.executable, "-m", "mcp_conformance"]
    usage = subprocess.run([*options.program, "run", "--help"], capture_output=True, text=True, check=True)
    is_known = "--found-values" in usage.stdout
    options.found = [] if options.folder or not is_known else ["--found-values"]
    return options


def row(name: str, options: argparse.Namespace) -> str:
    """Measure a server, and return its row."""
    target = TARGETS[name]
    if target.registry == "pypi":
        target = replace(target, packages=(*target.packages, "coverage"))
    installation = prepare(target, STORE, scripts=True, seconds=INSTALL_SECONDS)
    if installation.failure:
        return f"| {name} | not installed: {installation.failure.splitlines()[0]} | | | | | |"
    subject = Subject(target, Path(installation.folder), options.folder)
    report, seconds, cpu = run(subject, options)
    if options.reports is not None:
        options.reports.mkdir(parents=True, exist_ok=True)
        (options.reports / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")
    shares = "" if options.no_coverage or subject.python is None else covered(subject, options)
    return f"| {name} | {exercised(report)} | {seconds:.0f} | {cpu:.0f} | {shares} |"


def exercised(report: dict[str, Any]) -> str:
    """Return the cells of the tools, their answers and the calls; those that a report lacks are unknown."""
    found = report.get("exercise")
    if found is None:
        return "? | ? | ?"
    tools = found["tools"]
    answers, calls = (sum(one[what] for one in tools) for what in ("answers", "calls"))
    return f"{found['exercised']} of {found['callable']} | {answers} | {calls}"


def run(
    subject: Subject, options: argparse.Namespace, before: Sequence[str] = ()
) -> tuple[dict[str, Any], float, float]:
    """Run the suite; return its report, the seconds, and those of CPU, the server's included.

    ``before`` stands before the command.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = Path(folder).resolve()
        (own / "work").mkdir()
        command, variables = subject.prepared(own / "work")
        revision = OTHER_REVISIONS.get(subject.target.name, REVISION)
        words = ["--call", "all", "--revision", revision, "--report", str(own / "report.json"), "-q"]
        words += [*options.found, *options.option]
        for name, text in variables.items():
            words += ["--env", f"{name}={text}"]
        program = [*options.program, "run", *words, "--", *started(command, before)]
        begun, spent = time.monotonic(), cpu_seconds()
        done = subprocess.run(
            program, cwd=own, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
        seconds, cpu = time.monotonic() - begun, cpu_seconds() - spent
        with suppress(OSError):
            return json.loads((own / "report.json").read_text(encoding="utf-8")), seconds, cpu
    sys.exit(f"{subject.target.name}: the run wrote no report\n{(done.stdout + done.stderr)[-2000:]}")


def cpu_seconds() -> float:
    """Return the CPU seconds of the processes that were waited for; those of Windows are not counted."""
    return os.times().children_user + os.times().children_system


def started(command: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return the command, or its program by name after the words that measure it."""
    return [*before, Path(command[0]).name, *command[1:]] if before else list(command)


def covered(subject: Subject, options: argparse.Namespace) -> str:
    """Return the shares of the server's own package that a start executes, and a run."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = Path(folder).resolve()
        script = own / "covered.py"
        script.write_text(COVERED, encoding="utf-8")
        shares = []
        for what, measure in (("start", start_alone), ("run", run)):
            data = own / what
            data.mkdir()
            measure(subject, options, [str(subject.python), str(script), str(data)])
            shares.append(share(subject, data))
    return ", ".join(shares)


def start_alone(subject: Subject, options: argparse.Namespace, before: Sequence[str]) -> None:  # noqa: ARG001
    """Start the server, open a session, and list its tools."""
    requests = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    ]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command, variables = replace(subject, is_in_folder=False).prepared(Path(folder).resolve())
        process = subprocess.Popen(
            started(command, before),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **variables},
            cwd=folder,
        )
        for request in requests:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            if b'"id":2' in line.replace(b" ", b""):
                break
        process.stdin.close()
        process.wait(SETUP_SECONDS)


def share(subject: Subject, data: Path) -> str:
    """Return the share of lines and branches that all processes together executed."""
    coverage = [str(subject.python), "-m", "coverage"]
    parts = [path.name for path in data.glob("data.*")]
    combine = [*coverage, "combine", "-q", "--data-file=all", *parts]
    subprocess.run(combine, cwd=data, capture_output=True, check=False)
    total = [*coverage, "report", "--data-file=all", "--format=total"]
    done = subprocess.run(total, cwd=data, capture_output=True, text=True, check=False)
    return f"{done.stdout.strip()} %" if done.returncode == 0 else "?"


if __name__ == "__main__":
    sys.exit(main())
