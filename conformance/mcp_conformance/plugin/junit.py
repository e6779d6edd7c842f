"""What JUnit's XML says of the whole run, as properties: the verdict, the defects, tools and hosts."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from _pytest.junitxml import xml_key

from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.outcomes import notices, run_facts
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.protocol.text import named
from mcp_conformance.report.build import build_report
from mcp_conformance.report.connecting import in_words
from mcp_conformance.report.model import Report, plural
from mcp_conformance.report.text import clients_title, defect_lines


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add the properties before pytest writes the file, once the server's processes have ended.

    `execution` is registered after this module, so its hook comes first.
    """
    config = session.config
    xml, state = config.stash.get(xml_key, None), run_state(config)
    if xml is None or state.probed is None or hasattr(config, "workerinput"):
        return
    facts = run_facts(session, state.begun_at, time.monotonic() - state.begun)
    given = config.stash[RUN_OPTIONS].given
    report = build_report(state.probed, state.results, facts, given, notices(config))
    for name, value in _properties(report):
        xml.add_global_property(name, value)


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    """Yield names and values: the two axes of the verdict first."""
    yield "verdict", report.verdict
    for defect, line in defect_lines(report):
        yield f"defect {defect.kind}", line
    if report.clients:
        yield clients_title(report), in_words(report.clients)
    for host in report.hosts:
        request = f"{named(host.request)}: {plural(host.times, 'time')}, {host.sent} bytes"
        yield f"asks {named(host.host)} {host.occasion}", request
    could = [one for one in report.exercise if one.is_callable]
    if could:
        yield "tools exercised", f"{sum(one.is_exercised for one in could)} of {len(could)}"
    for one in (one for one in report.exercise if not one.why_not):
        origins = f" ({', '.join(one.origins)})" if one.origins else ""
        numbers = f"{plural(one.calls, 'call')}, {one.successes} succeeded, {plural(one.answers, 'answer')}"
        yield f"{one.kind} {named(one.name)}", f"{numbers}{origins}"
