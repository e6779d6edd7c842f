"""A pytest plugin that puts an error into the checks of ping."""


def pytest_collection_modifyitems(items):
    """Replace the checks of ping."""
    for item in items:
        if item.path.name == "test_ping.py":
            item.obj = crash


def crash(**fixtures):
    """Raise an error as a check with a bug does."""
    return {}["a member that the server left out"]
