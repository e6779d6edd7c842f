"""Filling: arguments of a tool with values at chosen members, on top of plain ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from typing import Any

from mcp_conformance.generation import NoExample, PlainSource, draw_valid
from mcp_conformance.generation.choices import FilledSource
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors, is_valid_in_all
from mcp_conformance.world.members import ITEM, Member
from mcp_conformance.world.worked import Path, values_at


class Filling:
    """The arguments that one tool may get.

    ``bases`` are plain arguments to put values into: with an item in each list, then the plainest, then those
    with all optional members; none if none can be made.
    """

    def __init__(self, schema: Any, revision: str):
        self._schema, self.revision = schema, revision

    @cached_property
    def bases(self) -> list[dict[str, Any]]:
        """The plain arguments."""
        return list(_different(self._plain()))

    def _plain(self) -> Iterator[dict[str, Any]]:
        for source in (FilledSource(has_all=False), PlainSource(), FilledSource(has_all=True)):
            with suppress(NoExample):
                yield draw_valid(self._schema, self.revision, source)

    def filled(
        self,
        base: Mapping[str, Any],
        values: Mapping[Path, Any],
        without: Iterable[Path] = (),
        counts: Mapping[Path, int] | None = None,
    ) -> dict[str, Any] | None:
        """Return ``base`` with these values at these paths and without these members; None if not valid.

        ``counts`` are how many items arrays have at least: they repeat their last one.
        """
        made = deepcopy(dict(base))
        for path in without:
            _drop(made, path)
        for path, value in values.items():
            if not put(made, path, value):
                return None
        for path, count in (counts or {}).items():
            for array in values_at(made, path):
                if isinstance(array, list) and array:
                    array.extend([array[-1]] * (count - len(array)))
        return made if self.allows(made) else None

    def allows(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the schema allows arguments in every dialect; true if it cannot be judged."""
        try:
            return is_valid_in_all(arguments, self._schema, self.revision)
        except Unjudgeable:
            return True

    def fits(self, member: Member, value: Any) -> bool:
        """Return whether a member's own schema allows a value; true if it cannot be judged."""
        try:
            return not (member.schema and instance_errors(value, self._schema, self.revision, member.schema))
        except Unjudgeable:
            return True


def _different(some: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    for one in some:
        if one not in seen:
            seen.append(one)
            yield one


def put(made: Any, path: Path, value: Any) -> bool:
    """Put a value at a path, into the first item of a list on the way; return whether that was possible."""
    place = made
    for step, following in zip(path, (*path[1:], None), strict=True):
        inner = value if following is None else [] if following == ITEM else {}
        if step == ITEM:
            if not isinstance(place, list):
                return False
            place[:] = [value] if following is None else (place[:1] or [inner])
            place = place[0]
        elif isinstance(place, dict):
            if following is None or not isinstance(place.get(step), type(inner)):
                place[step] = inner
            place = place[step]
        else:
            return False
    return True


def _drop(made: Any, path: Path) -> None:
    *way, last = path
    for step in way:
        if step == ITEM:
            made = made[0] if isinstance(made, list) and made else None
        else:
            made = made.get(step) if isinstance(made, dict) else None
    if isinstance(made, dict):
        made.pop(last, None)
