"""The one way in which requests to us are read: what is refused, and that nothing of it is a next request."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread

import pytest

from mcp_conformance.transport.http import front
from mcp_conformance.transport.http.front import Front, FrontHandler


class Echo(FrontHandler):
    """Answers with the method, the path and the body."""

    def answer(self) -> None:
        text = f"{self.command} {self.path} ".encode() + self.body
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def port() -> Iterator[int]:
    with Front(0, Echo) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as one:
        yield one


def everything(one: socket.socket) -> bytes:
    """Return what comes until the connection is closed."""
    return b"".join(iter(lambda: one.recv(65536), b""))


def asked(port: int, sent: str) -> bytes:
    """Return what comes on a connection on which this is sent, and then a request that nobody refuses."""
    good = f"GET /next HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    with connected(port) as one:
        one.sendall((sent.replace("PORT", str(port)) + good).encode("latin-1"))
        return everything(one)


HERE = "Host: 127.0.0.1:PORT\r\n"
ATTACKS = {
    "no host": (400, "GET / HTTP/1.1\r\n\r\n"),
    "two hosts": (400, f"GET / HTTP/1.1\r\n{HERE}{HERE}\r\n"),
    "another host": (403, "GET / HTTP/1.1\r\nHost: evil.example:PORT\r\n\r\n"),
    "another port": (403, "GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n"),
    "no port": (403, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "a host in a host": (403, "GET / HTTP/1.1\r\nHost: evil@127.0.0.1:PORT\r\n\r\n"),
    "an origin": (403, f"GET / HTTP/1.1\r\n{HERE}Origin: https://evil.example\r\n\r\n"),
    "an origin like ours": (403, f"GET / HTTP/1.1\r\n{HERE}Origin: http://localhost.evil.example\r\n\r\n"),
    "an opaque origin": (403, f"GET / HTTP/1.1\r\n{HERE}Origin: null\r\n\r\n"),
    "two origins": (
        403,
        f"GET / HTTP/1.1\r\n{HERE}Origin: http://localhost\r\nOrigin: https://a.example\r\n\r\n",
    ),
    "a URL of another host": (400, f"GET http://evil.example/ HTTP/1.1\r\n{HERE}\r\n"),
    "a URL of another scheme": (400, f"GET https://127.0.0.1:PORT/ HTTP/1.1\r\n{HERE}\r\n"),
    "a tunnel": (400, f"CONNECT 127.0.0.1:PORT HTTP/1.1\r\n{HERE}\r\n"),
    "gzip, chunked": (501, f"POST / HTTP/1.1\r\n{HERE}Transfer-Encoding: gzip, chunked\r\n\r\n"),
    "twice chunked": (501, f"POST / HTTP/1.1\r\n{HERE}Transfer-Encoding: chunked, chunked\r\n\r\n"),
    "a length and chunks": (
        400,
        f"POST / HTTP/1.1\r\n{HERE}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "a negative length": (400, f"POST / HTTP/1.1\r\n{HERE}Content-Length: -1\r\n\r\n"),
    "a signed length": (400, f"POST / HTTP/1.1\r\n{HERE}Content-Length: +1\r\n\r\n"),
    "two lengths": (400, f"POST / HTTP/1.1\r\n{HERE}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
    "a space before the colon": (400, f"POST / HTTP/1.1\r\n{HERE}Content-Length : 5\r\n\r\n"),
    "a negative chunk": (400, f"POST / HTTP/1.1\r\n{HERE}Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n"),
    "a large body": (413, f"POST / HTTP/1.1\r\n{HERE}Content-Length: 600000000\r\n\r\n"),
    "a large head": (431, f"GET / HTTP/1.1\r\n{HERE}X: {'a' * 200_000}\r\n\r\n"),
    "an old version": (505, f"GET / HTTP/1.0\r\n{HERE}\r\n"),
    "not HTTP": (400, "hello\r\n\r\n"),
}


@pytest.mark.parametrize(("status", "sent"), ATTACKS.values(), ids=ATTACKS)
def test_what_is_refused_ends_the_connection(port: int, status: int, sent: str) -> None:
    got = asked(port, sent)
    assert got.startswith(b"HTTP/1.1 %d " % status)
    assert got.count(b"HTTP/1.1 ") == 1


def test_a_large_body_in_chunks_is_refused_before_its_end(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "MAX_BODY", 100)
    chunk = "20\r\n" + "a" * 32 + "\r\n"
    sent = f"POST / HTTP/1.1\r\n{HERE}Transfer-Encoding: chunked\r\n\r\n{chunk * 4}"
    assert asked(port, sent).startswith(b"HTTP/1.1 413 ")


RIGHT = {
    "a length": (f"POST /a?b HTTP/1.1\r\n{HERE}Content-Length: 5\r\n\r\nhello", b"POST /a?b hello"),
    "chunks": (
        f"POST /a HTTP/1.1\r\n{HERE}Transfer-Encoding: Chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"POST /a hello",
    ),
    "no body": (f"DELETE /a HTTP/1.1\r\n{HERE}\r\n", b"DELETE /a "),
    "our URL": (f"GET http://127.0.0.1:PORT/a?b HTTP/1.1\r\n{HERE}\r\n", b"GET /a?b "),
    "a page of this machine": (f"GET /a HTTP/1.1\r\n{HERE}Origin: http://localhost:6274\r\n\r\n", b"GET /a "),
    "another name": ("GET /a HTTP/1.1\r\nHost: LocalHost:PORT\r\n\r\n", b"GET /a "),
    "the other address": ("GET /a HTTP/1.1\r\nHost: [::1]:PORT\r\n\r\n", b"GET /a "),
}


@pytest.mark.parametrize(("sent", "answer"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_answered_and_so_is_the_next(port: int, sent: str, answer: bytes) -> None:
    first, second = asked(port, sent).split(b"HTTP/1.1 ")[1:]
    assert first.endswith(b"\r\n\r\n" + answer)
    assert second.endswith(b"GET /next ")


def test_a_client_that_waits_is_told_to_go_on(port: int) -> None:
    head = f"POST /a HTTP/1.1\r\n{HERE}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
    with connected(port) as one:
        one.sendall(head.replace("PORT", str(port)).encode())
        assert one.recv(100) == b"HTTP/1.1 100 \r\n\r\n"
        one.sendall(b"hi")
        assert everything(one).endswith(b"POST /a hi")


@pytest.mark.parametrize("sent", ["GET / HT", f"POST / HTTP/1.1\r\n{HERE}Content-Length: 50\r\n\r\nhe"])
def test_a_slow_request_ends(port: int, monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    """Each byte alone may come in time: the whole request counts."""
    monkeypatch.setattr(front, "REQUEST_SECONDS", 0.3)
    over = Event()
    with connected(port) as one:
        one.sendall(sent.replace("PORT", str(port)).encode())
        drip = Thread(target=dripped, args=(one, over), daemon=True)
        drip.start()
        got = everything(one)
        over.set()
        drip.join()
    assert got.startswith(b"HTTP/1.1 408 ")


def dripped(one: socket.socket, over: Event) -> None:
    """Send a byte now and then, less than a request has."""
    for _ in range(3):
        if over.wait(0.08):
            return
        one.sendall(b"a")


def test_an_idle_connection_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "IDLE_SECONDS", 0.05)
    with connected(port) as one:
        assert everything(one) == b""


def test_too_many_connections_are_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "MAX_CONNECTIONS", 1)
    with Front(0, Echo) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        request = f"GET / HTTP/1.1\r\nHost: localhost:{server.server_port}\r\n\r\n".encode()
        with connected(server.server_port) as first, connected(server.server_port) as second:
            first.sendall(request)
            assert first.recv(12) == b"HTTP/1.1 200"
            assert everything(second) == b""
        server.shutdown()
