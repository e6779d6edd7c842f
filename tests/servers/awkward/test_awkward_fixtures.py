"""The awkward servers: each behaves as documented, and holds a plain conversation in every revision."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_conformance_fixtures import awkward

REVISIONS = ("2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = REVISIONS[-1]
WAIT_SECONDS = 20
NAMES = sorted(path.stem for path in Path(awkward.__file__).parent.glob("[a-z]*.py"))
ARGUMENTS = {"slow_start": ["0.2"]}
CALLS = {
    "echo": {"text": "é\u2028😀"},
    "length": {"text": "four"},
    "sum_tree": {"tree": {"value": 2, "children": [{"value": 3.0}]}},
}
CALLS |= {"read_page": {"path": "no such file"}}
CALLS |= {"read_chain": {"word": "a", "next": {"word": "b"}}, "count_labels": {"labels": ["x", "y"]}}


class Conversation:
    """A conversation with one awkward server, and its output so far."""

    def __init__(self, name):
        command = [sys.executable, "-m", f"mcp_conformance_fixtures.awkward.{name}", *ARGUMENTS.get(name, [])]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self.chunks = queue.SimpleQueue()
        self.reads, self.logged, self.lines, self.messages = [], bytearray(), [], []
        self.rest = b""
        self.last = 0
        self.threads = [
            threading.Thread(target=self.pump, args=(self.child.stdout, self.chunks.put)),
            threading.Thread(target=self.pump, args=(self.child.stderr, self.logged.extend)),
        ]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def pump(stream, take):
        while chunk := os.read(stream.fileno(), 65536):
            take(chunk)
        take(b"")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.close()
        finally:
            self.child.kill()
            self.child.wait(WAIT_SECONDS)
            for thread in self.threads:
                thread.join(WAIT_SECONDS)
            self.child.stdout.close()
            self.child.stderr.close()

    def close(self):
        with suppress(OSError):
            self.child.stdin.close()
        assert self.child.wait(WAIT_SECONDS) == 0
        for thread in self.threads:
            thread.join(WAIT_SECONDS)

    def send(self, *messages):
        """Write messages, all in one write."""
        data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        self.child.stdin.write(data)

    def read(self):
        """Read one more chunk."""
        chunk = self.chunks.get(timeout=WAIT_SECONDS)
        assert chunk, "the server ended"
        self.reads.append(chunk)
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        self.lines += lines
        self.messages += map(json.loads, lines)

    def reply(self, id):
        """Wait for the reply to a request, which may be in a batch."""
        while True:
            for message in self.messages:
                for one in message if isinstance(message, list) else [message]:
                    if "method" not in one and repr(one.get("id")) == repr(id):
                        return one
            self.read()

    def request(self, method, params=None):
        """Send one request and wait for its reply."""
        self.last += 1
        self.send(request(self.last, method, params))
        return self.reply(self.last)

    def open(self, revision=NEWEST):
        """Do the handshake."""
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
        result = self.request("initialize", params)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def list(self):
        """Return the tools of all pages."""
        tools, params = [], {}
        while True:
            result = self.request("tools/list", params)["result"]
            tools += result["tools"]
            if "nextCursor" not in result:
                return tools
            params = {"cursor": result["nextCursor"]}

    def call(self, name, arguments=None):
        return self.request("tools/call", {"name": name, "arguments": arguments or {}})["result"]

    def sent(self, method):
        """Return the requests and notifications of one method that the server has sent."""
        return [
            message
            for message in self.messages
            if isinstance(message, dict) and message.get("method") == method
        ]


def request(id, method, params=None):
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


@pytest.fixture
def start_server():
    """Return a function that starts a server by name; all servers end with the test."""
    conversations = []

    def start(name):
        conversations.append(Conversation(name))
        return conversations[-1]

    yield start
    for one in conversations:
        with one:
            pass


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("name", NAMES)
def test_a_plain_conversation_succeeds(start_server, name, revision):
    server = start_server(name)
    result = server.open(revision)
    assert result["protocolVersion"] == revision
    assert server.request("ping")["result"].keys() <= {"_meta"}
    assert server.request("no/such")["error"]["code"] == -32601
    if "tools" not in result["capabilities"]:
        assert server.request("tools/list")["error"]["code"] == -32601
        return
    assert server.request("tools/call", {"name": "no such"})["error"]["code"] == -32602
    unread = -32601 if name == "unread_params" else -32602
    assert server.request("tools/call", {"arguments": {}})["error"]["code"] == unread
    assert server.request("tools/call", [])["error"]["code"] == -32602
    for cursor in ("forged", 5, {}, None) if revision > "2024-10-07" else ():
        assert server.request("tools/list", {"cursor": cursor})["error"]["code"] == -32602
    for tool in server.list():
        assert ("annotations" in tool) == (revision >= "2025-03-26")
        result = server.call(tool["name"], CALLS.get(tool["name"]))
        assert ("toolResult" if revision == "2024-10-07" else "content") in result
        if "outputSchema" in tool:
            value = result["structuredContent"]
            assert json.loads(result["content"][0]["text"]) == value
    server.close()
    assert bool(server.logged) == (name == "chatty_stderr")


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_base_answers_errors_as_each_revision_requires(start_server, revision):
    server = start_server("crlf")
    server.send(request("early", "tools/list"), request("first", "ping"))
    assert server.reply("early")["error"]["code"] == -32600
    assert server.reply("first")["result"] == {}
    server.open(revision)
    server.child.stdin.write(b'{oops\n[]\nNaN\n[1]\n\n"\xff"\n')
    server.send({"jsonrpc": "2.0", "id": "x", "method": 5}, {"jsonrpc": "2.0", "method": "tools/list"})
    server.send({"jsonrpc": "2.0", "id": 1, "result": {}}, [request("b", "ping"), request("c", "initialize")])
    bad = server.request("tools/call", {"name": "echo", "arguments": {"text": 5}})
    errors = [m for m in server.messages if isinstance(m, dict) and "error" in m and m.get("id") is None]
    codes = [-32700, -32600, -32700, -32600, -32700, -32600]
    if revision == "2025-03-26":
        batches = [m for m in server.messages if isinstance(m, list)]
        assert [[one["id"] for one in batch] for batch in batches] == [[None], ["b", "c"]]
        codes = [-32700, -32600, -32700, -32700]
    assert [message["error"]["code"] for message in errors] == codes
    assert all(("id" in message) == (revision < "2025-11-25") for message in errors)
    assert server.reply("x")["error"]["code"] == -32600
    if revision == "2025-11-25":
        assert bad["result"]["isError"] is True
    else:
        assert bad["error"]["code"] == -32602


def test_an_unknown_revision_is_answered_with_the_newest(start_server):
    assert start_server("crlf").open("1999-01-01")["protocolVersion"] == NEWEST


def test_chatty_stderr_fills_pipes_with_logs(start_server):
    server = start_server("chatty_stderr")
    server.open()
    server.request("ping")
    server.close()
    assert len(server.logged) >= 100_000 + 2 * 20_000


def test_big_line_writes_two_lines_of_200_kb(start_server):
    server = start_server("big_line")
    server.open()
    server.list()
    server.call("big")
    assert sum(len(line) > 200_000 for line in server.lines) == 2


@pytest.mark.parametrize("revision", REVISIONS)
def test_notification_first_notifies_before_each_reply(start_server, revision):
    server = start_server("notification_first")
    server.open(revision)
    server.request("ping")
    server.request("no/such")
    early = revision == "2024-10-07"
    method = "notifications/tools/list_changed" if early else "notifications/message"
    assert [message.get("method") for message in server.messages[1:]] == [method, None, method, None]
    if not early:
        server.request("logging/setLevel", {"level": "error"})
        assert server.request("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602
        assert server.messages[-2]["params"]["level"] == "error"


def test_ping_same_id_pings_under_the_id_of_the_request(start_server):
    server = start_server("ping_same_id")
    server.open()
    server.send(request("s", "ping"), {"jsonrpc": "2.0", "id": "s", "result": {}}, request(1.0, "ping"))
    server.reply(1.0)
    seen = [(message["id"], message.get("method")) for message in server.messages[1:]]
    assert seen[:3] == [("s", "ping"), ("s", None), (1.0, "ping")]


@pytest.mark.parametrize("revision", REVISIONS)
def test_three_pages_has_three_pages_from_2024_11_05(start_server, revision):
    server = start_server("three_pages")
    server.open(revision)
    assert len({tool["name"] for tool in server.list()}) == 7
    sizes = [len(message["result"]["tools"]) for message in server.messages[1:]]
    assert sizes == ([7] if revision == "2024-10-07" else [3, 3, 1])


def test_late_tool_announces_the_tool_it_adds(start_server):
    server = start_server("late_tool")
    assert server.open()["capabilities"] == {"tools": {"listChanged": True}}
    assert "late" in [tool["name"] for tool in server.list()]
    assert len(server.sent("notifications/tools/list_changed")) == 1
    assert "method" in server.messages[1]


def test_out_of_order_answers_in_reverse(start_server):
    server = start_server("out_of_order")
    server.open()
    server.request("ping")
    server.send(*(request(id, "ping") for id in "abc"))
    for id in "abc":
        server.reply(id)
    assert [message["id"] for message in server.messages[-3:]] == ["c", "b", "a"]


def test_crlf_ends_every_line_with_both_characters(start_server):
    server = start_server("crlf")
    server.open()
    server.list()
    assert all(line.endswith(b"\r") for line in server.lines)


def test_string_ids_echo_pings_under_string_ids(start_server):
    server = start_server("string_ids_echo")
    server.open()
    server.send(request("1", "ping"), request("2", "ping"), request(3, "ping"))
    assert [server.reply(id)["result"] for id in ("1", "2", 3)] == [{}, {}, {}]
    assert [message["id"] for message in server.sent("ping")][:3] == ["1", "2", "3"]


def test_extra_members_has_unknown_members_everywhere(start_server):
    server = start_server("extra_members")
    result = server.open()
    called, listed = server.call("length", {"text": ""}), server.list()[0]
    error = server.request("no/such")["error"]
    log = server.sent("notifications/message")[0]["params"]
    block = called["content"][0]
    places = [
        result,
        result["capabilities"]["tools"],
        result["serverInfo"],
        called,
        block,
        block["annotations"],
        log,
    ]
    places += [listed, listed["annotations"], error["data"]]
    assert all("x-extra" in place for place in places)
    assert "x-order" in listed["inputSchema"]
    assert server.request("ping")["result"].keys() == {"_meta"}


def test_empty_lists_has_nothing(start_server):
    server = start_server("empty_lists")
    assert server.open()["capabilities"].keys() == {"tools", "prompts", "resources"}
    for method, member in (
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ):
        assert server.request(method)["result"] == {member: []}
        assert server.request(method, {"cursor": "forged"})["error"]["code"] == -32602
    assert server.request("prompts/get", {"name": "x"})["error"]["code"] == -32602
    assert server.request("resources/read")["error"]["code"] == -32602
    assert server.request("resources/read", {"uri": "a:b"})["error"]["data"] == {"uri": "a:b"}


def test_two_variables_completes_one_of_its_templates_in_context(start_server):
    server = start_server("two_variables")
    server.open()

    def values(uri, name, **known):
        ref, argument = {"type": "ref/resource", "uri": uri}, {"name": name, "value": ""}
        params = {"ref": ref, "argument": argument, "context": {"arguments": known}}
        return server.request("completion/complete", params)["result"]["completion"]["values"]

    shelf, trip = "shelf://{shelf}/{book}", "trip://{start}/{end}"
    (book,) = values(shelf, "book", shelf="history")
    assert "result" in server.request("resources/read", {"uri": f"shelf://history/{book}"})
    ends = values(trip, "end", start="athens")
    assert ends == values(trip, "end")
    assert "error" in server.request("resources/read", {"uri": f"trip://athens/{ends[0]}"})


def test_empty_text_is_empty(start_server):
    server = start_server("empty_text")
    server.open()
    assert {tool["description"] for tool in server.list()} == {""}
    assert server.call("empty_text")["content"] == [{"type": "text", "text": ""}]
    assert server.call("empty_content")["content"] == []
    assert server.call("empty_object") == {
        "content": [{"type": "text", "text": "{}"}],
        "structuredContent": {},
    }


def test_slow_start_sleeps_before_it_reads(start_server):
    begin = time.monotonic()
    server = start_server("slow_start")
    server.request("ping")
    assert time.monotonic() - begin >= 0.2


def test_bare_minimum_declares_nothing(start_server):
    server = start_server("bare_minimum")
    assert server.open()["capabilities"] == {}
    for method in ("tools/list", "tools/call", "prompts/list", "resources/list", "logging/setLevel"):
        assert server.request(method)["error"]["code"] == -32601


def test_changing_descriptions_change_and_names_stay(start_server):
    server = start_server("changing_descriptions")
    server.open()
    first, second = server.list(), server.list()
    assert [tool["name"] for tool in first] == [tool["name"] for tool in second]
    assert all(one["description"] != two["description"] for one, two in zip(first, second, strict=True))


def test_unicode_is_raw_and_escaped(start_server):
    server = start_server("unicode")
    server.open()
    words = server.call("speak")["content"][0]["text"]
    line = server.lines[-1]
    assert all(letter in words for letter in "\u2028\u2029\x85😀é🎉")
    assert all(letter.encode() in line for letter in "\u2028\u2029\x85😀")
    assert b"\\u00e9" in line
    assert b"\\ud83c\\udf89" in line
    assert server.call("echo", {"text": "\ud800\\é"})["content"][0]["text"] == "\ud800\\é"
    assert {tool["title"] for tool in server.list()} == {words}


def test_split_writes_ends_its_writes_anywhere(start_server):
    server = start_server("split_writes")
    server.open()
    server.send(*(request(id, "tools/list") for id in "abc"))
    server.reply("c")
    assert any(b"\n{" in chunk for chunk in server.reads)
    for _ in range(20):  # a late reader gets several pieces in one read
        if any(not chunk.endswith(b"\n") for chunk in server.reads):
            return
        server.request("tools/list")
    pytest.fail("every read ended at a newline")


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_failing_fails_helpfully(start_server, revision):
    server = start_server("only_failing")
    server.open(revision)
    [tool] = server.list()
    result = server.call(tool["name"])
    if revision == "2024-10-07":
        assert "closed" in result["toolResult"]["error"]
    else:
        assert result["isError"] is True
        assert "closed" in result["content"][0]["text"]


def test_odd_numbers_writes_unusual_forms_of_numbers(start_server):
    server = start_server("odd_numbers")
    server.open()
    server.call("count")
    assert b'{"count": 3.0, "limit": 1e3}' in server.lines[-1]
    assert b'"priority": 1}' in server.lines[-1]
    assert b'"priority": 1.0}' in server.lines[-1]
    assert [message["id"] for message in server.sent("ping")] == [0]
    server.list()
    assert b'"maxLength": 1E+2' in server.lines[-1]
    server.request("no/such")
    assert b'"code": -32601.0' in server.lines[-1]


def test_deep_schema_accepts_only_what_its_schemas_allow(start_server):
    server = start_server("deep_schema")
    server.open()
    assert server.call("sum_tree", CALLS["sum_tree"])["content"][0]["text"] == "5"
    assert server.call("read_chain", CALLS["read_chain"])["content"][0]["text"] == "a b"
    wrong = {
        "sum_tree": {"tree": {"value": 1, "children": [{}]}},
        "read_chain": {"word": "a", "next": {"word": "a" * 21}},
    }
    wrong["count_labels"] = {"labels": ["longer"]}
    assert all(server.call(name, arguments)["isError"] for name, arguments in wrong.items())
    dialects = [tool["inputSchema"].get("$schema", "").rpartition(".org/")[2] for tool in server.list()]
    assert dialects == ["", "draft-07/schema#", "draft/2019-09/schema"]
