"""Tokens: values that nobody else has, for the members of arguments, and where an answer shows them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from mcp_conformance.state.places import leaves, text_of
from mcp_conformance.world.fitting import is_path
from mcp_conformance.world.made_up import another
from mcp_conformance.world.members import Member

LETTERS = "bcdfghjkmnpqrstvwxz"
"""Letters without vowels: chance makes no word of them."""
DIGITS = "23456789"
CORE = 8
"""The length of what tells a token from others.  Not measured: 19 to the power of 5, and 512."""
ACCENTED = "\u00e9"
"""A letter that Unicode writes in two ways: as one character, and as "e" and an accent."""
MIN_SHORTENED = 6
"""How much of the beginning of a token must be there for a shortened one."""


class Form(StrEnum):
    """How an answer shows a token."""

    PLAIN = "as it is"
    IN_TEXT = "within a text"
    OTHER_CASE = "in other case"
    SHORTENED = "shortened"


@dataclass(frozen=True)
class Token:
    """A fresh value: its ``core`` is a word of letters and digits that nobody else has."""

    core: str
    value: Any


class Tokens:
    """Makes tokens, each by another core.

    Each has the ``mark`` of what this run made, if there is room for it.  ``entropy`` differs from run to
    run, as a server may keep what an earlier one has made.  All cores are in ``made``.
    """

    def __init__(self, mark: str, entropy: int, made: set[str] | None = None):
        self._mark = mark
        self._random = random.Random(entropy)  # noqa: S311  (no secret)
        self._made = set() if made is None else made

    def fresh(self, member: Member, like: Any, is_valid: Callable[[Any], bool]) -> Token | None:
        """Return a token that a member allows, in the form of a value that worked; None if there is none."""
        core = self._core()
        found = (one for one in self._forms(core, member, like) if is_valid(one.value))
        return next(found, None)

    def _core(self) -> str:
        while True:
            letters = "".join(self._random.choice(LETTERS) for _ in range(CORE - 3))
            core = letters + "".join(self._random.choice(DIGITS) for _ in range(3))
            if core not in self._made:
                self._made.add(core)
                return core

    def _forms(self, core: str, member: Member, like: Any) -> Iterator[Token]:
        """Yield values with a core, the likeliest to be allowed first."""
        text = f"{core}{self._mark}"
        if isinstance(like, str) and is_path(like):
            yield Token(core, another(like, text))
            return
        formats = {part.get("format") for part in member.parts}
        if "email" in formats:
            yield Token(core, f"{core}@example.com")
        if formats & {"uri", "url", "uri-reference", "iri"}:
            yield Token(core, f"https://example.com/{text}")
        if "uuid" in formats:
            uuid = str(UUID(int=self._random.getrandbits(128), version=4))
            self._made.add(uuid)
            yield Token(uuid, uuid)
        yield Token(core, text)
        yield Token(core, core)
        yield Token(core, f"{core} {text}")


def accented(text: str) -> str | None:
    """Return the text of a token with an accented letter after its core; None if it has no core."""
    found = re.search(f"[{LETTERS}]{{{CORE - 3}}}[{DIGITS}]{{3}}", text)
    return None if found is None else f"{text[: found.end()]}{ACCENTED}{text[found.end() :]}"


def form_of(token: Token, structure: Any, text: str | None = None) -> Form | None:
    """Return how a structure shows a token; None if it does not.

    ``text`` is `text_of` the structure, if that is known already.
    """
    text = text_of(structure) if text is None else text
    if token.core[:MIN_SHORTENED] not in text:
        return None
    values = [one for place, value in leaves(structure) for one in (*place, value) if isinstance(one, str)]
    if token.value in values:
        return Form.PLAIN
    if any(token.core in value for value in values):
        return Form.IN_TEXT
    return Form.OTHER_CASE if token.core in text else Form.SHORTENED
