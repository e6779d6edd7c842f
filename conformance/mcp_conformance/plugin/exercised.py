"""What a run exercised: its tools, and whether that is enough."""

from __future__ import annotations

import pytest

from mcp_conformance.plugin.collection import ran_all
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.report.exercise import ExercisedTool, exercised_tools, fetched
from mcp_conformance.report.text import lacking_line


def exercise_of(config: pytest.Config) -> tuple[ExercisedTool, ...]:
    """Return what was exercised of each tool, prompt and template, by all processes of the run."""
    state = run_state(config)
    earlier = state.earlier.exercise if state.earlier is not None else {}
    tools = exercised_tools(state.subject, state.counts.exercise, earlier, is_whole=ran_all(config))
    return (*tools, *fetched(state.counts.fetched))


def lacking(config: pytest.Config) -> str:
    """Return that less was exercised than the user requires; empty if it is enough, or if not all ran."""
    required = config.stash[RUN_OPTIONS].required_exercise
    if required is None or not ran_all(config):
        return ""
    failures = [one for surface in run_state(config).subject.live for one in surface.failures]
    if unlisted := next((one.reason for one in failures if one.is_unreached), ""):
        return f"{unlisted}, {required} of the tools required"
    return lacking_line(exercise_of(config), required)


def not_judged(config: pytest.Config) -> str:
    """Return that a run of some checks does not judge what was exercised; empty if it need not."""
    if config.stash[RUN_OPTIONS].required_exercise is None or ran_all(config):
        return ""
    return "not judged: what was exercised (--require-exercised), as not all checks were to run"
