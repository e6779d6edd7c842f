"""A pytest plugin for which the next version brings a rule, or sharpens its check: ``COMING=added_in:ID``."""

import os

from mcp_conformance.requirements.catalogue import requirement

NEXT = "0.2"


def pytest_configure():
    """Change the row, which all parts of the program share."""
    member, _, id = os.environ["COMING"].partition(":")
    object.__setattr__(requirement(id), member, NEXT)
