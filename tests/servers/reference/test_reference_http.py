"""The reference server over HTTP: the transport pages of each revision."""

import base64
import json
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import Listener
from mcp_conformance.transport.http.request import Request
from mcp_conformance_fixtures import reference_surface as surface
from mcp_conformance_fixtures.http_mutants import HttpReference, all_http_mutants

SECONDS = 20.0
HANDSHAKES = ("2025-03-26", "2025-06-18", "2025-11-25")
NEWEST, MODERN = HANDSHAKES[-1], surface.NEWEST
OURS = "io.modelcontextprotocol/"
BOTH = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
STREAM = {"Accept": "text/event-stream"}
META = {OURS + "protocolVersion": MODERN, OURS + "clientCapabilities": {}}


class Arrivals(Listener):
    """A listener by which a test waits for messages."""

    def __init__(self):
        self.events = []
        self.changed = threading.Condition()

    def on_event(self, exchange, at, event):
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def wait(self, count):
        """Return the messages, once there are that many events with data."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.messages) >= count, SECONDS), self.events
            return self.messages

    @property
    def messages(self):
        return [json.loads(event.data) for event in self.events if event.data]


class Running:
    """A running server, and a client of it."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.endpoint = Endpoint.parse(re.fullmatch("listening on (.*)\n", line)[1])
        self.client = Client(self.endpoint)

    def begin(self, method, headers, body=b"", listener=None):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = tuple((name.encode(), value.encode("latin-1")) for name, value in headers.items())
        return self.client.begin(Request.to(self.endpoint, method, fields, body), listener)

    def send(self, method, headers, body=b""):
        """Return an ended exchange."""
        exchange = self.begin(method, headers, body)
        assert exchange.wait(SECONDS)
        assert exchange.failure == ""
        return exchange

    def close(self):
        self.client.close()
        self.process.terminate()
        assert self.process.wait(SECONDS) == 0
        errors = self.process.stderr.read()
        self.process.stderr.close()
        assert errors == ""


class Session:
    """A session that a handshake opened."""

    def __init__(self, server, revision=NEWEST, capabilities=None):
        self.server, self.revision = server, revision
        who = {"name": "test", "version": "1"}
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": who}
        self.opening = server.send("POST", BOTH, request("initialize", params))
        (self.id,) = self.opening.header("Mcp-Session-Id")
        self.headers = {**BOTH, "Mcp-Session-Id": self.id, "MCP-Protocol-Version": revision}
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def post(self, body, **headers):
        return self.server.send("POST", self.headers | dashed(headers), body)

    def begin(self, body, listener=None):
        return self.server.begin("POST", self.headers, body, listener)

    def listen(self, **headers):
        """Return the exchange of a GET stream that is open, and what comes there."""
        arrivals = Arrivals()
        exchange = self.server.begin("GET", self.headers | STREAM | dashed(headers), listener=arrivals)
        assert exchange.wait_for_head(SECONDS)
        assert (exchange.status, exchange.media_type) == (200, "text/event-stream")
        return exchange, arrivals


@pytest.fixture(scope="module")
def server():
    running = Running()
    yield running
    running.close()


@pytest.fixture(params=HANDSHAKES)
def session(request, server):
    return Session(server, request.param)


def request(method, params=None, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


def call(tool, arguments=None, id=1, **params):
    return request("tools/call", {"name": tool, "arguments": arguments or {}, **params}, id)


def dashed(headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


def body_of(exchange):
    assert exchange.media_type == "application/json"
    return json.loads(exchange.body)


def error_of(exchange):
    """Return the status and the code of an error."""
    return exchange.status, body_of(exchange)["error"]["code"]


def messages_of(exchange):
    assert exchange.media_type == "text/event-stream"
    return [json.loads(event.data) for _, event in exchange.events if event.data]


def same(headers, name):
    """Return the headers without one of them."""
    return {key: value for key, value in headers.items() if key.lower() != name.lower()}


# --- POST, in a session


def test_a_request_is_answered_with_json(session):
    exchange = session.post(request("ping"))
    assert (exchange.status, body_of(exchange)) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert exchange.header("Mcp-Session-Id") == []


def test_notifications_and_responses_get_202_without_body(session):
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "id": 77, "result": {}},
    ):
        exchange = session.post(message)
        assert (exchange.status, exchange.body, exchange.media_type) == (202, b"", "")


