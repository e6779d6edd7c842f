"""The time that is left for fuzzing (``--time``), shared equally by the checks that are still to come."""

from __future__ import annotations

from mcp_conformance.transport.interface import Clock


class FuzzTime:
    """The time until ``until`` (monotonic seconds) for a number of ``checks`` that fuzz."""

    def __init__(self, clock: Clock, until: float, checks: int):
        self._clock, self._until, self._checks = clock, until, checks

    def begin_check(self) -> None:
        """Note that one of the checks begins."""
        self._checks -= 1

    @property
    def share(self) -> float:
        """The seconds of the check that has begun; 0 or less if no time is left."""
        return (self._until - self._clock.monotonic()) / (1 + max(0, self._checks))
