"""Running the suite on a server as a user does, and reading its report."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import mcp_conformance_fixtures as fixtures

HANDSHAKE = "2025-11-25"
REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference")
EVERYTHING = (
    *("--call", "all"),
    *("--failing-call", 'fail {"reason": "disk full"}'),
    *("--mutating-call", "grow {}"),
)
"""Options under which every check has what it needs on the reference server."""

COMMAND = (sys.executable, "-m", "mcp_conformance")
BYTECODE = "TESTS_PYCACHE"
"""The environment variable with the folder for the bytecode of the processes of the tests."""
CI = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "__TOX_ENVIRONMENT_VARIABLE_ORIGINAL_CI")
"""The environment variables by which Hypothesis knows that it runs in CI."""

NAMES = ("requirement", "finding")
"""The properties that a case has once for each finding."""
FINDINGS = ("failed", "blocked", "warned", "info")
INTERNAL_ERRORS = ("INTERNALERROR", "an internal error in this tool, please report it")
"""What a run prints of its own mistakes."""


@dataclass(frozen=True)
class Case:
    """One check of a run, as JUnit has it.

    Its worst finding comes first in ``text``, and in ``requirements``.
    """

    suite: str
    check: str
    outcome: str
    requirement: str
    level: str
    basis: str
    revision: str
    spec: str
    requirements: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Run:
    """One run of the suite."""

    exit: int
    output: str
    cases: tuple[Case, ...]

    def of(self, *outcomes: str) -> list[Case]:
        return [case for case in self.cases if case.outcome in outcomes]

    @property
    def findings(self) -> list[Case]:
        return self.of(*FINDINGS)


def script(name: str) -> str:
    """Return the path of a script of this package, such as a server."""
    return str(Path(__file__).with_name(f"{name}.py"))


def mutant(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "mcp_conformance_fixtures.mutants", name)


def quick_mutant(name: str) -> tuple[str, ...]:
    """Return the command of the same server, which starts faster this way."""
    return (sys.executable, "-S", script("mutant_launcher"), str(Path(fixtures.__file__).parent.parent), name)


def awkward(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"mcp_conformance_fixtures.awkward.{name}", *arguments)


def run_suite(
    server: Sequence[str],
    *options: str,
    cwd: Path | None = None,
    timeout: float = 300,
    allow_internal_errors: bool = False,
) -> Run:
    """Run ``mcp-conformance run`` in a process of its own, and read its JUnit report.

    The revision is `HANDSHAKE` unless the options name one.  Raises `AssertionError` for an internal error of
    the tool, unless the test expects it.
    """
    if "--revision" not in options:
        options = ("--revision", HANDSHAKE, *options)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "junit.xml")
        words = ["run", *options, f"--junitxml={report}", "--", *server]
        exit, output = (forked if hasattr(os, "fork") else started)(words, cwd or folder, timeout)
        cases = tuple(read_junit(report)) if report.exists() else ()
    if not allow_internal_errors:
        expect_no_internal_error(output, cases)
    return Run(exit, output, cases)


def expect_no_internal_error(output: str, cases: Sequence[Case]) -> None:
    """Expect that a run has no mistake of ours."""
    texts = [case.text for case in cases if case.outcome == "internal-error"]
    assert texts == []
    assert [words for words in INTERNAL_ERRORS if words in output] == [], output


def started(
    words: Sequence[str],
    cwd: Path | str,
    timeout: float,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = COMMAND,
) -> tuple[int, str]:
    """Run a program, ``mcp-conformance`` unless one is given; return its exit status and its output."""
    done = subprocess.run(
        [*program, *words],
        cwd=cwd,
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    return done.returncode, done.stdout


def forked(
    words: Sequence[str],
    cwd: Path | str,
    timeout: float,
    env: Mapping[str, str] | None = None,
    program: str = "mcp-conformance",
) -> tuple[int, str]:
    """Do the same in a child of a process that has imported all modules, which saves most of the time.

    The program may be ``pytest`` too.
    """
    with tempfile.NamedTemporaryFile("r+", encoding="utf-8", errors="replace") as output:
        run = {"program": program, "words": words, "cwd": str(cwd), "env": env or environment()}
        exit = fork_server().run({**run, "output": output.name}, timeout)
        return exit, output.read()


class ForkServer:
    """The process behind `forked`."""

    def __init__(self) -> None:
        import fcntl  # noqa: PLC0415  (POSIX only, as forks are)

        pipe, env = subprocess.PIPE, environment()
        with Path(env["PYTHONPYCACHEPREFIX"], "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the first one compiles, for the workers that start with it
            command = [sys.executable, script("fork_server_process"), str(lock.fileno())]
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, env=env, start_new_session=True, pass_fds=[lock.fileno()]
            )

    def run(self, run: Mapping[str, object], timeout: float) -> int:
        """Fork one run and return its exit status."""
        self.process.stdin.write(json.dumps(run).encode() + b"\n")
        self.process.stdin.flush()
        assert self.process.stdout is not None
        answered, _, _ = select.select([self.process.stdout], [], [], timeout)
        if not answered:
            self.end()
            raise subprocess.TimeoutExpired(run["words"], timeout)
        status = self.process.stdout.readline()
        if not status:
            self.end()
            raise RuntimeError("the fork server ended; what it wrote to stderr says why")
        return int(status)

    def end(self) -> None:
        """End the process and the run that is under way."""
        atexit.unregister(self.end)
        fork_server.cache_clear()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@cache
def fork_server() -> ForkServer:
    """Return the fork server of this worker."""
    server = ForkServer()
    atexit.register(server.end)
    return server


def environment(**more: str) -> dict[str, str]:
    """Return our environment without the variables by which this run of pytest would change those it tests.

    In CI, Hypothesis forgets failures and chooses the seed; these tests are about the behaviour elsewhere.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    for name in ("PYTHONDONTWRITEBYTECODE", *CI):
        ours.pop(name, None)
    return {**ours, "PYTHONPYCACHEPREFIX": bytecode_folder(), **more}


def bytecode_folder() -> str:
    """Return the folder for the bytecode of the processes; the process that makes it removes it."""
    if BYTECODE not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="mcp-conformance-pycache-", ignore_cleanup_errors=True)
        os.environ[BYTECODE] = folder.name
        atexit.register(folder.cleanup)
    return os.environ[BYTECODE]


def read_junit(report: Path):
    for case in ElementTree.parse(report).iter("testcase"):
        properties = [(prop.get("name"), prop.get("value")) for prop in case.iter("property")]
        known = dict(properties)
        if "outcome" in known:
            facts = {
                name: known[name] for name in ("outcome", "requirement", "level", "basis", "revision", "spec")
            }
            ids, texts = ([text for key, text in properties[::-1] if key == name] for name in NAMES)
            suite, check = case.get("classname"), case.get("name")
            yield Case(suite, check, **facts, requirements=tuple(ids), text="\n\n".join(texts))
