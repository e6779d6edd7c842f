"""The space between the messages to one server, so that it gets so many a second at most."""

from __future__ import annotations

import math
from collections.abc import Callable


class Spacing:
    """The moments at which a message may be sent, ``rate`` a second.

    ``is_slowed`` says that the server has shown that it serves no more than this rate.
    """

    def __init__(self, rate: float = math.inf):
        self.rate = rate
        self.is_slowed = False
        self._next = 0.0

    def slow_down(self, rate: float) -> None:
        """Send no more than so many messages a second from now on."""
        self.rate, self.is_slowed = min(self.rate, rate), True

    def wait(self, now: float, sleep: Callable[[float], object]) -> None:
        """Wait until a message may be sent; ``now`` is in seconds, and ``sleep`` waits so many."""
        if self.rate == math.inf:
            return
        at = max(self._next, now)
        self._next = at + 1.0 / self.rate
        if at > now:
            sleep(at - now)
