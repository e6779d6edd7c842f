"""The world of a run: what is known of the server's values, and the arguments that worked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.answers import values_of
from mcp_conformance.world.filling import Filling, put
from mcp_conformance.world.fitting import MAX_FITS, fitting, is_id_of, is_path
from mcp_conformance.world.folder import PLACEHOLDER, Folder
from mcp_conformance.world.jail import Jail
from mcp_conformance.world.kept import Kept
from mcp_conformance.world.known import Known, Origin, Owner, is_worth_knowing
from mcp_conformance.world.makers import Makers
from mcp_conformance.world.members import Member, members_of, words_of
from mcp_conformance.world.naming import Places
from mcp_conformance.world.ours import MIN_HIDDEN
from mcp_conformance.world.ownership import Ownership, is_deleting
from mcp_conformance.world.steps import Step, Steps
from mcp_conformance.world.store import Store, is_number
from mcp_conformance.world.success import leaves_of
from mcp_conformance.world.things import is_name, things_of
from mcp_conformance.world.variation import Variation
from mcp_conformance.world.wording import kind_of_refusal, without_numbers
from mcp_conformance.world.worked import Path, Worked, Working, in_order, values_at

MADE_UP = ("arguments of", "made up")
"""The kinds of origins of values that nobody knew before a call had them."""


MAX_NAME = 60
"""The most characters of a tool's name in the name of a file."""


