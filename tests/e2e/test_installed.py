"""Installations in the ``./.venv`` of a user's repository: every way to install runs the same checks.

Every environment is real, made by ``python -m venv`` and pip, once for all xdist workers; so these tests run
only if ``INSTALLED`` is set, as ``tox -e installed`` does.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import read_junit, run_suite
from support.repositories import ALONE, CONFTEST, OTHER_NAMES, alone_environment, named, run_pytest, write

pytestmark = pytest.mark.skipif("INSTALLED" not in os.environ, reason="takes minutes: tox -e installed")
PROJECT = Path(__file__).parents[2]
PACKAGES = ("conformance", "suites", "fixtures")
OUR_OWN = {"awkward", "hostile", "http_mutants", "mutants", "sdk"}
"""The packages of fixtures that only our own tests need."""
QUIET = ("-p", "no:cacheprovider")
"""Two workers may run pytest in one repository."""
WAYS = {"newest": "pytest", "pytest-8.4": "pytest==8.4.*", "editable": "pytest"}


def run(*words, cwd, timeout=240):
    return subprocess.run(
        words,
        cwd=cwd,
        env=alone_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def pip(*words, cwd):
    done = run(sys.executable, "-m", "pip", *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True)
class Installed:
    """A repository with our distribution in its ``./.venv``."""

    repo: Path
    way: str

    def program(self, name):
        scripts = sysconfig.get_path("scripts", "venv", vars={"base": str(self.repo / ".venv")})
        return shutil.which(name, path=scripts)

    @property
    def server(self):
        return (self.program("python"), "-m", "mcp_conformance_fixtures.reference")

    def pytest(self, *options, **more):
        return run_pytest(self.repo, *QUIET, *options, pytest_=[self.program("pytest")], **more)

    def suites(self, *options):
        return self.pytest("--conformance", f"--conformance-server={json.dumps(self.server)}", *options)

    def command(self, *words):
        return run(self.program("mcp-conformance"), *words, cwd=self.repo)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a folder that all workers share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder


def made_once(folder, make):
    """Return the folder once one worker has filled it; the lock of a database makes the others wait."""
    ready, lock = (folder.with_name(f"{folder.name}.{suffix}") for suffix in ("ready", "lock"))
    with closing(sqlite3.connect(lock, timeout=500, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            ready.touch()
    return folder


@pytest.fixture(scope="module")
def source(shared):
    """Return a copy of the project's files, so that building uses and changes nothing else."""

    def copy(folder):
        for name in PACKAGES:
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(PROJECT / name, folder)

    return made_once(shared / "source", copy)


@pytest.fixture(scope="module")
def wheel(source, shared):
    def build(folder):
        pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(source), cwd=folder)

    (built,) = made_once(shared / "wheel", build).glob("*.whl")
    return built


@pytest.fixture(scope="module", params=WAYS)
def installed(request, wheel, source, shared):
    it = Installed(shared / request.param / "repo", request.param)
    ours = ("--editable", str(source)) if it.way == "editable" else (str(wheel),)

    def install(_):
        write(it.repo, {"conftest.py": CONFTEST, **OTHER_NAMES})
        done = run(sys.executable, "-m", "venv", "--without-pip", ".venv", cwd=it.repo)
        assert done.returncode == 0, done.stderr
        pip("--python", it.program("python"), "install", *ours, WAYS[it.way], "pytest-xdist", cwd=it.repo)

    made_once(it.repo.parent, install)
    return it


@pytest.fixture(scope="module")
def alone():
    return run_suite((sys.executable, "-m", "mcp_conformance_fixtures.reference"), *ALONE).cases


OWN = ["check_mine[blue]", "check_mine[red]"]


def test_the_wheel_has_the_packages_without_the_servers_of_our_own_tests(wheel, source):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path.relative_to(source / name) for name in PACKAGES for path in (source / name).rglob("*.*")}
    shipped = {path for path in files if not {*path.parts} & OUR_OWN and "__pycache__" not in path.parts}
    assert names == {path.as_posix() for path in shipped}


def test_the_environment_has_the_named_installation(installed):
    done = run(installed.program("pytest"), "--version", cwd=installed.repo)
    assert done.stdout.startswith("pytest 8.4." if installed.way == "pytest-8.4" else "pytest ")
    code = "import mcp_conformance; print(mcp_conformance.__file__)"
    place = Path(run(installed.program("python"), "-c", code, cwd=installed.repo).stdout)
    assert (installed.repo / ".venv" in place.parents) == (installed.way != "editable")


