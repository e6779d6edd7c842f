"""Processes in each sandbox: what they can do, what is refused, and what is seen of it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from mcp_conformance.sandbox.confined import Start
from mcp_conformance.sandbox.landlock import TCP_ABI
from mcp_conformance.sandbox.policy import MAX_MEMORY_BYTES
from mcp_conformance.sandbox.sandbox import BUBBLEWRAP, LANDLOCK, NAMESPACES
from mcp_conformance.sandbox.system_calls import is_known_machine
from support.sandboxes import require_sandbox

TRIES = """
import json, os, signal, socket, sys
outside, inside, parent = (os.environ[name] for name in ("OUTSIDE", "INSIDE", "PARENT"))
tries = {
    "read": lambda: open(os.path.join(outside, "secret")).read(),
    "list": lambda: os.listdir(outside),
    "write": lambda: open(os.path.join(outside, "new"), "w"),
    "delete": lambda: os.unlink(os.path.join(outside, "secret")),
    "truncate": lambda: os.truncate(os.path.join(outside, "secret"), 0),
    "environment": lambda: open(f"/proc/{parent}/environ").read()[0],
    "signal": lambda: os.kill(int(parent), 0),
    "tcp": lambda: socket.create_connection(("192.0.2.1", 443), 5),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.2", 9)),
    "unix": lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[0]),
    "pair": lambda: socket.socketpair(),
    "own file": lambda: open(os.path.join(inside, "new"), "w").write("x"),
    "own folder": lambda: os.rename(os.path.join(inside, "new"), os.path.join(inside, "newer")),
    "system": lambda: os.listdir("/usr"),
    "null": lambda: open(os.devnull, "w").write("x"),
    "child": lambda: os.waitpid(os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]), 0)[1] == 0 or 1 / 0,
}
done = []
for name, what in tries.items():
    try:
        what()
    except (OSError, ArithmeticError):
        continue
    done.append(name)
json.dump(done, sys.stdout)
"""
"""A program that prints which of these deeds are possible."""
HARMLESS = {"pair", "own file", "own folder", "system", "null", "child"}


@pytest.fixture(params=[NAMESPACES, LANDLOCK, BUBBLEWRAP, "landlock without an own network"])
def sandbox(request):
    """Return each sandbox that works here."""
    kind, _, is_limited = request.param.partition(" ")
    found = require_sandbox(kind)
    assert found is not None
    return replace(found, can_be_apart=found.can_be_apart and not is_limited)


def started(sandbox, folder, *command, **variables):
    """Return the output of a program that ran in a sandbox, and what was seen of its traffic."""
    start = Start(command, {**os.environ, **variables}, {}, {}, folder, folder)
    confined = sandbox.confined(start)
    files = {"pass_fds": confined.files, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    done = subprocess.run(confined.command, env=confined.environment, cwd=folder, check=True, **files)
    confined.close()
    seen = confined.traffic.attempts if confined.traffic is not None else None
    confined.end()
    return done.stdout, seen


def test_a_confined_process_does_only_what_is_harmless(sandbox, tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "secret").write_text("hush")
    places = {"OUTSIDE": str(outside), "INSIDE": str(inside), "PARENT": str(os.getpid())}
    begin = time.perf_counter()
    output, seen = started(sandbox, inside, sys.executable, "-c", TRIES, **places)
    end = time.perf_counter()
    has_own_network = seen is not None or sandbox.kind == BUBBLEWRAP
    done = set(json.loads(output)) - ({"udp"} if has_own_network else set())
    assert done == HARMLESS
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "hush"
    if seen is not None:
        assert {str(one) for one in seen} == {"TCP to 192.0.2.1:443", "UDP to 192.0.2.2:9"}
        # The system's time may be moved a little meanwhile.
        assert all(begin - 0.01 < one.at < end + 0.01 for one in seen)


def test_a_confined_program_has_the_signals_and_the_limits_of_any_other(sandbox, tmp_path):
    """Python ignores SIGPIPE, and the program that it becomes would too; 8 GB are the most memory."""
    status = started(sandbox, tmp_path, "/bin/cat", "/proc/self/status")[0].decode()
    facts = dict(line.split(":", 1) for line in status.splitlines())
    assert not int(facts["SigIgn"], 16) & 1 << (signal.SIGPIPE - 1)
    assert int(facts["CapEff"], 16) == 0
    limits = started(sandbox, tmp_path, "/bin/cat", "/proc/self/limits")[0].decode()
    assert f"Max data size             {MAX_MEMORY_BYTES}" in limits


def test_what_the_user_allows_is_allowed(sandbox, tmp_path):
    folders = inside, read, written = [tmp_path / name for name in ("inside", "read", "written")]
    for folder in folders:
        folder.mkdir()
    (read / "data").write_text("from here")
    open_ = replace(sandbox, read=(read,), write=(written,), network=True)
    places = {"DATA": str(read / "data"), "COPY": str(written / "copy")}
    started(open_, inside, "/bin/sh", "-c", "cp $DATA $COPY", **places)
    assert (written / "copy").read_text() == "from here"


def test_an_open_network_opens_no_unix_sockets(tmp_path):
    """Docker and systemd listen on them, and start what they are asked to."""
    sandbox = replace(require_sandbox(LANDLOCK), network=True)
    if not is_known_machine():
        pytest.skip("there is no filter for this machine")
    program = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); socket.socket(socket.AF_UNIX)"
    start = Start((sys.executable, "-c", program), dict(os.environ), {}, {}, tmp_path)
    done = subprocess.run(sandbox.confined(start).command, capture_output=True, text=True, check=False)
    assert done.stderr.count("PermissionError") == 1


def test_a_server_over_http_may_only_listen_on_its_port(tmp_path):
    sandbox = require_sandbox(LANDLOCK)
    if sandbox.abi < TCP_ABI:
        pytest.skip("this Landlock does not limit ports")
    bind = "import socket, sys; [socket.create_server(('127.0.0.1', int(one))) for one in sys.argv[1:]]"
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        port, second = (each.getsockname()[1] for each in (one, other))
    for ports, is_possible in (((port,), True), ((port, second), False)):
        start = Start(
            (sys.executable, "-c", bind, *map(str, ports)), dict(os.environ), {}, {}, tmp_path, None, port
        )
        done = subprocess.run(sandbox.confined(start).command, capture_output=True, text=True, check=False)
        assert ("PermissionError" not in done.stderr) is is_possible, done.stderr
