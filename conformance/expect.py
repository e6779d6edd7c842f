"""The words of a check: what it expects, what it needs, and when it skips."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from conformance.client.reply import Reply
from conformance.protocol.jsonrpc import show
from conformance.protocol.value import Value
from conformance.verdicts import Blocked, Finding, NotExercised, T

MOST_OFFENDERS = 3


def not_exercised(reason: str) -> NoReturn:
    """Skip the check.  Raises `NotExercised`."""
    raise NotExercised(reason)


def some(found: list[T], nothing: str) -> list[T]:
    """``found``, unless it is empty: then the check is skipped with the reason ``nothing``."""
    return found or not_exercised(nothing)


def expect(value: Value, holds: bool, expected: str) -> None:
    """Raise a `Finding` about ``value`` unless the rule holds for it."""
    if not holds:
        raise Finding(expected, str(value), value.lines)


def expect_each(values: Iterable[Value], holds: Callable[[Any], bool], expected: str) -> None:
    """Raise one `Finding` that names every value for which ``holds(value.json)`` is false."""
    wrong = [value for value in values if not holds(value.json)]
    if wrong:
        more = f"; and {len(wrong) - MOST_OFFENDERS} more" if len(wrong) > MOST_OFFENDERS else ""
        got = "; ".join(map(str, wrong[:MOST_OFFENDERS])) + more
        raise Finding(expected, got, wrong[0].lines)


def expect_error(reply: Reply, *codes: int) -> None:
    """Raise a `Finding` unless the reply is a JSON-RPC error, with one of ``codes`` if any are given."""
    heard(reply)
    wanted = " or ".join(map(str, codes))
    if reply.error is None:
        expected = f"a JSON-RPC error{' with code ' + wanted if codes else ''}"
        raise Finding(expected, f"a result: {show(reply.result)}", reply.lines)
    if codes and reply.code not in codes:
        raise Finding(f"error code {wanted}", str(reply), reply.lines)


def expect_result(reply: Reply) -> Value:
    """The result of the reply; raise a `Finding` if it is a JSON-RPC error."""
    heard(reply)
    if reply.value is None:
        raise Finding("a result", str(reply), reply.lines)
    return reply.value


def heard(reply: Reply) -> Reply:
    """The reply, if there is one; a request that was never answered is `Blocked`."""
    if reply.fault is not None:
        reason = f"{reply.method} was not answered: {reply.fault}"
        raise Blocked(reason, reply.lines, reply.fault.stderr).by(reply.fault)
    return reply
