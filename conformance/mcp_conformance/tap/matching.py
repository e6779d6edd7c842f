"""Whether a request of now is a recorded one, whatever differs between two clients that ask the same.

What varies is learned: from values whose form says that a client makes a new one each time, and from sessions
in which the same steps were taken with other values to the same effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any
from uuid import UUID

from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, encode, kind
from mcp_conformance.tap.conversation import part
from mcp_conformance.tap.differences import Answer, Comparison
from mcp_conformance.tap.exchanges import Exchange, Path
from mcp_conformance.tap.times import is_time, without_times
from mcp_conformance.transport.credentials import HIDDEN

BY_METHOD = frozenset({"initialize", "server/discover", "logging/setLevel", "subscriptions/listen"})
"""The requests whose parameters say who the client is: any of them has the answer of any other."""
ANSWERS = "inputResponses"
"""What a client answers to the requests in a result: they differ as users and models do."""

MIN_NAME = 3
"""Not measured: shorter texts stand in answers that do not repeat them."""


def params_of(one: Exchange) -> dict[str, Any]:
    """Return the parameters without ``_meta``, which differs each time; no arguments are empty arguments."""
    params = one.request.get("params")
    members = params.items() if isinstance(params, dict) else ()
    found = {name: value for name, value in members if name != "_meta"}
    if found.get("arguments", ABSENT) in (None, {}):
        del found["arguments"]
    return found


# Comparing ---------------------------------------------------------------------------------------


def distance(recorded: Exchange, asked: Exchange) -> int | None:
    """Return in how many values a request differs from a recorded one; None if it asks for something else."""
    if recorded.method != asked.method:
        return None
    found = 0
    for path, then, now in differences(params_of(recorded), params_of(asked)):
        if not (_is_free(asked, path) or _may_be(recorded, asked, path, then, now)):
            return None
        found += 1
    return found


def _is_free(asked: Exchange, path: Path) -> bool:
    if asked.method in BY_METHOD or kind(asked.request) is Kind.NOTIFICATION:
        return True
    return path[0] == ANSWERS and len(path) > 2 and path[-1] != "action"


def _may_be(recorded: Exchange, asked: Exchange, path: Path, then: Any, now: Any) -> bool:
    """Return whether a value of now may stand for one of then: in its place, a time, or a credential."""
    if isinstance(then, str) and isinstance(now, str):
        if path in recorded.varies:
            return not _is_uuid(then) or _is_uuid(now)
        parts = map(re.escape, then.split(HIDDEN))
        if HIDDEN in then:
            return re.fullmatch(".*".join(parts), now, re.DOTALL) is not None
        return without_times(then, recorded.clock) == without_times(now, asked.clock)
    if path in recorded.varies:
        return type(then) is type(now)
    return is_time(then, recorded.clock) and is_time(now, asked.clock)


def _is_uuid(text: Any) -> bool:
    try:
        return isinstance(text, str) and str(UUID(text)) == text.lower()
    except ValueError:
        return False


def differences(one: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield where two JSON values differ, and what they have there; `ABSENT` where one has nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            yield from differences(one.get(name, ABSENT), other.get(name, ABSENT), (*path, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, (*path, index))
    elif one != other or isinstance(one, bool) is not isinstance(other, bool):
        yield path, one, other


# Learning ----------------------------------------------------------------------------------------


def learn(sessions: Sequence[Sequence[Exchange]]) -> None:
    """Write into the exchanges which of their values vary.

    These are UUIDs that no answer had before; and what differs between two sessions with the same steps if
    the answers are alike and had none of the values before.  What varies in one call varies in all of them.
    """
    named = [_Named(one) for one in sessions]
    steps = [[_step(one) for one in session] for session in sessions]
    found: dict[tuple[str, Any], set[Path]] = {}
    for one, other in combinations(range(len(sessions)), 2):
        if steps[one] == steps[other]:
            for step, path in _varying(sessions[one], sessions[other], named[one], named[other]):
                found.setdefault(step, set()).add(path)
    for session, names in zip(sessions, named, strict=True):
        for at, exchange in enumerate(session):
            learned = found.get(_step(exchange), set())
            exchange.varies = {
                path
                for path, value in _leaves(params_of(exchange))
                if (path in learned or _is_uuid(value)) and not names.has(at, value)
            }


def _step(one: Exchange) -> tuple[str, Any]:
    """Return what is asked for: the method, and the tool or prompt."""
    name = part(one.request, "params", "name")
    return one.method, name if isinstance(name, str) else None


def _varying(
    then: Sequence[Exchange], now: Sequence[Exchange], named_then: _Named, named_now: _Named
) -> Iterator[tuple[tuple[str, Any], Path]]:
    """Yield the steps and the paths at which the clients of two sessions chose other values to no effect."""
    chosen: list[list[tuple[Path, Any, Any]]] = []
    made: list[tuple[Any, Any]] = []
    for at, pair in enumerate(zip(then, now, strict=True)):
        chosen.append([])
        for path, old, new in differences(params_of(pair[0]), params_of(pair[1])):
            if named_then.has(at, old) or named_now.has(at, new):
                made.append((old, new))
            else:
                chosen[at].append((path, old, new))
    for pair, apart in zip(zip(then, now, strict=True), chosen, strict=True):
        if apart and _is_same_answer(*pair, [*made, *((old, new) for _, old, new in apart)]):
            yield from ((_step(pair[0]), path) for path, _, _ in apart)


class _Named:
    """What the server of a session had said before each exchange."""

    def __init__(self, session: Sequence[Exchange]):
        self._said = [encode([one.answer, *(said.message for said in one.before)]) for one in session]

    def has(self, at: int, value: Any) -> bool:
        """Return whether an earlier answer has a value, so that it is the server's and not the client's."""
        raw = encode(value).strip(b'"') if isinstance(value, str | int | float) else b""
        return not raw or any(raw in said for said in self._said[:at])


def _is_same_answer(one: Exchange, other: Exchange, values: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether two answers are alike but for ``values``, which one has where the other has others."""
    if one.answer is None or other.answer is None:
        return False
    names = [(then, now) for then, now in values if isinstance(then, str) and len(then) >= MIN_NAME]
    answers = (
        Answer(_renamed(_content(one.answer), names), one.clock),
        Answer(_content(other.answer), other.clock),
    )
    return not Comparison().differences(answers[:1], answers[1:])


def _renamed(value: Any, names: Sequence[tuple[str, Any]]) -> Any:
    if isinstance(value, dict):
        return {name: _renamed(one, names) for name, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if isinstance(value, str):
        for then, now in names:
            value = value.replace(then, str(now))
    return value


def _content(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ("result", "error") if name in answer}


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from _leaves(one, (*path, name))
    if not isinstance(value, dict | list):
        yield path, value
