"""Path traversal: URIs that lead from the folder of a served file to a file outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from urllib.parse import urlsplit

from mcp_conformance.transport.throwaway import scratch_folder

STEPS = ("../", "%2e%2e/", "..%2f", "%2e%2e%2f", "%252e%252e%252f", "..\\", "....//")
"""A step to the parent folder, plain and in encodings that hide it from a filter."""


@dataclass(frozen=True)
class Traversal:
    """A file outside of all that is served, with a ``secret`` in it.

    ``direct`` is the file's own URI, ``uris`` those that lead to it from a served folder.
    """

    secret: str
    direct: str
    uris: Sequence[str]


@contextmanager
def path_traversal(served: str) -> Iterator[Traversal]:
    """Create a secret file, and URIs that lead to it from the folder of the served file's URI."""
    with scratch_folder("mcp-conformance-outside-") as folder:
        file = (folder / "secret.txt").resolve()
        secret = token_hex(16)
        file.write_text(secret)
        yield Traversal(secret, file.as_uri(), list(_uris(served, urlsplit(file.as_uri()).path)))


def _uris(served: str, path: str) -> Iterator[str]:
    """Yield URIs that go from the folder of a served file to the root, and from there to a path."""
    base = served.rpartition("/")[0]
    depth = len([name for name in urlsplit(base).path.split("/") if name])
    for step in STEPS:
        yield f"{base}/{step * depth}{path.removeprefix('/')}"
