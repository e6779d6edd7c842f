"""Fuzzing the protocol: what is said in two conversations, one of broken lines and one of right messages.

Each is held once in a run; then every check looks at what came of it for its own rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from hypothesis.strategies import SearchStrategy

from conformance.client.in_flight import Window, key_of
from conformance.client.tool_call import Call
from conformance.expect import skip
from conformance.fuzzing import payloads
from conformance.fuzzing.conversation import FuzzConversation
from conformance.fuzzing.invariants import ANSWERED, Violation, broken_rules, missing, noise, tokens_in
from conformance.fuzzing.payloads import (
    IDS,
    LARGE_IDS,
    NOTIFICATIONS,
    READABLE_IDS,
    UNKNOWN_METHOD,
    damaged_lines,
    unusual_request,
    unusual_requests,
)
from conformance.fuzzing.state_machine import Offer, machine_for
from conformance.protocol.jsonrpc import Line, show
from conformance.protocol.text import shorten
from conformance.protocol.value import members
from conformance.target.server import Server
from conformance.verdicts import Blocked, Finding

GARBAGE = "jsonrpc.garbage-not-fatal"
ID_TYPES = "jsonrpc.id-types-accepted"
UNREADABLE = "jsonrpc.error-id-unreadable"
LOST_AFTER_SECONDS = 3.0
QUICK_CALL_SECONDS = 0.5
MAX_CALLS_SECONDS = 5.0
MAX_LIST_BYTES = 1_000_000
"""How long the answer to each of many requests may be."""
REQUESTS_AT_ONCE = 16
STEPS_PER_EXAMPLE = 15
STAGES = ("ids", "large ids", "notifications", "many requests", "calls", "any order")
SECONDS_PER_EXAMPLE = 0.5


def broken_lines(server: Server) -> FuzzConversation:
    """The conversation of broken lines, held once; skips the check if nothing is to be fuzzed."""
    return _held(server, "broken lines", _hold_broken_lines)


def right_messages(server: Server) -> FuzzConversation:
    """The conversation of right messages, held once; skips the check if nothing is to be fuzzed."""
    return _held(server, "right messages", _hold_right_messages)


def _held(server: Server, name: str, hold: Callable[[FuzzConversation], None]) -> FuzzConversation:
    if not server.settings.examples:
        skip("nothing is fuzzed: --mcp-fuzz none")

    def make() -> FuzzConversation:
        conversation = FuzzConversation(server)
        try:
            hold(conversation)
            conversation.start_confirming()
        finally:
            conversation.close()
        return conversation

    held: FuzzConversation = server.once(f"protocol fuzz: {name}", make)
    return held


QUIET = settings(
    deadline=None,
    database=None,
    derandomize=False,
    print_blob=False,
    report_multiple_bugs=False,
    verbosity=Verbosity.quiet,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
"""Hypothesis makes the choices and nothing else: what a talk finds, it confirms and reduces itself."""


# Broken lines ------------------------------------------------------------------------------------


def _hold_broken_lines(conversation: FuzzConversation) -> None:
    chosen = conversation.server.settings
    conversation.begin_stage("hard to read", partial(unusual_request_violations, unusual_requests(conversation.liveness)), lost_after=LOST_AFTER_SECONDS)
    for name in unusual_requests(conversation.liveness):
        conversation.send(unusual_request(conversation.liveness, name, conversation.next_id()))
    for what, lines in payloads.broken_lines(conversation.liveness).items():
        conversation.begin_stage(what, broken_line_violations, lost_after=LOST_AFTER_SECONDS)
        for raw in lines:
            conversation.send(Line(sent=True, raw=raw))
    conversation.begin_stage("random", random_line_violations, lost_after=LOST_AFTER_SECONDS)
    _each(
        damaged_lines(conversation.liveness),
        chosen.examples,
        chosen.seed,
        lambda raw: conversation.send(Line(sent=True, raw=raw)),
    )


def _each(strategy: SearchStrategy[Any], examples: int, start: int, look: Callable[[Any], object]) -> None:
    @seed(start)
    @settings(QUIET, max_examples=examples)
    @given(strategy)
    def run(value: Any) -> None:
        look(value)

    run()


def random_line_violations(window: Window) -> Iterator[Violation]:
    """After a broken line the next requests are answered, and nothing but messages is on stdout."""
    broken = window.lines[0]
    if window.open:
        how, (request,), stderr = missing(window)
        last = " ".join(stderr.strip().rpartition("\n")[2].split())
        got = f"after {show(shorten(broken.text, 100))}, {how}{shorten(f': {last}' if last else '', 200)}"
        finding = Finding("an answer to the next request", got, (broken, request), GARBAGE)
        yield Violation(finding, late=window.end is None)
    yield from map(Violation, noise(window))


def broken_line_violations(window: Window) -> Iterator[Violation]:
    """The same, and an answer to the line names no id that is not in it."""
    yield from random_line_violations(window)
    wanted, known = "the id of the line, null or none", {key_of(id) for id in READABLE_IDS}
    for one in [*window.strays, *window.repeats]:
        read = isinstance(one.id, str) and one.id.startswith("conformance")
        if not read and key_of(one.id) not in known and "error" in one.message:
            yield Violation(Finding(wanted, f"id {show(one.id)}", (window.lines[0], one.line), UNREADABLE))


def unusual_request_violations(forms: Mapping[str, bytes], window: Window) -> Iterator[Violation]:
    """A request that is hard to read is answered, or refused as unreadable."""
    request = window.asked[0]
    if window.end is not None or window.mute:
        yield Violation(Blocked(*missing(window), requirement=ANSWERED, fault=window.end), late=window.end is None)
    elif request in window.open and not window.misnamed:
        id = request.message["id"]
        name = next(name for name, form in forms.items() if form % id == request.raw)
        finding = Finding("an answer to each ping", f"none to one with {name}", (request,), ANSWERED)
        yield Violation(finding, late=True)
    yield from map(Violation, noise(window))


# Right messages ----------------------------------------------------------------------------------


def _hold_right_messages(conversation: FuzzConversation) -> None:
    server = conversation.server
    calls = _quick(server.calls())
    lists = [method for method in server.served_lists() if _is_short(server, method)]
    conversation.begin_stage("ids", partial(id_violations, large=False))
    for id in IDS:
        conversation.send(conversation.request(id, conversation.liveness.method))
    conversation.begin_stage("large ids", partial(id_violations, large=True), lost_after=LOST_AFTER_SECONDS)
    for id in LARGE_IDS:
        conversation.send(conversation.request(id, conversation.liveness.method))
    conversation.begin_stage("notifications", broken_rules)
    for line in NOTIFICATIONS:
        conversation.send(line)
    conversation.begin_stage("many requests", broken_rules, patient=True)
    conversation.send(*_many(conversation, [conversation.liveness.method, UNKNOWN_METHOD, *lists[:1]]))
    conversation.begin_stage("calls", broken_rules, patient=True)
    with_progress = _calls_with_progress(conversation, calls)
    in_any_order(conversation, lists, with_progress + [call for call in calls if call not in with_progress])


def _is_short(server: Server, method: str) -> bool:
    """Whether the answers to several requests for a list may be under way at once."""
    line = server.listing(method).replies[0].line
    return line is not None and len(line.raw) <= MAX_LIST_BYTES


def _quick(calls: list[Call]) -> list[Call]:
    """The calls that took little time, as many as may be made at once."""
    quick = [call for call in calls if call.reply.seconds < QUICK_CALL_SECONDS]
    together = itertools.accumulate(call.reply.seconds for call in quick)
    return [call for call, seconds in zip(quick, together, strict=True) if seconds < MAX_CALLS_SECONDS]


def _many(conversation: FuzzConversation, methods: list[str]) -> list[Line]:
    """Requests with numbers and with the same numbers as text for their ids."""
    ids = [conversation.next_id() for _ in range(REQUESTS_AT_ONCE)]
    texts = [id if id % 2 else str(id - 1) for id in ids]
    return [conversation.request(id, methods[number % len(methods)]) for number, id in enumerate(texts)]


def _calls_with_progress(conversation: FuzzConversation, calls: list[Call]) -> list[Call]:
    """Call all at once, and those that tell their progress again with other tokens: the ones that told."""
    numbers = [conversation.next_id() for _ in calls]
    tokens = [number if number % 2 else f"token {number}" for number in numbers]
    window = conversation.send(*map(conversation.call, calls, numbers, tokens))
    told = tokens_in(window.lines) if window is not None else set()
    with_progress = [call for call, token in zip(calls, tokens, strict=True) if key_of(token) in told]
    for call in with_progress:
        number = conversation.next_id()
        again = (conversation.call(call, conversation.next_id(), token) for token in (None, number, f"token {number}"))
        conversation.send(*again)
    return with_progress


def in_any_order(conversation: FuzzConversation, lists: list[str], calls: list[Call]) -> None:
    """Let Hypothesis hold many short conversations."""
    server, chosen = conversation.server, conversation.server.settings
    is_old = not conversation.liveness.meta
    subscribes = is_old and server.declares("resources", "subscribe")
    uris = members(server.listed("resources/list"), "uri") if subscribes else []
    names = [uri.json for uri in uris if uri.is_a(str)]
    machine = machine_for(conversation, Offer(lists, calls, names, is_old and server.declares("logging")))
    conversation.begin_stage("any order", broken_rules, patient=True, seconds=chosen.examples * SECONDS_PER_EXAMPLE)
    run_state_machine_as_test(
        seed(chosen.seed)(machine),
        settings=settings(QUIET, max_examples=chosen.examples, stateful_step_count=STEPS_PER_EXAMPLE),
    )


def id_violations(window: Window, *, large: bool) -> Iterator[Violation]:
    """A ping is answered under its id, whatever that is; a large one may at least be lost or changed."""
    request, wanted = window.asked[0], "the answer that any ping has"
    id = f"for the id {show(request.message['id'], 60)}"
    if request not in window.open:
        answers = {answer.request: answer for answer in window.answers}
        refused = [one for one in answers if answers[one].message.get("error") is not None]
        if request in refused and window.asked[-1] not in refused:
            yield Violation(Finding(wanted, f"an error {id}", (request, answers[request].line), ID_TYPES))
    elif window.end is None and not window.mute:
        names = ["no id" if stray.id is None else f"id {show(stray.id)}" for stray in window.misnamed]
        lines = (request, *(stray.line for stray in window.misnamed[:1]))
        if large or names[:1] == ["no id"]:
            got = f"one with {names[0]} {id}" if names else f"none {id}"
            yield Violation(Finding(wanted, got, lines, ID_TYPES), late=not names)
            return
        if not names:
            yield Violation(Blocked(*missing(window), requirement=ID_TYPES), late=True)
            return
    yield from broken_rules(window)
