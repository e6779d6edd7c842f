"""Scenes: short sequences of calls on things that were just made, and what all readers show in between."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_conformance.client.tool_call import Call
from mcp_conformance.state.links import Doing, Effect, Handle, Link, Made, Source, Thing, Workable
from mcp_conformance.state.noise import Noise
from mcp_conformance.state.numbers import moves
from mcp_conformance.state.paging import Pager, next_cursor, pager_of
from mcp_conformance.state.places import Difference, lengths
from mcp_conformance.state.tokens import ACCENTED
from mcp_conformance.state.workshop import Look, Workshop
from mcp_conformance.world.success import NUMBER
from mcp_conformance.world.worked import Path

MANY = 9
"""How many things are made for the longest scene.  Not measured: some faults begin with a full page."""
FEW = 3
"""How many are made where one is changed: it has a neighbour on either side."""
REPEATS = 3
"""How often a read is repeated: what comes and goes is seen twice."""
MAX_PAGES = 8
"""Not measured: in how many pages a list is read at most."""
GIVEN = 3
"""What a number is to move by, where a tool is told."""
MAX_USES = 2
"""Not measured: by how many tools a thing is used in a session in which it was not made."""
MAX_LINKS = 4
"""Not measured: through how many links a thing is looked at."""


class Unjudged(Exception):  # noqa: N818  (no error: nothing can be said)
    """A scene did not come about: what was learned did not hold just before."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What all readers show at one moment: those that list by their link, the others by the thing too."""

    lists: Mapping[Link, Look] = field(default_factory=dict)
    reads: Mapping[tuple[Link, Made], Look] = field(default_factory=dict)

    def look(self, link: Link, made: Made) -> Look | None:
        """Return the look at a thing through a link."""
        return self.lists.get(link) or self.reads.get((link, made))

    def shows(self, link: Link, made: Made) -> bool:
        """Return whether a thing is shown through a link."""
        look = self.look(link, made)
        return look is not None and look.shows(link, made)


@dataclass(frozen=True, eq=False)
class Creation:
    """Several things were made in a row, and looked at twice.

    ``repeated`` are looks at the first of them, several times in a row through each link.
    """

    thing: Thing
    made: Sequence[Made]
    first: Sight
    second: Sight
    repeated: Mapping[Link, Sequence[Look]]
    noise: Noise


@dataclass(frozen=True, eq=False)
class Deletion:
    """Of several things the one in the middle was deleted, and then once more.

    ``done`` is the call that deleted, ``again`` the same once more.
    """

    thing: Thing
    effect: Effect
    made: Sequence[Made]
    target: Made
    before: Sight
    done: Call
    after: Sight
    again: Call
    noise: Noise

    @property
    def others(self) -> list[Made]:
        """The things that were left alone."""
        return [one for one in self.made if one is not self.target]

    @property
    def gone(self) -> list[Link]:
        """The links that showed the thing before, and do not after, as was learned of them."""
        seen, target = self.effect.links, self.target
        return [one for one in seen if self.before.shows(one, target) and not self.after.shows(one, target)]


@dataclass(frozen=True, eq=False)
class Change:
    """Of several things the one in the middle was changed; ``done`` has the call and its tokens."""

    thing: Thing
    effect: Effect
    made: Sequence[Made]
    target: Made
    before: Sight
    done: Made
    after: Sight
    noise: Noise

    @property
    def others(self) -> list[Made]:
        """The things that were left alone."""
        return [one for one in self.made if one is not self.target]


@dataclass(frozen=True, eq=False)
class Refusal:
    """A call with fresh tokens that would have made something was refused; ``wrong`` says why."""

    thing: Thing
    refused: Made
    wrong: str
    after: Sight


@dataclass(frozen=True, eq=False)
class RefusedChange:
    """A call with fresh tokens that would have changed a thing was refused; ``wrong`` says why."""

    thing: Thing
    effect: Effect
    target: Made
    refused: Made
    wrong: str
    before: Sight
    after: Sight
    noise: Noise


