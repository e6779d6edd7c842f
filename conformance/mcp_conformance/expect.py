"""The words of a check: what it requires, what it expects, and when it skips.

A check states its skips at the top (`require_some`, `require_answer`, `skip`), then judges (`expect...`).
It raises `Finding` itself only where several lines prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from contextlib import suppress
from typing import Any, NoReturn, Protocol, TypeVar

from mcp_conformance.client.reply import Reply
from mcp_conformance.protocol.jsonrpc import Line, show
from mcp_conformance.protocol.revisions import HEADER_MISMATCH
from mcp_conformance.protocol.value import Value
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped

MAX_OFFENDERS = 3
"""How many wrong values one finding shows."""
T = TypeVar("T")
R = TypeVar("R")
C = TypeVar("C", bound=Sized)


# Requirements: what a check needs, else it skips or blocks


def skip(reason: str, *, cause: Cause | None = None) -> NoReturn:
    """Skip the check.  Raises `Skipped`."""
    raise Skipped(reason, cause=cause)


def require_some(found: C, *, skip: str) -> C:
    """Return ``found``; an empty collection skips the check with this reason."""
    if not found:
        raise Skipped(skip)
    return found


def require(value: T | None, *, skip: str) -> T:
    """Return ``value``; None skips the check with this reason."""
    if value is None:
        raise Skipped(skip)
    return value


def require_answer(reply: Reply) -> Reply:
    """Return the reply; raise `Blocked` for a request that was never answered."""
    if reply.fault is not None:
        reason = f"{reply.method} was not answered: {reply.fault}"
        raise Blocked(reason, reply.lines, reply.fault.stderr, fault=reply.fault)
    return reply


def exercised(look: Callable[[T], R], things: Iterable[T]) -> list[R]:
    """Return what ``look`` returns for each thing, without those for which it skips."""
    found = []
    for thing in things:
        with suppress(Skipped):
            found.append(look(thing))
    return found


# Expectations: each raises a `Finding`


class Evidence(Protocol):
    """A value from the wire, or a response: its text says what it is, its ``lines`` prove it."""

    @property
    def lines(self) -> Sequence[Line]:
        """The lines on the wire."""


def expect(value: Evidence, holds: bool, expected: str, *, got: str = "", fix: str = "") -> None:
    """Expect that the rule holds for ``value``.

    ``got`` is what was seen of it that matters, if that is not its text; ``fix`` is the remedy if it is not
    the rule's.
    """
    if not holds:
        raise Finding(expected, got or str(value), value.lines, fix=fix)


def expect_each(values: Iterable[Value], holds: Callable[[Any], bool], expected: str) -> None:
    """Expect ``holds(value.json)`` of each value; one finding names all that are wrong."""
    wrong = [value for value in values if not holds(value.json)]
    if wrong:
        more = f"; and {len(wrong) - MAX_OFFENDERS} more" if len(wrong) > MAX_OFFENDERS else ""
        got = "; ".join(map(str, wrong[:MAX_OFFENDERS])) + more
        raise Finding(expected, got, wrong[0].lines)


def expect_none(values: Iterable[Value], expected: str) -> None:
    """Expect that there are no such values."""
    expect_each(values, lambda _: False, expected)


def expect_result(reply: Reply, fix: str = "") -> Value:
    """Expect a result, and return it; ``fix`` is the remedy if it is not the rule's."""
    require_answer(reply)
    if reply.value is None:
        raise Finding("a result", str(reply), reply.lines, fix=fix)
    return reply.value


def expect_error(reply: Reply, *codes: int) -> None:
    """Expect a JSON-RPC error, with one of ``codes`` if any are given.

    Over HTTP the error for headers that do not match the body will do too: a wrong body has no right headers.
    """
    require_answer(reply)
    if reply.code == HEADER_MISMATCH and reply.line is not None and reply.line.carried_by:
        return
    wanted = " or ".join(map(str, codes))
    if reply.error is None:
        expected = f"a JSON-RPC error{' with code ' + wanted if codes else ''}"
        raise Finding(expected, f"a result: {show(reply.result)}", reply.lines)
    if codes and reply.code not in codes:
        raise Finding(f"error code {wanted}", str(reply), reply.lines)


# Predicates for `expect_each`


def is_string(json: Any) -> bool:
    """Return whether a JSON value is a string."""
    return isinstance(json, str)


def is_object(json: Any) -> bool:
    """Return whether a JSON value is an object."""
    return isinstance(json, dict)


def is_boolean(json: Any) -> bool:
    """Return whether a JSON value is true or false."""
    return isinstance(json, bool)


def is_number(json: Any) -> bool:
    """Return whether a JSON value is a number; a boolean is not."""
    return isinstance(json, int | float) and not isinstance(json, bool)


def is_integer(json: Any) -> bool:
    """Return whether a JSON value is a whole number; 2.0 is, a boolean is not."""
    return is_number(json) and (isinstance(json, int) or json.is_integer())


def is_array_of_strings(json: Any) -> bool:
    """Return whether a JSON value is an array in which each item is a string."""
    return isinstance(json, list) and all(map(is_string, json))


def is_identity(json: Any) -> bool:
    """Return whether a JSON value is an object with strings in ``name`` and ``version``."""
    return is_object(json) and all(is_string(json.get(member)) for member in ("name", "version"))
