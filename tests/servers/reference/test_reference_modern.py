"""The reference server in 2026-07-28, driven over real pipes with a client of its own."""

import io
import json
import subprocess
import sys
import threading

import pytest
from conformance.fixtures import mutants
from conformance.fixtures.mutants import mutant
from conformance.fixtures.reference import Reference

OURS = "io.modelcontextprotocol/"
VERSION, ABLE, LEVEL = OURS + "protocolVersion", OURS + "clientCapabilities", OURS + "logLevel"
SERVER, LISTEN = OURS + "serverInfo", OURS + "subscriptionId"
META = {VERSION: "2026-07-28", ABLE: {}}
ALL = {"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
EVERYTHING = {f"{kind}ListChanged": True for kind in ("tools", "prompts", "resources")}
EVERYTHING |= {"resourceSubscriptions": ["memo://counter"]}
FORM, PAGE, MODEL = {"form": {}}, {"url": {}}, {"role": "assistant", "model": "m"}


class Wire:
    """One process; `heard` are the notifications that came before the last answer."""

    def __init__(self, module="conformance.fixtures.reference", *more):
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
        """Close the input, and return what was still written."""
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
        """Send a request as it is, and return its result or its error."""
        self.used += 1
        self.send(method, self.used, **params)
        self.heard = []
        while "method" in (message := self.read()):
            self.heard.append(message)
        assert message["id"] == self.used
        return message.get("result") or message["error"]

    def ask(self, method, able=None, meta=None, **params):
        return self.plain(method, _meta=META | {ABLE: able or {}} | (meta or {}), **params)

    def call(self, name, able=None, meta=None, arguments=None, **more):
        return self.ask("tools/call", able, meta, name=name, arguments=arguments or {}, **more)

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
    refusal = wire.plain("initialize", **HELLO)
    assert refusal["code"] == -32022
    assert refusal["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    with Wire() as other:
        assert other.plain("initialize", **HELLO)["protocolVersion"] == "2025-11-25"
        assert other.ask("server/discover")["code"] == -32601
        assert "resultType" not in other.ask("tools/list")


def test_discovery_says_what_is_offered(shared):
    found = shared.ask("server/discover")
    assert found["supportedVersions"] == ["2026-07-28"]
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
            for version in ("1900-01-01", "2026-07-28", "1900-01-01", "2025-11-25", "2026-07-28"):
                reply = wire.ask(first, meta={VERSION: version})
                known = version == "2026-07-28"
                data = {"supported": ["2026-07-28"], "requested": version}
                assert known == ("resultType" in reply)
                assert known or (reply["code"], reply["data"]) == (-32022, data)


LISTEN_PARAMS, READ = {"notifications": {}}, {"uri": "memo://plan"}
METHODS = {"server/discover": {}, "subscriptions/listen": LISTEN_PARAMS, "resources/read": READ}
METHODS |= {"tools/list": {}, "tools/call": {"name": "nothing"}, "prompts/get": {"name": "gallery"}}
WRONG = [{}, {VERSION: "2026-07-28"}, {ABLE: {}}, META | {VERSION: 20260728}, META | {ABLE: None}]
WRONG += [META | {ABLE: []}, META | {ABLE: {"roots": True}}, META | {ABLE: {"elicitation": {"form": 1}}}]
WRONG += [META | {OURS + "clientInfo": {"name": "x"}}, META | {LEVEL: "loud"}, META | {"progressToken": 1.5}]
WRONG += [META | {ABLE: {"extensions": {"org.example/x": True}}}, [], None]


@pytest.mark.parametrize("method", METHODS)
def test_an_envelope_is_demanded_of_every_request(shared, method):
    assert shared.plain(method, **METHODS[method])["code"] == -32602
    for meta in WRONG:
        assert shared.plain(method, _meta=meta, **METHODS[method])["code"] == -32602, meta


def test_what_an_envelope_may_hold_changes_nothing(shared):
    trace = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "tracestate": "a=b", "baggage": "c=d"}
    who = {OURS + "clientInfo": {"name": "x", "version": "1"}}
    assert shared.ask("tools/list", meta=trace | who | {"com.example/x": {}}) == shared.ask("tools/list")
    assert shared.ask("tools/list", able=ALL) == shared.ask("tools/list")


GONE = ("ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
GONE += ("tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "no/such")


def test_what_is_gone_is_gone(shared):
    assert {shared.ask(method, uri="memo://plan", level="info")["code"] for method in GONE} == {-32601}
    assert "2026-07-28" in shared.plain("initialize")["message"]
    assert "task" not in shared.call("report", task={"ttl": 1})
    shared.send("notifications/initialized")
    shared.send("notifications/roots/list_changed")
    assert shared.ask("tools/list")["tools"]
    assert not shared.heard


# --- results ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", LISTS)
def test_a_list_has_pages_and_says_how_long_they_keep(shared, method):
    pages = [shared.ask(method)]
    while "nextCursor" in pages[-1]:
        pages.append(shared.ask(method, cursor=pages[-1]["nextCursor"]))
    assert len(pages) > 1
    assert {page["cacheScope"] for page in pages} == {"public"}
    assert all(page["ttlMs"] >= 0 and page["_meta"][SERVER]["name"] == "reference" for page in pages)
    assert shared.ask(method, cursor="zork")["code"] == shared.ask(method, cursor=5)["code"] == -32602
    entries = [entry for page in pages for kind, entry in page.items() if isinstance(entry, list)]
    assert not any("execution" in entry for found in entries for entry in found)


def test_every_result_is_complete_and_signed(shared):
    argument = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "tone", "value": "f"}}
    asked = METHODS | {"completion/complete": argument}
    del asked["subscriptions/listen"]
    for method, params in asked.items():
        result = shared.ask(method, **params)
        assert result["resultType"] == "complete"
        assert result["_meta"][SERVER]["version"] == "1.0.0"
        kept = method in ("server/discover", "resources/read", *LISTS)
        assert {"ttlMs", "cacheScope"} <= result.keys() or not kept


def test_structured_content_may_be_anything(shared):
    contents = [shared.call("days", arguments={"count": 1}), shared.call("length", arguments={"text": "é"})]
    contents += [shared.call("initial", arguments={"text": word}) for word in ("Ada", "")]
    assert [found["structuredContent"] for found in contents] == [["monday"], 1, "A", None]
    assert [json.loads(found["content"][0]["text"]) for found in contents] == [["monday"], 1, "A", None]


def test_what_is_unknown_or_fails_has_the_codes_of_this_revision(shared):
    missing = shared.ask("resources/read", uri="memo://nothing")
    assert (missing["code"], missing["data"]) == (-32602, {"uri": "memo://nothing"})
    assert shared.ask("resources/read", uri="memo://unavailable")["code"] == -32603
    assert shared.call("nope")["code"] == shared.call("ponder")["code"] == -32602
    assert shared.ask("prompts/get", name="nope")["code"] == -32602
    assert shared.call("add", arguments={"a": 1})["isError"] is True


# --- what comes beside a result ---------------------------------------------------------------


def test_log_messages_and_progress_come_only_when_they_are_asked_for(shared):
    shared.call("report")
    assert shared.heard == []
    for level, words in (("debug", 1), ("info", 1), ("error", 0)):
        shared.call("report", meta={LEVEL: level})
        assert [told["method"] for told in shared.heard] == ["notifications/message"] * words
    for token in (0, "", "1"):
        shared.call("report", meta={"progressToken": token})
        assert [told["params"]["progressToken"] for told in shared.heard] == [token] * 2


def test_a_slow_call_leaves_the_others_alone_and_a_cancelled_one_is_silent(shared):
    for id, steps in (("first", 10), (0, 5)):
        params = {"name": "count", "arguments": {"to": steps}, "_meta": META | {"progressToken": id}}
        shared.send("tools/call", id, **params)
    shared.send("notifications/cancelled", requestId="first", reason="No more.")
    shared.ask("server/discover")
    before, after = shared.heard, [shared.read()]
    while after[-1].get("id") != 0:
        after.append(shared.read())
    assert after[-1]["result"]["content"][0]["text"] == "Counted to 5."
    assert {one["params"]["progressToken"] for one in after[:-1]} <= {0}
    told = [one["params"] for one in (*before, *after[:-1])]
    assert [one["progress"] for one in told if one["progressToken"] == 0] == [1, 2, 3, 4, 5]


# --- listening --------------------------------------------------------------------------------


def tagged(wire):
    return [(told["params"]["_meta"][LISTEN], told["method"].split("/")[1]) for told in wire.heard]


def test_changes_are_told_to_who_listens_and_to_nobody_else(wire):
    wire.call("grow")
    assert wire.heard == []
    for id in (0, "", "0", "all"):
        wanted = EVERYTHING if id == "all" else {"promptsListChanged": True, "toolsListChanged": False}
        told = wire.listen(id, **wanted, zork=1)
        assert told["method"] == "notifications/subscriptions/acknowledged"
        granted = {name: value for name, value in wanted.items() if value}
        assert told["params"] == {"notifications": granted, "_meta": {LISTEN: id}}
    assert wire.listen("none")["params"]["notifications"] == {}
    wire.call("grow", meta={LEVEL: "debug"})
    prompts = [(id, "prompts") for id in (0, "", "0", "all")]
    assert tagged(wire) == [("all", "tools"), *prompts, ("all", "resources"), ("all", "resources")]
    assert wire.heard[-1]["params"]["uri"] == "memo://counter"
    for id in (0, "all"):
        wire.send("notifications/cancelled", requestId=id)
    wire.call("grow")
    assert tagged(wire) == prompts[1:3]
    rest = wire.end()
    ended = [one["params"]["requestId"] for one in rest if "method" in one]
    assert ended == [one["id"] for one in rest if "id" in one] == ["", "0", "none"]
    assert [one["result"]["_meta"][LISTEN] for one in rest if "id" in one] == ended


def test_a_wrong_filter_is_refused(shared):
    filters = [None, [], {"toolsListChanged": "yes"}, {"promptsListChanged": None}]
    filters += [{"resourceSubscriptions": "memo://plan"}, {"resourceSubscriptions": [1]}]
    for wrong in filters:
        assert shared.ask("subscriptions/listen", notifications=wrong)["code"] == -32602
    assert shared.ask("subscriptions/listen")["code"] == -32602


# --- asking the client ------------------------------------------------------------------------

YES, NO = {"action": "accept", "content": {"name": "Ada", "age": 36}}, {"action": "decline"}
SAYS = MODEL | {"content": {"type": "text", "text": "Short."}}
HOME = {"roots": [{"uri": "file:///home"}]}
WORD = {"action": "accept", "content": {"word": "owls"}}
TOOL, PROMPT, RESOURCE = ("tools/call", "prompts/get", "resources/read")
ASKING = [  # method, what is named, what has to be offered; an answer, and what the result then holds
    (TOOL, {"name": "ask"}, {"elicitation": FORM}, (YES, "This is Ada, 36 years old.")),
    (TOOL, {"name": "ask"}, {"elicitation": FORM}, (NO, "Then this stays unknown.")),
    (TOOL, {"name": "ask"}, {"elicitation": FORM}, ({"action": "cancel"}, "Then this stays unknown.")),
    (TOOL, {"name": "authorize"}, {"elicitation": PAGE}, ({"action": "accept"}, "This is authorized.")),
    (TOOL, {"name": "confirm"}, {"elicitation": PAGE}, (NO, "This is not confirmed.")),
    (TOOL, {"name": "summarize", "arguments": {"text": "Long."}}, {"sampling": {}}, (SAYS, "Short.")),
    (TOOL, {"name": "plan"}, {"sampling": {"tools": {}}}, (SAYS, "Short.")),
    (TOOL, {"name": "folders"}, {"roots": {}}, (HOME, "file:///home")),
    (PROMPT, {"name": "interview"}, {"elicitation": FORM}, (WORD, "about owls")),
    (RESOURCE, {"uri": "memo://diary"}, {"elicitation": FORM}, (WORD, "Dear diary: owls.")),
    (RESOURCE, {"uri": "memo://diary"}, {"elicitation": FORM}, (NO, "Dear diary: nothing.")),
]


@pytest.mark.parametrize(("method", "params", "able", "answered"), ASKING)
def test_what_is_asked_for_in_a_result_is_answered_in_a_retry(shared, method, params, able, answered):
    answer, words = answered
    refusal = shared.ask(method, **params)
    assert (refusal["code"], refusal["data"]) == (-32021, {"requiredCapabilities": able})
    asked = shared.ask(method, able, **params)
    assert asked["resultType"] == "input_required"
    assert not {"ttlMs", "cacheScope"} & asked.keys()
    ((key, question),) = asked["inputRequests"].items()
    assert question.keys() <= {"method", "params"}
    assert "elicitationId" not in question.get("params", {})
    state = asked["requestState"]
    for again in ({}, {"zork": 1}):
        found = shared.ask(method, able, **params, inputResponses=again, requestState=state)
        assert found["inputRequests"] == asked["inputRequests"]
    for wrong in (5, None, {}, {"action": "maybe"}, {"roots": 1}, MODEL):
        found = shared.ask(method, able, **params, inputResponses={key: wrong}, requestState=state)
        assert found["code"] == -32602
    given = {"inputResponses": {key: answer, "zork": 1}, "requestState": state}
    result = shared.ask(method, able, **params, **given)
    assert result["resultType"] == "complete"
    assert words in json.dumps(result, ensure_ascii=False)
    assert shared.ask(method, {}, **params, **given)["code"] == -32021
    assert shared.heard == []


def test_a_note_cannot_be_changed_or_used_elsewhere(shared):
    able = {"elicitation": {}}
    asked = shared.call("ask", able)
    state, answers = asked["requestState"], {next(iter(asked["inputRequests"])): YES}
    changed = [
        state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :] for at in (0, 9, len(state) - 1)
    ]
    for wrong in (*changed, state[:-1], state[9:], "", ".", "\ud800.é", 5, None, {}):
        assert shared.call("ask", able, inputResponses=answers, requestState=wrong)["code"] == -32602
    for other in ("meet", "add", "summarize"):
        assert shared.call(other, ALL, inputResponses=answers, requestState=state)["code"] == -32602
    for wrong in (None, [], 5):
        assert shared.call("ask", able, inputResponses=wrong, requestState=state)["code"] == -32602


