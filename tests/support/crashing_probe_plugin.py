"""A pytest plugin that puts a mistake of ours into the first look at the server."""

from conformance.plugin import collection


def pytest_configure():
    """Spoil it."""
    collection.probe_all = crash


def crash(*_):
    """What a look with a mistake in it does."""
    return {}["a member that the server left out"]
