"""Tasks as a server showed them in a conversation: in answers and in status notifications (2025-11-25)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, kind
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.protocol.value import Value

STATUS = "notifications/tasks/status"
ENDED = ("completed", "failed", "cancelled")
NOT_REQUESTED = -1
"""The place of the request of a notification, which has none."""


@dataclass(frozen=True)
class TaskSnapshot:
    """A task as the server showed it once.

    ``method`` is that of the answered request, or of the notification.  ``requested`` and ``shown`` are the
    indices of the request and of the message among the lines of the conversation.
    """

    method: str
    task: Value
    requested: int
    shown: int

    @property
    def id(self) -> str:
        """The id of the task; empty if it has none that is a string."""
        return task_id(self.task)

    @property
    def status(self) -> Any:
        """The status of the task, `ABSENT` if it has none."""
        return status_of(self.task)


@dataclass(frozen=True)
class TaskHistory:
    """The snapshots of one task in a conversation; ``request`` is the message that created it."""

    request: Any
    created: TaskSnapshot
    snapshots: list[TaskSnapshot]

    @property
    def end(self) -> int | None:
        """The index of the first line that shows the task ended, None if none does."""
        return min((one.shown for one in self.snapshots if one.status in ENDED), default=None)


def task_id(task: Value | None) -> str:
    """Return the id of a task; empty if it has none that is a string."""
    id = task.get("taskId") if task is not None else None
    return id.json if id is not None and id.is_a(str) else ""


def status_of(task: Value | None) -> Any:
    """Return the status of a task, `ABSENT` if it has none."""
    status = task.get("status") if task is not None else None
    return ABSENT if status is None else status.json


def has_tasks(session: Session) -> bool:
    """Return whether the client sent a request about tasks."""
    return any(_task_requests(session.lines))


def snapshots_in(lines: list[Line]) -> Iterator[TaskSnapshot]:
    """Yield every snapshot of a task in a conversation, in order."""
    requests: dict[IdKey, tuple[int, str]] = {}
    for index, line in enumerate(lines):
        if line.sent:
            requests |= {key: (index, method) for key, method in _task_requests([line])}
            continue
        for message in line.parts():
            if kind(message) is Kind.RESULT:
                at, method = requests.pop(id_key(message.get("id", ABSENT)), (NOT_REQUESTED, ""))
                result = Value(message["result"], "result", (lines[at], line))
                for task in _tasks_in(method, result):
                    yield TaskSnapshot(method, task, at, index)
            elif kind(message) is Kind.NOTIFICATION and message["method"] == STATUS:
                task = Value(message.get("params", {}), "params", (line,))
                if task.is_a(dict):
                    yield TaskSnapshot(STATUS, task, NOT_REQUESTED, index)


def _task_requests(lines: list[Line]) -> Iterator[tuple[IdKey, str]]:
    for line in lines:
        if line.sent and kind(line.message) is Kind.REQUEST:
            method = line.message["method"]
            is_task = Value(line.message).get("params", "task") is not None and method == "tools/call"
            if is_task or method in ("tasks/get", "tasks/cancel", "tasks/list"):
                yield id_key(line.message["id"]), method


def _tasks_in(method: str, result: Value) -> list[Value]:
    """Return the tasks in the result of a request."""
    if method == "tasks/list":
        found = result.get("tasks")
        return [task for task in found.each() if task.is_a(dict)] if found is not None else []
    task = result.get("task") if method == "tools/call" else result
    return [task] if method and task is not None and task.is_a(dict) else []


def task_histories(session: Session) -> list[TaskHistory]:
    """Return the tasks created in a conversation; an id that is used again belongs to a new task."""
    snapshots = defaultdict[str, list[TaskSnapshot]](list)
    for one in snapshots_in(session.lines):
        snapshots[one.id].append(one)
    return [
        TaskHistory(session.lines[one.requested].message, one, _of_task(one, same))
        for same in snapshots.values()
        for one in same
        if one.method == "tools/call"
    ]


def _of_task(task: TaskSnapshot, same_id: list[TaskSnapshot]) -> list[TaskSnapshot]:
    again = (
        one.requested for one in same_id if one.method == "tools/call" and one.requested > task.requested
    )
    end = min(again, default=float("inf"))
    return [one for one in same_id if task.requested < one.shown < end]


def signs_of_an_end(session: Session) -> Iterator[tuple[TaskSnapshot, int, Value]]:
    """Yield each created task with the line's index and the notification that shows its work done.

    The notification is one of the status, or progress that has reached its total.
    """
    for task in task_histories(session):
        for one in task.snapshots:
            if one.method == STATUS and one.status in ENDED:
                yield task.created, one.shown, one.task
        for progress in progress_in(session.lines):
            message = progress.notification
            done, total = (message.get("params", name) for name in ("progress", "total"))
            if progress.request is task.request and done and total and done.json == total.json:
                yield task.created, session.lines.index(message.lines[0]), message
