"""Tasks of the extension: which calls are made to find some, and what becomes of those that were created."""

import json
from dataclasses import replace

from mcp_conformance_fixtures import reference_xtasks
from mcp_conformance_fixtures.mutants import is_call, member, method, params
from mcp_conformance_fixtures.reference_tasks import ENDED
from mcp_conformance_fixtures.reference_xtasks import EXTENSION, METHODS
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

REVISION = "2026-07-28"
FROM_TASKS = "test_the_result_of_a_look_is_complete"
"""A check that passes only if it has seen a task."""


class Watched:
    """A reference server, unchanged or changed by `mutate`, with the requests that it got."""

    def __init__(self, mutate=lambda server, request, reply: None):
        self.mutate = mutate
        self.requests = []
        self.servers = {}

    def __call__(self, server, request, reply):
        """Note a request, and let it be changed."""
        self.servers[id(server)] = server
        if isinstance(request, dict) and reply is not None:
            self.requests.append(request)
        return self.mutate(server, request, reply)

    def run(self, **changed):
        """Run the checks of tasks, and return what they found."""
        settings = replace(settings_in_memory(mutated(self), timeout=5.0), **changed)
        return run_checks(settings, REVISION, lambda one: one.suite == "test_xtasks", is_whole=False)

    @property
    def with_extension(self):
        """The names of the tools that were called with the extension."""
        return {params(one).get("name") for one in self.requests if is_call(one) and declares(one)}

    @property
    def statuses(self):
        """The statuses of all tasks that there are."""
        return {
            task.status for server in self.servers.values() for task in server.modern.tasks.known.values()
        }


def declares(request):
    return EXTENSION in json.dumps(params(request).get("_meta", {}))


def test_each_task_that_a_run_creates_comes_to_its_end():
    watched = Watched()
    found = watched.run()
    assert (found.failures, found.verdicts) == ([], [])
    assert watched.statuses
    assert watched.statuses <= set(ENDED)


def test_a_task_that_never_ends_is_cancelled():
    def stays(server, request, reply):
        task = server.modern.tasks.known.get(params(request).get("taskId"))
        if method(request) == "tasks/get" and task is not None:
            task.is_seen = False
            member(reply, "result")["pollIntervalMs"] = 1000

    watched = Watched(stays)
    found = watched.run()
    assert [verdict.text for verdict in found.verdicts] == []
    assert "cancelled" in watched.statuses
    assert watched.statuses <= set(ENDED)


def test_tools_that_change_something_are_not_tried_if_others_make_tasks():
    watched = Watched()
    watched.run()
    assert watched.with_extension >= {"count", "report"}
    assert watched.with_extension.isdisjoint({"grow", "change"})


def test_only_permitted_tools_are_tried():
    watched = Watched()
    found = watched.run(call=("report", "ask"))
    assert watched.with_extension == {"report", "ask"}
    assert FROM_TASKS in found.passed


def test_a_server_that_makes_no_task_is_not_judged_by_tasks(monkeypatch):
    monkeypatch.setattr(reference_xtasks, "AS_TASKS", set())
    watched = Watched()
    found = watched.run()
    assert (found.failures, found.verdicts) == ([], [])
    assert "test_a_look_at_an_unknown_task_is_refused" in found.passed
    assert FROM_TASKS not in found.passed


def test_a_server_that_wants_few_polls_gets_few():
    def is_patient(server, request, reply):
        task = member(reply, "result")
        if "pollIntervalMs" in task:
            task["pollIntervalMs"] = 4000

    watched = Watched(is_patient)
    found = watched.run()
    assert [verdict.text for verdict in found.verdicts] == []
    assert FROM_TASKS in found.passed
    looks = sum(method(one) == "tasks/get" for one in watched.requests)
    assert looks < 60


def test_a_server_without_the_extension_is_asked_nothing():
    def offers_none(server, request, reply):
        if method(request) == "server/discover":
            member(reply, "result")["capabilities"].pop("extensions", None)

    watched = Watched(offers_none)
    found = watched.run()
    assert (found.failures, found.verdicts, found.passed) == ([], [], set())
    assert not any(declares(one) or method(one) in METHODS for one in watched.requests)
    assert not any(is_call(one) for one in watched.requests)


def test_a_tool_error_that_becomes_an_error_is_a_note():
    """FastMCP 4.1 does so with the errors of the protocol that a tool raises."""

    def fails(server, request, reply):
        task = member(reply, "result")
        if method(request) == "tasks/get" and member(task, "result").get("isError"):
            del task["result"]
            task |= {"status": "failed", "error": {"code": -32050, "message": "The protocol breaks."}}

    found = Watched(fails).run()
    assert [(one.row.id, one.outcome) for one in found.verdicts] == [("xtasks.iserror-completes", "info")]
