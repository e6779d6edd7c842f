"""Readers of refusals: each reads one kind of sentence that real servers write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.refusals.bounds import bounds, formats, types
from mcp_conformance.world.refusals.decoders import additional_properties, go_decoder, go_validator
from mcp_conformance.world.refusals.existence import things_missing, things_taken, tools_named
from mcp_conformance.world.refusals.fields import fields
from mcp_conformance.world.refusals.lists import (
    allowed_lists,
    available_lists,
    bulleted_lists,
    ranges_of_letters,
)
from mcp_conformance.world.refusals.needs import (
    assignments,
    members_needed,
    members_to_change,
    members_together,
    members_unwanted,
    one_of_members,
)
from mcp_conformance.world.refusals.paths import (
    absolute_paths,
    endings,
    examples,
    folders_to_be_inside,
    kinds,
    resolved_paths,
)
from mcp_conformance.world.refusals.quotes import quoted_values
from mcp_conformance.world.refusals.refusal import Refusal
from mcp_conformance.world.refusals.rules import rules_of_issues

Reader = Callable[[Refusal], Iterator[Clue]]
READERS: tuple[Reader, ...] = (
    *(rules_of_issues, go_decoder, go_validator, additional_properties, fields),
    *(folders_to_be_inside, absolute_paths, endings, resolved_paths, kinds),
    *(members_needed, one_of_members, members_together, members_unwanted, assignments),
    members_to_change,
    *(allowed_lists, available_lists, bulleted_lists, ranges_of_letters, examples, formats),
    *(types, bounds, things_missing, things_taken),
)
"""The readers: those of typed facts first, and those whose clues are surest."""


def clues(
    text: str,
    arguments: Mapping[str, Any],
    schema: Any = None,
    data: Any = None,
    tools: Collection[str] = (),
) -> list[Clue]:
    """Return what a refusal tells about the arguments that it refuses, the surest first, each clue once.

    ``text`` is the text of the result or the message of the error, ``data`` the data of a JSON-RPC error,
    ``tools`` the names of the server's other tools.  Clues name members of ``schema``, or, if the refusal
    names another, that one.  A quoted value that a surer reader has read is not read again.
    """
    refusal = Refusal(text, arguments, schema, data)
    found = [clue for reader in READERS for clue in reader(refusal)]
    known = {str(value) for clue in found for value in clue.values} | {clue.ending for clue in found}
    patterns = {clue.pattern for clue in found}
    found += quoted_values(refusal, {*known, *patterns, *tools})
    found += tools_named(refusal, tools)
    unique: dict[Clue, Clue] = {}
    for clue in found:
        unique.setdefault(replace(clue, reader=""), clue)
    return list(unique.values())
