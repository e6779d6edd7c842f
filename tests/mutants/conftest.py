"""Which rules the mutants of this run have proven: the end of a run says so."""

import pytest


@pytest.fixture(autouse=True)
def proves(request, record_property):
    """Note which rules a mutant breaks, which its test proves if it passes."""
    params = getattr(request.node, "callspec", None)
    run = params.params.get("run") if params is not None else None
    if hasattr(run, "expect_found") and "is_found" in request.node.name:
        record_property("proves", list(run.mutant.breaks))
