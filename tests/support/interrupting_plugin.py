"""A pytest plugin that presses Ctrl-C during the second check."""

RUN = []


def pytest_runtest_call(item):
    """Stop the run."""
    RUN.append(item)
    if len(RUN) == 2:
        raise KeyboardInterrupt
