"""A walk: calls in any order on things that it has made, against what a model of them expects.

The model knows of each thing only what its links have shown three times of three: that it is there, that it
is gone, what it was changed to, and how it looked while nothing was done to it or to its like.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from mcp_conformance.client.tool_call import Call
from mcp_conformance.state.kinds import is_deletion, is_list_of
from mcp_conformance.state.links import Doing, Effect, Handle, Link, Made, Source, Thing
from mcp_conformance.state.noise import Noise
from mcp_conformance.state.paging import shows_all
from mcp_conformance.state.places import alike, differences, structure_of
from mcp_conformance.state.scene import links_of, meaningful
from mcp_conformance.state.violation import Violation, answer, quoted, violation
from mcp_conformance.state.workshop import Look, Workshop
from mcp_conformance.world.success import is_success

MAX_LOOKS = 2
"""How often one thing is looked at while nothing is done: a third look shows no more."""


Calls = Iterable[Call | Look | Made | None]


class Act(StrEnum):
    """What a step does: it makes an item, looks at one through its links, or has a tool work on one.

    What was made is looked at, and what was worked on with its neighbours.
    """

    MAKE = "make"
    LOOK = "look"
    DO = "do"


@dataclass(frozen=True)
class Step:
    """A step: what it does, and to which item, in the order in which they were made.

    One that has a tool work says by which of the thing's ``effect``s.
    """

    act: Act
    item: int = 0
    effect: int = 0


class Broken(Exception):  # noqa: N818  (no error: what the walk is for)
    """Something does not hold: the rule that is broken, and the calls that show it."""

    def __init__(self, rule: str, found: Violation):
        super().__init__(f"{rule}: {found.got}")
        self.rule, self.violation = rule, found


@dataclass(eq=False)
class Item:
    """A thing that the walk has made, and what is expected of it.

    ``shown`` is what each link shows: the call that made it, or the one that changed it last.  ``seen`` are
    the links that have shown that.  ``looks`` are the last looks at it since it was changed, or another one
    was made; ``before`` are those before it was deleted by ``deletion``.  ``done`` are the calls that have
    changed it, ``doings`` those that have changed others since.  It was looked at ``times`` times since
    something was done, and it ``is_done`` with once it was deleted twice.  By the handles that are ``stale``
    it is not named any more: a change may have replaced these values.
    """

    made: Made
    shown: dict[Link, Made]
    looks: dict[Link, Look] = field(default_factory=dict)
    before: dict[Link, Look] = field(default_factory=dict)
    deletion: Effect | None = None
    deleted: Call | None = None
    done: list[Call] = field(default_factory=list)
    doings: list[Call] = field(default_factory=list)
    times: int = 0
    is_done: bool = False
    seen: set[Link] = field(default_factory=set)
    stale: set[Handle] = field(default_factory=set)

    @property
    def is_gone(self) -> bool:
        """Whether it was deleted."""
        return self.deletion is not None


class Walk:
    """A walk in one process: the ``items`` that it has made of a thing, and the ``steps`` so far.

    ``effects`` are those of tools that delete or change it.  It ``is_broken`` once something does not hold:
    the model is wrong then.
    """

    def __init__(self, shop: Workshop, thing: Thing, noise: Noise):
        self.thing, self.items = thing, list[Item]()
        self.effects = [one for one in thing.effects if one.doing in (Doing.DELETES, Doing.CHANGES)]
        self.steps: list[Step] = []
        self.is_broken = False
        self._shop, self._noise = shop, noise

    def can(self, step: Step) -> bool:
        """Return whether a step is possible: its item exists, and the model still holds."""
        return not self.is_broken and (step.act is Act.MAKE or step.item < len(self.items))

    def take(self, step: Step) -> None:
        """Take a step.  Raises `Broken`, and `hand.Spent` and `hand.Lost` as the hand does."""
        self.steps.append(step)
        try:
            self._take(step)
        except Broken:
            self.is_broken = True
            raise

    def _take(self, step: Step) -> None:
        if step.act is Act.MAKE:
            self._make()
        elif step.act is Act.LOOK:
            self._look_at(self.items[step.item])
        else:
            self._do(self.effects[step.effect], self.items[step.item])
            for item in self.items[max(0, step.item - 1) : step.item + 2]:
                self._look_at(item)

    # Making

    def _make(self) -> None:
        made = self._shop.make(self.thing.maker)
        # What is made may show in the others, as a comment in its issue.
        self._forget_looks()
        if made is not None:
            self.items.append(Item(made, dict.fromkeys(self.thing.links, made)))
            self._look_at(self.items[-1])

    def _forget_looks(self) -> None:
        for item in self.items:
            item.looks.clear()
        self._has_done()

    def _has_done(self) -> None:
        for item in self.items:
            item.times = 0

    # Looking

    def _look_at(self, item: Item) -> None:
        """Look at an item through all links, twice at most until something is done."""
        item.times += 1
        if item.times <= MAX_LOOKS:
            for link in links_of(self.thing):
                if link.handle not in item.stale:
                    self._look(link, item)

    def _look(self, link: Link, item: Item) -> None:
        look = self._shop.read(link, item.made)
        if problem := self._problem(link, item, look):
            # An index may need a moment until it has a change, and what differs each time is noise.
            self._shop.hand.pause()
            first, look = (self._shop.read(link, item.made) for _ in range(2))
            if first.is_success and look.is_success:
                self._noise.learn(link.tool, first.structure, look.structure)
            problem = self._problem(link, item, look)
        if problem:
            raise problem
        if not item.is_gone:
            item.looks[link] = look
            item.seen.add(link)

    def _problem(self, link: Link, item: Item, look: Look) -> Broken | None:
        """Return what a look shows that does not hold."""
        if item.is_gone:
            return self._problem_of_gone(link, item, look)
        made = item.shown.get(link)
        if made is None:
            return None
        before = item.looks.get(link)
        if _shows(link, item, made, look):
            return self._problem_of_change(link, item, look)
        if link.is_list and not shows_all(link.reader.tool, look.structure, look.call.arguments):
            return None
        if link in item.seen and (item.doings or before is not None):
            return _otherwise(link, item, before, look, "it is not shown any more")
        is_changed = made is not item.made
        inferred: tuple[Link | Effect, ...] = (
            link,
            *(one for one in self.effects if is_changed and one.tool == made.maker.name),
        )
        rule = "state.read-after-change" if is_changed else "state.read-after-create"
        got = f"{quoted(link.tool)} does not show what {quoted(made.maker.name)} was given"
        expected = "the changed thing" if is_changed else "what was made"
        return _broken(rule, (link, expected, got), inferred, (item.made, *item.done, look))

    def _problem_of_change(self, link: Link, item: Item, look: Look) -> Broken | None:
        """Return that a thing looks otherwise, though nothing was done to it."""
        before = item.looks.get(link)
        if before is None or link.is_list or self._shows_others(item, before, look):
            return None
        changed = meaningful(self._noise.differences(link.tool, before.structure, look.structure))
        return _otherwise(link, item, before, look, str(changed[0])) if changed else None

    def _shows_others(self, item: Item, *looks: Look) -> bool:
        """Return whether one of the looks shows others too: it changes with them."""
        others = [one for one in self.items if one is not item]
        made = {each for one in others for each in (one.made, *one.shown.values())}
        return any(look.forms(one) for look in looks for one in made)

    def _problem_of_gone(self, link: Link, item: Item, look: Look) -> Broken | None:
        """Return that a deleted thing is shown as it was."""
        effect, before = item.deletion, item.before.get(link)
        assert effect is not None
        made = item.shown.get(link)
        if not is_deletion(effect) or made is None or not _shows(link, item, made, look):
            return None
        if link.is_list:
            if not is_list_of(link) or not (link in effect.links or self._is_gone_elsewhere(effect, item)):
                return None
            got = f"{quoted(link.tool)} lists it, after {quoted(effect.tool)} succeeded"
            expected = "a list without what was deleted"
            calls: Calls = (item.made, *item.done, look)
            return _broken("state.list-after-delete", (link, expected, got), (link, effect), calls)
        if before is None or list(differences(before.structure, look.structure)):
            return None
        if link not in effect.links and not self._is_gone_elsewhere(effect, item):
            return None
        got = f"{quoted(link.tool)} shows it as before, after {quoted(effect.tool)} succeeded"
        expected = "an error, or an answer that says that it is gone"
        shown: Calls = (item.made, before, *item.done, look)
        return _broken("state.use-after-delete", (link, expected, got), (link, effect), shown)

    def _is_gone_elsewhere(self, effect: Effect, item: Item) -> bool:
        """Return whether the links by which a deletion is known do not show a thing."""
        looks = ((one, self._shop.read(one, item.made)) for one in effect.links)
        return not any(_shows(one, item, item.shown.get(one, item.made), look) for one, look in looks)

    # Doing

    def _do(self, effect: Effect, item: Item) -> None:
        if effect.handle in item.stale or (item.is_gone and (effect is not item.deletion or item.is_done)):
            return
        done = self._shop.apply(effect, item.made)
        self._has_done()
        if item.is_gone:
            item.is_done = True
            if done is not None:
                self._judge_second(effect, item, done)
            return
        if done is None:
            item.shown, item.looks = {}, {}
            return
        item.done.append(done.call)
        for one in self.items:
            if one is not item:
                one.doings.append(done.call)
        if effect.doing is Doing.DELETES:
            item.deletion, item.deleted, item.before = effect, done.call, item.looks
        else:
            item.shown = dict.fromkeys(effect.links, done) if done.tokens else {}
            names = {*(one.handle for one in self.thing.links), *(one.handle for one in self.effects)}
            item.stale |= {one for one in names if one and one.source is Source.SENT and one != effect.handle}
        item.looks, item.doings, item.seen = {}, [], set()

    def _judge_second(self, effect: Effect, item: Item, done: Made) -> None:
        """Raise that a second deletion is answered like the first."""
        assert item.deleted is not None
        first, second = (structure_of(one.reply.result) for one in (item.deleted, done.call))
        is_second = is_success(done.call.reply, needs_values=False) and alike(first) == alike(second)
        if is_deletion(effect) and not effect.writer.tool.idempotent and is_second:
            got = f"{quoted(effect.tool)} answers the second deletion like the first: {answer(done.call)}"
            expected = "an error for what does not exist, or an answer that says that nothing was deleted"
            calls = (item.made, item.deleted, done)
            raise Broken("state.delete-twice", violation(effect.tool, expected, got, (effect,), calls))


def _shows(link: Link, item: Item, made: Made, look: Look) -> bool:
    """Return whether a look shows what made or changed an item."""
    return look.shows(link, made) if made is item.made else bool(look.forms(made))


def _broken(
    rule: str,
    said: tuple[Link, str, str],
    inferred: tuple[Link | Effect, ...],
    calls: Calls,
) -> Broken:
    """Return that a rule is broken: through which link that shows, what was expected, and what came."""
    link, expected, got = said
    return Broken(rule, violation(link.tool, expected, got, inferred, calls))


def _otherwise(link: Link, item: Item, before: Look | None, look: Look, how: str) -> Broken:
    """Return that a thing is shown otherwise than before, though nothing was done to it."""
    is_untouched = not item.doings
    rule = "state.reading-changes-nothing" if is_untouched else "state.neighbours"
    what = "only reads came in between" if is_untouched else "only others of its kind were changed"
    got = f"{quoted(link.tool)} shows something else, though {what}: {how}"
    return _broken(
        rule, (link, "the same", got), (link,), (item.made, *item.done, before, *item.doings, look)
    )
