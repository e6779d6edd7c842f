"""Completion of the arguments of listed prompts and the variables of listed templates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.expect import require_some, skip
from mcp_conformance.protocol.uri import variables
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.target.completions import completed
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked

MAX_VALUES = 3
MAX_COMPLETED = 30
NOT_COMPLETED = "the server completed nothing that is listed"


def completion_request(server: Server) -> dict[str, Any] | None:
    """Return params for the first argument or variable that is listed, None if there is none."""
    return next(completion_requests(server), None)


def completion_requests(server: Server) -> Iterator[dict[str, Any]]:
    """Yield params for ``completion/complete`` for each argument of a prompt and variable of a template."""
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


def completions(server: Server) -> tuple[Reply, ...]:
    """Complete each listed argument, from the empty text and from the first letter of a value.

    Skips the check if a server of 2024-11-05, which has no capability for it, does not complete, and if the
    server does not know the method (`unserved_methods` reports that).  Raises `Blocked` once for a request
    without an answer.
    """
    replies = _completions(server)
    if server.revision < "2025-03-26" and all(reply.value is None for reply in replies):
        skip(NOT_COMPLETED)
    for reply in replies:
        if reply.fault is not None:
            reason = f"completion/complete was not answered: {reply.fault}"
            server.reported.raise_once("completion", Blocked(reason, reply.lines, reply.fault.stderr))
    if replies and all(reply.code == -32601 for reply in replies):
        skip(f"completion/complete is answered with {replies[0]}: that it is declared is another finding")
    return replies


def fails_always(server: Server) -> bool:
    """Return whether something is listed that can be completed, and each completion is an error."""
    replies = completions(server)
    return bool(replies) and all(reply.error is not None for reply in replies)


@scenario
def _completions(server: Server) -> tuple[Reply, ...]:
    replies: list[Reply] = []
    for params in list(completion_requests(server))[:MAX_COMPLETED]:
        first = server.session.request("completion/complete", params)
        replies.append(first)
        if first.fault is not None:
            break
        for value in completed(first)[:1]:
            argument = {**params["argument"], "value": value[0]}
            second = server.session.request("completion/complete", {**params, "argument": argument})
            replies.append(second)
    return tuple(replies)


def is_completion(reply: Reply) -> bool:
    """Return whether a reply has an array of values: a server may answer any method with some result."""
    values = members([reply.value] if reply.value is not None else [], "completion", "values")
    return any(each.is_a(list) for each in values)


def is_completed(reply: Reply) -> bool:
    """Return whether an answer has a completion, of values or of none."""
    return reply.value is not None and reply.value.get("completion") is not None


def accepted_params(server: Server) -> dict[str, Any]:
    """Return the params of a completion that gave one; skip if there is none."""
    found = [reply for reply in completions(server) if is_completed(reply)]
    params: dict[str, Any] = require_some(found, skip=NOT_COMPLETED)[0].request.message["params"]
    return params


@scenario
def completed_values(
    server: Server, template: str, variable: str, known: tuple[tuple[str, str], ...] = ()
) -> tuple[str, ...]:
    """Return some values that the server gives for a variable of a template, with known values of others."""
    ref, completions = {"type": "ref/resource", "uri": template}, server.fetches.completions
    for text in ("", "1", "a"):
        if values := completions.values(ref, variable, text, dict(known)):
            return tuple(values[:MAX_VALUES])
    return ()
