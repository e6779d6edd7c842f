"""The commands that a report prints for its findings, run as a user runs them."""

import json
import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from support.running import FINDINGS, environment, expect_no_internal_error, forked, read_junit

SECONDS = 180


@dataclass(frozen=True)
class Printed:
    """A finding of a report, with the commands printed for it, if there are any."""

    requirement: str
    tool: str
    outcome: str
    again: str
    replay: str
    text: str

    @property
    def key(self):
        """The rule, the tool and the outcome: what is to be found again."""
        return self.requirement, self.tool, self.outcome


class Shell:
    """A directory in which commands run, with variables; ``serve`` begins a context around each command."""

    def __init__(self, path, serve=nullcontext, **variables):
        self.path, self.env, self._serve = Path(path), environment(**variables), serve

    def run(self, words):
        """Run ``mcp-conformance`` with these words; return its exit status, its output and its findings."""
        report, junit = self.path / "report.json", self.path / "junit.xml"
        for one in (report, junit):
            one.unlink(missing_ok=True)
        middle = words.index("--") if "--" in words else len(words)
        more = ["--report", str(report), f"--junitxml={junit}"]
        words = [*words[:middle], *more, *words[middle:]]
        with self._serve():
            status, output = forked(words, self.path, SECONDS, self.env)
        expect_no_internal_error(output, tuple(read_junit(junit)) if junit.exists() else ())
        return status, output, findings(report) if report.exists() else []

    def replay(self, command):
        """Run a printed ``replay``; return its exit status and its output."""
        with self._serve():
            return forked(shlex.split(command)[1:], self.path, SECONDS, self.env)

    def expect_found_again(self, found):
        """Expect that each printed command shows its finding again."""
        for command in {one.again: one for one in found if one.again}:
            wanted = {one.key for one in found if one.again == command}
            status, output, again = self.run(shlex.split(command)[1:])
            missing = wanted - {one.key for one in again}
            assert not missing, f"exit {status}: {command} does not show {sorted(missing)}\n{output}"
        for command in {one.replay: one for one in found if one.replay}:
            status, output = self.replay(command)
            is_chance = "(no answer within" in output  # a server that loses some of many loses others
            assert status == 0 or is_chance, f"{command} has other answers\n{output}"


def findings(report):
    """Return the findings of a JSON report."""
    return [
        Printed(
            one["requirement"],
            one.get("tool", ""),
            one["outcome"],
            one.get("reproduce", ""),
            one.get("replay", ""),
            one.get("reason", ""),
        )
        for one in json.loads(report.read_text())["results"]
        if one["outcome"] in FINDINGS
    ]
