"""The reference server and its mutants, driven over real pipes."""

import base64
import json
import struct
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

from mcp_conformance_fixtures import mutants
from mcp_conformance_fixtures.mutants import MUTANTS, SILENCE, all_mutants, mutant
from mcp_conformance_fixtures.reference import REVISIONS, START

DRAFT, FIRST, BATCHES, TITLES, ICONS = REVISIONS
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
CLIENT = {"name": "test", "version": "1"}


class Wire:
    """A connection to one process; `notifications` came before the last answer."""

    def __init__(self, revision=None, name=None, capabilities=None):
        module = (
            ["mcp_conformance_fixtures.mutants", name] if name else ["mcp_conformance_fixtures.reference"]
        )
        command = [sys.executable, "-m", *module]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.watchdog = threading.Timer(30, self.child.kill)
        self.watchdog.start()
        self.notifications = []
        self.used = 0
        if revision:
            self.start(revision, capabilities)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.end()

    def end(self):
        """Close the input, and return the rest of the output and the exit status."""
        rest, _ = self.child.communicate()
        self.watchdog.cancel()
        self.watchdog.join()
        return rest, self.child.returncode

    def write(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def read(self):
        line = self.child.stdout.readline()
        assert line.endswith(b"\n"), "the server ended"
        return json.loads(line.decode())

    def ask(self, method, **params):
        """Send a request and return the whole answer."""
        self.used += 1
        self.send({"jsonrpc": "2.0", "id": self.used, "method": method, "params": params})
        self.notifications = []
        while "method" in (message := self.read()):
            self.notifications.append(message)
        assert message["id"] == self.used
        assert type(message["id"]) is int
        return message

    def result(self, method, **params):
        return self.ask(method, **params)["result"]

    def code(self, method, **params):
        return self.ask(method, **params)["error"]["code"]

    def call(self, tool, **arguments):
        return self.result("tools/call", name=tool, arguments=arguments)

    def start(self, revision, capabilities=None):
        offered = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": CLIENT}
        result = self.result("initialize", **offered)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def pages(self, method):
        """Return the pages of a list."""
        pages = [self.result(method)]
        while "nextCursor" in pages[-1]:
            pages.append(self.result(method, cursor=pages[-1]["nextCursor"]))
        return pages

    def all(self, method):
        return [entry for page in self.pages(method) for entry in page[LISTS[method]]]


@pytest.fixture
def wire(revision):
    with Wire(revision) as opened:
        yield opened


def every(*revisions):
    """Run a test in each of these revisions, or in all."""
    return pytest.mark.parametrize("revision", revisions or REVISIONS)


# --- lifecycle and messages -------------------------------------------------------------------


@every()
def test_a_known_revision_is_echoed_and_decides_the_capabilities(revision):
    later = {"tools", "prompts", "resources", "logging", "completions"}
    declared = {
        DRAFT: {"tools"},
        FIRST: {"tools", "prompts", "resources", "logging"},
        ICONS: {*later, "tasks"},
    }.get(revision, later)
    members = {TITLES: {"title"}, ICONS: {"title", "description", "websiteUrl", "icons"}}
    with Wire() as wire:
        result = wire.start(revision)
    assert result["protocolVersion"] == revision
    assert set(result["capabilities"]) == declared
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert set(result["serverInfo"]) == {"name", "version"} | members.get(revision, set())


@every("2026-07-28", "1999-01-01", "")
def test_the_newest_revision_is_offered_instead_of_an_unknown_one(revision):
    with Wire() as wire:
        assert wire.start(revision)["protocolVersion"] == ICONS


def test_before_initialize_only_ping_is_served():
    with Wire() as wire:
        assert wire.result("ping") == {}
        assert wire.code("tools/list") == -32600
        assert wire.code("server/discover") == -32601
        assert wire.code("initialize") == -32602
        assert wire.code("initialize", protocolVersion=5, capabilities={}, clientInfo=CLIENT) == -32602
        assert wire.code("initialize", protocolVersion=ICONS, capabilities=[], clientInfo=CLIENT) == -32602
        assert wire.code("initialize", protocolVersion=ICONS, capabilities={}, clientInfo={}) == -32602
        wire.start(ICONS)
        assert wire.code("initialize", protocolVersion=ICONS, capabilities={}, clientInfo=CLIENT) == -32600


@pytest.mark.parametrize("id", [0, -1, "", "1", 'é\u2028"\n', "\U0001f600", "\ud800", 2**53 + 1])
def test_an_id_is_returned_with_its_type(id):
    with Wire() as wire:
        wire.send({"jsonrpc": "2.0", "id": id, "method": "ping"})
        answer = wire.read()
    assert answer == {"jsonrpc": "2.0", "id": id, "result": {}}
    assert type(answer["id"]) is type(id)


@every()
def test_an_invalid_request_is_refused_and_does_not_end_the_session(wire, revision):
    def refused(data, code, id=None):
        wire.write(data + b"\n")
        answer = wire.read()
        assert answer["error"]["code"] == code
        assert answer.get("id") == id
        assert ("id" in answer) == (id is not None or revision != ICONS)

    for garbage in (b"{", b"zork", b"\xff", b"NaN", b'{"a":Infinity}', b'{"id":1,"method":"ping"}}'):
        refused(garbage, -32700)
    for non_message in (b"42", b"null", b'"ping"', b"{}", b'{"jsonrpc":"2.0"}', b"[]"):
        refused(non_message, -32600)
    refused(b'{"jsonrpc":"2.0","id":7}', -32600, 7)
    refused(b'{"jsonrpc":"2.0","id":"b","method":5}', -32600, "b")
    refused(b'{"jsonrpc":"1.0","id":8,"method":"ping"}', -32600, 8)
    refused(b'{"jsonrpc":"2.0","id":8,"method":"ping","params":"x"}', -32600, 8)
    refused(b'{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}', -32602, 9)
    for id in (b"null", b"true", b"1.5", b"{}"):
        refused(b'{"jsonrpc":"2.0","id":' + id + b',"method":"ping"}', -32600)
    assert wire.result("ping") == {}


@every(FIRST, ICONS)
def test_notifications_responses_and_blank_lines_are_not_answered(wire):
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5},
        {"jsonrpc": "2.0", "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": ""}},
    ):
        wire.send(message)
    wire.write(b"\n\r\n")
    assert wire.result("ping") == {}
    assert wire.notifications == []


