"""Learning: which tools make, show, change and delete things, seen three times with fresh values.

Names, hints and schemas only order the trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_conformance.state.counting import Counting
from mcp_conformance.state.hand import Lost, Spent
from mcp_conformance.state.kinds import may_read
from mcp_conformance.state.links import (
    TRIALS,
    Count,
    Doing,
    Effect,
    Handle,
    Link,
    Made,
    Maker,
    Thing,
    Workable,
)
from mcp_conformance.state.noise import Noise
from mcp_conformance.state.numbers import may_move
from mcp_conformance.state.paging import limits_for
from mcp_conformance.state.tokens import Form
from mcp_conformance.state.workshop import Look, Workshop
from mcp_conformance.world.known import Owner
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.things import things_of
from mcp_conformance.world.worked import Path

MAX_LINKS_SEEN = 4
"""Not measured: through how many links the effect of a tool is looked at."""
MAX_WRITERS = 12
"""Not measured: how many tools are tried on what one maker makes, the likeliest first."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of a server: the things that its tools make, the noise in answers, and the ``counts``.

    ``readers`` are the tools that are looked into, with the arguments with which they worked.  ``is_whole``
    says that the budget was enough.
    """

    things: tuple[Thing, ...] = ()
    noise: Noise = field(default_factory=Noise)
    readers: tuple[Workable, ...] = ()
    is_whole: bool = True
    counts: tuple[Count, ...] = ()


@dataclass(eq=False)
class _Candidate:
    """A link on trial."""

    reader: Workable
    handle: Handle | None
    member: Path
    shows: dict[Path, Form]
    seen: int = 1

    def link(self, maker: str) -> Link:
        return Link(maker, self.reader, self.handle, self.member, self.shows, self.seen, TRIALS)


class Learner:
    """Learns what the tools of a server do to each other, in one process."""

    def __init__(self, shop: Workshop, tools: Sequence[Workable]):
        self._shop, self._hand = shop, shop.hand
        self._tools = tools
        self.noise = Noise()
        self.readers = [one for one in tools if may_read(one.tool)]
        self._things: list[Thing] = []
        self._counts: list[Count] = []
        self._counting = Counting(shop, self.readers)
        self._before: dict[Workable, Look] = {}
        self._moving: list[Workable] = []

    def learn(self) -> Learned:
        """Learn as much as the budget allows."""
        is_whole = True
        try:
            with self._hand.phase("noise"):
                self._repeat()
            with self._hand.phase("links"):
                made = self._find_links()
            with self._hand.phase("counts"):
                self._counts += self._counting.of_makers([one.maker for one in made], self._moving)
            with self._hand.phase("effects"):
                self._find_effects()
        except (Spent, Lost):
            is_whole = False
        plain = tuple(one for one in self._tools if may_read(one.tool))
        return Learned(tuple(self._things), self.noise, plain, is_whole, tuple(self._counts))

    def _repeat(self) -> None:
        """Call each reader twice in a row, as it worked: what differs is noise.

        One that has a limit gets the highest that works.
        """
        for place, one in enumerate(self.readers):
            first, last = self._shop.look(one), self._shop.look(one)
            if first.is_success and last.is_success:
                self.noise.learn(one.name, first.structure, last.structure)
            limits = limits_for(one.tool, one.arguments)
            if limits and first.is_success and (look := self._shop.look(one, limits)).is_success:
                given = {**one.arguments, **{path[0]: n for path, n in limits.items()}}
                self.readers[place], last = replace(one, arguments=given), look
            self._before[self.readers[place]] = last

    # Links

    def _find_links(self) -> list[Made]:
        """Find the things; return what each tool that may make something has made first."""
        made = [one for one in (self._first(each) for each in self._makers()) if one is not None]
        for first, candidates in [(one, self._candidates(one, listed)) for one, listed in self._listed(made)]:
            if (thing := self._thing(first, candidates)) is not None:
                self._things.append(thing)
        return made

    def _thing(self, first: Made, candidates: list[_Candidate]) -> Thing | None:
        """Make further things; return what is made with the links that show each; None if none does."""
        kept, lasts, before = candidates, True, first
        for _ in range(TRIALS - 1):
            made = self._shop.make(first.maker) if kept else None
            if made is None:
                return None
            kept = self._still(made, kept)
            lasts = lasts and bool(kept) and self._shows(kept, before)
            before = made
        links = [one.link(first.maker.name) for one in kept]
        links.sort(key=lambda one: (not one.is_list, not one.shows))
        return Thing(first.maker, tuple(links), lasts=lasts) if links else None

    def _makers(self) -> Iterator[Maker]:
        """Yield the tools that may make something, with the members that may get tokens."""
        for one in self._tools:
            paths = (*self._shop.token_paths(one), *self._shop.further_paths(one))
            if paths and _is_ours(one) and not may_read(one.tool) and not is_deleting(one.tool):
                yield Maker(one, paths)

    def _first(self, maker: Maker) -> Made | None:
        """Make a thing for the first time: with tokens at all members, at those that it had, or at one."""
        usual = self._shop.token_paths(maker.workable)
        for paths in dict.fromkeys((maker.paths, usual, *((path,) for path in usual))):
            if paths and (made := self._shop.make(replace(maker, paths=paths))) is not None:
                return made
        return None

    def _listed(self, made: Sequence[Made]) -> Iterator[tuple[Made, list[_Candidate]]]:
        """Yield what was made with the links of tools that show it without its name: one look serves all."""
        looks = [(reader, self._shop.look(reader)) for reader in self.readers] if made else []
        self._moving = [
            one
            for one, look in looks
            if may_move(self._before[one].structure, look.structure, self.noise.places(one.name))
        ]
        for one in made:
            shown = ((reader, look.forms(one)) for reader, look in looks)
            yield one, [_Candidate(reader, None, (), forms) for reader, forms in shown if forms]

    def _candidates(self, made: Made, listed: list[_Candidate]) -> list[_Candidate]:
        found = list(listed)
        for reader in self.readers:
            for handle, member, value in self._shop.namings(made, reader, may_write=False):
                look = self._shop.look(reader, {member: value})
                forms = look.forms(made)
                if forms or (look.is_success and self._opens(made, reader, member, value)):
                    if not _is_same(found, reader, forms):
                        found.append(_Candidate(reader, handle, member, forms))
                    break
        return found

    def _opens(self, made: Made, reader: Workable, member: Path, value: Any) -> bool:
        """Return whether a tool named after the same thing fails with a made-up value in place of a name."""
        if not things_of(made.maker.name) & things_of(reader.name):
            return False
        other = self._shop.made_up(reader, member, value)
        return other is not None and not self._shop.look(reader, {member: other}).is_success

    def _shows(self, candidates: Sequence[_Candidate], made: Made) -> bool:
        """Return whether an earlier thing is still shown."""
        links = [one.link(made.maker.name) for one in candidates]
        return all(self._shop.read(one, made).shows(one, made) for one in links[:1])

    def _still(self, made: Made, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """Return the candidates that show another thing as they did the one before."""
        kept = []
        for one in candidates:
            values = {one.member: self._shop.value(made, one.handle)} if one.handle is not None else {}
            if None in values.values():
                continue
            look = self._shop.look(one.reader, values)
            forms = look.forms(made)
            shows = {path: form for path, form in one.shows.items() if forms.get(path) is form}
            if shows or (not one.shows and look.is_success):
                one.shows, one.seen = shows, one.seen + 1
                kept.append(one)
        return kept

    # Effects

    def _find_effects(self) -> None:
        """Find what other tools do to the things; what a tool makes of another one's thing is that thing."""
        changing: set[str] = set()
        for place, thing in sorted(enumerate(self._things), key=lambda one: not one[1].lasts):
            if not thing.lasts and thing.maker.name in changing:
                continue
            effects: list[Effect] = []
            for one in self._effects_on(thing):
                effects.append(one)
                self._things[place] = replace(thing, effects=tuple(effects))
            changing |= {one.tool for one in effects}

    def _effects_on(self, thing: Thing) -> Iterator[Effect]:
        """Yield what other tools, and the maker itself, do to a thing."""
        links = thing.links[:MAX_LINKS_SEEN]
        made: Made | None = None
        for writer in self._writers(thing):
            made = made or self._made(thing, links)
            if made is None:
                return
            tried = list(self._shop.namings(made, writer, may_write=True))
            for handle, member, _ in tried:
                made = made or self._made(thing, links)
                if made is None:
                    return
                trial = Effect(
                    thing.maker.name, writer, handle, member, Doing.CHANGES, links, self._free(writer, member)
                )
                effect, is_whole = self._effect(trial, made)
                made = made if is_whole else None
                if effect is not None and (sure := self._again(thing, effect)) is not None:
                    yield sure
                    break

    def _made(self, thing: Thing, links: Sequence[Link]) -> Made | None:
        """Make a thing that a link shows; None if none does."""
        made = self._shop.make(thing.maker)
        if made is None or not any(self._shop.read(one, made).shows(one, made) for one in reversed(links)):
            return None
        return made

    def _free(self, writer: Workable, member: Path) -> tuple[Path, ...]:
        paths = (*self._shop.token_paths(writer), *self._shop.further_paths(writer))
        return tuple(path for path in paths if path != member)

    def _effect(self, trial: Effect, made: Made) -> tuple[Effect | None, bool]:
        """Let a tool do something to a thing; return what that is, and whether the thing is as it was."""
        done = self._shop.apply(trial, made)
        if (
            done is None
            and (usual := tuple(set(trial.paths) & {*self._shop.token_paths(trial.writer)})) != trial.paths
        ):
            trial = replace(trial, paths=usual)
            done = self._shop.apply(trial, made)
        if done is None:
            return None, all(self._shop.read(one, made).shows(one, made) for one in trial.links[:1])
        return self._seen(trial, made, done)

    def _seen(self, trial: Effect, made: Made, done: Made) -> tuple[Effect | None, bool]:
        """Look at a thing to which a tool has done something."""
        gone, changed, shown = [], [], set[Path]()
        looks = {link: self._shop.read(link, made) for link in trial.links}
        for link, look in looks.items():
            forms, old = look.forms(done), look.forms(made)
            shown |= set(forms)
            if forms and not (link.is_list and set(link.shows) <= set(old)):
                changed.append(link)
            elif not forms and not look.shows(link, made) and not old:
                gone.append(link)
        if changed:
            paths = tuple(path for path in trial.paths if path in shown)
            return replace(trial, links=tuple(changed), paths=paths, seen=1, trials=1), False
        if gone:
            return replace(trial, doing=Doing.DELETES, links=tuple(gone), seen=1, trials=1), False
        if not shown and (counts := self._counting.of_effect(trial, made, looks)) is not None:
            return replace(counts, seen=1, trials=1), False
        if shown or not self._needs(trial, made):
            return None, not shown
        return replace(trial, doing=Doing.TAKES, paths=(), seen=1, trials=1), True

    def _needs(self, trial: Effect, made: Made) -> bool:
        """Return whether a tool fails with a made-up value in the place of one that names a thing."""
        value = self._shop.value(made, trial.handle)
        other = self._shop.made_up(trial.writer, trial.member, value)
        return other is not None and self._shop.look(trial.writer, {trial.member: other}).call.failed

    def _again(self, thing: Thing, effect: Effect) -> Effect | None:
        """Return an effect that shows each time it is tried; None for another one."""
        links = effect.links
        for _ in range(TRIALS - 1):
            made = self._made(thing, links)
            again = self._effect(replace(effect, links=links), made)[0] if made is not None else None
            if again is None or again.doing is not effect.doing or again.by != effect.by:
                return None
            links = tuple(one for one in links if one in again.links)
            if not links:
                return None
        return replace(effect, links=links, seen=TRIALS, trials=TRIALS)

    def _writers(self, thing: Thing) -> list[Workable]:
        """Return the tools that may do something to a thing, the likeliest first."""
        things = things_of(thing.maker.name)
        able = [one for one in self._tools if not may_read(one.tool) and _is_ours(one)]

        def order(one: Workable) -> tuple[bool, bool, bool]:
            by_maker = any(known.origin.of == thing.maker.name for known in one.known.values())
            return (
                not (by_maker or things & things_of(one.name)),
                one is thing.maker.workable,
                not is_deleting(one.tool),
            )

        return sorted(able, key=order)[:MAX_WRITERS]


def _is_ours(one: Workable) -> bool:
    """Return whether arguments name nothing that was there before: that is not called again and again."""
    return all(known.owner is not Owner.FOUND for known in one.known.values())


def _is_same(found: Iterable[_Candidate], reader: Workable, forms: Mapping[Path, Form]) -> bool:
    """Return whether a tool shows no more with the name of a thing than without it."""
    return any(one.reader is reader and set(one.shows) >= set(forms) for one in found if one.handle is None)
