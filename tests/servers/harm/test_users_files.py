"""The files of a user, under a server that does to any path what it is told, and runs without a sandbox.

All of it happens in namespaces of the test's own, so that even a fault of ours harms nothing.
"""

import json
import os
import sys
from pathlib import Path

import pytest

import support
from support.nightly import nightly
from support.sandboxes import layer_over_all, run_in

TESTS = Path(support.__file__).parents[1]
SECONDS = 400
"""A bound against hanging alone."""


def destroyed(*options):
    """Run the tool on the server in a layer of the test's own; return what became of the files in it."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = (sys.executable, "-m", "support.victim", *options)
    with layer_over_all() as layer:
        done = run_in(layer, *command, cwd=TESTS, timeout=SECONDS, env=environment)
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
