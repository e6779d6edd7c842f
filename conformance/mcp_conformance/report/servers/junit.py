"""The combined report as JUnit XML: a suite for each server."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from mcp_conformance.protocol.text import named
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport

CASE = "tested"
"""The name of the case that says why a server was not tested."""


def render(servers: ServersReport) -> str:
    """Return the suites of all servers; a server without a suite has one case that says why."""
    root = Element("testsuites", name=named(servers.file))
    for one in servers.outcomes:
        suites = list(fromstring(one.junit)) if one.junit else []  # noqa: S314  (pytest wrote it)
        for suite in suites or [_untested(one, is_skipped=one.status is None and not servers.require_all)]:
            suite.set("name", named(one.name))
            for case in suite.iter("testcase"):
                case.set("classname", f"{named(one.name)}.{case.get('classname')}")
            root.append(suite)
    return tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _untested(one: ServerOutcome, *, is_skipped: bool) -> Element:
    counts = {"tests": "1", "errors": "0", "failures": "0", "skipped": "0"}
    kind = "skipped" if is_skipped else "failure"
    suite = Element("testsuite", {**counts, "skipped" if is_skipped else "failures": "1"})
    case = SubElement(suite, "testcase", classname="server", name=CASE)
    SubElement(case, kind, message=named(f"{one.word}: {one.text}".rstrip(": ")))
    return suite
