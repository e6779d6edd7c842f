"""A conversation over HTTP as a transport: what becomes of each response, in a server of exact bytes."""

import json
import re
import threading
import time

import pytest

from mcp_conformance.client.reply import Closed, Unanswered
from mcp_conformance.client.session import Session
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import EOF
from support.raw_server import RawServer

SECONDS = 10.0
ID = re.compile(rb'"id":(\d+)')


def response(status=200, body=b"", *headers, kind="application/json"):
    """Return the bytes of a response."""
    fields = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", *headers]
    fields += [f"Content-Type: {kind}"] if body else []
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + body


def stream(*events, ending=b"0\r\n\r\n"):
    """Return the bytes of an event stream in chunks."""
    body = "".join(events).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n" % (len(body), body) + ending


def answer(request, **members):
    """Return a JSON-RPC response to a request in these bytes."""
    return {"jsonrpc": "2.0", "id": int(ID.search(request)[1]), **(members or {"result": {}})}


def event(message, id=""):
    return (f"id: {id}\n" if id else "") + f"data: {json.dumps(message)}\n\n"


OPENED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}


class Scripted(RawServer):
    """A server whose ``gets`` answers each GET, and whose ``handshake``, if any, answers initialize."""

    def __init__(self, serve, gets):
        self.handshake, self.gets = None, gets
        super().__init__(serve)


@pytest.fixture
def conversation():
    """Return a function from ``reply(request)`` to a session; initialize and DELETE are answered already."""
    opened = []

    def begin(reply, **given):
        def serve(connection):
            while request := server.read_request(connection):
                found = ready(request) or reply(request)
                if found is None:
                    return
                connection.sendall(found)

        def ready(request):
            if b'"initialize"' in request and server.handshake is not None:
                return server.handshake(request)
            if b'"initialize"' in request:
                body = json.dumps(answer(request, result=OPENED)).encode()
                return response(200, body, "Mcp-Session-Id: abc")
            if b'"notifications/' in request:
                return response(202)
            if request.startswith(b"GET") and b"Last-Event-ID" not in request:
                return server.gets()
            return response(200) if request.startswith(b"DELETE") else b""

        server = Scripted(serve, given.pop("gets", lambda: response(405)))
        http = HttpServer(f"http://127.0.0.1:{server.port}/mcp", **given)
        session = Session(HttpLines(http), timeout=SECONDS)
        opened.append((server, session))
        assert session.initialize().value is not None
        return session, server

    yield begin
    for server, session in opened:
        session.close()
        server.close()


def json_reply(request):
    return response(200, json.dumps(answer(request)).encode())


def test_a_session_is_named_in_every_request_and_ended(conversation):
    listens = threading.Event()
    gets = lambda: listens.set() or response(405)  # noqa: E731
    session, server = conversation(json_reply, gets=gets, headers=((b"Authorization", b"Bearer x"),))
    assert session.request("ping").value is not None
    assert listens.wait(SECONDS)
    session.close()
    first, *others = filter(None, server.received)
    assert b"Mcp-Session-Id" not in first
    assert all(b"\r\nMcp-Session-Id: abc\r\nMCP-Protocol-Version: 2025-11-25\r\n" in one for one in others)
    assert all(b"\r\nAuthorization: Bearer x\r\n" in one for one in (first, *others))
    assert [one.split()[0] for one in others if not one.startswith(b"POST")] == [b"GET", b"DELETE"]


def test_requests_come_no_faster_than_the_rate(conversation):
    session, _ = conversation(json_reply, rate=100.0)
    begun = time.monotonic()
    replies = [session.request("ping") for _ in range(10)]
    assert time.monotonic() - begun >= 0.09
    assert all(reply.value is not None for reply in replies)


def test_events_and_bodies_become_lines_with_the_response_that_carried_them(conversation):
    def reply(request):
        if b"tools/call" not in request:
            return json_reply(request)
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        return stream(event(progress), event(answer(request)))

    session, _ = conversation(reply)
    assert session.request("tools/call").value is not None
    pong = session.request("ping")
    *_, note, result, line = [one for one in session.lines if not one.sent]
    assert note.message["method"] == "notifications/progress"
    assert note.carried_by == result.carried_by != line.carried_by
    assert pong.line.shown(200).startswith("< (POST 5: HTTP 200) {")


