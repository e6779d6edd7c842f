"""Random bursts: requests and notifications that a server offers to take, in any order, and broken lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from mcp_conformance.client.tool_call import Call
from mcp_conformance.fuzzing.budgets import PROTOCOL
from mcp_conformance.fuzzing.conversation import FuzzConversation
from mcp_conformance.fuzzing.payloads import DAMAGE, NOTIFICATIONS, LivenessRequest, notification_line
from mcp_conformance.protocol.jsonrpc import ABSENT, Line
from mcp_conformance.protocol.methods import CANCELLED, LOG_LEVELS, NO_SUCH_METHOD

# Never: full bursts; 0.15: a few lines; 0.5: nearly a request at a time, where the order alone can break
# something.
WAIT_SHARES = (0.0, 0.15, 0.5)
"""How often a burst ends before it has as many lines as it may have; one share for each sequence."""


@dataclass(frozen=True)
class Offer:
    """What a client may request besides pings: lists, calls, subscriptions to ``uris``, log levels."""

    lists: Sequence[str] = ()
    calls: Sequence[Call] = ()
    uris: Sequence[str] = ()
    has_levels: bool = False


class RandomBursts:
    """The bursts of a conversation, made of what is offered by a seeded source of choices."""

    def __init__(self, conversation: FuzzConversation, offer: Offer, random: Random):
        self._conversation, self._offer, self._random = conversation, offer, random
        self._methods = [conversation.liveness.method, *offer.lists]
        self._steps: list[Callable[[], list[Line]]] = [self._notify, self._ask, self._ask_and_cancel]
        self._steps += [self._call, self._call_and_cancel] if offer.calls else []
        self._steps += [self._set_level] if offer.has_levels else []
        self._steps += [self._subscribe] if offer.uris else []

    def sequence(self, length: int) -> Iterator[list[Line]]:
        """Yield the bursts of a sequence of so many steps, which takes only some kinds of steps."""
        steps = self._random.sample(self._steps, self._random.randint(1, len(self._steps)))
        wait_share = self._random.choice(WAIT_SHARES)
        burst: list[Line] = []
        for _ in range(length):
            burst += self._random.choice(steps)()
            if len(burst) >= PROTOCOL.max_burst_lines or self._random.random() < wait_share:
                yield burst
                burst = []
        if burst:
            yield burst

    def _notify(self) -> list[Line]:
        return [self._random.choice(NOTIFICATIONS)]

    def _ask(self) -> list[Line]:
        number = self._conversation.next_id()
        id = number if self._random.random() < 0.5 else f"request {number}"
        return [self._conversation.request(id, self._random.choice([*self._methods, NO_SUCH_METHOD]))]

    def _ask_and_cancel(self) -> list[Line]:
        return self._cancelled(self._request(self._random.choice(self._methods)))

    def _call(self) -> list[Line]:
        id = self._conversation.next_id()
        token = self._random.choice([None, f"token {id}", id])
        return [self._conversation.call(self._random.choice(self._offer.calls), id, token)]

    def _call_and_cancel(self) -> list[Line]:
        id = self._conversation.next_id()
        chosen = self._random.choice(self._offer.calls)
        return self._cancelled(self._conversation.call(chosen, id, f"token {id}"))

    def _set_level(self) -> list[Line]:
        return [self._request("logging/setLevel", {"level": self._random.choice(LOG_LEVELS)})]

    def _subscribe(self) -> list[Line]:
        method = self._random.choice(["resources/subscribe", "resources/unsubscribe"])
        return [self._request(method, {"uri": self._random.choice(self._offer.uris)})]

    def _request(self, method: str, params: Any = ABSENT) -> Line:
        return self._conversation.request(self._conversation.next_id(), method, params)

    def _cancelled(self, request: Line) -> list[Line]:
        """Return a request and its cancellation."""
        params = {"requestId": request.message["id"], "reason": "no longer needed"}
        return [request, notification_line(CANCELLED, params)]


# Broken lines ------------------------------------------------------------------------------------

# Members that a parser looks for in another place, and two that none does.
NAMES = ("jsonrpc", "id", "params", "result", "error", "", "a")
# Up to 4**4 values a line: parsers that fail at depth have lines of their own.
MAX_DEPTH = 4


def broken_line(liveness: LivenessRequest, random: Random) -> bytes:
    """Return a liveness request with bytes added, removed or replaced; or any JSON value."""
    if random.random() < 0.5:
        return json.dumps(_value(random), ensure_ascii=False).encode()
    raw = bytearray(liveness.raw())
    for _ in range(random.randint(1, 3)):
        start, length = random.randint(0, len(raw)), random.choice([0, 1, 1, 2, 8])
        raw[start : start + length] = random.choice([*DAMAGE, random.randbytes(random.randint(0, 4))])
    # A line end would make two lines, of which the second has no liveness request after it.
    return bytes(raw).replace(b"\n", b" ")


def _value(random: Random, depth: int = 0) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: random.choice([None, True, False]),
        lambda: random.choice([0, -1, random.randint(-(2**70), 2**70)]),
        lambda: random.uniform(-1, 1) * 10.0 ** random.randint(-300, 300),
        lambda: _text(random),
    ]
    if depth < MAX_DEPTH:
        kinds += [
            lambda: [_value(random, depth + 1) for _ in range(random.randint(0, 4))],
            lambda: {_name(random): _value(random, depth + 1) for _ in range(random.randint(0, 4))},
        ]
    return random.choice(kinds)()


def _name(random: Random) -> str:
    return random.choice([*NAMES, _text(random)])


def _text(random: Random) -> str:
    letters = (random.randint(0, 0x7F), random.randint(0, 0xD7FF), random.randint(0xE000, 0x10FFFF))
    return "".join(chr(random.choice(letters)) for _ in range(random.randint(0, 20)))