class World:
    """What a run knows of a server: values, arguments that worked, and what is whose.

    All values for a tool come from the ``store``, which keeps the rule of ownership; the ``jail`` holds what
    tools that may write get, by the ``places`` in which names may exist; ``makers`` knows which tools name
    what they make.  ``folder`` is the furnished one, if the server works in one; ``kept`` has what earlier
    runs learned, ``steps`` the calls of this run that did something.  ``given`` are the arguments that the
    user gives, by tool.  ``given_up`` has the names of tools that were explored in vain, with the refusals of
    the plainest arguments, ``needed`` the members with which tools worked in an earlier run, ``names`` those
    of all that are known.
    """

    def __init__(
        self,
        ownership: Ownership,
        folder: Folder | None = None,
        kept: Kept | None = None,
        given: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
        places: Places | None = None,
    ):
        self.store = Store(ownership)
        self.jail = Jail(self.store, places)
        self.makers = Makers(self.store)
        self.folder, self._kept = folder, kept
        self.worked = Worked()
        self.steps = Steps()
        self.given_up: dict[str, str] = {}
        self.names: set[str] = set()
        self.needed: dict[str, Sequence[Path]] = {}
        self._given, made = given, ownership.ours
        texts = {text for some in given.values() for one in some for text in _texts_in(one)}
        self._given_texts = {text for text in texts if not (made.is_made(text) or text in made.texts)}
        self._retries = False
        self._spares = 0
        self._turns: Counter[bytes] = Counter()
        self._members: dict[str, list[Member]] = {}
        self._fits: dict[tuple[Any, ...], list[Known]] = {}

    @property
    def ownership(self) -> Ownership:
        """Whose values are."""
        return self.store.ownership

    def add(self, some: Iterable[Known]) -> None:
        """Add known values to the store."""
        self.store.add(some)

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes when something is learned."""
        return len(self.store), self.worked.changes

    def _members_of(self, tool: Tool) -> list[Member]:
        if tool.name not in self._members:
            self._members[tool.name] = members_of(tool.input_schema)
        return self._members[tool.name]

    def copy_name(self, tool: Tool) -> str:
        """Return the name, without its ending, of the copies of our files that a tool may change."""
        return f"{self.ownership.text}-{re.sub(r'[^A-Za-z0-9_-]', '-', tool.name)[:MAX_NAME]}"

    def is_copy_of_another(self, value: Any, tool: Tool) -> bool:
        """Return whether a value is the path of a copy that another tool may change."""
        mark = f"{self.ownership.text}-"
        return isinstance(value, str) and mark in value and self.copy_name(tool) not in value

    def make_copies(self, arguments: Mapping[str, Any]) -> None:
        """Make the copies of our files that arguments name."""
        if self.folder is not None:
            self.folder.make_copies(leaves_of(arguments), f"{self.ownership.text}-")

    def fits(self, tool: Tool, member: Member, filling: Filling) -> list[Known]:
        """Return the values that fit a member of a tool's arguments, the likeliest first."""
        key = (tool.name, member.path, self.version)
        if key not in self._fits:
            worked = [*self.worked.values_for(member), *self.worked.values_like(member)]
            known = self.store.permitted(tool)
            self._fits[key] = fitting(member, known, worked, lambda value: filling.fits(member, value))
        return self._fits[key]

    def siblings_of(self, tool: Tool, wanted: Collection[str] = ()) -> list[Working]:
        """Return the arguments that worked for other tools for the same thing, such as `set_note`.

        Those for a thing in the words of what is ``wanted`` come first: `set_table`, if there is no table.
        """
        things, wanted = things_of(tool.name), frozenset(wanted)
        others = [(one, things_of(one.tool)) for one in self.worked if one.tool != tool.name]
        found = [(one, its) for one, its in others if things & its or (its and its <= wanted)]
        found.sort(key=lambda one: (not one[1] or not one[1] <= wanted, len(things ^ one[1])))
        return [one for one, _ in found]

    def values_in(
        self, working: Working, members: Iterable[Member], *, newest: bool = False
    ) -> dict[Path, Known]:
        """Return the values that arguments, or else answers to them, have for members named like these.

        Of several answers the first counts, or the ``newest``.
        """
        found: dict[Path, Known] = {}
        own = {words_of(one.name): one for one in reversed(self._members.get(working.tool, []))}
        for member in members:
            like = own.get(words_of(member.name)) or self._name_of(member, working)
            values = values_at(working.arguments, like.path) if like is not None else []
            values = values or self._answered(member, working)[:: -1 if newest else 1]
            if values and is_worth_knowing(values[0]) and not self._is_secret(values[0], member):
                origin = Origin("arguments of", working.tool)
                sent = working.known.get(like.path) if like is not None else None
                known = sent or (None if is_number(values[0]) else self.store.get(values[0]))
                owner = Owner.FOUND if self._is_given(working.tool, working.arguments) else Owner.MADE
                found[member.path] = known or Known(values[0], member.names, origin, owner)
        return found

    def _answered(self, member: Member, working: Working) -> list[Any]:
        """Return the values that the answers of a tool have under the name of a member."""
        origin, words = Origin("an answer of", working.tool), words_of(member.name)
        return [one.value for one in self.store if one.origin == origin and words_of(one.keys[0]) == words]

    def _name_of(self, member: Member, working: Working) -> Member | None:
        """Return the member with the name of a thing, if a member names that: `sheet`, `create_sheet`."""
        names = [one for one in self._members[working.tool] if is_name(one)]
        is_thing = set(words_of(member.name)) <= things_of(working.tool)
        return names[0] if is_thing and names else None

    def spare_of(self, working: Working) -> Working:
        """Return arguments that make another thing than these made, if that had a name of our own."""
        self._spares += 1
        old, new = self.ownership.text, f"{self.ownership.text}x{self._spares}"
        made = {
            path: replace(one, value=one.value.replace(old, new))
            for path, one in working.known.items()
            if one.origin.kind in MADE_UP and isinstance(one.value, str)
        }
        arguments = deepcopy(dict(working.arguments))
        for path, one in made.items():
            put(arguments, path, one.value)
        return replace(working, arguments=arguments, known={**working.known, **made})

    def turn_of(self, variation: Variation, revision: str) -> dict[str, Any] | None:
        """Return the arguments of the next turn of a call, with a text that no turn had; None without any."""
        self._turns[variation.key] += 1
        text = f"{self.ownership.text}t{self._turns.total()}"
        made = variation.turn(self._turns[variation.key], text, revision)
        if made is not None:
            self.make_copies(made)
        return made

    def learn_spare(self, call: Call, spare: Working) -> set[bytes]:
        """Learn from the call that made a spare thing; return the values that came with it, as JSON texts."""
        before = {encode(one.value) for one in self.store}
        self.note_step(call, spare.known, spare.needed)
        self._learn_values(call, spare.known)
        return {encode(one.value) for one in self.store} - before

    def working(self, tool: Tool, revision: str) -> list[Mapping[str, Any]]:
        """Return the arguments with which a tool worked, the best first, that it allows in a revision."""
        filling = Filling(tool.input_schema, revision)
        return [one.arguments for one in self.worked[tool.name] if filling.allows(one.arguments)]

    @contextmanager
    def shared(self, tools: Sequence[Tool], max_seconds: float) -> Iterator[None]:
        """Explore these tools while no other process explores them; keep what was learned.

        Wait for others at most so long.
        """
        if self._kept is None:
            yield
            return
        with self._kept.turn(max_seconds):
            self.recall(tools)
            yield
            for tool in self.in_order(tools):
                self._keep(self._kept, tool)
            if self.steps.is_open:
                self.steps.close()
                best = {tool.name: one.arguments for tool in tools if (one := self._kept.working(tool))}
                self._kept.put_steps({tool.name: tool for tool in tools}, self.steps.useful(best))
            self._kept.write()

    def kept_steps(self, tools: Iterable[Tool]) -> list[Step]:
        """Return the calls of an earlier run to tools that are the same; none after those of this run."""
        return list(self._kept.steps(tools)) if self._kept is not None and self.steps.is_open else []

    def here(
        self, tool: Tool, step: Step, working: Working, is_made: Callable[[Known], bool]
    ) -> Working | None:
        """Return the arguments of an earlier run's step, as this run may make it; None if it may not.

        ``working`` has the names that things have in this run, ``is_made`` says whether it has made a value.
        """
        if step.given is not None:
            given = self._given.get(tool.name, ())[step.given : step.given + 1]
            return Working(tool.name, given[0]) if given else None
        is_inside = self.store.is_inside(tool, working.arguments)
        known = {
            path: replace(one, owner=Owner.FOUND)
            if one.owner is Owner.MADE and not (is_inside or self._is_ours(one.value) or is_made(one))
            else one
            for path, one in working.known.items()
        }
        if len(self.store.permitted(tool, known.values())) < len(known):
            return None
        self.jail.note(tool, (one.value for one in known.values()))
        return replace(working, known=known, is_recalled=False)

    def in_order(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return tools in the order in which they worked, the others last: they may need what those make."""
        return in_order(tools, self.worked.tools)

    def keep(self, tool: Tool) -> None:
        """Keep arguments that worked for the next run; for tools that are explored, `shared` does it."""
        if self._kept is not None and (works := self._own(tool)) and self._kept.working(tool) != works[0]:
            self._kept.put(tool, works[0])
            self._kept.write()

    def _keep(self, kept: Kept, tool: Tool) -> None:
        if works := self._own(tool):
            # What a run makes it must recognise by its text: others work on it.
            marked = (one for one in works if self.ownership.text in str(one.arguments))
            kept.put(tool, next(marked, works[0]), self.makers.keys_of(tool.name))
        if tool.name in self.given_up:
            kept.put_futile(tool, self.given_up[tool.name])

    def _own(self, tool: Tool) -> list[Working]:
        """Return the arguments that worked and have no text that the user gave: that may be a credential."""
        given = self._given_texts
        return [one for one in self.worked[tool.name] if given.isdisjoint(_texts_in(one.arguments))]

    def has_worked(self, tool: Tool) -> bool:
        """Return whether a tool has worked in this run."""
        return any(not one.is_recalled for one in self.worked[tool.name])

    def give_up(self, call: Call) -> None:
        """Note that a tool was explored in vain, whose plainest call was refused so."""
        self.given_up[call.tool.name] = self._lasting_refusal(call)

    def is_given_up(self, call: Call) -> bool:
        """Return whether a tool was explored in vain in this run, or in one before that refused it so too."""
        if self._kept is None or self._retries or call.tool.name in self.given_up:
            return call.tool.name in self.given_up
        refusal = self._lasting_refusal(call)
        if self._kept.is_futile(call.tool, refusal):
            self.given_up[call.tool.name] = refusal
        return call.tool.name in self.given_up

    def _lasting_refusal(self, call: Call) -> str:
        """Return what a refusal says without the paths of this run."""
        said = kind_of_refusal(call.reply, call.arguments)
        said = f"after a success: {said}" if self.has_worked(call.tool) else said
        for folder in self.ownership.ours.folders:
            said = said.replace(without_numbers(folder), PLACEHOLDER)
        return self._kept.lasting(said) if self._kept is not None else said

    def retry(self) -> None:
        """Explore again what earlier runs explored in vain."""
        self._retries = True
        self.given_up.clear()

    def meet(self, tools: Sequence[Tool], revision: str) -> None:
        """Learn which tools the server has, and what an earlier run has kept of these, and no others."""
        self.jail.meet(tools, revision)
        self.names.update(tool.name for tool in tools)
        if self._kept is not None:
            self._kept.meet(tools)
            self.recall(tools)

    def recall(self, tools: Iterable[Tool]) -> None:
        """Learn what an earlier run has kept of tools; a tool gets only what it may get in this one.

        What that run made was there before this one, if it is there still: a tool that may write does not get
        it.  It is no known value, as this run may make the same again.
        """
        if self._kept is None:
            return
        for tool in self._kept.in_order(tools):
            if self.worked[tool.name]:
                continue
            if (keys := self._kept.names_of_made(tool)) is not None:
                self.makers.recall(tool.name, keys)
            working = self._kept.working(tool)
            if working is not None:
                self._recall(tool, working)

    def _recall(self, tool: Tool, working: Working) -> None:
        values = list(working.known.values())
        old = [one for one in values if one.owner is Owner.MADE and not self._is_ours(one.value)]
        found = [replace(one, owner=Owner.FOUND) for one in old]
        others = self.store.permitted(tool, [one for one in values if one not in old])
        self.store.recall(others)
        self.jail.note(tool, (one.value for one in others))
        if len(self.store.permitted(tool, found)) + len(others) == len(values):
            self.worked.add(working, self._members_of(tool))
        else:
            paths = (member.path for member in self._members_of(tool))
            self.needed[tool.name] = [path for path in paths if values_at(working.arguments, path)]

    def _is_ours(self, value: Any) -> bool:
        """Return whether this run has made, or will make, a value itself."""
        known, ours = self.store.get(value), self.ownership.ours
        is_known = known is not None and known.owner is Owner.MADE
        is_packed = self.folder is not None and self.folder.packs(value)
        return is_known or is_packed or ours.is_made(value) or value in ours.texts

    def origins(self, tool: Tool, arguments: Any) -> tuple[str, ...]:
        """Return where the known values in arguments come from, each origin once; none if all are made up."""
        found: dict[str, None] = {}
        for member in self._members_of(tool):
            for value in values_at(arguments, member.path):
                known = self.store.get(value)
                if known is not None and known.origin.kind not in MADE_UP and _speaks(member, known):
                    found[str(known.origin)] = None
        return tuple(found)

    def known_of(self, tool: Tool, revision: str) -> tuple[dict[Path, list[Any]], list[Path]]:
        """Return known values for the members of a tool that worked with some, and the members it needs.

        Optional members get what worked for their like in other tools, unless the tool takes things away.  A
        tool that only reads gets others that fit too; one that may write stays with those that worked.
        """
        filling = Filling(tool.input_schema, revision)
        values: dict[Path, list[Any]] = {}
        needed: dict[Path, None] = {}
        for working in self.worked[tool.name]:
            needed.update(dict.fromkeys(working.needed))
            for path, known in working.known.items():
                if known.origin.kind not in MADE_UP:
                    values.setdefault(path, []).append(known.value)
        has_values = bool(values)
        for member in self._members_of(tool):
            if has_values and member.path not in values and not is_deleting(tool):
                values[member.path] = self._worked_elsewhere(tool, member, filling)
            elif tool.read_only and member.path in values:
                fits = self.fits(tool, member, filling)
                values[member.path] = [*values[member.path], *(one.value for one in fits)][:MAX_FITS]
        self.jail.note(tool, (value for some in values.values() for value in some))
        return values, list(needed)

    def _worked_elsewhere(self, tool: Tool, member: Member, filling: Filling) -> list[Any]:
        """Return the values that fit a member and worked for members of its name in other tools."""
        fits = self.fits(tool, member, filling) if self.worked.values_for(member) else []
        known = [one for one in fits if one.origin.kind not in MADE_UP]
        return [one.value for one in known if self.worked.times(member, one.value)]

    def learn_success(
        self, call: Call, known: Mapping[Path, Known], needed: Iterable[Path] = (), *, is_best: bool = False
    ) -> None:
        """Keep arguments that worked, their values and those of the answer."""
        tool = call.tool
        working = Working(tool.name, call.arguments, known, tuple(needed))
        self.note_step(call, known, working.needed)
        self.worked.add(working, self._members_of(tool), is_best=is_best)
        self._learn_values(call, known, is_best=is_best)

    def note_step(
        self, call: Call, known: Mapping[Path, Known], needed: Iterable[Path] = (), *, is_silent: bool = False
    ) -> None:
        """Note a call that did something, for the next run to make it again.

        One ``is_silent`` whose answer shows nothing; it counts only for a tool that never shows more.
        One with a text that the user gave for another tool is left out: that may be a credential.
        """
        given = list(self._given.get(call.tool.name, ()))
        place = given.index(call.arguments) if call.arguments in given else None
        if place is not None or self._given_texts.isdisjoint(_texts_in(call.arguments)):
            self.steps.note(call, known, needed, place, is_silent=is_silent)

    def _name_made(self, tool: Tool, value: Any) -> None:
        """Learn the name of what a tool has made, if it stands in a longer text: ``CREATE TABLE name``."""
        text = self.ownership.text
        if not isinstance(value, str) or value == text or is_path(value):
            return
        if found := re.search(rf"(\w*) ?(?:IF NOT EXISTS )?\b{text}\b", value):
            keys = tuple(dict.fromkeys(("name", found[1].lower() or "name", *sorted(things_of(tool.name)))))
            self.store.confirm(Known(text, keys, Origin("arguments of", tool.name), Owner.MADE, 3))

    def _learn_values(self, call: Call, known: Mapping[Path, Known], *, is_best: bool = False) -> None:
        """Learn the values in arguments and in the answer; what the best call of a tool made comes first."""
        tool = call.tool
        is_given = self._is_given(tool.name, call.arguments)
        for member in self._members_of(tool):
            for value in values_at(call.arguments, member.path):
                if self._is_secret(value, member):
                    continue
                is_ours = is_name(member) and self.ownership.ours.is_made(value)
                names = (*member.names, *(sorted(things_of(tool.name)) if is_ours else ()))
                # What the user gives for one tool may be what others must not change.
                is_found = is_given and value not in self.ownership.ours.texts
                owner = Owner.FOUND if is_found else Owner.WORD
                used = known.get(member.path) or Known(value, (), Origin("arguments of", tool.name), owner)
                self.store.confirm(replace(used, value=value, keys=names, rank=4))
                self._name_made(tool, value)
        ours, creates = self.ownership.ours, not tool.read_only
        found = values_of(call.reply.result, tool.name, call.arguments, ours=ours, creates=creates)
        found = self.makers.owned(found, call)
        self.store.learn((replace(one, rank=one.rank + is_best) for one in found), tool, call.arguments)

    def _is_given(self, tool: str, arguments: Any) -> bool:
        """Return whether the user gave these arguments: what they name was there before."""
        return arguments in self._given.get(tool, ())

    def _is_secret(self, value: Any, member: Member) -> bool:
        """Return whether an argument looks like a credential, which no other tool gets."""
        return self.ownership.ours.is_secret(value, member.names)


def _texts_in(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in arguments that can be recognised elsewhere."""
    return (leaf for leaf in leaves_of(arguments) if isinstance(leaf, str) and len(leaf) >= MIN_HIDDEN)


def _speaks(member: Member, known: Known) -> bool:
    """Return whether a value is known rather than equal by chance, as small numbers are."""
    if isinstance(known.value, str) and len(known.value) > 2:
        return True
    name, keys = words_of(member.name), map(words_of, known.keys)
    return any(key == name or is_id_of(key, name) or is_id_of(name, key) for key in keys)
