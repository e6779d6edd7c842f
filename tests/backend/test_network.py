"""A program in a network in which the tests are every host."""

import socket
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from mcp_conformance.backend.sickness import BY_NAME, WELL
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.stream import ConnectionFailed, Stream
from support.networks import program, require_network

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="networks of one's own need Linux")


@pytest.fixture(scope="module")
def network():
    """Give a program that asks, and the backend that answers; both are well at first."""
    require_network()
    backend_class = import_module("mcp_conformance.backend.backend").Backend
    backend = backend_class(finds=lambda text: "key-of-ours" in text)
    with program(backend) as ask:
        yield ask, backend


@pytest.fixture
def asked(network):
    ask, backend = network
    backend.become(WELL)
    before = len(backend.contacts)
    yield ask, backend, lambda: backend.contacts[before:]
    backend.become(WELL)


def await_one(contacts):
    """Wait until a contact was made."""
    until = time.monotonic() + 30
    while not contacts():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_any_host_answers_and_is_listed_without_values(asked):
    ask, _, contacts = asked
    urls = ("https://api.example.com/v1/users/12?q=x", "http://plain.example.com/", "https://203.0.113.9/a")
    assert [ask(f"GET {url}") for url in urls] == ["200 {}"] * 3
    assert ask("POST https://api.example.com/v1") == "200 {}"
    assert [str(one) for one in contacts()] == [
        "GET https://api.example.com/v1/users/{}?q",
        "GET http://plain.example.com/",
        "GET https://203.0.113.9/a",
        "POST https://api.example.com/v1 (4 bytes)",
    ]
    assert all(one.has_credential for one in contacts())


@pytest.mark.parametrize(
    ("name", "came"),
    [
        ("503", "HTTPError 503"),
        ("reset", ("RemoteDisconnected", "ConnectionResetError")),
        ("broken", ("IncompleteRead", "ConnectionResetError")),
        ("refused", "ConnectionRefusedError"),
        ("no-name", "gaierror"),
    ],
)
def test_a_sick_host_fails_and_is_well_again(asked, name, came):
    ask, backend, _ = asked
    backend.become(BY_NAME[name])
    assert ask("GET https://api.example.com/").startswith(came)
    backend.become(WELL)
    assert ask("GET https://api.example.com/") == "200 {}"


def test_an_answer_is_held_until_it_is_released(asked):
    ask, backend, contacts = asked
    backend.become(WELL, held=True)
    ask.process.write(b"GET https://api.example.com/\n")
    await_one(contacts)
    assert ask.process.read(0) is None
    backend.release()
    assert ask.process.read(30)[1] == b"200 {}"


def test_silence_ends_with_another_condition(asked):
    ask, backend, contacts = asked
    backend.become(BY_NAME["silent"])
    ask.process.write(b"GET https://api.example.com/\n")
    await_one(contacts)
    backend.become(WELL)
    assert b"200" not in ask.process.read(30)[1]


def test_a_client_that_verifies_sends_nothing_to_a_stranger(asked):
    ask, backend, contacts = asked
    with backend.untrusted():
        assert ask("GET https://api.example.com/").startswith("SSLCertVerificationError")
    await_one(contacts)
    assert [(one.method, one.refusal) for one in contacts()] == [("", "tlsv1 alert unknown ca")]
    assert ask("GET https://api.example.com/") == "200 {}"


def test_other_ports_are_refused_and_seen(asked):
    ask, _, _ = asked
    assert ask.process.traffic.attempts  # what was sent before would fill the buffer
    assert ask("GET http://db.example.com:5432/").startswith("ConnectionRefusedError")
    assert any(one.port == 5432 for one in ask.process.traffic.attempts)


LISTENER = """
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    listener = socket.create_server((host, 8123), family=family)
    print(host, flush=True)
    connection, _ = listener.accept()
    connection.sendall(b"from inside")
    connection.close()
"""


def test_a_port_of_the_program_is_reached_from_outside_and_by_nobody_else(network):
    _, backend = network
    with program(backend, LISTENER, listens=True) as run:
        for host in ("127.0.0.1", "::1"):
            assert run.process.read(30)[1].decode() == host
            with pytest.raises(ConnectionFailed):
                Stream.connect(Endpoint("http", host, 8123, "/"), 5)
            stream = Stream.connect(Endpoint("http", host, 8123, "/", run.process.dial), 5)
            assert stream.transfer(memoryview(b""), 5)[1] == b"from inside"
            stream.close()
        dial = run.process.dial
    with pytest.raises(OSError, match="descriptor"):
        dial(socket.AF_INET)


def test_a_service_of_this_machine_is_out_of_reach(asked):
    ask, _, _ = asked
    with socket.create_server(("0.0.0.0", 0)) as service:
        service.setblocking(False)
        for host in ("127.0.0.1", socket.gethostname()):
            assert ask(f"GET http://{host}:{service.getsockname()[1]}/").startswith("ConnectionRefusedError")
        with pytest.raises(BlockingIOError):
            service.accept()


def test_the_program_has_no_privileges_and_the_files_here_are_as_before(network):
    _, backend = network
    look = (
        "import os, sys\n"
        "for line in sys.stdin:\n"
        "    status = dict(one.split(':', 1) for one in open('/proc/self/status'))\n"
        "    print(int(status['CapEff'], 16), open('/etc/resolv.conf').readline().strip(), flush=True)\n"
    )
    with program(backend, look) as ask:
        assert ask("") == "0 nameserver 127.0.0.1"
    assert "attempts:2" not in Path("/etc/resolv.conf").read_text(encoding="utf-8")