def test_messages_before_the_answer_make_a_stream(session):
    listening, elsewhere = session.listen()
    exchange = session.post(call("report", _meta={"progressToken": "t"}))
    methods = [message.get("method") for message in messages_of(exchange)]
    assert methods == ["notifications/progress", "notifications/message", "notifications/progress", None]
    assert exchange.header("X-Accel-Buffering") == ["no"]
    assert exchange.header("Cache-Control") == ["no-store"]
    assert not exchange.event_parser.is_unfinished
    listening.abort()
    assert elsewhere.messages == []


def test_a_request_to_the_client_is_on_the_stream_of_its_request(server):
    for revision in HANDSHAKES:
        session = Session(server, revision, {"sampling": {}})
        arrivals = Arrivals()
        exchange = session.begin(call("summarize", {"text": "long"}, 5), arrivals)
        (asked,) = arrivals.wait(1)
        assert asked["method"] == "sampling/createMessage"
        said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "short"}}
        assert session.post({"jsonrpc": "2.0", "id": asked["id"], "result": said}).status == 202
        assert exchange.wait(SECONDS)
        assert messages_of(exchange)[-1]["result"]["content"] == [{"type": "text", "text": "short"}]


def test_a_cancelled_request_ends_its_stream_without_an_answer(session):
    arrivals = Arrivals()
    exchange = session.begin(call("count", {"to": 3}, 6), arrivals)
    arrivals.wait(1)
    session.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 6}})
    assert exchange.wait(SECONDS)
    assert [message["method"] for message in messages_of(exchange)] == ["ping", "notifications/cancelled"]


def test_two_sessions_may_use_the_same_id_at_once(server):
    sessions = [Session(server, NEWEST, {"sampling": {}}) for _ in range(2)]
    arrivals = [Arrivals(), Arrivals()]
    running = [
        one.begin(call("summarize", {"text": "x"}), seen)
        for one, seen in zip(sessions, arrivals, strict=True)
    ]
    for number, (one, seen) in reversed([*enumerate(zip(sessions, arrivals, strict=True))]):
        (asked,) = seen.wait(1)
        said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": str(number)}}
        one.post({"jsonrpc": "2.0", "id": asked["id"], "result": said})
    for number, exchange in enumerate(running):
        assert exchange.wait(SECONDS)
        assert messages_of(exchange)[-1]["result"]["content"][0]["text"] == str(number)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe{}", -32700),
        (b"\xef\xbb\xbf{}", -32700),
        (b'"\xff"', -32700),
        (b"NaN", -32700),
        (b"3", -32600),
        (b'{"jsonrpc":"2.0","method":1}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b"[]", -32600),
    ],
)
def test_what_is_not_a_message_gets_400(server, session, body, code):
    exchange = session.post(body)
    assert error_of(exchange) == (400, code)
    without_session = server.send("POST", BOTH, body)
    assert without_session.status == 400
    assert "id" not in body_of(without_session)


def test_errors_of_requests_have_status_200(session):
    for method, code in (("no/such", -32601), ("tools/call", -32602)):
        assert error_of(session.post(request(method))) == (200, code)


def test_batches_are_only_in_2025_03_26(session):
    batch = [request("ping", id=1), {"jsonrpc": "2.0", "method": "x"}, request("ping", id="2")]
    exchange = session.post(batch)
    if session.revision == "2025-03-26":
        assert [reply["id"] for reply in body_of(exchange)] == [1, "2"]
        assert session.post(batch[1:2]).status == 202
        noisy = session.post([call("report", _meta={"progressToken": 1}), request("ping", id=2)])
        *before, replies = messages_of(noisy)
        assert [reply["id"] for reply in replies] == [1, 2]
        assert len(before) == 3
    else:
        assert error_of(exchange) == (400, -32600)


@pytest.mark.parametrize(
    "accept", ["*/*", "text/*, application/*;q=0.1", "TEXT/EVENT-STREAM;q=1,application/json"]
)
def test_wildcards_order_and_weights_are_accepted(session, accept):
    assert session.post(request("ping"), Accept=accept).status == 200


