"""Runs ``mcp-conformance`` in children of one process that has imported all of it already.

Each line of stdin is a run: its words, directory and environment, and the file its output goes to. A child is
forked for it, and nothing of one run is seen by the next; the answer is a line with the exit status.
"""

import gc
import json
import os
import re
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir

from conformance.cli.main import main
from conformance.requirements import catalogue
from conformance.requirements.checks import PACKAGE, checked, suites_directory

sys.path.append(str(Path(__file__).parents[1]))  # for ``-p``, with PYTHONSAFEPATH too


def load():
    """Import and read what every run needs, and keep the children from looking through it for garbage."""
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in ("collection", "execution", "outcomes", "output"):
        import_module(f"conformance.plugin.{name}")
    for path in sorted(suites_directory().glob("test_*.py")):
        import_module(f"{PACKAGE}.{path.stem}")
    catalogue.all_requirements()
    checked()
    gc.collect()
    gc.freeze()


def serve(runs):
    """Answer every line; in a child, return the exit status of its run."""
    for line in runs:
        child = os.fork()
        if child == 0:
            return run(**json.loads(line))
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return 0


def run(words, cwd, env, output, told=""):
    """Become a process that was started with these; write to the file ``told`` what is left at the end."""
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
    sys.argv = ["mcp-conformance", *words]
    before = set(pipes())
    status = main(words)
    if told:
        left = [*threading.enumerate()[1:], *(set(pipes()) - before), *children()]
        cost = {"peak_kb": peak(), "cpu": time.process_time()}
        Path(told).write_text(json.dumps({"left": [str(one) for one in left], **cost}))
    return status


def pipes():
    """The pipes and sockets this process has open, where that can be seen."""
    for link in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):
            target = str(link.readlink())
            if target.startswith(("pipe:", "socket:", "anon_inode:")):
                yield target


def children():
    """The processes that this process has started and not seen the end of."""
    for path in Path("/proc/self/task").glob("*/children"):
        yield from (f"child {pid}" for pid in path.read_text().split())


def peak():
    """The most memory this process has had, in kilobytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])


if __name__ == "__main__":
    load()
    sys.exit(serve(sys.stdin))
