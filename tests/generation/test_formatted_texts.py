"""Texts of a format keep it when they are made smaller, and where another keyword stands beside it."""

import json

import pytest
from test_generation import REVISION, of

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.fuzzing.oracles import accepts_valid
from mcp_conformance.generation import draw_valid, example, seeded, shrunk
from mcp_conformance.generation.formats import FORMATS, edges_of, formatted
from mcp_conformance.json_schema.formats import is_certain
from mcp_conformance.json_schema.validation import has_certain_formats
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.value import Value


@pytest.mark.parametrize("name", FORMATS)
def test_a_drawn_text_is_certain_to_have_its_format(name):
    texts = [formatted(name, seeded(seed)) for seed in range(60)]
    assert [text for text in texts if text not in edges_of(name) and not is_certain(name, text)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "2023-02-29"),
        ("date", "20230228"),
        ("date-time", "2023-02-28"),
        ("time", "24:00:00Z"),
        ("duration", "P"),
        ("duration", "PT"),
        ("email", "a@b"),
        ("ipv4", "1.2.3"),
        ("ipv6", "fe80::1%eth0"),
        ("uuid", "0"),
        ("uri", "a"),
        ("regex", "("),
        ("phone", "1"),
    ],
)
def test_another_text_is_not(name, text):
    assert not is_certain(name, text)


@pytest.mark.parametrize(
    ("format", "text"), [("date", "2024-02-29"), ("phone", "+49 30 1234"), ("email", "bob@sub.example.org")]
)
def test_a_text_with_a_format_keeps_it_when_it_is_made_smaller(format, text):
    schema = of(x={"type": "string", "format": format})
    found = shrunk(schema, REVISION, {"x": text}, lambda one: "x" in one, 500)
    assert found == {"x": text} if format == "phone" else is_certain(format, found["x"])


def test_a_pattern_beside_a_format_does_not_replace_it():
    schema = of(x={"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"})
    made = [example(schema, REVISION), *(draw_valid(schema, REVISION, seeded(seed)) for seed in range(50))]
    assert [one for one in made if "x" in one and not is_certain("date", one["x"])] == []


@pytest.mark.parametrize(
    ("format", "text", "accused"), [("date", "2024-02-29", True), ("phone", "2024-02-29", False)]
)
def test_the_refusal_of_a_text_whose_format_is_unknown_is_not_judged(format, text, accused):
    tool = Tool(Value({"name": "t", "inputSchema": of(x={"type": "string", "format": format})}))
    params = {"name": "t", "arguments": {"x": text}}
    request = Line(sent=True, raw=json.dumps({"id": 1, "method": "tools/call", "params": params}).encode())
    refusal = Reply(request, message={"error": {"code": -32602, "message": "Invalid params"}})
    assert (accepts_valid(tool, REVISION, refusal) is not None) is accused


def test_what_only_one_dialect_forbids_may_be_refused():
    schema = {**of(), "dependentRequired": {"card": ["expiry"]}}
    assert not has_certain_formats({"card": "1"}, schema, "2024-11-05")
    assert has_certain_formats({"card": "1", "expiry": "2"}, schema, "2024-11-05")
