"""Rules that hold in every session, whatever the client sends: find violations in the lines of a window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance import remedies
from mcp_conformance.client.in_flight import Response, Window, is_answer, key_of
from mcp_conformance.protocol.jsonrpc import ABSENT, NOT_UTF_8, IdKey, Line, glued, show, torn
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.verdicts import ECHO, NOT_JSON_RULE, Blocked, Finding, transport_of

ANSWERED = "jsonrpc.response-every-request"
NOTIFIED = "jsonrpc.no-response-to-notification"
ONCE = "jsonrpc.response-exactly-once"
BATCHES = "2025-03-26"
"""The only revision in which a line may hold several messages."""


@dataclass(frozen=True)
class Violation:
    """A broken rule, and the error to report; ``is_late`` if the only evidence is an answer that is late."""

    error: Finding | Blocked
    is_late: bool = False


WindowOracle = Callable[[Window], Iterable[Violation]]
"""Yields the violations that a window shows."""


def broken_rules(window: Window) -> Iterator[Violation]:
    """Yield a violation for each rule that is broken in a window of right messages."""
    if window.open and not window.misnamed:
        blocked = Blocked(*missing(window), requirement=ANSWERED, fault=window.end)
        yield Violation(blocked, is_late=window.end is None)
    yield from map(Violation, wrong_ids(window))
    yield from map(Violation, mixed_up(window))
    yield from map(Violation, wrong_answers(window))
    yield from map(Violation, wrong_lines(window))
    yield from map(Violation, wrong_progress(window))


def missing(window: Window) -> tuple[str, tuple[Line, ...], str]:
    """Return which requests were not answered, the line of the first, and the server's stderr.

    Over HTTP, a request that had the same id in another type at the same time, 1 and "1", is among the lines
    too: a server may confuse the streams of the two.
    """
    request, end = window.open[0], window.end
    left = len(window.open) - 1 - (window.mute and len(window.open) > 1)  # the last ping has words of its own
    others = (" (nor was 1 other)" if left == 1 else f" (nor were {left} others)") if left else ""
    what = f"{name_of(request)} was never answered{others}"
    if end is not None:
        return f"{what}: {end}", (request,), end.stderr
    ping = "a later ping was not answered either" if window.mute else "a later ping was answered"
    twins = [line for line in _sent_over_http(window) if _text_of(line) == _text_of(request)]
    twins = [line for line in twins if line is not request]
    same = f"; another request had the id {show(twins[0].message['id'])} at the same time" if twins else ""
    return f"{what}: {ping}{same}", (*twins[:1], request), ""


def _sent_over_http(window: Window) -> list[Line]:
    return window.sent if any(line.carried_by for line in window.lines) else []


def _text_of(request: Line) -> str:
    return str(request.message["id"])


def name_of(request: Line) -> str:
    """Return a request's method and id, shortened."""
    return f"{shorten(str(request.message['method']), 60)} with id {show(request.message['id'], 60)}"


# Answers -----------------------------------------------------------------------------------------


def wrong_ids(window: Window) -> Iterator[Finding]:
    """Yield answers with an id that no open request has, and second answers."""
    misnamed = window.misnamed[: len(window.open)]
    for request, answer in zip(window.open, misnamed, strict=False):
        wanted, got = request.message["id"], answer.message.get("id", ABSENT)
        fix = remedies.of_id(wanted, got)
        yield Finding(f"id {show(wanted)}", f"id {show(got)}", (request, answer.line), ECHO, fix=fix)
    for stray in window.strays:
        if stray.id is None and stray.line.carried_by:  # the response to another POST than a notification's
            continue
        if stray.id is None and stray not in misnamed:
            lines = tuple(filter(None, (window.notification, stray.line)))
            yield Finding("no answer to a notification", "one", lines, NOTIFIED)
        elif stray not in misnamed:
            yield Finding("an id that a request had", f"id {show(stray.id)}", (stray.line,), ECHO)
    for one in window.repeats:
        if one not in misnamed:
            yield _second_answer(window, one)


def _second_answer(window: Window, answer: Response) -> Finding:
    """Return the finding that a request has two answers, as one that was cancelled may have by a race."""
    request, first = _exchanged(window, answer)
    cancelled = window.cancelled.get(key_of(answer.id))
    if cancelled is None:
        return Finding("one answer", "a second one", (request, first, answer.line), ONCE)
    lines = sorted([request, cancelled, first, answer.line], key=lambda line: line.at)
    return Finding("one answer", "another one to a request that was cancelled", lines, ONCE)


