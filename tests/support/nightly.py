"""What a push leaves to the nightly run: ``TESTS=whole`` runs it too (`tox -e coverage` does)."""

import os

import pytest

nightly = pytest.mark.skipif(
    os.environ.get("TESTS") != "whole", reason="another test is alike: TESTS=whole runs this one"
)
