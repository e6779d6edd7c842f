"""What runs learned of a target: kept beside the installations, for other workers and later surveys."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from mcp_conformance.world.kept import MAX_BYTES

LEARNED = Path(".mcp-conformance", "known")
"""Where a run keeps what it learned, in its folder."""


def copy_learned(source: Path, target: Path) -> None:
    """Copy the files that runs have kept from one folder to another; each is there whole or not at all.

    A server may have put a link there, or anything else.  What cannot be copied is learned again.
    """
    with suppress(OSError):
        target.mkdir(parents=True, exist_ok=True)
        for file in source.glob("*.json"):
            if not file.is_symlink() and file.is_file() and file.stat().st_size <= MAX_BYTES:
                beside = target / f"{file.stem}.{os.getpid()}"
                beside.write_bytes(file.read_bytes())
                beside.replace(target / file.name)