@pytest.mark.parametrize(
    ("reply", "instead", "is_refusal"),
    [
        (response(404, b"<html>", kind="text/html"), "HTTP 404 Status with the body '<html>'", True),
        (response(500), "HTTP 500 Status without a body", False),
        (response(202), "HTTP 202 Status without a body", False),
        (stream(": nothing\n\n"), "HTTP 200 OK with an event stream that ended without it", False),
        (response(400, b'{"jsonrpc":"2.0","error":{"code":-1,"message":"x"}}'), "HTTP 400 Status with", True),
        (response(404, b'{"jsonrpc":"2.0","id":"x","error":{"code":-1}}'), "HTTP 404 Status with", True),
    ],
)
def test_a_response_without_the_answer_ends_the_wait_at_once(reply, instead, is_refusal, conversation):
    session, _ = conversation(lambda _: reply)
    found = session.request("tools/list")
    assert isinstance(found.fault, Unanswered)
    assert str(found).startswith(f"no answer: {instead}")
    assert found.fault.is_refusal == is_refusal


def test_an_error_without_an_id_answers_a_line_that_is_sent_alone(conversation):
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}'
    session, _ = conversation(
        lambda request: json_reply(request) if b"ping" in request else response(400, body)
    )
    found = session.await_reply(session.send("tools/list"), alone=True)
    assert found.code == -32700


def test_a_stream_that_is_cut_is_resumed_after_its_last_event(conversation):
    requests = []

    def reply(request):
        requests.append(request)
        if request.startswith(b"POST"):
            return stream("id: 7\nretry: 1\ndata:\n\n")
        return stream(event(answer(requests[0]), id="8"))

    session, _ = conversation(reply)
    assert session.request("tools/call").value is not None
    assert b"\r\nLast-Event-ID: 7\r\n" in requests[1]
    assert b"\r\nMcp-Session-Id: abc\r\n" in requests[1]


def test_a_message_that_is_no_request_has_its_response_before_the_next_one_is_sent(conversation):
    session, server = conversation(json_reply)
    session.notify("notifications/roots/list_changed")
    session.request("ping")
    methods = [re.search(rb'"method":"([^"]+)"', one)[1] for one in server.received if b'"method"' in one]
    assert methods[-2:] == [b"notifications/roots/list_changed", b"ping"]


def test_a_server_that_takes_no_connection_any_more_is_the_end(conversation):
    session, server = conversation(lambda _: None)
    server.close()
    found = session.request("tools/list")
    assert isinstance(found.fault, Closed)
    assert session.closed


def test_the_end_of_a_conversation_is_read_once(conversation):
    session, _ = conversation(json_reply)
    session.process.close_stdin()
    assert session.finish(SECONDS) is None
    assert session.process.read(0.0) in (None, EOF)


def test_no_thread_is_left(conversation):
    session, server = conversation(json_reply)
    before = threading.active_count()
    session.request("ping")
    session.close()
    server.close()
    assert threading.active_count() < before


def test_a_stream_of_its_own_that_the_server_closes_is_opened_again_a_few_times(conversation):
    opened = []

    def reply(request):
        return json_reply(request)

    session, server = conversation(reply)
    first = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    server.gets = lambda: (opened.append(1), stream("retry: 1\n\n", event(first)))[1]
    session.process.mirror.session_id = "abc"
    session.process._listening = None
    session.process._listen()
    assert session.wait_for(
        lambda: len(session.received.notifications("notifications/tools/list_changed")) == 4, SECONDS
    )
    assert len(opened) == 4


def test_a_retry_of_years_does_not_keep_the_end_from_coming(conversation):
    session, _ = conversation(lambda _: stream("id: 1\nretry: 999999999999999999\ndata:\n\n"))
    session.send("tools/call")
    session.wait_for(lambda: False, 0.2)
    session.close()


def test_a_long_response_is_not_kept(conversation):
    long = {"text": "x" * 200_000}
    session, _ = conversation(
        lambda request: response(200, json.dumps(answer(request, result=long)).encode())
    )
    assert session.request("tools/list").value is not None
    session.request("ping")
    assert [message.get("method") for message, _ in session.process.posted[:2]] == [
        "initialize",
        "notifications/initialized",
    ]
    assert all(exchange.size < 200_000 for _, exchange in session.process.posted)


def test_an_answer_on_a_stream_that_stays_open_settles_the_handshake(conversation):
    """The next message is sent at once, not when the stream of `initialize` ends."""
    session, server = conversation(json_reply)
    begun = session.clock.monotonic()
    server.handshake = lambda request: stream(event(answer(request, result=OPENED)), ending=b"")
    again = Session(HttpLines(HttpServer(f"http://127.0.0.1:{server.port}/mcp")), timeout=SECONDS)
    assert again.initialize().value is not None
    assert again.request("ping").value is not None
    assert session.clock.monotonic() - begun < SECONDS
    again.close()
