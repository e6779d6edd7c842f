"""What a push leaves to the nightly run: ``TESTS=whole`` runs it too (`tox -e coverage` does)."""

import os
import zlib

import pytest

IS_NIGHTLY = os.environ.get("TESTS") == "whole"
nightly = pytest.mark.skipif(not IS_NIGHTLY, reason="another test is alike: TESTS=whole runs this one")


def some_of(values, share, *, name=str):
    """Return one in so many values, the same in each push; all of them in the nightly run."""
    if IS_NIGHTLY:
        return list(values)
    return [one for one in values if zlib.crc32(name(one).encode()) % share == 0]
