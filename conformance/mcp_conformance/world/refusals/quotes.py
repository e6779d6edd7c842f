"""Readers of quoted texts: what a refusal quotes, and the call did not send."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.refusals.bounds import TYPES
from mcp_conformance.world.refusals.lists import MAX_WORDS
from mcp_conformance.world.refusals.paths import examples_in, is_absolute
from mcp_conformance.world.refusals.refusal import Refusal, Sentence


def quoted_values(refusal: Refusal, known: Collection[str] = ()) -> Iterator[Clue]:
    """Yield the values that a sentence quotes, and which are neither sent by the call nor known already.

    They were there before.  The path of an example is not there.
    """
    for sentence in refusal.sentences:
        values = tuple(one for one in _quoted(sentence) if not refusal.is_ours(one) and one not in known)
        for member in sentence.members or ("",):
            if values:
                yield Clue("quoted values", member, values)


def _quoted(sentence: Sentence) -> list[str]:
    examples = [one for one in examples_in(sentence.text) if is_absolute(one)]
    words = [one for one in sentence.quoted if one not in examples and len(one.split()) <= MAX_WORDS]
    return [one for one in words if one not in TYPES and one[0] != "^"]
