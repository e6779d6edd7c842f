"""Messages judged by the schema of their revision, in either direction.

The schemas are our own (`mcp_conformance.protocol.schemas`); the kind and the method of a message select its
schema, and the request that a result answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from mcp_conformance.protocol.jsonrpc import IdKey, Kind, Line, id_key, kind, show
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, PROTOCOL_VERSION, is_modern
from mcp_conformance.protocol.schemas import schema

CLIENT, SERVER = "client", "server"
ANY_RULE = "jsonrpc.message-shape"
"""The requirement for errors that have no rule of their own."""

TABLES = {Kind.REQUEST: "requests", Kind.NOTIFICATION: "notifications"}
NOWHERE = ("", "", "")
PARTS = {Kind.REQUEST: "params", Kind.NOTIFICATION: "params"}
BATCHES = "2025-03-26"
MAX_ERRORS = 20


@dataclass(frozen=True)
class SchemaError:
    """A wrong member: its ``path``, ``what`` is wrong with it, and the requirement that it breaks."""

    path: str
    what: str
    rule: str = ANY_RULE

    def __str__(self) -> str:
        return f"{self.path or 'message'}: {self.what}"


def message_errors(message: Any, revision: str, sender: str, request: Any = None) -> list[SchemaError]:
    """Return the errors of a message of ``sender`` (`CLIENT` or `SERVER`).

    ``request`` is the request that a result answers; without it only the envelope is judged.  A result is
    judged as a modern one only if its request is modern: a server may serve other requests as in the
    handshake era.  The members of a batch are judged one by one, in a revision that has batches.
    """
    if isinstance(message, list) and revision == BATCHES:
        return [error for part in message for error in message_errors(part, revision, sender, request)]
    what = Kind.NOTIFICATION if _is_announced(message) else kind(message)
    if what in (Kind.OTHER, Kind.BATCH):
        return [SchemaError("", f"{show(message, 80)} is not a message", _rule_of_no_message(message))]
    if rule := schema(revision)[sender].get("never", {}).get(what.value):
        return [SchemaError("", f"{show(message, 80)} has no place here", rule)]
    entry = _entry(message, what, revision, sender, request)
    if what is Kind.RESULT and is_modern(revision) and _version(request) != revision:
        revision, entry = LATEST_HANDSHAKE, NOWHERE
    try:
        return _errors(_validator(revision, what, *entry), message)
    except RecursionError:
        return []


def _rule_of_no_message(message: Any) -> str:
    answers = isinstance(message, dict) and "id" in message and "result" not in message
    return "jsonrpc.result-xor-error" if answers else ANY_RULE


def _is_announced(message: Any) -> bool:
    """Return whether a message is a notification by its method, even with an id."""
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and method.startswith("notifications/")


def _entry(message: Any, what: Kind, revision: str, sender: str, request: Any) -> tuple[str, str, str]:
    """Return the place of a message's body in the schema: side, method and member; `NOWHERE` if unknown."""
    side, named, part = sender, message, "params"
    if what not in TABLES:
        side, named = SERVER if sender == CLIENT else CLIENT, request
        part = _form(message, request, revision)
    method = named.get("method") if isinstance(named, dict) and what is not Kind.ERROR else None
    table = schema(revision)[side].get(TABLES.get(what, "requests"), {})
    return (side, method, part) if isinstance(method, str) and method in table else NOWHERE


