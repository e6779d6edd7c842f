"""Readers of the fields of a refusal in JSON, which may name members and list what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.known import Owner
from mcp_conformance.world.refusals.issues import issue_of
from mcp_conformance.world.refusals.refusal import NOISY_KEYS, Refusal

ALLOWED = re.compile(
    r"allowed|valid|supported|options|choices|enum|accepted|permitted|one_?of", re.IGNORECASE
)
THERE = re.compile(r"available|existing|known|suggest|did_?you_?mean|candidates|similar", re.IGNORECASE)
MEMBER = r"(?:fields?|param\w*|arg\w*|propert(?:y|ies)|keys?)"
MISSING = re.compile(rf"(?:missing|required)_?{MEMBER}?", re.IGNORECASE)
MAX_VALUES = 30


def fields(refusal: Refusal) -> Iterator[Clue]:
    """Yield lists of what is allowed or there, and fields with the names of members, of refusals in JSON."""
    for payload in refusal.payloads:
        if isinstance(payload, Mapping) and issue_of(payload) is None:
            yield from _of_object(refusal, payload)


def _of_object(refusal: Refusal, value: Mapping[str, Any]) -> Iterator[Clue]:
    about = refusal.about(" ".join(str(one) for one in value.values() if isinstance(one, str)))
    for key, one in value.items():
        items = tuple(_items(one))
        new = tuple(item for item in items if not refusal.was_sent(item, ()))
        if key.lower() in NOISY_KEYS or not new:
            continue
        if MISSING.fullmatch(key):
            names = [refusal.named(item) for item in new if isinstance(item, str)]
            yield from (
                Clue("missing in a field", one, needs=(one,)) for one in names if one in refusal.members
            )
            continue
        name = refusal.named(key)
        if name in refusal.members:
            yield Clue("field", name, new)
        elif isinstance(one, list) and (THERE.search(key) or ALLOWED.search(key)):
            owner = Owner.FOUND if THERE.search(key) else Owner.WORD
            for member in refusal.about(key) or about or ("",):
                yield Clue("list in a field", member, new, owner)


def _items(value: Any) -> list[Any]:
    """Return a scalar, or the scalars of a list and the names of the objects in it."""
    listed = value if isinstance(value, list) else [value]
    named = [one.get("name", one.get("id")) if isinstance(one, Mapping) else one for one in listed]
    return [one for one in named if isinstance(one, str | int | float) and one != ""][:MAX_VALUES]
