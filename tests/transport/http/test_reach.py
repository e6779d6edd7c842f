"""Which addresses a server may have us connect to, and that exactly these are connected to."""

import socket
from contextlib import closing

import pytest

from mcp_conformance.login.web import exchanges
from mcp_conformance.transport.http import reach
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.reach import NotAsked, Reach
from mcp_conformance.transport.http.request import Request
from support.hostile_login import Reply, hostile, victim

OURS = "192.168.7.7"
"""The address of an interface of this machine."""
WORLD, NETWORK, MACHINE, LINK = "93.184.216.34", "10.1.2.3", "127.0.0.1", "169.254.7.7"
OF_MACHINE = (
    *("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", OURS),
    *("64:ff9b::127.0.0.1", "::127.0.0.1", "2002:7f00:1::1", f"::ffff:{OURS}"),
)
OF_LINK = (
    *("169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254"),
    *("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "ff02::1", "224.0.0.1"),
)
OF_NETWORK = (
    *(
        "10.0.0.9",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "fd00::2",
        "fec0::1",
        "::ffff:10.0.0.9",
        "0.1.2.3",
    ),
    *(
        "64:ff9b:1::7f00:1",
        "::ffff:0:7f00:1",
        "198.18.0.1",
        "255.255.255.255",
        "2001:db8::1",
        "64:ff9b::a00:9",
    ),
)
OF_WORLD = ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8")
ALL = (OF_MACHINE, OF_LINK, OF_NETWORK, OF_WORLD)


@pytest.fixture
def names(monkeypatch):
    """Answer look-ups from lists of addresses, one after the other; each other name is an address."""
    known = {}

    def addresses(host, port):
        found = known.get(host, [[host]])
        return [_address(one, port) for one in (found.pop(0) if len(found) > 1 else found[0])]

    monkeypatch.setattr(reach, "addresses", addresses)
    monkeypatch.setattr(reach, "_is_of_interface", lambda named: named[1][0].endswith(OURS))
    return known


def _address(text, port):
    return (socket.AF_INET6, (text, port, 0, 0)) if ":" in text else (socket.AF_INET, (text, port))


def admitted(own, host):
    """Return the addresses of a host that a server at an address may have asked."""
    try:
        return [address[0] for _, address in Reach(own).addresses(host, 443)]
    except NotAsked:
        return []


@pytest.mark.parametrize(
    ("own", "may"),
    [
        (WORLD, (OF_WORLD,)),
        ("64:ff9b::8.8.4.4", (OF_WORLD,)),
        (NETWORK, (OF_NETWORK, OF_WORLD)),
        ("fd00::9", (OF_NETWORK, OF_WORLD)),
        (LINK, (OF_NETWORK, OF_WORLD)),
        (MACHINE, (OF_MACHINE, OF_NETWORK, OF_WORLD)),
        ("::1", (OF_MACHINE, OF_NETWORK, OF_WORLD)),
    ],
)
def test_a_server_may_name_what_is_as_far_as_it_is(own, may, names):
    allowed = [address for some in may for address in some]
    assert [one for some in ALL for one in some if admitted(own, one)] == [
        one for some in ALL for one in some if one in allowed
    ]


def test_an_interface_of_this_machine_reaches_no_loopback_address(names):
    assert admitted(OURS, OURS) == [OURS]
    assert not admitted(OURS, MACHINE)


@pytest.mark.parametrize(
    ("found", "usable"), [([WORLD, MACHINE, "::1"], [WORLD]), ([MACHINE], []), ([LINK, NETWORK], [])]
)
def test_of_a_name_with_several_addresses_only_the_right_ones_are_used(found, usable, names):
    names["mixed.example"] = [found]
    assert admitted(WORLD, "mixed.example") == usable


def test_a_server_whose_name_has_a_loopback_address_too_is_not_on_this_machine(names):
    names["own.example"] = [[WORLD, NETWORK, MACHINE]]
    assert admitted("own.example", "own.example") == [WORLD, NETWORK]
    assert not admitted("own.example", MACHINE)


@pytest.mark.parametrize("host", ["own.example", "other.example"])
def test_a_second_look_up_does_not_count(host, names):
    names["own.example"] = [[WORLD], [MACHINE]]
    names["other.example"] = [["8.8.8.8"], [MACHINE]]
    judged = Reach("own.example")
    first = judged.addresses(host, 443)
    assert [judged.addresses(host, 80)[0][1], judged.addresses(host, 443)] == [(first[0][1][0], 80), first]


def test_an_address_of_an_interface_is_known():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.77", 9))
        except OSError:
            pytest.skip("this machine has no route to a network")
        own = probe.getsockname()[0]
    with pytest.raises(NotAsked):
        Reach(WORLD).addresses(own, 443)
    assert Reach(WORLD).addresses("8.8.4.4", 443)


def test_a_connection_goes_to_the_address_that_was_judged_with_the_name_of_the_host():
    with hostile(metadata=lambda *_: Reply(200, {})) as server:
        port = int(server.origin.rpartition(":")[2])
        asked = Endpoint(
            "http", "mcp.example", port, "/meta", look_up=lambda _, port: [_address(MACHINE, port)]
        )
        with closing(Client(asked)) as client:
            exchange = client.begin(Request.to(asked, "GET"))
            exchange.wait(20)
    assert exchange.status == 200
    assert server.asked[0].headers["Host"] == f"mcp.example:{port}"


SPELLINGS = (
    *("127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"),
    *("0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", socket.gethostname()),
)


@pytest.mark.parametrize("host", SPELLINGS)
def test_a_server_elsewhere_cannot_have_this_machine_asked(host):
    with victim() as listener, exchanges(Endpoint.parse(f"https://{WORLD}/mcp")) as web:
        answer = web.get("metadata", f"http://{host}:{listener.server_port}/meta")
    assert answer.status is None
    assert listener.met == []


@pytest.mark.parametrize("name", ["a..b", "x" * 300, ".example", "-", "fe80::1%eth0", "*"])
def test_a_host_that_cannot_be_is_no_connection(name):
    asked = Endpoint("https", name, 1, "/")
    with closing(Client(asked, connect_timeout=0.2)) as client:
        exchange = client.begin(Request.to(asked, "GET"))
        assert exchange.wait(20)
    assert exchange.failure
