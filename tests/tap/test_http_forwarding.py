"""A tap over HTTP: requests and responses are those of the two sides, and all is written down."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_conformance.tap import http_forwarding
from mcp_conformance.tap.hiding import Hiding
from mcp_conformance.tap.http_forwarding import Delivered, forward_http
from mcp_conformance.tap.judging import Judgement
from mcp_conformance.tap.lines import headers_of, line_of
from mcp_conformance.tap.tape import What
from tap.test_judging import META, answers, asks

EVENTS = b": hello\n\ndata: %s\n\n" % json.dumps(answers(2)).encode()
EVENTS_WITH_ID = (
    b"event: endpoint\ndata: /messages?key=1\n\nid: e1\ndata: %s\n\n" % json.dumps(answers(3)).encode()
)


class Upstream(BaseHTTPRequestHandler):
    """A server that shows what it got, and answers by an event stream where that is accepted."""

    protocol_version = "HTTP/1.1"
    asked: SimpleQueue[tuple[str, str, dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.put((self.command, self.path, dict(self.headers), body))
        self.send_response(200)
        if json.loads(body).get("id") == 2:
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (EVENTS[:12], EVENTS[12:], b""):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            return
        answer = json.dumps(answers(1)).encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "the-key-of-session-7")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self) -> None:
        """Say an event, and nothing more while the client is there."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(EVENTS_WITH_ID)
        self.asked.put(("gone", "", {}, self.connection.recv(1)))
        self.close_connection = True

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class KeptTape:
    def __init__(self) -> None:
        self._rows: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def add(self, what: What, data: bytes = b"") -> None:
        assert what is What.ROW
        self._rows.put(json.loads(data))

    def rows(self, number: int) -> list[dict[str, Any]]:
        """Return so many rows, when they are there."""
        return [self._rows.get(timeout=30) for _ in range(number)]


@pytest.fixture
def upstream() -> Iterator[str]:
    Upstream.asked = SimpleQueue()
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp?key=1"
        server.shutdown()


@pytest.fixture
def tape() -> KeptTape:
    return KeptTape()


@pytest.fixture
def tapped(upstream: str, tape: KeptTape) -> Iterator[HTTPConnection]:
    ready: SimpleQueue[str] = SimpleQueue()
    Thread(target=forward_http, args=(0, upstream, tape, ready.put), daemon=True).start()
    address = urlsplit(ready.get(timeout=30))
    assert address.path == "/mcp"
    connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
    yield connection
    connection.close()


HEADERS = {"Content-Type": "application/json", "X-Odd": "kept", "Authorization": "Bearer 8f7a6b5c4d3e2f1a"}


def test_a_request_and_its_response_pass(tapped: HTTPConnection, tape: KeptTape) -> None:
    body = json.dumps(asks(1, "initialize", text="8f7a6b5c4d3e2f1a")).encode()
    tapped.request("POST", "/mcp?key=1", body, HEADERS)
    response = tapped.getresponse()
    assert json.loads(response.read()) == answers(1)
    assert response.headers["Mcp-Session-Id"] == "the-key-of-session-7"
    method, path, headers, sent = Upstream.asked.get(timeout=30)
    assert (method, path, sent) == ("POST", "/mcp?key=1", body)
    assert headers.items() >= HEADERS.items()
    rows = tape.rows(3)
    asked, head, answered = rows
    assert asked["raw"].encode() == body
    assert json.loads(answered["raw"]) == answers(1)
    assert {one["session"] for one in (asked, head, answered)} == {asked["session"]}
    written = json.dumps([Hiding(()).row(row) for row in rows])
    assert "8f7a6b5c4d3e2f1a" not in written
    assert "the-key-of-session-7" not in written
    assert "key=1" not in written


def test_events_pass_and_are_messages(tapped: HTTPConnection, tape: KeptTape) -> None:
    tapped.request("POST", "/mcp", json.dumps(asks(2, "ping")), HEADERS)
    assert tapped.getresponse().read() == EVENTS
    tapped.request("POST", "/mcp", json.dumps(asks(2, "ping")), HEADERS)  # on the same connection
    assert tapped.getresponse().read() == EVENTS
    heard = [row for row in tape.rows(6) if row["carried_by"].endswith(" event")]
    assert [json.loads(row["raw"]) for row in heard] == [answers(2)] * 2