def test_batches_are_served_only_in_the_revision_that_has_them():
    ping = {"jsonrpc": "2.0", "id": "a", "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/x"}
    with Wire(BATCHES) as wire:
        wire.send([note, note])
        wire.send([ping, note, {**ping, "id": 2, "method": "no/such"}, 5])
        first, second, third = wire.read()
        assert first == {"jsonrpc": "2.0", "id": "a", "result": {}}
        assert (second["id"], second["error"]["code"]) == (2, -32601)
        assert (third["id"], third["error"]["code"]) == (None, -32600)
        wire.send([])
        assert wire.read()["error"]["code"] == -32600
    with Wire(FIRST) as wire:
        wire.send([ping])
        assert wire.read()["error"]["code"] == -32600


@every(ICONS)
def test_a_hostile_line_does_not_end_the_server(wire):
    for depth in (64, 499, 500, 5000, 100_000):
        deep = b'["]",' * depth + b"0" + b"]" * depth
        wire.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + deep + b"}}\n")
        assert wire.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    wire.write(b"[" * 100_000 + b"\n")
    assert wire.read()["error"]["code"] == -32700
    assert wire.call("echo", text="a\u2028" * 500_000)["content"][0]["text"] == "a\u2028" * 500_000
    wire.write(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":')
    wire.write(b'{"name":"add","arguments":{"a":1e400,"b":1}}}\r\n')
    assert wire.read()["result"]["isError"] is True


def test_the_server_ends_with_its_input_and_answers_a_last_line_without_line_end():
    with Wire(ICONS) as wire:
        wire.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        rest, status = wire.end()
    assert json.loads(rest)["id"] == "last"
    assert status == 0


@every(*REVISIONS[1:])
def test_unknown_methods_and_invalid_params_have_their_error_codes(wire, revision):
    assert wire.code("no/such") == -32601
    for method in ("tools/call", "prompts/get", "resources/read", "resources/subscribe", "logging/setLevel"):
        assert wire.code(method) == -32602
    for method in LISTS:
        assert wire.code(method, cursor=5) == -32602
        assert wire.code(method, cursor="zork") == -32602
    assert wire.code("tools/call", name=5) == -32602
    assert wire.code("tools/call", name="add", arguments=[]) == -32602
    assert wire.code("tools/call", name="ADD", arguments={"a": 1, "b": 1}) == -32602
    assert wire.code("ping", _meta=[]) == -32602


def test_the_draft_has_tools_only():
    with Wire(DRAFT) as wire:
        for method in ("prompts/list", "resources/list", "completion/complete", "logging/setLevel"):
            assert wire.code(method) == -32601


# --- lists ------------------------------------------------------------------------------------


@every(*REVISIONS[1:])
@pytest.mark.parametrize("method", LISTS)
def test_a_list_has_pages_with_stable_cursors_of_its_own(wire, method):
    pages = wire.pages(method)
    assert len(pages) >= 2
    entries = [json.dumps(entry) for entry in wire.all(method)]
    assert len(entries) == len(set(entries))
    for page, following in pairwise(pages):
        assert wire.result(method, cursor=page["nextCursor"]) == following
        for other in LISTS.keys() - {method}:
            assert wire.code(other, cursor=page["nextCursor"]) == -32602


def test_the_draft_lists_all_tools_at_once():
    with Wire(DRAFT) as wire:
        result = wire.result("tools/list", cursor="zork")
    assert set(result) == {"tools"}
    assert all(set(tool) == {"name", "description", "inputSchema"} for tool in result["tools"])


@every()
def test_tools_and_their_members_follow_the_revision(wire, revision):
    late = {"audio": BATCHES, "link": TITLES, "authorize": ICONS, "change": FIRST}
    tools = {tool["name"]: tool for tool in wire.all("tools/list")}
    assert all((name in tools) == (revision >= since) for name, since in late.items())
    since = {
        "annotations": BATCHES,
        "title": TITLES,
        "outputSchema": TITLES,
        "_meta": TITLES,
        "icons": ICONS,
        "execution": ICONS,
    }
    expected = {name for name, first in since.items() if revision >= first}
    assert set(tools["add"]) == {"name", "description", "inputSchema"} | expected


@every(FIRST, TITLES)
def test_members_of_annotations_resources_and_prompts_follow_the_revision(wire, revision):
    plan = next(entry for entry in wire.all("resources/list") if entry["uri"] == "memo://plan")
    greet = next(entry for entry in wire.all("prompts/list") if entry["name"] == "greet")
    new = revision >= TITLES
    assert ("lastModified" in plan["annotations"]) == ("title" in plan) == new
    assert ("title" in greet) == ("title" in greet["arguments"][0]) == ("_meta" in greet) == new
    assert "icons" not in greet
    block = wire.call("annotated")["content"][0]
    assert ("lastModified" in block["annotations"]) == ("_meta" in block) == new


# --- tools ------------------------------------------------------------------------------------


@every()
def test_results_have_the_form_of_the_revision(wire, revision):
    added, echoed = wire.call("add", a=1, b=2.5), wire.call("echo", text="")
    nothing, failed = wire.result("tools/call", name="nothing"), wire.call("fail", reason="rain")
    if revision == DRAFT:
        assert added == {"toolResult": {"sum": 3.5}}
        assert echoed == {"toolResult": ""}
        assert nothing == {"toolResult": None}
        assert "rain" in failed["toolResult"]["error"]
        return
    assert added.get("structuredContent") == ({"sum": 3.5} if revision >= TITLES else None)
    assert json.loads(added["content"][0]["text"]) == {"sum": 3.5}
    assert echoed == {"content": [{"type": "text", "text": ""}], "isError": False}
    assert nothing == {"content": []}
    assert failed["isError"] is True
    assert "rain" in failed["content"][0]["text"]


INVALID = [
    ("add", {"a": 1}),
    ("add", {"a": 1, "b": "2"}),
    ("add", {"a": 1, "b": True}),
    ("weather", {"city": {}}),
    ("weather", {"city": "Rome", "units": "kelvin"}),
    ("weather", {"city": "Rome", "days": 0}),
    ("weather", {"city": "Rome", "days": 6}),
    ("weather", {"city": "Rome", "days": 1.5}),
    ("nothing", {"x": 1}),
    ("strict", {"card": "1"}),
    ("strict", {"step": ["1"]}),
    ("strict", {"step": [1, "up"]}),
    ("strict", {"step": [1, "east", 2]}),
]
VALID = [
    ("add", {"a": 1, "b": 2, "c": 3}),
    ("weather", {"city": "", "units": "imperial", "days": 5.0}),
    ("strict", {}),
    ("strict", {"card": "1", "expiry": "2", "more": None}),
    ("strict", {"step": []}),
    ("strict", {"step": [1, "east"]}),
]


@every()
def test_invalid_arguments_are_refused_as_the_revision_requires(wire, revision):
    for tool, arguments in INVALID:
        answer = wire.ask("tools/call", name=tool, arguments=arguments)
        if revision == ICONS:
            assert answer["result"]["isError"] is True
            assert answer["result"]["content"][0]["text"]
        else:
            assert answer["error"]["code"] == -32602
            assert "\n" not in answer["error"]["message"]
    for tool, arguments in VALID:
        assert not wire.call(tool, **arguments).get("isError")


@every(*REVISIONS[1:])
def test_only_content_types_of_the_revision_are_sent(wire, revision):
    known = {"text", "image", "resource"}
    known |= {"audio"} if revision >= BATCHES else set()
    known |= {"resource_link"} if revision >= TITLES else set()
    names = {tool["name"] for tool in wire.all("tools/list")}
    media = names & {"echo", "image", "audio", "link", "embed", "annotated"}
    arguments = {"echo": {"text": "x"}}
    sent = [block for name in media for block in wire.call(name, **arguments.get(name, {}))["content"]]
    assert {block["type"] for block in sent} == known
    shown = [
        message["content"]
        for prompt in ("gallery", "library")
        for message in wire.result("prompts/get", name=prompt)["messages"]
    ]
    assert {block["type"] for block in shown} == known


@every(ICONS)
def test_the_image_and_the_audio_are_well_formed(wire):
    png = base64.b64decode(wire.call("image")["content"][0]["data"], validate=True)
    wav = base64.b64decode(wire.call("audio")["content"][0]["data"], validate=True)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")
    assert wav[:4] + wav[8:12] == b"RIFFWAVE"
    assert struct.unpack("<I", wav[4:8])[0] == len(wav) - 8


@every()
def test_a_list_change_is_notified_before_the_answer(wire, revision):
    before = wire.all("tools/list")
    wire.call("grow")
    kinds = ("tools",) if revision == DRAFT else ("tools", "prompts", "resources")
    assert wire.notifications == [
        {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"} for kind in kinds
    ]
    after = wire.all("tools/list")
    assert [tool["name"] for tool in after] == [*(tool["name"] for tool in before), "grown_1"]
    wire.call("grown_1")
    if revision == DRAFT:
        return
    for kind in ("prompts", "resources"):
        before = wire.all(f"{kind}/list")
        wire.call("change", what=kind)
        assert wire.notifications[0]["method"] == f"notifications/{kind}/list_changed"
        assert wire.all(f"{kind}/list")[:-1] == before
    assert wire.result("prompts/get", name="grown_1")["messages"]
    assert wire.result("resources/read", uri="memo://grown/grown_1")["contents"][0]["text"] == ""


@every(*REVISIONS[1:])
def test_log_messages_follow_the_level_and_progress_follows_the_token(wire, revision):
    wire.call("report", level="debug")
    assert wire.notifications == []
    wire.call("report", text="hello")
    assert wire.notifications[0]["params"] == {"level": "info", "logger": "reference", "data": "hello"}
    assert wire.result("logging/setLevel", level="error") == {}
    assert wire.code("logging/setLevel", level="loud") == -32602
    wire.result("tools/call", name="report", _meta={"progressToken": 0})
    assert [message["params"]["progress"] for message in wire.notifications] == [1, 2]
    assert all(("message" in message["params"]) == (revision >= BATCHES) for message in wire.notifications)


def test_authorize_requires_url_elicitation_only_if_the_client_declares_it():
    with Wire(ICONS, capabilities={"elicitation": {"url": {}}}) as wire:
        error = wire.ask("tools/call", name="authorize")["error"]
    assert error["code"] == -32042
    assert set(error["data"]["elicitations"][0]) == {"mode", "elicitationId", "url", "message"}
    for capabilities in ({}, {"elicitation": {}}, {"elicitation": {"form": {}}}):
        with Wire(ICONS, capabilities=capabilities) as wire:
            assert wire.call("authorize")["isError"] is True


# --- tools that send requests to the client -----------------------------------------------------


def call_without_waiting(wire, id, tool, **arguments):
    """Call a tool, and return the next message, which is its request to the client."""
    params = {"name": tool, "arguments": arguments}
    wire.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    return wire.read()


def respond(wire, request, result):
    """Answer a request of the server, and return the next message."""
    wire.send({"jsonrpc": "2.0", "id": request["id"], "result": result})
    return wire.read()


@every(TITLES, ICONS)
def test_a_tool_elicits_input_and_validates_the_answer(revision):
    with Wire(revision, capabilities={"elicitation": {}}) as wire:
        for content, failed in (({"name": "Ada", "age": 36}, None), ({"name": 5, "age": 36}, True)):
            request = call_without_waiting(wire, "a", "ask")
            assert request["method"] == "elicitation/create"
            assert ("mode" in request["params"]) == (revision == ICONS)
            answer = respond(wire, request, {"action": "accept", "content": content})
            assert (answer["id"], answer["result"].get("isError")) == ("a", failed)
        request = call_without_waiting(wire, "b", "ask")
        assert not respond(wire, request, {"action": "cancel"})["result"].get("isError")


def test_calls_in_flight_do_not_wait_for_each_other():
    with Wire(FIRST, capabilities={"sampling": {}, "roots": {}}) as wire:
        first = call_without_waiting(wire, "a", "summarize", text="x")
        second = call_without_waiting(wire, "b", "folders")
        assert wire.result("ping") == {}
        assert respond(wire, second, {"roots": [{"uri": "file:///x"}]})["id"] == "b"
        assert first["params"]["_meta"]["progressToken"] != second["id"]
        answer = respond(
            wire, first, {"role": "assistant", "model": "m", "content": {"type": "text", "text": "y"}}
        )
        assert answer == {"jsonrpc": "2.0", "id": "a", "result": {"content": [{"type": "text", "text": "y"}]}}


def test_a_cancelled_call_is_not_answered():
    with Wire(FIRST, capabilities={"roots": {}}) as wire:
        request = call_without_waiting(wire, "a", "folders")
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        for params in (None, {}, {"requestId": "b"}, {"requestId": True}, {"requestId": []}):
            wire.send(cancelled | ({} if params is None else {"params": params}))
        wire.send(cancelled | {"params": {"requestId": "a"}})
        cancellation = wire.read()
        assert cancellation["method"] == "notifications/cancelled"
        assert cancellation["params"]["requestId"] == request["id"]
        wire.send({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": []}})
        assert wire.result("ping") == {}
        assert wire.notifications == []


@every(FIRST, ICONS)
def test_count_reports_progress_and_pings_the_client(wire):
    params = {"name": "count", "arguments": {"to": 2}, "_meta": {"progressToken": ""}}
    wire.send({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
    for step in (1, 2):
        progress, ping = wire.read(), wire.read()
        assert (progress["params"]["progressToken"], progress["params"]["progress"]) == ("", step)
        assert ping["method"] == "ping"
        wire.send({"jsonrpc": "2.0", "id": ping["id"], "result": {}})
    assert wire.read()["id"] == "a"


def test_a_tool_that_sends_requests_fails_in_a_batch():
    with Wire(BATCHES) as wire:
        call = {"name": "count", "arguments": {}}
        wire.send([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}])
        (answer,) = wire.read()
    assert answer["result"]["isError"] is True


@every(FIRST, BATCHES, TITLES, ICONS)
def test_a_tool_fails_if_the_client_lacks_its_capability(wire, revision):
    requesting = {"summarize", "folders"} | ({"ask"} if revision >= TITLES else set())
    listed = {tool["name"] for tool in wire.all("tools/list")}
    assert requesting <= listed
    assert "plan" not in listed
    for tool in requesting:
        assert (
            wire.call(tool, text="x")["isError"] is True
            if tool == "summarize"
            else wire.call(tool)["isError"]
        )


def test_the_model_gets_the_results_of_the_tools_it_uses():
    with Wire(ICONS, capabilities={"sampling": {"tools": {}}}) as wire:
        request = call_without_waiting(wire, "a", "plan")
        use = {"type": "tool_use", "id": "u", "name": "forecast", "input": {}}
        for rounds in range(1, 5):
            request = respond(wire, request, {"role": "assistant", "model": "m", "content": [use]})
            last = request["params"]["messages"][-1]
            assert (last["role"], [block["toolUseId"] for block in last["content"]]) == ("user", ["u"])
            assert len(request["params"]["messages"]) == 1 + 2 * rounds
        answer = respond(wire, request, {"role": "assistant", "model": "m", "content": [use]})
    assert answer["result"]["isError"] is True


# --- prompts, resources, completion -----------------------------------------------------------


@every(*REVISIONS[1:])
def test_prompts_need_their_arguments(wire):
    messages = wire.result("prompts/get", name="greet", arguments={"name": "Ada"})["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert wire.code("prompts/get", name="greet") == -32602
    assert wire.code("prompts/get", name="greet", arguments={"name": 5}) == -32602
    assert wire.code("prompts/get", name="zork") == -32602


@every(*REVISIONS[1:])
def test_resources_are_read_as_listed(wire):
    for entry in wire.all("resources/list"):
        if entry["name"] == "unavailable":
            assert wire.code("resources/read", uri=entry["uri"]) == -32603
            continue
        (contents,) = wire.result("resources/read", uri=entry["uri"])["contents"]
        assert contents["uri"] == entry["uri"]
        assert contents["mimeType"] == entry["mimeType"]
        assert ("text" in contents) != ("blob" in contents)
        assert entry.get("size", len(contents.get("text", "").encode())) == len(
            contents.get("text", "").encode()
        )
    assert wire.result("resources/read", uri="memo://squares/12")["contents"][0]["text"] == "144"
    assert (
        wire.result("resources/read", uri="memo://notes/friday")["contents"][0]["uri"]
        == "memo://notes/friday"
    )
    for uri in ("memo://zork", "memo://notes/never", "memo://squares/-1", "memo://squares/²", "zork", ""):
        error = wire.ask("resources/read", uri=uri)["error"]
        assert (error["code"], error["data"]) == (-32002, {"uri": uri})


@every(*REVISIONS[1:])
def test_updates_are_sent_to_subscribers_only(wire):
    counter = "memo://counter"
    wire.call("change", what="counter")
    assert wire.notifications == []
    assert wire.result("resources/subscribe", uri=counter) == {}
    wire.call("change", what="counter")
    assert [message["params"] for message in wire.notifications] == [{"uri": counter}]
    assert wire.result("resources/read", uri=counter)["contents"][0]["text"] == "2"
    assert wire.result("resources/unsubscribe", uri=counter) == {}
    wire.call("change", what="counter")
    assert wire.notifications == []
    assert wire.code("resources/subscribe", uri="memo://zork") == -32002


@every(*REVISIONS[1:])
def test_completion_returns_at_most_a_hundred_values(wire, revision):
    def complete(ref, name, value, **more):
        return wire.ask("completion/complete", ref=ref, argument={"name": name, "value": value}, **more)

    greet, squares = (
        {"type": "ref/prompt", "name": "greet"},
        {"type": "ref/resource", "uri": "memo://squares/{number}"},
    )
    assert complete(greet, "name", "A")["result"]["completion"]["values"] == ["Ada", "Alan"]
    assert complete(greet, "zork", "")["result"]["completion"]["values"] == []
    completion = complete(squares, "number", "")["result"]["completion"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 250, True)
    assert "result" in complete({"type": "ref/resource", "uri": "memo://plan"}, "x", "")
    assert "result" in complete(greet, "tone", "", context={"arguments": {"name": "Ada"}})
    assert ("error" in complete(greet, "tone", "", context=5)) == (revision >= TITLES)
    for ref in (
        {"type": "ref/prompt", "name": "zork"},
        {"type": "ref/resource", "uri": "memo://zork"},
        {"type": "x"},
    ):
        assert complete(ref, "x", "")["error"]["code"] == -32602
    assert complete(greet, "name", 5)["error"]["code"] == -32602
    assert wire.code("completion/complete", ref=greet) == -32602


# --- mutants ----------------------------------------------------------------------------------


def test_capability_mutants_declare_wrong_capabilities():
    declared = {}
    for name in (
        "tools_are_not_declared",
        "tools_flag_is_a_word",
        "logging_is_a_flag",
        "logging_is_not_declared",
    ):
        with Wire(name=name) as wire:
            declared[name] = wire.start(ICONS)["capabilities"]
            assert wire.call("add", a=1, b=2)["structuredContent"] == {"sum": 3}
            wire.call("report")
            assert len(wire.notifications) == 1
    assert "tools" not in declared["tools_are_not_declared"]
    assert declared["tools_flag_is_a_word"]["tools"] == {"listChanged": "yes"}
    assert declared["logging_is_a_flag"]["logging"] is True
    assert "logging" not in declared["logging_is_not_declared"]


def test_a_mutant_without_a_capability_lacks_its_methods():
    with Wire(ICONS, name="logging_is_not_declared") as wire:
        assert wire.code("logging/setLevel", level="debug") == -32601
    with Wire(ICONS, name="tools_are_not_declared") as wire:
        wire.call("grow")
        assert {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"} not in wire.notifications


def test_mutants_are_listed_and_an_unknown_one_is_refused():
    command = [sys.executable, "-m", "mcp_conformance_fixtures.mutants"]
    listed = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=True
    ).stdout.splitlines()
    assert len(listed) == len(all_mutants())
    assert all(len(line.split("\t")) == 3 for line in listed)
    unknown = subprocess.run([*command, "zork"], capture_output=True, text=True, timeout=30, check=False)
    assert unknown.returncode == 4
    assert unknown.stdout == ""
    assert unknown.stderr.count("\n") == 1


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(mutants, "MUTANTS", {})
    return mutants


def mutated(register, request, reply):
    """Return the calls of a mutant registered with these filters."""
    calls = []

    def probe(request, reply):
        """Record the calls."""
        calls.append((request, reply))

    register(probe)
    mutants.MUTANTS["probe"].mutate(None, request, reply)
    return calls


ANSWER = {"result": {"tools": [{"name": "add"}]}}
ERROR = {"error": {"code": -32602, "message": ""}}


@pytest.mark.parametrize(
    ("filters", "request_", "reply", "called"),
    [
        ({}, b"zork", ERROR, True),
        ({}, None, {"method": "notifications/message"}, True),
        ({}, {"method": "notifications/x"}, None, True),
        ({}, START, None, False),
        ({"on": "start"}, START, None, True),
        ({"on": "end"}, START, None, False),
        ({"on": "ping"}, {"method": "ping"}, ANSWER, True),
        ({"on": ("ping", "x")}, {"method": "ping"}, ANSWER, True),
        ({"on": "ping"}, {"method": "ping"}, ERROR, False),
        ({"on": "ping"}, {"method": "tools/list"}, ANSWER, False),
        ({"on": "ping"}, None, ERROR, False),
        ({"on": "batch"}, [], ERROR, True),
        ({"on": "notifications/message"}, None, {"method": "notifications/message"}, True),
        ({"on": "notifications/x"}, {"method": "notifications/x"}, None, True),
        ({"on": "ping", "error": -32602}, {"method": "ping"}, ERROR, True),
        ({"error": True}, b"zork", ERROR, True),
        ({"error": -32601}, b"zork", ERROR, False),
        ({"error": True}, {"method": "ping"}, ANSWER, False),
        ({"of": "add"}, {"method": "tools/list"}, ANSWER, True),
        ({"of": "weather"}, {"method": "tools/list"}, ANSWER, False),
        ({"of": "add"}, {"method": "tools/call", "params": {"name": "add"}}, ANSWER, True),
        ({"of": "add"}, {"method": "tools/call", "params": []}, None, False),
    ],
)
def test_a_mutant_is_called_for_the_messages_that_it_selects(fresh, filters, request_, reply, called):
    assert bool(mutated(mutant("some.id", **filters), request_, reply)) == called


def test_a_mutant_needs_a_requirement_a_docstring_and_a_unique_name(fresh):
    def named():
        """Change nothing."""

    mutant("some.id")(named)
    with pytest.raises(ValueError, match="two mutants called named"):
        mutant("some.id")(named)
    with pytest.raises(ValueError, match="needs a requirement"):
        mutant()(named)
    with pytest.raises(ValueError, match="needs a requirement"):
        mutant("some.id")(lambda: SILENCE)


def test_the_registry_is_complete_and_sorted():
    names = [entry.name for entry in all_mutants()]
    assert names == sorted(MUTANTS)
    assert "logging_is_a_flag" in names
