"""What was exercised: calls, successes, different answers, and where their arguments came from."""

import json

import pytest

from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import ABSENT, Line, encode
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.exercise import (
    MADE_UP,
    MAX_KINDS,
    MAX_ORIGINS,
    NEEDS_NONE,
    Exercise,
    ToolExercise,
    arguments_in,
)

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}}
KNOWN = "an answer of list_notes"


def tool(name="read_note", schema=NAMED, **members):
    return Tool(Value({"name": name, "inputSchema": schema, **members}, "tool"))


def request(arguments):
    params = {"name": "read_note", "arguments": arguments}
    return Line.sending({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def answered(text, name="example", **result):
    result = {"content": [{"type": "text", "text": text}], **result}
    return Reply(request({"name": name}), message={"jsonrpc": "2.0", "id": 1, "result": result})


def origins_of(tool, arguments):
    return (KNOWN,) if arguments.get("name") == "groceries" else ()


@pytest.fixture
def exercise():
    return Exercise(origins_of)


def figures(exercise, name="read_note"):
    one = exercise[name]
    return one.calls, one.successes, one.answers, one.origins


def test_answers_are_counted_by_their_kinds(exercise):
    for reply in (answered("a 1"), answered("a 2"), answered("b"), answered("no", isError=True)):
        exercise.count(tool(), reply)
    assert figures(exercise) == (4, 3, 2, [MADE_UP])


@pytest.mark.parametrize("flags", [{}, {"isError": True}])
def test_a_call_that_reaches_no_host_says_so_whatever_its_flag(exercise, flags):
    exercise.count(tool(), answered("Error searching libraries: TypeError: fetch failed", **flags))
    assert (exercise["read_note"].complaint, exercise["read_note"].successes) == ("fetch failed", 0)


def test_a_prompt_that_reaches_no_host_says_so(exercise):
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": 0, "message": "dial tcp: lookup db.example"}}
    request = Line.sending({"jsonrpc": "2.0", "id": 1, "method": "prompts/get"})
    exercise.count_fetch(tool(), Reply(request, request, refused), {})
    assert (exercise["read_note"].complaint, exercise["read_note"].calls) == ("dial tcp", 1)


def test_the_answer_to_made_up_values_is_no_success_once_known_ones_get_another(exercise):
    exercise.count(tool(), answered("there is no example"))
    exercise.count(tool(), answered("there is no thing", "thing"))
    assert figures(exercise) == (2, 2, 1, [MADE_UP])
    exercise.count(tool(), answered("there is no groceries", "groceries"))
    assert figures(exercise) == (3, 3, 1, [KNOWN, MADE_UP])
    exercise.count(tool(), answered("milk and bread", "groceries"))
    assert figures(exercise) == (4, 1, 1, [KNOWN])


def test_a_tool_without_members_needs_no_arguments(exercise):
    reply = Reply(request({}), message={"result": {"content": []}})
    exercise.count(tool("list_notes", {"type": "object"}), reply)
    assert figures(exercise, "list_notes") == (1, 1, 1, [NEEDS_NONE])


def test_what_needs_a_task_or_the_client_is_not_counted(exercise):
    exercise.count(tool(execution={"taskSupport": "required"}), answered("a"))
    exercise.count(tool("ask"), answered("a", resultType="input_required"))
    assert list(exercise) == ["ask"]
    assert (exercise["ask"].calls, exercise["ask"].asks) == (0, 1)


def test_a_tool_without_valid_arguments_has_an_obstacle(exercise):
    exercise.leave_out(tool(), "no valid arguments: none match")
    exercise.add(Exercise.from_data(exercise.as_data()))
    assert (exercise["read_note"].calls, exercise["read_note"].obstacle) == (
        0,
        "no valid arguments: none match",
    )


def test_a_call_that_ends_the_process_is_a_death(exercise):
    exercise.count(tool(), Reply(request({}), fault=Closed(1)))
    assert exercise["read_note"].deaths == exercise["read_note"].calls == 1


def test_counts_are_the_same_after_they_were_shipped(exercise):
    for reply in (answered("a"), answered("b", "groceries"), answered("no", isError=True)):
        exercise.count(tool(), reply)
    shipped = Exercise.from_data(json.loads(json.dumps(exercise.as_data())))
    assert dict(shipped) == dict(exercise)


def test_merged_counts_tell_the_same_answers_apart(exercise):
    other = Exercise(origins_of)
    for one, texts in ((exercise, "aab"), (other, "bc")):
        for text in texts:
            one.count(tool(), answered(text))
    exercise.add(other)
    assert figures(exercise) == (5, 5, 3, [MADE_UP])


def test_memory_has_a_limit():
    one = ToolExercise()
    for number in range(2 * MAX_KINDS):
        one.succeed(f"kind {number}", [f"origin {number}"], is_known=number % 3 == 0)
    assert len(one.origins_of) <= 2 * MAX_KINDS + 2
    assert one.answers <= MAX_KINDS
    assert len(one.origins) <= MAX_ORIGINS
    one.succeed("the last", ["origin 0"], is_known=False)
    assert sum(one.made_up.values()) + sum(one.known.values()) == 2 * MAX_KINDS + 1


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        (request({"a": 1}), {"a": 1}),
        (Line(True, request({"a": 1}).raw, message={"method": "tools/call"}), {"a": 1}),
        (Line(True, b"{", message=ABSENT), None),
        (Line(True, encode({"params": []}), message=ABSENT), None),
    ],
)
def test_arguments_are_read_from_any_request(line, arguments):
    assert arguments_in(line) == arguments
