"""The exit status of a command whose output cannot be written, or that the machine ends."""

import errno
import os
import subprocess
import sys
import threading
from contextlib import closing
from io import StringIO

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.cli.pytest_run import MachinePlugin
from mcp_conformance.report.exit_status import FAILED, INTERNAL_ERROR, MACHINE
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.machine import machine_fault
from support import REFERENCE, environment
from support.nightly import nightly

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX has these files and limits")
COMMAND = """
import sys
from mcp_conformance.cli import main
def run(_):
    {}
    return 1
main._run = run
sys.exit(main.main([]))
"""


def status(statement, **streams):
    """Return the exit status of a command that does this and has findings, and what it wrote to stderr."""
    command = [sys.executable, "-c", COMMAND.format(statement)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **streams)
    return done.returncode, done.stderr


@posix
def test_a_reader_that_leaves_hides_no_findings():
    reading, writing = os.pipe()
    os.close(reading)
    with closing(os.fdopen(writing, "w")) as out:
        assert status("print('x' * 1_000_000)", stdout=out) == (FAILED, "")


@posix
def test_closed_output_hides_no_findings():
    assert status("print('x')", preexec_fn=lambda: os.close(1)) == (FAILED, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_lines_of_both_streams_keep_their_order_in_one_file(unbuffered):
    statement = "[print(n, file=sys.stderr if n != 2 else sys.stdout, flush=n == 2) for n in (1, 2, 3)]"
    env = environment(PYTHONUNBUFFERED=unbuffered)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(statement)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["1", "2", "3"]


def test_a_run_may_write_to_a_stream_that_is_no_file(monkeypatch):
    out = StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["run", "--select", "ping.responds", "--", *REFERENCE]) == 0
    assert "verdict: passed" in out.getvalue()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")  # noqa: PTH110
def test_a_full_device_is_the_fault_of_the_machine():
    with open("/dev/full", "w") as out:  # noqa: PTH123
        found, text = status("print('x' * 1_000_000)", stdout=out)
    assert (found, text.count("\n")) == (MACHINE, 1)
    assert os.strerror(errno.ENOSPC) in text


@pytest.mark.parametrize(
    ("statement", "expected", "lines"),
    [("raise MemoryError", MACHINE, 1), ("raise ValueError('x')", INTERNAL_ERROR, None)],
)
def test_an_error_is_not_taken_for_findings(statement, expected, lines):
    found, text = status(statement)
    assert found == expected
    assert lines in (None, text.count("\n"))


def from_(error, cause):
    error.__cause__ = cause
    return error


def no_thread():
    def start(*_):
        raise RuntimeError("any text")

    start.__code__ = start.__code__.replace(co_filename=threading.__file__)
    try:
        start()
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (MemoryError(), True),
        (OSError(errno.EMFILE, "too many"), True),
        (from_(ValueError("x"), OSError(errno.ENOSPC, "full", "name")), True),
        (ExceptionGroup("two", [ValueError(), MemoryError()]), True),
        (from_(CannotStart("x"), BlockingIOError(errno.EAGAIN, "fork")), True),
        (no_thread(), True),
        (BlockingIOError(errno.EAGAIN, "a read"), False),
        (FileNotFoundError(errno.ENOENT, "none"), False),
        (RuntimeError("can't start new thread"), False),
        (None, False),
    ],
)
def test_the_machine_is_blamed_by_type(error, is_fault):
    assert bool(machine_fault(error)) == is_fault


@posix
@pytest.mark.parametrize(
    "few",
    [14, pytest.param(16, marks=nightly), pytest.param(20, marks=nightly)],
    ids=["a module", "the first process", "one of a check"],
)
def test_a_run_without_files_is_the_fault_of_the_machine(few, tmp_path):
    """No further process can be started; nothing of that is the server's."""
    import resource  # noqa: PLC0415  (POSIX only)

    command = [sys.executable, "-m", "mcp_conformance", "run", "--select=lifecycle", "--revision=2025-11-25"]
    done = subprocess.run(
        [*command, "--fuzz=none", "--", *REFERENCE],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)),
    )
    assert done.returncode == MACHINE, done.stdout
    said = (done.stdout + done.stderr).strip()
    assert "this machine's fault" in said
    assert said.startswith("verdict: not finished: ") or len(said.splitlines()) == 1, said


@posix
def test_a_doctor_without_files_is_the_fault_of_the_machine(tmp_path):
    import resource  # noqa: PLC0415  (POSIX only)

    done = subprocess.run(
        [sys.executable, "-m", "mcp_conformance", "doctor", "--", *REFERENCE],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)),
    )
    assert done.returncode == MACHINE, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_server_that_the_machine_has_no_room_for_is_no_error_of_the_user():
    plugin, error = MachinePlugin(), pytest.UsageError("cannot furnish")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    start = plugin.pytest_sessionstart()
    next(start)
    with pytest.raises(pytest.UsageError):
        start.throw(error)
    assert plugin.is_at_fault
