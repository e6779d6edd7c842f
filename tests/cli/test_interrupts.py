"""Ctrl-C, once and twice, in real processes: short, never a traceback, never exit status 0."""

import subprocess
import sys

import pytest

from support import COMMAND, environment
from support.nightly import nightly

AT_AN_IMPORT = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
from mcp_conformance.cli.main import main
sys.meta_path.insert(0, Interrupting())
sys.exit(main(["run", "--", "true"]))
"""
SERVER = """
import json, os, signal, sys
from mcp_conformance_fixtures.reference import main
calls = 0
def interrupt():
    os.kill(os.getppid(), signal.SIGINT)
def mutate(server, request, reply):
    global calls
    if isinstance(request, dict) and request.get("method") == {method!r}:
        calls += 1
        if calls == {number}:
            interrupt()
main(mutate)
if {again}:
    interrupt()
"""
"""A server that interrupts the command at a request and, if it is to, again when its stdin ends."""
INTERRUPTED = "mcp-conformance: interrupted"


def ended(command, folder):
    """Run a command to its end; return its exit status and what it printed."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment(), check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["pytest", "mcp_conformance.plugin.collection"])
def test_an_interrupt_at_the_start_is_one_line(name, tmp_path):
    status, text = ended([sys.executable, "-c", AT_AN_IMPORT.format(name=name)], tmp_path)
    assert (status, text.strip()) == (2, INTERRUPTED)


@pytest.mark.parametrize(
    ("method", "number"),
    [("initialize", 1), ("tools/list", 1), pytest.param("tools/call", 40, marks=nightly)],
    ids="{}".format,
)
@pytest.mark.parametrize("again", [pytest.param(False, marks=nightly), True], ids=["once", "twice"])
def test_an_interrupt_is_short_and_no_success(method, number, again, tmp_path):
    server = [sys.executable, "-c", SERVER.format(method=method, number=number, again=again)]
    # Where something holds the server, it may signal no process of ours.
    options = ["--sandbox", "none", "--call", "all", "--fuzz", "thorough", "--revision", "2025-11-25"]
    status, text = ended([*COMMAND, "run", *options, "--", *server], tmp_path)
    assert status == 2, text
    assert not {"Traceback", "KeyboardInterrupt", "!!!"} & {*text.split()}, text
    assert len(text.splitlines()) <= 25
    assert INTERRUPTED in text or "verdict: " in text


AT_LOCKS = """
import os, signal, threading
from mcp_conformance.transport import interrupts
def is_left_locked():
    lock, turns = threading.Condition(), []
    def interrupt():
        while len(turns) < 100:
            pass
        os.kill(os.getpid(), signal.SIGINT)
    interrupts.watch()
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        while True:
            turns.append(None)
            with lock:
                pass
    except KeyboardInterrupt:
        interrupts.taken()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        thread.join()
    return lock._is_owned()
print(sum(is_left_locked() for _ in range(50)))
"""


@nightly
@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")
def test_an_interrupt_leaves_no_lock_behind(tmp_path):
    assert ended([sys.executable, "-c", AT_LOCKS], tmp_path) == (0, "0\n")


LOST = """
import gc, os, signal, sys, time
from mcp_conformance.transport import interrupts
sys.unraisablehook = lambda seen: print("lost:", seen.exc_type.__name__)
class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        for _ in range(1000):
            pass
def interrupt(phase, _):
    gc.callbacks.clear()
    os.kill(os.getpid(), signal.{name})
    for _ in range(1000):
        pass
interrupts.watch()
try:
    {start}
    time.sleep(60)
except KeyboardInterrupt as error:
    print("ended by", error)
"""
"""A signal in code whose exceptions Python only prints."""


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("start", ["Deleted()", "gc.callbacks.append(interrupt); gc.collect()"])
def test_an_interrupt_that_is_lost_comes_again(start, name, tmp_path):
    status, text = ended([sys.executable, "-c", LOST.format(start=start, name=name)], tmp_path)
    assert (status, text.split("\n")) == (0, ["lost: KeyboardInterrupt", f"ended by {name}", ""])


ENDING = """
import os, signal
from mcp_conformance_fixtures.reference import main
main()
os.kill(os.getppid(), signal.SIGTERM)
"""


@nightly
@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM")
def test_a_signal_while_the_sessions_close_is_no_traceback(tmp_path):
    server = f"{sys.executable} {tmp_path / 'server.py'}"
    (tmp_path / "server.py").write_text(ENDING)
    words = ["--conformance", f"--conformance-server={server}", "--conformance-select=ping.responds"]
    status, text = ended([sys.executable, "-m", "pytest", "-q", *words], tmp_path)
    assert (status, "Traceback" in text) == (2, False), text
    assert "verdict: " in text
