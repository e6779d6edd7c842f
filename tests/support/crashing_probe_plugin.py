"""A pytest plugin that puts an error into the probe of the server."""

from mcp_conformance.options import probing


def pytest_configure():
    """Replace the probe."""
    vars(probing)["probe_all"] = crash  # the name that the module imported


def crash(*_):
    """Raise an error as a probe with a bug does."""
    return {}["a member that the server left out"]
