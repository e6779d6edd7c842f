"""What a push leaves to the nightly run: ``TESTS=whole`` runs it too (`tox -e coverage` does)."""

import os
import zlib

import pytest

nightly = pytest.mark.skipif(
    os.environ.get("TESTS") != "whole", reason="another test is alike: TESTS=whole runs this one"
)


def some_of(values, share, *, name=str):
    """Return one in so many values, the same in each push; all of them in the nightly run."""
    if os.environ.get("TESTS") == "whole":
        return list(values)
    return [one for one in values if zlib.crc32(name(one).encode()) % share == 0]