def test_two_questions_at_once_and_rounds_across_processes(shared):
    asked = shared.call("meet", ALL)
    mood, roots = asked["inputRequests"]
    given = {"inputResponses": {roots: HOME}, "requestState": asked["requestState"]}
    again = shared.call("meet", ALL, **given)
    assert set(again["inputRequests"]) == {mood}
    lacking = shared.call("meet", {"elicitation": FORM})["data"]["requiredCapabilities"]
    assert lacking == {"roots": {}}
    answer = {mood: {"action": "accept", "content": {"mood": "good"}}}
    with Wire() as other:
        given = {"inputResponses": answer, "requestState": again["requestState"]}
        assert "has 1 folders" in other.call("meet", ALL, **given)["content"][0]["text"]
        uses = {"type": "tool_use", "id": "1", "name": "forecast", "input": {}}
        asked, seen = other.call("plan", ALL), set()
        while asked["resultType"] == "input_required":
            (key,) = asked["inputRequests"]
            seen.add(key)
            answer = MODEL | {"content": [uses]}
            given = {"inputResponses": {key: answer}, "requestState": asked["requestState"]}
            asked = other.call("plan", ALL, **given)
        assert asked["isError"] is True
        assert len(seen) == 5


# --- mutants ----------------------------------------------------------------------------------


def line(id, method, able=None, **params):
    params = {"_meta": META | {ABLE: able or {}}, **params}
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
def test_a_mutant_can_spoil_all_that_is_sent(monkeypatch, filters, seen):
    """Seen is None for a notification of the server's own, and else whether there is a reply."""
    monkeypatch.setattr(mutants, "MUTANTS", {})
    found, out = [], io.BytesIO()

    def probe(server, request, reply):
        """Marks what it sees."""
        found.append(None if request is None else reply is not None)
        if reply is not None:
            reply["mutated"] = server.revision

    mutant("some.id", **filters)(probe)
    Reference(mutants.MUTANTS["probe"].mutate, out).serve(LINES)
    assert found == seen
    assert out.getvalue().count(b'"mutated":"2026-07-28"') == len([one for one in seen if one is not False])
