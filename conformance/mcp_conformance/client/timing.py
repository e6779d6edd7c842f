"""The length of waits: each has its seconds, and is longer if the server, or the machine, is slow.

``--timeout`` is how long any answer may take; no wait is longer.  Other waits, such as for a notification or
the end of a process, have a number of seconds that is plenty on an idle machine, or `ROUND_TRIPS` times the
round trip of a ping if that is more.  A start may take ``--start-timeout``, or `SLOWEST_STARTS` times as
long as the slowest one so far if that is more.
"""

from __future__ import annotations

from collections import deque
from statistics import median

# Not measured: a notification may take the time of twenty pings; with half as many, a machine that gets busy
# during a check accuses servers, with twice as many, a slow server's missing notifications take longer.
ROUND_TRIPS = 20
# Not measured: starts at the same time compete for disk and cores; with twice as much, a server that hangs at
# its start holds up the run twice as long.
SLOWEST_STARTS = 4
# The median of five survives two that hit a pause of the machine; with more, the pace of a server that has
# become slow is noticed late.
MAX_PINGS = 5
"""How many pings the median is taken of; a ping that waited behind a slow tool does not count."""


class Pace:
    """How fast a server answers at present, in all its sessions."""

    def __init__(self) -> None:
        self._pings: deque[float] = deque(maxlen=MAX_PINGS)

    def note(self, seconds: float) -> None:
        """Record the seconds that the answer to a ping took."""
        self._pings.append(seconds)

    @property
    def round_trip(self) -> float:
        """The seconds from a ping to its answer."""
        return median(self._pings) if self._pings else 0.0

    def scaled(self, seconds: float, most: float) -> float:
        """Return ``seconds``, or more if the server is slow, then at most ``most``."""
        return max(seconds, min(most, ROUND_TRIPS * self.round_trip))


def start_timeout(seconds: float, slowest: float) -> float:
    """Return how long a start may take if the slowest one so far took ``slowest`` seconds."""
    return max(seconds, SLOWEST_STARTS * slowest)
