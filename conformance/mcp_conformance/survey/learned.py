"""What runs learned of a target: kept beside the installations, for other workers and later surveys."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from mcp_conformance.transport.files import BadFile, read_file
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
            with suppress(BadFile):
                text = read_file(file, str, MAX_BYTES, follows=False)
                beside = target / f"{file.stem}.{os.getpid()}"
                beside.write_text(text, encoding="utf-8")
                beside.replace(target / file.name)
