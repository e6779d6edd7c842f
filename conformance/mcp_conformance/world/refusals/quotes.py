"""Readers of quoted texts: what a refusal quotes, and the call did not send."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.refusals.refusal import Refusal, quoted_in


def quoted_values(refusal: Refusal) -> Iterator[Clue]:
    """Yield the values that a sentence quotes and the call did not send."""
    for sentence in refusal.sentences:
        values = tuple(one for one in quoted_in(sentence) if not refusal.is_ours(one))
        if values:
            yield Clue("quoted values", refusal.member(sentence), values)
