"""Fuzz the protocol in two conversations: one of broken lines, one of right messages.

Each is held once in a run; then every check looks in its record for violations of the check's own rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random

from mcp_conformance import remedies
from mcp_conformance.client.in_flight import Window, key_of
from mcp_conformance.client.reply import Closed
from mcp_conformance.client.tool_call import Call
from mcp_conformance.fuzzing import payloads
from mcp_conformance.fuzzing.budgets import PROTOCOL
from mcp_conformance.fuzzing.conversation import FuzzConversation
from mcp_conformance.fuzzing.fuzzer import require_time
from mcp_conformance.fuzzing.invariants import ANSWERED, Violation, broken_rules, missing, noise, tokens_in
from mcp_conformance.fuzzing.payloads import (
    IDS,
    LARGE_IDS,
    NOTIFICATIONS,
    READABLE_IDS,
    unusual_request,
    unusual_requests,
)
from mcp_conformance.fuzzing.random_bursts import Offer, RandomBursts, broken_line
from mcp_conformance.fuzzing.swapped import Results, call_key, result_alone, swapped_results
from mcp_conformance.protocol.jsonrpc import Line, show
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.protocol.text import last_line, shorten
from mcp_conformance.protocol.value import members
from mcp_conformance.target.scenario import scenario, start_with_fuzzing
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Finding

GARBAGE = "jsonrpc.garbage-not-fatal"
ID_TYPES = "jsonrpc.id-types-accepted"
UNREADABLE = "jsonrpc.error-id-unreadable"
STAGES = ("ids", "large ids", "notifications", "many requests", "calls", "any order")


@start_with_fuzzing
@scenario
def broken_lines(server: Server) -> FuzzConversation:
    """Hold the conversation of broken lines; skip the check if nothing is fuzzed."""
    return _held(server, _send_broken_lines)


@scenario
def right_messages(server: Server) -> FuzzConversation:
    """Hold the conversation of right messages; skip the check if nothing is fuzzed."""
    return _held(server, _send_right_messages)


def _held(server: Server, send: Callable[[FuzzConversation], None]) -> FuzzConversation:
    require_time(server)
    conversation = FuzzConversation(server)
    try:
        send(conversation)
        conversation.start_confirming()
    finally:
        conversation.close()
    return conversation


# Broken lines ------------------------------------------------------------------------------------


def _send_broken_lines(conversation: FuzzConversation) -> None:
    chosen, liveness = conversation.server.settings, conversation.liveness
    forms = unusual_requests(liveness)
    oracle = partial(unusual_request_violations, forms)
    conversation.begin_stage("hard to read", oracle, lost_after=PROTOCOL.lost_after_seconds)
    for name in forms:
        conversation.send(unusual_request(liveness, name, conversation.next_id()))
    for what, lines in payloads.broken_lines(liveness).items():
        conversation.begin_stage(what, broken_line_violations, lost_after=PROTOCOL.lost_after_seconds)
        for raw in lines:
            conversation.send(Line(sent=True, raw=raw))
    conversation.begin_stage("random", random_line_violations, lost_after=PROTOCOL.lost_after_seconds)
    random = _random(conversation, "random")
    for _ in range(chosen.examples_of()):
        conversation.send(Line(sent=True, raw=broken_line(liveness, random)))


def _random(conversation: FuzzConversation, stage: str) -> Random:
    return Random(f"{conversation.server.settings.seed} {stage}")  # noqa: S311


def random_line_violations(window: Window) -> Iterator[Violation]:
    """Yield violations after a broken line: an unanswered next request, and noise on stdout."""
    broken = window.lines[0]
    if window.open:
        how, (*_, request), stderr = missing(window)
        more = window.end.last_line if isinstance(window.end, Closed) else last_line(stderr)
        got = f"no answer after the line {show(shorten(broken.text, 100))}: {how}{more}"
        lines = (broken, request)
        finding = Finding("an answer to the next request", got, lines, GARBAGE, fault=window.end)
        yield Violation(finding, is_late=window.end is None)
    yield from map(Violation, noise(window))


def broken_line_violations(window: Window) -> Iterator[Violation]:
    """Yield the same violations, and answers to the line with an id that is not in it."""
    yield from random_line_violations(window)
    wanted, known = "the id of the line, null or none", {key_of(id) for id in READABLE_IDS}
    for one in [*window.strays, *window.repeats]:
        read = isinstance(one.id, str) and one.id.startswith("conformance")
        if not read and key_of(one.id) not in known and "error" in one.message:
            yield Violation(Finding(wanted, f"id {show(one.id)}", (window.lines[0], one.line), UNREADABLE))


def unusual_request_violations(forms: Mapping[str, bytes], window: Window) -> Iterator[Violation]:
    """Yield violations after a request that is hard to read: no answer, not even that it is unreadable."""
    request = window.sent[0]
    if window.end is not None or window.mute:
        blocked = Blocked(*missing(window), requirement=ANSWERED, fault=window.end)
        yield Violation(blocked, is_late=window.end is None)
    elif request in window.open and not window.misnamed:
        id = request.message["id"]
        name = next(name for name, form in forms.items() if form % id == request.raw)
        finding = Finding("an answer to each ping", f"none to one with {name}", (request,), ANSWERED)
        yield Violation(finding, is_late=True)
    yield from map(Violation, noise(window))


# Right messages ----------------------------------------------------------------------------------


def _send_right_messages(conversation: FuzzConversation) -> None:
    server = conversation.server
    # Calls that block each other have a finding of their own, and each burst of them would wait in vain.
    calls = [] if server.fuzzing.blocks_together else _quick(server.quick_calls())
    lists = [method for method in server.served_lists() if _is_short(server, method)]
    conversation.begin_stage("ids", partial(id_violations, large=False))
    for id in IDS:
        conversation.send(conversation.request(id, conversation.liveness.method))
    conversation.begin_stage(
        "large ids", partial(id_violations, large=True), lost_after=PROTOCOL.lost_after_seconds
    )
    for id in LARGE_IDS:
        conversation.send(conversation.request(id, conversation.liveness.method))
    conversation.begin_stage("notifications", broken_rules)
    for line in NOTIFICATIONS:
        conversation.send(line)
    conversation.begin_stage("many requests", broken_rules, slow_answers=True)
    # One list only: each is long, and the point is many requests.
    conversation.send(*_many(conversation, [conversation.liveness.method, NO_SUCH_METHOD, *lists[:1]]))
    alone: Results = {}
    conversation.begin_stage("calls", partial(call_violations, alone), slow_answers=True)
    with_progress = _calls_with_progress(conversation, calls)
    _steady_calls_together(conversation, calls, alone)
    in_any_order(conversation, lists, with_progress + [call for call in calls if call not in with_progress])


def _is_short(server: Server, method: str) -> bool:
    """Return whether a list's answer is short enough to request it several times at once."""
    line = server.listing(method).replies[0].line
    return line is not None and len(line.raw) <= PROTOCOL.max_list_bytes


