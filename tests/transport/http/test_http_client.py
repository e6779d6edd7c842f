"""Exchanges over real sockets."""

import gzip
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib

import pytest

from mcp_conformance.transport.http import client as http_client
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.events import Event
from mcp_conformance.transport.http.exchange import Listener
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.stream import ConnectionFailed, Stream
from support.raw_server import RawServer, replying

SECONDS = 10.0
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.fixture
def client():
    """Return a maker of clients that are closed at the end, without a thread left."""
    clients = []

    def make(server, **options):
        clients.append(Client(getattr(server, "endpoint", server), **options))
        return clients[-1]

    before = set(threading.enumerate())
    yield make
    for one in clients:
        one.close()
    left = [thread for thread in threading.enumerate() if thread not in before and "_work" in thread.name]
    assert left == []


def post(endpoint, body=b"{}", *headers):
    return Request.to(endpoint, "POST", headers, body)


def done(client, request, listener=None):
    exchange = client.begin(request, listener)
    assert exchange.wait(SECONDS)
    return exchange


def answered(client, reply, method="POST"):
    """Return the exchange with a server that replies with these bytes and closes."""
    with replying(reply) as server:
        return done(client(server), Request.to(server.endpoint, method))


def test_a_response_is_kept_as_received(client):
    head = b"HTTP/1.1 404 Nicht da\r\nX-a: 1\r\nx-A:  2 \r\nContent-Type: Text/JSON; a=b\r\n"
    head += b"Content-Length: 3\r\n\r\n"
    exchange = answered(client, head + b"[1]")
    assert (exchange.status, exchange.reason, exchange.body) == (404, "Nicht da", b"[1]")
    assert exchange.raw_head == head
    assert exchange.headers[:2] == ((b"X-a", b"1"), (b"x-A", b"2"))
    assert (exchange.header("X-A"), exchange.media_type, exchange.failure) == (["1", "2"], "text/json", "")
    assert exchange.sent_at <= exchange.head_at <= exchange.ended_at