def test_a_stream_ends_with_its_client(tapped: HTTPConnection, tape: KeptTape) -> None:
    for is_again in (False, True):
        tapped.request("GET", "/mcp", headers={"Accept": "text/event-stream", "Mcp-Session-Id": "7"})
        response = tapped.getresponse()
        assert response.read(5) == b"event"
        response.close()
        tapped.close()
        assert Upstream.asked.get(timeout=30) == ("gone", "", {}, b"")
        *_, event = tape.rows(3)
        assert json.loads(event["raw"]) == answers(3)
        assert (line_of({**event, "at": 0.0}) is None) is is_again


def test_a_body_in_chunks_passes(tapped: HTTPConnection, tape: KeptTape) -> None:
    body = json.dumps(asks(1, "ping")).encode()
    tapped.request("POST", "/mcp", iter([body[:5], body[5:]]), HEADERS, encode_chunked=True)
    assert json.loads(tapped.getresponse().read()) == answers(1)
    assert Upstream.asked.get(timeout=30)[3] == body
    assert tape.rows(3)[0]["raw"].encode() == body


def test_only_the_last_events_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_forwarding, "MAX_DELIVERED", 2)
    delivered = Delivered()
    assert [delivered.is_again("7", id) for id in "aabcda"] == [False, True, False, False, False, False]
    assert not any(delivered.is_again(*one) for one in (("", "x"), ("", "x"), ("8", "d"), ("7", "")))


def test_other_paths_pass_and_are_not_recorded(tapped: HTTPConnection, tape: KeptTape) -> None:
    for path in ("/token", "/mcp"):
        tapped.request("POST", path, json.dumps(asks(1, "ping")), HEADERS)
        assert json.loads(tapped.getresponse().read()) == answers(1)
        assert Upstream.asked.get(timeout=30)[1] == path
    assert [row["http"].get("path") for row in tape.rows(3)] == ["/mcp", None, None]


def test_without_sessions_two_clients_may_use_the_same_ids() -> None:
    judgement = Judgement()
    hints = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    for number, sent, body in (
        (1, True, asks(1, "tools/list", _meta=META)),
        (2, True, asks(1, "prompts/list", _meta=META)),
        (1, False, answers(1, tools=[], **hints)),
        (2, False, answers(1, prompts=[], **hints)),
    ):
        row = {"sent": sent, "at": 0.0, "raw": json.dumps(body)}
        line = line_of({**row, "carried_by": f"POST {number}" if sent else f"response {number}"})
        assert line is not None
        of_request = {**RIGHT, "Mcp-Method": body.get("method", "")}
        judgement.see(line, {name.lower(): value for name, value in of_request.items()} if sent else {})
    assert judgement.breaches == []


@pytest.mark.parametrize("header", [{"Host": "evil.example:80"}, {"Origin": "https://evil.example"}])
def test_a_web_page_of_another_host_is_refused(tapped: HTTPConnection, header: dict[str, str]) -> None:
    tapped.request("POST", "/mcp", "{}", {**HEADERS, **header})
    assert tapped.getresponse().status == 403
    assert Upstream.asked.empty()


def test_an_answer_to_head_has_no_body(tapped: HTTPConnection) -> None:
    tapped.request("HEAD", "/mcp", headers=HEADERS)
    assert tapped.getresponse().read() == b""
    tapped.request("POST", "/mcp", json.dumps(asks(2, "ping")), HEADERS)  # on the same connection
    assert tapped.getresponse().read() == EVENTS


def test_a_server_that_is_gone_is_a_bad_gateway() -> None:
    ready: SimpleQueue[str] = SimpleQueue()
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        url = f"http://127.0.0.1:{server.server_port}/mcp"
    tape = KeptTape()
    Thread(target=forward_http, args=(0, url, tape, ready.put), daemon=True).start()
    address = urlsplit(ready.get(timeout=30))
    connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
    connection.request("POST", "/mcp", "{}", HEADERS)
    assert connection.getresponse().status == 502
    connection.close()
    assert tape.rows(1)[0]["http"]["method"] == "POST"


RIGHT = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "add",
}


