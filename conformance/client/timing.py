"""How long is waited: each wait has its seconds, and grows where a server, or the machine, is slower.

``--timeout`` is how long any answer may take, and no wait grows beyond it.  What the suite waits for besides,
such as a notification, the end of a process, or an answer that is most likely none, has a number of seconds
that is plenty on an idle machine; it becomes `ROUND_TRIPS` times what the server needs to answer a pulse, if
that is more.  A start may take `STARTS` times as long as the first one did, if that is more than
``--start-timeout``.
"""

from __future__ import annotations

from collections import deque
from statistics import median

ROUND_TRIPS = 20
STARTS = 4
RECENT = 5
"""How many pulses tell how fast a server is now; one that waited behind a slow tool does not count."""


class Pace:
    """How fast a server answers just now, in all its conversations."""

    def __init__(self) -> None:
        self._pulses: deque[float] = deque(maxlen=RECENT)

    def note(self, seconds: float) -> None:
        """Take notice of how long the answer to a pulse took."""
        self._pulses.append(seconds)

    @property
    def round_trip(self) -> float:
        """The seconds that a pulse takes there and back."""
        return median(self._pulses) if self._pulses else 0.0

    def scaled(self, seconds: float, most: float) -> float:
        """``seconds``, or more where the server is slow; no more than ``most`` then."""
        return max(seconds, min(most, ROUND_TRIPS * self.round_trip))


def start_timeout(seconds: float, first: float) -> float:
    """How long a start may take of which the first one took ``first`` seconds."""
    return max(seconds, STARTS * first)
