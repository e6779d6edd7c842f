"""Where the time of a run goes: the seconds of each phase, and those of waiting for the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

PROBE, COLLECTION, MAIN, END = "probe", "collection", "main", "end"
"""The phases before the first check, of the checks without a stage, and after the last check."""


@dataclass
class Phases:
    """The phases of a run: of each its seconds, and how many of them we waited for the server to write.

    ``waited`` returns the seconds that the conversations so far have waited.  The run is in the phase
    ``name`` since ``since``, when they had waited ``before`` seconds.
    """

    waited: Callable[[], float]
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    name: str = PROBE
    since: float = field(default_factory=time.monotonic)
    before: float = 0.0

    def begin(self, name: str) -> None:
        """Begin another phase, or go on with this one."""
        if name == self.name:
            return
        now, waited = time.monotonic(), self.waited()
        self.add([(self.name, now - self.since, waited - self.before)])
        self.name, self.since, self.before = name, now, waited

    def add(self, rows: Iterable[tuple[str, float, float]]) -> None:
        """Add seconds to phases, such as those of an xdist worker."""
        for name, seconds, waiting in rows:
            before = self.seconds.get(name, (0.0, 0.0))
            self.seconds[name] = (before[0] + seconds, before[1] + waiting)

    def as_rows(self) -> list[tuple[str, float, float]]:
        """Return the phases as an xdist worker can send them."""
        return [(name, *both) for name, both in self.seconds.items()]

    @property
    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """The phases as reports have them."""
        return {
            name: {"seconds": round(seconds, 2), "waiting": round(waiting, 2)}
            for name, (seconds, waiting) in self.seconds.items()
        }
