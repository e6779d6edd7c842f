"""Ways out of what is served: URIs that climb from the folder of a file to one that nobody serves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from urllib.parse import urlsplit

STEPS = ("../", "%2e%2e/", "..%2f", "%2e%2e%2f", "%252e%252e%252f", "..\\", "....//")
"""A step out of a folder, in the ways in which it is hidden from who looks for it."""


@dataclass(frozen=True)
class Climb:
    """A file that nobody serves and the ``secret`` in it, its ``direct`` URI, and those that climb to it."""

    secret: str
    direct: str
    uris: Sequence[str]


@contextmanager
def climbing(files: Sequence[str]) -> Iterator[Climb]:
    """A new file, and the URIs that climb to it from the folder of the first of some files."""
    with tempfile.TemporaryDirectory(prefix="mcp-conformance-climb-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, "secret.txt").resolve()
        secret = token_hex(16)
        file.write_text(secret)
        yield Climb(secret, file.as_uri(), list(_climbs(files[0], urlsplit(file.as_uri()).path)))


def _climbs(served: str, path: str) -> Iterator[str]:
    """URIs that go from the folder of a served file to the root, and from there to a path."""
    base = served.rpartition("/")[0]
    depth = len([name for name in urlsplit(base).path.split("/") if name])
    for step in STEPS:
        yield f"{base}/{step * depth}{path.removeprefix('/')}"
