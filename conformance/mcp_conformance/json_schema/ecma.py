r"""Read patterns as JSON Schema says: regular expressions of ECMA-262.

A pattern is read with the flag ``u``, as JSON Schema recommends.  One that is only valid without it, such as
``^\d+\-\d+$``, is read without.  If neither accepts it, or the reading without ``u`` is not what other
engines read, such as the letter A for ``\A``, it is `Unreadable`: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mcp_conformance.json_schema.characters import (
    LAST,
    LINE_ENDS,
    SHORTHANDS,
    Points,
    complement,
    members,
    of,
    points,
    property_of,
)

MAX_DEPTH = 50
"""The most groups inside each other.  Each takes six calls, of the 1000 that Python allows by default."""
MAX_COUNT = 2**31
"""The greatest count of a repetition; greater ones mean the same for any text."""


class Unreadable(ValueError):  # noqa: N818
    """A pattern that is not ECMA-262, or not supported; the text says why."""


class TooCostly(Exception):  # noqa: N818
    """A pattern that can't be read or matched in reasonable time; the text says why."""


class Edge(Enum):
    """A place between two characters."""

    START, END, WORD, NOT_WORD = "^", "$", r"\b", r"\B"


@dataclass(frozen=True)
class One:
    r"""One character of a set.

    ``elsewhere`` is a class of `re` for engines whose ``\d`` has the digits of all scripts; it may be empty.
    """

    points: Points
    elsewhere: str = ""


