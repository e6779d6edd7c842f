"""Turns to send a request: so many a second at most, for servers that others use too."""

from __future__ import annotations

import math
import threading
import time

# Not measured: with half as many a run takes twice as long, with twice as many more servers answer 429.
REMOTE_RATE = 20.0
"""The requests a second to a server that is not on this machine, unless the user says another number."""


class Turns:
    """The turns of all conversations with one server, ``rate`` a second."""

    def __init__(self, rate: float = math.inf):
        self.rate = rate
        self._next = 0.0
        self._lock = threading.Lock()

    def take(self) -> float:
        """Return when a request may be sent (`time.monotonic`); each call returns a later turn."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + 1.0 / self.rate
        return turn

    def rest(self) -> None:
        """Wait until the next turn comes at once, so that waiting for it is no part of a measured time."""
        wait_until(self._next)


def wait_until(turn: float) -> None:
    """Wait for a turn."""
    if (seconds := turn - time.monotonic()) > 0:
        time.sleep(seconds)