def coded(body, coding="gzip", media_type="application/json"):
    """Return a response with a content coding."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Encoding: {coding}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_coding_that_nobody_asked_for_is_read(client):
    plain = answered(client, coded(gzip.compress(b'{"a": 1}')))
    twice = answered(client, coded(gzip.compress(zlib.compress(b"{}")), "deflate, GZIP"))
    stream = answered(client, coded(gzip.compress(b"data: x\n\n"), "gzip", "text/event-stream"))
    assert (plain.body, plain.failure, twice.body) == (b'{"a": 1}', "", b"{}")
    assert [event.data for _, event in stream.events] == ["x"]


def test_a_coding_that_cannot_be_read_is_a_failure(client):
    brotli, broken = answered(client, coded(b"{}", "br")), answered(client, coded(b"{}"))
    assert "content coding br" in brotli.failure
    assert "not in the content coding" in broken.failure


def test_a_body_that_grows_too_much_when_it_is_decoded_is_not_kept(client):
    with replying(coded(gzip.compress(b" " * 1_000_000))) as server:
        exchange = done(client(server, max_body=1000), post(server.endpoint))
    assert (len(exchange.body), exchange.failure) == (1000, "the body has more than 1000 bytes")


def test_only_the_beginning_of_a_body_that_is_too_long_is_kept(client):
    with replying(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 500_000) as server:
        exchange = done(client(server, max_body=400_000), post(server.endpoint))
    assert (len(exchange.body), exchange.failure) == (64 * 1024, "the body has more than 400000 bytes")


def test_a_body_that_its_length_has_cut_is_read_whole(client):
    exchange = answered(client, OK.replace(b": 2", b": 1"))
    assert (exchange.body, exchange.trailing, exchange.received) == (b"{}", b"}", 1)


def test_the_exact_bytes_are_sent(client):
    request = Request("POST", "/a b", ((b"hOst", b"x"), (b"N", b"\x00\xe9")), b"{}")
    with replying(OK) as server:
        assert done(client(server), request).status == 200
    assert server.received == [b"POST /a b HTTP/1.1\r\nhOst: x\r\nN: \x00\xe9\r\n\r\n{}"]


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
            b"abcd",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nabcd", b"abcd"),
        (b"HTTP/1.0 200 OK\r\n\r\nabcd", b"abcd"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", b""),
        (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" + OK, b"{}"),
    ],
)
def test_bodies_end_where_http_says(client, reply, body):
    exchange = answered(client, reply)
    assert (exchange.body, exchange.failure) == (body, "")
    assert b" 100 " not in exchange.raw_head


def test_a_response_to_head_has_no_body(client):
    exchange = answered(client, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "HEAD")
    assert (exchange.body, exchange.failure) == (b"", "")


def test_bytes_after_the_response_are_kept(client):
    assert answered(client, b"HTTP/1.1 204 No Content\r\n\r\nnull").trailing == b"null"


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (b"", "the connection was closed before the response"),
        (b"HTTP/1.1 200 OK\r\nConte", "the connection was closed within the head"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "the body ended early"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "the body ended early"),
        (b"nonsense\r\n\r\n", "malformed response: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", "malformed response: "),
        (b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n", "malformed response: "),
    ],
)
def test_an_incomplete_response_is_a_failure(client, reply, failure):
    exchange = answered(client, reply)
    assert exchange.failure.startswith(failure)
    assert reply.startswith(exchange.raw_head)
    assert not exchange.was_refused


def test_a_reset_connection_ends_a_body_early(client):
    def serve(connection):
        server.read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nabc")
        may_reset.wait(SECONDS)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    may_reset = threading.Event()
    with RawServer(serve) as server:
        exchange = client(server).begin(post(server.endpoint))
        assert exchange.wait_for_head(SECONDS)
        may_reset.set()
        assert exchange.wait(SECONDS)
    assert exchange.failure == "the body ended early"


def test_a_refused_connection_is_distinguished(client):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = Endpoint.parse(f"http://127.0.0.1:{unused.getsockname()[1]}/")
        exchange = done(client(endpoint), post(endpoint))
    assert exchange.was_refused
    assert "refused" in exchange.failure
    assert exchange.status is None


def test_an_unknown_host_is_a_plain_reason():
    with pytest.raises(ConnectionFailed, match="no known address") as failed:
        Stream.connect(Endpoint.parse("http://does-not-exist.invalid/"), SECONDS)
    assert not failed.value.is_refused


def test_no_tls_is_a_plain_reason():
    with RawServer(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n")) as server:
        endpoint = Endpoint.parse(f"https://127.0.0.1:{server.port}/")
        with pytest.raises(ConnectionFailed, match="no TLS with"):
            Stream.connect(endpoint, SECONDS)


@pytest.fixture
def certificate(tmp_path):
    """Return the files of a certificate for localhost and of its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def test_tls_with_a_valid_certificate(client, certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as encrypted:
            while server.read_request(encrypted):
                encrypted.sendall(OK[:-2] + OK[-2:])

    with RawServer(serve) as server:
        endpoint = Endpoint.parse(f"https://localhost:{server.port}/")
        with pytest.raises(
            ConnectionFailed, match=r"localhost is not valid: self.* SSL_CERT_FILE names a file"
        ):
            Stream.connect(endpoint, SECONDS)
        other = Endpoint.parse(f"https://127.0.0.1:{server.port}/")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        with pytest.raises(ConnectionFailed, match=r"not valid for '127.0.0.1'\.$"):
            Stream.connect(other, SECONDS)
        one = client(endpoint)
        assert [done(one, post(endpoint, b"x" * 1_000_000)).body for _ in range(2)] == [b"{}"] * 2
        one.close()


# --- reuse


def test_a_connection_is_reused_after_a_complete_response(client):
    with replying(OK, OK, OK) as server:
        with_reuse = client(server)
        for _ in range(3):
            assert done(with_reuse, post(server.endpoint)).body == b"{}"
        with_reuse.close()
    assert server.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"more",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_a_connection_is_not_reused_if_the_response_forbids_it(client, reply):
    with replying(reply, reply) as server:
        one = client(server)
        assert [done(one, post(server.endpoint)).was_resent for _ in range(2)] == [False, False]
        one.close()
    assert server.connections == 2


@pytest.mark.parametrize(
    "request_of",
    [
        lambda endpoint: post(endpoint, b"{}", (b"Connection", b"close")),
        lambda endpoint: post(endpoint, b"{}", (b"A", b"b\r\nC: d")),
    ],
)
def test_a_connection_is_not_reused_after_a_request_that_forbids_it(client, request_of):
    with replying(OK, OK) as server:
        one = client(server)
        for _ in range(2):
            assert done(one, request_of(server.endpoint)).body == b"{}"
        one.close()
    assert server.connections == 2


def test_a_connection_that_the_server_closed_is_replaced(client):
    with replying(OK) as server:
        one = client(server)
        assert done(one, post(server.endpoint)).status == 200
        until = time.monotonic() + SECONDS
        while one._idle and time.monotonic() < until:
            time.sleep(0.001)  # no event says that the end of the stream has arrived
        assert done(one, post(server.endpoint)).status == 200
    assert server.connections == 2


def test_a_long_request_gets_a_new_connection_in_place_of_an_idle_one(client):
    with replying(OK, OK, OK) as server:
        one = client(server)
        for body in (b"{}", b"x" * 100_000, b"x" * 100_000, b"{}"):
            assert done(one, post(server.endpoint, body)).body == b"{}"
        assert len(one._idle) == 1
        one.close()
    assert [len(data) > 100_000 for data in filter(None, server.received)] == [False, True, True, False]
    assert server.connections == 3


def drops_second():
    """Return a server that answers the first request of each connection, and closes it after the second."""

    def serve(connection):
        server.read_request(connection)
        connection.sendall(OK)
        server.read_request(connection)

    server = RawServer(serve)
    return server


def test_a_body_that_goes_on_after_its_json_is_taken_without_the_rest(client, monkeypatch):
    monkeypatch.setattr(http_client, "STALL_SECONDS", 0.1)

    def serve(connection):
        while server.read_request(connection):
            connection.sendall(OK.replace(b"Length: 2", b"Length: 12"))

    server = RawServer(serve)
    with server:
        one = client(server)
        stalled = [done(one, post(server.endpoint)) for _ in range(2)]
        one.close()
    assert [(each.body, each.is_stalled, each.aborted) for each in stalled] == [(b"{}", True, False)] * 2
    assert (one.tally.stalled, server.connections) == (2, 2)


def test_a_slow_body_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(http_client, "STALL_SECONDS", 0.02)

    def serve(connection):
        server.read_request(connection)
        connection.sendall(OK.replace(b"Length: 2\r\n\r\n{}", b"Length: 8\r\n\r\n{"))
        for part in (b'"', b"a", b'": ', b"1", b"}"):
            time.sleep(0.04)
            connection.sendall(part)

    server = RawServer(serve)
    with server:
        slow = done(client(server), post(server.endpoint))
    assert (slow.body, slow.failure) == (b'{"a": 1}', "")


def test_a_harmless_request_is_sent_again_if_a_reused_connection_closes_without_a_byte(client):
    with drops_second() as server:
        one = client(server)
        assert not done(one, post(server.endpoint)).was_resent
        second = done(one, Request.to(server.endpoint, "GET"))
        one.close()
    assert (second.status, second.was_resent, second.was_lost) == (200, True, False)
    assert [data.split(b" ")[0] for data in filter(None, server.received)] == [b"POST", b"GET", b"GET"]


def test_a_post_that_may_have_arrived_is_not_sent_again_and_later_ones_have_new_connections(client):
    with drops_second() as server:
        one = client(server)
        done(one, post(server.endpoint))
        lost = done(one, post(server.endpoint, b"[]"))
        after = [done(one, post(server.endpoint, body)).status for body in (b"{1", b"{2", b"{3")]
        one.close()
    assert (lost.status, lost.was_resent, lost.was_lost) == (None, False, True)
    assert (after, server.connections, one.tally.lost, one.tally.reused) == ([200] * 3, 4, 1, 1)
    received = [data[-2:] for data in server.received if data]
    assert received == [b"{}", b"[]", b"{1", b"{2", b"{3"]


def test_a_response_to_the_rest_of_a_refused_request_is_recognised(client):
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    garbled = b"HTTP/1.1 501 Not Implemented\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
    replies = [[refused, garbled], [OK], [refused], [garbled]]

    def serve(connection):
        for reply in replies.pop(0):
            server.read_request(connection)
            connection.sendall(reply)

    with RawServer(serve) as server:
        one = client(server)
        statuses = [done(one, post(server.endpoint)).status for _ in range(4)]
        one.close()
    assert statuses == [401, 200, 401, 501]
    assert [(each.before.status, each.status) for each in one.tally.misread] == [(401, 501)]
    assert one.tally.refused_before == 1


def test_a_connection_that_was_idle_for_long_is_not_reused(client, monkeypatch):
    monkeypatch.setattr("mcp_conformance.transport.http.client.MAX_IDLE_SECONDS", 0.0)
    with replying(OK, OK) as server:
        one = client(server)
        assert [done(one, post(server.endpoint)).status for _ in range(2)] == [200, 200]
        one.close()
    assert server.connections == 2


def test_busy_answers_are_counted(client):
    busy = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    with replying(busy, OK, busy) as server:
        one = client(server)
        for _ in range(3):
            done(one, post(server.endpoint))
        one.close()
    assert one.tally.statuses == {502: 2}


def test_a_request_is_not_sent_again_after_a_byte_or_on_a_new_connection(client):
    with replying(OK, b"H") as server:
        one = client(server)
        done(one, post(server.endpoint))
        assert done(one, post(server.endpoint)).failure == "the connection was closed within the head"
    with replying(b"") as server:
        assert done(client(server), post(server.endpoint)).failure
        assert server.connections == 1


def test_a_server_that_ends_within_a_reused_connection_is_named(client):
    def serve(connection):
        server.read_request(connection)
        connection.sendall(OK)
        server.read_request(connection)
        server._listening.close()

    with RawServer(serve) as server:
        one = client(server)
        done(one, post(server.endpoint))
        server._listening.shutdown(socket.SHUT_RDWR)
        second = done(one, Request.to(server.endpoint, "GET"))
    assert second.failure.startswith("the connection was closed before the response, and then")
    assert second.was_refused


# --- event streams


class Recorder(Listener):
    """A listener that keeps what happens, and can be waited for."""

    def __init__(self):
        self.seen = []
        self.first_event = threading.Event()

    def on_head(self, exchange):
        self.seen.append(exchange.status)

    def on_event(self, exchange, at, event):
        self.seen.append(event)
        self.first_event.set()

    def on_end(self, exchange):
        self.seen.append("end")


def test_events_come_as_they_are_sent(client):
    may_end = threading.Event()

    def serve(connection):
        server.read_request(connection)
        connection.sendall(STREAM + b"data: a\n\n")
        assert may_end.wait(SECONDS)
        connection.sendall(b"id: 1\ndata:\n\n: comment\n")

    listener = Recorder()
    with RawServer(serve) as server:
        exchange = client(server).begin(post(server.endpoint), listener)
        assert exchange.wait_for_head(SECONDS)
        assert listener.first_event.wait(SECONDS)
        assert not exchange.has_ended
        may_end.set()
        assert exchange.wait(SECONDS)
    events = [Event(data="a"), Event(id="1", data="")]
    assert listener.seen == [200, *events, "end"]
    assert [event for _, event in exchange.events] == events
    assert exchange.event_parser.comments == 1
    assert exchange.failure == ""


def test_a_stream_can_be_cut_at_every_byte(client):
    whole = (
        STREAM.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        + b"b\r\ndata: a\r\n\r\n\r\n0\r\n\r\n"
    )
    cuts = iter(range(1, len(whole)))

    def serve(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while server.read_request(connection):
            cut = next(cuts)
            connection.sendall(whole[:cut])
            connection.sendall(whole[cut:])

    with RawServer(serve) as server:
        one = client(server)
        for _ in range(1, len(whole)):
            exchange = done(one, post(server.endpoint))
            assert [event.data for _, event in exchange.events] == ["a"]
            assert exchange.failure == ""
        one.close()
    assert server.connections == 1


def test_an_unfinished_event_is_noted(client):
    exchange = answered(client, STREAM + b"data: a\n\ndata: b")
    assert exchange.event_parser.is_unfinished
    assert [event.data for _, event in exchange.events] == ["a"]


@pytest.mark.parametrize(
    ("head", "failure", "most"),
    [
        (STREAM, "an event has more than", 64 * 1024),
        (b"HTTP/1.1 200 OK\r\n\r\n", "the body has more than", 5000),
    ],
)
def test_a_flood_is_cut_off(client, head, failure, most):
    def serve(connection):
        server.read_request(connection)
        connection.sendall(head)
        while True:
            connection.sendall(b"x" * 1000)

    with RawServer(serve) as server:
        exchange = done(client(server, max_body=5000), post(server.endpoint))
    assert exchange.failure == f"{failure} 5000 bytes"
    assert len(exchange.body) <= most


def test_events_beyond_the_limit_reach_only_the_listener(client):
    with replying(STREAM + b"data: 1234\n\n" * 1000) as server:
        listener = Recorder()
        exchange = done(client(server, max_body=1000), post(server.endpoint), listener)
    assert len(listener.seen) == 1002
    assert len(exchange.events) < 1000
    assert exchange.failure == ""


def test_an_endless_head_is_malformed(client):
    def serve(connection):
        server.read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nA: ")
        while True:
            connection.sendall(b"x" * 1000)

    with RawServer(serve) as server:
        assert done(client(server), post(server.endpoint)).failure.startswith("malformed response")


# --- abort, close, threads


class Hanging(RawServer):
    """A server that sends the head of a stream and then nothing; ``closed`` has what it read afterwards."""

    def __init__(self):
        self.closed = []
        super().__init__(self._hang)

    def _hang(self, connection):
        self.read_request(connection)
        connection.sendall(STREAM)
        self.closed.append(connection.recv(1))


def test_an_exchange_is_aborted_while_it_reads(client):
    with Hanging() as server:
        exchange = client(server).begin(post(server.endpoint))
        assert exchange.wait_for_head(SECONDS)
        exchange.abort()
        assert exchange.wait(SECONDS)
    assert exchange.aborted
    assert exchange.failure == "we closed the connection"
    assert server.closed == [b""]


def test_a_response_that_takes_too_long_names_our_timeout(client):
    with Hanging() as server:
        exchange = client(server).begin(post(server.endpoint))
        assert exchange.wait_for_head(SECONDS)
        exchange.wait_or_abort(0.0)
        assert exchange.wait(SECONDS)
    assert exchange.failure == "no complete response within our timeout of 0 s"


def test_a_listener_may_abort(client):
    class Aborting(Listener):
        def on_head(self, exchange):
            exchange.abort()

    with Hanging() as server:
        assert done(client(server), post(server.endpoint), Aborting()).aborted


def test_an_abort_after_the_end_leaves_the_connection(client):
    with replying(OK, OK) as server:
        one = client(server)
        first = done(one, post(server.endpoint))
        first.abort()
        assert not first.aborted
        assert done(one, post(server.endpoint)).status == 200
        one.close()
    assert server.connections == 1


def test_close_ends_everything(client):
    with Hanging() as server:
        one = client(server)
        exchanges = [one.begin(post(server.endpoint)) for _ in range(5)]
        assert all(exchange.wait_for_head(SECONDS) for exchange in exchanges)
        one.close()
        assert all(exchange.aborted and exchange.has_ended for exchange in exchanges)
        late = one.begin(post(server.endpoint))
    assert late.has_ended
    assert late.failure
    assert server.connections == 5


def test_threads_are_reused(client):
    with replying(*[OK] * 20) as server:
        one = client(server)
        for _ in range(20):
            done(one, post(server.endpoint))
        assert len(one._workers._threads) < 5
        one.close()


def test_an_early_answer_to_a_large_body_is_read(client):
    def serve(connection):
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n")
        release.wait(SECONDS)

    release = threading.Event()
    with RawServer(serve) as server:
        exchange = done(client(server), post(server.endpoint, b"x" * 50_000_000))
        release.set()
    assert (exchange.status, exchange.failure) == (413, "")


def test_h11_is_imported_only_by_a_client():
    lines = (
        "import sys, mcp_conformance.transport.http.client as module",
        "import mcp_conformance.transport.http.exchange",
        "assert 'h11' not in sys.modules",
        "sys.modules['h11'] = None",
        "from mcp_conformance.transport.http.endpoint import Endpoint",
        "try: module.Client(Endpoint.parse('http://localhost/'))",
        "except module.HttpUnavailable as error: print(error)",
    )
    found = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert "pytest-mcp-conformance[http]" in found.stdout
