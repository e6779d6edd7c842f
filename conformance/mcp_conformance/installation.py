"""How more of this tool is installed: each installer leaves a file of its own in the environment it made."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "pytest-mcp-conformance"
RECEIPTS = {
    "pipx_metadata.json": "pipx install --force",
    "uv-receipt.toml": "uv tool install --force",
}
"""The command of an installer of tools, by the file that it keeps in the environment of each."""


def how_to_install(extra: str) -> str:
    """Return how to install an extra of this tool here, as the rest of a sentence."""
    wanted = f"'{DISTRIBUTION}[{extra}]'"
    for file, command in RECEIPTS.items():
        if (Path(sys.prefix) / file).is_file():
            return f"{command} {wanted}"
    if find_spec("pip") is None:  # such as an environment of uv, whose project or command line names us
        return f"install {wanted} in place of {DISTRIBUTION}"
    return f"pip install {wanted}"
