"""The sandboxes that work here."""

import subprocess
from contextlib import contextmanager

import pytest

from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.sandbox.layer import Layer
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


@contextmanager
def layer_over_all(*written):
    """Give a layer over all files but the folders ``written``; skip the test if none can be made here."""
    layer = Layer(written)
    layer.around(Confined((), {}))
    if layer.reason:
        pytest.skip(f"no layer can be made here: {layer.reason}")
    try:
        yield layer
    finally:
        layer.close()


def run_in(layer, *command, **options):
    """Run a command in a layer over the files, and return what it wrote; its options are subprocess's."""
    confined = layer.around(Confined(command, {}))
    return subprocess.run(
        confined.command, pass_fds=confined.files, capture_output=True, text=True, check=False, **options
    )
