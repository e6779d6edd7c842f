"""How a tool took invalid arguments that it accepted: it ignored them, or read them as something valid."""

import pytest

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.fuzzing.oracles import (
    accepts_valid,
    defect_of_error,
    grade,
    has_array,
    refuses_shape,
    rejects_invalid,
)
from mcp_conformance.generation.invalid import Invalid
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import Line, encode
from mcp_conformance.protocol.value import Value

SCHEMA = {
    "type": "object",
    "properties": {
        "days": {"type": "integer"},
        "unit": {"enum": ["metric", "imperial"]},
        "loud": {"type": "boolean"},
    },
}
REVISION = "2025-11-25"
REQUEST = Line(sent=True, raw=b"{}")


def is_valid(arguments):
    return not instance_errors(arguments, SCHEMA, REVISION)


@pytest.mark.parametrize(
    ("wrong", "answer", "expected"),
    [
        ({"days": "5"}, lambda given: str(given.get("days")), "coerced: the result is the same as with 5"),
        ({"days": "5"}, lambda given: "sunny", ""),
        ({"days": "x"}, lambda given: given.get("days") if given.get("days") == ["x"] else 0, "ignored"),
        ({"days": "5"}, lambda given: given.get("days", 5) in (5, "5"), ""),
        ({"loud": "yes"}, lambda given: isinstance(given.get("loud"), list), ""),
        ({"unit": "kelvin"}, lambda given: "unit" in given, ""),
        ({"unit": 5}, lambda given: "unit" in given, ""),
        ({"unit": 5}, lambda given: isinstance(given.get("unit"), list), "ignored"),
    ],
    ids=[
        "read as a number",
        "always the same",
        "left out",
        "like the default, which is valid",
        "like what a word means, and like the default",
        "no such unit",
        "a number",
        "left out if no list",
    ],
)
def test_a_tool_is_said_to_coerce_only_to_valid_arguments(wrong, answer, expected):
    def call(arguments):
        return Reply(
            REQUEST, message={"result": {"content": [], "structuredContent": {"x": answer(arguments)}}}
        )

    (name,) = wrong
    invalid = Invalid(wrong, f"/{name}", "enum", f"/properties/{name}/enum", "enum")
    found = grade(call, invalid, call(wrong), is_valid)
    assert found.partition(":")[0] == expected.partition(":")[0]
    assert expected in found


@pytest.mark.parametrize("code", [-32602, -32603, -32700])
@pytest.mark.parametrize(("days", "may_be_refused"), [(5, False), (2**53 - 1, False), (2**64, True)])
def test_an_integer_that_not_every_reader_reads_may_be_refused(days, may_be_refused, code):
    raw = encode({"params": {"name": "weather", "arguments": {"days": days}}})
    message = {"error": {"code": code, "message": "days is out of range"}}
    reply = Reply(Line(sent=True, raw=raw), Line(sent=False, raw=b"{}"), message)
    tool = Tool(Value({"name": "weather", "inputSchema": SCHEMA}, "tool", ()))
    failure = accepts_valid(tool, REVISION, reply)
    assert (failure is None) == may_be_refused


def test_a_result_that_requires_input_needs_no_array():
    judge = has_array("prompts.get.result-shape", "messages")
    assert judge(Reply(REQUEST, message={"result": {"resultType": "input_required"}})) is None
    assert judge(Reply(REQUEST, message={"result": {"resultType": "complete"}})) is not None


@pytest.mark.parametrize(
    ("code", "message", "defect"),
    [
        (-32603, "internal error", Defect.THROWS),
        (-32603, "getaddrinfo ENOTFOUND example.org", None),
        (-32603, "open example: no such file or directory", Defect.MISLEADS),
        (-32603, "EISDIR: illegal operation on a directory, read", Defect.MISLEADS),
        (-32603, "ENAMETOOLONG: name too long, open '/srv/0000'", Defect.MISLEADS),
        (-32603, "Node not found", Defect.MISLEADS),
        (-32603, "Cannot read properties of undefined (reading 'id')", Defect.THROWS),
        (-32000, "no such article", None),
    ],
)
def test_the_defect_of_an_internal_error_is_by_what_is_missing(code, message, defect):
    reply = Reply(REQUEST, REQUEST, {"error": {"code": code, "message": message}})
    assert defect_of_error(reply) is defect


@pytest.mark.parametrize(
    ("message", "defect"),
    [
        ("Destination already exists", Defect.MISLEADS),
        ("Cannot read properties of undefined (reading 'id')", Defect.THROWS),
    ],
)
def test_the_code_of_each_refusal_shows_no_exception(message, defect):
    reply = Reply(REQUEST, REQUEST, {"error": {"code": -32603, "message": message}})
    assert defect_of_error(reply) is Defect.THROWS
    assert defect_of_error(reply, refuses_so=True) is defect


@pytest.mark.parametrize(
    ("code", "usual", "rule"),
    [
        (-32603, -32603, None),
        (-32603, -32602, "tools.call.invalid-arguments-channel"),
        (-32602, -32602, "tools.call.invalid-arguments-channel"),
    ],
)
def test_a_tool_that_fails_with_valid_arguments_alike_has_no_other_channel(code, usual, rule):
    def fails(code, message):
        return Reply(REQUEST, REQUEST, {"error": {"code": code, "message": message}})

    wrong = Invalid({"path": 5}, "/path", "type", "/properties/path/type", "type")
    found = rejects_invalid(
        wrong, fails(usual, "open a: no file"), "2025-11-25", fails(code, "open 5: no file")
    )
    assert (found and found.requirement) == rule


@pytest.mark.parametrize(
    ("vault", "message", "refuses"),
    [
        ("shop", "Unknown vault: shop. Available vaults: vault10", False),
        ("shop", "The vault 'shop' does not exist", False),
        ("\n\n  ", "Unknown vault: \n\n  . Available vaults: vault10", False),
        ("", "Unknown vault: . Available vaults: vault10", False),
        ("shop", "All files must have .md extension", True),
        ("", "The vault must have a name", True),
        ("shop", "unknown argument vault", True),
    ],
)
def test_a_thing_that_does_not_exist_is_no_matter_of_the_schema(vault, message, refuses):
    tool = Tool(Value({"name": "add", "inputSchema": {"type": "object"}}, "tool", ()))
    call = Line.sending({"method": "tools/call", "params": {"name": "add", "arguments": {"vault": vault}}})
    reply = Reply(call, message={"error": {"code": -32602, "message": message}})
    assert refuses_shape(tool, "2025-06-18", reply) is refuses


@pytest.mark.parametrize(
    ("is_coercible", "rule"), [(False, "tools.call.invalid-arguments-channel"), (True, None)]
)
def test_a_refusal_in_words_may_be_of_what_a_value_was_repaired_to(is_coercible, rule):
    def says(text):
        return Reply(REQUEST, message={"result": {"content": [{"type": "text", "text": text}]}})

    wrong = Invalid({"rev": "5"}, "/rev", "type", "/properties/rev/type", "type", coercible=is_coercible)
    found = rejects_invalid(wrong, says("saved"), "2025-11-25", says("Error: expected revision 5, got 1"))
    assert (found and found.requirement) == rule
