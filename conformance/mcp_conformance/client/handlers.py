"""Canned client answers to server requests: accept, decline, cancel, invalid, none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_conformance.client.session import Answer
from mcp_conformance.generation import NoExample, example
from mcp_conformance.protocol.jsonrpc import encode

MODEL = "conformance-model"
NO_FOLDER = "file:///conformance/no/such/folder"
MAX_TOOL_USES = 100
"""The number of times that the client's model uses tools before it stops by itself."""
WRONG_NUMBER, WRONG_TEXT = 271828, "conformance wrong"
"""The values that `fills_in_wrongly` puts in place of a text, and of anything else."""

REFUSED_BY_USER: Mapping[str, Any] = {"error": {"code": -1, "message": "The user does not want that."}}
INVALID_FORM: Mapping[str, Any] = {
    "error": {"code": -32602, "message": "This client cannot make sense of that."}
}


# Roots


def roots_at(*uris: str) -> Answer:
    """Return an answer to ``roots/list`` with these roots."""
    roots = [{"uri": uri, "name": "conformance"} for uri in uris]
    return lambda params, revision: {"result": {"roots": roots}}  # noqa: ARG005


def root_folder(folder: Path) -> Answer:
    """Return an answer to ``roots/list`` with a folder as the only root."""
    return roots_at(folder.as_uri())


def fails_to_list_roots(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Answer with an error: the client cannot read its roots."""
    return {"error": {"code": -32603, "message": "The roots are not available."}}


# Sampling


def samples_text(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Answer with a message of one word."""
    return _message({"type": "text", "text": "example"}, "endTurn")


def samples_no_content(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Answer with a message without content, which is invalid."""
    return {"result": {"role": "assistant", "model": MODEL}}


def uses_tools(params: Any, revision: str) -> Mapping[str, Any]:
    """Use the first tool offered, twice in each message, until `MAX_TOOL_USES`."""
    tools = _listed(params, "tools")
    rounds = sum(message.get("role") == "assistant" for message in _listed(params, "messages"))
    if not tools or _member(params, "toolChoice", "mode") == "none" or rounds >= MAX_TOOL_USES:
        return samples_text(params, revision)
    arguments = _example(tools[0].get("inputSchema"), revision) or {}
    use = {"type": "tool_use", "name": tools[0].get("name"), "input": arguments}
    return _message([{**use, "id": f"use-{rounds}-{number}"} for number in (1, 2)], "toolUse")


def _message(content: Any, reason: str) -> Mapping[str, Any]:
    return {"result": {"role": "assistant", "content": content, "model": MODEL, "stopReason": reason}}


def refuses_sampling(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Answer with an error: the user does not let the server use the model."""
    return REFUSED_BY_USER


# Elicitation


def fills_in(params: Any, revision: str) -> Mapping[str, Any]:
    """Accept, with every field of the form filled in if there is a form."""
    return _filled_in(params, _filled(params, revision))


def fills_in_wrongly(params: Any, revision: str) -> Mapping[str, Any]:
    """Accept, with a value of the wrong type in the first field of the form."""
    content = _filled(params, revision)
    for name, value in (content or {}).items():
        if not isinstance(value, list | dict):
            wrong = WRONG_NUMBER if isinstance(value, str) else WRONG_TEXT
            return _filled_in(params, {**content, name: wrong} if content else None)
    return _filled_in(params, content)


def _filled_in(params: Any, content: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if _member(params, "mode") == "url":
        return {"result": {"action": "accept"}}
    return INVALID_FORM if content is None else {"result": {"action": "accept", "content": content}}


def _filled(params: Any, revision: str) -> dict[str, Any] | None:
    """Return valid content for a form: every field if possible, else the required ones."""
    form, fields = _member(params, "requestedSchema"), _member(params, "requestedSchema", "properties")
    every = {**form, "required": list(fields)} if isinstance(fields, dict) else form
    filled = _example(every, revision)
    return filled if filled is not None else _example(form, revision)


def declines(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Answer that the user declines."""
    return {"result": {"action": "decline"}}


def cancels(params: Any, revision: str) -> Mapping[str, Any]:  # noqa: ARG001
    """Answer that the user closes the dialog."""
    return {"result": {"action": "cancel"}}


# Helpers: the params of a server may have any form


def _example(schema: Any, revision: str) -> dict[str, Any] | None:
    """Return a valid value that can be encoded; None if there is none."""
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


# Clients: an answer for each method


def leaves_open(params: Any, revision: str) -> None:
    """Send no answer for now."""


def _client(roots: Answer, sampling: Answer, elicitation: Answer) -> Mapping[str, Answer]:
    return {"roots/list": roots, "sampling/createMessage": sampling, "elicitation/create": elicitation}


ACCEPTING = _client(roots_at(), samples_text, fills_in)
DECLINING = _client(roots_at(), refuses_sampling, declines)
CANCELLING = _client(roots_at(NO_FOLDER), refuses_sampling, cancels)
INVALID = _client(fails_to_list_roots, samples_no_content, fills_in_wrongly)
TOOL_USING = _client(roots_at(), uses_tools, fills_in)
WAITING = _client(leaves_open, leaves_open, leaves_open)
