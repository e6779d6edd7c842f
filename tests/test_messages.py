"""Messages are judged by schemas of our own, which agree with the official ones; what we send passes them."""

import json
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, validators
from support import EVERYTHING, run_suite

from conformance import catalogue, revisions
from conformance import schema as own
from conformance.messages import CLIENT, SERVER, conversation_errors, message_errors
from conformance.wire import Kind, Line, kind

REVISIONS = own.revisions()
OFFICIAL = REVISIONS[1:]
MIRROR = Path("/work/.mirror/modelcontextprotocol+modelcontextprotocol/repo")
MESSAGES = int(os.environ.get("OFFICIAL_MESSAGES", "2000"))


# --- the official schemas -------------------------------------------------------------------------
# They are in nobody's repository but their own: OFFICIAL_SCHEMAS=folder names one with 2025-11-25.json, ...


@cache
def official(revision):
    """The official schema of a revision, or None if it is not at hand."""
    if folder := os.environ.get("OFFICIAL_SCHEMAS"):
        return json.loads(Path(folder, f"{revision}.json").read_text(encoding="utf-8"))
    if not MIRROR.exists():
        return None
    shown = ["git", "-C", str(MIRROR), "show", f"HEAD:schema/{revision}/schema.json"]
    return json.loads(subprocess.run(shown, capture_output=True, check=True).stdout)


def definitions(revision):
    schema = official(revision)
    return schema.get("$defs") or schema["definitions"]


@cache
def validator(revision, name):
    """The official validator of a definition."""
    schema = official(revision)
    key = "$defs" if "$defs" in schema else "definitions"
    part = {"$schema": schema["$schema"], key: schema[key], "$ref": f"#/{key}/{name}"}
    return validators.validator_for(part)(part)


@cache
def typed(revision):
    """Which definition describes a message, by sender, kind and method (that which a result answers)."""
    known = definitions(revision)
    found = {}
    for sender in (CLIENT, SERVER):
        other = SERVER if sender == CLIENT else CLIENT
        for what in (Kind.REQUEST, Kind.NOTIFICATION):
            union = known[f"{sender.title()}{what.value.title()}"]
            for name in (one["$ref"].rpartition("/")[2] for one in union["anyOf"]):
                method = known[name]["properties"]["method"]["const"]
                found[sender, what, method] = name
                if what is Kind.REQUEST:
                    result = name.removesuffix("Request") + "Result"
                    found[other, Kind.RESULT, method] = result if result in known else "EmptyResult"
    if "CreateTaskResult" in known:
        for sender, method in ((SERVER, "tools/call"), (CLIENT, "sampling/createMessage")):
            found[sender, Kind.RESULT, f"{method} as a task"] = "CreateTaskResult"
    return found


def envelope(revision, what):
    """The definition of a kind of message."""
    known, title = definitions(revision), what.value.title()
    names = [f"JSONRPC{title}", f"JSONRPC{title}Response", "JSONRPCResponse"]
    return next(name for name in names if name in known)


def official_errors(revision, sender, message, asked):
    """What the official schema says against a message, told apart as we tell it apart."""
    what = Kind.NOTIFICATION if is_announced(message) else kind(message)
    if what in (Kind.OTHER, Kind.BATCH):
        return list(validator(revision, "JSONRPCMessage").iter_errors(message))
    errors = list(validator(revision, envelope(revision, what)).iter_errors(message))
    name = typed(revision).get((sender, what, asked if what is Kind.RESULT else str(message.get("method"))))
    if name is not None:
        body = message["result"] if what is Kind.RESULT else message
        errors += validator(revision, name).iter_errors(body)
    if revision >= "2025-11-25" and what is Kind.ERROR and is_code(message, -32042):
        errors += validator(revision, "URLElicitationRequiredError").iter_errors(message)
    return errors


def is_announced(message):
    method = message.get("method") if isinstance(message, dict) else None
    return isinstance(method, str) and method.startswith("notifications/")


def is_code(message, code):
    return isinstance(message["error"], dict) and message["error"].get("code") == code


def own_errors(revision, sender, message, asked):
    method, _, task = (asked or "").partition(" as a ")
    request = {"method": method, "params": {"task": {}}} if task else {"method": method}
    return message_errors(message, revision, sender, request)


# --- messages made from them ----------------------------------------------------------------------

ANYTHING = [None, True, 0, -1, 1.5, "", "text", "2.0", [], [1], ["a"], {}, {"a": 1}, [{}], {"a": {}}]


PLAIN = {
    "string": ["", "a", "text", "https://example.com/", "aGk="],
    "integer": [0, 1, -7, 2**40],
    "number": [0, 1, 0.5, 1.0],
    "boolean": [True, False],
    "null": [None],
}


