"""Exploration: rounds of calls that look for arguments with which each tool works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from mcp_conformance.client.refusals import asks_client, complaint_about_network
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.world.attempts import Attempt, Attempts
from mcp_conformance.world.known import Known, Owner
from mcp_conformance.world.made_up import STORED
from mcp_conformance.world.members import members_of, words_of
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.success import is_empty, is_success, kind_of
from mcp_conformance.world.things import PRODUCING, things_of
from mcp_conformance.world.worked import Path
from mcp_conformance.world.world import MADE_UP, World

MAX_CALLS = 30
"""The most calls of one tool: a prototype that had as many learned 31 of 40 tools of three servers."""
MAX_ROUND_CALLS = 8
"""The most calls of one tool in a row, before others, which may make what it needs, have their turn."""
MAX_CURIOUS = 5
"""The most calls with known values of a tool that succeeds without: does it give another kind of answer?"""
MAX_ELSEWHERE = 8
"""The most calls of a tool that worked in another revision: what it needs may be used up.  A tool of the
reference world takes eight."""
MAX_SPARES = 2
"""Not measured: how many things are made for a tool that deletes, each by one call."""
MAX_ROUNDS = 6
"""Not measured: what one tool made another needs, and what that made a third."""

LISTING = frozenset({"list", "search", "find", "ls", "tree", "index"})
WRITING = frozenset({"write", "store", "save", "append"})
ENDING = frozenset({"close", "reset", "stop", "end", "cancel", "shutdown", "disconnect", "undo", "kill"})

CallTool = Callable[[Tool, dict[str, Any]], Call]
"""Calls a tool with arguments."""


@dataclass
class Explored:
    """A tool that is explored: its attempts, the calls so far, and why it is left alone, if it is.

    ``has_worked`` says that it was known to work before, ``worked_elsewhere`` that it did in
    another revision.
    """

    attempts: Attempts
    first: Call
    calls: list[Call] = field(default_factory=list)
    best: Call | None = None
    made_up_kinds: set[str] = field(default_factory=set)
    is_left: bool = False
    is_hopeless: bool = False
    has_worked: bool = False
    worked_elsewhere: bool = False
    options: bytes = b""
    makes: int = -1
    curious: int = 0

    @property
    def tool(self) -> Tool:
        """The tool."""
        return self.attempts.tool

    @property
    def is_futile(self) -> bool:
        """Whether it was called in vain, and another run would be no wiser."""
        works = self.best is not None or bool(self.made_up_kinds)
        return bool(self.calls) and not works and not self.is_hopeless


class Exploration:
    """The exploration of a server's tools, in one session.

    ``call`` calls a tool; ``limit`` returns how often one may be called, 0 if there is no time for more.
    ``replayed`` are the names of tools that worked as in an earlier run: there is nothing to explore.
    """

    def __init__(
        self,
        world: World,
        revision: str,
        call: CallTool,
        limit: Callable[[Tool], float] = lambda _: MAX_CALLS,
    ):
        self.world, self._revision = world, revision
        self._call, self._limit = call, limit
        self._tools: dict[str, Explored] = {}
        self._makes = 0
        self.replayed: set[str] = set()

    def explore(self, first: Iterable[Call]) -> None:
        """Explore the tools of these calls, which have plain arguments, as far as they need it."""
        first = list(first)
        self.world.names.update(call.tool.name for call in first)
        begun = [self._begun(call) for call in first]
        waiting = sorted((one for one in begun if not one.is_left), key=_order)
        usual = [one for one in waiting if not is_deleting(one.tool)]
        self._rounds(usual)
        deleting = [one for one in waiting if is_deleting(one.tool)]
        deleting.sort(key=lambda one: self._uses_of(one.tool))
        for one in deleting:
            self._make_spare(one)
            self._rounds([one])
        if self._makes:
            for one in begun:
                self._read_again(one)
        for one in waiting:
            if one.is_futile:
                self.world.give_up(one.first)

    def _read_again(self, one: Explored) -> None:
        """Call a tool that only reads once more, if it worked at first: there is more to read by now.

        One that worked in an earlier run is known to read something, if that is there.
        """
        first = one.first
        is_usual = (
            one.best is None
            and one.made_up_kinds
            and one.tool.read_only
            and not (_is_hopeless(first) or first.is_slow)
        )
        is_known = one.has_worked and not is_empty(first.reply.result)
        if is_usual and not is_known and self._may_call(one):
            again = self._call(one.tool, first.arguments)
            one.calls.append(again)
            if is_success(again.reply, needs_values=bool(one.attempts.members)):
                one.best = again
                self.world.learn_success(again, {})

    def calls_of(self, tool: str) -> list[Call]:
        """Return the calls of a tool that were made here."""
        return self._tools[tool].calls if tool in self._tools else []

    def best_of(self, tool: str) -> Call | None:
        """Return the call that worked best; None if none of those made here worked better than the first."""
        return self._tools[tool].best if tool in self._tools else None

    def _begun(self, call: Call) -> Explored:
        """Take the first call of a tool: it teaches, and decides whether the tool needs exploration."""
        tool = call.tool
        attempts = Attempts(tool, self._revision, self.world)
        one = self._tools[tool.name] = Explored(attempts, call)
        if tool.name in self.replayed:
            one.is_left = one.has_worked = True
            return one
        one.is_left = _is_hopeless(call) or not one.attempts.members or self.world.is_given_up(call)
        one.worked_elsewhere = self.world.has_worked(tool)
        one.attempts.refused.needed.update(dict.fromkeys(self.world.needed.get(tool.name, ())))
        recalled = [one.arguments for one in self.world.worked[tool.name]]
        for made in call.with_others:
            # What worked in an earlier run may work again when other tools have made what it names.
            if made.arguments not in recalled:
                one.attempts.skip(made.arguments)
        if is_success(call.reply, needs_values=bool(one.attempts.members)):
            self._makes += not tool.read_only
            one.made_up_kinds.add(kind_of(call.reply, call.arguments))
            one.curious = MAX_CURIOUS if tool.read_only else 1
            one.has_worked = bool(self.world.worked[tool.name])
            one.is_left |= one.has_worked or call.is_slow
            self._learn(one, call, {})
            return one
        self.world.worked.drop(tool.name, call.arguments)
        if not one.is_left:
            for failed in reversed(call.with_others):
                one.attempts.learn(failed, {})
        return one

    def _make_spare(self, one: Explored) -> None:
        """Make what a tool may take away: once more what others for the same thing made, by another name."""
        made = [each for each in self.world.siblings_of(one.tool) if self._makes_things(each.tool)]
        text = self.world.ownership.text
        producing = [
            each for each in made if set(words_of(each.tool)) & PRODUCING and text in str(each.arguments)
        ]
        for working in (producing or made)[:MAX_SPARES]:
            maker, spare = self._tools[working.tool], self.world.spare_of(working)
            if not self._may_call(maker):
                return
            call = self._call(maker.tool, dict(spare.arguments))
            maker.calls.append(call)
            if is_success(call.reply):
                one.attempts.add_spare(spare, self.world.learn_spare(call, spare))

    def _uses_of(self, tool: Tool) -> int:
        """Return how many tools name the thing that one deletes: what others are in goes last."""
        things = things_of(tool.name)
        return sum(
            any(set(words_of(member.name)) & things for member in one.attempts.members)
            for one in self._tools.values()
        )

    def _makes_things(self, name: str) -> bool:
        maker = self._tools.get(name)
        return maker is not None and not maker.tool.read_only and not is_deleting(maker.tool)

    def _rounds(self, tools: list[Explored]) -> None:
        for _ in range(MAX_ROUNDS):
            learned = [self._turn(one) for one in tools if not one.is_left]
            if not any(learned):
                return

    def _turn(self, one: Explored) -> bool:
        """Call a tool several times, until it works; return whether the world has learned something."""
        before = (self.world.version, self._makes)
        options = one.attempts.options
        if options == one.options and (one.makes == self._makes or not one.attempts.refused.misses):
            return False
        if one.makes != self._makes:
            one.attempts.try_again()
        one.options, one.makes = options, self._makes
        one.attempts.refused.same = 0
        for _ in range(MAX_ROUND_CALLS if not one.curious else one.curious):
            attempt = one.attempts.next() if self._may_call(one) else None
            if attempt is None or (one.curious and not self._is_worthwhile(one.tool, attempt)):
                break
            self._try(one, attempt)
            if one.is_left or one.attempts.refused.is_repetitive:
                break
        one.is_left |= not self._may_call(one) or bool(one.curious) or one.attempts.is_stuck
        return (self.world.version, self._makes) != before

    def _may_call(self, one: Explored) -> bool:
        """Return whether a tool may be called once more; one that was cut off may work in another run."""
        most = self._limit(one.tool)
        one.is_hopeless |= most <= 0
        return len(one.calls) < min(MAX_ELSEWHERE if one.worked_elsewhere else MAX_CALLS, most)

    def _is_worthwhile(self, tool: Tool, attempt: Attempt) -> bool:
        """Return whether a tool that works may learn from arguments: they have a value that the server knows.

        What it makes of our own text is recognised as ours.
        """
        text = self.world.ownership.text
        return any(
            (one.origin.kind not in MADE_UP and one.owner is not Owner.WORD)
            or (not tool.read_only and text in str(one.value))
            for one in attempt.known.values()
        )

    def _try(self, one: Explored, attempt: Attempt) -> None:
        call = self._call(one.tool, attempt.arguments)
        one.calls.append(call)
        # Not measured: the first statement of DuckDB took over 2 s on a busy machine, and others 0.1 s.
        is_slow_again = call.is_slow and any(each.is_slow for each in (one.first, *one.calls[:-1]))
        if _is_hopeless(call) or is_slow_again:
            one.is_left = one.is_hopeless = True
        elif is_success(call.reply):
            self._makes += not one.tool.read_only
            is_best = kind_of(call.reply, call.arguments) not in one.made_up_kinds
            self._learn(one, call, attempt.known, is_best=is_best)
            if is_best:
                one.best, one.is_left = call, True
            self._read_rows(one, attempt)
        else:
            if is_success(call.reply, needs_values=False):
                self.world.note_step(call, attempt.known, is_silent=True)
            one.attempts.learn(call, attempt.known)

    def _learn(
        self, one: Explored, call: Call, known: Mapping[Path, Known], *, is_best: bool = False
    ) -> None:
        """Learn from a call that worked; make it again if that may show whose the id in its answer is."""
        calls = [call]
        if self.world.makers.may_make(call) and self._may_call(one):
            again = self._call(one.tool, deepcopy(call.arguments))
            one.calls.append(again)
            self.world.makers.compare(call, again)
            calls += [again] if is_success(again.reply) else []
        for each in calls:
            self.world.learn_success(each, known, one.attempts.refused.needed, is_best=is_best)

    def _read_rows(self, one: Explored, made: Attempt) -> None:
        """Store a row in the table that a statement has made, and read it: that answer has rows."""
        for attempt in one.attempts.storing(made):
            self.world.add(known for known in attempt.known.values() if known.origin.kind == STORED)
            call = self._call(one.tool, attempt.arguments) if self._may_call(one) else None
            if call is None:
                return
            one.calls.append(call)
            if not is_success(call.reply, needs_values=False):
                return
            reads = any(known.origin.kind == STORED for known in attempt.known.values())
            if is_success(call.reply):
                self.world.learn_success(call, attempt.known, is_best=reads)
                one.best = call if reads else one.best
            else:
                self.world.note_step(call, attempt.known)


def needs_exploration(call: Call) -> bool:
    """Return whether a call did not work, and other arguments may."""
    has_members = bool(members_of(call.tool.input_schema))
    return has_members and not _is_hopeless(call) and not is_success(call.reply)


def _is_hopeless(call: Call) -> bool:
    """Return whether other arguments lead nowhere: no answer, a network, a task, the client."""
    reply = call.reply
    needs_more = asks_client(reply) or bool(call.asked) or call.tool.task_support == "required"
    return reply.fault is not None or needs_more or bool(complaint_about_network(reply))


def _order(one: Explored) -> int:
    """Return the place of a tool by the first guess: what makes, lists and writes, uses, and ends.

    A tool that works and may write has made something already, and makes more with other arguments.
    """
    words, may_write = set(words_of(one.tool.name)), not one.tool.read_only
    if words & ENDING:
        return 3
    if may_write and (one.curious or words & PRODUCING):
        return 0
    return 1 if words & LISTING or (words & WRITING and may_write) else 2
