"""Compare our wire schemas with the official ones on generated messages.

    git clone https://github.com/modelcontextprotocol/modelcontextprotocol spec   # or with --bare
    python benchmarks/schema_agreement.py spec
    python benchmarks/schema_agreement.py spec --revision 2026-07-28 --messages 6000 --seed 1

For each revision, valid messages of every kind and both directions are generated from its official
schema.json, and a copy of each in which one member, at any depth, is left out, replaced or added.  Both
schemas must accept the valid messages, and reject the same copies.  The differences below are expected, each
with its reason, and are counted.  The exit status is 1 if there is any other difference.

The official definition of a message is chosen as ours is: by its kind and method, a result by the request
that it answers, and since 2026-07-28 by its resultType.  A result of a type that only an extension defines is
validated against the general definition of a result.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError

from mcp_conformance.protocol import schemas as own
from mcp_conformance.protocol.jsonrpc import Kind, kind
from mcp_conformance.protocol.revisions import PROTOCOL_VERSION, is_modern
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER, SchemaError, message_errors

REVISIONS = own.revisions()[1:]
"""The revisions with an official schema; the oldest draft has none."""

# --- the expected differences ------------------------------------------------------------------------

STRICTER = {
    r"(result|error): .* has no place here": (
        "a result beside a method or an error: their envelopes are open, so nothing forbids it"
    ),
    r"id: .* has no place here": "a notification with an id: for the same reason",
    r"message: .* has no place here": (
        "a request of the server in 2026-07-28, which has none: their requests do not say whose they are"
    ),
    r"params\._meta: .* is not (an object|of type object)": (
        "_meta of a request for a task, or of the notification that an elicitation is complete: their params "
        "do not have the _meta that all params may have"
    ),
    r"(result\.inputRequests\..*)?params\.requestedSchema\.properties\..*": (
        "a field of a form: in an anyOf of theirs a broken list of choices passes as a plain string with one "
        "more member, and a plain string with a broken bound as a list of choices"
    ),
    r'result\.resultType: "input_required" has no place here': (
        "input_required to a request that never asks for input: the page forbids it, their type of a result "
        "is any string"
    ),
    r"result\.inputRequests: is missing": (
        "input_required without a question and without a state: a comment in schema.ts forbids it, which "
        "their generator cannot express"
    ),
}
"""Errors that only our schemas report, and the reason why the official ones do not."""

FRACTION = "a fraction: schema.ts has a number where the generator of schema.json wrote integer"
NULL = "null in a JSON value: schema.ts allows it, and the generator of schema.json lost it"
UNREADABLE = "an error without an id, or with null, which JSON-RPC 2.0 demands where none could be read"

JSON_VALUE = ["string", "integer", "boolean"]
"""The types that the generator of schema.json wrote for the plain JSON values of schema.ts."""


def why_stricter(ours: list[SchemaError]) -> str | None:
    """Return why only our schema rejects a message; None if one of our errors has no reason."""
    reasons = [
        next((reason for form, reason in STRICTER.items() if re.fullmatch(form, str(wrong))), None)
        for wrong in ours
    ]
    return None if None in reasons else reasons[0]


def why_weaker(theirs: list[ValidationError], message: Any) -> str | None:
    """Return why only the official schema rejects a message; None if there is no reason."""
    if kind(message) is Kind.ERROR and message.get("id") is None:
        return UNREADABLE
    typed = [error for error in leaves(theirs) if error.validator == "type"]
    if any(isinstance(error.instance, float) and "integer" in of(error) for error in typed):
        return FRACTION
    return NULL if any(error.instance is None and of(error) == JSON_VALUE for error in typed) else None


def of(error: ValidationError) -> Any:
    """Return the value of the violated keyword."""
    return error.validator_value


def leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Yield the errors, and those of each branch that failed."""
    for error in errors:
        yield error
        yield from leaves(error.context or [])


# --- the official schemas -------------------------------------------------------------------------

SPECIAL_ERRORS = {
    "2025-11-25": {-32042: "URLElicitationRequiredError"},
    "2026-07-28": {-32021: "MissingRequiredClientCapabilityError", -32022: "UnsupportedProtocolVersionError"},
}
"""The definitions of errors, by code."""

TASKS = ((SERVER, "tools/call"), (CLIENT, "sampling/createMessage"))
QUESTIONS = ("tools/call", "prompts/get", "resources/read")
TASK, QUESTION = " as a task", " as a question"