@pytest.mark.parametrize("options", [["-W", "error"], ["-W", "error", "-n", "2"]], ids=["one", "two workers"])
def test_the_suites_run_beside_a_users_tests(installed, alone, options):
    assert installed.suites(*options).is_clean(alone, OWN)


def test_a_users_tests_run_without_a_server(installed):
    assert installed.pytest("-W", "error").is_clean([], OWN)


def test_a_named_path_runs_alone(installed):
    server = f"--conformance-server={json.dumps(installed.server)}"
    assert installed.pytest("-W", "error", server, "spec/check_mine.py").is_clean([], OWN)


def test_node_ids_do_not_depend_on_the_installation(installed):
    output = installed.suites("--collect-only", "-q").output
    files = {line.partition("::")[0] for line in output.splitlines() if "::" in line}
    suites = {
        f"mcp_conformance_suites/{path.name}"
        for path in (PROJECT / "suites" / "mcp_conformance_suites").glob("test_*.py")
    }
    assert "spec/check_mine.py" in files
    assert files - suites == {"spec/check_mine.py"}


@pytest.mark.parametrize("option", [[], ["-n", "2"]], ids=["one", "two workers"])
def test_the_command_runs_the_suites_without_a_warning(installed, option):
    done = installed.command("run", "-W", "error", *option, "--", *installed.server)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr


def test_the_command_shows_no_warning_of_ours(installed):
    done = installed.command("run", "--select", "stdio", "--", *installed.server)
    assert "Warning" not in done.stdout + done.stderr, done.stdout
    assert done.returncode == 0


def test_the_command_ignores_the_users_repository(installed, alone, tmp_path):
    report = tmp_path / "command.xml"
    installed.command("run", *ALONE, f"--junitxml={report}", "--", *installed.server)
    assert named(read_junit(report)) == named(alone)


def test_the_catalogue_is_installed(installed):
    done = installed.command("explain", "tools.def.title-string")
    assert done.returncode == 0, done.stderr
    assert "tools.def.title-string" in done.stdout


# Beside other plugins ----------------------------------------------------------------------------

NEIGHBOURS = {
    "mcptest": ("pytest-mcptest",),
    "mcp-pytest": ("mcp-pytest",),
    "common": (
        *("pytest-randomly", "pytest-timeout", "pytest-sugar", "pytest-html", "pytest-cov"),
        *("pytest-asyncio", "pytest-xdist", "allure-pytest", "anyio", "schemathesis"),
    ),
}
"""Plugins of our field, each alone as they exclude each other, and those that many projects have."""
SLEEPS = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    version = request.get("params", {}).get("protocolVersion")
    info = {"name": "s", "version": "1"}
    result = {"protocolVersion": version, "capabilities": {"prompts": {}}, "serverInfo": info}
    if request.get("method") == "prompts/list":
        time.sleep(600)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
"""A server whose list of prompts takes longer than anybody waits."""


@pytest.fixture(scope="module", params=NEIGHBOURS)
def neighbour(request, wheel, shared):
    it = Installed(shared / f"beside-{request.param}" / "repo", request.param)

    def install(_):
        write(it.repo, {"conftest.py": CONFTEST, **OTHER_NAMES, "sleeps.py": SLEEPS})
        done = run(sys.executable, "-m", "venv", "--without-pip", ".venv", cwd=it.repo)
        assert done.returncode == 0, done.stderr
        pip("--python", it.program("python"), "install", str(wheel), *NEIGHBOURS[it.way], cwd=it.repo)

    made_once(it.repo.parent, install)
    return it


def test_beside_other_plugins_a_users_tests_run_alone(neighbour):
    assert neighbour.pytest().is_clean([], OWN)


def test_beside_other_plugins_the_suites_have_the_same_verdicts(neighbour, alone):
    assert neighbour.suites().is_clean(alone, OWN)


def test_a_check_that_pytest_timeout_ends_names_it(neighbour):
    if "pytest-timeout" not in NEIGHBOURS[neighbour.way]:
        pytest.skip("it has no pytest-timeout")
    server = json.dumps([neighbour.program("python"), str(neighbour.repo / "sleeps.py")])
    words = (
        "--conformance",
        f"--conformance-server={server}",
        "--timeout=3",
        "--conformance-select=prompts.list",
    )
    done = neighbour.pytest(*words, "-p", "no:randomly", lean=("--conformance-fuzz=none",))
    ended = [case for case in done.cases if "a pytest plugin ended this check: Timeout" in case.text]
    assert ended, done.output
    assert {case.outcome for case in ended} == {"blocked"}
