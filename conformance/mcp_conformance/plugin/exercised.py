"""What a run exercised: its tools, whether that is enough, and the properties of JUnit's XML that say so."""

from __future__ import annotations

import pytest
from _pytest.junitxml import xml_key

from mcp_conformance.plugin.collection import ran_all
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.protocol.text import named
from mcp_conformance.report.exercise import ExercisedTool, exercised_tools, fetched
from mcp_conformance.report.hosts import asked_hosts
from mcp_conformance.report.model import plural
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


def note_in_junit(config: pytest.Config) -> None:
    """Add what was exercised and asked to the properties of the suite, if pytest writes JUnit's XML."""
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    redacted = run_state(config).subject.settings.redaction
    for host in redacted(asked_hosts(run_state(config).counts.hosts)):
        request = f"{named(host.request)}: {plural(host.times, 'time')}, {host.sent} bytes"
        xml.add_global_property(f"asks {named(host.host)} {host.occasion}", request)
    tools = redacted(exercise_of(config))
    could = [one for one in tools if one.is_callable]
    if could:
        done = sum(one.is_exercised for one in could)
        xml.add_global_property("tools exercised", f"{done} of {len(could)}")
    for one in (one for one in tools if not one.why_not):
        origins = f" ({', '.join(one.origins)})" if one.origins else ""
        numbers = f"{plural(one.calls, 'call')}, {one.successes} succeeded, {plural(one.answers, 'answer')}"
        xml.add_global_property(f"{one.kind} {named(one.name)}", f"{numbers}{origins}")
