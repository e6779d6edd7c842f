"""The real API in between: an upstream of the tests stands for the hosts of the internet."""

import gzip
import json
import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module

import pytest

from mcp_conformance.backend.cleaning import Cleaner
from mcp_conformance.backend.exchange import Answered, Asked, Exchange
from mcp_conformance.backend.record import Recorder, better, load, save
from mcp_conformance.backend.replay import Replayer
from mcp_conformance.backend.sickness import BY_NAME
from mcp_conformance.transport.credentials import secrets_of
from mcp_conformance.transport.files import BadFile
from mcp_conformance.transport.redaction import Redaction
from support.networks import program, require_network

made = pytest.importorskip("mcp_conformance.backend.authority")
KEY = "key-of-ours"
API = "https://api.example.com"


class Upstream(BaseHTTPRequestHandler):
    """An API that answers what it was asked, packed, and sets a cookie."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answer what was asked."""
        size = int(self.headers.get("content-length", 0))
        asked = {"path": self.path, "key": self.headers.get("x-key"), "body": self.rfile.read(size).decode()}
        body = gzip.compress(json.dumps(asked).encode())
        self.send_response(200)
        for name, text in (("content-type", "application/json"), ("content-encoding", "gzip")):
            self.send_header(name, text)
        self.send_header("set-cookie", "sid=a-session-of-theirs")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_):
        """Write nothing."""


@pytest.fixture(scope="module")
def upstream():
    """Give the function that connects to any host, which is the upstream, and its authority."""
    authority = made.Authority()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.socket = authority.context("api.example.com").wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield lambda _, seconds: socket.create_connection(server.server_address, seconds), authority
    server.shutdown()
    server.server_close()


def recorder(upstream, path, trusted=True):
    connect, authority = upstream
    known = authority if trusted else made.Authority()
    cleaner = Cleaner(Redaction(secrets_of((), {"API_KEY": KEY})))
    return Recorder(path, cleaner, connect, known.pem.decode())


def test_an_exchange_is_passed_on_as_it_is_and_kept_without_credentials(upstream, tmp_path):
    path = tmp_path / "tape.har"
    api = recorder(upstream, path)
    asked = Asked(
        "POST", API, "/v1/things?q=a", (("x-key", KEY), ("accept", "*/*"), ("te", "x")), b'{"a": 1}'
    )
    answered = api.answer(asked)
    assert json.loads(answered.body) == {"path": "/v1/things?q=a", "key": KEY, "body": '{"a": 1}'}
    assert ("set-cookie", "sid=a-session-of-theirs") in answered.headers
    text = path.read_text(encoding="ascii")
    assert KEY not in text
    assert "a-session-of-theirs" not in text
    assert load(path).removed == ("header set-cookie", "header x-key", "member key")
    again = Replayer(load(path).exchanges, path.name)
    assert json.loads(again.answer(asked).body)["path"] == "/v1/things?q=a"


def test_an_upstream_that_nobody_vouches_for_gets_no_request(upstream, tmp_path):
    api = recorder(upstream, tmp_path / "tape.har", trusted=False)
    with pytest.raises(ssl.SSLCertVerificationError):
        api.answer(Asked("GET", API, "/"))
    assert not (tmp_path / "tape.har").exists()


def test_a_host_that_is_not_there_is_no_answer(tmp_path):
    def connect(place, seconds):
        raise ConnectionRefusedError

    with pytest.raises(ConnectionRefusedError):
        Recorder(tmp_path / "tape.har", Cleaner(Redaction(())), connect).answer(Asked("GET", API, "/"))


def test_a_request_that_no_client_should_send_is_no_answer(upstream, tmp_path):
    with pytest.raises(OSError, match="control characters"):
        recorder(upstream, tmp_path / "tape.har").answer(Asked("GET", API, "/a b"))


def test_few_requests_of_a_kind_are_kept_and_all_are_answered(upstream, tmp_path, monkeypatch):
    monkeypatch.setattr("mcp_conformance.backend.record.MAX_ALIKE", 2)
    path = tmp_path / "tape.har"
    api = recorder(upstream, path)
    for number in range(4):
        assert api.answer(Asked("GET", API, f"/v1/items/{number}")).status == 200
    del api
    assert len(load(path).exchanges) == 2


def test_a_success_is_not_replaced_by_a_failure():
    asked = Asked("GET", API, "/")
    success, later, failure = (
        Exchange(asked, Answered(status), at) for status, at in ((200, "1"), (200, "2"), (429, "3"))
    )
    assert better(None, failure) is failure
    assert better(failure, success) is success
    assert better(success, later) is later
    assert better(success, failure) is success


def test_a_file_keeps_what_others_have_recorded(tmp_path):
    path = tmp_path / "tape.har"
    one, other = (Exchange(Asked("GET", API, f"/{name}"), Answered(200)) for name in "ab")
    save(path, [one], {"header a"})
    save(path, [other], {"header b"})
    assert load(path).exchanges == (one, other)
    assert load(path).removed == ("header a", "header b")
    assert list(tmp_path.iterdir()) == [path]
    path.write_bytes(b"\xff")
    with pytest.raises(BadFile):
        load(path)


@pytest.mark.skipif(sys.platform != "linux", reason="networks of one's own need Linux")
def test_a_program_is_recorded_and_then_works_without_that_host(upstream, tmp_path):
    """The program runs in its network, and each host that it reaches is the upstream, then nobody."""
    require_network()
    backend = import_module("mcp_conformance.backend.backend").Backend
    path = tmp_path / "tape.har"
    with program(backend(api=recorder(upstream, path))) as ask:
        recorded = ask("POST https://api.example.com/v1")
    api = Replayer(load(path).exchanges, path.name)
    replayed = backend(api=api)
    with program(replayed) as ask:
        assert ask("POST https://api.example.com/v1")[:20] == recorded[:20] == '200 {"path": "/v1", '
        assert ask("GET https://api.example.com/other") == "HTTPError 404"
        assert [one.is_known for one in replayed.contacts] == [True, False]
        replayed.become(BY_NAME["503"])
        assert ask("POST https://api.example.com/v1") == "HTTPError 503"
        replayed.become(BY_NAME["once"])
        assert ask("POST https://api.example.com/v1") == "HTTPError 503"
        assert ask("POST https://api.example.com/v1").startswith("200")


def test_an_answer_that_is_too_long_is_not_passed_on(upstream, tmp_path, monkeypatch):
    monkeypatch.setattr("mcp_conformance.backend.record.MAX_BODY", 10)
    with pytest.raises(OSError, match="too long"):
        recorder(upstream, tmp_path / "tape.har").answer(Asked("GET", API, "/"))


def test_a_long_answer_is_passed_on_and_not_kept(upstream, tmp_path, monkeypatch):
    monkeypatch.setattr("mcp_conformance.backend.record.MAX_KEPT", 10)
    assert recorder(upstream, tmp_path / "tape.har").answer(Asked("GET", API, "/")).status == 200
    assert not (tmp_path / "tape.har").exists()
