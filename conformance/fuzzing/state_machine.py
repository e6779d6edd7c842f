"""A state machine whose steps are what a server offers: Hypothesis holds a conversation in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from conformance.client.tool_call import Call
from conformance.fuzzing.conversation import FuzzConversation
from conformance.fuzzing.payloads import NOTIFICATIONS, UNKNOWN_METHOD, notification_line
from conformance.protocol.jsonrpc import Line

MAX_IN_FLIGHT = 8
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@dataclass(frozen=True)
class Offer:
    """What may be asked of a server besides pings."""

    lists: Sequence[str] = ()
    calls: Sequence[Call] = ()
    uris: Sequence[str] = ()
    has_levels: bool = False


def machine_for(conversation: FuzzConversation, offer: Offer) -> type[RuleBasedStateMachine]:
    """The machine: its steps put lines into a burst, until `wait` sends them all at once."""
    asked = st.sampled_from([conversation.liveness.method, *offer.lists])
    calls = st.sampled_from(range(len(offer.calls)))  # Hypothesis writes down what it may choose from
    uris = st.sampled_from(offer.uris)

    class InAnyOrder(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.burst: list[Line] = []

        def cancel(self, request: Line) -> None:
            params = {"requestId": request.message["id"], "reason": "no longer needed"}
            self.burst += [request, notification_line("notifications/cancelled", params)]

        @rule(method=asked | st.just(UNKNOWN_METHOD), is_text=st.booleans())
        def ask(self, method: str, is_text: bool) -> None:
            id = conversation.next_id()
            self.burst.append(conversation.request(f"request {id}" if is_text else id, method))

        @rule(method=asked)
        def ask_and_cancel(self, method: str) -> None:
            self.cancel(conversation.request(conversation.next_id(), method))

        @precondition(lambda _: bool(offer.calls))
        @rule(call=calls, token=st.sampled_from(["none", "text", "number"]))
        def call(self, call: int, token: str) -> None:
            id, called = conversation.next_id(), offer.calls[call]
            self.burst.append(
                conversation.call(called, id, {"none": None, "text": f"token {id}", "number": id}[token])
            )

        @precondition(lambda _: bool(offer.calls))
        @rule(call=calls)
        def call_and_cancel(self, call: int) -> None:
            self.cancel(conversation.call(offer.calls[call], id := conversation.next_id(), f"token {id}"))

        @rule(line=st.sampled_from(NOTIFICATIONS))
        def notify(self, line: Line) -> None:
            self.burst.append(line)

        @precondition(lambda _: offer.has_levels)
        @rule(level=st.sampled_from(LEVELS))
        def set_level(self, level: str) -> None:
            self.burst.append(conversation.request(conversation.next_id(), "logging/setLevel", {"level": level}))

        @precondition(lambda _: bool(offer.uris))
        @rule(uri=uris, method=st.sampled_from(["resources/subscribe", "resources/unsubscribe"]))
        def subscribe(self, uri: str, method: str) -> None:
            self.burst.append(conversation.request(conversation.next_id(), method, {"uri": uri}))

        @precondition(lambda self: bool(self.burst))
        @rule()
        def wait(self) -> None:
            conversation.send(*self.burst)
            self.burst = []

        @invariant()
        def few_are_in_flight(self) -> None:
            if len(self.burst) >= MAX_IN_FLIGHT:
                self.wait()

        def teardown(self) -> None:
            conversation.send(*self.burst)

    return InAnyOrder
