"""The surroundings of a server in a network of its own, as the launcher is told them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

MAX_WAITING = 128
"""How many connections wait until they are taken."""
ANOTHER, ANOTHER_6 = b"4", b"6"
"""What asks for another socket of the network, for IPv4 and for IPv6."""
NO_CHANNEL = -1


@dataclass(frozen=True)
class Place:
    """The surroundings of a server.

    ``sockets`` is the number of the open file by which its sockets are handed over, ``packets`` of that by
    which its packets are, ``dials`` of that by which sockets are asked for that reach it, `NO_CHANNEL`
    if it listens on no port.  ``files`` are the paths of the system that others stand for.  ``is_sandboxed``
    says that a sandbox drops the privileges, which it needs before.
    """

    sockets: int
    packets: int
    dials: int = NO_CHANNEL
    files: dict[str, str] = field(default_factory=dict)
    is_sandboxed: bool = False

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))