@pytest.mark.parametrize(
    "accept", ["application/json", "text/event-stream", "text/html", "*/*;q=0", "image/*"]
)
def test_a_client_that_does_not_accept_both_types_gets_406(session, accept):
    assert session.post(request("ping"), Accept=accept).status == 406


def test_no_accept_header_accepts_everything(session):
    assert session.server.send("POST", same(session.headers, "accept"), request("ping")).status == 200


@pytest.mark.parametrize("kind", ["text/plain", "", "application/jsonx"])
def test_other_content_types_get_415(session, kind):
    assert session.post(request("ping"), Content_Type=kind).status == 415


def test_parameters_of_the_content_type_are_ignored(session):
    assert session.post(request("ping"), Content_Type="Application/JSON; charset=utf-8").status == 200


# --- sessions


def test_session_ids_are_visible_unguessable_and_different(server):
    ids = {Session(server).id for _ in range(20)}
    assert len(ids) == 20
    assert all(re.fullmatch("[!-~]{32,}", id) for id in ids)


def test_a_request_without_session_gets_400_and_its_id(server):
    exchange = server.send("POST", BOTH, request("ping", id="mine"))
    assert error_of(exchange) == (400, -32600)
    assert body_of(exchange)["id"] == "mine"


def test_a_failed_handshake_opens_no_session(server):
    exchange = server.send("POST", BOTH, request("initialize", {}))
    assert (error_of(exchange), exchange.header("Mcp-Session-Id")) == ((200, -32602), [])


def test_an_unknown_or_ended_session_gets_404_on_every_method(session):
    listening, _ = session.listen()
    ended = session.server.send("DELETE", session.headers)
    assert (ended.status, ended.body) == (204, b"")
    assert listening.wait(SECONDS)
    assert listening.failure == ""
    for headers in (session.headers, session.headers | {"Mcp-Session-Id": "unknown"}):
        for method in ("POST", "GET", "DELETE"):
            assert (
                session.server.send(method, headers, request("ping") if method == "POST" else b"").status
                == 404
            )
    assert session.post(request("initialize", {})).status == 404


def test_delete_leaves_other_sessions_alone(server):
    first, second = Session(server), Session(server)
    server.send("DELETE", first.headers)
    assert second.post(request("ping")).status == 200
    assert server.send("DELETE", BOTH).status == 400


def test_a_second_handshake_in_a_session_is_rejected(session):
    who = {"name": "test", "version": "1"}
    params = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": who}
    exchange = session.post(request("initialize", params))
    assert (error_of(exchange), exchange.header("Mcp-Session-Id")) == ((400, -32600), [])


def test_header_names_have_any_case_and_one_value(session):
    headers = same(session.headers, "mcp-session-id")
    assert (
        session.server.send("POST", headers | {"mCP-sESSION-iD": f"  {session.id}\t"}, request("ping")).status
        == 200
    )
    twice = session.headers | {"mcp-session-id": "other"}
    assert session.server.send("POST", twice, request("ping")).status == 400


def test_sessions_are_isolated(server):
    first, second = Session(server), Session(server)
    _, quiet = second.listen()
    listening, seen = first.listen()
    first.post(call("grow"))
    assert len(seen.wait(3)) == 3
    assert quiet.messages == []
    names = [tool["name"] for tool in body_of(second.post(request("tools/list", {})))["result"]["tools"]]
    assert "grown_1" not in names
    listening.abort()


# --- the revision in the header


@pytest.mark.parametrize(
    "value", ["banana", "2000-01-01", "2099-01-01", "", "2025-11-25, 2025-11-25", "2025\xe9"]
)
def test_an_invalid_revision_gets_400(server, session, value):
    headers = session.headers | {"MCP-Protocol-Version": value}
    assert server.send("POST", headers, request("ping")).status == 400
    assert server.send("GET", headers | STREAM).status == 400
    assert server.send("DELETE", headers).status == 400
    assert (
        server.send("POST", BOTH | {"MCP-Protocol-Version": value}, request("initialize", {})).status == 400
    )


def test_without_the_header_the_session_keeps_its_revision(session):
    headers = same(session.headers, "mcp-protocol-version")
    assert session.server.send("POST", headers, request("ping")).status == 200


# --- GET


