"""Several servers of one configuration, tested one after the other, each by a process of its own."""

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

from conformance.plugin.outcomes import RESULTS
from conformance.project.client_configs import BadConfig, ClientConfig, NotTestable
from conformance.protocol.text import named
from conformance.transport.process_tree import terminable
from conformance.verdicts import ORDER

INTERRUPTED, NOTHING_TESTED = 2, 5
WORST = (INTERRUPTED, 1, 3, 4, NOTHING_TESTED, 0)
"""Exit statuses, the worst first."""
MEANING = {
    0: "passed",
    1: "failed",
    INTERRUPTED: "interrupted",
    3: "internal error",
    4: "not run",
    NOTHING_TESTED: "nothing tested",
}
WRITTEN = ("--report", "--junitxml", "--junit-xml")
"""The options that name a file to write."""
PATIENCE = 20.0
"""Seconds for a run to end in good order."""


@dataclass(frozen=True)
class Outcome:
    """What became of a server: an exit status, None if it was not to be tested, and what to tell of it."""

    name: str
    status: int | None
    told: str = ""

    @property
    def line(self) -> str:
        """The outcome in a line."""
        word = "skipped" if self.status is None else MEANING.get(self.status, f"exit {self.status}")
        return f"{named(self.name, 40):<24} {word:<15} {self.told}".rstrip()


@dataclass(frozen=True)
class Plan:
    """The servers to test; those that the user has ``chosen``; the variables that are ``given`` to all."""

    config: ClientConfig
    names: tuple[str, ...]
    chosen: frozenset[str]
    given: frozenset[str]

    def untested(self, name: str) -> Outcome | None:
        """What becomes of a server that is not, or cannot be, tested; None for one that is."""
        if name not in self.chosen and self.config.is_disabled(name):
            return Outcome(name, None, "it is disabled there")
        try:
            self.config.entry(name, self.given)
        except NotTestable as reason:
            return Outcome(name, None, str(reason))
        except BadConfig as error:
            return Outcome(name, 4, str(error).removeprefix(f"{name}: "))
        return None


class Teller:
    """A plugin of pytest's that tells another process how the checks came out, in a file."""

    def __init__(self, path: Path):
        self._path = path

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the counts."""
        results = session.config.stash.get(RESULTS, [])
        counts = Counter(one.outcome for one in results)
        text = ", ".join(f"{counts[one]} {one.value}" for one in reversed(ORDER) if counts[one])
        self._path.write_text(text, encoding="utf-8")


def tested(plan: Plan, words: Callable[[str, str], Sequence[str]]) -> int:
    """Test each server, sum up, and tell the exit status of all.

    ``words`` are those of ``mcp-conformance run`` for a server's name and the prefix of its files.
    """
    with tempfile.TemporaryDirectory(prefix="mcp-conformance-") as folder, terminable():
        outcomes = list(_outcomes(plan, words, Path(folder)))
    print(f"\n==== {plan.config.path}: {_servers(len(plan.names))} ====\n")  # noqa: T201
    for outcome in outcomes:
        print(outcome.line)  # noqa: T201
    for name in plan.names[len(outcomes) :]:
        print(Outcome(name, None, "interrupted before its turn").line)  # noqa: T201
    return worst(outcomes)


def _servers(number: int) -> str:
    return "1 server" if number == 1 else f"{number} servers"


def _outcomes(plan: Plan, words: Callable[[str, str], Sequence[str]], folder: Path) -> Iterator[Outcome]:
    """What becomes of each server, until one run is interrupted."""
    prefix_of = prefixes(plan.names)
    for number, name in enumerate(plan.names, 1):
        known = plan.untested(name)
        if known is not None:
            yield known
            continue
        print(f"\n==== {named(name, 60)} ({number} of {len(plan.names)}) ====\n", flush=True)  # noqa: T201
        told = folder / str(number)
        command = [sys.executable, "-P", "-m", "conformance", "run", f"--outcome-file={told}"]
        status = _status(subprocess.Popen([*command, *words(name, prefix_of[name])]))
        yield Outcome(name, status, told.read_text(encoding="utf-8") if told.exists() else "")
        if status == INTERRUPTED:
            return


def _status(child: subprocess.Popen[bytes]) -> int:
    """The exit status of a run, which is ended when we are interrupted."""
    patience, means, is_interrupted = None, [child.kill, child.terminate], False
    while True:
        try:
            status = child.wait(patience)
        except (KeyboardInterrupt, subprocess.TimeoutExpired) as reason:
            is_interrupted, patience = True, PATIENCE
            if isinstance(reason, subprocess.TimeoutExpired) or reason.args:
                means[-1]()
                del means[1:]
        else:
            known = status if status in MEANING else 3
            return INTERRUPTED if is_interrupted else known


def worst(outcomes: Sequence[Outcome]) -> int:
    """The exit status of all runs together; that nothing was tested if there was none."""
    statuses = {one.status for one in outcomes if one.status is not None}
    return next((status for status in WORST if status in statuses), NOTHING_TESTED)


# Files -------------------------------------------------------------------------------------------


def prefixes(names: Sequence[str]) -> dict[str, str]:
    """What each server's name adds to the names of its files; no two servers have the same."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip(".") or "_"
        same = sum(1 for other in found.values() if other.lower().partition("~")[0] == plain.lower())
        found[name] = f"{plain}~{same + 1}" if same else plain
    return found


def prefixed(path: str, prefix: str) -> str:
    """A file's path with a prefix to its name, so that its ending stays."""
    return str(Path(path).with_name(f"{prefix}-{Path(path).name}"))


def with_files(rest: Sequence[str], prefix: str) -> list[str]:
    """Pytest's options with a prefix to the name of each file that is to be written."""
    words: list[str] = []
    for before, word in zip(["", *rest], rest, strict=False):
        option, equals, path = word.partition("=")
        if equals and option in WRITTEN:
            words.append(f"{option}={prefixed(path, prefix)}")
        else:
            words.append(prefixed(word, prefix) if before in WRITTEN else word)
    return words
