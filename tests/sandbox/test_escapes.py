"""A server that escapes, without a sandbox and in each: what happens to the things of the test itself."""

import json
import re
import select
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_conformance.client.session import Session
from mcp_conformance.sandbox.landlock import SIGNAL_ABI
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.sandbox.sandbox import LANDLOCK, NONE, Choice
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.throwaway import throwaway_folder
from support import HANDSHAKE

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hostile.md"
ROW = re.compile(r"^\| ([^|]+) \| (yes|no) \| (yes|no) \| (yes|no) \|$", re.MULTILINE)
KINDS = (NONE, LANDLOCK, "bubblewrap")
SERVER = (sys.executable, "-m", "mcp_conformance_fixtures.hostile.escapes")
CLAIMED = ("reads", "spies")
"""The deeds that only the server itself can report."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these sandboxes are of Linux")


@pytest.fixture(params=KINDS)
def sandbox(request):
    """Return each sandbox; skip the test for one that does not work here in full."""
    try:
        found = Choice(request.param).sandbox()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if found is not None and found.kind == LANDLOCK and found.abi < SIGNAL_ABI:
        pytest.skip("this Landlock does not hold signals")
    return found


def test_the_page_says_what_a_server_reaches(sandbox, tmp_path):
    rows = [cells for _, *cells in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    column = KINDS.index(sandbox.kind if sandbox is not None else NONE)
    reached = escaped(sandbox, tmp_path)
    assert [cells[column] == "yes" for cells in rows] == reached


def escaped(sandbox, folder):
    """Return whether each deed of the server succeeded, in the order of the page."""
    for name in ("secret", "changed", "deleted"):
        (folder / name).write_text("mine")
    with ExitStack() as stack:
        victim = stack.enter_context(subprocess.Popen(["/bin/sleep", "600"]))
        stack.callback(victim.kill)
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(folder / "socket"))
        unix.listen()
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        env = {
            "ESCAPES_TO": str(folder).removeprefix("/"),
            "ESCAPES_PROCESS": str(victim.pid),
            "ESCAPES_TCP": str(tcp.getsockname()[1]),
            "ESCAPES_UDP": str(udp.getsockname()[1]),
        }
        claimed = call(sandbox, env)
        met, _, _ = select.select([tcp, udp, unix], [], [], 0)
        killed = victim.poll() == -signal.SIGKILL if "kills" not in claimed else victim.wait(30) == -9
        return [
            *(name in claimed for name in CLAIMED),
            (folder / "changed").read_text() != "mine",
            not (folder / "deleted").exists(),
            (folder / "left").exists(),
            *(one in met for one in (tcp, udp, unix)),
            killed,
        ]


def call(sandbox, env):
    """Call the tool that escapes; return the deeds that the server says it could do."""
    with throwaway_folder() as throwaway:
        process = Settings(SERVER, env=env, throwaway=throwaway, sandbox=sandbox).start()
        session = Session(process, revision=HANDSHAKE, timeout=60)
        try:
            session.open(60)
            result = session.request("tools/call", {"name": "escape", "arguments": {}}).result
            return json.loads(result["structuredContent"]["done"])
        finally:
            session.close()
