"""A network for a process in which every address leads back to itself, so that attempts are seen."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

assert sys.platform == "linux"

SET_FLAGS, IS_UP = 0x8914, 1
"""The control that sets the flags of a network device, and the flag of one that is up."""
LOOPBACK, LOOPBACK_INDEX = b"lo", 1
NEW_ROUTE, CREATE = 24, 0x405
"""The message for a new route, and its flags: a request that creates and is acknowledged."""
LOCAL_TABLE, STATIC, HOST_SCOPE, LOCAL_ROUTE = 255, 4, 254, 2
OUTGOING_DEVICE = 4
"""The attribute of a route with the number of its device."""
NETLINK_ERROR = 2
ALL_PACKETS = 3
ANSWER_BYTES = 4096
SAYS_WHEN = 35
"""The option of a socket that has the system note when each packet was sent (`traffic.STAMPED`)."""


def furnish() -> None:
    """Start the loopback device of a new network, and lead every address to it.  Raises `OSError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        fcntl.ioctl(device, SET_FLAGS, struct.pack("16sh14x", LOOPBACK, IS_UP))
    for family in (socket.AF_INET, socket.AF_INET6):
        _keep_all(family)


def _keep_all(family: int) -> None:
    """Route every address of a family to this machine itself: nobody listens there, so it refuses at once.

    A system without IPv6 has no such route.
    """
    route = struct.pack("=BBBBBBBBI", family, 0, 0, 0, LOCAL_TABLE, STATIC, HOST_SCOPE, LOCAL_ROUTE, 0)
    route += struct.pack("=HHI", 8, OUTGOING_DEVICE, LOOPBACK_INDEX)
    header = struct.pack("=IHHII", 16 + len(route), NEW_ROUTE, CREATE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.sendall(header + route)
        answer = kernel.recv(ANSWER_BYTES)
    (kind,) = struct.unpack_from("=H", answer, 4)
    (error,) = struct.unpack_from("=i", answer, 16)
    if kind == NETLINK_ERROR and error and family == socket.AF_INET:
        raise OSError(-error, os.strerror(-error))


def hand_over_packets(channel: int) -> None:
    """Send a socket that sees all packets of this network through a Unix socket.  Raises `OSError`."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PACKETS)) as packets:
        with suppress(OSError):  # a packet is taken for sent when it is read then
            packets.setsockopt(socket.SOL_SOCKET, SAYS_WHEN, 1)
        packets.bind((LOOPBACK.decode(), ALL_PACKETS))
        hand_over(channel, [packets])


def hand_over(channel: int, sockets: Sequence[socket.socket]) -> None:
    """Send sockets of this network through a Unix socket, and close that.  Raises `OSError`."""
    with socket.socket(fileno=channel) as out:
        socket.send_fds(out, [b"!"], [one.fileno() for one in sockets])