class Official:
    """The official schema of a revision, from a checkout of the specification or a bare repository."""

    def __init__(self, spec: Path, revision: str) -> None:
        self.revision = revision
        self._schema = json.loads(read(spec, f"schema/{revision}/schema.json"))
        self._key = "$defs" if "$defs" in self._schema else "definitions"
        self.definitions: dict[str, Any] = self._schema[self._key]
        self._validators: dict[str, Any] = {}

    def errors(self, name: str, value: Any) -> list[ValidationError]:
        """Return the errors of a value under a definition."""
        if name not in self._validators:
            schema = {"$schema": self._schema["$schema"], self._key: self.definitions}
            schema["$ref"] = f"#/{self._key}/{name}"
            self._validators[name] = validators.validator_for(schema)(schema)
        return list(self._validators[name].iter_errors(value))

    @cached_property
    def typed(self) -> dict[tuple[str, Kind, str], str]:
        """Return the definition of a message by sender, kind and method (of the request, for a result)."""
        found: dict[tuple[str, Kind, str], str] = {}
        for sender, other in ((CLIENT, SERVER), (SERVER, CLIENT)):
            for what in (Kind.REQUEST, Kind.NOTIFICATION):
                for name in self._members(f"{sender.title()}{what.value.title()}"):
                    method = self.definitions[name]["properties"]["method"]["const"]
                    found[sender, what, method] = name
                    if what is Kind.REQUEST:
                        result = name.removesuffix("Request") + "Result"
                        known = result in self.definitions
                        found[other, Kind.RESULT, method] = result if known else "EmptyResult"
        if "CreateTaskResult" in self.definitions:
            found |= {(who, Kind.RESULT, method + TASK): "CreateTaskResult" for who, method in TASKS}
        if "InputRequiredResult" in self.definitions:
            found |= {(SERVER, Kind.RESULT, method + QUESTION): "InputRequiredResult" for method in QUESTIONS}
        return found

    def _members(self, union: str) -> list[str]:
        """Return the definitions in a union, or the definition itself if it is not a union."""
        if union not in self.definitions:
            return []
        parts = self.definitions[union].get("anyOf")
        return [part["$ref"].rpartition("/")[2] for part in parts] if parts else [union]

    def envelope(self, what: Kind) -> str:
        """Return the definition of a kind of message."""
        title = what.value.title()
        names = [f"JSONRPC{title}", f"JSONRPC{title}Response", "JSONRPCResponse"]
        return next(name for name in names if name in self.definitions)

    def message_errors(self, sender: str, message: Any, asked: str) -> list[ValidationError]:
        """Return the errors of a message under the official schema."""
        what = Kind.NOTIFICATION if is_announced(message) else kind(message)
        if what in (Kind.OTHER, Kind.BATCH):
            return self.errors("JSONRPCMessage", message)
        method = self._form(message, asked) if what is Kind.RESULT else str(message.get("method"))
        name = self.typed.get((sender, what, method))
        errors = self.errors(self.envelope(what), message)
        if name is not None:
            errors += self.errors(name, message["result"] if what is Kind.RESULT else message)
        special = SPECIAL_ERRORS.get(self.revision, {}).get(code(message)) if what is Kind.ERROR else None
        return errors + self.errors(special, message) if special else errors

    def _form(self, message: Any, asked: str) -> str:
        """Return the definition of a result by its resultType."""
        result, (method, _, _) = message["result"], asked.partition(" as a ")
        if not is_modern(self.revision) or not isinstance(result, dict):
            return asked
        type = result.get("resultType", "complete")
        question = method + QUESTION
        if type == "input_required" and (SERVER, Kind.RESULT, question) in self.typed:
            return question
        return method if type in ("complete", "input_required") else ""


def read(spec: Path, path: str) -> str:
    """Return a file of a checkout, or of the newest commit in a bare repository."""
    if (spec / path).exists():
        return (spec / path).read_text(encoding="utf-8")
    shown = ["git", "-C", str(spec), "show", f"HEAD:{path}"]
    return subprocess.run(shown, capture_output=True, check=True, encoding="utf-8").stdout


def is_announced(message: Any) -> bool:
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and method.startswith("notifications/")


def code(message: Any) -> Any:
    found = message["error"].get("code") if isinstance(message["error"], dict) else None
    return found if isinstance(found, int | float) else None


# --- generated messages ----------------------------------------------------------------------

RESULT_TYPES = {"complete", "input_required"}
"""Values that only the pages define; in older revisions they are like any other."""