def _quick(calls: list[Call]) -> list[Call]:
    """Return the calls that took little time, as many as may be made at once."""
    quick = [call for call in calls if call.reply.seconds < PROTOCOL.max_quick_call_seconds]
    together = itertools.accumulate(call.reply.seconds for call in quick)
    return [
        call
        for call, seconds in zip(quick, together, strict=True)
        if seconds < PROTOCOL.max_all_calls_seconds
    ]


def _many(conversation: FuzzConversation, methods: list[str]) -> list[Line]:
    """Return requests whose ids are numbers, and the same numbers as strings."""
    ids = [conversation.next_id() for _ in range(PROTOCOL.requests_at_once)]
    # The number 5 and the text "5" are two ids: a server that keys by text loses one.
    texts = [id if id % 2 else str(id - 1) for id in ids]
    return [conversation.request(id, methods[number % len(methods)]) for number, id in enumerate(texts)]


def _calls_with_progress(conversation: FuzzConversation, calls: list[Call]) -> list[Call]:
    """Make all calls at once, then repeat those that reported progress with other tokens; return those."""
    numbers = [conversation.next_id() for _ in calls]
    # Tokens of both types: a server that makes one of them a text of digits mixes them up.
    tokens = [number if number % 2 else f"token {number}" for number in numbers]
    window = conversation.send(*map(conversation.call, calls, numbers, tokens))
    reported = tokens_in(window.lines) if window is not None else set()
    with_progress = [call for call, token in zip(calls, tokens, strict=True) if key_of(token) in reported]
    for call in with_progress:
        number = conversation.next_id()
        others = (None, number, f"token {number}")
        conversation.send(*(conversation.call(call, conversation.next_id(), token) for token in others))
    return with_progress


