"""A process that has imported the tool, and forks a child for each run of ``mcp-conformance`` or pytest.

Each line of stdin is a run: its program, words, directory and environment, and the file for its output. The
answer is a line with the exit status. Runs share no state.
"""

import gc
import json
import os
import re
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import _hypothesis_globals  # type: ignore[import-untyped]
import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers

from mcp_conformance.cli.main import main
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import PACKAGE, checked, suites_directory

TESTS = str(Path(__file__).parents[1])
sys.path.append(TESTS)  # for ``-p``, with PYTHONSAFEPATH too


def load():
    """Import the modules and read the files that every run needs; exclude them from garbage collection."""
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in ("collection", "execution", "outcomes", "output"):
        import_module(f"mcp_conformance.plugin.{name}")
    for path in sorted(suites_directory().glob("test_*.py")):
        import_module(f"{PACKAGE}.{path.stem}")
    catalogue.all_requirements()
    checked()
    with warnings.catch_warnings(action="ignore"):  # a plugin may not do this, as it takes 0.1 s
        charmap.charmap()
    # As with a wheel: a run that fuzzes parsed 500 files of ours for their constants, in 1.1 s.
    providers.is_local_module_file = lambda _: False  # type: ignore[attr-defined,assignment]
    gc.collect()
    gc.freeze()


def run_pytest(words):
    """Run pytest as its script does: no module of our tests is found, and no plugin was imported before."""
    sys.path.remove(TESTS)
    AssertionRewritingHook._warn_already_imported = lambda *_: None
    return pytest.main(words)


def run_command(words):
    """Run the command; Hypothesis, whose plugin was loaded here, waits for pytest to start otherwise."""
    if words[:1] != ["run"]:
        _hypothesis_globals.in_initialization = 0
    return main(words)


PROGRAMS = {"mcp-conformance": run_command, "pytest": run_pytest}


def serve(runs):
    """Answer every line; in a child, return the exit status of its run."""
    for line in runs:
        child = os.fork()
        if child == 0:
            return run(**json.loads(line))
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return 0


def run(words, cwd, env, output, *, program="mcp-conformance", facts=""):
    """Run a program as in a new process; write costs and leftovers at the end to the file ``facts``."""
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_CREAT)):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    set_hypothesis_home_dir(os.path.join(cwd, ".hypothesis"))  # noqa: PTH118
    tempfile.tempdir = None
    sys.argv = [program, *words]
    before = set(pipes())
    status = PROGRAMS[program](words)
    if facts:
        left = [*threading.enumerate()[1:], *(set(pipes()) - before), *children()]
        cost = {"peak_kb": peak(), "cpu": time.process_time()}
        Path(facts).write_text(json.dumps({"left": [str(one) for one in left], **cost}))
    return status


def pipes():
    """Yield the open pipes and sockets of this process; none without /proc."""
    for link in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            target = str(link.readlink())
            if target.startswith(("pipe:", "socket:", "anon_inode:")):
                yield target


def children():
    """Yield the child processes that have not been waited for."""
    for path in Path("/proc/self/task").glob("*/children"):
        yield from (f"child {pid}" for pid in path.read_text().split())


def peak():
    """Return the peak memory of this process in kilobytes; 0 without /proc."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])


if __name__ == "__main__":
    load()
    os.close(int(sys.argv[1]))  # it holds the lock of `ForkServer`
    sys.exit(serve(sys.stdin))