def _version(request: Any) -> Any:
    """Return the revision that a request names in ``_meta``, as modern requests do."""
    params = request.get("params") if isinstance(request, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None


FORMS = {"complete": "result", "input_required": "inputRequired"}
"""The ``resultType`` of a modern result, and the member of the schema for it."""


def _form(message: Any, request: Any, revision: str) -> str:
    """Return the member of the schema for this form of result; empty for forms of extensions."""
    if not is_modern(revision):
        return "taskResult" if _is_task(message, request) else "result"
    result = message.get("result")
    type_ = result.get("resultType", "complete") if isinstance(result, dict) else None
    return FORMS.get(type_, "") if isinstance(type_, str) else ""


def _is_task(message: Any, request: Any) -> bool:
    """Return whether a result creates the task that its request asks for."""
    params = request.get("params") if isinstance(request, dict) else None
    result = message.get("result")
    return isinstance(params, dict) and "task" in params and isinstance(result, dict) and "task" in result


@cache
def _validator(revision: str, what: Kind, side: str, method: str, part: str) -> Draft202012Validator:
    return Draft202012Validator(message_schema(revision, what, side, method, part))


def message_schema(revision: str, what: Kind, side: str, method: str, part: str) -> dict[str, Any]:
    """Return the schema of a kind of message: its envelope, and the body of ``method`` if known."""
    whole = schema(revision)
    table = TABLES.get(what, "requests")
    entry: Mapping[str, Any] = whole.get(side, {}).get(table, {}).get(method, {})
    member = PARTS.get(what, "result")
    body: dict[str, Any] = {"properties": {member: entry[part]}} if part in entry else {}
    if part == "params" and entry.get("needsParams"):
        body["required"] = ["params"]
    return {"$defs": whole["$defs"], "allOf": [whole["envelopes"][what.value], body]}


# Errors ------------------------------------------------------------------------------------------


def _errors(validator: Draft202012Validator, message: Any) -> list[SchemaError]:
    found: dict[IdKey, SchemaError] = {}
    root: Any = validator.schema
    for error, _ in zip(validator.iter_errors(message), range(MAX_ERRORS), strict=False):
        for one in _errors_of(error, root):
            found[one.path, one.what] = one  # the body, which comes last, overrules the envelope
    return list(found.values())


def _errors_of(error: ValidationError, root: Mapping[str, Any]) -> Iterator[SchemaError]:
    path = _path(error.absolute_path)
    rules = _rules(root, list(error.absolute_schema_path))
    if error.validator == "required":
        (wanted, described), members = _of(error), cast("dict[str, Any]", error.instance)
        for name in sorted(set(wanted) - set(members)):
            member = described.get("properties", {}).get(name, {})
            yield SchemaError(f"{path}.{name}" if path else name, "is missing", _rule_missing(rules, member))
    else:
        yield SchemaError(path, _words(error), _rule(rules))


def _of(error: ValidationError) -> tuple[Any, Any]:
    """Return the value of the violated keyword, and the schema that contains it."""
    return error.validator_value, error.schema


def _path(steps: Iterable[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


REFUSED = {
    None: "has no place here",
    "not": "has no place here",
    "anyOf": "has none of the forms that it may have",
}


def _words(error: ValidationError) -> str:
    value, (wanted, _) = show(error.instance, 80), _of(error)
    if error.validator == "type":
        return f"{value} is not of type {' or '.join([wanted] if isinstance(wanted, str) else wanted)}"
    if error.validator == "const":
        return f"{value} is not {show(wanted)}"
    if error.validator == "enum":
        return f"{value} is none of {', '.join(wanted)}"
    if error.validator == "maxItems":
        return f"{value} has more than {wanted} items"
    return f"{value} {REFUSED[error.validator]}" if error.validator in REFUSED else error.message


def _rules(root: Any, path: list[Any]) -> list[Mapping[str, Any]]:
    """Return the schemas along the path to an error."""
    return [one for one in _along(root, root, path) or () if isinstance(one, dict)]


def _along(root: Any, node: Any, path: list[Any]) -> list[Any] | None:
    """Return the nodes along a path, which skips references; None if it leads nowhere."""
    if not path:
        return [node]
    step, *rest = path
    exists = step in node if isinstance(node, dict) else isinstance(step, int) and step < len(node)
    nodes = _along(root, node[step], rest) if exists else None
    if nodes is None and isinstance(node, dict) and "$ref" in node:
        nodes = _along(root, root["$defs"][node["$ref"].removeprefix("#/$defs/")], path)
    return None if nodes is None else [node, *nodes]


def _rule_missing(met: list[Mapping[str, Any]], member: Mapping[str, Any]) -> str:
    below = [one["ruleMissingBelow"] for one in met if "ruleMissingBelow" in one]
    return str(below[-1] if below else member.get("ruleMissing") or _rule([*met, member]))


def _rule(met: list[Mapping[str, Any]]) -> str:
    over = [one["ruleBelow"] for one in met if "ruleBelow" in one]
    inner = [one["rule"] for one in met if "rule" in one]
    return str(over[0] if over else inner[-1] if inner else ANY_RULE)


# A conversation ----------------------------------------------------------------------------------


def conversation_errors(
    lines: Iterable[Line], revision: str, sender: str
) -> Iterator[tuple[tuple[Line, ...], SchemaError]]:
    """Yield the errors in the messages of ``sender``, each with the lines that prove it.

    Results are matched to their requests by id; if an id was used twice, only the envelope is judged.
    Messages that differ only in their id are judged once.  A modern conversation that opened with a message
    without a version is not judged: the server may have taken it for the handshake era.
    """
    lines = list(lines)
    if is_modern(revision) and not _opens_with_a_version(lines):
        return
    asked: dict[IdKey, tuple[Line, Any] | None] = {}
    seen: set[bytes | None] = set()
    for line in lines:
        for message in line.parts():
            if line.sent is not (sender == CLIENT):
                if kind(message) is Kind.REQUEST:
                    asked[_id(message)] = None if _id(message) in asked else (line, message)
                continue
            known = asked.get(_id(message)) if kind(message) is Kind.RESULT else None
            before, request = known or (None, None)
            key = _form_key(message, request, revision, sender)
            if key not in seen and key not in _VALID:
                found = message_errors(message, revision, sender, request)
                proof = (line,) if before is None else (before, line)
                yield from ((proof, error) for error in found)
                _note_valid(None if found else key)
            seen |= {key} - {None}


def _opens_with_a_version(lines: list[Line]) -> bool:
    said = [message for line in lines if line.sent for message in line.parts()]
    return not said or _version(said[0]) is not None


def _id(message: Any) -> IdKey:
    return id_key(message.get("id"))


MAX_VALID_MESSAGES = 20_000
_VALID: set[bytes] = set()
"""The keys of messages that were found valid: many conversations have the same ones."""


def _note_valid(key: bytes | None) -> None:
    if len(_VALID) >= MAX_VALID_MESSAGES:
        _VALID.clear()
    if key is not None:
        _VALID.add(key)


def _form_key(message: Any, request: Any, revision: str, sender: str) -> bytes | None:
    """Return a key that messages share if they differ in nothing but their id; None if that is not known."""
    asked = request and (request["method"], _is_task(message, request), _version(request))
    try:
        if isinstance(message, dict) and "id" in message:
            id = message["id"]
            message = {**message, "id": type(id).__name__ if isinstance(id, int | str) else [id]}
        return sha256(json.dumps([revision, sender, asked, message]).encode()).digest()
    except RecursionError:
        return None
