"""What a server that limits requests is granted: the wait that it asks for, and fewer requests afterwards."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mcp_conformance.transport.http.tally import Tally
from mcp_conformance.transport.http.turns import Turns
from mcp_conformance.transport.interface import SYSTEM_CLOCK, Clock

# The window of most limiters is a minute.
MAX_HOLD_SECONDS = 60.0
"""The longest wait that is granted; a server that asks for more is not waited for."""
FIRST_HOLD_SECONDS = 1.0
"""The wait before the first repetition if the server asks for none; it doubles with each."""
# Waits of 1, 2, 4 s; a limiter that is still closed then has a window of its own that it does not name.
MAX_TRIES = 3
"""How often a request is sent again that was not served for the number of requests."""
GATEWAY = (502, 503, 504)
"""The statuses of a proxy that gets no response of the server behind it."""
# The longest restart of a server behind a proxy that is waited for, or some of them.
MAX_GATEWAY_SECONDS = 60.0
"""How long a run waits for such a server."""


class HeldClock:
    """A clock that stands still while the server has asked to wait, so that no timeout counts the wait."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK):
        self._clock = clock
        self._holds: list[tuple[float, float]] = []
        """The beginning and the end of each hold by the clock of the machine; the last may go on."""
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """Return the seconds since a moment in the past, without those of all holds."""
        with self._lock:
            now = self._clock.monotonic()
            return now - sum(min(now, end) - begin for begin, end in self._holds)

    def hold(self, seconds: float) -> bool:
        """Stand still for so many seconds from now; return whether the clock ran until now."""
        with self._lock:
            now = self._clock.monotonic()
            is_new = not self._holds or self._holds[-1][1] <= now
            if is_new:
                self._holds.append((now, now + seconds))
            else:
                begin, end = self._holds[-1]
                self._holds[-1] = begin, max(end, now + seconds)
            return is_new

    @property
    def left(self) -> float:
        """The seconds for which it stands still."""
        with self._lock:
            return max(0.0, self._holds[-1][1] - self._clock.monotonic()) if self._holds else 0.0

    def machine_time(self, moment: float) -> float:
        """Return a moment of this clock by the clock of the machine."""
        with self._lock:
            for begin, end in self._holds:
                if moment < begin:
                    break
                moment += end - begin
            return moment


class Throttle:
    """The waits that a server has asked for, and the rate that follows from them.

    ``turns`` are slowed down, ``clock`` stands still meanwhile; ``tally`` counts such answers.  ``asked`` is
    the longest wait that the server has asked for, in seconds; ``is_exhausted`` says that waiting has not
    helped the last request.  ``gateway_seconds`` is how long it was waited for a server behind a proxy.
    """

    def __init__(self, turns: Turns, clock: Clock = SYSTEM_CLOCK):
        self.turns, self.clock, self.tally = turns, HeldClock(clock), Tally()
        self.asked = 0.0
        self.is_exhausted = False
        self.gateway_seconds = 0.0

    def grants(
        self, tries: int, status: int, retry_after: Sequence[str], *, is_repeatable: bool = False
    ) -> bool:
        """Hold everything if there were too many requests; return whether this one is sent again.

        ``tries`` counts its repetitions so far.  The server has not carried it out (RFC 6585, section 4); it
        may have, if a proxy got no response of it, so only a request that ``is_repeatable`` is sent again.
        """
        if status != 429 and not (status == 503 and retry_after):
            self.is_exhausted &= status >= 500
            return status in GATEWAY and is_repeatable and self._grants_restart(tries)
        seconds = seconds_of(retry_after)
        self.asked = max(self.asked, seconds or 0.0)
        seconds = FIRST_HOLD_SECONDS * 2**tries if seconds is None else seconds
        if self.is_exhausted or tries >= MAX_TRIES or seconds > MAX_HOLD_SECONDS:
            self.is_exhausted = True
            return False
        if self.clock.hold(seconds):
            self.turns.slow_down(seconds)
        else:
            self.turns.hold(seconds)
        return True

    def _grants_restart(self, tries: int) -> bool:
        """Hold everything for a server that may be started again; return whether there is time for that."""
        seconds = FIRST_HOLD_SECONDS * 2**tries
        if tries >= MAX_TRIES or self.gateway_seconds + seconds > MAX_GATEWAY_SECONDS:
            return False
        self.gateway_seconds += seconds
        self.clock.hold(seconds)
        self.turns.hold(seconds)
        return True


def seconds_of(retry_after: Sequence[str]) -> float | None:
    """Return the seconds that a header Retry-After names, or until its date; None if it has neither."""
    text = retry_after[0] if retry_after else ""
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), 10**9))
    with suppress(ValueError, TypeError, OverflowError):
        at = parsedate_to_datetime(text)
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        return max(0.0, math.ceil(seconds))
    return None
