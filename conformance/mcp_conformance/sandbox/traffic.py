"""What a confined server sends to the network, as the packets of its own empty network show it."""

from __future__ import annotations

import ipaddress
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

TCP, UDP = 6, 17
IPV4, IPV6 = 0x0800, 0x86DD
IPV6_HEADER_BYTES = 40
SYN, ACK = 0x02, 0x10
OUTGOING = 4
"""The kind of a packet that was sent; each comes back over the loopback device."""
DNS_PORT = 53
DNS_HEADER_BYTES = 12
MAX_PACKET_BYTES = 65_536
HANDOVER_SECONDS = 5.0
STAMPED = 35
"""The option of a socket, and the kind of its notes, by which Linux says when a packet was sent."""
STAMP = struct.Struct("@ll")
"""The seconds and nanoseconds of the system's time, as such a note has them."""


@dataclass(frozen=True)
class Attempt:
    """An attempt to reach an address outside, or to look up a ``name``, which is empty without one.

    ``at`` is when it was made, in seconds of `time.perf_counter`.
    """

    protocol: str
    address: str
    port: int
    name: str = ""
    at: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        if self.name:
            return f"a look-up of the name {self.name}"
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.protocol} to {host}:{self.port}"


class Traffic:
    """The packets of one process of the server and those that it starts.

    ``channel`` is the end of a pair of Unix sockets through which `launch` hands over its packets.
    """

    def __init__(self, channel: socket.socket):
        self._channel: socket.socket | None = channel
        self._packets: socket.socket | None = None
        self._seen: list[Attempt] = []

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts since the start."""
        self._take_over(HANDOVER_SECONDS)
        self._seen += self._read()
        return tuple(self._seen)

    def look(self) -> None:
        """Read what was sent so far, without a wait: the system keeps a few hundred packets."""
        self._take_over(0.0)
        self._seen += self._read()

    def close(self) -> None:
        """Close the sockets; `attempts` keeps what was seen."""
        with suppress(OSError):
            self._seen += self._read()
        for one in (self._channel, self._packets):
            if one is not None:
                one.close()
        self._channel = self._packets = None

    def _take_over(self, seconds: float) -> None:
        """Receive the socket with the packets, once; wait for it so long."""
        channel = self._channel
        if channel is None or sys.platform == "win32":
            return
        channel.settimeout(seconds)
        try:
            _, numbers, _, _ = socket.recv_fds(channel, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            numbers = []
        with suppress(OSError):
            for number in numbers:
                self._packets = socket.socket(fileno=number)
                self._packets.setblocking(False)
        channel.close()
        self._channel = None

    def _read(self) -> Iterator[Attempt]:
        """Yield the attempts that were not read yet."""
        packets = self._packets
        if packets is None or sys.platform == "win32":
            return
        room, since = socket.CMSG_SPACE(STAMP.size), time.time() - time.perf_counter()
        while True:
            try:
                data, notes, _, (_, kind, direction, *_) = packets.recvmsg(MAX_PACKET_BYTES, room)
            except OSError:
                return
            if direction == OUTGOING and (attempt := _attempt(kind, data)) is not None:
                yield replace(attempt, at=_sent_at(notes) - since)


def _sent_at(notes: Sequence[tuple[int, int, bytes]]) -> float:
    """Return when a packet was sent, in the system's time: now if its notes do not say it."""
    for _, kind, data in notes:
        if kind == STAMPED and len(data) == STAMP.size:
            seconds, nanoseconds = STAMP.unpack(data)
            return float(seconds + nanoseconds / 1e9)
    return time.time()


def _attempt(kind: int, packet: bytes) -> Attempt | None:
    """Return the attempt that a packet makes; None for one to this machine, or of a connection under way."""
    try:
        if kind == IPV4:
            protocol, at, address = packet[9], (packet[0] & 0xF) * 4, ipaddress.ip_address(packet[16:20])
        elif kind == IPV6:
            protocol, at, address = packet[6], IPV6_HEADER_BYTES, ipaddress.ip_address(packet[24:40])
        else:
            return None
        source, port = struct.unpack_from("!HH", packet, at)
        is_begin = protocol == TCP and packet[at + 13] & (SYN | ACK) == SYN
    except (IndexError, struct.error, ValueError):
        return None
    del source
    name = name_asked(packet[at + 8 :])[0] if protocol == UDP and port == DNS_PORT else ""
    is_outside = not (address.is_loopback or address.is_multicast or address.is_unspecified)
    if name or (is_outside and (is_begin or protocol == UDP)):
        return Attempt("TCP" if protocol == TCP else "UDP", str(address), port, name)
    return None


def name_asked(message: bytes) -> tuple[str, int]:
    """Return the name that a DNS message asks for, empty if it asks for none, and where the name ends."""
    labels, at = [], DNS_HEADER_BYTES
    while at < len(message) and (length := message[at]):
        labels.append(message[at + 1 : at + 1 + length].decode("ascii", "backslashreplace"))
        at += 1 + length
    return ".".join(labels), at
