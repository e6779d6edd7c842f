"""What a client answers when a server asks it for something, in one mood or another."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance.client.session import Answer
from conformance.generation import NoExample, example
from conformance.protocol.jsonrpc import encode

MODEL = "conformance-model"
NO_FOLDER = "file:///conformance/no/such/folder"
LONGEST_LOOP = 100
"""How often the client's model uses a tool before it comes to an end by itself."""
WRONG_NUMBER, WRONG_TEXT = 271828, "conformance wrong"
"""What a careless user fills in for a text, and for anything else."""

REFUSED_BY_USER: Mapping[str, Any] = {"error": {"code": -1, "message": "The user does not want that."}}
UNREADABLE: Mapping[str, Any] = {
    "error": {"code": -32602, "message": "This client cannot make sense of that."}
}


# Roots


def opens(*uris: str) -> Answer:
    """A client whose roots are these."""
    roots = [{"uri": uri, "name": "conformance"} for uri in uris]
    return lambda params, revision: {"result": {"roots": roots}}  # noqa: ARG005


def opens_folder(folder: Path) -> Answer:
    """A client whose root is a folder."""
    return opens(folder.as_uri())


def cannot_say(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """A client that cannot get at its roots."""
    return {"error": {"code": -32603, "message": "The roots are not available."}}


# Sampling


def says_something(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """A model that says one word."""
    return _said({"type": "text", "text": "example"}, "endTurn")


def says_nothing(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """A model whose message has no content, which is wrong."""
    return {"result": {"role": "assistant", "model": MODEL}}


def uses_tools(params: Any, revision: str) -> Mapping[str, Any]:
    """A model that uses the first tool it is offered, twice at a time and again and again."""
    tools = _listed(params, "tools")
    rounds = sum(message.get("role") == "assistant" for message in _listed(params, "messages"))
    if not tools or _member(params, "toolChoice", "mode") == "none" or rounds >= LONGEST_LOOP:
        return says_something(params, revision)
    arguments = _example(tools[0].get("inputSchema"), revision) or {}
    use = {"type": "tool_use", "name": tools[0].get("name"), "input": arguments}
    return _said([{**use, "id": f"use-{rounds}-{number}"} for number in (1, 2)], "toolUse")


def _said(content: Any, reason: str) -> Mapping[str, Any]:
    return {"result": {"role": "assistant", "content": content, "model": MODEL, "stopReason": reason}}


def refuses(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """A user who does not let the server use the model."""
    return REFUSED_BY_USER


# Elicitation


def fills_in(params: Any, revision: str) -> Mapping[str, Any]:
    """A user who agrees, and fills the whole form in if there is one."""
    return _filled_in(params, _filled(params, revision))


def fills_in_wrongly(params: Any, revision: str) -> Mapping[str, Any]:
    """A user whose client lets the first field of a form through although it is of the wrong type."""
    content = _filled(params, revision)
    for name, value in (content or {}).items():
        if not isinstance(value, list | dict):
            wrong = WRONG_NUMBER if isinstance(value, str) else WRONG_TEXT
            return _filled_in(params, {**content, name: wrong} if content else None)
    return _filled_in(params, content)


def _filled_in(params: Any, content: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if _member(params, "mode") == "url":
        return {"result": {"action": "accept"}}
    return UNREADABLE if content is None else {"result": {"action": "accept", "content": content}}


def _filled(params: Any, revision: str) -> dict[str, Any] | None:
    """What a form may be filled in with: every field if that can be, else those that have to be."""
    form, fields = _member(params, "requestedSchema"), _member(params, "requestedSchema", "properties")
    every = {**form, "required": list(fields)} if isinstance(fields, dict) else form
    filled = _example(every, revision)
    return filled if filled is not None else _example(form, revision)


def declines(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """A user who says no."""
    return {"result": {"action": "decline"}}


def cancels(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """A user who closes the dialog."""
    return {"result": {"action": "cancel"}}


# What a server sent may have any form


def _example(schema: Any, revision: str) -> dict[str, Any] | None:
    """What is valid under a schema and can be written; None if nothing is found."""
    with suppress(NoExample, ValueError, RecursionError):
        made = example(schema, revision)
        encode(made)
        return made
    return None


def _member(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _listed(params: Any, name: str) -> list[dict[str, Any]]:
    items = _member(params, name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


# The moods


def waits(params: Any, revision: str) -> None:
    """A client that leaves it open for now."""


def _client(roots: Answer, sampling: Answer, elicitation: Answer) -> Mapping[str, Answer]:
    return {"roots/list": roots, "sampling/createMessage": sampling, "elicitation/create": elicitation}


ACCEPTING = _client(opens(), says_something, fills_in)
DECLINING = _client(opens(), refuses, declines)
CANCELLING = _client(opens(NO_FOLDER), refuses, cancels)
CARELESS = _client(cannot_say, says_nothing, fills_in_wrongly)
TOOL_USING = _client(opens(), uses_tools, fills_in)
WAITING = _client(waits, waits, waits)
