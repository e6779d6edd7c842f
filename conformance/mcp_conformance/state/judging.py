"""Judging: plays scenes on what was learned, and lets the oracles judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mcp_conformance.state.hand import Lost, Spent
from mcp_conformance.state.kinds import is_deletion
from mcp_conformance.state.learning import Learned
from mcp_conformance.state.links import Doing, Effect, Link, Thing, Workable
from mcp_conformance.state.oracles import (
    concurrency,
    counted,
    delete_twice,
    failed_change,
    failed_create,
    hierarchy,
    list_after_delete,
    list_once,
    neighbours,
    orphans,
    page_size,
    pages,
    read_after_change,
    read_after_create,
    reading_changes_nothing,
    same_call,
    same_read,
    unicode_form,
    use_after_free,
)
from mcp_conformance.state.paging import pager_of
from mcp_conformance.state.scene import (
    Change,
    Counted,
    Creation,
    Deletion,
    Nesting,
    Orphaning,
    PageSizes,
    Paging,
    Refusal,
    RefusedChange,
    Respelling,
    Rewriting,
    Stage,
    Together,
    Unjudged,
)
from mcp_conformance.state.violation import Violation

MAX_CHANGES = 2
"""Not measured: through how many tools a thing is changed in scenes."""


@dataclass(frozen=True)
class Oracle:
    """A rule, the records that it is judged on, and the module that judges."""

    rule: str
    records: tuple[type, ...]
    module: ModuleType

    def applies(self, record: Any) -> bool:
        """Return whether a record can be judged."""
        is_its = isinstance(record, self.records) and getattr(record, "rule", self.rule) == self.rule
        return is_its and bool(self.module.can_judge(record))

    def violations(self, record: Any) -> Iterator[Violation]:
        """Yield what does not hold in a record."""
        yield from self.module.judge(record)


ORACLES = (
    Oracle("state.read-after-create", (Creation,), read_after_create),
    Oracle("state.list-once", (Creation,), list_once),
    Oracle("state.reading-changes-nothing", (Creation,), reading_changes_nothing),
    Oracle("state.same-read", (Creation,), same_read),
    Oracle("state.use-after-delete", (Deletion,), use_after_free),
    Oracle("state.list-after-delete", (Deletion,), list_after_delete),
    Oracle("state.delete-twice", (Deletion,), delete_twice),
    Oracle("state.neighbours", (Deletion, Change), neighbours),
    Oracle("state.read-after-change", (Change,), read_after_change),
    Oracle("state.failed-create", (Refusal,), failed_create),
    Oracle("state.failed-change", (RefusedChange,), failed_change),
    Oracle("state.hierarchy", (Nesting,), hierarchy),
    Oracle("state.delete-parent", (Orphaning,), orphans),
    Oracle("state.pages", (Paging,), pages),
    Oracle("state.concurrency", (Together,), concurrency),
    Oracle("state.concurrency", (Counted,), counted),
    Oracle("state.reading-changes-nothing", (Counted,), counted),
    Oracle("state.number-form", (Counted,), counted),
    Oracle("state.member-order", (Rewriting,), same_call),
    Oracle("state.number-form", (Rewriting,), same_call),
    Oracle("state.default-given", (Rewriting,), same_call),
    Oracle("state.page-size", (PageSizes,), page_size),
    Oracle("state.unicode-form", (Respelling,), unicode_form),
)


@dataclass(frozen=True, eq=False)
class Play:
    """A scene on a thing: ``records`` plays it on a stage, and yields its records."""

    name: str
    records: Callable[[Stage], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class Found:
    """A violation of a rule in a play."""

    oracle: Oracle
    play: Play
    violation: Violation


def plays(learned: Learned) -> Iterator[Play]:
    """Yield the scenes of what was learned, each kind for all things before the next."""
    lasting = [one for one in learned.things if one.lasts]
    yield from map(_creation, lasting)
    yield from (_deletion(one, effect) for one in lasting for effect in _deleting(one))
    yield from map(_refusal, lasting)
    yield from (_change(one, effect) for one in lasting for effect in _changing(one))
    for one in lasting:
        taking = one.doing(Doing.TAKES)[:MAX_CHANGES]
        yield from (_refused_change(one, effect) for effect in (*_changing(one), *taking))
    pairs = [(parent, child) for child in lasting for parent in lasting if parent is not child]
    yield from (_nesting(*pair) for pair in pairs)
    for parent, child in pairs:
        yield from (_orphaning(parent, each, child) for each in _deleting(parent) if is_deletion(each))
    for one in lasting:
        lists = [each for each in one.lists if pager_of(each.reader.tool) is not None]
        yield from (_paging(one, link, next(iter(_deleting(one)), None)) for link in lists[:1])
        yield from (_resizing(one, link) for link in lists[:1])
    for one in lasting:
        yield from (_together(one, effect) for effect in _changing(one)[:1] if len(effect.paths) > 1)
        yield from (_counting(one, effect) for effect in one.doing(Doing.COUNTS)[:MAX_CHANGES])
    yield from (_rewriting(one, learned.readers) for one in lasting)
    yield from map(_respelling, lasting)


def _deleting(thing: Thing) -> list[Effect]:
    """Return what deletes a thing, for good if something does; none or one."""
    return sorted(thing.doing(Doing.DELETES), key=lambda each: not is_deletion(each))[:1]


def _changing(thing: Thing) -> tuple[Effect, ...]:
    return thing.doing(Doing.CHANGES)[:MAX_CHANGES]


def _creation(thing: Thing) -> Play:
    return Play("creations", lambda stage: iter([stage.create(thing)]))


def _deletion(thing: Thing, effect: Effect) -> Play:
    return Play("deletions", lambda stage: iter([stage.delete(thing, effect)]))


def _refusal(thing: Thing) -> Play:
    return Play("refused creations", lambda stage: stage.refuse_making(thing))


def _change(thing: Thing, effect: Effect) -> Play:
    return Play("changes", lambda stage: iter([stage.change(thing, effect)]))


def _refused_change(thing: Thing, effect: Effect) -> Play:
    return Play("refused changes", lambda stage: stage.refuse_changing(thing, effect))


def _nesting(parent: Thing, child: Thing) -> Play:
    return Play("parents", lambda stage: stage.nest(parent, child))


def _orphaning(parent: Thing, effect: Effect, child: Thing) -> Play:
    return Play("deleted parents", lambda stage: iter([stage.orphan(parent, effect, child)]))


def _paging(thing: Thing, link: Link, effect: Effect | None) -> Play:
    return Play("pages", lambda stage: stage.turn_pages(thing, link, effect))


def _resizing(thing: Thing, link: Link) -> Play:
    return Play("pages", lambda stage: iter([stage.resize_pages(thing, link)]))


def _respelling(thing: Thing) -> Play:
    return Play("other spellings", lambda stage: stage.respell(thing))


def _together(thing: Thing, effect: Effect) -> Play:
    return Play("changes at once", lambda stage: iter([stage.change_together(thing, effect)]))


def _counting(thing: Thing, effect: Effect) -> Play:
    return Play("numbers", lambda stage: stage.count(thing, effect))


def _rewriting(thing: Thing, readers: Sequence[Workable]) -> Play:
    return Play("other spellings", lambda stage: stage.rewrite(thing, readers))


class Judging:
    """Plays scenes and judges them; ``judged`` counts the records that each rule was judged on."""

    def __init__(self, stage: Stage):
        self._stage = stage
        self.judged: Counter[str] = Counter()
        self.found: list[Found] = []

    def judge_all(self, some: Iterable[Play]) -> bool:
        """Play scenes; return whether the budget was enough for all."""
        hand = self._stage.shop.hand
        for play in some:
            with hand.phase(play.name):
                try:
                    self._judge(play)
                except Unjudged:
                    continue
                except (Spent, Lost):
                    return False
        return True

    def _judge(self, play: Play) -> None:
        for record in play.records(self._stage):
            for oracle in ORACLES:
                if oracle.applies(record):
                    self.judged[oracle.rule] += 1
                    self.found += [Found(oracle, play, one) for one in oracle.violations(record)]


def seen_again(found: Found, stage: Stage) -> Violation | None:
    """Return a violation as it is seen again in a fresh process, with fresh values; None if it is not."""
    try:
        for record in found.play.records(stage):
            if found.oracle.applies(record):
                for one in found.oracle.violations(record):
                    if one.certain and one.tool == found.violation.tool:
                        return one
    except (Unjudged, Spent, Lost):
        pass
    return None
