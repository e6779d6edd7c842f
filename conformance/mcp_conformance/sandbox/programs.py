"""Programs of this package that become the server, in a Python without the modules of the user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mcp_conformance.sandbox.policy import TRY

START = "import sys; sys.path.append(sys.argv.pop(1)); from {module} import main; main(sys.argv[1:])"
TRY_SECONDS = 30


def launched(module: str, *words: str) -> tuple[str, ...]:
    """Return the command that calls ``main`` of a module of this package with these words."""
    folder = str(Path(__file__).parents[2])
    return (sys.executable, "-I", "-S", "-c", START.format(module=module), folder, *words)


def tried(module: str, *words: str) -> str:
    """Return what the program reports of what works here.

    Raises `OSError` or `subprocess.SubprocessError` if it fails.
    """
    command = launched(module, TRY, *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TRY_SECONDS, check=True)
    return done.stdout
