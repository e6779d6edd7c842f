"""What is wrong with a message by the schema of its revision, in either direction: the path, and why.

The schemas are our own (`conformance.schema`); a message is told by its kind and method, and a result by the
request it answers.
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

from conformance.protocol.jsonrpc import Kind, Line, id_key, kind, show
from conformance.protocol.revisions import LATEST_HANDSHAKE, PROTOCOL_VERSION, is_modern
from conformance.protocol.schemas import schema

CLIENT, SERVER = "client", "server"
ANY_RULE = "jsonrpc.message-shape"
"""The requirement for what has no rule of its own: a line is one of the messages that the revision knows."""

TABLES = {Kind.REQUEST: "requests", Kind.NOTIFICATION: "notifications"}
NOWHERE = ("", "", "")
PARTS = {Kind.REQUEST: "params", Kind.NOTIFICATION: "params"}
BATCHES = "2025-03-26"
MOST_ERRORS = 20


@dataclass(frozen=True)
class Wrong:
    """A member that is wrong: its ``path``, ``what`` is wrong with it, and the requirement it breaks."""

    path: str
    what: str
    rule: str = ANY_RULE

    def __str__(self) -> str:
        return f"{self.path or 'message'}: {self.what}"


def message_errors(message: Any, revision: str, sender: str, asked: Any = None) -> list[Wrong]:
    """All that is wrong with a message of ``sender`` (`CLIENT` or `SERVER`).

    ``asked`` is the request that a result answers, without which only its outside is looked at.  A result is
    a modern one if its request was: a server may serve others as in the handshake era.  The members of a
    batch are looked at one by one, in a revision that has batches.
    """
    if isinstance(message, list) and revision == BATCHES:
        return [wrong for part in message for wrong in message_errors(part, revision, sender, asked)]
    what = Kind.NOTIFICATION if _is_announced(message) else kind(message)
    if what in (Kind.OTHER, Kind.BATCH):
        return [Wrong("", f"{show(message, 80)} is no message", _rule_of_no_message(message))]
    if rule := schema(revision)[sender].get("never", {}).get(what.value):
        return [Wrong("", f"{show(message, 80)} has no place here", rule)]
    entry = _entry(message, what, revision, sender, asked)
    if what is Kind.RESULT and is_modern(revision) and _version(asked) != revision:
        revision, entry = LATEST_HANDSHAKE, NOWHERE
    try:
        return _told(_validator(revision, what, *entry), message)
    except RecursionError:
        return []


def _rule_of_no_message(message: Any) -> str:
    answers = isinstance(message, dict) and "id" in message and "result" not in message
    return "jsonrpc.result-xor-error" if answers else ANY_RULE


def _is_announced(message: Any) -> bool:
    """Whether a message is a notification by its method, also if it has an id."""
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and method.startswith("notifications/")


def _entry(message: Any, what: Kind, revision: str, sender: str, asked: Any) -> tuple[str, str, str]:
    """Where the schema of a revision describes what a message carries; nowhere if it does not know it."""
    asker, request, part = sender, message, "params"
    if what not in TABLES:
        asker, request = SERVER if sender == CLIENT else CLIENT, asked
        part = _form(message, asked, revision)
    method = request.get("method") if isinstance(request, dict) and what is not Kind.ERROR else None
    table = schema(revision)[asker].get(TABLES.get(what, "requests"), {})
    return (asker, method, part) if isinstance(method, str) and method in table else NOWHERE


def _version(request: Any) -> Any:
    """The revision that a message names in ``_meta``, as modern requests do."""
    params = request.get("params") if isinstance(request, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None


FORMS = {"complete": "result", "input_required": "inputRequired"}
"""What a modern result says that it is, and where the schema describes that."""


def _form(message: Any, asked: Any, revision: str) -> str:
    """Which form of its result this is; nothing is known of the forms that extensions have."""
    if not is_modern(revision):
        return "taskResult" if _is_task(message, asked) else "result"
    result = message.get("result")
    said = result.get("resultType", "complete") if isinstance(result, dict) else None
    return FORMS.get(said, "") if isinstance(said, str) else ""


def _is_task(message: Any, asked: Any) -> bool:
    """Whether a request that may become a task has become one."""
    params = asked.get("params") if isinstance(asked, dict) else None
    result = message.get("result")
    return isinstance(params, dict) and "task" in params and isinstance(result, dict) and "task" in result


@cache
def _validator(revision: str, what: Kind, speaker: str, method: str, part: str) -> Draft202012Validator:
    return Draft202012Validator(message_schema(revision, what, speaker, method, part))


def message_schema(revision: str, what: Kind, speaker: str, method: str, part: str) -> dict[str, Any]:
    """The schema of one kind of message; what is known of ``method`` comes on top of its envelope."""
    whole = schema(revision)
    table = TABLES.get(what, "requests")
    entry: Mapping[str, Any] = whole.get(speaker, {}).get(table, {}).get(method, {})
    member = PARTS.get(what, "result")
    body: dict[str, Any] = {"properties": {member: entry[part]}} if part in entry else {}
    if part == "params" and entry.get("needsParams"):
        body["required"] = ["params"]
    return {"$defs": whole["$defs"], "allOf": [whole["envelopes"][what.value], body]}


# Telling what is wrong ---------------------------------------------------------------------------


def _told(validator: Draft202012Validator, message: Any) -> list[Wrong]:
    found: dict[tuple[str, str], Wrong] = {}
    root: Any = validator.schema
    for error, _ in zip(validator.iter_errors(message), range(MOST_ERRORS), strict=False):
        for wrong in _wrongs(error, root):
            found[wrong.path, wrong.what] = wrong  # what the method says of a member overrules its envelope
    return list(found.values())


def _wrongs(error: ValidationError, root: Mapping[str, Any]) -> Iterator[Wrong]:
    path = _path(error.absolute_path)
    rules = _rules(root, list(error.absolute_schema_path))
    if error.validator == "required":
        (wanted, described), members = _of(error), cast("dict[str, Any]", error.instance)
        for name in sorted(set(wanted) - set(members)):
            member = described.get("properties", {}).get(name, {})
            yield Wrong(f"{path}.{name}" if path else name, "is missing", _rule_missing(rules, member))
    else:
        yield Wrong(path, _words(error), _rule(rules))


def _of(error: ValidationError) -> tuple[Any, Any]:
    """The value of the keyword that is violated, and the schema it stands in."""
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
        return f"{value} is no {' or '.join([wanted] if isinstance(wanted, str) else wanted)}"
    if error.validator == "const":
        return f"{value} is not {show(wanted)}"
    if error.validator == "enum":
        return f"{value} is none of {', '.join(wanted)}"
    if error.validator == "maxItems":
        return f"{value} has more than {wanted} items"
    return f"{value} {REFUSED[error.validator]}" if error.validator in REFUSED else error.message


def _rules(root: Any, way: list[Any]) -> list[Mapping[str, Any]]:
    """The schemas that lie on the way to an error."""
    return [one for one in _met(root, root, way) or () if isinstance(one, dict)]


def _met(root: Any, node: Any, way: list[Any]) -> list[Any] | None:
    """What lies on a way from ``node``, which does not name references; None if it leads nowhere."""
    if not way:
        return [node]
    step, *further = way
    known = step in node if isinstance(node, dict) else isinstance(step, int) and step < len(node)
    met = _met(root, node[step], further) if known else None
    if met is None and isinstance(node, dict) and "$ref" in node:
        met = _met(root, root["$defs"][node["$ref"].removeprefix("#/$defs/")], way)
    return None if met is None else [node, *met]


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
) -> Iterator[tuple[tuple[Line, ...], Wrong]]:
    """All that is wrong with what ``sender`` said to the other: the lines that prove it, and what it is.

    Results are matched to their requests by id; where an id was used twice, only their outside is looked at.
    Messages that differ in nothing but their id are looked at once.  Nothing is said of a modern conversation
    that was opened by a message without a version: a server may have taken it for one of the handshake era.
    """
    lines = list(lines)
    if is_modern(revision) and not _opens_with_a_version(lines):
        return
    asked: dict[tuple[str, str], tuple[Line, Any] | None] = {}
    seen: set[bytes] = set()
    for line in lines:
        for message in line.parts():
            if line.sent is not (sender == CLIENT):
                if kind(message) is Kind.REQUEST:
                    asked[_id(message)] = None if _id(message) in asked else (line, message)
                continue
            known = asked.get(_id(message)) if kind(message) is Kind.RESULT else None
            before, request = known or (None, None)
            if _is_new(message, request, seen):
                proof = (line,) if before is None else (before, line)
                yield from ((proof, wrong) for wrong in message_errors(message, revision, sender, request))


def _opens_with_a_version(lines: list[Line]) -> bool:
    said = [message for line in lines if line.sent for message in line.parts()]
    return not said or _version(said[0]) is not None


def _id(message: Any) -> tuple[str, str]:
    return id_key(message.get("id"))


def _is_new(message: Any, request: Any, seen: set[bytes]) -> bool:
    """Whether nothing like this was looked at before."""
    asked = request and (request["method"], _is_task(message, request), _version(request))
    try:
        if isinstance(message, dict) and "id" in message:
            message = {**message, "id": type(message["id"]).__name__}
        key = sha256(json.dumps([asked, message]).encode()).digest()
    except RecursionError:
        return True
    new = key not in seen
    seen.add(key)
    return new
