"""Counting: which numbers move, by the same each time, with each call of a tool, and with nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mcp_conformance.state.links import TRIALS, Count, Doing, Effect, Link, Made, Maker, Workable
from mcp_conformance.state.numbers import Move, Spot, moves, spots_in
from mcp_conformance.state.workshop import Look, Workshop
from mcp_conformance.world.things import things_of

MAX_CALLS = 80
"""The reference takes 16 calls; a server with 62 tools took 206 of the 527 that there was time for."""


class Counting:
    """Finds what counts, in one process.  ``readers`` are all tools that are looked into."""

    def __init__(self, shop: Workshop, readers: Sequence[Workable]):
        self._shop, self._readers = shop, readers
        self._last: dict[Workable, Look] = {}
        self._restless: set[tuple[str, Spot]] = set()

    def of_makers(self, makers: Sequence[Maker], readers: Sequence[Workable]) -> Iterator[Count]:
        """Yield the numbers in what these readers show that move with each call of a maker.

        Those that are named after the same thing come first, as there are calls for some pairs only.
        """
        last_call = len(self._shop.hand.calls) + MAX_CALLS
        for maker, some in _in_order(makers, readers):
            if len(self._shop.hand.calls) > last_call:
                return
            for reader, moved in self._moved_by(maker, some).items():
                last, control = self._last[reader], self._look(reader)
                alone = {one.spot for one in moves(last.structure, control.structure)}
                for one in moved:
                    if one.spot not in alone:
                        yield Count(maker.name, reader, one.spot, one.by, TRIALS, TRIALS)

    def _moved_by(self, maker: Maker, readers: Sequence[Workable]) -> dict[Workable, list[Move]]:
        """Return by reader which numbers move by the same with each of three calls, with fresh tokens."""
        before = {one: self._last.get(one) or self._look(one) for one in readers}
        kept: dict[Workable, list[Move]] = {}
        for trial in range(TRIALS):
            if self._shop.make(maker) is None:
                self._last.clear()
                return {}
            self._last = {one: self._shop.look(one) for one in before}
            moved = {one: list(moves(before[one].structure, self._last[one].structure)) for one in before}
            if trial:
                moved = {one: [each for each in some if each in kept[one]] for one, some in moved.items()}
            kept = {one: some for one, some in moved.items() if some}
            before = {one: self._last[one] for one in kept}
            if not kept:
                break
        return kept

    def _look(self, reader: Workable) -> Look:
        self._last[reader] = self._shop.look(reader)
        return self._last[reader]

    def of_effect(self, trial: Effect, made: Made, looks: Mapping[Link, Look]) -> Effect | None:
        """Let a tool do once more what it has done to a thing; return the effect if that moves a number.

        ``looks`` are those after the first time.  If looking moves the number too, a call of another tool
        must not: else it counts all requests.
        """
        before = {link: look for link, look in looks.items() if self._has_number(link, look)}
        if not before or self._shop.apply(trial, made) is None:
            return None
        for link, look in before.items():
            for spot, step, drift in self._moved(link, made, look):
                if trial.spot in (None, spot):
                    found = replace(trial, doing=Doing.COUNTS, links=(link,), paths=())
                    return replace(found, spot=spot, step=step, drift=drift)
        return None

    def _moved(self, link: Link, made: Made, look: Look) -> Iterator[tuple[Spot, float, float]]:
        """Yield the spots whose numbers a call has moved: by how much, and by how much looking moves them."""
        after = self._shop.read(link, made)
        if not (moved := list(moves(look.structure, after.structure))):
            return
        again = self._shop.read(link, made)
        drifts = {one.spot: one.by for one in moves(after.structure, again.structure)}
        for one in moved:
            drift = drifts.get(one.spot, 0)
            if drift and not self._is_of_looks(link, made, Move(one.spot, drift)):
                self._restless.add((link.tool, one.spot))
            elif one.by != drift:
                yield one.spot, one.by - drift, drift

    def _has_number(self, link: Link, look: Look) -> bool:
        """Return whether a look shows a number that does not move by itself."""
        return any((link.tool, one) not in self._restless for one in spots_in(look.structure))

    def _is_of_looks(self, link: Link, made: Made, drift: Move) -> bool:
        """Return whether looking moves a number by so much, and a call of another tool does not."""
        other = next((one for one in self._readers if one.name != link.tool), None)
        if other is None:
            return False
        before = self._shop.read(link, made)
        self._shop.look(other)
        return drift in moves(before.structure, self._shop.read(link, made).structure)


def _in_order(makers: Sequence[Maker], readers: Sequence[Workable]) -> Iterator[tuple[Maker, list[Workable]]]:
    """Yield each maker with the readers named after the same thing, then each with the others."""
    for is_alike in (True, False):
        for maker in makers:
            things = things_of(maker.name)
            if some := [one for one in readers if bool(things & things_of(one.name)) is is_alike]:
                yield maker, some
