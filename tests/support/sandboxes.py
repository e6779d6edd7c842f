"""The sandboxes that work here."""

import pytest

from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.sandbox.sandbox import Choice


def sandbox_of(kind):
    """Return the sandbox of a kind; None if it does not work here."""
    try:
        return Choice(kind).sandbox()
    except Unavailable:
        return None


def require_sandbox(kind):
    """Return the sandbox of a kind; skip the test if it does not work here."""
    try:
        return Choice(kind).sandbox()
    except Unavailable as reason:
        pytest.skip(str(reason))
