"""Noise: what differs in the answers of a tool although nothing was done in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mcp_conformance.state.places import Difference, Place, differences


class Noise:
    """The places at which clocks, random values and counters stand in answers, by tool.

    They are learned from two answers to the same call between which nothing was done.
    """

    def __init__(self) -> None:
        self._places: dict[str, set[Place]] = {}

    def learn(self, tool: str, one: Any, other: Any) -> None:
        """Learn the places at which two structures differ."""
        self._places.setdefault(tool, set()).update(each.place for each in differences(one, other))

    def places(self, tool: str) -> frozenset[Place]:
        """Return the places that are noise in the answers of a tool."""
        return frozenset(self._places.get(tool, ()))

    def differences(
        self, tool: str, one: Any, other: Any, also: Iterable[Place] = ()
    ) -> Iterator[Difference]:
        """Yield in what two structures of a tool differ, noise aside; ``also`` are further places of it."""
        noisy = {*self._places.get(tool, ()), *also}
        return (each for each in differences(one, other) if each.place not in noisy)
