"""Completion of what a server lists: what can be asked for, and the values that it gives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from conformance.client.reply import Reply
from conformance.protocol.uri import variables
from conformance.protocol.value import Value, members
from conformance.target.server import Server

MOST_VALUES = 3


def completion_request(server: Server) -> dict[str, Any] | None:
    """Params for ``completion/complete`` of the first thing listed that has an argument."""
    return next(completion_requests(server), None)


def completion_requests(server: Server) -> Iterator[dict[str, Any]]:
    """Params for ``completion/complete`` of every argument of a prompt and variable of a template."""
    for prompt in server.listed("prompts/list"):
        arguments = members([*(prompt.get("arguments") or Value([])).each()], "name")
        for name, argument in product(members([prompt], "name"), arguments):
            if name.is_a(str) and argument.is_a(str):
                ref = {"type": "ref/prompt", "name": name.json}
                yield {"ref": ref, "argument": {"name": argument.json, "value": ""}}
    for template in members(server.listed("resources/templates/list"), "uriTemplate"):
        for variable in variables(template.json) if template.is_a(str) else ():
            ref = {"type": "ref/resource", "uri": template.json}
            yield {"ref": ref, "argument": {"name": variable, "value": ""}}


def completed(server: Server, template: str, variable: str) -> list[str]:
    """Some values that the server itself gives for a variable of a template, asked for once."""
    values: list[str] = server.once(
        f"completed {template} {variable}", lambda: _completed(server, template, variable)
    )
    return values


def _completed(server: Server, template: str, variable: str) -> list[str]:
    unserved: list[Reply] = server.once("no completion", list)
    for typed in ("", "1", "a"):
        if unserved:
            break
        ref, argument = {"type": "ref/resource", "uri": template}, {"name": variable, "value": typed}
        reply = server.session.request("completion/complete", {"ref": ref, "argument": argument})
        if reply.fault is not None or reply.code == -32601:
            unserved.append(reply)
        found = members([reply.value or Value({})], "completion", "values")
        values = [value.json for array in found for value in array.each() if value.is_a(str)]
        if any(values):
            return [value for value in values if value][:MOST_VALUES]
    return []
