"""Tools and lists that change at times, or end their process, are not accused of anything else."""

import pytest

from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.mutants import method, params
from mcp_conformance_fixtures.reference import SILENCE
from support.bench import Bench, run_checks, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
ROOTS = "clientfeature.roots.capability-checked"
OPTIONAL, CASE = "tools.call.arguments-optional", "tools.def.name-case-sensitive"


def calls_of(name, request):
    """Return the params of a call of a tool, None if the request is another one."""
    return params(request) if method(request) == "tools/call" and params(request)["name"] == name else None


def verdicts(serve, *ids):
    """Return the ids of the rules that some checks report."""
    settings = settings_in_memory(mutated(serve), timeout=5.0)
    found = run_checks(settings, REVISION, lambda check: not check.ids.isdisjoint(ids), is_whole=False)
    return {verdict.row.id for verdict in found.verdicts}


@pytest.mark.parametrize(
    ("fails", "reported"),
    [(lambda given, number: number % 2, set()), (lambda given, number: "arguments" not in given, {OPTIONAL})],
    ids=["every second call", "without arguments"],
)
def test_a_tool_that_fails_at_times_is_not_accused(fails, reported):
    def serve(server, request, reply):
        if (given := calls_of("nothing", request)) is None:
            return None
        number = server.memory["calls"] = server.memory.get("calls", -1) + 1
        failure = {"content": [{"type": "text", "text": "Try again later."}], "isError": True}
        return {**reply, "result": failure} if fails(given, number) else None

    assert verdicts(serve, OPTIONAL) == reported


def test_the_end_of_a_process_is_not_that_of_the_next_call():
    def serve(server, request, reply):
        if server.memory.get("stopped") and "id" in (request or ()):
            raise SystemExit
        server.memory["stopped"] = calls_of("nothing", request) is not None

    settings = settings_in_memory(mutated(serve), timeout=5.0)
    subject = probe_all(settings, (REVISION,))
    server = Bench(subject, REVISION).server
    call = server.call(server.tool("add"))
    server.shared("calls").request("tools/call", {"name": "nothing", "arguments": {}})
    assert server.call_again(call, {"name": "add", "arguments": call.arguments}).result == call.reply.result


@pytest.mark.parametrize(("status", "reported"), [(0, set()), (3, {ROOTS})], ids=["quits", "crashes"])
def test_a_server_that_quits_between_the_calls_of_a_capable_client_is_not_blocked(status, reported):
    def serve(server, request, reply):
        if server.memory.get("stopped") and "id" in (request or ()):
            raise SystemExit(status)
        server.memory["stopped"] = calls_of("nothing", request) is not None and "roots" in server.client

    assert verdicts(serve, ROOTS) == reported


@pytest.mark.parametrize(("steps", "reported"), [(100, set()), (1, {"tools.call.listed-is-callable"})])
def test_a_tool_that_is_still_at_work_is_not_blocked(steps, reported):
    def serve(server, request, reply):
        if (given := calls_of("nothing", request)) is None:
            return None
        token = given.get("_meta", {}).get("progressToken")
        for step in range(steps if token else 0):
            note = {"progressToken": token, "progress": step}
            server.schedule(0.1 * step, lambda note=note: server.notify("notifications/progress", note))
        return SILENCE

    assert verdicts(serve, "tools.call.listed-is-callable") == reported


def test_a_list_that_differs_every_second_time_does_not_depend_on_unknown_keys():
    def serve(server, request, reply):
        if method(request) != "prompts/list":
            return None
        server.memory["lists"] = server.memory.get("lists", 0) + 1
        del reply["result"]["prompts"][: server.memory["lists"] % 2]
        return reply

    assert verdicts(serve, "meta.unknown-request-keys") == set()
