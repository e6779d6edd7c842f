"""The addresses of hosts, and which of them a server may have us connect to."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

Address = tuple[int, Any]
"""The family of an address, and the address as sockets of that family take it."""
UNICAST = ip_network("2000::/3")
"""The addresses of IPv6 that everybody reaches (RFC 4291, section 2.4)."""
EMBEDDING = tuple(map(ip_network, ("::ffff:0:0/96", "64:ff9b::/96", "::/96")))
"""The prefixes that make an address of IPv6 of one of IPv4: mapped, NAT64 (RFC 6052), compatible."""
METADATA = frozenset(map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")))
"""The addresses, besides link-local ones, at which clouds give a machine its credentials."""
PROBED_PORT = 9
"""Any port: nothing is sent to it."""


class NotAsked(OSError):  # noqa: N818
    """A host is at an address that the server may not have us ask."""


class Zone(IntEnum):
    """From where an address is reached."""

    MACHINE, LINK, NETWORK, WORLD = range(4)


WHERE = {
    Zone.MACHINE: "on this machine",
    Zone.LINK: "on the link of this machine",
    Zone.NETWORK: "on a private network",
}


def addresses(host: str, port: int) -> list[Address]:
    """Return the addresses of a host.  Raises `OSError`, and `UnicodeError` for what is not a name."""
    return [(one[0], one[4]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class Reach:
    """The addresses that requests may go to while a server at the host ``own`` names hosts.

    A server on this machine may name all but link-local addresses, one on a private network those of networks
    and of the world, any other those of the world.  Its own host is always one.  Each host is looked up once,
    and only the addresses that were judged are connected to: no later answer of a name server counts.
    """

    def __init__(self, own: str):
        self._own = own
        self._known: dict[str, list[Address]] = {}

    def addresses(self, host: str, port: int) -> list[Address]:
        """Return the addresses of a host that may be connected to.

        Raises `NotAsked` if it has no such address, and what `addresses` raises.
        """
        zone = max((_zone(one) for one in self._found(self._own, port)), default=Zone.WORLD)
        found = self._found(host, port)
        if host == self._own:
            # A name of both is one that a stranger has pointed at this machine.
            admitted = [one for one in found if zone is Zone.MACHINE or _zone(one) is not Zone.MACHINE]
        else:
            admitted = [one for one in found if _is_admitted(one, zone)]
        if found and not admitted:
            family, address = found[0]
            where = WHERE[_zone_from_here((family, address))]
            raise NotAsked(f"{host} is {where} ({address[0]}), which a server elsewhere cannot have asked")
        return [(family, (address[0], port, *address[2:])) for family, address in admitted]

    def _found(self, host: str, port: int) -> list[Address]:
        if host not in self._known:
            self._known[host] = addresses(host, port)
        return self._known[host]


def _is_admitted(named: Address, own: Zone) -> bool:
    """Return whether a server of that zone may name an address."""
    zone = _zone_from_here(named)
    return zone is not Zone.LINK and zone >= own


def _zone_from_here(named: Address) -> Zone:
    """Return the zone of an address; those of the interfaces of this machine are on it."""
    zone = _zone(named)
    return Zone.MACHINE if zone is not Zone.MACHINE and _is_of_interface(named) else zone


def _zone(named: Address) -> Zone:
    """Return the zone of an address by what it is."""
    address = _plain(ip_address(named[1][0].partition("%")[0]))
    if address.is_loopback or address.is_unspecified:
        return Zone.MACHINE
    if address.is_link_local or address.is_multicast or address in METADATA:
        return Zone.LINK
    is_global = address.is_global and (address.version == 4 or address in UNICAST)
    return Zone.WORLD if is_global else Zone.NETWORK


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the address of IPv4 in one of IPv6, if it has one."""
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return address
    if any(address in one for one in EMBEDDING):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address


def _is_of_interface(named: Address) -> bool:
    """Return whether an address is one of this machine: what it sends there comes from that address."""
    family, address = named
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address[0], PROBED_PORT, *address[2:]))  # of UDP: no byte is sent
            source: Sequence[Any] = probe.getsockname()
        except OSError:
            return False
    return bool(source[0] == address[0])
