"""The repository of a user, and runs of pytest in it."""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from support import Case, awkward, environment, forked, read_junit, started

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def session():
    return "my session"

@pytest.fixture
def server(session):
    return [session, "my server"]

@pytest.fixture(params=["red", "blue"])
def tool(request):
    return request.param

@pytest.fixture
def call(tool):
    return f"my {tool} call"

@pytest.fixture(params=["trunk"])
def revision(request):
    return request.param
"""
TEST = """
def test_mine(session, server, tool, call, revision):
    assert (session, server, revision) == ("my session", ["my session", "my server"], "trunk")
    assert call == f"my {tool} call"

def test_plain(tmp_path):
    assert tmp_path.is_dir()
"""
MINE = ["test_mine[blue-trunk]", "test_mine[red-trunk]", "test_plain"]
FILES = {"conftest.py": CONFTEST, "tests/test_mine.py": TEST, "pytest.ini": "[pytest]\n"}


def alone_environment(**more):
    """Return our environment without the variables of pytest, Python and coverage."""
    ours = {name: None for name in os.environ if name.startswith(("PYTHON", "COV", "VIRTUAL_ENV"))}
    return {name: value for name, value in {**environment(), **ours, **more}.items() if value is not None}


@dataclass(frozen=True)
class Run:
    """A run of pytest in a repository: the names of its ``own`` passed tests and the suites' ``cases``."""

    exit: int
    output: str
    own: list[str]
    cases: list[Case]

    def is_clean(self, cases, own=MINE):
        """Return True if exactly these tests and cases ran; otherwise fail with the output."""
        assert self.exit == 0, self.output
        assert self.own == sorted(own), self.output
        assert self.named ^ named(cases) == set(), self.output
        return True

    @property
    def named(self):
        return named(self.cases)


def named(cases):
    return {(case.suite, case.check, case.outcome) for case in cases}


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


PYTEST = (sys.executable, "-P", "-m", "pytest")
"""The command of the script ``pytest``: modules in the current folder cannot be imported."""
SOME = "ping,tools.call"
"""Some chapters, with checks that run once and checks that run for each tool."""
ALONE = ("--fuzz", "none", "--revision", "2025-11-25", "--select", SOME)
LEAN = ("--conformance-fuzz=none", "--conformance-revision=2025-11-25", f"--conformance-select={SOME}")
"""Options for a short run."""


def run_pytest(repo, *options, pytest_=PYTEST, lean=LEAN, cwd=None, env=None):
    report = Path(tempfile.mkdtemp(dir=repo.parent), "junit.xml")
    words = [*lean, *options, f"--junitxml={report}"]
    where, variables = cwd or repo, alone_environment(**env or {})
    if pytest_ is PYTEST and "PYTHONPATH" not in variables and hasattr(os, "fork"):
        exit, output = forked(words, where, 120, variables, "pytest")
    else:
        exit, output = started(words, where, 120, variables, pytest_)
    cases, own = [], []
    if report.exists():
        cases = list(read_junit(report))
        ours = {(case.suite, case.check) for case in cases}
        every = ElementTree.parse(report).iter("testcase")
        own = [case for case in every if (case.get("classname"), case.get("name")) not in ours]
    passed = [str(case.get("name")) for case in own if all(part.tag == "properties" for part in case)]
    return Run(exit, output, sorted(passed), cases)


def collects(repo, cases, *options, own=MINE, **more):
    """Expect that pytest collects the project's tests and the checks of these cases; nothing is run."""
    run = run_pytest(repo, *options, "--collect-only", "-q", **more)
    assert run.exit == 0, run.output
    found = [line.partition("::") for line in run.output.splitlines() if "::" in line]
    ours = {(case.suite.replace(".", "/") + ".py", case.check) for case in cases}
    checks = {(path, name) for path, _, name in found if (path, name) in ours}
    others = sorted(name.rpartition("::")[2] for path, _, name in found if (path, name) not in ours)
    assert ours - checks == set(), run.output
    assert others == sorted(own), run.output


SMALL = awkward("extra_members")
"""A small server on which every suite runs some checks."""


def server_named(server=SMALL):
    return f"--conformance-server={json.dumps(server)}"


def on(server=SMALL):
    return "--conformance", server_named(server)


OTHER_NAMES = {
    "pytest.ini": """
[pytest]
testpaths = spec
python_files = check_*.py
python_classes = Check
python_functions = check_*
""",
    "spec/check_mine.py": """
class CheckMine:
    def check_mine(self, server, tool):
        assert tool in ("red", "blue")
""",
}
