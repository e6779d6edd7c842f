"""Wrong requests and lines: what is sent, and what a missing answer after them shows."""

import sys

import pytest

from mcp_conformance.outcome import Defect
from mcp_conformance.scenarios.invalid_requests import unknown_calls
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings
from mcp_conformance.verdicts import defect_of
from mcp_conformance_fixtures.reference import Reference
from support.bench import run_checks, settings_in_memory

REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference")


@pytest.fixture
def server(request):
    settings = Settings(REFERENCE, call=request.param)
    server = Server(settings, probe(settings, "2025-06-18", exactly=True))
    yield server
    server.close()


def sent_arguments(server):
    """Return the arguments of each call of an unknown tool."""
    return [reply.request.message["params"]["arguments"] for reply in unknown_calls(server)]


@pytest.mark.parametrize("server", [("all",)], indirect=True)
def test_an_unknown_tool_gets_the_arguments_of_listed_tools(server):
    assert {"a", "b"} in [set(arguments) for arguments in sent_arguments(server)]


@pytest.mark.parametrize("server", [("add",), ()], indirect=True)
def test_arguments_of_a_forbidden_tool_are_not_sent(server):
    assert sent_arguments(server) == [{}]


class SilentOnce(Reference):
    """A server whose first process with a line that is no message falls silent; the others do as told."""

    silent = 0

    def __init__(self, out, *, ends):
        super().__init__(out=out)
        self.ends, self.is_silent = ends, False

    def take(self, line):
        """Read a line, unless the process has fallen silent."""
        if line.strip() == b"42" and not SilentOnce.silent:
            SilentOnce.silent += 1
            self.is_silent = True
        if line.strip() == b"42" and self.ends and not self.is_silent:
            raise SystemExit(0)
        if not self.is_silent:
            super().take(line)


@pytest.mark.parametrize(("ends", "defects"), [(True, [Defect.DIES]), (False, [])])
def test_a_process_that_falls_silent_at_a_line_is_judged_by_another_one(ends, defects):
    """A busy machine lets a process end so late that it seems to be silent."""
    SilentOnce.silent = 0
    settings = settings_in_memory(lambda out, _: SilentOnce(out, ends=ends), timeout=5.0)
    rule = "errors.invalid-request-code"
    run = run_checks(settings, "2025-11-25", lambda check: rule in check.ids, is_whole=False)
    found = [one for one in run.verdicts if one.row.id == "jsonrpc.garbage-not-fatal"]
    assert [defect_of(one.error, one.row, one.revision) for one in found] == defects
    assert SilentOnce.silent == 1