def broken(sent: dict[str, str]) -> list[str]:
    judgement = Judgement()
    row = {"sent": True, "at": 1.0, "carried_by": "POST 1", "http": {"headers": [*sent.items()]}}
    call = asks(1, "tools/call", name="add", arguments={}, _meta=META)
    for body in (asks(0, "server/discover", _meta=META), call):
        headers = sent if body is call else {**RIGHT, "Mcp-Method": "server/discover"}
        line = line_of({**row, "raw": json.dumps(body), "http": {"headers": [*headers.items()]}})
        assert line is not None
        judgement.see(line, headers_of({"http": {"headers": [*headers.items()]}}))
    return list(dict.fromkeys(one.rule for one in judgement.breaches))


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("Accept", "application/json", "fromclient.http-accept"),
        ("Content-Type", "text/plain", "fromclient.http-content-type"),
        ("MCP-Protocol-Version", "2025-11-25", "fromclient.http-version"),
        ("Mcp-Method", "tools/list", "fromclient.http-method"),
        ("Mcp-Name", "sub", "fromclient.http-method"),
    ],
)
def test_a_wrong_header_breaks_its_rule(name: str, text: str, rule: str) -> None:
    assert broken(RIGHT) == []
    assert broken({**RIGHT, name: text}) == [rule]
    assert broken({one: value for one, value in RIGHT.items() if one != name}) == [rule]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_requests_without_a_body_have_headers_too(method: str) -> None:
    judgement = Judgement("7")
    judgement.known.session, judgement.known.revision = "7", "2025-11-25"
    right = {"Accept": "text/event-stream", "Mcp-Session-Id": "7", "MCP-Protocol-Version": "2025-11-25"}
    row: dict[str, Any] = {"sent": True, "at": 1.0, "carried_by": f"{method} 3"}

    def broken_by(headers: dict[str, str]) -> list[str]:
        http = {"method": method, "headers": [*headers.items()]}
        return [one.rule for one in judgement.see_row({**row, "http": http})]

    assert broken_by(right) == []
    assert broken_by({**right, "Mcp-Session-Id": "8"}) == ["fromclient.http-session"]
    assert broken_by({**right, "MCP-Protocol-Version": ""}) == ["fromclient.http-version"]
    is_stream = method == "GET"
    assert broken_by({**right, "Accept": "*/*"}) == (["fromclient.http-accept"] if is_stream else [])


def test_headers_of_arguments_repeat_them() -> None:
    schema = {"type": "object", "properties": {"size": {"type": "number", "x-mcp-header": "Size"}}}
    for given, rules in ((None, []), ("1.0", []), ("=?base64?MQ==?=", []), ("2", ["fromclient.http-method"])):
        judgement = Judgement()
        judgement.known.tools["add"] = {"name": "add", "inputSchema": schema}
        call = asks(1, "tools/call", name="add", arguments={"size": 1}, _meta=META)
        line = line_of({"sent": True, "at": 0.0, "raw": json.dumps(call), "carried_by": "POST 1"})
        assert line is not None
        headers = {**RIGHT, **({"Mcp-Param-Size": given} if given else {})}
        found = judgement.see(line, {name.lower(): text for name, text in headers.items()})
        assert [one.rule for one in found] == rules


def test_a_request_that_is_delivered_again_is_answered_again() -> None:
    judgement = Judgement("7")
    request = {"raw": json.dumps(asks(3, "roots/list")), "carried_by": "response 1 event"}
    answer = {"sent": True, "raw": json.dumps(answers(3, roots=[])), "carried_by": "POST 2"}
    found = [
        one.rule
        for http in ({}, {"again": True})
        for row in ({"sent": False, **request, "http": http}, answer)
        for one in judgement.see_row({"at": 0.0, **row})
    ]
    assert "fromclient.answer-once" not in found


def test_a_session_id_is_sent_back() -> None:
    judgement = Judgement("7")
    info = {"name": "c", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    opened = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    base = {"accept": RIGHT["Accept"], "content-type": "application/json"}
    later = {**base, "mcp-protocol-version": "2025-11-25"}
    rows = [
        (True, asks(0, "initialize", **opening), base),
        (False, answers(0, **opened), {"mcp-session-id": "7"}),
        (True, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {**later, "mcp-session-id": "7"}),
        (True, asks(1, "ping"), later),
    ]
    for sent, message, headers in rows:
        line = line_of({"sent": sent, "at": 0.0, "raw": json.dumps(message)})
        assert line is not None
        judgement.see(line, headers)
    assert [one.rule for one in judgement.breaches] == ["fromclient.http-session"]
