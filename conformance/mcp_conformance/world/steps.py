"""Steps: the calls of a run that did something, in their order, and the same calls made by the next run.

What a tool needs may be what an earlier call of another has done: a commit needs a staged file.  So the next
run makes the calls again in their order.  Where an answer names a thing otherwise than it did, the arguments
that had the old name get the new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.tool_call import Call
from mcp_conformance.world.answers import values_of
from mcp_conformance.world.known import Known
from mcp_conformance.world.members import ITEM
from mcp_conformance.world.success import leaves_of
from mcp_conformance.world.worked import Path, Working

# Not measured: the exploration of 46 tools had 120 calls that worked.
MAX_STEPS = 1000
"""The most calls that are kept of a run."""
MAX_SECONDS = 5.0
"""Not measured: on a busy machine the first statement of DuckDB takes 2 to 4 s, and others need its table."""
MIN_UNIQUE = 3
"""Shorter texts, and all numbers, get a new name only where a known value is meant."""

Shown = tuple[tuple[str, ...], int, Any]
"""A value in an answer: its keys, how many values with these keys come before it, and itself."""


@dataclass(frozen=True)
class Step:
    """A call that did something; ``shows`` are the values in its answer that later steps name.

    ``given`` is the place of its arguments among those that the user gives for the tool; None for others.
    """

    working: Working
    shows: Sequence[Shown] = ()
    given: int | None = None

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.working.tool


class Steps:
    """The steps of this run; `close` ends them, as other processes and revisions make the same calls."""

    def __init__(self) -> None:
        self._noted: list[tuple[Call, Step, bool]] = []
        self.is_open = True

    def note(
        self,
        call: Call,
        known: Mapping[Path, Known] | None = None,
        needed: Iterable[Path] = (),
        given: int | None = None,
        *,
        is_silent: bool = False,
    ) -> None:
        """Add a call, unless it took so long that the next run had better make it beside its checks.

        One ``is_silent`` whose answer shows nothing.
        """
        if (
            self.is_open
            and not (call.reply.seconds > MAX_SECONDS or call.asked)
            and len(self._noted) < MAX_STEPS
        ):
            working = Working(call.tool.name, call.arguments, known or {}, tuple(needed))
            self._noted.append((call, Step(working, tuple(_shown(call)), given), is_silent))

    def close(self) -> None:
        """Add no more."""
        self.is_open = False

    def useful(self, best: Mapping[str, Mapping[str, Any]]) -> list[Step]:
        """Return the steps that another run needs, in their order.

        These are the calls of tools that may write, the last with the ``best`` arguments of each tool, and
        those whose answers show what later ones name.
        """
        wanted: set[Any] = set()
        found = []
        for place in reversed(range(len(self._noted))):
            call, step, is_silent = self._noted[place]
            if is_silent and step.tool in best:
                continue
            shows = [one for one in step.shows if _key(one[2]) in wanted]
            if not call.tool.read_only or shows or self._is_best(place, best.get(step.tool)):
                wanted.update(map(_key, leaves_of(step.working.arguments)))
                found.append(replace(step, shows=shows))
        return found[::-1]

    def _is_best(self, place: int, arguments: Mapping[str, Any] | None) -> bool:
        """Return whether a step is the last with these arguments, or with the user's: then most was there."""
        step = self._noted[place][1]
        later = (one for _, one, _ in self._noted[place + 1 :] if one.tool == step.tool)
        is_given = arguments is None and step.given is not None
        is_best = step.working.arguments == arguments or is_given
        return is_best and all(one.working.arguments != step.working.arguments for one in later)


class NewNames:
    """The values that the answers of this run have where those of an earlier one had others."""

    def __init__(self) -> None:
        self._new: dict[Any, Any] = {}
        self._sent: set[Any] = set()

    def is_made(self, known: Known) -> bool:
        """Return whether this run makes a value that was its own in the earlier one.

        It was made up, or as a refusal asked, or is of the arguments of a call that this run has made too.
        """
        is_sent = (known.origin.of, _key(known.value)) in self._sent
        is_composed = known.origin.kind in ("made up", "a refusal of")
        return is_composed or (known.origin.kind == "arguments of" and is_sent)

    def learn(self, step: Step, call: Call) -> None:
        """Learn the new names in the answer to a step that was made again."""
        self._sent.update((step.tool, _key(leaf)) for leaf in leaves_of(call.arguments))
        now = {(keys, number): value for keys, number, value in _shown(call)}
        there = set(map(_key, now.values()))
        for keys, number, old in step.shows:
            new = now.get((tuple(keys), number))
            if new is not None and _key(old) not in there:
                self._new[_key(old)] = new

    def working(self, working: Working) -> Working:
        """Return arguments with the new names."""
        known = {path: replace(one, value=self._named(one.value)) for path, one in working.known.items()}
        arguments = _mapped(working.arguments, self._named_at(working.known))
        return replace(working, arguments=arguments, known=known)

    def _named(self, value: Any) -> Any:
        return self._new.get(_key(value), value)

    def _named_at(self, known: Mapping[Path, Known]) -> Callable[[Path, Any], Any]:
        def named(path: Path, leaf: Any) -> Any:
            is_text = isinstance(leaf, str) and len(leaf) >= MIN_UNIQUE
            return self._named(leaf) if is_text or path in known else leaf

        return named


def _shown(call: Call) -> Iterator[Shown]:
    numbers = Counter[tuple[str, ...]]()
    for one in values_of(call.reply.result, call.tool.name, call.arguments):
        yield one.keys, numbers[one.keys], one.value
        numbers[one.keys] += 1


def _key(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


def _mapped(value: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Return a JSON value in which each leaf is changed, by its path and itself."""
    if isinstance(value, Mapping):
        return {name: _mapped(inner, change, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, change, (*path, ITEM)) for inner in value]
    return change(path, value)