@dataclass(frozen=True)
class Series:
    """Parts, one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Several alternatives."""

    ways: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part that comes ``least`` to ``most`` times; without a limit if that is None."""

    body: Node
    least: int
    most: int | None


@dataclass(frozen=True)
class Group:
    """A part that a back-reference can name by its number."""

    body: Node
    number: int


@dataclass(frozen=True)
class Look:
    """A condition for what comes after a place, or before it if it ``is_behind``."""

    body: Node
    is_behind: bool
    is_wanted: bool


@dataclass(frozen=True)
class Same:
    """A back-reference: the text of a group again."""

    number: int


Node = One | Series | Choice | Repeat | Group | Look | Same | Edge


def nodes(tree: Node) -> Iterator[Node]:
    """Yield every part of a tree."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += parts_of(node)


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return the parts right inside a part."""
    match node:
        case Series(parts) | Choice(parts):
            return parts
        case Repeat(body) | Group(body) | Look(body):
            return (body,)
    return ()


@dataclass(frozen=True)
class Reading:
    """A pattern that was read, with the flag ``u`` or without."""

    tree: Node
    is_unicode: bool


def read(pattern: str) -> Reading:
    """Read a pattern; raise `Unreadable` or `TooCostly`."""
    try:
        return Reading(_Parser(pattern, is_unicode=True).whole(), is_unicode=True)
    except Unreadable as error:
        try:
            read_by_halves(pattern)
            return Reading(_Parser(pattern, is_unicode=False).whole(), is_unicode=False)
        except Unreadable:
            raise error from None


def read_by_halves(pattern: str) -> Reading:
    """Read a pattern without the flag ``u``, to match `halves` of a text; raise `Unreadable`."""
    return Reading(_Parser(halves(pattern), is_unicode=False).whole(), is_unicode=False)


def halves(text: str) -> str:
    """Return a text in which each character beyond U+FFFF is two surrogates."""
    if text.isascii():
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(low | high << 8) for low, high in zip(units[::2], units[1::2], strict=True))


SYNTAX = frozenset("^$\\.*+?()[]{}|/")
"""The characters that a backslash turns into themselves."""
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
DIGITS, HEX = frozenset("0123456789"), frozenset("0123456789abcdefABCDEF")
CONTROLS = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
LOOKS = ("(?<=", "(?<!", "(?=", "(?!")
GROUP_START = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|(\((?:(?!\?)|\?<(?![=!])))", re.DOTALL)
"""What can hide a parenthesis, or the start of a group that a back-reference can name."""


class _Parser:
    """One pattern, and how far it has been read."""

    def __init__(self, pattern: str, *, is_unicode: bool):
        self._text, self._at, self._depth = pattern, 0, 0
        self._is_unicode = is_unicode
        self._names: dict[str, int] = {}
        self._groups = 0
        self._all_groups = sum(bool(found[1]) for found in GROUP_START.finditer(pattern))

    def whole(self) -> Node:
        """Read the whole pattern."""
        tree = self._choice()
        if self._at < len(self._text):
            raise self._wrong("a ) without its (")
        return tree

    def _wrong(self, what: str) -> Unreadable:
        return Unreadable(f"{what}, at character {self._at + 1}")

    # Steps

    def _sees(self, words: str) -> bool:
        return self._text.startswith(words, self._at)

    def _took(self, words: str) -> bool:
        found = self._sees(words)
        self._at += len(words) * found
        return found

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise self._wrong("an end where more must follow")
        self._at += 1
        return self._text[self._at - 1]

    def _taken(self, allowed: frozenset[str]) -> str:
        """Take as many of these characters as follow."""
        end = self._at
        while end < len(self._text) and self._text[end] in allowed:
            end += 1
        found, self._at = self._text[self._at : end], end
        return found

    # Structure

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooCostly(f"a pattern with more than {MAX_DEPTH} groups inside each other")
        ways = [self._sequence()]
        while self._took("|"):
            ways.append(self._sequence())
        self._depth -= 1
        return ways[0] if len(ways) == 1 else Choice(tuple(ways))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and not self._sees("|") and not self._sees(")"):
            parts.append(self._term())
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def _term(self) -> Node:
        for edge in Edge:
            if self._took(edge.value):
                return edge
        for words in LOOKS:
            if self._took(words):
                look = Look(self._closed(), is_behind="<" in words, is_wanted="=" in words)
                return look if look.is_behind or self._is_unicode else self._repeated(look)
        return self._repeated(self._atom())

    def _closed(self) -> Node:
        body = self._choice()
        if not self._took(")"):
            raise self._wrong("a group without its end")
        return body

    def _repeated(self, body: Node) -> Node:
        counts = self._counts()
        if counts is None:
            return body
        self._took("?")  # a lazy repetition matches the same texts
        return Repeat(body, *counts)

    def _counts(self) -> tuple[int, int | None] | None:
        """Take a quantifier; return None if there is none."""
        for sign, counts in QUANTIFIERS.items():
            if self._took(sign):
                return counts
        start = self._at
        if not self._took("{"):
            return None
        least = self._count()
        most = self._count() if self._took(",") else least
        if least is None or not self._took("}"):
            self._at = start
            return None
        if most is not None and most < least:
            raise self._wrong("a repetition with its counts in the wrong order")
        return least, most

    def _count(self) -> int | None:
        digits = self._taken(DIGITS)
        short = digits.lstrip("0")[:11]
        return min(int(short or 0), MAX_COUNT) if digits else None

    def _atom(self) -> Node:
        if self._took("("):
            return self._group()
        if self._took("["):
            return self._class()
        if self._took("\\"):
            return self._escape()
        if self._took("."):
            return One(complement(LINE_ENDS))
        if self._sees("{,") or self._counts() is not None:  # elsewhere {,3} is a repetition
            raise self._wrong("a repetition of nothing")
        character = self._next()
        if self._is_unicode and character in "{}]":
            raise self._wrong(f"a {character} without a backslash")
        return One(of(character))

    def _group(self) -> Node:
        if self._took("?:"):
            return self._closed()
        number = self._groups = self._groups + 1
        if self._took("?<"):
            name = self._name()
            if name in self._names:
                raise self._wrong(f"a second group {name!r}")
            self._names[name] = number
        elif self._sees("?"):
            raise self._wrong(f"a group that begins with (?{self._text[self._at + 1 : self._at + 2]}")
        return Group(self._closed(), number)

    def _name(self) -> str:
        name, end, _ = self._text[self._at :].partition(">")
        if not end or not name.replace("$", "_").isidentifier():
            raise self._wrong("a name that is not one")
        self._at += len(name) + 1
        return name

    # Escapes

    def _escape(self) -> Node:
        character = self._next()
        if character in SHORTHANDS:
            return One(SHORTHANDS[character], f"[\\{character}]")
        if character in "pP":
            return One(self._property(character))
        if character == "k" and self._took("<"):
            return self._named_again(self._name())
        if character in DIGITS - {"0"}:
            self._at -= 1
            number = self._count() or 0
            if number > self._all_groups:
                raise self._wrong(f"a back-reference to group {number} of {self._all_groups}")
            return Same(number)
        return One(of(self._character(character, SYNTAX)))

    def _named_again(self, name: str) -> Node:
        if name not in self._names:
            raise self._wrong(f"a back-reference to {name!r}, which is no group before it")
        return Same(self._names[name])

    def _property(self, letter: str) -> Points:
        found, words = None, ""
        if self._is_unicode and self._took("{"):
            words, _, rest = self._text[self._at :].partition("}")
            self._at = len(self._text) - len(rest)
            name, _, value = words.rpartition("=")
            found = property_of(name, value)
        if found is None:
            raise self._wrong(f"\\{letter}{{{words}}}, a property that is not known here")
        return complement(found) if letter == "P" else found

    def _character(self, letter: str, escapable: frozenset[str]) -> str:
        """Return the character that a letter after a backslash stands for."""
        if letter in CONTROLS:
            return CONTROLS[letter]
        if letter == "0" and self._text[self._at : self._at + 1] not in DIGITS:
            return "\0"
        if letter == "c" and self._text[self._at : self._at + 1] in LETTERS:
            return chr(ord(self._next()) % 32)
        if letter == "x":
            return chr(self._hex(2))
        if letter == "u":
            return self._code_point()
        if letter in escapable or not (self._is_unicode or letter in LETTERS or letter in DIGITS):
            return letter
        raise self._wrong(f"the escape \\{letter}")

    def _code_point(self) -> str:
        if not (self._is_unicode and self._took("{")):
            return self._unit_or_pair()
        digits = self._taken(HEX)
        point = int(digits[-8:] or "-1", 16) if len(digits.lstrip("0")) <= 6 else -1
        if not self._took("}") or not 0 <= point <= LAST:
            raise self._wrong("a \\u{} that is not a character")
        return chr(point)

    def _unit_or_pair(self) -> str:
        point = self._hex(4)
        after = self._at
        if self._is_unicode and 0xD800 <= point < 0xDC00 and self._took("\\u") and not self._sees("{"):
            low = self._hex(4)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + (point - 0xD800) * 0x400 + low - 0xDC00)
        self._at = after
        return chr(point)

    def _hex(self, length: int) -> int:
        digits = self._text[self._at : self._at + length]
        if len(digits) < length or not HEX.issuperset(digits):
            raise self._wrong(f"an escape without {length} hexadecimal digits")
        self._at += length
        return int(digits, 16)

    # Classes

    def _class(self) -> One:
        is_negated = self._took("^")
        plain: list[tuple[int, int]] = []
        shorthands: list[str] = []
        while not self._took("]"):
            for member in self._members():
                if isinstance(member, str):
                    shorthands.append(member)
                else:
                    plain += member
        found = points([*plain, *(pair for one in shorthands for pair in SHORTHANDS[one])])
        elsewhere = "".join(f"\\{one}" for one in shorthands) + members(points(plain)) if shorthands else ""
        sign = "^" if is_negated else ""
        return One(complement(found) if is_negated else found, elsewhere and f"[{sign}{elsewhere}]")

    def _members(self) -> list[Points | str]:
        """Read a member of a class, or a range: sets of characters, and letters of shorthands."""
        first, is_one = self._member()
        if not self._sees("-") or self._sees("-]"):
            return [first]
        self._at += 1
        last, are_both_one = self._member()
        if is_one and are_both_one:
            ends = (first[0][0], last[0][0])
            if ends[0] > ends[1]:
                raise self._wrong("a range with its ends in the wrong order")
            return [(ends,)]
        if self._is_unicode:
            raise self._wrong("a range that ends with a class")
        return [first, of("-"), last]

    def _member(self) -> tuple[Any, bool]:
        """Read a character, a property or the letter of a shorthand; return whether it is one character."""
        character = self._next()
        if character != "\\":
            return of(character), True
        letter = self._next()
        if letter in SHORTHANDS:
            return letter, False
        if letter in "pP":
            return self._property(letter), False
        return of("\b" if letter == "b" else self._character(letter, SYNTAX | {"-"})), True
