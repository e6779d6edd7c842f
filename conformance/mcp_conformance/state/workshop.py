"""The workshop: makes things with fresh tokens, looks at them, changes and deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.state.hand import Hand
from mcp_conformance.state.kinds import may_read
from mcp_conformance.state.links import Effect, Handle, Link, Made, Maker, Workable
from mcp_conformance.state.places import structure_of, text_of
from mcp_conformance.state.tokens import Form, Token, Tokens, accented, form_of
from mcp_conformance.world.filling import Filling, put
from mcp_conformance.world.fitting import (
    DATE_WORDS,
    IDENTIFYING,
    PATH_WORDS,
    URL_WORDS,
    anything_for,
    fitting,
    is_path,
)
from mcp_conformance.world.known import Known, Owner
from mcp_conformance.world.members import ITEM, Member, members_of, words_of
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.success import is_success
from mcp_conformance.world.worked import Path, values_at

FAR = 999_331
"""Not measured: how far from a number another one is that names nothing, as a rule."""
RULED = {"enum", "const", "pattern", "format"}
"""Keywords of members that do not take any text."""
WRONG = {"wrong": True}
"""A value of the wrong type for most members."""
MAX_SPOILED = 5
"""Not measured: in how many ways a call is spoiled."""
MAX_FITTING = 2
"""Not measured: how many values are tried at a member, the likeliest first."""
MAX_NAMING = 3
"""Not measured: how many members of a tool are tried for the name of a thing."""


@dataclass(frozen=True, eq=False)
class Look:
    """A call that may show something, and what it shows."""

    call: Call

    @cached_property
    def structure(self) -> Any:
        """What the answer shows."""
        return structure_of(self.call.reply.result)

    @cached_property
    def text(self) -> str:
        """All that it shows as one text."""
        return text_of(self.structure)

    @cached_property
    def is_success(self) -> bool:
        """Whether the tool did what was asked."""
        return is_success(self.call.reply)

    def forms(self, made: Made) -> dict[Path, Form]:
        """Return how it shows the tokens of what was made, except those that the call itself has sent."""
        if self.call.failed:
            return {}
        sent = encode(self.call.arguments).decode()
        found = {
            path: form_of(token, self.structure, self.text)
            for path, token in made.tokens.items()
            if token.core not in sent
        }
        return {path: form for path, form in found.items() if form is not None}

    def shows(self, link: Link, made: Made) -> bool:
        """Return whether it shows what was made as the link does."""
        if not link.shows:
            return self.is_success
        return set(link.shows) <= set(self.forms(made))


class Workshop:
    """Makes and handles things in one process, through a ``hand``.

    ``rename`` gives arguments the names that things have in that process.  ``made`` is what each maker has
    made in it so far; each value that names such a thing is handed to ``note``.
    """

    def __init__(
        self,
        hand: Hand,
        tokens: Tokens,
        ours: Ours,
        revision: str,
        rename: Callable[[dict[str, Any]], dict[str, Any]] = deepcopy,
    ):
        self.hand, self.ours = hand, ours
        self._tokens, self._revision, self._rename = tokens, revision, rename
        self.made: dict[str, list[Made]] = {}
        self.note: Callable[[Any], object] = lambda _: None
        self._fillings: dict[str, Filling] = {}
        self._members: dict[str, list[Member]] = {}

    def filling(self, tool: Tool) -> Filling:
        """Return what fills the arguments of a tool."""
        if tool.name not in self._fillings:
            self._fillings[tool.name] = Filling(tool.input_schema, self._revision)
        return self._fillings[tool.name]

    def members_of(self, tool: Tool) -> list[Member]:
        """Return the members of a tool's arguments."""
        if tool.name not in self._members:
            self._members[tool.name] = members_of(tool.input_schema)
        return self._members[tool.name]

    def _base(self, workable: Workable) -> dict[str, Any]:
        return self._rename(deepcopy(dict(workable.arguments)))

    def token_paths(self, workable: Workable) -> tuple[Path, ...]:
        """Return the paths of texts in arguments that were made up, and may be any others."""
        return tuple(one.path for one in self.members_of(workable.tool) if self._takes_token(workable, one))

    def further_paths(self, workable: Workable) -> tuple[Path, ...]:
        """Return the paths of texts that arguments may have too, and that may be any."""
        return tuple(
            one.path
            for one in self.members_of(workable.tool)
            if len(one.path) == 1
            and not values_at(workable.arguments, one.path)
            and one.types == {"string"}
            and not any(set(part) & RULED for part in one.parts)
            and not set(words_of(one.name)) & (DATE_WORDS | PATH_WORDS | URL_WORDS | IDENTIFYING)
        )

    def _takes_token(self, workable: Workable, member: Member) -> bool:
        values = values_at(workable.arguments, member.path)
        if (
            not values
            or not isinstance(values[0], str)
            or any({"enum", "const"} & set(one) for one in member.parts)
        ):
            return False
        known = workable.known.get(member.path)
        is_other = known is not None and known.origin.kind != "made up" and known.origin.of != workable.name
        if is_other and not (self.ours.has_path(values[0]) and known.owner is Owner.MADE):  # type: ignore[union-attr]
            return False
        if is_path(values[0]):
            is_ours = self.ours.has_path(values[0]) or self.ours.is_cwd
            return is_ours and ".." not in values[0]
        return not set(words_of(member.name)[-1:]) & DATE_WORDS

    def filled(
        self, workable: Workable, paths: tuple[Path, ...], values: Mapping[Path, Any]
    ) -> tuple[dict[str, Any], dict[Path, Token]] | None:
        """Return arguments with these values, and fresh tokens at these paths; None if they are not valid."""
        arguments, tokens = self._base(workable), dict[Path, Token]()
        members = {one.path: one for one in self.members_of(workable.tool)}
        filling = self.filling(workable.tool)
        for path in paths:
            if path in values or path not in members:
                continue
            member, like = members[path], next(iter(values_at(arguments, path)), None)
            token = self._tokens.fresh(member, like, partial(filling.fits, member))
            if token is None or not put(arguments, path, token.value):
                return None
            tokens[path] = token
        for path, value in values.items():
            if not put(arguments, path, value):
                return None
        return (arguments, tokens) if filling.allows(arguments) else None

    def make(self, maker: Maker, values: Mapping[Path, Any] | None = None) -> Made | None:
        """Make a thing with fresh tokens; None if that does not succeed."""
        filled = self.filled(maker.workable, maker.paths, values or {})
        if filled is None:
            return None
        call = self.hand.call(maker.workable.tool, filled[0])
        if not is_success(call.reply, needs_values=False):
            return None
        made = Made(maker, filled[1], call)
        self.made.setdefault(maker.name, []).append(made)
        for _, one in made.handles(self.ours):
            if self._may_write(made, one):
                self.note(one.value)
        return made

    def look(self, reader: Workable, values: Mapping[Path, Any] | None = None) -> Look:
        """Call a tool with its arguments, and these values in them."""
        arguments = self._base(reader)
        for path, value in (values or {}).items():
            put(arguments, path, value)
        return Look(self.hand.call(reader.tool, arguments))

    def read(self, link: Link, made: Made) -> Look:
        """Look at what was made through a link."""
        return self.look(link.reader, self.naming(link, made))

    def naming(self, link: Link | Effect, made: Made) -> dict[Path, Any]:
        """Return the value that names what was made for a tool, at its path; none if it needs none."""
        if link.handle is None:
            return {}
        return {link.member: self.value(made, link.handle)}

    def value(self, made: Made, handle: Handle) -> Any:
        """Return the value of a handle."""
        return made.value(handle, self.ours)

    def apply(self, effect: Effect, made: Made) -> Made | None:
        """Let a tool change or delete what was made; return the call and its tokens, None if it fails."""
        filled = self.filled(effect.writer, effect.paths, self.naming(effect, made))
        if filled is None:
            return None
        call = self.hand.call(effect.writer.tool, filled[0])
        done = Made(Maker(effect.writer, effect.paths), filled[1], call)
        return done if is_success(call.reply, needs_values=False) else None

    def apply_together(self, effect: Effect, made: Made) -> list[Made]:
        """Change what was made by two calls at once; return those that succeed."""
        filled = [self.filled(effect.writer, effect.paths, self.naming(effect, made)) for _ in range(2)]
        given = [one for one in filled if one is not None]
        calls = self.hand.together([(effect.writer.tool, arguments) for arguments, _ in given])
        maker = Maker(effect.writer, effect.paths)
        return [
            Made(maker, tokens, call)
            for (_, tokens), call in zip(given, calls, strict=True)
            if is_success(call.reply, needs_values=False)
        ]

    def rewritten(
        self, reader: Workable, values: Mapping[Path, Any]
    ) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the arguments of a read written in other ways: the rule, how, and the arguments."""
        given = self._base(reader)
        for path, value in values.items():
            put(given, path, value)
        if len(given) > 1:
            yield "state.member-order", "its members in another order", dict(reversed(given.items()))
        whole = {name: one for name, one in given.items() if type(one) is int}
        if whole:
            floats = {name: float(one) for name, one in whole.items()}
            shown = ", ".join(f"`{name}` as {one}" for name, one in floats.items())
            yield "state.number-form", shown, {**given, **floats}
        for member in self.members_of(reader.tool):
            default = next((part["default"] for part in member.parts if "default" in part), None)
            is_usual = (
                len(member.path) == 1 and member.name not in given and isinstance(default, str | int | float)
            )
            if is_usual and not member.is_required and self.filling(reader.tool).fits(member, default):
                how = f"`{member.name}` given, with its default"
                yield "state.default-given", how, {**given, member.name: default}

    def numbers_in(self, effect: Effect) -> Iterator[Path]:
        """Yield the members of a tool that take a number, but for the one that names a thing."""
        for one in self.members_of(effect.writer.tool):
            if len(one.path) == 1 and one.types == {"integer"} and one.path != effect.member:
                yield one.path

    def accented(self, maker: Workable, path: Path) -> str | None:
        """Return a fresh value for a member that has an accented letter; None if it may have none.

        A path gets none: what it names is the file system's.
        """
        like = next(iter(values_at(maker.arguments, path)), None)
        if isinstance(like, str) and is_path(like):
            return None
        value = self.made_up(maker, path, like)
        name = accented(value) if isinstance(value, str) else None
        member = next(one for one in self.members_of(maker.tool) if one.path == path)
        return name if name is not None and self.filling(maker.tool).fits(member, name) else None

    def spoiled(
        self, workable: Workable, paths: tuple[Path, ...], values: Mapping[Path, Any]
    ) -> Iterator[tuple[Made, str]]:
        """Make calls with fresh tokens, these values and something wrong; yield each, and what is wrong.

        The server may have carried one out.
        """
        for path, wrong, said in list(self._wrong(workable, values))[:MAX_SPOILED]:
            filled = self.filled(workable, tuple(one for one in paths if one != path), values)
            if filled is None or not (filled[1] or values):
                continue
            arguments, tokens = filled
            if path[-1] == ITEM and path[:-1] not in values:
                for array in values_at(arguments, path[:-1]):
                    array.append(wrong)
            else:
                put(arguments, path, wrong)
            with suppress(NoExample):  # a call that may not be made
                call = self.hand.call(workable.tool, arguments)
                yield Made(Maker(workable, paths), tokens, call), said

    def _wrong(self, workable: Workable, values: Mapping[Path, Any]) -> Iterator[tuple[Path, Any, str]]:
        """Yield paths, wrong values for them, and words for it; what a tool finds out late comes first."""
        members = [one for one in self.members_of(workable.tool) if one.path not in values]
        for one in members:
            like = next(iter(values_at(workable.arguments, one.path)), None)
            known = workable.known.get(one.path)
            if (
                known is not None
                and known.origin.of not in ("", workable.name)
                and isinstance(like, str | int)
            ):
                other = self.made_up(workable, one.path, like)
                if other is not None and not isinstance(like, bool):
                    yield one.path, other, f"`{one.name}` names nothing"
        for one in members:
            if one.path[-1] == ITEM and len(one.path) == 2:
                yield one.path, WRONG, f"`{one.name}` has a wrong item after a right one"
        for one in members:
            if any("enum" in part for part in one.parts) and len(one.path) == 1:
                yield one.path, "no such value", f"`{one.name}` is none of the allowed values"
        for one in members:
            if len(one.path) == 1 and one.types and not one.types & {"object", "array"}:
                yield one.path, WRONG, f"`{one.name}` is of another type"

    def made_up(self, reader: Workable, member: Path, like: Any) -> Any:
        """Return a value like another one that names nothing; None if there is none.

        A number may name something of somebody else's, so that only tools that read get one.
        """
        if isinstance(like, int):
            return like + FAR if may_read(reader.tool) else None
        found = next(one for one in self.members_of(reader.tool) if one.path == member)
        filling = self.filling(reader.tool)
        token = self._tokens.fresh(found, like, partial(filling.fits, found))
        return None if token is None else token.value

    def namings(
        self, made: Made, workable: Workable, *, may_write: bool
    ) -> Iterator[tuple[Handle, Path, Any]]:
        """Yield how a tool may be told which thing is meant: the handle, the member, and the value for it.

        A member that a value of the same maker filled when the tool worked comes first, then those that fit
        by name; a single required member gets anything.
        """
        handles = {
            encode(one.value): (handle, one) for handle, one in reversed(list(made.handles(self.ours)))
        }
        usable = [one for _, one in handles.values() if not may_write or self._may_write(made, one)]
        filling, count = self.filling(workable.tool), 0
        for member in self._naming_members(made, workable):
            found = self._fits(member, usable, filling, is_alone=self._is_alone(workable.tool, member))
            for one in found[:MAX_FITTING]:
                if (key := encode(one.value)) in handles:
                    yield handles[key][0], member.path, one.value
                elif isinstance(one.value, str | int):  # a number as a text, or the reverse
                    same = [each for each, known in handles.values() if str(known.value) == str(one.value)]
                    yield from ((each, member.path, one.value) for each in same[:1])
            count += bool(found)
            if count >= MAX_NAMING:
                return

    def _fits(self, member: Member, usable: list[Known], filling: Filling, *, is_alone: bool) -> list[Known]:
        fits = partial(filling.fits, member)
        return fitting(member, usable, (), fits) or (anything_for(member, usable, fits) if is_alone else [])

    def _naming_members(self, made: Made, workable: Workable) -> list[Member]:
        """Return the members that may name a thing, those first that the same maker filled before."""
        own = [path for path, known in workable.known.items() if known.origin.of == made.maker.name]
        scalar = [
            one
            for one in self.members_of(workable.tool)
            if not one.types & {"object", "array", "boolean"}
            and not any("enum" in each for each in one.parts)
        ]
        return sorted(
            scalar, key=lambda one: (one.path not in own, not one.is_required and len(one.path) == 1)
        )

    def _is_alone(self, tool: Tool, member: Member) -> bool:
        """Return whether a member is the only one at the top that a tool requires."""
        required = [one.path[0] for one in self.members_of(tool) if one.is_required and len(one.path) == 1]
        return required == [member.path[0]]

    def _may_write(self, made: Made, one: Known) -> bool:
        """Return whether a value names what this run made: it did not exist, or came with what it made."""
        return one.owner is Owner.MADE or any(one.value == token.value for token in made.tokens.values())
