"""What the network between us and a server over HTTP has lost or refused, counted over a run."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_conformance.transport.http.exchange import Misreading

COUNTED = (429, 502, 503, 504)
"""The statuses of answers that say more of the way to a server, or of its load, than of the request."""


class Tally:
    """The counts of all exchanges with one server.

    ``processes`` counts those of the server that were started.  ``reused`` counts the requests on a
    connection that had carried others, ``lost`` those among them whose connection was closed without a byte
    of the response, and that were not sent again; ``stalled`` counts the bodies of which nothing more came
    after a complete JSON text.  ``statuses`` counts the responses by those statuses that are `COUNTED`, also
    those whose request was sent again; ``recovered`` counts the requests that a proxy did not get through to
    the server, and later did.  ``refused_before`` counts the requests on a connection after a refused one
    with a body, ``misread`` has those that were served only on another connection.
    """

    def __init__(self) -> None:
        self.processes = self.reused = self.lost = self.stalled = 0
        self.statuses: Counter[int] = Counter()
        self.recovered = self.refused_before = 0
        self.misread: list[Misreading] = []
        self._lock = threading.Lock()

    def note(self, status: int) -> None:
        """Count a response, in the thread of its connection."""
        with self._lock:
            if status in COUNTED:
                self.statuses[status] += 1
