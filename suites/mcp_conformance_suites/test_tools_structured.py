"""Structured content against the output schema (spec: server/tools, "Output Schema")."""

from __future__ import annotations

import json

import pytest

from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import expect, expect_each, expect_none, is_object, require, require_some, skip
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.invalid_requests import tool_errors
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("tools.structured.json-object")
def test_structured_content_is_an_object(call):
    result = require(call.reply.value, skip=f"no result: {call.reply}")
    found = require_some(members([result], "structuredContent"), skip="the result has no structuredContent")
    expect_each(found, is_object, "an object")


@pytest.mark.requirement("tools.structured.present")
def test_a_tool_with_an_output_schema_gives_structured_content(call):
    result = require_structured_result(call)
    expect(result, result.get("structuredContent") is not None, "a member structuredContent")


@pytest.mark.requirement("tools.structured.conforms")
def test_structured_content_conforms_to_the_output_schema(call, revision):
    content = require_structured_result(call).get("structuredContent")
    content = require(content, skip="no structured content came")
    errors = instance_errors(content.json, call.tool.output_schema.json, revision)
    if errors:
        raise Finding("what the output schema says", f"{content}: {'; '.join(errors)}", content.lines)


@pytest.mark.requirement("tools.structured.error-conforms")
def test_structured_content_of_an_error_conforms_too(server, revision):
    typed = [(reply, typed_tool(server, reply)) for reply in tool_errors(server)]
    given = [(results_of([reply]), tool) for reply, tool in typed if tool is not None]
    pairs = [(content, tool) for found, tool in given for content in members(found, "structuredContent")]
    require_some(pairs, skip="no error of a tool with an output schema has structured content")
    for content, tool in pairs:
        errors = instance_errors(content.json, tool.output_schema.json, revision)
        if errors:
            expected = "what the output schema says, or no structured content beside isError"
            raise Finding(expected, f"{content}: {'; '.join(errors)}", content.lines, tool=tool.name)


@pytest.mark.requirement("tools.structured.text-fallback")
def test_structured_content_is_repeated_as_text(server):
    results = results_of(call.reply for call in server.calls())
    pairs = [(result, content) for result in results for content in members([result], "structuredContent")]
    pairs = [pair for pair in pairs if all(line.sent or line.is_json for line in pair[0].lines)]
    require_some(pairs, skip="no tool gave structured content that is JSON")
    without_text = [content for result, content in pairs if not has_text(result, content)]
    expect_none(without_text, "a text block with the same value as JSON")


def typed_tool(server, reply):
    """Return the tool that was called, if it has an output schema; None for any other."""
    name = reply.request.message.get("params", {}).get("name")
    tool = server.tool(name) if isinstance(name, str) else None
    return tool if tool is not None and tool.output_schema is not None else None


def require_structured_result(call):
    """Return the result of a tool with an output schema; skip without one, or if it reports an error."""
    if call.tool.output_schema is None:
        skip("the tool has no output schema")
    if call.reply.value is None or call.reply.is_tool_error:
        skip(f"the call did not succeed: {call.reply}")
    return call.reply.value


def has_text(result, content):
    """Return whether a text block of a result has the structured content as JSON."""
    blocks = result.get("content")
    texts = members(list(blocks.each()), "text") if blocks is not None else []
    return any(same_json(text.json, content.json) for text in texts if text.is_a(str))


def same_json(text, value):
    """Return whether a text is JSON with this value."""
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False
