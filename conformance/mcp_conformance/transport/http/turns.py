"""Turns to send a request: so many a second at most, for servers that others use too."""

from __future__ import annotations

import math
import threading
import time
from collections import deque

# Not measured: with half as many a run takes twice as long, with twice as many more servers answer 429.
REMOTE_RATE = 20.0
"""The requests a second to a server that is not on this machine, unless the user says another number."""
# Not measured: below the limit that the server showed, so that it is not met again at once.
CAUTION = 0.9
# A whole run sends some thousand requests: with less it takes hours.
MIN_RATE = 0.2
"""The lowest rate to which a server slows us down, in requests a second."""
MAX_RECENT = 10_000
"""How many turns are remembered."""


class Turns:
    """The turns of all conversations with one server, ``rate`` a second.

    ``is_slowed`` says that the server has asked for fewer than the user allowed.
    """

    def __init__(self, rate: float = math.inf):
        self.rate = rate
        self.is_slowed = False
        self._next = 0.0
        self._recent: deque[float] = deque(maxlen=MAX_RECENT)
        self._lock = threading.Lock()

    def take(self) -> float:
        """Return when a request may be sent (`time.monotonic`); each call returns a later turn."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + 1.0 / self.rate
            self._recent.append(turn)
        return turn

    def hold(self, seconds: float) -> None:
        """Give no turn for so many seconds."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def slow_down(self, seconds: float) -> None:
        """Give no turn for so many seconds, and then as many a second as in so many seconds before.

        A server that counts the requests in a window asks for a wait until its end.
        """
        with self._lock:
            now, window = time.monotonic(), max(1.0, seconds)
            served = sum(turn > now - window for turn in self._recent)
            self.rate = min(self.rate, rate_after(served, window))
            self.is_slowed = True
            self._next = max(self._next, now + seconds)

    def rest(self) -> None:
        """Wait until the next turn comes at once, so that waiting for it is no part of a measured time."""
        wait_until(self._next)


def rate_after(served: int, seconds: float) -> float:
    """Return the rate to which a server slows us down that served so many requests in so many seconds."""
    return max(MIN_RATE, CAUTION * served / seconds)


def wait_until(turn: float) -> None:
    """Wait for a turn."""
    if (seconds := turn - time.monotonic()) > 0:
        time.sleep(seconds)
