"""Leftovers of a run that a signal ends: no process of the server and no throwaway folder.

`test_bad_input.py` tests Ctrl-C.
"""

import os
import select
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import environment
from support.nightly import nightly
from support.resource_usage import MARK, end, processes

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")

CLINGING = """
import os, signal, time
from mcp_conformance_fixtures.hostile._base import Base
from mcp_conformance_fixtures.hostile.forks_daemon import daemon

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    time.sleep(600)
daemon()


class Server(Base):
    def handle_tools_call(self, params):
        with open(os.environ["CALLED"], "w") as called:
            called.write("now")
        time.sleep(600)


Server().serve()
time.sleep(600)
"""
"""A server that ignores signals and hangs in the first call; its child and its daemon stay alive."""
WAIT_SECONDS = 60
OWN_TEST = "def test_it(conformance_server):\n    conformance_server.call('hello')\n"
MODULE = (sys.executable, "-m")
ONE_CHECK = ("--conformance", "--conformance-select=tools.call.listed-is-callable", "--conformance-call=all")
HELD = ("--sandbox=none",)
"""The server writes to a pipe outside of the run's folders."""
RUN = (*MODULE, "mcp_conformance", "run", "--select=tools.call.listed-is-callable", "--call=all", *HELD, "--")
SOAK = (*MODULE, "mcp_conformance", "soak", "--for=1h", "--call=all", *HELD, "--")
PYTEST = (*MODULE, "pytest", "-p", "no:cacheprovider")


@contextmanager
def running(folder, command, *, as_option):
    """Yield a run whose server hangs in a call, and the mark of all its processes."""
    mark, called = uuid.uuid4().hex, folder / "called"
    os.mkfifo(called)
    (folder / "server.py").write_text(CLINGING)
    (folder / "test_own.py").write_text(OWN_TEST)
    server = (sys.executable, str(folder / "server.py"))
    words = [f"--conformance-server={' '.join(server)}"] if as_option else server
    env = environment(**{MARK: mark, "CALLED": str(called), "TMPDIR": str(folder)})
    output = (folder / "output").open("w")
    ours = subprocess.Popen([*command, *words], env=env, cwd=folder, stdout=output, stderr=output)
    try:
        fifo = os.open(called, os.O_RDONLY | os.O_NONBLOCK)
        ready, _, _ = select.select([fifo], [], [], WAIT_SECONDS)
        os.close(fifo)
        assert ready, (folder / "output").read_text()
        assert len(processes(mark)) >= 4
        yield ours, mark
    finally:
        output.close()
        ours.kill()
        ours.wait()
        end(processes(mark))


def left(find):
    """Return what ``find`` returns once it is empty, or after `WAIT_SECONDS`."""
    until = time.monotonic() + WAIT_SECONDS
    while (found := find()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


COMMANDS = {
    "run": (RUN, False),
    "soak": (SOAK, False),
    "pytest": ((*PYTEST, *ONE_CHECK), True),
    "xdist": ((*PYTEST, *ONE_CHECK, "-n2"), True),
    "own-test": ((*PYTEST, "test_own.py", "--conformance-call=all"), True),
}
"""The commands, and whether the server is an option."""
PUSHED = {"run": (signal.SIGTERM, signal.SIGKILL)}
"""What a push sends: what ends the processes of a killed run is the same in all."""


@pytest.mark.parametrize(
    ("command", "as_option", "number"),
    [
        pytest.param(
            *COMMANDS[name],
            number,
            id=f"{name}-{number.name}",
            marks=[] if number in PUSHED.get(name, ()) else [nightly],
        )
        for name in COMMANDS
        for number in (signal.SIGTERM, signal.SIGKILL)
    ],
)
def test_a_signal_leaves_no_process_and_no_folder(command, as_option, number, tmp_path):
    with running(tmp_path, command, as_option=as_option) as (ours, mark):
        ours.send_signal(number)
        status = ours.wait(WAIT_SECONDS)
        assert left(lambda: processes(mark)) == []
        assert status == (2 if number != signal.SIGKILL else -number), (tmp_path / "output").read_text()
        assert left(lambda: list(tmp_path.glob("mcp-conformance-*"))) == []