class Maker:
    """Makes values by the keywords that the official schemas use; the same seed makes the same values."""

    def __init__(self, revision, seed):
        self.random = random.Random(f"{revision} {seed}")
        self.definitions = definitions(revision)
        self.names = sorted(member_names(self.definitions))
        self.words = sorted(words(self.definitions))

    def value(self, schema, depth=0):
        """A value that is valid under a schema."""
        pick = self.random
        if "$ref" in schema:
            return self.value(self.definitions[schema["$ref"].rpartition("/")[2]], depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return pick.choice(schema["enum"])
        if "anyOf" in schema:
            return self.value(pick.choice(schema["anyOf"]), depth)
        if "allOf" in schema:
            return {name: one for part in schema["allOf"] for name, one in self.value(part, depth).items()}
        return self.of_type(schema, depth)

    def of_type(self, schema, depth):
        pick, type = self.random, schema.get("type")
        type = pick.choice(type) if isinstance(type, list) else type
        if type == "object":
            return self.object(schema, depth)
        if type == "array":
            return [self.value(schema["items"], depth + 1) for _ in range(pick.choice([0, 1, 1, 2]))]
        return pick.choice(PLAIN.get(type, ANYTHING))

    def object(self, schema, depth):
        pick, made = self.random, {}
        for name, part in schema.get("properties", {}).items():
            if name in schema.get("required", ()) or pick.random() < 0.8 / (1 + depth):
                made[name] = self.value(part, depth + 1)
        if pick.random() < 0.2:
            more = schema.get("additionalProperties", {})
            made[f"x{pick.randrange(9)}"] = self.value(more if isinstance(more, dict) else {}, depth + 1)
        return made

    def message(self, revision):
        """A valid message: who sends it, what it is, and the method that it answers."""
        choices = [*typed(revision), *[(sender, Kind.ERROR, "") for sender in (CLIENT, SERVER)]]
        sender, what, method = self.random.choice(choices)
        made = self.value({"$ref": envelope(revision, what)})
        name = typed(revision).get((sender, what, method))
        if what is Kind.RESULT:
            made["result"] = self.value({"$ref": name})
        elif name is not None:
            made = {
                "jsonrpc": "2.0",
                **({"id": made["id"]} if "id" in made else {}),
                **self.value({"$ref": name}),
            }
        elif revision >= "2025-11-25" and self.random.random() < 0.5:
            made = self.value({"$ref": "URLElicitationRequiredError"})
        return sender, made, method if what is Kind.RESULT else None

    def mutated(self, message):
        """The message with one member, at any depth, left out, replaced or added."""
        message = json.loads(json.dumps(message))
        pick = self.random
        places = list(containers(message))
        place = pick.choice(places)
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

    def anything(self):
        pick = self.random
        return pick.choice(self.words) if pick.random() < 0.3 else pick.choice(ANYTHING)


def containers(value):
    """Every object and array in a value, those further out more often."""
    yield value
    yield value
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from containers(part)


def member_names(schema):
    for part in parts(schema):
        if isinstance(part, dict) and isinstance(part.get("properties"), dict):
            yield from part["properties"]


def words(schema):
    for part in parts(schema):
        if isinstance(part, dict):
            yield from [one for one in part.get("enum", ()) if isinstance(one, str)]
            yield from [part["const"]] if isinstance(part.get("const"), str) else []


def parts(schema):
    yield schema
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from parts(part)


# --- agreement ------------------------------------------------------------------------------------

STRICTER = {
    r"(result|error): .* has no place here": (
        "their envelopes are open, so a message may have a method and a result, or a result and an error"
    ),
    r"id: .* has no place here": "for the same reason their notifications may have an id",
    r"params\._meta: .* is no object": (
        "their requests for tasks, and the notification that an elicitation is complete, do not say of their "
        "params that these may have the _meta that all params may have"
    ),
    r"params\.requestedSchema\.properties\..*": (
        "in an anyOf of theirs a broken list of choices passes as a plain string with one more member, and a "
        "plain string with a broken bound as a list of choices"
    ),
}
"""What we find wrong and the official schemas do not, and why they are the weaker ones."""

FRACTION = "a fraction where schema.ts has a number and the generator of schema.json wrote integer"
UNREADABLE = "an error without an id, or with null, which JSON-RPC 2.0 demands where none could be read"


def leaves(errors):
    """The errors, and those of each branch that failed."""
    for error in errors:
        yield error
        yield from leaves(error.context)


def why_stricter(ours):
    """The reasons why we find wrong what the official schema does not; None if one of ours has no reason."""
    reasons = [
        next((STRICTER[one] for one in STRICTER if re.fullmatch(one, str(wrong))), None) for wrong in ours
    ]
    return None if None in reasons else reasons


def why_looser(theirs, message):
    """The reason why we do not find wrong what the official schema does; None if there is none."""
    if kind(message) is Kind.ERROR and message.get("id") is None:
        return UNREADABLE
    wanted = [
        error for error in leaves(theirs) if error.validator == "type" and "integer" in error.validator_value
    ]
    return FRACTION if any(isinstance(error.instance, float) for error in wanted) else None


def disagreement(revision, sender, message, asked):
    """What only one side finds wrong, and for which reason is not known."""
    ours = own_errors(revision, sender, message, asked)
    theirs = official_errors(revision, sender, message, asked)
    if bool(ours) == bool(theirs) or (why_stricter(ours) if ours else why_looser(theirs, message)):
        return None
    told = [str(wrong) for wrong in ours] or [error.message for error in leaves(theirs)]
    return f"{'we' if ours else 'they'} say of {json.dumps(message)} to {asked}: {told}"


@pytest.mark.parametrize("revision", OFFICIAL)
def test_our_schema_agrees_with_the_official_one(revision):
    if official(revision) is None:
        pytest.skip("the official schemas are not at hand: OFFICIAL_SCHEMAS=folder names them")
    maker, refused = Maker(revision, 0), 0
    for _ in range(MESSAGES):
        sender, message, asked = maker.message(revision)
        assert official_errors(revision, sender, message, asked) == []
        assert own_errors(revision, sender, message, asked) == [], message
        mutated = maker.mutated(message)
        assert disagreement(revision, sender, mutated, asked) is None
        refused += bool(own_errors(revision, sender, mutated, asked))
    assert refused > MESSAGES / 4


# --- our schemas alone ----------------------------------------------------------------------------


def test_there_is_a_schema_for_every_revision_of_the_handshake_era():
    assert list(revisions.HANDSHAKE) == REVISIONS


@pytest.mark.parametrize("revision", OFFICIAL)
def test_a_rule_that_a_message_breaks_holds_in_its_revision(revision):
    rules = [
        part[name]
        for part in parts(own.schema(revision))
        if isinstance(part, dict)
        for name in RULES & set(part)
    ]
    named = {rule for rule in rules if isinstance(rule, str)}
    assert [rule for rule in sorted(named) if not catalogue.requirement(rule).holds_in(revision)] == []


RULES = {"rule", "ruleBelow", "ruleMissing", "ruleMissingBelow"}


@pytest.mark.parametrize("revision", ["base", *REVISIONS])
def test_our_schema_is_json_schema(revision):
    whole = own.schema(revision)
    defs, references = whole["$defs"], set()
    for part in parts(whole):
        references |= (
            {part["$ref"]} if isinstance(part, dict) and isinstance(part.get("$ref"), str) else set()
        )
    assert references <= {f"#/$defs/{name}" for name in defs}
    for schema in [*defs.values(), *whole["envelopes"].values()]:
        Draft202012Validator.check_schema(schema)


def answer(**result):
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def told(message, asked=None, revision="2025-11-25", sender=SERVER):
    return [(str(wrong), wrong.rule) for wrong in message_errors(message, revision, sender, asked)]


CALL = {"method": "tools/call", "params": {}}


@pytest.mark.parametrize(
    ("message", "asked", "path", "rule"),
    [
        (
            answer(content=[{"type": "text", "text": 5}]),
            CALL,
            "result.content[0].text",
            "content.text.text-string",
        ),
        (answer(content=[{"type": "x"}]), CALL, "result.content[0].type", "tools.call.content-known-type"),
        (answer(), CALL, "result.content", "tools.call.result-content-array"),
        (answer(_meta=None), None, "result._meta", "result.meta-object"),
        (answer(task={}), {**CALL, "params": {"task": {}}}, "result.task.taskId", "tasks.create-result"),
        (
            answer(tools=[{"name": "x"}]),
            {"method": "tools/list"},
            "result.tools[0].inputSchema",
            "tools.def.input-schema-present",
        ),
        ({"jsonrpc": "2.0", "id": 1}, None, "message", "jsonrpc.result-xor-error"),
        ({"id": 1, "result": {}}, None, "jsonrpc", "jsonrpc.version-member"),
        (
            {"jsonrpc": "2.0", "id": None, "method": "notifications/x"},
            None,
            "id",
            "jsonrpc.notification-no-id",
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}},
            None,
            "error.code",
            "jsonrpc.error-code-integer",
        ),
        ([], None, "message", "jsonrpc.message-shape"),
    ],
)
def test_what_is_wrong_is_told_with_its_path_and_the_rule_it_breaks(message, asked, path, rule):
    assert (path, rule) in [(wrong.partition(":")[0], broken) for wrong, broken in told(message, asked)]


