"""What runs learned of a target: kept beside the installations, for other workers and later surveys."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mcp_conformance.transport.writing import own_bytes, write
from mcp_conformance.world.kept import MAX_BYTES

LEARNED = Path(".mcp-conformance", "known")
"""Where a run keeps what it learned, in its folder."""


def copy_learned(source: Path, target: Path) -> None:
    """Copy the files that runs have kept from one folder to another; each is there whole or not at all.

    A server may have put a link there, or anything else.  What cannot be copied is learned again.
    """
    with suppress(OSError):
        for file in source.glob("*.json"):
            with suppress(OSError):
                write(target / file.name, own_bytes(file, MAX_BYTES))
