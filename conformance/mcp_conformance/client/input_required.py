"""Modern requests in several rounds: `input_required` answers, and the retries with the responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_conformance.client.message_log import scan
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind
from mcp_conformance.protocol.value import Value, members

MAX_ROUNDS = 10
MAX_TOOL_ROUNDS = 102
"""The limit for a request that lets the client's model use tools; that model stops by itself before it."""
RETRY_MEMBERS = ("inputResponses", "requestState")
"""The members that only the params of a retry have."""


def more_rounds(session: Session, reply: Reply) -> list[Reply]:
    """Retry a request until it is done, and return the replies to the retries.

    The last one asks for nothing, or for something that the session's client refuses, or reached the limit.
    """
    replies: list[Reply] = []
    while reply.needs_input and len(replies) < _max_rounds(reply):
        responses = input_responses(session, reply)
        if responses is None:
            break
        reply = send_retry(session, reply, responses or ABSENT)
        replies.append(reply)
    return replies


def _max_rounds(reply: Reply) -> int:
    requests = [Value(one) for one in input_requests(reply).values()]
    return MAX_TOOL_ROUNDS if members(requests, "params", "tools") else MAX_ROUNDS


def input_responses(session: Session, reply: Reply) -> dict[str, Any] | None:
    """Return the client's responses to the input requests of a reply; None if it refuses one of them."""
    responses = {}
    for key, request in input_requests(reply).items():
        asked = request if isinstance(request, dict) else {}
        answer = session.answer_to(asked.get("method"), asked.get("params"))
        if answer is None or "result" not in answer:
            return None
        responses[key] = answer["result"]
    return responses


def input_requests(reply: Reply) -> Mapping[str, Any]:
    """Return the input requests of a reply by the server's keys; nothing if they are not an object."""
    requests = reply.result.get("inputRequests") if isinstance(reply.result, dict) else None
    return requests if isinstance(requests, dict) else {}


def send_retry(session: Session, reply: Reply, responses: Any = ABSENT, state: Any = ABSENT) -> Reply:
    """Retry a request with ``responses``, and with the reply's own state unless another is given."""
    return session.request(reply.method, retry_params(reply, responses, state))


def retry_params(reply: Reply, responses: Any = ABSENT, state: Any = ABSENT) -> dict[str, Any]:
    """Return the params of a retry, without a progress token; members that are `ABSENT` are left out."""
    state = reply.result.get("requestState", ABSENT) if state is ABSENT else state
    asked = reply.request.message["params"]
    params = {name: value for name, value in asked.items() if name not in RETRY_MEMBERS}
    params["_meta"] = {name: value for name, value in asked["_meta"].items() if name != "progressToken"}
    more = zip(RETRY_MEMBERS, (responses, state), strict=True)
    return {**params, **{name: value for name, value in more if value is not ABSENT}}


@scan
def replies_in(session: Session) -> Iterator[Reply]:
    """Yield each answer in a conversation whose request is known, in order."""
    requests = {}
    for line in session.lines:
        for message in line.parts():
            found = kind(message)
            if line.sent and found is Kind.REQUEST:
                requests[id_key(message["id"])] = line
            elif not line.sent and found in (Kind.RESULT, Kind.ERROR):
                request = requests.get(id_key(message.get("id", ABSENT)))
                if request is not None:
                    yield Reply(request, line, message)
