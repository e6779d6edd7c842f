"""The tasks of the reference server, over pipes."""

import pytest
from test_reference import ICONS, REVISIONS, Wire

from mcp_conformance_fixtures.reference_tasks import RELATED, STATUS, WAIT

MEMBERS = {"taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}
ELICITING = {"elicitation": {"form": {}}}


@pytest.fixture
def wire():
    with Wire(ICONS) as opened:
        yield opened


def create(wire, name="report", arguments=None, **task):
    created = wire.result("tools/call", name=name, arguments=arguments or {}, task=task)
    assert created["_meta"][RELATED]["taskId"] == created["task"]["taskId"]
    return created["task"]


def task_request(wire, method, task):
    return wire.ask(method, taskId=task["taskId"])


def test_a_task_works_until_its_result_is_requested(wire):
    task = create(wire, ttl=60000)
    assert set(task) == MEMBERS
    assert (task["status"], task["ttl"]) == ("working", 60000)
    assert task_request(wire, "tasks/get", task)["result"]["status"] == "working"
    result = task_request(wire, "tasks/result", task)["result"]
    assert result["content"] == wire.call("report")["content"]
    assert result["_meta"][RELATED]["taskId"] == task["taskId"]
    assert task_request(wire, "tasks/get", task)["result"]["status"] == "completed"
    assert task_request(wire, "tasks/result", task)["result"] == result


def test_a_task_completes_if_it_is_only_polled(wire):
    task = create(wire)
    statuses = [task_request(wire, "tasks/get", task)["result"]["status"] for _ in range(WAIT)]
    assert statuses == ["working"] * (WAIT - 1) + ["completed"]
    related = [one["method"] for one in wire.notifications if RELATED in one["params"].get("_meta", {})]
    assert related == ["notifications/message"]
    assert [one["params"]["status"] for one in wire.notifications if one["method"] == STATUS] == ["completed"]


def test_a_failed_tool_call_fails_its_task(wire):
    task = create(wire, "fail", {"reason": "disk full"})
    assert task_request(wire, "tasks/result", task)["result"]["isError"] is True
    assert task_request(wire, "tasks/get", task)["result"]["status"] == "failed"


def test_a_ttl_is_as_requested_up_to_a_limit(wire):
    assert create(wire, ttl=10**12)["ttl"] == 3_600_000
    assert create(wire)["ttl"] is None
    for wrong in (5, {"ttl": "1"}, {"ttl": -1}, {"ttl": True}):
        assert wire.code("tools/call", name="report", task=wrong) == -32602


def test_tools_are_called_as_their_task_support_requires(wire):
    assert wire.code("tools/call", name="ponder", arguments={}) == -32601
    assert wire.code("tools/call", name="nothing", arguments={}, task={}) == -32601
    assert wire.code("tools/call", name="add", arguments={"a": 1, "b": 2}, task={}) == -32601
    assert create(wire, "ponder")["status"] == "working"


def test_a_cancelled_task_stays_cancelled(wire):
    task = create(wire)
    assert task_request(wire, "tasks/cancel", task)["result"]["status"] == "cancelled"
    assert task_request(wire, "tasks/cancel", task)["error"]["code"] == -32602
    assert task_request(wire, "tasks/result", task)["error"]["code"] == -32603
    for _ in range(WAIT):
        assert task_request(wire, "tasks/get", task)["result"]["status"] == "cancelled"
        assert wire.notifications == []


def test_tasks_are_listed_page_by_page(wire):
    made = [create(wire)["taskId"] for _ in range(4)]
    first = wire.result("tasks/list")
    second = wire.result("tasks/list", cursor=first["nextCursor"])
    assert [task["taskId"] for page in (first, second) for task in page["tasks"]] == made
    assert "nextCursor" not in second
    assert wire.code("tasks/list", cursor="zork") == -32602


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
def test_an_unknown_task_is_refused(wire, method):
    assert wire.code(method, taskId="zork") == wire.code(method) == wire.code(method, taskId=5) == -32602


def ask_for_result(wire, task):
    """Request the result of a task that requires input; return its request to the client."""
    wire.send({"jsonrpc": "2.0", "id": 77, "method": "tasks/result", "params": {"taskId": task["taskId"]}})
    status, request = wire.read(), wire.read()
    assert (status["method"], status["params"]["status"]) == (STATUS, "input_required")
    assert request["params"]["_meta"][RELATED]["taskId"] == task["taskId"]
    return request


def test_a_task_that_requires_input_waits_for_the_answer():
    with Wire(ICONS, capabilities=ELICITING) as wire:
        task = create(wire, "ask")
        request = ask_for_result(wire, task)
        assert task_request(wire, "tasks/get", task)["result"]["status"] == "input_required"
        wire.send({"jsonrpc": "2.0", "id": request["id"], "result": {"action": "decline"}})
        assert wire.read()["params"]["status"] == "completed"
        answer = wire.read()
        assert (answer["id"], answer["result"]["content"][0]["type"]) == (77, "text")


def test_the_request_of_a_cancelled_task_is_cancelled():
    with Wire(ICONS, capabilities=ELICITING) as wire:
        task = create(wire, "ask")
        request = ask_for_result(wire, task)
        wire.send(
            {"jsonrpc": "2.0", "id": 78, "method": "tasks/cancel", "params": {"taskId": task["taskId"]}}
        )
        cancellation, status, *answers = [wire.read() for _ in range(4)]
        assert cancellation["params"]["requestId"] == request["id"]
        assert status["params"]["status"] == "cancelled"
        assert [(answer["id"], "error" in answer) for answer in answers] == [(77, True), (78, False)]


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_older_revisions_have_no_tasks(revision):
    with Wire(revision) as wire:
        assert wire.code("tasks/list") == -32601
        assert "task" not in wire.result("tools/call", name="report", arguments={}, task={})
        assert "ponder" not in [tool["name"] for tool in wire.all("tools/list")]
