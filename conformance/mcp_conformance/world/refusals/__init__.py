"""Readers of refusals: each reads one kind of sentence that real servers write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.refusals.quotes import quoted_values
from mcp_conformance.world.refusals.refusal import Refusal

Reader = Callable[[Refusal], Iterator[Clue]]
READERS: tuple[Reader, ...] = (quoted_values,)
"""All readers, those of typed facts first."""


def clues(text: str, arguments: Mapping[str, Any], schema: Any = None, data: Any = None) -> list[Clue]:
    """Return what a refusal tells about the arguments that it refuses, the surest first, each clue once.

    ``text`` is the text of the result or the message of the error, ``data`` the data of a JSON-RPC error.
    Clues name members of ``schema``, or, if the refusal names another, that one.
    """
    refusal = Refusal(text, arguments, schema, data)
    return list(dict.fromkeys(clue for reader in READERS for clue in reader(refusal)))
