"""The jail: what a tool that may write can be given, wherever a value comes from.

The ownership of values says which known values a tool may get.  The jail holds all others too: plain ones,
those of the fuzzer, of sequences, of recorded calls.  A value that could name something of the user's becomes
one like it that names a thing of this run.  It holds at the wire, as the last thing before a line is sent;
those who make arguments ask it before, so that they know what is sent.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Line, encode
from mcp_conformance.protocol.scalars import Scalar, replaced, scalars
from mcp_conformance.protocol.value import Value
from mcp_conformance.world.filling import Filling
from mcp_conformance.world.fitting import is_path, wants_path
from mcp_conformance.world.known import Owner
from mcp_conformance.world.made_up import another
from mcp_conformance.world.members import ITEM, Member, members_of, words_of
from mcp_conformance.world.naming import Places, is_content, is_fresh, is_id, leads_outside
from mcp_conformance.world.ownership import DELETING
from mcp_conformance.world.store import Store
from mcp_conformance.world.success import leaves_of

PARAMS, NAME, ARGUMENTS = "params", "name", "arguments"
FIXED = frozenset({"enum", "const"})
"""Keywords that list all values of a member."""
ANSWERED = "an answer of"
"""The kind of the origin of what an answer has."""
PLAIN = "example"
"""The text that a generator makes where nothing is known."""
OUTSIDE = "outside"
"""The folder of ours that stands for the root of the file system."""
LETTERS = str.maketrans("0123456789", "ghijkmnpqr")
"""What takes the place of digits where a member takes letters only."""
# Not measured: a name of three characters is likelier to exist.
MIN_SHORT = 4
EDGE = 2**31 - 1
"""No id is as great by chance: from here on a number is one of the edges at which representations change."""
CALL = b"tools/call"
NAMED = re.compile(rb'"name"\s*:\s*("(?:[^"\\]|\\.)*+")')
_NO_DEFINITION = Value({})


class Cell:
    """What the jail knows of one tool."""

    def __init__(self, tool: Tool, revision: str):
        self.tool = tool
        self.is_deleting = bool(set(words_of(tool.name)) & DELETING)
        self._revision = revision

    @cached_property
    def members(self) -> Mapping[tuple[str, ...], Member]:
        """The declared members of its arguments, by path."""
        return {one.path: one for one in members_of(self.tool.input_schema)}

    @cached_property
    def filling(self) -> Filling:
        """What judges values of its members."""
        return Filling(self.tool.input_schema, self._revision)

    @cached_property
    def is_told_by_number(self) -> bool:
        """Whether a number is all that says which thing is meant."""
        needed = [one for one in self.members.values() if one.is_required and not is_content(one)]
        return not any("string" in one.types or not one.types for one in needed)

    def member(self, steps: Iterable[str | int]) -> Member:
        """Return the member at a path, which need not be declared."""
        path = tuple(ITEM if isinstance(step, int) else step for step in steps)
        return self.members.get(path) or Member(path, {})


class Jail:
    """Holds the arguments of the tools that may write, by what the ``store`` knows of values.

    ``places`` are the folders in which a relative name may exist; ``cores`` are the fresh words of sequences.
    ``is_confined`` says whether something else keeps the user's files safe from the server.
    """

    def __init__(self, store: Store, places: Places | None = None):
        self._store, self._places = store, places if places is not None else Places()
        self.cores: set[str] = set()
        self.is_confined: Callable[[], bool] = lambda: False
        self._cells: dict[str, Cell] = {}
        self._vouched: dict[str, set[bytes]] = defaultdict(set)
        self._words: dict[str, set[bytes]] = defaultdict(set)
        self._liars: set[str] = set()
        token = store.ownership.text
        letters = PLAIN + token[len(PLAIN) :].translate(LETTERS)
        self._words_of_run = (token, letters, token.upper(), letters.upper())
        self._number = 700_000_000 + crc32(token.encode()) % 100_000_000

    def meet(self, tools: Iterable[Tool], revision: str) -> None:
        """Learn which tools there are; one that may write in any revision is held in each."""
        for tool in tools:
            known = self._cells.get(tool.name)
            if known is None or (known.tool.read_only and not tool.read_only):
                self._cells[tool.name] = Cell(tool, revision)

    def distrust(self, name: str) -> None:
        """Hold a tool that says that it only reads, and was seen to write."""
        self._liars.add(name)

    def vouch(self, name: str, arguments: Any) -> None:
        """Let a tool have the values that the user gives for it."""
        self._vouched[name] |= set(map(encode, leaves_of(arguments)))

    def note(self, tool: Tool, values: Iterable[Any]) -> None:
        """Let a tool have values that the ownership permits it, as far as they name nothing that exists.

        One that was found before, and not only in an answer to such a call, may be somebody's.
        """
        known = ((one, self._store.get(one)) for one in values)
        self._words[tool.name] |= {
            encode(one) for one, seen in known if seen is None or seen.owner is not Owner.FOUND
        }

    def holds(self, name: str) -> bool:
        """Return whether the arguments of a tool are held: it may write something of the user's.

        It may if it does not say that it only reads, if it was seen to write, and if its name begins with a
        verb that takes things away.
        """
        if self._store.ownership.is_closed:
            return False
        cell = self._cells.get(name)
        is_trusted = name not in self._liars and not DELETING & set(words_of(name)[:1])
        return cell is None or not (cell.tool.read_only and is_trusted)

    def taken(self, name: str, arguments: Any) -> list[str]:
        """Return what in recorded arguments of a tool names something of the user's that it may not get."""
        ownership = self._store.ownership
        if self.is_confined() or ownership.uses_found or not self.holds(name):
            return []
        return list(self._places.taken(arguments, ownership.ours))

    # What is sent

    def line(self, line: Line, made: Collection[bytes] = ()) -> Line:
        """Return a line of the client with the arguments of its calls as they may be sent.

        ``made`` are values that the calls of its session have made, as JSON texts.  Raises `NoExample` for a
        call that may not be made.
        """
        if CALL not in line.raw or not self._may_hold(line.raw):
            return line
        raw = self._held(line.raw, made)
        if raw == line.raw:
            return line
        if line.message is ABSENT or PARAMS not in line.message:
            return line.with_raw(raw)
        return Line(True, raw, line.at, json.loads(raw))

    def arguments(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return arguments as they may be sent; None if the schema does not allow them any longer."""
        self.meet([tool], revisions.LATEST_HANDSHAKE)
        before = encode(arguments)
        held = self.text(tool.name, before, must_stay_valid=True)
        if held == before:
            return arguments
        made: dict[str, Any] | None = None if held is None else json.loads(held)
        return made

    def plain(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return plain arguments of a tool that only reads, with the name that those get which write."""
        self.meet([tool], revisions.LATEST_HANDSHAKE)
        cell, before = self._cells[tool.name], encode(arguments)
        token = encode(self._store.ownership.text)
        names = (one for one in scalars(before) if one.text == PLAIN and not one.is_name)
        named = ((one, token) for one in names if not is_content(cell.member(one.path)))
        made: dict[str, Any] = json.loads(replaced(before, named))
        return made if cell.filling.allows(made) else arguments

    def text(self, name: str, arguments: bytes, *, must_stay_valid: bool = False) -> bytes | None:
        """Return the JSON text of arguments of a tool as it may be sent.

        None if they must stay valid, and would not.
        """
        if not self.holds(name):
            return arguments
        try:
            held = replaced(arguments, self._changes(name, list(scalars(arguments)), 0, ()))
        except NoExample:
            if must_stay_valid:
                return None
            raise
        cell = self._cells.get(name)
        if must_stay_valid and held != arguments and cell is not None:
            allows = cell.filling.allows
            return None if allows(json.loads(arguments)) and not allows(json.loads(held)) else held
        return held

    def _may_hold(self, raw: bytes) -> bool:
        """Return whether some text in a line may be the name of a tool that is held: most name none."""
        return any(self.holds(_text_of(one)) for one in NAMED.findall(raw))

    def _held(self, raw: bytes, made: Collection[bytes]) -> bytes:
        names: dict[tuple[str | int, ...], str] = {}
        given: dict[tuple[str | int, ...], list[Scalar]] = defaultdict(list)
        for one in scalars(raw):
            at = one.path.index(PARAMS) if PARAMS in one.path[:2] else -1
            inner = one.path[at + 1 : at + 2] if at >= 0 else ()
            if inner == (NAME,) and not one.is_name and len(one.path) == at + 2:
                names[one.path[:at]] = one.text or ""
            elif inner == (ARGUMENTS,):
                given[one.path[:at]].append(one)
        changes = [
            change
            for prefix, some in given.items()
            if self.holds(name := names.get(prefix, ""))
            for change in self._changes(name, some, len(prefix) + 2, made)
        ]
        return replaced(raw, sorted(changes, key=lambda change: change[0].start)) if changes else raw

    def _changes(
        self, name: str, given: Collection[Scalar], depth: int, made: Collection[bytes]
    ) -> Iterator[tuple[Scalar, bytes]]:
        """Yield what takes the place of scalars of arguments, whose paths begin at a ``depth``."""
        cell = self._cells.get(name) or Cell(Tool(_NO_DEFINITION), "")
        self._require_name(cell, given, depth)
        is_inside = self._is_inside(cell, given, depth)
        for one in given:
            path = one.path[depth:]
            member = cell.member(path)
            is_declared = member.path in cell.members
            takes_any = is_declared and not member.types - {"object"}
            if one.is_name and not (takes_any and (*member.path, one.text) not in cell.members):
                continue
            if cell.members and not is_declared and one.text is None:
                continue
            new = self._new(cell, member, one, made, is_inside=is_inside)
            if new is not None:
                yield one, encode(new)

    def _require_name(self, cell: Cell, given: Collection[Scalar], depth: int) -> None:
        """Raise `NoExample` if a tool that takes things away would not be told which, and nothing holds it.

        Many take the folder that they work in for what they are not told.
        """
        if not cell.is_deleting or self.is_confined():
            return
        told = {
            cell.member(one.path[depth:]).path
            for one in given
            if not one.is_name and (one.text is not None or one.number is not None)
        }
        for path, member in cell.members.items():
            is_name = member.is_required and "string" in member.types and not is_content(member)
            if is_name and path not in told:
                name = cell.tool.name
                raise NoExample(f"{name} takes things away, and is not called without {member.name!r} here")

    def _is_inside(self, cell: Cell, given: Collection[Scalar], depth: int) -> bool:
        """Return whether arguments are about what is in a file of ours: each path in them is one."""
        texts = [(cell.member(one.path[depth:]), one.text) for one in given if not one.is_name]
        paths = [text for member, text in texts if text is not None and wants_path(member)]
        others = [text for member, text in texts if text is not None and not is_content(member)]
        ours = self._store.ownership.ours
        are_ours = bool(paths) and all(is_fresh(text, self._marks(text), ours) for text in paths)
        return are_ours and not any(leads_outside(text, ours) for text in others)

    def _marks(self, text: str) -> list[str]:
        """Return the words of this run, which nobody else has, that may be in a text."""
        return [*self._words_of_run, *(core for core in self.cores if core in text)]

    # One value

    def _new(
        self, cell: Cell, member: Member, one: Scalar, made: Collection[bytes], *, is_inside: bool
    ) -> Any:
        """Return what is sent in place of a value; None if that is the value itself."""
        text, number = one.text, one.number
        if text is None and number is None:
            return None
        key = encode(text) if text is not None else one.raw
        if key in self._vouched[cell.tool.name] or key in made:
            return None
        if text is None:
            assert number is not None
            return self._new_number(cell, member, number)
        if self._may_send(cell, member, text, is_inside=is_inside):
            return None
        return self._like(cell, member, text)

    def _may_send(self, cell: Cell, member: Member, text: str, *, is_inside: bool) -> bool:
        """Return whether a text names a thing of this run, or nothing."""
        ours = self._store.ownership.ours
        if is_fresh(text, self._marks(text), ours) or (is_content(member) and not cell.is_deleting):
            return True
        if any(word.endswith(text) for word in self._words_of_run) and len(text) >= MIN_SHORT:
            return True
        if self._is_made(cell.tool, text):
            return True
        if leads_outside(text, ours):
            return False
        if is_inside and not wants_path(member):
            return True
        is_fixed = any(text in _values(part, FIXED) for part in member.parts)
        is_name = cell.is_deleting or wants_path(member) or is_path(text) or text == PLAIN
        is_word = not is_name and _is_named(text) and self._is_word(cell, member, text)
        return (is_fixed or is_word) and not self._places.has(text)

    def _is_word(self, cell: Cell, member: Member, text: str) -> bool:
        """Return whether a text is a word of the schema, or of the world, that the tool may have."""
        known = self._store.get(text)
        if known is not None and known.origin.kind == "folder" and not self._places.are_ours:
            return False
        is_said = any(text in _values(part, ("default", "examples")) for part in member.parts)
        return is_said or encode(text) in self._words[cell.tool.name]

    def _is_made(self, tool: Tool, value: Any) -> bool:
        """Return whether a value names what a call has made, or the user lets tools have what was found."""
        known = self._store.get(value)
        if known is None or known.owner is Owner.WORD:
            return False
        is_found = known.owner is Owner.FOUND
        is_ours = self._store.ownership.uses_found if is_found else known.origin.kind == ANSWERED
        return is_ours and bool(self._store.permitted(tool, [known]))

    def _like(self, cell: Cell, member: Member, text: str) -> str | None:
        """Return a text like another one, and as valid, that names a thing of this run.

        None if the member takes no such text, and this one names nothing.
        """
        fits, ours = cell.filling.fits, self._store.ownership.ours
        was_valid = fits(member, text)
        fresh = [one for one in self._forms(text) if is_fresh(one, self._marks(one), ours)]
        ends = (one[-size:] for one in self._words_of_run for size in (MIN_SHORT + 1, MIN_SHORT))
        short = (one for one in ends if not self._places.has(one))
        for one in (*fresh, *short):
            if fits(member, one) == was_valid:
                return one
        is_taken = leads_outside(text, ours) or self._places.has(text) or not _is_named(text)
        return fresh[0] if is_taken or cell.is_deleting or is_path(text) else None

    def _forms(self, text: str) -> Iterator[str]:
        """Yield texts like another one that have the word of this run."""
        token = self._store.ownership.text
        if leads_outside(text, self._store.ownership.ours):
            yield from self._decoys(text.strip(), token)
        elif is_path(text):
            yield str(another(text, token))
        if text != PLAIN:
            yield f"{text}{token}"
            yield f"{text[: -len(token)]}{token}"
        yield from self._words_of_run
        yield f"{token}@example.com"
        yield f"https://example.com/{token}"

    def _decoys(self, place: str, token: str) -> Iterator[str]:
        """Yield texts of the same kind as a place that lead to one of ours."""
        inner = place.removeprefix("file://").strip("/\\~")
        if place.startswith(("/", "file:", "\\")):
            for folder in self._store.ownership.ours.folders[:1]:
                scheme = "file://" if place.startswith("file:") else ""
                yield f"{scheme}{folder}/{OUTSIDE}/{inner}"
                yield f"{scheme}{folder}/{OUTSIDE}/{token}"
        if "%" in place:
            yield f"%2e%2e%2f{token}"
        if ".." in place:
            yield f"../{token}"
        if place[1:2] == ":":
            yield f"{place[:2]}{token}"
        if place:
            yield f"~{token}" if place.startswith("~") else f"./{token}"

    def _new_number(self, cell: Cell, member: Member, number: float) -> int | None:
        """Return the number that is sent in place of another one; None if that may be sent."""
        is_naming = is_id(member) or (cell.is_deleting and cell.is_told_by_number and member.is_required)
        is_naming |= "string" in member.types and not is_content(member)
        is_safe = not abs(number) < EDGE or number != int(number) or number == self._number
        if not is_naming or is_safe or self._is_made(cell.tool, int(number)):
            return None
        if any(number in _values(part, FIXED) for part in member.parts):
            return None
        is_same = cell.filling.fits(member, self._number) == cell.filling.fits(member, int(number))
        return self._number if is_same or cell.is_deleting else None


def _text_of(raw: bytes) -> str:
    """Return the text of a JSON string; of a broken one, none that a tool has."""
    try:
        return str(json.loads(raw, strict=False))
    except ValueError:
        return ""


def _is_named(text: str) -> bool:
    """Return whether a text has a letter or a digit: one without may stand for all that there is."""
    return any(map(str.isalnum, text))


def _values(part: Mapping[str, Any], keywords: Iterable[str]) -> list[Any]:
    """Return the values that some keywords of a schema list."""
    found = [part[keyword] for keyword in keywords if keyword in part]
    return [value for one in found for value in (one if isinstance(one, list) else [one])]


@dataclass
class Gate:
    """What every line of a run passes before it is sent; it is open until the run has a ``jail``."""

    jail: Jail | None = None

    def __call__(self, line: Line, made: Collection[bytes]) -> Line:
        """Return the line as it may be sent."""
        return line if self.jail is None else self.jail.line(line, made)
