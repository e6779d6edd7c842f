"""Modern requests that take several rounds: the server asks for something, the client asks again with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind
from conformance.protocol.value import Value, members

MOST_ROUNDS = 10
MOST_ROUNDS_OF_TOOLS = 102
"""How often a request is made again whose server lets a model use tools: longer than any model here wants."""
RETRY = ("inputResponses", "requestState")
"""The members of params that only a retry has."""


def more_rounds(session: Session, reply: Reply) -> list[Reply]:
    """Every further reply when the session's client gives what it is asked for, within limits.

    It ends with the first reply that asks for nothing, or for something that the client does not give.
    """
    replies: list[Reply] = []
    while reply.needs_input and len(replies) < _most_rounds(reply):
        responses = input_responses(session, reply)
        if responses is None:
            break
        reply = retried(session, reply, responses or ABSENT)
        replies.append(reply)
    return replies


def _most_rounds(reply: Reply) -> int:
    wanted = [Value(one) for one in input_requests(reply).values()]
    return MOST_ROUNDS_OF_TOOLS if members(wanted, "params", "tools") else MOST_ROUNDS


def input_responses(session: Session, reply: Reply) -> dict[str, Any] | None:
    """What the session's client answers to what a reply asks for; None if it refuses some of it."""
    responses = {}
    for key, wanted in input_requests(reply).items():
        asked = wanted if isinstance(wanted, dict) else {}
        answer = session.answer_to(asked.get("method"), asked.get("params"))
        if answer is None or "result" not in answer:
            return None
        responses[key] = answer["result"]
    return responses


def input_requests(reply: Reply) -> Mapping[str, Any]:
    """What a reply asks for, by the server's keys; nothing if it is not told as it should be."""
    wanted = reply.result.get("inputRequests") if isinstance(reply.result, dict) else None
    return wanted if isinstance(wanted, dict) else {}


def retried(session: Session, reply: Reply, responses: Any = ABSENT, state: Any = ABSENT) -> Reply:
    """The same request once more, with responses, and with the reply's own state unless another is given."""
    return session.request(reply.method, retry_of(reply, responses, state))


def retry_of(reply: Reply, responses: Any = ABSENT, state: Any = ABSENT) -> dict[str, Any]:
    """The params that ask again, with no token for progress; members that are `ABSENT` are left out."""
    state = reply.result.get("requestState", ABSENT) if state is ABSENT else state
    asked = reply.request.message["params"]
    params = {name: value for name, value in asked.items() if name not in RETRY}
    params["_meta"] = {name: value for name, value in asked["_meta"].items() if name != "progressToken"}
    more = zip(RETRY, (responses, state), strict=True)
    return {**params, **{name: value for name, value in more if value is not ABSENT}}


def replies_in(session: Session) -> Iterator[Reply]:
    """Every answer in a conversation whose request is known, in order."""
    requests = {}
    for line in session.lines:
        for message in line.parts():
            if line.sent and kind(message) is Kind.REQUEST:
                requests[id_key(message["id"])] = line
            elif not line.sent and kind(message) in (Kind.RESULT, Kind.ERROR):
                request = requests.get(id_key(message.get("id", ABSENT)))
                if request is not None:
                    yield Reply(request, line, message)
