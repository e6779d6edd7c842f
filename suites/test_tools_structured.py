"""Structured content against the output schema (spec: server/tools, "Output Schema")."""

from __future__ import annotations

import json

import pytest

from conformance.expect import expect, expect_each, expect_none, require_some, skip
from conformance.json_schema.validation import Unjudgeable, instance_errors
from conformance.protocol.value import members
from conformance.verdicts import Finding


@pytest.mark.requirement("tools.structured.json-object")
def test_structured_content_is_an_object(call):
    if call.reply.value is None:
        skip(f"no result: {call.reply}")
    expect_each(
        members([call.reply.value], "structuredContent"), lambda value: isinstance(value, dict), "an object"
    )


@pytest.mark.requirement("tools.structured.present")
def test_a_tool_with_an_output_schema_gives_structured_content(call):
    result = judged_result(call)
    expect(result, result.get("structuredContent") is not None, "a member structuredContent")


@pytest.mark.requirement("tools.structured.conforms")
def test_structured_content_conforms_to_the_output_schema(call, revision):
    content = judged_result(call).get("structuredContent") or skip("no structured content came")
    try:
        errors = instance_errors(content.json, call.tool.output_schema.json, revision)
    except Unjudgeable as reason:
        skip(f"the output schema cannot be judged: {reason}")
    if errors:
        raise Finding("what the output schema says", f"{content}: {'; '.join(errors)}", content.lines)


@pytest.mark.requirement("tools.structured.text-fallback")
def test_structured_content_is_also_there_as_text(server):
    results = [call.reply.value for call in server.calls() if call.reply.value is not None]
    structured = require_some(members(results, "structuredContent"), skip="no tool gave structured content")
    results = [result for result in results if result.get("structuredContent") is not None]
    without = [
        content for result, content in zip(results, structured, strict=True) if not has_text(result, content)
    ]
    expect_none(without, "a text block with the same value as JSON")


def judged_result(call):
    """A successful result of a tool with an output schema; an error result owes no structure."""
    if call.tool.output_schema is None:
        skip("the tool has no output schema")
    if call.reply.value is None or call.reply.is_tool_error:
        skip(f"the call did not succeed: {call.reply}")
    return call.reply.value


def has_text(result, content):
    blocks = result.get("content")
    texts = members(list(blocks.each()), "text") if blocks is not None else []
    return any(same_json(text.json, content.json) for text in texts if text.is_a(str))


def same_json(text, value):
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False
