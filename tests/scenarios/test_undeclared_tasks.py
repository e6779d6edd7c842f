"""A server whose tasks cannot be listed or cancelled is not asked to list or to cancel them."""

from mcp_conformance_fixtures.mutants import method
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

UNDECLARED = ("tasks/list", "tasks/cancel")


def test_undeclared_requests_about_tasks_are_not_sent():
    requested = []

    def serve(server, request, reply):
        if method(request) == "initialize":
            del reply["result"]["capabilities"]["tasks"]["list"]
            del reply["result"]["capabilities"]["tasks"]["cancel"]
            return reply
        if method(request) in UNDECLARED:
            requested.append(request)
        return None

    settings = settings_in_memory(mutated(serve), timeout=5.0)
    found = run_checks(settings, "2025-11-25", lambda check: check.source.suite.startswith("test_tasks"))
    assert found.passed
    assert (found.failures, found.verdicts, requested) == ([], [], [])
