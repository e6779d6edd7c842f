"""A program that moves to a network of its own, hands its sockets over, then becomes the server.

Its arguments are a `Place` in JSON and the server's command; with ``--try`` alone it does all of it and
reports what fails.  It runs without the packages of the user.
"""

# ruff: noqa: E402  (on another system mypy reads no further than the assertion)
from __future__ import annotations

import json
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack

assert sys.platform == "linux"

from mcp_conformance.backend.dialer import stay_behind
from mcp_conformance.backend.place import MAX_WAITING, NO_CHANNEL, Place
from mcp_conformance.sandbox import limits, mounts, namespaces, network
from mcp_conformance.sandbox.other_user import NOT_STARTED, become_program
from mcp_conformance.sandbox.policy import TRY

NAMES_PORT, HTTP_PORT, HTTPS_PORT = 53, 80, 443


def main(words: Sequence[str]) -> None:
    """Become the server in a network of its own; or report what fails."""
    if words == [TRY]:
        sys.stdout.write(_obstacle())
        return
    place, command = Place(**json.loads(words[0])), list(words[1:])
    try:
        _move(place.files)
        network.hand_over_packets(place.packets)
        with ExitStack() as opened:
            network.hand_over(place.sockets, [opened.enter_context(one) for one in listeners()])
        if place.dials != NO_CHANNEL:
            stay_behind(place.dials)
        if not place.is_sandboxed:
            limits.drop_privileges()
        become_program(command)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]} in a network of its own: {error}\n")
        sys.exit(NOT_STARTED)


def listeners() -> tuple[socket.socket, ...]:
    """Return the sockets for names, HTTP and HTTPS at every address of this network.  Raises `OSError`."""
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("", NAMES_PORT))
    found = [names]
    for port in (HTTP_PORT, HTTPS_PORT):
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # A socket that was shut listens again only so, as long as a connection is remembered.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("", port))
        one.listen(MAX_WAITING)
        found.append(one)
    return tuple(found)


def _move(files: dict[str, str]) -> None:
    """Move this process to a network in which every address is its own, with other files for some."""
    namespaces.enter(namespaces.NETWORK | namespaces.MOUNTS)
    network.furnish()
    mounts.keep_to_oneself()
    for place, one in files.items():
        mounts.bind(one, place)


def _obstacle() -> str:
    """Return why a process cannot move here; empty if it can."""
    try:
        _move({})
        for one in listeners():
            one.close()
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0).close()
    except OSError as error:
        return str(error)
    return ""
