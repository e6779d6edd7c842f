"""Members of arguments that a tool demands although its schema does not require them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require_some
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.target.server import Server
from mcp_conformance.world.refusals import clues
from mcp_conformance.world.refused import ALTERNATIVES
from mcp_conformance.world.wording import said

# Not measured: a tool of actions has some five of them, and one that works without the member is enough.
MAX_MODES = 8
"""In how many modes a tool is called before a member counts as one that it demands in each."""


def demanded_members(server: Server, call: Call, revision: str) -> list[str]:
    """Return the members that a tool demands in each of its modes, of a call that worked.

    Calls it without all members that its schema lets out.  What it demands then may depend on a choice
    (``id`` for the action "get"), so that it is called with each other choice too.  Skips the check if the
    schema requires all members of the call.
    """
    schema, names = call.tool.input_schema, list(call.arguments)
    optional = [name for name in names if _fits(_without(call.arguments, [name]), schema, revision)]
    least = _without(
        call.arguments, require_some(optional, skip="the schema requires all members of the call")
    )
    if not _fits(least, schema, revision):
        return []
    found = set(optional)
    for arguments in [least, *islice(_modes(least, schema), MAX_MODES)]:
        if found and _fits(arguments, schema, revision):
            params = {"name": call.tool.name, "arguments": arguments}
            found &= members_needed(server.call_again(call, params), schema)
    return [name for name in optional if name in found]


def members_needed(reply: Reply, schema: Any) -> set[str]:
    """Return the members that a refusal asks for, each by itself; empty for a call that was carried out."""
    if reply.error is None and not reply.is_tool_error:
        return set()
    text, data = said(reply)
    arguments = reply.request.message["params"]["arguments"]
    read = [one for one in clues(text, arguments, schema, data) if one.reader != ALTERNATIVES]
    return {name for one in read for name in one.needs}


def _modes(arguments: Mapping[str, Any], schema: Any) -> Iterator[dict[str, Any]]:
    """Yield arguments with each other choice of a member that has only some values."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(inner, Mapping):
            continue
        listed = inner.get("enum", [True, False] if inner.get("type") == "boolean" else [])
        for value in listed if isinstance(listed, list) else ():
            if arguments.get(name) != value:
                yield {**arguments, name: value}


def _without(arguments: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in names}


def _fits(arguments: dict[str, Any], schema: Any, revision: str) -> bool:
    try:
        return not instance_errors(arguments, schema, revision)
    except Unjudgeable:
        return False
