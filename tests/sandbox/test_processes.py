"""The processes of a server in a namespace: how they end, and that the run sees the server itself."""

import os
import select
import signal
import subprocess
import sys

import pytest

from mcp_conformance.sandbox.confined import Start
from mcp_conformance.sandbox.sandbox import NAMESPACES
from mcp_conformance.transport.interface import EOF
from mcp_conformance.transport.process import Process
from mcp_conformance.transport.usage import tree, usage_of
from support.sandboxes import require_sandbox

SECONDS = 60
"""How long an event may take on a busy machine."""
RUN = """
import os, sys
from pathlib import Path
from mcp_conformance.sandbox.confined import Start
from mcp_conformance.sandbox.sandbox import Choice
from mcp_conformance.transport import process_tree
from mcp_conformance.transport.process import Process
folder = Path(sys.argv[1])
words = ("/bin/sh", "-c", "setsid env -i sleep 600 <&- >&- 2>&- & echo; cat")
confined = Choice("namespaces").sandbox().confined(Start(words, dict(os.environ), {}, {}, folder, folder))
process = Process(words, cwd=folder, confined=confined)
process.read(60)
print(process.pid, process_tree._RUN._pid, flush=True)
sys.stdin.read()
"""
"""A run that starts a server, and reports the number of the server and of its watchdog."""


@pytest.fixture
def started(tmp_path):
    """Return a function that starts a shell with a script in a namespace."""
    sandbox = require_sandbox(NAMESPACES)
    processes = []

    def start(*command):
        words = ("/bin/sh", "-c", *command) if len(command) == 1 else command
        confined = sandbox.confined(Start(words, dict(os.environ), {}, {}, tmp_path, tmp_path))
        processes.append(Process(words, cwd=tmp_path, confined=confined))
        return processes[-1]

    yield start
    for one in processes:
        one.stop(0)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 7", 7),
        ("kill -SEGV $$", -signal.SIGSEGV if os.name == "posix" else 0),
        ("kill -KILL 0", -9),
        ("setsid env -i sleep 600 <&- >&- 2>&- & exit 3", 3),
    ],
)
def test_the_exit_status_of_the_server_is_handed_on(started, script, status):
    assert started(script).wait(SECONDS) == status


def test_a_signal_to_the_group_reaches_the_server_alone(started):
    process = started("trap 'echo got; exit 5' TERM; echo up; while :; do sleep 0.1; done")
    assert line_of(process) == b"up"
    process.terminate()
    assert line_of(process) == b"got"
    assert process.wait(SECONDS) == 5


def test_what_stands_between_keeps_no_pipe_open(started):
    process = started("exec >&-; read line; exit 4")
    assert line_of(process) is EOF
    process.close_stdin()
    assert process.wait(SECONDS) == 4


def test_the_server_is_seen_without_what_stands_between(started):
    process = started("echo $$ $PPID; sleep 600 & echo; wait")
    number, parent = line_of(process).split()
    assert int(parent) > 1, "a server takes number 1 as its parent for the end of its client"
    assert int(number) != process.pid
    assert line_of(process) == b""
    assert usage_of(process.pid).children == 1


def test_a_server_can_neither_stop_nor_kill_the_run(started):
    process = started(
        f"kill -STOP {os.getpid()}; echo $?; kill -KILL -1; kill -KILL 1; kill -KILL {os.getpid()}; echo up"
    )
    assert [line_of(process), line_of(process)] == [b"1", b"up"]


def test_a_process_that_left_the_group_ends_with_the_server(started):
    process = started("setsid env -i sleep 600 <&- >&- 2>&- & echo; read line")
    line_of(process)
    (other,) = tree(process.pid) - {process.pid}
    ended = os.pidfd_open(other)
    process.stop(SECONDS)
    assert select.select([ended], [], [], 0)[0], "stop returns when everything has ended"
    os.close(ended)


def test_everything_ends_with_a_run_that_is_killed_with_its_watchdog(started, tmp_path):
    words = [sys.executable, "-c", RUN, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        server, watchdog = map(int, run.stdout.readline().split())
        ended = os.pidfd_open(server)
        os.kill(watchdog, signal.SIGKILL)
        run.kill()
    assert select.select([ended], [], [], SECONDS)[0]
    os.close(ended)


def line_of(process):
    return process.read(SECONDS)[1]
