"""The fixtures of the official suite: what it asks for is there, and the reference itself is as before."""

import json

import pytest

from mcp_conformance_fixtures.reference_http import HttpReference
from mcp_conformance_fixtures.reference_http_official import Official, OfficialSession

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
CLIENT = {"sampling": {}, "elicitation": {}, "roots": {}}
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada", "ok": True, "color": "blue"}},
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"},
    "roots/list": {"roots": [{"uri": "file:///test/root"}]},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": CLIENT, "clientInfo": {"name": "t", "version": "1"}}


def ask(server, method, **params):
    """Return the last message for a request."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.loads(server.post(json.dumps(body).encode()).lines[-1])


def ask_modern(method, client=CLIENT, **params):
    meta = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": client}
    return ask(Official().stateless, method, **params, _meta=meta)


def rounds(name):
    """Call a tool until its result is complete; return the keys of each round, and the result."""
    asked, more = [], {}
    while (found := ask_modern("tools/call", name=name, **more)["result"])["resultType"] == "input_required":
        asked.append([*found["inputRequests"]])
        answers = {key: ANSWERS[one["method"]] for key, one in found["inputRequests"].items()}
        more = {"inputResponses": answers, "requestState": found["requestState"]}
    return asked, found


def test_the_official_fixtures_are_listed_on_one_page_before_the_others():
    lists = {name: ask_modern(f"{name}/list")["result"][name] for name in ("tools", "prompts", "resources")}
    assert lists["tools"][0]["name"] == "test_simple_text"
    assert [one["uri"] for one in lists["resources"]][:2] == ["test://static-text", "test://static-binary"]
    assert all("description" in one for one in lists["prompts"])
    annotated = [one for one in lists["tools"] if "x-mcp-header" in json.dumps(one)]
    assert annotated[0]["name"] == "test_x_mcp_header"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("elicitation", [1]),
        ("sampling", [1]),
        ("list_roots", [1]),
        ("multiple_inputs", [3]),
        ("multi_round", [1, 1]),
    ],
)
def test_a_tool_asks_and_then_completes(name, sizes):
    asked, result = rounds(f"test_input_required_result_{name}")
    assert [len(keys) for keys in asked] == sizes
    assert not result.get("isError")
    assert (asked[0] == ["user_name"]) is (name == "elicitation")


def test_a_tool_asks_only_what_its_client_can_answer():
    call = {"method": "tools/call", "name": "test_input_required_result_capabilities"}
    asked = ask_modern(**call, client={"sampling": {}})["result"]["inputRequests"]
    assert [one["method"] for one in asked.values()] == ["sampling/createMessage"]
    refused = ask_modern("tools/call", {}, name="test_missing_capability")["error"]
    assert (refused["code"], refused["data"]) == (-32021, {"requiredCapabilities": {"sampling": {}}})


def test_a_task_keeps_the_answer_that_was_given_before_it():
    server, name = Official().stateless, "test_tool_with_task"
    able = {"elicitation": {}, "extensions": {f"{PREFIX}tasks": {}}}
    meta = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": able}
    assert ask(server, "tools/call", name=name, _meta=meta)["result"]["resultType"] == "input_required"
    given = {"user_name": {"action": "accept", "content": {"name": "Ada"}}}
    task = ask(server, "tools/call", name=name, inputResponses=given, _meta=meta)["result"]
    looks = [ask(server, "tasks/get", taskId=task["taskId"], _meta=meta)["result"] for _ in range(2)]
    assert [one["status"] for one in looks] == ["working", "completed"]
    assert looks[1]["result"]["content"][0]["text"] == "Hello, Ada!"
    assert ask_modern("tools/call", name="failing_job")["error"]["code"] == -32021


@pytest.mark.parametrize(
    ("given", "is_right"),
    [
        ({"contactMethod": "phone", "phone": "1"}, True),
        ({"email": "a"}, True),
        ({"phone": "1"}, False),
        ({}, False),
        ({"email": "a", "address": {"city": 1}}, False),
        ({"email": "a", "more": 1}, False),
    ],
)
def test_a_person_is_validated_by_all_keywords(given, is_right):
    result = ask_modern("tools/call", name="json_schema_2020_12_tool", arguments=given)["result"]
    assert result.get("isError", False) is not is_right


def test_the_stream_of_one_call_is_cut_until_it_is_resumed():
    http = Official()
    session = OfficialSession(http, None)
    ask(session, "initialize", **HELLO)
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_reconnection"}}
    outlet = session.numbered(session.post(json.dumps(body).encode()))
    assert http.is_over(outlet, 1, has_ended=True)
    assert http.opening(outlet, 0).startswith(b"id: 1-0\nretry:")
    assert (http.event(outlet, 1, outlet.lines[0]), http.find(session, "1-0")) == (b"", (outlet, 0))
    assert b"resumed" in http.event(outlet, 1, outlet.lines[0])


def test_the_reference_itself_has_none_of_the_fixtures():
    meta = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}}
    for server in (HttpReference().stateless, Official().stateless):
        names = {one for kind in (server.tools, server.prompts, server.resources) for one in kind()}
        is_official = any("test" in name for name in names)
        assert is_official is (server.http.__class__ is Official)
        pages = "nextCursor" not in ask(server, "tools/list", _meta=meta)["result"]
        assert pages is is_official
