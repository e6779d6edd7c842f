"""The npm package: it starts mcp-conformance with what is there, and ends as it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.nightly import nightly

PROJECT = Path(__file__).parents[2]
LAUNCHER = PROJECT / "npm" / "bin" / "launch.js"
NODE, NPM = shutil.which("node") or "", shutil.which("npm") or ""
pytestmark = pytest.mark.skipif(not NODE or os.name != "posix", reason="node, and programs of sh")
SHOWS = """#!/bin/sh
echo "$0"
for word in "$@"; do echo "$word"; done
exit 7
"""
"""A program that prints its words, and fails."""
WAITS = """#!/bin/sh
trap 'exit 9' TERM
echo ready
while :; do sleep 0.01; done
"""
FAILS = "#!/bin/sh\nexit 1\n"


@pytest.fixture
def programs(tmp_path):
    """Return a function that makes a folder of programs the whole search path."""

    def made(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        return {"PATH": str(tmp_path)}

    return made


def launched(environment, *words):
    return subprocess.run(
        [NODE, LAUNCHER, *words], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("found", "program", "words"),
    [
        ({"uvx": SHOWS, "pipx": SHOWS}, "uvx", ["--from", "a.whl", "mcp-conformance"]),
        ({"pipx": SHOWS, "python3": FAILS}, "pipx", ["run", "--spec", "a.whl", "mcp-conformance"]),
    ],
)
def test_it_passes_arguments_and_the_exit_status_through(found, program, words, programs, tmp_path):
    given = ["run", "--example", 'read {"a": "b c"}', "--", "node", "x.js"]
    done = launched({**programs(**found), "MCP_CONFORMANCE_SPEC": "a.whl"}, *given)
    assert done.stdout.splitlines() == [str(tmp_path / program), *words, *given]
    assert (done.returncode, done.stderr) == (7, "")


def test_a_python_that_has_it_is_enough(programs):
    python = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    done = launched(programs(python3=FAILS, python=python), "--version")
    assert done.stdout.startswith("mcp-conformance "), done.stderr
    assert done.returncode == 0


def test_the_working_directory_has_no_modules_of_ours(programs, tmp_path, monkeypatch):
    (tmp_path / "mcp_conformance").mkdir()
    (tmp_path / "mcp_conformance" / "__init__.py").write_text("print('a stranger')")
    for name in ("json", "typing", "argparse"):
        (tmp_path / f"{name}.py").write_text("print('a stranger')")
    monkeypatch.chdir(tmp_path)
    done = launched(programs(python3=f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'), "--version")
    assert done.stdout.startswith("mcp-conformance "), done.stderr


@pytest.mark.parametrize(
    ("found", "given", "line"),
    [
        ({}, {}, "mcp-conformance: it needs uv (https://docs.astral.sh/uv/) or pipx, and found neither: "),
        ({"python3": FAILS}, {}, "/python3 -m pip install 'pytest-mcp-conformance[http]'"),
        (
            {},
            {"MCP_CONFORMANCE_PYTHON": "/no/such"},
            "mcp-conformance: MCP_CONFORMANCE_PYTHON: /no/such has no ",
        ),
    ],
)
def test_what_is_missing_is_one_line(found, given, line, programs):
    done = launched({**programs(**found), **given}, "run")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (4, "", 1)
    assert line in done.stderr


def test_a_signal_reaches_it(programs):
    environment = {"PATH": f"{programs(uvx=WAITS)['PATH']}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(
        [NODE, LAUNCHER], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 9


def test_it_depends_on_nothing():
    about = json.loads((PROJECT / "npm" / "package.json").read_text("utf-8"))
    assert not any("ependencies" in name for name in about)
    assert set(about["bin"].values()) == {"bin/launch.js"}


@nightly
def test_npx_runs_the_packed_package(tmp_path):
    packed = subprocess.run(
        [NPM, "pack", "--silent", "--pack-destination", tmp_path],
        cwd=PROJECT / "npm",
        capture_output=True,
        text=True,
        check=True,
    )
    archive = tmp_path / packed.stdout.split()[-1]
    (PROJECT / "npm" / "LICENSE").unlink()
    environment = {**os.environ, "MCP_CONFORMANCE_PYTHON": sys.executable}
    server = ["--", sys.executable, "-m", "mcp_conformance_fixtures.reference"]
    done = subprocess.run(
        ["npx", "--yes", f"file:{archive}", "run", "--select", "ping", "--fuzz", "none", *server],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict: passed" in done.stdout
