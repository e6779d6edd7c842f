"""How a tool took invalid arguments that it accepted: it ignored them, or read them as something valid."""

import pytest

from mcp_conformance.client.reply import Reply
from mcp_conformance.fuzzing.oracles import defect_of_error, grade, has_array
from mcp_conformance.generation.invalid import Invalid
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import Line

SCHEMA = {
    "type": "object",
    "properties": {"days": {"type": "integer"}, "unit": {"enum": ["metric", "imperial"]}},
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
        ({"unit": "kelvin"}, lambda given: "unit" in given, ""),
        ({"unit": 5}, lambda given: "unit" in given, ""),
        ({"unit": 5}, lambda given: isinstance(given.get("unit"), list), "ignored"),
    ],
    ids=[
        "read as a number",
        "always the same",
        "left out",
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


def test_a_result_that_requires_input_needs_no_array():
    judge = has_array("prompts.get.result-shape", "messages")
    assert judge(Reply(REQUEST, message={"result": {"resultType": "input_required"}})) is None
    assert judge(Reply(REQUEST, message={"result": {"resultType": "complete"}})) is not None


@pytest.mark.parametrize(
    ("code", "message", "defect"),
    [
        (-32603, "internal error", Defect.THROWS),
        (-32603, "getaddrinfo ENOTFOUND example.org", None),
        (-32000, "no such article", None),
    ],
)
def test_internal_error_is_a_defect_unless_a_network_is_missing(code, message, defect):
    reply = Reply(REQUEST, REQUEST, {"error": {"code": code, "message": message}})
    assert defect_of_error(reply) is defect