def _steady_calls_together(conversation: FuzzConversation, calls: list[Call], alone: Results) -> None:
    """Make calls alone, to learn which have the same result each time, and then those at once."""
    steady = []
    quick = [one for one in calls if one.reply.seconds < PROTOCOL.max_steady_call_seconds and not one.failed]
    for call in quick if len(quick) > 1 else ():
        window = conversation.send(conversation.call(call, conversation.next_id()))
        text = result_alone(call, window) if window is not None else ""
        if text:
            steady.append(call)
            alone[call_key(call.params)] = text
    if len(alone) > 1:
        many = itertools.islice(itertools.cycle(steady), PROTOCOL.requests_at_once)
        conversation.send(*(conversation.call(call, conversation.next_id()) for call in many))


def call_violations(alone: Results, window: Window) -> Iterator[Violation]:
    """Yield violations in a window of calls, of which some have a known result when they are made alone."""
    yield from broken_rules(window)
    yield from map(Violation, swapped_results(alone, window))


def in_any_order(conversation: FuzzConversation, lists: list[str], calls: list[Call]) -> None:
    """Send many short conversations of random bursts."""
    server, chosen = conversation.server, conversation.server.settings
    is_old = not conversation.liveness.meta
    subscribes = is_old and server.declares("resources", "subscribe")
    uris = members(server.listed("resources/list"), "uri") if subscribes else []
    names = [uri.json for uri in uris if uri.is_a(str)]
    offer = Offer(lists, calls, names, is_old and server.declares("logging"))
    bursts = RandomBursts(conversation, offer, _random(conversation, "any order"))
    seconds = min(chosen.examples_of() * PROTOCOL.seconds_per_example, server.run.fuzz_seconds(server.clock))
    conversation.begin_stage("any order", broken_rules, slow_answers=True, max_seconds=seconds)
    for _ in range(chosen.examples_of()):
        for burst in bursts.sequence(PROTOCOL.steps_per_example):
            conversation.send(*burst)


def id_violations(window: Window, *, large: bool) -> Iterator[Violation]:
    """Yield violations after a request with an unusual id.

    A missing answer is a `Blocked` for the rule on ids; for a ``large`` id, a missing answer or another id in
    it is a `Finding` of that rule, and an error with its id or none is right.  Over HTTP, an error status is
    no answer.
    """
    request, wanted = window.sent[0], "the answer that any ping has"
    id = f"for the id {show(request.message['id'], 60)}"
    fix = remedies.ROUNDED_ID if large else remedies.of_unread_id(request.message["id"])
    answers = {answer.request: answer for answer in window.answers}
    if request in answers:
        refused = [one for one in answers if answers[one].message.get("error") is not None]
        if request in refused and window.sent[-1] not in refused and not large:
            proof = request, answers[request].line
            yield Violation(Finding(wanted, f"an error {id}", proof, ID_TYPES, fix=fix))
    elif window.end is None and not window.mute:
        others = window.misnamed or window.strays
        names = ["no id" if stray.id is None else f"id {show(stray.id)}" for stray in others]
        lines = (request, *(stray.line for stray in others[:1]))
        if large and names[:1] == ["no id"] and others[0].message.get("error") is not None:
            return
        if large or names[:1] == ["no id"]:
            got = f"one with {names[0]} {id}" if names else f"none {id}"
            yield Violation(Finding(wanted, got, lines, ID_TYPES, fix=fix), is_late=not names)
            return
        if not names and request in window.open:
            yield Violation(Blocked(*missing(window), requirement=ID_TYPES, fix=fix), is_late=True)
            return
    yield from broken_rules(window)
