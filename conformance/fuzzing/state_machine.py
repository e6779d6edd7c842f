"""A Hypothesis state machine whose steps are requests and notifications that a server offers to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from conformance.client.tool_call import Call
from conformance.fuzzing.conversation import FuzzConversation
from conformance.fuzzing.payloads import NOTIFICATIONS, notification_line
from conformance.protocol.jsonrpc import ABSENT, Line
from conformance.protocol.methods import CANCELLED, LOG_LEVELS, NO_SUCH_METHOD

MAX_BURST_LINES = 8


@dataclass(frozen=True)
class Offer:
    """What a client may request besides pings: lists, calls, subscriptions to ``uris``, log levels."""

    lists: Sequence[str] = ()
    calls: Sequence[Call] = ()
    uris: Sequence[str] = ()
    has_levels: bool = False


class BurstMachine(RuleBasedStateMachine):
    """A machine whose steps add lines to a ``burst``, until the step `wait` sends it to the ``channel``."""

    channel: FuzzConversation

    def __init__(self) -> None:
        super().__init__()
        self.burst: list[Line] = []

    def request(self, method: str, params: Any = ABSENT) -> Line:
        """Return the line of a request with a number as its id."""
        return self.channel.request(self.channel.next_id(), method, params)

    def add_cancelled(self, request: Line) -> None:
        """Add a request and its cancellation."""
        params = {"requestId": request.message["id"], "reason": "no longer needed"}
        self.burst += [request, notification_line(CANCELLED, params)]

    @rule(line=st.sampled_from(NOTIFICATIONS))
    def notify(self, line: Line) -> None:
        """Add a notification that the server ignores."""
        self.burst.append(line)

    @precondition(lambda self: bool(self.burst))
    @rule()
    def wait(self) -> None:
        """Send the burst and await its answers."""
        self.channel.send(*self.burst)
        self.burst = []

    @invariant()
    def burst_is_short(self) -> None:
        """Send a burst that has become long."""
        if len(self.burst) >= MAX_BURST_LINES:
            self.wait()

    def teardown(self) -> None:
        """Send the last burst."""
        self.channel.send(*self.burst)


def machine_for(conversation: FuzzConversation, offer: Offer) -> type[RuleBasedStateMachine]:
    """Return a machine that requests what is offered, in any order."""
    methods = st.sampled_from([conversation.liveness.method, *offer.lists])
    calls = st.sampled_from(range(len(offer.calls)))  # indexes, as Hypothesis prints what it chooses from
    uris = st.sampled_from(offer.uris)

    class InAnyOrder(BurstMachine):
        channel = conversation

        @rule(method=methods | st.just(NO_SUCH_METHOD), is_text=st.booleans())
        def ask(self, method: str, is_text: bool) -> None:
            id = conversation.next_id()
            self.burst.append(conversation.request(f"request {id}" if is_text else id, method))

        @rule(method=methods)
        def ask_and_cancel(self, method: str) -> None:
            self.add_cancelled(self.request(method))

        @precondition(lambda _: bool(offer.calls))
        @rule(call=calls, token=st.sampled_from(["none", "text", "number"]))
        def call(self, call: int, token: str) -> None:
            id = conversation.next_id()
            chosen = {"none": None, "text": f"token {id}", "number": id}[token]
            self.burst.append(conversation.call(offer.calls[call], id, chosen))

        @precondition(lambda _: bool(offer.calls))
        @rule(call=calls)
        def call_and_cancel(self, call: int) -> None:
            id = conversation.next_id()
            self.add_cancelled(conversation.call(offer.calls[call], id, f"token {id}"))

        @precondition(lambda _: offer.has_levels)
        @rule(level=st.sampled_from(LOG_LEVELS))
        def set_level(self, level: str) -> None:
            self.burst.append(self.request("logging/setLevel", {"level": level}))

        @precondition(lambda _: bool(offer.uris))
        @rule(uri=uris, method=st.sampled_from(["resources/subscribe", "resources/unsubscribe"]))
        def subscribe(self, uri: str, method: str) -> None:
            self.burst.append(self.request(method, {"uri": uri}))

    return InAnyOrder
