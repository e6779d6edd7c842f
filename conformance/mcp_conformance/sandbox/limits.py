"""The resources that a confined process may use up, and the privileges of root, which it gives up."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from mcp_conformance.sandbox.kernel import prctl
from mcp_conformance.sandbox.policy import MAX_MEMORY_BYTES, MAX_MORE_TASKS, MAX_OPEN_FILES

assert sys.platform == "linux"

MAX_FILE_BYTES = 1 << 30
PR_DROP_CAPABILITY = 24
MAX_CAPABILITIES = 64


def drop_privileges() -> None:
    """Let the program that this process becomes have no privileges, even if the user is root."""
    for capability in range(MAX_CAPABILITIES):
        with suppress(OSError):
            prctl(PR_DROP_CAPABILITY, capability)


def restrict() -> None:
    """Limit this process and those it starts; a lower limit stays."""
    limits = {
        resource.RLIMIT_DATA: MAX_MEMORY_BYTES,
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_NPROC: _tasks() + MAX_MORE_TASKS,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        soft, hard = resource.getrlimit(kind)
        lowest = [one for one in (soft, hard, most) if one != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min(lowest), min(most, hard) if hard != resource.RLIM_INFINITY else most))


def _tasks() -> int:
    """Return how many processes and threads the user has."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                found += sum(1 for _ in (folder / "task").iterdir())
    return found
