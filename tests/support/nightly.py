"""What a push leaves to the nightly run: ``TESTS=whole`` runs it too (`tox -e coverage` does)."""

import os
import sys
import zlib
from datetime import date

import pytest

PYTHONS = 4
"""On how many versions of Python a push runs."""
TURN = int(os.environ.setdefault("TURN", str(date.today().toordinal() * PYTHONS + sys.version_info[1])))
"""What a choice among tests that are alike turns with: another day, or another Python, makes another.

The variable keeps it the same in all workers of a run; given by hand, it repeats the choice of another run.
"""
IS_NIGHTLY = os.environ.get("TESTS") == "whole"
nightly = pytest.mark.skipif(not IS_NIGHTLY, reason="another test is alike: TESTS=whole runs this one")


def some_of(values, share, *, name=str):
    """Return one in so many values, the same in each push; all of them in the nightly run."""
    if IS_NIGHTLY:
        return list(values)
    return [one for one in values if zlib.crc32(name(one).encode()) % share == 0]
