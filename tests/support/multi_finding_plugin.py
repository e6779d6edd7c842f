"""A pytest plugin that gives each check of ping several findings."""

from mcp_conformance.verdicts import Blocked, Finding


def pytest_collection_modifyitems(items):
    """Replace the checks of ping."""
    for item in items:
        if item.path.name == "test_ping.py":
            item.obj = raise_several


def raise_several(**fixtures):
    """Raise a broken SHOULD, with a broken MUST, a note and a blocked rule."""
    raise Finding("a page", "none", requirement="pagination.invalid-cursor-code").with_others(
        [
            Finding("a title", "null", requirement="tools.def.title-string"),
            Finding("no code", "a code", requirement="errors.method-not-found-code"),
            Blocked("the server ended", requirement="ping.responds"),
        ]
    )