def test_changes_come_on_the_get_stream_and_nowhere_else(session):
    listening, seen = session.listen()
    session.post(request("resources/subscribe", {"uri": "memo://counter"}))
    exchange = session.post(call("grow"))
    assert exchange.media_type == "application/json"
    methods = [message["method"] for message in seen.wait(4)]
    kinds = [f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")]
    assert methods == [*kinds, "notifications/resources/updated"]
    listening.abort()
    assert listening.wait(SECONDS)
    assert session.post(request("ping")).status == 200


def test_changes_before_the_first_get_stream_are_kept(session):
    session.post(call("change", {"what": "prompts"}))
    _, seen = session.listen()
    assert seen.wait(1)[0]["method"] == "notifications/prompts/list_changed"


def test_a_message_comes_on_one_of_two_streams(session):
    first, second = session.listen(), session.listen()
    session.post(call("change", {"what": "prompts"}))
    assert len(second[1].wait(1)) == 1
    session.server.send("DELETE", session.headers)
    assert first[0].wait(SECONDS)
    assert second[0].wait(SECONDS)
    assert len(first[1].messages) + len(second[1].messages) == 1


def test_get_needs_the_type_of_events_and_a_session(session):
    assert session.server.send("GET", session.headers | {"Accept": "application/json"}).status == 406
    assert session.server.send("GET", STREAM).status == 400


def test_only_2025_11_25_has_a_priming_event(session):
    _, on_get = session.listen()
    session.post(call("change", {"what": "prompts"}))
    on_get.wait(1)
    on_post = session.post(call("report"))
    for events in (on_get.events, [event for _, event in on_post.events]):
        first = events[0]
        if session.revision == NEWEST:
            assert (bool(first.id), first.data, first.retry) == (True, "", 100)
        else:
            assert (bool(first.id), bool(first.data), first.retry) == (True, True, None)


@pytest.mark.parametrize("requests_before", [0, 5])
def test_what_a_task_asks_is_on_the_stream_of_the_request_for_its_result(server, requests_before):
    session = Session(server, NEWEST, {"elicitation": {"form": {}}})
    task = body_of(session.post(call("ask", task={})))["result"]["task"]
    for _ in range(requests_before):
        session.post(request("tasks/get", {"taskId": task["taskId"]}))
    arrivals = Arrivals()
    exchange = session.begin(request("tasks/result", {"taskId": task["taskId"]}, 2), arrivals)
    (asked,) = arrivals.wait(1)
    assert asked["method"] == "elicitation/create"
    session.post({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
    assert exchange.wait(SECONDS)
    assert messages_of(exchange)[-1]["id"] == 2
    _, on_get = session.listen()
    assert {message["method"] for message in on_get.wait(2)} == {"notifications/tasks/status"}


# --- resumption


def test_ids_of_events_are_unique_in_a_session(session):
    _, seen = session.listen()
    session.post(call("grow"))
    seen.wait(3)
    events = [*seen.events]
    for _ in range(3):
        events += [event for _, event in session.post(call("report")).events]
    ids = [event.id for event in events]
    assert None not in ids
    assert len(set(ids)) == len(ids)


def test_a_cut_post_stream_is_resumed_and_the_request_goes_on(session):
    arrivals = Arrivals()
    exchange = session.begin(call("count", {"to": 1}, 8, _meta={"progressToken": 1}), arrivals)
    progress, ping = arrivals.wait(2)
    exchange.abort()
    assert exchange.wait(SECONDS)
    session.post({"jsonrpc": "2.0", "id": ping["id"], "result": {}})
    first = next(event for event in arrivals.events if event.data)
    resumed, seen = session.listen(Last_Event_ID=first.id)
    assert resumed.wait(SECONDS)
    again, result = seen.messages
    assert again == ping
    assert result["id"] == 8
    assert "Counted to 1." in json.dumps(result)
    assert progress["method"] == "notifications/progress"


def test_a_cut_get_stream_is_resumed_with_its_own_messages_only(session):
    listening, seen = session.listen()
    session.post(call("change", {"what": "prompts"}))
    seen.wait(1)
    last = seen.events[-1].id
    listening.abort()
    session.post(call("report"))
    session.post(call("change", {"what": "resources"}))
    _, resumed = session.listen(Last_Event_ID=last)
    assert [message["method"] for message in resumed.wait(1)] == ["notifications/resources/list_changed"]


def test_a_resumed_stream_is_taken_from_its_first_reader(session):
    listening, seen = session.listen()
    session.post(call("change", {"what": "prompts"}))
    seen.wait(1)
    _, resumed = session.listen(Last_Event_ID=seen.events[-1].id)
    assert listening.wait(SECONDS)
    session.post(call("change", {"what": "resources"}))
    assert len(resumed.wait(1)) == 1


@pytest.mark.parametrize("id", ["", "x", "99-0", "1-99", "1", "-1-0", "1-0\xe9"])
def test_an_unknown_event_gets_400(session, id):
    session.listen()
    headers = session.headers | STREAM | {"Last-Event-ID": id}
    assert session.server.send("GET", headers).status == 400


def test_an_event_of_another_session_replays_nothing(server):
    first, second = Session(server), Session(server)
    exchange = first.post(call("report"))
    last = exchange.events[-2][1].id
    assert server.send("GET", second.headers | STREAM | {"Last-Event-ID": last}).status == 400


# --- security, methods, paths


FOREIGN = (
    "http://evil.example",
    "null",
    "",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://localhost:1@evil.example",
    "http://localhost/",
    "file://localhost",
)


@pytest.mark.parametrize("origin", FOREIGN)
def test_foreign_origins_get_403_on_every_method(server, session, origin):
    for headers in (session.headers, modern_headers("server/discover")):
        for method in ("POST", "GET", "DELETE", "OPTIONS", "PUT"):
            exchange = server.send(
                method, headers | {"Origin": origin}, request("ping") if method == "POST" else b""
            )
            assert exchange.status == 403
            assert "id" not in body_of(exchange)
    assert session.post(request("ping")).status == 200


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://LOCALHOST:3000", "https://127.0.0.1:1", "http://[::1]:5"]
)
def test_local_origins_are_served(session, origin):
    assert session.post(request("ping"), Origin=origin).status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1@evil.example", ""])
def test_a_foreign_host_gets_403(server, host):
    body = json.dumps(request("ping")).encode()
    headers = {**BOTH, "Host": host, "Content-Length": str(len(body))}
    fields = tuple((name.encode(), value.encode()) for name, value in headers.items())
    exchange = server.client.begin(Request("POST", "/mcp", fields, body))
    assert exchange.wait(SECONDS)
    assert exchange.status == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
def test_other_methods_get_405_with_allow(server, method):
    exchange = server.send(method, BOTH)
    assert (exchange.status, exchange.header("Allow")) == (405, ["POST, GET, DELETE"])


def test_another_path_gets_404(server):
    elsewhere = Endpoint.parse(f"{server.endpoint.origin}/other")
    exchange = server.client.begin(Request.to(elsewhere, "POST", (), b"{}"))
    assert exchange.wait(SECONDS)
    assert exchange.status == 404


# --- HTTP


def raw(server, data):
    """Return what the server sends for these bytes until it closes the connection."""
    with socket.create_connection((server.endpoint.host, server.endpoint.port), SECONDS) as connection:
        connection.sendall(data)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST /mcp\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n", b"505"),
        (b"POST /mcp HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
            b"400",
        ),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 70000 + b"\r\n\r\n", b"431"),
        (b"\r\nGET /mcp HTTP/1.1\r\nHost: localhost\r\nA: b\x00\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /mcp HTTP/1.0\r\n\r\n", b"400"),
    ],
)
def test_what_is_not_http_is_rejected(server, data, status):
    assert raw(server, data).startswith(b"HTTP/1.1 " + status)


