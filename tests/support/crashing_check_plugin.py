"""A pytest plugin that puts a mistake of ours into the checks of ping."""


def pytest_collection_modifyitems(items):
    """Spoil the checks of ping."""
    for item in items:
        if item.path.name == "test_ping.py":
            item.obj = crash


def crash(**fixtures):
    """What a check with a mistake in it does."""
    return {}["a member that the server left out"]