@dataclass(frozen=True, eq=False)
class Together:
    """A thing was changed once, and then by two calls at once; ``after`` are looks at it thereafter."""

    thing: Thing
    effect: Effect
    target: Made
    done: Made
    alone: Mapping[Link, Look]
    both: Sequence[Made]
    after: Mapping[Link, Look]


@dataclass(frozen=True, eq=False)
class Nesting:
    """A thing was made in one of two others, its parents, and looked for in both through a link."""

    parent: Thing
    link: Link
    parents: Sequence[Made]
    child: Made
    inside: Look
    outside: Look


@dataclass(frozen=True, eq=False)
class Orphaning:
    """A thing was made in another one, its parent, which was then deleted by the call ``done``.

    ``name`` is the value that names the parent.  The looks are at the thing, and at the parent.
    """

    parent: Thing
    effect: Effect
    home: Made
    name: Any
    child: Thing
    made: Made
    before: Sight
    done: Call
    after: Sight
    home_before: Sight
    home_after: Sight

    @property
    def gone(self) -> list[Link]:
        """The links that showed the parent before, and do not after."""
        return [
            one
            for one in self.effect.links
            if self.home_before.shows(one, self.home) and not self.home_after.shows(one, self.home)
        ]


@dataclass(frozen=True, eq=False)
class Paging:
    """A list was read page by page, and between two pages something was ``done``.

    That made a thing, or deleted ``deleted``, which a page had shown.  ``before`` and ``after`` are the pages
    with nothing done between them.
    """

    thing: Thing
    link: Link
    before: Sequence[Look]
    pages: Sequence[Look]
    after: Sequence[Look]
    done: Call
    deleted: Made | None


@dataclass(frozen=True, eq=False)
class Strangers:
    """A thing was made in one session, and looked at there and in another one.

    ``refused`` are the calls, by tool, that do something to it in its session, and are refused in the other.
    """

    thing: Thing
    made: Made
    inside: Sight
    outside: Sight
    refused: Mapping[str, Call]


@dataclass(frozen=True, eq=False)
class Counted:
    """A number that a tool moves was looked at: it was to move by ``expected``, and moved by ``moved``.

    ``rule`` is judged by it, ``how`` says what was done to it, and ``calls`` are those.
    """

    rule: str
    effect: Effect
    how: str
    expected: float
    moved: float
    calls: Sequence[Call]


@dataclass(frozen=True, eq=False)
class PageSizes:
    """A list was read in ``large`` pages, in ``small`` ones of a ``size``, and in large ones ``again``."""

    link: Link
    made: Sequence[Made]
    size: int
    large: Sequence[Look]
    small: Sequence[Look]
    again: Sequence[Look]


@dataclass(frozen=True, eq=False)
class Respelling:
    """A thing got a name with a letter that Unicode writes in two ways, and was read by both.

    ``first`` and ``again`` are looks by the name as it was given, at ``member``; it has the word ``core``.
    """

    link: Link
    made: Made
    member: str
    core: str
    first: Look
    second: Look
    again: Look
    noise: Noise


@dataclass(frozen=True, eq=False)
class Restart:
    """Things were made, one was changed and one deleted, and looked at before and after a restart.

    ``kept`` was made first and left alone, the ``newest`` last.  ``done`` has the tokens of the change.
    """

    thing: Thing
    kept: Made
    newest: Made
    changed: Made | None
    done: Made | None
    deleted: Made | None
    before: Sight
    noise: Noise
    after: Sight = Sight()

    @property
    def made(self) -> list[Made]:
        """All of the things."""
        some = (self.kept, self.changed, self.deleted, self.newest)
        return [one for one in some if one is not None]


@dataclass(frozen=True, eq=False)
class Rewriting:
    """A read was made, made with the same arguments written in another way, and made as at first again."""

    rule: str
    how: str
    made: Made
    first: Look
    second: Look
    again: Look
    noise: Noise


