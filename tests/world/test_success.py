"""Success of a call: by the type of the answer, and answers of one kind."""

import time

import pytest

from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.world.success import is_empty, is_success, kind_of, says_failure

REQUEST = Line.sending({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}})


def answer(text="done", **members):
    result = {"content": [{"type": "text", "text": text}], **members}
    return Reply(REQUEST, message={"jsonrpc": "2.0", "id": 1, "result": result})


@pytest.mark.parametrize(
    "reply",
    [
        answer(),
        answer("", structuredContent={"notes": [{"id": 1}]}),
        answer("[0, 1]"),
        answer("Nothing was found."),
        answer('{"success": true, "rows": [1]}'),
        answer('{"job": "backup", "status": "error", "runs": 3}'),
        answer('{"status": "ok", "message": "saved"}'),
        answer('{"found": true, "error": null, "line": 3}'),
        answer('{"found": false, "total": 3, "error": null}'),
    ],
)
def test_a_result_with_a_value_is_a_success(reply):
    assert is_success(reply)


@pytest.mark.parametrize(
    "reply",
    [
        answer(isError=True),
        answer(resultType="input_required"),
        answer("Error: no such table: example"),
        answer("fetch failed: getaddrinfo ENOTFOUND example.org"),
        answer(""),
        answer('{\n  "success": false,\n  "table": "example"\n}'),
        answer('{"/srv/a.txt": {"result": "error", "reason": "Hash mismatch", "content": "a"}}'),
        answer('{"ok": false, "id": "example"}'),
        answer('{"status": "not_found", "summary": "No flow found"}'),
        answer('{"status": "task_not_found", "message": "No such task"}'),
        answer('{"found": false, "symbol": "example", "callers": [], "error": "Symbol not found: example"}'),
        answer('{\n  "status": "error",\n  "message": "Request not found"\n}'),
        answer('{"entities": [], "relations": []}'),
        answer("no notes", structuredContent={"notes": [], "total": 0}),
        Reply(REQUEST, message={"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}),
        Reply(REQUEST, fault=Closed(1)),
    ],
)
def test_an_error_a_refusal_in_words_and_an_empty_result_are_none(reply):
    assert not is_success(reply)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ('{"success": false, "message": "no such note"}', True),
        ('{"error": true, "code": "not_found", "message": "no such note"}', True),
        ('{"status": "error", "error": "no such note"}', True),
        ('{"status": "not_found", "summary": "no such note"}', False),
        ('{"success": false, "passed": 3}', False),
        ('{"id": 1, "error": "exit 1"}', False),
        ('["error"]', False),
        ('{"success": false', False),
    ],
)
def test_a_failure_that_json_tells_has_a_reason(text, fails):
    assert says_failure(answer(text)) is fails


def test_a_tool_that_needs_nothing_succeeds_by_answering():
    assert is_success(answer("[]"), needs_values=False)
    assert not is_success(answer("[]", isError=True), needs_values=False)
    assert not is_success(answer("Error: no document is open"), needs_values=False)


@pytest.mark.parametrize(
    ("result", "empty"),
    [
        ({"content": []}, True),
        ({}, True),
        (None, True),
        ({"content": [{"type": "text", "text": "null"}]}, True),
        ({"content": [{"type": "text", "text": "false"}, {"type": "text", "text": "0"}]}, True),
        ({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}, False),
        ({"content": [{"type": "text", "text": "[[], {}, [false]]"}]}, True),
        ({"content": [{"type": "text", "text": "[" * 100_000}]}, False),
        ({"structuredContent": {"result": ""}, "content": [{"type": "text", "text": "x"}]}, True),
        ({"structuredContent": {}, "content": [{"type": "text", "text": "x"}]}, False),
        ({"structuredContent": {"found": True}}, False),
    ],
)
def test_an_empty_result_is_known_by_its_types(result, empty):
    assert is_empty(result) is empty


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((answer("Note 5 was made"), {}), (answer("Note 1234 was made"), {})),
        ((answer("no note b"), {"id": "b"}), (answer("no note a/c"), {"id": "a/c"})),
        ((answer('{"at": "2026-10-19T10:00"}'), {}), (answer('{"at": "2025-01-02T11:59"}'), {})),
        ((answer('{"no": "a\\"b"}'), {"x": ['a"b']}), (answer('{"no": "c"}'), {"x": ["c"]})),
        ((answer(_meta={"at": "noon"}), {}), (answer(), {})),
        ((answer("id a1b2-c3"), {}), (answer("id 77aa-9"), {})),
        ((answer("sum -1.5e+307"), {}), (answer("sum 2"), {})),
        ((answer("at 2026-10-19T10:00:00.5+02:00."), {}), (answer("at 7."), {})),
        ((answer(" "), {"x": " "}), (answer("b"), {"x": "b"})),
        ((answer('{"city": "x"}'), {"x": "{"}), (answer('{"city": "x"}'), {"x": "}"})),
        ((answer("x" * 50_000), {"x": "x" * 50_000}), (answer("b"), {"x": "b"})),
        ((answer("no a"), {"x": "a", "y": {"z": [" "]}}), (answer("no b"), {"x": "b"})),
    ],
)
def test_our_values_and_numbers_make_no_other_kind(one, other):
    assert kind_of(*one) == kind_of(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (answer("no note a"), answer("title: groceries")),
        (answer("done", structuredContent={"a": True}), answer("done", structuredContent={"a": False})),
        (answer("done", structuredContent={"a": "b"}), answer("done", structuredContent={"c": "b"})),
    ],
)
def test_other_answers_are_of_another_kind(one, other):
    assert kind_of(one, {"id": "a"}) != kind_of(other, {"id": "a"})


def test_a_short_value_of_ours_does_not_change_words_that_contain_it():
    assert kind_of(answer("a banana of a"), {"x": "a"}) == kind_of(answer("b banana of b"), {"x": "b"})


@pytest.mark.parametrize("text", ["x", "-", "x1", "x ", "1 ", "1.", "1.x"])
def test_an_answer_is_read_to_a_limit(text):
    began = time.thread_time()
    assert len(kind_of(answer(text * 1_000_000), {})) < 10_000
    assert time.thread_time() - began < 10.0  # 0.2 s; where it takes quadratic time, hours