@pytest.mark.parametrize("revision", REVISIONS)
def test_members_that_nobody_names_are_legal(revision):
    tool = {"name": "x", "inputSchema": {"type": "object", "x-more": 1}, "x-more": 1}
    assert told({**answer(tools=[tool], more=1), "x-more": 1}, {"method": "tools/list"}, revision) == []
    assert (
        told({"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": {"a": 1}}, None, revision)
        == []
    )


def test_what_a_revision_lacks_is_a_member_that_nobody_names():
    page = answer(tools=[{"name": "x", "title": 5, "inputSchema": {"type": "object"}}])
    wrong = {revision: bool(told(page, {"method": "tools/list"}, revision)) for revision in OFFICIAL}
    assert wrong == {"2024-11-05": False, "2025-03-26": False, "2025-06-18": True, "2025-11-25": True}


def test_a_batch_is_a_message_in_one_revision_only():
    batch = [answer(), answer(content=5)]
    assert told(batch, revision="2025-03-26") == []
    assert told(batch, revision="2025-06-18") != []
    assert [wrong for wrong, _ in told(batch, CALL, "2025-03-26")] == [
        "result.content: is missing",
        "result.content: 5 is no array",
    ]


def test_what_is_nested_too_deeply_is_let_pass():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    lines = [Line(sent=False, raw=b"", message=answer(content=[], structuredContent={"a": deep}))]
    assert list(conversation_errors(lines, "2025-11-25", SERVER)) == []


