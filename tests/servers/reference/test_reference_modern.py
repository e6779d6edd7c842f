"""The reference server in the newest revision, driven over real pipes with a client of its own."""

import io
import json
import subprocess
import sys
import threading

import pytest

from mcp_conformance_fixtures import mutants
from mcp_conformance_fixtures.mutants import mutant
from mcp_conformance_fixtures.reference import Reference
from mcp_conformance_fixtures.reference_surface import MODERN, NEWEST

OURS = "io.modelcontextprotocol/"
VERSION, CAPABILITIES, LEVEL = OURS + "protocolVersion", OURS + "clientCapabilities", OURS + "logLevel"
SERVER, LISTEN = OURS + "serverInfo", OURS + "subscriptionId"
META = {VERSION: NEWEST, CAPABILITIES: {}}
ALL = {"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
INITIALIZE_PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
EVERYTHING = {
    **{f"{kind}ListChanged": True for kind in ("tools", "prompts", "resources")},
    "resourceSubscriptions": ["memo://counter"],
}
FORM, PAGE, MODEL = {"form": {}}, {"url": {}}, {"role": "assistant", "model": "m"}


class Wire:
    """A connection to one process; `notifications` came before the last answer."""

    def __init__(self, module="mcp_conformance_fixtures.reference", *more):
        command = [sys.executable, "-m", module, *more]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.watchdog = threading.Timer(30, self.child.kill)
        self.watchdog.start()
        self.used = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Close the input, and return the rest of the output."""
        rest, _ = self.child.communicate()
        self.watchdog.cancel()
        self.watchdog.join()
        assert self.child.returncode == 0
        return [json.loads(line) for line in rest.splitlines()]

    def send(self, method, id=None, **params):
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        if id is None:
            del message["id"]
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def read(self):
        line = self.child.stdout.readline()
        assert line.endswith(b"\n"), "the server ended"
        return json.loads(line)

    def plain(self, method, **params):
        """Send a request without adding `_meta`, and return its result or its error."""
        self.used += 1
        self.send(method, self.used, **params)
        self.notifications = []
        while "method" in (message := self.read()):
            self.notifications.append(message)
        assert message["id"] == self.used
        return message.get("result") or message["error"]

    def ask(self, method, capabilities=None, meta=None, **params):
        return self.plain(method, _meta=META | {CAPABILITIES: capabilities or {}} | (meta or {}), **params)

    def call(self, name, capabilities=None, meta=None, arguments=None, **more):
        return self.ask("tools/call", capabilities, meta, name=name, arguments=arguments or {}, **more)

    def listen(self, id, **wanted):
        self.send("subscriptions/listen", id, _meta=META, notifications=wanted)
        return self.read()


@pytest.fixture(scope="module")
def shared():
    with Wire() as wire:
        wire.ask("server/discover")
        yield wire


@pytest.fixture
def wire():
    with Wire() as wire:
        yield wire


# --- the era, and the envelope ----------------------------------------------------------------


def test_the_first_request_decides_the_era(wire):
    assert wire.ask("tools/list")["resultType"] == "complete"
    refusal = wire.plain("initialize", **INITIALIZE_PARAMS)
    assert refusal["code"] == -32022
    assert refusal["data"] == {"supported": [*MODERN], "requested": "2025-11-25"}
    with Wire() as other:
        assert other.plain("initialize", **INITIALIZE_PARAMS)["protocolVersion"] == "2025-11-25"
        assert other.ask("server/discover")["code"] == -32601
        assert "resultType" not in other.ask("tools/list")


def test_discovery_declares_capabilities_and_extensions(shared):
    found = shared.ask("server/discover")
    assert found["supportedVersions"] == [*MODERN]
    offered = {"tools", "prompts", "resources", "logging", "completions", "extensions"}
    assert set(found["capabilities"]) == offered
    for name, settings in found["capabilities"]["extensions"].items():
        assert "/" in name
        assert isinstance(settings, dict)
    stamp = "org.example/stamp"
    assert stamp not in shared.call("nothing")["_meta"]
    assert stamp in shared.call("nothing", {"extensions": {stamp: {}}})["_meta"]


def test_an_unknown_version_is_refused_at_any_time():
    for first in ("server/discover", "tools/list"):
        with Wire() as wire:
            for version in ("1900-01-01", *MODERN, "1900-01-01", "2025-11-25", *MODERN):
                reply = wire.ask(first, meta={VERSION: version})
                known = version in MODERN
                data = {"supported": [*MODERN], "requested": version}
                assert known == ("resultType" in reply)
                assert known or (reply["code"], reply["data"]) == (-32022, data)


LISTEN_PARAMS, READ = {"notifications": {}}, {"uri": "memo://plan"}
METHODS = {"server/discover": {}, "subscriptions/listen": LISTEN_PARAMS, "resources/read": READ}
METHODS |= {"tools/list": {}, "tools/call": {"name": "nothing"}, "prompts/get": {"name": "gallery"}}
WRONG = [
    {},
    {VERSION: NEWEST},
    {CAPABILITIES: {}},
    META | {VERSION: 20260728},
    META | {CAPABILITIES: None},
]
WRONG += [
    META | {CAPABILITIES: []},
    META | {CAPABILITIES: {"roots": True}},
    META | {CAPABILITIES: {"elicitation": {"form": 1}}},
]
WRONG += [META | {OURS + "clientInfo": {"name": "x"}}, META | {LEVEL: "loud"}, META | {"progressToken": 1.5}]
WRONG += [META | {CAPABILITIES: {"extensions": {"org.example/x": True}}}, [], None]


@pytest.mark.parametrize("method", METHODS)
def test_a_request_without_a_valid_envelope_is_refused(shared, method):
    assert shared.plain(method, **METHODS[method])["code"] == -32602
    for meta in WRONG:
        assert shared.plain(method, _meta=meta, **METHODS[method])["code"] == -32602, meta


def test_optional_members_of_the_envelope_change_nothing(shared):
    trace = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "tracestate": "a=b", "baggage": "c=d"}
    client_info = {OURS + "clientInfo": {"name": "x", "version": "1"}}
    meta = trace | client_info | {"com.example/x": {}}
    assert shared.ask("tools/list", meta=meta) == shared.ask("tools/list")
    assert shared.ask("tools/list", capabilities=ALL) == shared.ask("tools/list")


REMOVED = (
    "ping",
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "tasks/result",
    "no/such",
)


def test_removed_methods_are_unknown(shared):
    assert {shared.ask(method, uri="memo://plan", level="info")["code"] for method in REMOVED} == {-32601}
    assert NEWEST in shared.plain("initialize")["message"]
    assert "task" not in shared.call("report", task={"ttl": 1})
    shared.send("notifications/initialized")
    shared.send("notifications/roots/list_changed")
    assert shared.ask("tools/list")["tools"]
    assert not shared.notifications


# --- results ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", LISTS)
def test_a_list_has_pages_and_cache_hints(shared, method):
    pages = [shared.ask(method)]
    while "nextCursor" in pages[-1]:
        pages.append(shared.ask(method, cursor=pages[-1]["nextCursor"]))
    assert len(pages) > 1
    assert {page["cacheScope"] for page in pages} == {"public"}
    assert all(page["ttlMs"] >= 0 and page["_meta"][SERVER]["name"] == "reference" for page in pages)
    assert shared.ask(method, cursor="zork")["code"] == shared.ask(method, cursor=5)["code"] == -32602
    entries = [entry for page in pages for kind, entry in page.items() if isinstance(entry, list)]
    assert not any("execution" in entry for found in entries for entry in found)


def test_every_result_is_complete_and_names_the_server(shared):
    argument = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "tone", "value": "f"}}
    requests = METHODS | {"completion/complete": argument}
    del requests["subscriptions/listen"]
    for method, params in requests.items():
        result = shared.ask(method, **params)
        assert result["resultType"] == "complete"
        assert result["_meta"][SERVER]["version"] == "1.0.0"
        is_cacheable = method in ("server/discover", "resources/read", *LISTS)
        assert {"ttlMs", "cacheScope"} <= result.keys() or not is_cacheable


def test_structured_content_may_be_any_json_value(shared):
    contents = [shared.call("days", arguments={"count": 1}), shared.call("length", arguments={"text": "é"})]
    contents += [shared.call("initial", arguments={"text": word}) for word in ("Ada", "")]
    assert [found["structuredContent"] for found in contents] == [["monday"], 1, "A", None]
    assert [json.loads(found["content"][0]["text"]) for found in contents] == [["monday"], 1, "A", None]


def test_days_are_skipped_and_turned_round(shared):
    found = shared.call("days", arguments={"after": {"skipped": 4}, "count": 2, "backwards": True})
    assert found["structuredContent"] == ["saturday", "friday"]


def test_unknown_names_and_failures_have_the_codes_of_this_revision(shared):
    missing = shared.ask("resources/read", uri="memo://nothing")
    assert (missing["code"], missing["data"]) == (-32602, {"uri": "memo://nothing"})
    assert shared.ask("resources/read", uri="memo://unavailable")["code"] == -32603
    assert shared.call("nope")["code"] == shared.call("ponder")["code"] == -32602
    assert shared.ask("prompts/get", name="nope")["code"] == -32602
    assert shared.call("add", arguments={"a": 1})["isError"] is True


# --- notifications during a request -----------------------------------------------------------


def test_log_messages_and_progress_are_sent_only_if_requested(shared):
    shared.call("report")
    assert shared.notifications == []
    for level, count in (("debug", 1), ("info", 1), ("error", 0)):
        shared.call("report", meta={LEVEL: level})
        assert [one["method"] for one in shared.notifications] == ["notifications/message"] * count
    for token in (0, "", "1"):
        shared.call("report", meta={"progressToken": token})
        assert [one["params"]["progressToken"] for one in shared.notifications] == [token] * 2


def test_calls_in_flight_are_independent_and_a_cancelled_one_is_silent(shared):
    for id, steps in (("first", 10), (0, 5)):
        params = {"name": "count", "arguments": {"to": steps}, "_meta": META | {"progressToken": id}}
        shared.send("tools/call", id, **params)
    shared.send("notifications/cancelled", requestId="first", reason="No more.")
    shared.ask("server/discover")
    before, after = shared.notifications, [shared.read()]
    while after[-1].get("id") != 0:
        after.append(shared.read())
    assert after[-1]["result"]["content"][0]["text"] == "Counted to 5."
    assert {one["params"]["progressToken"] for one in after[:-1]} <= {0}
    received = [one["params"] for one in (*before, *after[:-1])]
    assert [one["progress"] for one in received if one["progressToken"] == 0] == [1, 2, 3, 4, 5]


# --- subscriptions ----------------------------------------------------------------------------


def tagged(wire):
    """Return the subscription and the kind of each notification."""
    return [(one["params"]["_meta"][LISTEN], one["method"].split("/")[1]) for one in wire.notifications]


def test_changes_are_notified_to_subscriptions_only(wire):
    wire.call("grow")
    assert wire.notifications == []
    for id in (0, "", "0", "all"):
        wanted = EVERYTHING if id == "all" else {"promptsListChanged": True, "toolsListChanged": False}
        acknowledged = wire.listen(id, **wanted, zork=1)
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        granted = {name: value for name, value in wanted.items() if value}
        assert acknowledged["params"] == {"notifications": granted, "_meta": {LISTEN: id}}
    assert wire.listen("none")["params"]["notifications"] == {}
    wire.call("grow", meta={LEVEL: "debug"})
    prompts = [(id, "prompts") for id in (0, "", "0", "all")]
    assert tagged(wire) == [("all", "tools"), *prompts, ("all", "resources"), ("all", "resources")]
    assert wire.notifications[-1]["params"]["uri"] == "memo://counter"
    for id in (0, "all"):
        wire.send("notifications/cancelled", requestId=id)
    wire.call("grow")
    assert tagged(wire) == prompts[1:3]
    rest = wire.end()
    ended = [one["params"]["requestId"] for one in rest if "method" in one]
    assert ended == [one["id"] for one in rest if "id" in one] == ["", "0", "none"]
    assert [one["result"]["_meta"][LISTEN] for one in rest if "id" in one] == ended


def test_a_wrong_filter_is_refused(shared):
    filters = [
        None,
        [],
        {"toolsListChanged": "yes"},
        {"promptsListChanged": None},
        {"resourceSubscriptions": "memo://plan"},
        {"resourceSubscriptions": [1]},
    ]
    for wrong in filters:
        assert shared.ask("subscriptions/listen", notifications=wrong)["code"] == -32602
    assert shared.ask("subscriptions/listen")["code"] == -32602


# --- required input ---------------------------------------------------------------------------

YES, NO = {"action": "accept", "content": {"name": "Ada", "age": 36}}, {"action": "decline"}
SUMMARY = MODEL | {"content": {"type": "text", "text": "Short."}}
HOME = {"roots": [{"uri": "file:///home"}]}
WORD = {"action": "accept", "content": {"word": "owls"}}
TOOL, PROMPT, RESOURCE = ("tools/call", "prompts/get", "resources/read")
REQUIRING_INPUT = [  # method, params, required capabilities; an answer, and a text in the result
    (TOOL, {"name": "ask"}, {"elicitation": FORM}, (YES, "This is Ada, 36 years old.")),
    (TOOL, {"name": "ask"}, {"elicitation": FORM}, (NO, "Then this stays unknown.")),
    (TOOL, {"name": "ask"}, {"elicitation": FORM}, ({"action": "cancel"}, "Then this stays unknown.")),
    (TOOL, {"name": "authorize"}, {"elicitation": PAGE}, ({"action": "accept"}, "This is authorized.")),
    (TOOL, {"name": "confirm"}, {"elicitation": PAGE}, (NO, "This is not confirmed.")),
    (TOOL, {"name": "summarize", "arguments": {"text": "Long."}}, {"sampling": {}}, (SUMMARY, "Short.")),
    (TOOL, {"name": "plan"}, {"sampling": {"tools": {}}}, (SUMMARY, "Short.")),
    (TOOL, {"name": "folders"}, {"roots": {}}, (HOME, "file:///home")),
    (PROMPT, {"name": "interview"}, {"elicitation": FORM}, (WORD, "about owls")),
    (RESOURCE, {"uri": "memo://diary"}, {"elicitation": FORM}, (WORD, "Dear diary: owls.")),
    (RESOURCE, {"uri": "memo://diary"}, {"elicitation": FORM}, (NO, "Dear diary: nothing.")),
]


@pytest.mark.parametrize(("method", "params", "capabilities", "answered"), REQUIRING_INPUT)
def test_an_input_request_is_answered_in_a_retry(shared, method, params, capabilities, answered):
    answer, words = answered
    refusal = shared.ask(method, **params)
    assert (refusal["code"], refusal["data"]) == (-32021, {"requiredCapabilities": capabilities})
    required = shared.ask(method, capabilities, **params)
    assert required["resultType"] == "input_required"
    assert not {"ttlMs", "cacheScope"} & required.keys()
    ((key, question),) = required["inputRequests"].items()
    assert question.keys() <= {"method", "params"}
    assert "elicitationId" not in question.get("params", {})
    state = required["requestState"]
    for again in ({}, {"zork": 1}):
        found = shared.ask(method, capabilities, **params, inputResponses=again, requestState=state)
        assert found["inputRequests"] == required["inputRequests"]
    for wrong in (5, None, {}, {"action": "maybe"}, {"roots": 1}, MODEL):
        found = shared.ask(method, capabilities, **params, inputResponses={key: wrong}, requestState=state)
        assert found["code"] == -32602
    given = {"inputResponses": {key: answer, "zork": 1}, "requestState": state}
    result = shared.ask(method, capabilities, **params, **given)
    assert result["resultType"] == "complete"
    assert words in json.dumps(result, ensure_ascii=False)
    assert shared.ask(method, {}, **params, **given)["code"] == -32021
    assert shared.notifications == []


def test_a_request_state_cannot_be_changed_or_used_elsewhere(shared):
    capabilities = {"elicitation": {}}
    required = shared.call("ask", capabilities)
    state, answers = required["requestState"], {next(iter(required["inputRequests"])): YES}
    changed = [
        state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :] for at in (0, 9, len(state) - 1)
    ]
    for wrong in (*changed, state[:-1], state[9:], "", ".", "\ud800.é", 5, None, {}):
        assert shared.call("ask", capabilities, inputResponses=answers, requestState=wrong)["code"] == -32602
    for other in ("meet", "add", "summarize"):
        assert shared.call(other, ALL, inputResponses=answers, requestState=state)["code"] == -32602
    for wrong in (None, [], 5):
        assert shared.call("ask", capabilities, inputResponses=wrong, requestState=state)["code"] == -32602


def test_input_requests_are_answered_one_by_one_and_across_processes(shared):
    required = shared.call("meet", ALL)
    mood, roots = required["inputRequests"]
    given = {"inputResponses": {roots: HOME}, "requestState": required["requestState"]}
    again = shared.call("meet", ALL, **given)
    assert set(again["inputRequests"]) == {mood}
    lacking = shared.call("meet", {"elicitation": FORM})["data"]["requiredCapabilities"]
    assert lacking == {"roots": {}}
    answer = {mood: {"action": "accept", "content": {"mood": "good"}}}
    with Wire() as other:
        given = {"inputResponses": answer, "requestState": again["requestState"]}
        assert "has 1 folders" in other.call("meet", ALL, **given)["content"][0]["text"]
        uses = {"type": "tool_use", "id": "1", "name": "forecast", "input": {}}
        required, seen = other.call("plan", ALL), set()
        while required["resultType"] == "input_required":
            (key,) = required["inputRequests"]
            seen.add(key)
            used = {**MODEL, "content": [uses]}
            given = {"inputResponses": {key: used}, "requestState": required["requestState"]}
            required = other.call("plan", ALL, **given)
        assert required["isError"] is True
        assert len(seen) == 5


# --- mutants ----------------------------------------------------------------------------------


def line(id, method, capabilities=None, **params):
    params = {"_meta": META | {CAPABILITIES: capabilities or {}}, **params}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


LINES = [
    line(1, "server/discover"),
    line(2, "subscriptions/listen", notifications=EVERYTHING),
    line(3, "tools/call", name="change", arguments={"what": "counter"}),
    line(4, "tools/call", {"elicitation": {}}, name="ask"),
    line(5, "prompts/get", {"elicitation": {}}, name="interview"),
    line(6, "ping"),
]
ACKNOWLEDGED, UPDATED = "notifications/subscriptions/acknowledged", "notifications/resources/updated"


@pytest.mark.parametrize(
    ("filters", "seen"),
    [
        ({"on": "server/discover"}, [True]),
        ({"on": ACKNOWLEDGED}, [None]),
        ({"on": UPDATED}, [None]),
        ({"on": "notifications/cancelled"}, [None]),
        ({"on": "subscriptions/listen"}, [False, True]),
        ({"on": "tools/call"}, [True]),
        ({"on": "input_required"}, [True, True]),
        ({"on": "input_required", "of": "ask"}, [True]),
        ({"of": "ask"}, []),
        ({"error": -32601}, [True]),
    ],
)
def test_a_mutant_can_change_every_message(monkeypatch, filters, seen):
    """`seen` has None for a notification of the server, else whether the message has a reply."""
    monkeypatch.setattr(mutants, "MUTANTS", {})
    found, out = [], io.BytesIO()

    def probe(server, request, reply):
        """Mark every reply."""
        found.append(None if request is None else reply is not None)
        if reply is not None:
            reply["mutated"] = server.revision

    mutant("some.id", **filters)(probe)
    Reference(mutants.MUTANTS["probe"].mutate, out).serve(LINES)
    assert found == seen
    marked = out.getvalue().count(f'"mutated":"{NEWEST}"'.encode())
    assert marked == len([one for one in seen if one is not False])
