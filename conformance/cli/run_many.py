"""Run the suites against several servers of a configuration, one after the other, each in a process."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.plugin.outcomes import NOT_STARTED, RESULTS
from conformance.protocol.text import named
from conformance.report.model import plural
from conformance.transport.process_tree import terminable
from conformance.verdicts import ORDER

INTERRUPTED, NOTHING_TESTED = 2, 5
WORST_STATUSES = (INTERRUPTED, 1, 3, NOT_STARTED, 4, NOTHING_TESTED, 0)
"""Exit statuses, the worst first."""
STATUS_WORDS = {
    0: "passed",
    1: "failed",
    INTERRUPTED: "interrupted",
    3: "internal error",
    4: "not run",
    NOT_STARTED: "did not start",
    NOTHING_TESTED: "nothing tested",
}
FILE_OPTIONS = ("--report", "--junitxml", "--junit-xml")
"""The options that name a file to write."""
END_SECONDS = 20.0
"""How long an interrupted run may take to end."""


@dataclass(frozen=True)
class ServerOutcome:
    """The outcome of a server: its exit status, None if it was not to be tested, and a text about it."""

    name: str
    status: int | None
    text: str = ""

    @property
    def line(self) -> str:
        """The outcome in a line."""
        word = "skipped" if self.status is None else STATUS_WORDS.get(self.status, f"exit {self.status}")
        return f"{named(self.name, 40):<24} {word:<15} {self.text}".rstrip()


@dataclass(frozen=True)
class RunPlan:
    """The servers to test, the file that lists them, and the options that name the file for each run.

    ``untested`` returns the outcome of a server that is not, or cannot be, tested; None for one that can.
    ``require_all`` says that such a server counts as one that failed.
    """

    path: Path
    names: tuple[str, ...]
    untested: Callable[[str], ServerOutcome | None] = lambda _: None
    options: Sequence[str] = ()
    require_all: bool = False


class OutcomeFilePlugin:
    """A pytest plugin that writes the number of each outcome to a file, for the process that started it."""

    def __init__(self, path: Path):
        self._path = path

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the counts."""
        results = session.config.stash.get(RESULTS, [])
        counts = Counter(one.outcome for one in results)
        text = ", ".join(f"{counts[one]} {one.value}" for one in reversed(ORDER) if counts[one])
        self._path.write_text(text, encoding="utf-8")


def run_servers(plan: RunPlan, words: Callable[[str, str], Sequence[str]]) -> int:
    """Test each server, print a line for each, and return the exit status of all.

    ``words`` returns the arguments of ``mcp-conformance run`` for a server's name and the prefix of its
    files.
    """
    with tempfile.TemporaryDirectory(prefix="mcp-conformance-") as folder, terminable():
        outcomes = list(_outcomes(plan, words, Path(folder)))
    print(f"\n==== {plan.path}: {plural(len(plan.names), 'server')} ====\n")  # noqa: T201
    for outcome in outcomes:
        print(outcome.line)  # noqa: T201
    for name in plan.names[len(outcomes) :]:
        print(ServerOutcome(name, None, "interrupted before its turn").line)  # noqa: T201
    return worst_status(outcomes, require_all=plan.require_all)


def _outcomes(
    plan: RunPlan, words: Callable[[str, str], Sequence[str]], folder: Path
) -> Iterator[ServerOutcome]:
    """Yield the outcome of each server, until a run is interrupted."""
    prefix_of = prefixes(plan.names)
    for number, name in enumerate(plan.names, 1):
        untested = plan.untested(name)
        if untested is not None:
            yield untested
            continue
        print(f"\n==== {named(name, 60)} ({number} of {len(plan.names)}) ====\n", flush=True)  # noqa: T201
        file = folder / str(number)
        command = [sys.executable, "-P", "-m", "conformance", "run", f"--outcome-file={file}"]
        status = _status(subprocess.Popen([*command, *words(name, prefix_of[name])]))
        yield ServerOutcome(name, status, file.read_text(encoding="utf-8") if file.exists() else "")
        if status == INTERRUPTED:
            return


def _status(child: subprocess.Popen[bytes]) -> int:
    """Return the exit status of a run; end the run if this process is interrupted."""
    timeout, ways_to_end, is_interrupted = None, [child.kill, child.terminate], False
    while True:
        try:
            status = child.wait(timeout)
        except (KeyboardInterrupt, subprocess.TimeoutExpired) as reason:
            is_interrupted, timeout = True, END_SECONDS
            if isinstance(reason, subprocess.TimeoutExpired) or reason.args:
                ways_to_end[-1]()
                del ways_to_end[1:]
        else:
            known = status if status in STATUS_WORDS else 3
            return INTERRUPTED if is_interrupted else known


def worst_status(outcomes: Sequence[ServerOutcome], *, require_all: bool = False) -> int:
    """Return the exit status of all runs together: the worst, or that nothing was tested.

    With ``require_all``, a server that was not tested counts as one that failed.
    """
    untested = {1} if require_all else set()
    statuses = set[int]().union(*({one.status} if one.status is not None else untested for one in outcomes))
    return next((status for status in WORST_STATUSES if status in statuses), NOTHING_TESTED)


# Files -------------------------------------------------------------------------------------------


def prefixes(names: Sequence[str]) -> dict[str, str]:
    """Return the prefix of each server's files; no two servers have the same."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip(".") or "_"
        same = sum(1 for other in found.values() if other.lower().partition("~")[0] == plain.lower())
        found[name] = f"{plain}~{same + 1}" if same else plain
    return found


def prefixed(path: str, prefix: str) -> str:
    """Return a file's path with a prefix to its name."""
    return str(Path(path).with_name(f"{prefix}-{Path(path).name}"))


def with_files(rest: Sequence[str], prefix: str) -> list[str]:
    """Return pytest's options with a prefix to the name of each file to write."""
    words: list[str] = []
    for before, word in zip(["", *rest], rest, strict=False):
        option, equals, path = word.partition("=")
        if equals and option in FILE_OPTIONS:
            words.append(f"{option}={prefixed(path, prefix)}")
        else:
            words.append(prefixed(word, prefix) if before in FILE_OPTIONS else word)
    return words
