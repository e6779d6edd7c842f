"""A pytest plugin that puts an error into the probe of the server."""

from mcp_conformance.plugin import collection


def pytest_configure():
    """Replace the probe."""
    collection.probe_all = crash


def crash(*_):
    """Raise an error as a probe with a bug does."""
    return {}["a member that the server left out"]