# --- our own messages -----------------------------------------------------------------------------

DELIBERATE = {
    "": {"", "result.content"},
    "completion/complete": {
        *("params.argument", "params.argument.name", "params.argument.value"),
        *("params.ref", "params.ref.name", "params.ref.type"),
    },
    "logging/setLevel": {"params.level"},
    "notifications/cancelled": {"params", "params.requestId"},
    "prompts/get": {"params.arguments.name", "params.arguments.tone", "params.name"},
    "prompts/list": {"params.cursor"},
    "resources/list": {"params.cursor"},
    "resources/read": {"params", "params.uri"},
    "resources/subscribe": {"params.uri"},
    "resources/templates/list": {"params.cursor"},
    "tools/call": {"params", "params.arguments", "params.name"},
    "tools/list": {"jsonrpc", "params.cursor"},
    "1": {"method"},
}
"""What checks send wrong on purpose: by method (none for an answer and for what is no message), the paths."""


def recorded(file):
    """A conversation as the recorder wrote it down, and the revision that was agreed on."""
    lines, revision = [], REVISIONS[-1]
    for raw in file.read_bytes().splitlines():
        line = Line.received(raw[1:])
        lines.append(replace(line, sent=raw[:1] == b">", message=line.message))
        result = line.message.get("result") if isinstance(line.message, dict) else None
        if raw[:1] == b"<" and isinstance(result, dict):
            revision = result.get("protocolVersion", revision)
    return lines, revision


def test_what_we_send_is_valid_unless_it_is_wrong_on_purpose(tmp_path):
    recorder = (sys.executable, str(Path(__file__).with_name("recorder.py")), str(tmp_path))
    run = run_suite(recorder, "--revision", "2025-03-26,2025-11-25", "--profile", "none", *EVERYTHING)
    assert run.exit == 0
    conversations = [recorded(file) for file in tmp_path.iterdir()]
    sent = [line for lines, _ in conversations for line in lines if line.sent]
    assert len(sent) > 500
    wrong = {}
    for lines, revision in conversations:
        for (*_, line), error in conversation_errors(lines, revision, CLIENT):
            method = line.message.get("method", "") if isinstance(line.message, dict) else ""
            if error.path not in DELIBERATE.get(str(method), ()):
                wrong[str(method), str(error)] = line.text
    assert wrong == {}


def test_three_thousand_messages_are_looked_at_in_a_second():
    tools = [{"name": f"tool{n}", "title": "Tool", "inputSchema": {"type": "object"}} for n in range(20)]
    lines = []
    for id in range(1500):
        asked = (
            {"jsonrpc": "2.0", "id": id, "method": "tools/list"}
            if id % 3
            else {"jsonrpc": "2.0", "id": id, **CALL}
        )
        result = {"tools": tools} if id % 3 else {"content": [{"type": "text", "text": str(id)}]}
        lines += [Line(True, b"", message=asked), Line(False, b"", message={**answer(**result), "id": id})]
    start = time.process_time()
    assert list(conversation_errors(lines, "2025-11-25", SERVER)) == []
    assert time.process_time() - start < 1
