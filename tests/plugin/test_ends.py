"""What starts no server, and what ends with the process that it works for."""

import os
import signal
import subprocess
import sys

import pytest

from support import REFERENCE, environment, forked
from support.nightly import nightly
from support.processes import is_alive, wait_until

NOTING = """
import os
print(os.getpid(), file=open({starts!r}, "a"), flush=True)
from mcp_conformance_fixtures.reference import main
main()
"""


def noting(folder):
    """Return the command of a server that notes each start in a file."""
    path = folder / "server.py"
    path.write_text(NOTING.format(starts=str(folder / "starts")))
    return [sys.executable, str(path)]


def started(folder):
    """Return the ids of the processes that were started."""
    file = folder / "starts"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.parametrize(
    ("option", "starts"),
    [
        ("--fixtures", 0),
        pytest.param("--fixtures-per-test", 0, marks=nightly),
        pytest.param("--cache-show", 0, marks=nightly),
        ("--setup-plan", 0),
        ("--collect-only", 2),
    ],
)
def test_only_a_list_of_checks_starts_the_server(option, starts, tmp_path):
    """It takes a process in each era."""
    server = f"--conformance-server={' '.join(noting(tmp_path))}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--conformance", server, option],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), done.stdout
    assert len(started(tmp_path)) == starts


def test_the_command_says_that_a_plan_needs_a_server(tmp_path):
    exit, output = forked(["run", "--setup-plan", "--", *REFERENCE], tmp_path, 60)
    assert (exit, len(output.strip().splitlines())) == (4, 1), output


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_workers_end_with_their_controller(tmp_path):
    """They, and their servers, outlive it by no check; execnet alone gives them five seconds."""
    command = [sys.executable, "-m", "mcp_conformance", "run", "-n2", "--fuzz", "thorough", "--"]
    (tmp_path / "scratch").mkdir()
    ours = subprocess.Popen(
        [*command, *noting(tmp_path)],
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path / "scratch")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: len(started(tmp_path)) > 6)  # two of the probe, two of each worker, and what they test
    ours.send_signal(signal.SIGKILL)
    ours.wait(60)
    wait_until(lambda: not any(map(is_alive, started(tmp_path))))
    wait_until(lambda: not [*(tmp_path / "scratch").glob("mcp-conformance-*")])


LATE = """
import os, threading
from mcp_conformance.cli import run_many
start, late = threading.Thread.start, []
threading.Thread.start = lambda self: late.append(self)
run_many.end_with_parent()
threading.Thread.start = start
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # as pytest does
try:
    start(late[0])
    late[0].join()
except KeyboardInterrupt:
    os.write(1, b"asked")
"""


def test_a_run_whose_stdin_pytest_replaced_still_hears_its_parent():
    done = subprocess.run([sys.executable, "-c", LATE], input=b"!", stdout=subprocess.PIPE, check=False)
    assert (done.stdout, done.returncode) == (b"asked", 0)