def _exchanged(window: Window, answer: Response) -> tuple[Line, ...]:
    """Return the request of an answer, and the first answer to it."""
    assert answer.request is not None
    return answer.request, window.answered[key_of(answer.id)]


def mixed_up(window: Window) -> Iterator[Finding]:
    """Yield pairs of swapped answers: a list request got no list, and another request got it."""
    for method, (_, member) in LISTS.items():
        lists = [one for one in window.answers if _method(one) == method and not _has(one, member)]
        others = [one for one in window.answers if _method(one) != method and _has(one, member)]
        for one, other in zip(lists, others, strict=False):
            got = f"none, but {member} in the answer to {_method(other)}"
            both = (*_exchanged(window, one), *_exchanged(window, other))
            expected = f"{member} in the answer to {method}"
            yield Finding(expected, got, both, ECHO, fix=remedies.ID_OF_ANOTHER)


def _method(answer: Response) -> str:
    assert answer.request is not None
    return str(answer.request.message["method"])


def _has(answer: Response, member: str) -> bool:
    result = answer.message.get("result")
    return isinstance(result, dict) and member in result


def wrong_answers(window: Window) -> Iterator[Finding]:
    """Yield answers without a result or an error, or with both; and results that are not objects."""
    for answer in window.answers:
        lines, message = _exchanged(window, answer), answer.message
        if ("result" in message) == ("error" in message):
            got = "both" if "result" in message else "neither"
            yield Finding("either a result or an error", got, lines, "jsonrpc.result-xor-error")
        if not isinstance(message.get("result", {}), dict):
            yield Finding("an object as result", show(message["result"]), lines, "jsonrpc.result-object")


# Lines -------------------------------------------------------------------------------------------


def wrong_lines(window: Window) -> Iterator[Finding]:
    """Yield lines that are not JSON, or not a message."""
    yield from noise(window)
    for line in window.lines:
        if not line.sent and isinstance(line.message, list) and window.session.revision != BATCHES:
            got = "an array, though none was sent"
            yield Finding("a message", got, (line,), "jsonrpc.message-shape")
        for part in line.parts() if not line.sent else ():
            yield from _wrong_part(window, line, part)


def noise(window: Window) -> Iterator[Finding]:
    """Yield lines that are not JSON, except messages that are merely torn or glued to another."""
    lines = [line for line in window.lines if not line.sent]
    pieces = [line for run in torn(lines) for line in run]
    printed = [line for line in lines if line.fault.startswith(("not JSON", NOT_UTF_8)) and line.raw.strip()]
    for line in printed:
        if line not in pieces and not glued(line):
            got = f"a line that is {line.fault}: {shorten(line.text, 100)!r}"
            yield Finding("JSON-RPC messages only", got, (line,), NOT_JSON_RULE[transport_of(line)])


def _wrong_part(window: Window, line: Line, part: Any) -> Iterator[Finding]:
    named = isinstance(part, dict) and isinstance(part.get("method"), str)
    if not named and not is_answer(part):
        wanted = "a request, a notification or an answer"
        yield Finding(wanted, show(part), (line,), "jsonrpc.message-shape")
    elif part.get("jsonrpc") != "2.0":
        request = None if named else window.requests.get(key_of(part.get("id")))
        wanted, got = 'jsonrpc with the string "2.0"', show(part.get("jsonrpc", ABSENT))
        yield Finding(wanted, got, tuple(filter(None, (request, line))), "jsonrpc.version-member")


# Progress ----------------------------------------------------------------------------------------


def tokens_in(lines: Sequence[Line]) -> set[IdKey]:
    """Return the tokens for which progress was reported."""
    return {_token(progress.notification) for progress in progress_in(lines)}


def _token(notification: Value) -> IdKey:
    token = notification.get("params", "progressToken")
    return key_of(None if token is None else token.json)


def wrong_progress(window: Window) -> Iterator[Finding]:
    """Yield progress with a token that no request gave, and progress that does not grow."""
    last: dict[IdKey, Value] = {}
    for progress in progress_in(window.lines):
        notification = progress.notification
        token, value = _token(notification), notification.get("params", "progress")
        if token not in window.tokens:
            got = str(notification.get("params"))
            yield Finding("a token that was given", got, notification.lines, "progress.token-known")
        elif value is not None and value.is_a(int, float):
            if token in last and value.json <= last[token].json:
                wanted = f"more than {show(last[token].json)}"
                lines = (window.tokens[token], *last[token].lines, *value.lines)
                yield Finding(wanted, show(value.json), lines, "progress.increasing")
            last[token] = value