ANYTHING = [None, True, 0, -1, 1.5, "", "text", "2.0", [], [1], ["a"], {}, {"a": 1}, [{}], {"a": {}}]

PLAIN = {
    "string": ["", "a", "text", "https://example.com/", "aGk="],
    "integer": [0, 1, -7, 2**40],
    "number": [0, 1, 0.5, 1.0],
    "boolean": [True, False],
    "null": [None],
}


class Maker:
    """A generator of values for the keywords that the official schemas use; the seed decides the values."""

    def __init__(self, official: Official, seed: int) -> None:
        self.official = official
        self.random = random.Random(f"{official.revision} {seed}")
        self.names = sorted(member_names(official.definitions))
        self.words = sorted(words(official.definitions) | RESULT_TYPES)

    def value(self, schema: Any, depth: int = 0) -> Any:
        """Return a value that is valid under a schema."""
        pick = self.random
        if "$ref" in schema:
            return self.value(self.official.definitions[schema["$ref"].rpartition("/")[2]], depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return pick.choice(schema["enum"])
        if "anyOf" in schema:
            return self.value(pick.choice(schema["anyOf"]), depth)
        if "allOf" in schema:
            return {name: one for part in schema["allOf"] for name, one in self.value(part, depth).items()}
        return self.of_type(schema, depth)

    def of_type(self, schema: Any, depth: int) -> Any:
        pick, type = self.random, schema.get("type")
        type = pick.choice(type) if isinstance(type, list) else type
        if type == "object":
            return self.object(schema, depth)
        if type == "array":
            return [self.value(schema["items"], depth + 1) for _ in range(pick.choice([0, 1, 1, 2]))]
        least = schema.get("minimum")
        choices = PLAIN.get(type, ANYTHING)
        return pick.choice(choices if least is None else [one for one in choices if one >= least])

    def object(self, schema: Any, depth: int) -> dict[str, Any]:
        pick, made = self.random, {}
        for name, part in schema.get("properties", {}).items():
            if name in schema.get("required", ()) or pick.random() < 0.8 / (1 + depth):
                made[name] = self.value(part, depth + 1)
        if pick.random() < 0.2:
            more = schema.get("additionalProperties", {})
            made[f"x{pick.randrange(9)}"] = self.value(more if isinstance(more, dict) else {}, depth + 1)
        return made

    def message(self) -> tuple[str, Any, str]:
        """Return a valid message with its sender, and the method that it answers if it is a result."""
        official = self.official
        speakers = (SERVER,) if is_modern(official.revision) else (CLIENT, SERVER)
        sender, what, method = self.random.choice(
            [*official.typed, *[(sender, Kind.ERROR, "") for sender in speakers]]
        )
        made = self.value({"$ref": official.envelope(what)})
        name = official.typed.get((sender, what, method))
        if what is Kind.RESULT:
            made["result"] = self.result(name)
        elif what is Kind.ERROR:
            special = SPECIAL_ERRORS.get(official.revision, {})
            if special and self.random.random() < 0.5:
                made = self.value({"$ref": self.random.choice(list(special.values()))})
        else:
            head = {"jsonrpc": "2.0"} | ({"id": made["id"]} if "id" in made else {})
            made = head | self.value({"$ref": name})
        return sender, made, method if what is Kind.RESULT else ""

    def result(self, name: str | None) -> Any:
        """Return a result with the resultType that the pages demand and schema.json does not."""
        made = self.value({"$ref": name})
        if name == "InputRequiredResult":
            made["resultType"] = "input_required"
            if "inputRequests" not in made:
                made.setdefault("requestState", "text")
        elif is_modern(self.official.revision):
            made["resultType"] = self.random.choice(["complete"] * 9 + ["an extension's"])
        return made

    def mutated(self, message: Any) -> Any:
        """Return the message with one member, at any depth, left out, replaced or added."""
        message = json.loads(json.dumps(message))
        pick = self.random
        place = pick.choice(list(containers(message)))
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if isinstance(place, dict) and (not keys or pick.random() < 0.3):
            place[pick.choice(self.names)] = self.anything()
        elif not keys:
            place.append(self.anything())
        elif pick.random() < 0.3:
            del place[pick.choice(keys)]
        else:
            place[pick.choice(keys)] = self.anything()
        return message

    def anything(self) -> Any:
        pick = self.random
        return pick.choice(self.words) if pick.random() < 0.3 else pick.choice(ANYTHING)


def containers(value: Any) -> Iterator[Any]:
    """Yield every object and array in a value, the outer ones more often."""
    yield value
    yield value
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from containers(part)


def member_names(schema: Any) -> set[str]:
    found = [part.get("properties") for part in parts(schema) if isinstance(part, dict)]
    return {name for members in found if isinstance(members, dict) for name in members}


def words(schema: Any) -> set[str]:
    found = [part for part in parts(schema) if isinstance(part, dict)]
    named = {one for part in found for one in part.get("enum", ()) if isinstance(one, str)}
    return named | {part["const"] for part in found if isinstance(part.get("const"), str)}


def parts(schema: Any) -> Iterator[Any]:
    yield schema
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from parts(part)


# --- agreement ------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The counts for the messages of one revision."""

    messages: int
    refused: int = 0
    stricter: Counter[str] = field(default_factory=Counter)
    weaker: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_sound(self) -> bool:
        """True if nothing is unexplained, and enough messages were rejected."""
        return not self.unexplained and self.refused > self.messages / 4


@dataclass(frozen=True)
class Judged:
    """A message with its errors under both schemas."""

    message: Any
    asked: str
    ours: list[SchemaError]
    theirs: list[ValidationError]

    def __str__(self) -> str:
        ours = [f"we: {wrong}" for wrong in self.ours]
        theirs = [f"they: {error.message}" for error in leaves(self.theirs)]
        answer = f" to {self.asked}" if self.asked else ""
        return f"{json.dumps(self.message)}{answer}: {shorten('; '.join(ours + theirs), 400)}"


def judged(official: Official, sender: str, message: Any, asked: str) -> Judged:
    method, _, form = asked.partition(" as a ")
    params = {"_meta": {PROTOCOL_VERSION: official.revision}} | ({"task": {}} if form == "task" else {})
    request = {"method": method, "params": params}
    ours = message_errors(message, official.revision, sender, request)
    return Judged(message, asked, ours, official.message_errors(sender, message, asked))


def compared(official: Official, messages: int, seed: int) -> Tally:
    """Judge generated messages by both schemas."""
    maker, tally, start = Maker(official, seed), Tally(messages), time.process_time()
    for _ in range(messages):
        sender, message, asked = maker.message()
        valid = judged(official, sender, message, asked)
        mutated = judged(official, sender, maker.mutated(message), asked)
        if valid.ours or valid.theirs:
            tally.unexplained.append(str(valid))
        count(tally, mutated)
    tally.seconds = time.process_time() - start
    return tally


def count(tally: Tally, one: Judged) -> None:
    """Count a mutated message by how the verdicts on it differ, if they do."""
    tally.refused += bool(one.ours and one.theirs)
    if bool(one.ours) == bool(one.theirs):
        return
    known = tally.stricter if one.ours else tally.weaker
    reason = why_stricter(one.ours) if one.ours else why_weaker(one.theirs, one.message)
    if reason is None:
        tally.unexplained.append(str(one))
    else:
        known[reason] += 1


def report(tallies: dict[str, Tally]) -> None:
    print("revision     valid  mutated  both refuse  stricter  weaker  unexplained  CPU seconds")
    for revision, one in tallies.items():
        counts = (one.stricter.total(), one.weaker.total(), len(one.unexplained))
        print(
            f"{revision}  {one.messages:6}   {one.messages:6}       {one.refused:6}    {counts[0]:6}"
            f"  {counts[1]:6}       {counts[2]:6}       {one.seconds:6.1f}"
        )
    explain("\nOnly we refuse", {revision: one.stricter for revision, one in tallies.items()})
    explain("\nOnly they refuse", {revision: one.weaker for revision, one in tallies.items()})
    for revision, one in tallies.items():
        for words in one.unexplained[:20]:
            print(f"\n{revision}, unexplained: {words}")


def explain(title: str, counts: dict[str, Counter[str]]) -> None:
    print(title)
    for reason in sorted({reason for counter in counts.values() for reason in counter}):
        seen = ", ".join(f"{revision}: {one[reason]}" for revision, one in counts.items() if one[reason])
        print(f"  {reason}\n      ({seen})")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("spec", type=Path, help="a checkout of the specification, or a bare repository of it")
    parser.add_argument("--revision", action="append", choices=REVISIONS, help="default: all")
    parser.add_argument(
        "--messages",
        type=int,
        default=2000,
        help="how many of each (default: 2000)",
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = options.revision or REVISIONS
    tallies = {one: compared(Official(options.spec, one), options.messages, options.seed) for one in chosen}
    report(tallies)
    return 0 if all(one.is_sound for one in tallies.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
