"""The files of a user, under a server that does to any path what it is told, and runs without a sandbox.

All of it happens in namespaces of the test's own, so that even a fault of ours harms nothing.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import support
from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.sandbox.layer import Layer, why_none
from support.nightly import nightly

TESTS = Path(support.__file__).parents[1]
SECONDS = 400
"""A bound against hanging alone."""
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or bool(why_none()), reason="no namespaces to be safe in"
)


def destroyed(*options):
    """Run the tool on the server in a layer of the test's own; return what became of the files in it."""
    layer = Layer()
    confined = layer.around(Confined((sys.executable, "-m", "support.victim", *options), {}))
    if layer.is_held:
        pytest.skip("no layer to be safe in")
    try:
        done = subprocess.run(
            confined.command,
            pass_fds=confined.files,
            cwd=TESTS,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            check=False,
        )
    finally:
        layer.close()
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_nothing_is_changed_where_the_server_is_held():
    found = destroyed("--fuzz", "none", "--revision", "2025-11-25")
    assert (found["changed"], found["new"]) == ([], []), found["said"]
    assert "is thrown away" in found["said"]


@pytest.mark.parametrize("fuzz", ["none", pytest.param("quick", marks=nightly)])
def test_what_was_there_stays_even_where_nothing_holds_the_server(fuzz):
    found = destroyed("--sandbox", "none", "--fuzz", fuzz, "--revision", "2025-11-25")
    assert found["calls"] > 0
    assert found["changed"] == [], found["said"]