def test_chunked_bodies_slow_bodies_and_expectations_are_read(server):
    body = json.dumps(request("initialize", {})).encode()
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    chunks = b"".join(b"1;a=b\r\n%c\r\n" % byte for byte in body) + b"0\r\nTrailer: x\r\n\r\n"
    assert b"-32602" in raw(server, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    length = b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(body)
    received = raw(server, head + length + body)
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_pipelined_requests_are_answered_in_order(session):
    def encoded(id, *more):
        headers = tuple((name.encode(), value.encode()) for name, value in session.headers.items())
        body = json.dumps(call("report", id=id)).encode()
        return Request.to(session.server.endpoint, "POST", (*headers, *more), body).encoded

    received = raw(session.server, encoded(1) + encoded(2) + encoded(3, (b"Connection", b"close")))
    assert re.findall(rb'"id":(\d)', received) == [b"1", b"2", b"3"]


def test_a_large_body_is_answered(session):
    text = "x" * 10_000_000
    assert len(session.post(call("echo", {"text": text})).body) > len(text)


# --- the modern era


def modern(method, params=None, id=1, **meta):
    return request(method, {**(params or {}), "_meta": {**META, **meta}}, id)


def modern_headers(method, name=None, **more):
    named = {} if name is None else {"Mcp-Name": name}
    return {**BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named, **dashed(more)}


def ask(server, method, params=None, name=None, without=(), **more):
    """Return the exchange of a modern request."""
    headers = {k: v for k, v in modern_headers(method, name, **more).items() if k not in without}
    return server.send("POST", headers, modern(method, params))


def test_a_modern_request_needs_no_session(server):
    exchange = ask(server, "server/discover", Mcp_Session_Id="stale", Last_Event_ID="1-1")
    assert exchange.status == 200
    assert set(body_of(exchange)["result"]["supportedVersions"]) == {*surface.MODERN, *HANDSHAKES}
    assert exchange.header("Mcp-Session-Id") == []


def test_a_modern_notification_is_accepted_and_a_response_is_not(server):
    headers = {**BOTH, "MCP-Protocol-Version": MODERN}
    accepted = server.send("POST", headers, {"jsonrpc": "2.0", "method": "notifications/x"})
    assert (accepted.status, accepted.body) == (202, b"")
    refused = server.send("POST", headers, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert (refused.status, "id" in body_of(refused)) == (400, False)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc":"2.0","method":1}'])
def test_what_is_not_a_modern_message_gets_400(server, body):
    exchange = server.send("POST", modern_headers("ping"), body)
    assert error_of(exchange)[0] == 400
    assert "id" not in body_of(exchange)


NAMED = [
    ("tools/call", {"name": "nothing"}, "nothing"),
    ("prompts/get", {"name": "gallery"}, "gallery"),
    ("resources/read", {"uri": "memo://greeting"}, "memo://greeting"),
]


def test_right_headers_are_served(server):
    for method, params, name in NAMED:
        assert ask(server, method, params, name).status == 200
        coded = base64.b64encode(name.encode()).decode()
        assert ask(server, method, params, f"=?base64?{coded}?=").status == 200
        headers = {key.upper(): f" \t{value} " for key, value in modern_headers(method, name).items()}
        assert server.send("POST", headers, modern(method, params)).status == 200


def assert_mismatch(exchange):
    assert error_of(exchange) == (400, -32020)
    assert body_of(exchange)["id"] == 1


@pytest.mark.parametrize(("method", "params", "name"), NAMED)
def test_missing_and_other_headers_are_rejected(server, method, params, name):
    for missing in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"):
        assert_mismatch(ask(server, method, params, name, without=(missing,)))
    coded = base64.b64encode(name.encode()).decode()
    wrong = [
        name.upper(),
        "other",
        f"{name}\x01",
        f"{name}\xe9",
        f"=?BASE64?{coded}?=",
        "=?base64?%%%?=",
        "=?base64?/w==?=",
    ]
    for value in wrong:
        assert_mismatch(ask(server, method, params, value))
    assert_mismatch(ask(server, method, params, name, mcp_name="other"))
    assert_mismatch(ask(server, method, params, name, **{"Mcp-Method": method.title()}))
    for version in ("2025-11-25", "banana"):
        assert_mismatch(ask(server, method, params, name, **{"MCP-Protocol-Version": version}))


def test_a_rejected_call_is_not_executed(server):
    def counter():
        exchange = ask(server, "resources/read", {"uri": "memo://counter"}, "memo://counter")
        return body_of(exchange)["result"]["contents"][0]["text"]

    before = counter()
    assert_mismatch(ask(server, "tools/call", {"name": "grow"}, "nothing"))
    assert counter() == before
    assert ask(server, "tools/call", {"name": "grow"}, "grow").status == 200
    assert int(counter()) == int(before) + 1


@pytest.mark.parametrize(
    ("count", "header", "right"),
    [
        (3, "3", True),
        (3, "3.0", True),
        (3, "=?base64?Mw==?=", True),
        (3, "4", False),
        (3, "x", False),
        (3, None, False),
        (3, "3\x01", False),
        (None, None, True),
        (None, "3", False),
    ],
)
def test_arguments_in_headers_are_compared(server, count, header, right):
    params = {"name": "days", "arguments": {} if count is None else {"count": count}}
    more = {"Mcp-Param-Other": "x"} | ({} if header is None else {"Mcp-Param-Day-Count": header})
    exchange = ask(server, "tools/call", params, "days", **more)
    if right:
        assert exchange.status == 200
    else:
        assert_mismatch(exchange)


@pytest.mark.parametrize(
    ("arguments", "headers", "right"),
    [
        ({"backwards": True}, {"Mcp-Param-Backwards": "true"}, True),
        ({"backwards": True}, {"Mcp-Param-Backwards": "True"}, False),
        ({"backwards": False}, {"Mcp-Param-Backwards": "true"}, False),
        ({"after": {"skipped": 2}}, {"Mcp-Param-Days-Skipped": "2"}, True),
        ({"after": {"skipped": 2}}, {}, False),
        ({"after": {"skipped": 2}, "skipped": 3}, {"Mcp-Param-Days-Skipped": "3"}, False),
        ({"after": {}}, {}, True),
    ],
)
def test_truth_values_and_nested_arguments_in_headers_are_compared(server, arguments, headers, right):
    exchange = ask(server, "tools/call", {"name": "days", "arguments": arguments}, "days", **headers)
    if right:
        assert exchange.status == 200
    else:
        assert_mismatch(exchange)


def test_errors_have_their_status(server):
    for method in ("no/such", "ping", "initialize", "resources/subscribe"):
        assert error_of(ask(server, method)) == (404, -32601)
    assert error_of(ask(server, "tools/call", {"name": "none"}, "none")) == (400, -32602)
    assert error_of(
        ask(server, "tools/call", {"name": "summarize", "arguments": {"text": "x"}}, "summarize")
    ) == (
        400,
        -32021,
    )
    failing = ask(server, "tools/call", {"name": "fail", "arguments": {"reason": "x"}}, "fail")
    assert (failing.status, body_of(failing)["result"]["isError"]) == (200, True)


def test_incomplete_meta_is_rejected(server):
    for missing in META:
        body = request("tools/list", {"_meta": {key: value for key, value in META.items() if key != missing}})
        assert error_of(server.send("POST", modern_headers("tools/list"), body)) == (400, -32602)
    assert error_of(server.send("POST", modern_headers("tools/list"), request("tools/list"))) == (400, -32602)


def test_an_unsupported_revision_is_rejected_with_the_supported_ones(server):
    for version in ("2099-01-01", NEWEST):
        body = modern("tools/list", **{OURS + "protocolVersion": version})
        exchange = server.send("POST", modern_headers("tools/list") | {"MCP-Protocol-Version": version}, body)
        assert error_of(exchange) == (400, -32022)
        assert MODERN in body_of(exchange)["error"]["data"]["supported"]


def test_get_and_delete_are_not_for_modern_clients(server):
    for method in ("GET", "DELETE"):
        exchange = server.send(method, {**STREAM, "MCP-Protocol-Version": MODERN, "Mcp-Session-Id": "x"})
        assert (exchange.status, exchange.header("Allow")) == (405, ["POST"])


def test_modern_streams_have_no_ids(server):
    params = {"name": "report", "arguments": {}}
    body = modern("tools/call", params, progressToken="t", **{OURS + "logLevel": "debug"})
    exchange = server.send("POST", modern_headers("tools/call", "report"), body)
    assert [message.get("method") for message in messages_of(exchange)][-2:] == [
        "notifications/progress",
        None,
    ]
    assert len(messages_of(exchange)) == 4
    assert {(event.id, event.retry) for _, event in exchange.events} == {(None, None)}
    assert exchange.header("X-Accel-Buffering") == ["no"]


def listen(server, id, **wanted):
    arrivals = Arrivals()
    body = modern("subscriptions/listen", {"notifications": wanted}, id)
    exchange = server.begin("POST", modern_headers("subscriptions/listen"), body, arrivals)
    assert arrivals.wait(1)[0]["method"] == "notifications/subscriptions/acknowledged"
    return exchange, arrivals


def test_changes_reach_all_listens_even_with_the_same_id(server):
    first = listen(server, 1, toolsListChanged=True)
    second = listen(server, 1, toolsListChanged=True, resourceSubscriptions=["memo://counter"])
    exchange = ask(server, "tools/call", {"name": "grow"}, "grow")
    assert exchange.media_type == "application/json"
    assert [len(first[1].wait(2)), len(second[1].wait(3))] == [2, 3]
    first[0].abort()
    assert first[0].wait(SECONDS)
    ask(server, "tools/call", {"name": "grow"}, "grow")
    assert len(second[1].wait(5)) == 5
    assert len(first[1].messages) == 2
    for message in second[1].messages:
        assert message["params"]["_meta"] == {OURS + "subscriptionId": 1}
    second[0].abort()


def test_closing_the_stream_cancels_only_its_request(server):
    def counting():
        arrivals = Arrivals()
        body = modern("tools/call", {"name": "count", "arguments": {"to": 3}}, progressToken="t")
        return server.begin("POST", modern_headers("tools/call", "count"), body, arrivals), arrivals

    (cut, seen), (kept, _) = counting(), counting()
    seen.wait(1)
    cut.abort()
    assert kept.wait(SECONDS)
    assert "Counted to 3." in json.dumps(messages_of(kept)[-1])
    assert len(seen.messages) < 3


def test_a_closed_stream_leaves_nothing_behind():
    stateless = HttpReference().stateless
    counting = modern("tools/call", {"name": "count"}, progressToken="t")
    listening = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    outlets = [stateless.post(json.dumps(body).encode()) for body in (counting, listening, listening)]
    assert (len(stateless.modern.under_way), len(stateless.modern.listens)) == (1, 2)
    for outlet in outlets[:2]:
        outlet.owner.hang_up(outlet)
    assert (len(stateless.modern.under_way), len(stateless.modern.listens)) == (0, 1)
    stateless.finish()


def test_both_eras_are_served_at_once(server, session):
    listening, seen = session.listen()
    modern_listening, modern_seen = listen(server, 1, promptsListChanged=True)
    ask(server, "tools/call", {"name": "change", "arguments": {"what": "prompts"}}, "change")
    modern_seen.wait(2)
    session.post(call("change", {"what": "prompts"}))
    assert len(seen.wait(1)) == 1
    assert len(modern_seen.messages) == 2
    modern_listening.abort()
    listening.abort()


# --- the process


def test_sigterm_ends_streams_and_the_process():
    running = Running()
    _, on_get = Session(running).listen()
    exchange, seen = listen(running, "mine", toolsListChanged=True)
    running.process.send_signal(signal.SIGTERM)
    assert exchange.wait(SECONDS)
    assert exchange.failure == ""
    *_, cancelled, result = seen.messages
    assert cancelled["method"] == "notifications/cancelled"
    assert (result["id"], result["result"]["resultType"]) == ("mine", "complete")
    assert running.process.wait(SECONDS) == 0
    running.close()
    assert on_get.messages == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_only_loopback_is_bound(server):
    with socket.socket() as other:
        other.bind(("127.0.0.2", server.endpoint.port))  # free: the server has not bound all addresses


# --- mutants


def test_a_mutant_of_messages_is_served():
    running = Running("ping_result_has_payload")
    assert body_of(Session(running).post(request("ping")))["result"] == {"pong": True}
    running.close()


def test_mutants_of_http_differ_where_they_say():
    running = Running("notification_gets_200")
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert running.send("POST", modern_headers("x"), message).status == 200
    running.close()
    running = Running("every_origin_is_served")
    assert ask(running, "server/discover", Origin="http://evil.example").status == 200
    running.close()


def test_an_unknown_mutant_is_named():
    command = [sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "no_such"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (4, "there is no mutant called no_such\n")


@pytest.mark.parametrize("mutant", all_http_mutants(), ids=lambda mutant: mutant.name)
def test_mutants_say_what_they_do(mutant):
    assert mutant.says.endswith(".")
    assert all(
        id.startswith(("http.", "jsonrpc.", "state.", "xtasks.")) for id in (*mutant.breaks, *mutant.also)
    )
