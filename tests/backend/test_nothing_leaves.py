"""What a server of a stranger sends while its API is sick: nothing of it leaves its network."""

import socket
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from mcp_conformance.backend.choice import Choice, backend, sicknesses
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.throwaway import throwaway_folder
from support.sandboxes import sandbox_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="networks of one's own need Linux")
SENDER = """
import socket, sys
port, path, abstract, *hosts = sys.argv[1:]
ways = [("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + abstract)]
ways += [("path", socket.AF_UNIX, socket.SOCK_STREAM, path)]
for host in hosts:
    ways += [("tcp", socket.AF_INET, socket.SOCK_STREAM, (host, int(port)))]
    ways += [("udp", socket.AF_INET, socket.SOCK_DGRAM, (host, int(port)))]
for name, family, kind, address in ways:
    try:
        with socket.socket(family, kind) as one:
            one.settimeout(5)
            one.connect(address)
            one.sendall(name.encode())
    except OSError:
        pass
print("done", flush=True)
sys.stdin.read()
"""
WAYS = {"tcp", "udp", "abstract", "path"}


@contextmanager
def listeners(folder):
    """Give sockets outside, and the words by which `SENDER` knows them."""
    with ExitStack() as opened:

        def bound(kind, address, family=socket.AF_INET):
            one = opened.enter_context(socket.socket(family, kind))
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen()
            one.setblocking(False)
            return one

        tcp = bound(socket.SOCK_STREAM, ("", 0))
        port, path, abstract = tcp.getsockname()[1], str(folder / "socket"), f"of-{folder.name}"
        udp = bound(socket.SOCK_DGRAM, ("", port))
        others = [bound(socket.SOCK_STREAM, one, socket.AF_UNIX) for one in (path, f"\0{abstract}")]
        own = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        own.connect(("198.51.100.1", 9))  # sends nothing: it only chooses an address of this machine
        yield (tcp, udp, *others), (str(port), path, abstract, "127.0.0.1", own.getsockname()[0])


def received(sockets):
    """Return what came to these sockets."""
    found = set()
    for one in sockets:
        while True:
            try:
                if one.type == socket.SOCK_DGRAM:
                    found.add(one.recv(100).decode())
                else:
                    connection, _ = one.accept()
                    with connection:
                        found.add(connection.recv(100).decode())
            except BlockingIOError:
                break
    return found


def sent_by(settings, folder):
    """Return the ways by which something came outside from a server with these settings."""
    with listeners(folder) as (sockets, words), throwaway_folder() as throwaway:
        command = (sys.executable, "-c", SENDER, *words)
        process = settings(command, throwaway=throwaway).start()
        try:
            assert process.read(60)[1] == b"done", process.stderr
        finally:
            process.stop()
        return received(sockets)


def test_nothing_of_a_server_in_a_sandbox_leaves_while_its_api_is_sick(tmp_path):
    try:
        network, sandbox = backend(Choice(sicknesses("sick"))), sandbox_of("auto")
    except Unavailable as reason:
        pytest.skip(str(reason))
    if sandbox is None:
        pytest.skip("no sandbox works here")
    sandbox = replace(sandbox, is_other=False)  # as the option --backend has it

    def chosen(**facts):
        return lambda command, **more: Settings(command, **facts, **more)

    folders = [tmp_path / str(number) for number in range(3)]
    for one in folders:
        one.mkdir()
    try:
        usual = sent_by(chosen(), folders[0])
    except OSError:
        pytest.skip("this machine has no address")
    assert usual == WAYS
    assert sent_by(chosen(backend=network), folders[1]) == {"path"}  # as the page says
    assert sent_by(chosen(backend=network, sandbox=sandbox), folders[2]) == set()
