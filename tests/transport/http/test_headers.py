"""The headers that go with a message: the session, the revision, and what a modern body has mirrored."""

import pytest

from mcp_conformance.protocol import revisions
from mcp_conformance.transport.http.headers import Mirror, annotated, encoded

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "page": {"type": "object", "properties": {"size": {"type": "integer", "x-mcp-header": "Size"}}},
        "query": {"type": "string"},
        "bad": {"type": "string", "x-mcp-header": "two words\n"},
    },
}


def modern(method, version=revisions.MODERN[0], **params):
    return {"method": method, "params": {**params, "_meta": {revisions.PROTOCOL_VERSION: version}}}


def sent(mirror, message):
    return {name.decode(): value.decode() for name, value in mirror.headers(message)}


def test_a_handshake_has_no_headers():
    mirror = Mirror({})
    mirror.session_id, mirror.revision = "old", "2025-06-18"
    assert sent(mirror, {"method": "initialize", "params": {}}) == {}


def test_a_message_of_a_session_names_it_and_its_revision():
    mirror = Mirror({})
    mirror.session_id, mirror.revision = "abc", "2025-11-25"
    expected = {"Mcp-Session-Id": "abc", "MCP-Protocol-Version": "2025-11-25"}
    assert sent(mirror, {"method": "tools/call", "params": {"name": "x"}}) == expected
    assert sent(mirror, "no message") == expected


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (modern("tools/call", name="add"), {"Mcp-Name": "add"}),
        (modern("resources/read", uri="file:///a"), {"Mcp-Name": "file:///a"}),
        (modern("prompts/get", name="é"), {"Mcp-Name": "=?base64?w6k=?="}),
        (modern("tools/list", name="x"), {}),
        (modern("tools/call", name=1), {}),
    ],
)
def test_a_modern_request_has_its_method_and_name(message, named):
    expected = {"MCP-Protocol-Version": revisions.MODERN[0], "Mcp-Method": message["method"], **named}
    assert sent(Mirror({}), message) == expected


def test_an_unknown_revision_is_mirrored_and_not_adopted():
    mirror = Mirror({})
    assert sent(mirror, modern("tools/list", "2099-01-01"))["MCP-Protocol-Version"] == "2099-01-01"
    assert mirror.revision == ""


def test_a_modern_conversation_keeps_its_revision_for_a_body_that_names_none():
    mirror = Mirror({})
    mirror.headers(modern("tools/list"))
    assert sent(mirror, {"method": "tools/list"})["MCP-Protocol-Version"] == revisions.MODERN[0]
    assert sent(mirror, None) == {"MCP-Protocol-Version": revisions.MODERN[0]}


def test_arguments_are_mirrored_in_all_conversations_with_a_server():
    parameters = {}
    Mirror(parameters).learn_tools({"tools": [{"name": "search", "inputSchema": SCHEMA}, 1, {"name": 2}]})
    arguments = {"region": " eu", "page": {"size": 3}, "query": "q", "bad": "x"}
    found = sent(Mirror(parameters), modern("tools/call", name="search", arguments=arguments))
    assert found["Mcp-Param-Region"] == "=?base64?IGV1?="
    assert found["Mcp-Param-Size"] == "3"
    assert {name for name in found if name.startswith("Mcp-Param")} == {"Mcp-Param-Region", "Mcp-Param-Size"}


@pytest.mark.parametrize("arguments", [{}, {"region": None, "page": 1}, [], None])
def test_an_argument_that_is_absent_or_null_is_not_mirrored(arguments):
    mirror = Mirror({"search": tuple(annotated(SCHEMA))})
    found = sent(mirror, modern("tools/call", name="search", arguments=arguments))
    assert not any(name.startswith("Mcp-Param") for name in found)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("a b", "a b"),
        ("", "=?base64??="),
        (" a", "=?base64?IGE=?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ("=?base64?x", "=?base64?x"),
    ],
)
def test_a_value_is_plain_or_in_base64(value, header):
    assert encoded(value) == header


def test_properties_nested_without_end_are_left():
    schema = {"properties": {}}
    schema["properties"]["a"] = {"x-mcp-header": "A", **schema}
    assert 0 < len(list(annotated(schema))) < 50