class Meter:
    """A number that a tool moves, as a link shows it; ``last`` is the last look at it."""

    def __init__(self, shop: Workshop, effect: Effect, made: Made):
        self._shop, self._effect, self.made = shop, effect, made
        self.step = effect.step
        self.last = shop.read(effect.links[0], made)

    def moved(self) -> float:
        """Look again, and return by how much it has moved."""
        before, self.last = self.last, self._shop.read(self._effect.links[0], self.made)
        found = moves(before.structure, self.last.structure)
        return next((one.by for one in found if one.spot == self._effect.spot), 0)

    def moved_by(self, path: Path, number: float) -> float:
        """Let the tool move it with a number at a member; return by how much that does."""
        values = {**self._shop.naming(self._effect, self.made), path: number}
        filled = self._shop.filled(self._effect.writer, (), values)
        if filled is None:
            raise Unjudged
        self._shop.hand.call(self._effect.writer.tool, filled[0])
        return self.moved()


class Stage:
    """Plays scenes in one process."""

    def __init__(self, shop: Workshop, noise: Noise):
        self.shop, self.noise = shop, noise

    def create(self, thing: Thing, number: int = MANY) -> Creation:
        """Make several things in a row."""
        made = self._made(thing, number)
        first = self._settled(thing, made)
        second = self._sight_backwards(thing, made[: -FEW - 1 : -1])
        repeated = {
            one: [self.shop.read(one, made[0]) for _ in range(REPEATS)]
            for one in links_of(thing)
            if one.shows
        }
        return Creation(thing, made, first, second, repeated, self.noise)

    def delete(self, thing: Thing, effect: Effect) -> Deletion:
        """Delete the second of three things."""
        made = self._made(thing, FEW)
        target, before = made[1], self._settled(thing, made)
        self._require(any(before.shows(one, target) for one in effect.links))
        done = self.shop.apply(effect, target)
        self._require(done is not None)
        assert done is not None
        after = self.sight(thing, made)
        if any(after.shows(one, target) for one in effect.links) or not self._shows_all(
            thing, [made[0], made[2]], after, before
        ):
            self.shop.hand.pause()
            after = self.sight(thing, made)
        again = self.shop.hand.call(effect.writer.tool, done.call.arguments)
        return Deletion(thing, effect, made, target, before, done.call, after, again, self.noise)

    def change(self, thing: Thing, effect: Effect) -> Change:
        """Change the second of three things."""
        made = self._made(thing, FEW)
        target, before = made[1], self._settled(thing, made)
        done = self.shop.apply(effect, target)
        self._require(done is not None)
        assert done is not None
        after = self.sight(thing, made)
        if not self._shows_all(thing, [made[0], made[2]], after, before):
            self.shop.hand.pause()
            after = self.sight(thing, made)
        return Change(thing, effect, made, target, before, done, after, self.noise)

    def refuse_making(self, thing: Thing) -> Iterator[Refusal]:
        """Make calls that are refused, and look for what they were to make."""
        spoiled = self.shop.spoiled(thing.maker.workable, thing.maker.paths, {})
        refused = [(made, wrong) for made, wrong in spoiled if made.call.failed]
        links = [one for one in links_of(thing) if one.shows]
        lists = {one: self.shop.read(one, refused[0][0]) for one in links if one.is_list} if refused else {}
        for made, wrong in refused:
            named = [one for one in links if not one.is_list and self.shop.naming(one, made).get(one.member)]
            reads = {(one, made): self.shop.read(one, made) for one in named}
            yield Refusal(thing, made, wrong, Sight(lists, reads))

    def refuse_changing(self, thing: Thing, effect: Effect) -> Iterator[RefusedChange]:
        """Make calls that are refused, and would have changed a thing."""
        made = self._made(thing, 1)
        before = self._settled(thing, made)
        naming = self.shop.naming(effect, made[0])
        for done, wrong in self.shop.spoiled(effect.writer, effect.paths, naming):
            after = self.sight(thing, made)
            if done.call.failed:
                yield RefusedChange(thing, effect, made[0], done, wrong, before, after, self.noise)
            before = after

    def change_together(self, thing: Thing, effect: Effect) -> Together:
        """Change a thing by one call, then by two at once."""
        target = self._made(thing, 1)[0]
        reads = [one for one in links_of(thing) if one.shows and not one.is_list]
        done = self.shop.apply(effect, target)
        self._require(done is not None and bool(reads))
        assert done is not None
        alone = {one: self.shop.read(one, target) for one in reads}
        both = self.shop.apply_together(effect, target)
        self._require(len(both) > 1)
        return Together(
            thing, effect, target, done, alone, both, {one: self.shop.read(one, target) for one in reads}
        )

    def nest(self, parent: Thing, child: Thing) -> Iterator[Nesting]:
        """Make a thing in one of two parents, and look for it in both."""
        parents = self._made(parent, 2)
        made, handle = self._made_in(parents[0], parent, child)
        values = [self.shop.value(one, handle) for one in parents]
        self._require(values[1] is not None)
        for link in links_of(child):
            for inner in (one for one in _paths_from(link.reader, parent) if link.shows):
                naming = self.shop.naming(link, made)
                inside = self.shop.look(link.reader, {**naming, inner: values[0]})
                outside = self.shop.look(link.reader, {**naming, inner: values[1]})
                yield Nesting(parent, link, parents, made, inside, outside)

    def orphan(self, parent: Thing, effect: Effect, child: Thing) -> Orphaning:
        """Make a thing in a parent, and delete the parent."""
        [home] = self._made(parent, 1)
        made, handle = self._made_in(home, parent, child)
        before, home_before = self.sight(child, [made]), self.sight(parent, [home])
        done = self.shop.apply(effect, home)
        self._require(done is not None)
        assert done is not None
        after = self.sight(child, [made])
        if any(after.shows(one, made) for one in links_of(child)):
            self.shop.hand.pause()
            after = self.sight(child, [made])
        name, home_after = self.shop.value(home, handle), self.sight(parent, [home])
        return Orphaning(
            parent, effect, home, name, child, made, before, done.call, after, home_before, home_after
        )

    def _made_in(self, home: Made, parent: Thing, child: Thing) -> tuple[Made, Handle]:
        """Make a thing in another one; return it, and the handle that names the other one for its maker."""
        workable = child.maker.workable
        for handle, path, value in self.shop.namings(home, workable, may_write=True):
            if path in _paths_from(workable, parent):
                made = self.shop.make(child.maker, {path: value})
                self._require(made is not None)
                assert made is not None
                return made, handle
        raise Unjudged

    def turn_pages(self, thing: Thing, link: Link, effect: Effect | None) -> Iterator[Paging]:
        """Read a list page by page, while a thing is made, and while one is deleted that was shown."""
        pager = pager_of(link.reader.tool)
        self._require(pager is not None)
        assert pager is not None
        made = self._made(thing, MANY)  # more than a page has, so that not all stand on the last one
        whole = max(lengths(self.shop.read(link, made[0]).structure).values(), default=0)
        first = pager.first(max(MANY // 2, whole // (MAX_PAGES - 2)))
        for now in (None, effect) if effect is not None else (None,):
            before = list(self._pages(link, pager, first))
            pages: list[Look] = []
            done: Made | None = None
            target: Made | None = None
            for page in self._pages(link, pager, first):
                pages.append(page)
                shown = next((one for one in self.shop.made[thing.maker.name] if page.forms(one)), None)
                if done is None and shown is not None and next_cursor(page.structure) is not None:
                    target = shown if now is not None else None
                    done = self.shop.apply(now, shown) if now is not None else self.shop.make(thing.maker)
                    self._require(done is not None)
            if done is not None:
                after = list(self._pages(link, pager, first))
                yield Paging(thing, link, before, pages, after, done.call, target)

    def resize_pages(self, thing: Thing, link: Link) -> PageSizes:
        """Read a list in pages of two sizes."""
        pager = pager_of(link.reader.tool)
        self._require(pager is not None and pager.size is not None)
        assert pager is not None
        assert pager.size is not None
        made = self._made(thing, FEW)
        large = list(self._pages(link, pager, {}))
        whole = sum(max(lengths(one.structure).values(), default=0) for one in large)
        first = pager.first(whole // (MAX_PAGES - 1) + 1)
        small = list(self._pages(link, pager, first))
        return PageSizes(link, made, first[pager.size], large, small, list(self._pages(link, pager, {})))

    def respell(self, thing: Thing) -> Iterator[Respelling]:
        """Give things names with an accent, and read each by the same name in the other form of Unicode."""
        for link in thing.reads[: MAX_LINKS // 2]:
            if link.handle is None or link.handle.source is not Source.SENT:
                continue
            name = self.shop.accented(thing.maker.workable, link.handle.path)
            made = self.shop.make(thing.maker, {link.handle.path: name}) if name else None
            if name is None or made is None:
                continue
            first = self.shop.look(link.reader, {link.member: name})
            second = self.shop.look(link.reader, {link.member: unicodedata.normalize("NFD", name)})
            again = self.shop.look(link.reader, {link.member: name})
            core = name.partition(ACCENTED)[0]
            yield Respelling(link, made, str(link.member[-1]), core, first, second, again, self.noise)

    def _pages(self, link: Link, pager: Pager, first: Mapping[Path, Any]) -> Iterator[Look]:
        """Yield the pages of a list, each when it is asked for."""
        values = dict(first)
        for _ in range(MAX_PAGES):
            page = self.shop.look(link.reader, values)
            yield page
            cursor = next_cursor(page.structure)
            if cursor is None:
                return
            values[pager.cursor] = cursor
        raise Unjudged

    def meet(self, other: Stage, thing: Thing) -> Strangers:
        """Make a thing, and look at it and use it here and in another session."""
        made = self._made(thing, FEW)[-1]  # an early one may have the id of one of the other session
        self.shop.hand.pause()
        inside, outside = self.sight(thing, [made]), other.sight(thing, [made])
        refused: dict[str, Call] = {}
        for effect in sorted(thing.effects, key=lambda one: one.doing is Doing.DELETES)[:MAX_USES]:
            calls = len(other.shop.hand.calls)
            if other.shop.apply(effect, made) is not None:
                break
            if len(other.shop.hand.calls) > calls and self.shop.apply(effect, made) is not None:
                refused[effect.tool] = other.shop.hand.calls[-1]
        return Strangers(thing, made, inside, outside, refused)

    def count(self, thing: Thing, effect: Effect) -> Iterator[Counted]:
        """Let a tool move a number twice in a row and by two calls at once, and by what it is given."""
        meter = Meter(self.shop, effect, self._made(thing, 1)[0])
        rest = [meter.moved() for _ in range(2)]
        self._require(rest[0] == rest[1])
        drift, step = rest[0], meter.step
        for _ in range(2):
            self._require(self.shop.apply(effect, meter.made) is not None)
        if meter.moved() - drift == 2 * step:
            both = self.shop.apply_together(effect, meter.made)
            self._require(len(both) > 1)
            moved = meter.moved() - drift
            if moved != 2 * step:  # an index may need a moment
                self.shop.hand.pause()
                moved += meter.moved() - drift
            calls = [*(one.call for one in both), meter.last.call]
            yield Counted("state.concurrency", effect, "two calls at once", 2 * step, moved, calls)
        for path in self.shop.numbers_in(effect):
            if meter.moved_by(path, GIVEN) != GIVEN + drift:
                continue
            before = meter.last.call
            moved = meter.moved()
            looks = [before, meter.last.call]
            yield Counted("state.reading-changes-nothing", effect, "a read", 0, moved, looks)
            moved = meter.moved_by(path, float(GIVEN)) - drift
            how = f"`{path[0]}` as {float(GIVEN)}"
            yield Counted("state.number-form", effect, how, GIVEN, moved, self.shop.hand.calls[-2:])
            return

    def before_restart(self, thing: Thing) -> Restart:
        """Make things, change one and delete one; the look after the restart is missing yet."""
        kept, *others = self._made(thing, FEW)
        change, delete = (next(iter(thing.doing(one)), None) for one in (Doing.CHANGES, Doing.DELETES))
        done = self.shop.apply(change, others[0]) if change is not None else None
        gone = self.shop.apply(delete, others[1]) if delete is not None else None
        newest = self._made(thing, 1)[0]
        changed, deleted = others[0] if done is not None else None, others[1] if gone is not None else None
        found = Restart(thing, kept, newest, changed, done, deleted, Sight(), self.noise)
        return replace(found, before=self.sight(thing, found.made))

    def after_restart(self, scene: Restart) -> Restart:
        """Return the scene with what this process, a later one, shows."""
        return replace(scene, after=self.sight(scene.thing, scene.made))

    def rewrite(self, thing: Thing, plain: Sequence[Workable]) -> Iterator[Rewriting]:
        """Read a thing with arguments written in other ways; ``plain`` are the readers without limits."""
        made = self._made(thing, 1)[0]
        for link in links_of(thing):
            naming = self.shop.naming(link, made)
            usual = [one for one in plain if one.name == link.tool and one is not link.reader]
            for reader in (link.reader, *usual):
                for rule, how, arguments in self.shop.rewritten(reader, naming):
                    first = self.shop.look(reader, naming)
                    second = Look(self.shop.hand.call(reader.tool, arguments))
                    again = self.shop.look(reader, naming)
                    yield Rewriting(rule, how, made, first, second, again, self.noise)

    def sight(self, thing: Thing, made: Iterable[Made]) -> Sight:
        """Look at things through all links."""
        some = list(made)
        links = links_of(thing)
        lists = {one: self.shop.read(one, some[0]) for one in links if one.is_list}
        reads = {(one, each): self.shop.read(one, each) for each in some for one in links if not one.is_list}
        return Sight(lists, reads)

    def _sight_backwards(self, thing: Thing, made: Sequence[Made]) -> Sight:
        """Look at some things alone, then at the lists."""
        links = links_of(thing)
        reads = {(one, each): self.shop.read(one, each) for each in made for one in links if not one.is_list}
        return Sight({one: self.shop.read(one, made[0]) for one in links if one.is_list}, reads)

    def _settled(self, thing: Thing, made: Sequence[Made]) -> Sight:
        """Look at things, and once more after a pause if some are not shown."""
        seen = self.sight(thing, made)
        if all(seen.shows(one, each) for each in made for one in links_of(thing)):
            return seen
        self.shop.hand.pause()
        return self.sight(thing, made)

    def _shows_all(self, thing: Thing, made: Iterable[Made], after: Sight, before: Sight) -> bool:
        some = [(one, each) for each in made for one in links_of(thing)]
        return all(after.shows(*one) or not before.shows(*one) for one in some)

    def _made(self, thing: Thing, number: int) -> list[Made]:
        made = [self.shop.make(thing.maker) for _ in range(number)]
        found = [one for one in made if one is not None]
        self._require(len(found) == number)
        return found

    def _require(self, holds: bool) -> None:
        if not holds:
            raise Unjudged


def _paths_from(workable: Workable, parent: Thing) -> list[Path]:
    """Return the members that had a value of a parent when the tool worked."""
    return [path for path, known in workable.known.items() if known.origin.of == parent.maker.name]


def links_of(thing: Thing) -> tuple[Link, ...]:
    """Return the links through which scenes look at a thing: as many that list as that read."""
    half = MAX_LINKS // 2
    return (*thing.lists[:half], *thing.reads[:half])


def meaningful(differences: Iterable[Difference]) -> list[Difference]:
    """Return the differences that are more than numbers, dates and ids: those change by themselves."""
    found = []
    for one in differences:
        gone, new = sorted(map(_plain, one.gone)), sorted(map(_plain, one.new))
        if gone != new:
            found.append(one)
    return found


def _plain(text: Any) -> str:
    return NUMBER.sub("0", str(text))
