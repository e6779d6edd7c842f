"""The surroundings of a server in a network of its own, as the launcher is told them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

MAX_WAITING = 128
"""How many connections wait until they are taken."""


@dataclass(frozen=True)
class Place:
    """The surroundings of a server.

    ``channel`` is the number of the open file by which its sockets are handed over, ``tap`` of that by which
    its packets are.  ``files`` are the paths of the system that others stand for.  ``is_sandboxed``
    says that a sandbox drops the privileges, which it needs before.
    """

    channel: int
    tap: int
    files: dict[str, str] = field(default_factory=dict)
    is_sandboxed: bool = False

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))
