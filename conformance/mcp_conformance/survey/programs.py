"""Programs that a survey runs: installers and runs of the suite, within a time, with all they start."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.transport.interface import EOF
from mcp_conformance.transport.process import Process

MAX_OUTPUT_LINES = 400
LOOK_SECONDS = 1.0
END_SECONDS = 20.0
"""How long a program that took too long may take to end."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC", "PATHEXT", "HOME")
"""The variables of this machine that a survey's programs see."""
SAFE_PATH = "PYTHONSAFEPATH"
"""What the workers of a survey have, and what they start has not."""
OF_INSTALLERS = ("pip_", "npm_config_", "http_proxy", "https_proxy", "no_proxy", "ssl_cert_", "node_extra_ca")
"""The beginnings of the names of variables that installers see besides."""


@dataclass(frozen=True)
class Ended:
    """A program that has ended: its exit status, None if it took too long, and the last lines it printed."""

    status: int | None
    output: str
    cpu_seconds: float


def surroundings(*, installs: bool = False) -> dict[str, str]:
    """Return the environment for the programs of a survey, without this machine's secrets."""
    found = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if installs:
        found |= {name: text for name, text in os.environ.items() if name.lower().startswith(OF_INSTALLERS)}
    return found


def run(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    confined: Confined | None = None,
) -> Ended:
    """Run a program; end it, and all that it started, after so many seconds.  Raises `CannotStart`."""
    before = _cpu_seconds()
    process = Process(command, cwd=cwd, env=env, confined=confined)
    lines: deque[bytes] = deque(maxlen=MAX_OUTPUT_LINES)
    try:
        is_over = _read(process, lines, time.monotonic() + seconds)
        if not is_over:
            process.terminate()
    finally:
        process.stop(END_SECONDS)
    text = b"\n".join(lines).decode("utf-8", "replace")
    output = "\n".join(filter(None, (text, process.stderr)))
    return Ended(process.exit_code if is_over else None, output, _cpu_seconds() - before)


def _read(process: Process, lines: deque[bytes], deadline: float) -> bool:
    """Keep the lines of a program until it ends; return False if it does not in time."""
    while (left := deadline - time.monotonic()) > 0:
        item = process.read(min(left, LOOK_SECONDS))
        if item is None:
            continue
        _, line = item
        if line is EOF:
            return process.wait(max(left, LOOK_SECONDS)) is not None
        if isinstance(line, bytes):
            lines.append(line)
    return False


def _cpu_seconds() -> float:
    """Return the processor time of all children that have ended; 0 where the system does not count it."""
    if sys.platform == "win32":
        return 0.0
    import resource  # noqa: PLC0415  (POSIX only)

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
