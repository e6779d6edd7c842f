"""A server that cannot run twice is not given to several workers of xdist."""

import sys

import pytest

from support.nightly import nightly
from support.running import forked

ALONE = """
import fcntl, os, sys
from mcp_conformance_fixtures.reference import main
lock = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit("the store is locked by another process")
main()
"""


@nightly
@pytest.mark.skipif(sys.platform == "win32", reason="the server locks by flock")
@pytest.mark.parametrize("revision", ["2025-11-25", "latest"])
def test_workers_are_refused_in_one_line(revision, tmp_path):
    server = (sys.executable, "-c", ALONE, str(tmp_path / "store"))
    chosen = ("--fuzz", "none", "--revision", revision, "--select", "ping")
    status, output = forked(("run", *chosen, "-n", "2", "--", *server), tmp_path, 60)
    assert status == 4, output
    assert "the store is locked by another process), and each worker of xdist starts its own" in output
    assert "Traceback" not in output
    status, output = forked(("run", *chosen, "--", *server), tmp_path, 60)
    assert status == 0, output
