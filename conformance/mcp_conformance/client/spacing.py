"""The space between the messages to one server, so that it gets so many a second at most."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class Spacing:
    """The moments at which a message may be sent, ``rate`` a second, and ``calls_rate`` calls of tools.

    The server has shown that it serves no more than this if ``is_slowed``, or ``has_slow_calls``; it did so
    by ``refusals`` (`mcp_conformance.target.limiter`).
    """

    def __init__(self, rate: float = math.inf):
        self.rate, self.calls_rate = rate, math.inf
        self.is_slowed = self.has_slow_calls = False
        self.refusals: set[tuple[Any, str]] = set()
        self._next = self._next_call = 0.0

    def slow_down(self, rate: float, *, calls_only: bool = False) -> None:
        """Send no more than so many messages a second from now on, or calls of tools."""
        if calls_only:
            self.calls_rate, self.has_slow_calls = min(self.calls_rate, rate), True
        else:
            self.rate, self.is_slowed = min(self.rate, rate), True

    def wait(self, now: float, sleep: Callable[[float], object], *, is_call: bool = False) -> None:
        """Wait until a message may be sent; ``now`` is in seconds, and ``sleep`` waits so many."""
        at = max(now, self._next if self.rate < math.inf else now)
        if is_call and self.calls_rate < math.inf:
            at = max(at, self._next_call)
            self._next_call = at + 1.0 / self.calls_rate
        self._next = at + 1.0 / self.rate
        if at > now:
            sleep(at - now)
