"""Requests that a modern server answers with `input_required`, and retries of them in several ways."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.input_required import (
    RETRY_MEMBERS,
    input_requests,
    input_responses,
    replies_in,
    send_retry,
)
from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.session import Session
from mcp_conformance.expect import require_answer, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Line, id_key
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.client_features import DECLINING, FULL_CLIENT, answers_for, run_with_client
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

MAX_CALLS = 5
MAX_FETCHES = 3
MAX_UNANSWERED_RETRIES = 2
EXIT_SECONDS = 10.0
MAY_REQUIRE_INPUT = ("tools/call", "prompts/get", "resources/read")
"""The methods that a server may answer with `input_required`."""
INVALID_RESPONSE = 271828
PLAIN_TEXT_KEYWORDS = {"type", "title", "description"}
"""The keywords of a schema that allows any text."""


@dataclass(frozen=True)
class InputRequired:
    """A request to which `FULL_CLIENT` got `input_required`; ``rounds`` are all replies that it got."""

    rounds: tuple[Reply, ...]

    @property
    def method(self) -> str:
        """The method of the request."""
        return self.rounds[0].method

    @property
    def params(self) -> dict[str, Any]:
        """The params of the request, without ``_meta``."""
        params = self.rounds[0].request.message["params"]
        return {name: value for name, value in params.items() if name != "_meta"}

    @property
    def name(self) -> str:
        """The name of the tool or prompt, or the URI of the resource."""
        return str(self.params.get("name", self.params.get("uri")))

    @property
    def kinds(self) -> set[str]:
        """The methods of the input requests in the first reply."""
        return requested_methods(self.rounds[0])

    @property
    def state(self) -> Any:
        """The ``requestState`` of the first reply, `ABSENT` if it has none."""
        return self.rounds[0].result.get("requestState", ABSENT)

    @property
    def has_state(self) -> bool:
        """Whether the first reply has a ``requestState`` with some text."""
        return isinstance(self.state, str) and self.state != ""

    @property
    def was_continued(self) -> bool:
        """Whether the server accepted the retry of `FULL_CLIENT`."""
        return len(self.rounds) > 1 and not is_refused(self.rounds[1])

    def is_same_continuation(self, reply: Reply) -> bool:
        """Return whether a reply to a retry equals the one that `FULL_CLIENT` got."""
        expected = self.rounds[1]
        if is_refused(reply) or reply.needs_input != expected.needs_input:
            return False
        if reply.needs_input:
            asked = input_requests(reply)
            return asked == input_requests(expected) and asked != input_requests(self.rounds[0])
        return bool(without_meta(reply) == without_meta(expected))


def input_required_requests(server: Server) -> list[InputRequired]:
    """Return the first requests to which `FULL_CLIENT` got `input_required`; skip if there are none."""
    run = run_with_client(server, FULL_CLIENT)
    calls = [call for call in run.calls if call.rounds[0].needs_input and not call.is_slow]
    fetches = [fetch for fetch in run.fetches if fetch.rounds[0].needs_input]
    rounds = [call.rounds for call in calls[:MAX_CALLS]] + [fetch.rounds for fetch in fetches[:MAX_FETCHES]]
    found = [InputRequired(each) for each in rounds]
    return require_some(found, skip="no permitted call or fetch gets input_required")


def retryable(server: Server) -> tuple[InputRequired, ...]:
    """Return those whose retry was accepted, and that require input once more; skip if there are none."""
    input_required_requests(server)
    found = _retryable(server)
    return require_some(found, skip="no request gets input_required once more, or no retry was accepted")


@scenario
def _retryable(server: Server) -> tuple[InputRequired, ...]:
    known = [one for one in input_required_requests(server) if one.was_continued]
    return tuple(one for one in known if send_initial(full_client_session(server), one).needs_input)


def with_state(server: Server) -> list[InputRequired]:
    """Return the retryable requests whose first reply has a ``requestState``; skip if there are none."""
    found = [one for one in retryable(server) if one.has_state]
    return require_some(found, skip="no input_required result has a requestState")


def first_rounds(server: Server) -> list[tuple[InputRequired, Reply]]:
    """Return the requests with a state, each with a new first reply; skip if none requires input again."""
    rounds = [(one, send_initial(full_client_session(server), one)) for one in with_state(server)]
    found = [(one, reply) for one, reply in rounds if reply.needs_input]
    return require_some(found, skip="no request gets input_required a second time")


# Replies


def is_refused(reply: Reply) -> bool:
    """Return whether a reply is an error of either kind, or a fault."""
    return reply.error is not None or reply.is_tool_error or reply.fault is not None


def is_done(reply: Reply) -> bool:
    """Return whether a reply is a result that requires no input."""
    return not is_refused(reply) and not reply.needs_input


def without_meta(reply: Reply) -> Any:
    """Return the result without ``_meta``; 0 if it is not an object."""
    result = reply.result
    return {key: value for key, value in result.items() if key != "_meta"} if isinstance(result, dict) else 0


def requested_methods(reply: Reply) -> set[str]:
    """Return the methods of a reply's input requests."""
    found = (each.get("method") for each in input_requests(reply).values() if isinstance(each, dict))
    return {method for method in found if isinstance(method, str)}


def declared_capabilities(reply: Reply) -> Any:
    """Return the client capabilities that a reply's request declares, None if it declares none."""
    declared = Value(reply.request.message).get("params", "_meta", revisions.CLIENT_CAPABILITIES)
    return None if declared is None else declared.json


def undeclared_methods(reply: Reply) -> list[str]:
    """Return the methods of the input requests whose feature the reply's request does not declare."""
    declared = declared_capabilities(reply)
    if not reply.needs_input or not isinstance(declared, dict):
        return []
    return sorted(kind for kind in requested_methods(reply) & set(FEATURES) if FEATURES[kind] not in declared)


def input_required_replies(server: Server) -> list[Reply]:
    """Return every `input_required` result so far to the methods that may have one."""
    input_required_requests(server)
    return [reply for reply in all_results(server) if reply.needs_input and reply.method in MAY_REQUIRE_INPUT]


def all_results(server: Server) -> list[Reply]:
    """Return every reply with a result in any conversation so far."""
    found = (reply for session in server.sessions for reply in replies_in(session))
    return [reply for reply in found if reply.value is not None]


def lines_after_input_required(session: Session) -> Iterator[Line]:
    """Yield further answers to a request that got `input_required`, and progress of it that came later."""
    asked: dict[IdKey, Line] = {}
    for reply in replies_in(session):
        id = id_key(reply.request.message["id"])
        if id in asked and asked[id] is reply.request and reply.line is not None:
            yield reply.line
        if reply.needs_input:
            asked[id] = reply.request
    requests = [request.message for request in asked.values()]
    late = [progress for progress in progress_in(session.lines) if progress.late]
    for progress in late:
        if any(progress.request is request for request in requests):
            yield progress.notification.lines[0]


# Retries


def full_client_session(server: Server) -> Session:
    """Return the shared session of `FULL_CLIENT`; skip after too many retries without an answer."""
    if server.tool_calls.unanswered_retries >= MAX_UNANSWERED_RETRIES:
        skip(f"{MAX_UNANSWERED_RETRIES} retries were not answered, so no more are made")
    return server.shared(
        "full client", FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)
    )


def send_initial(
    session: Session, one: InputRequired, capabilities: Mapping[str, Any] | None = None
) -> Reply:
    """Send the first request again, with the session's client capabilities unless others are given."""
    return require_answer(session.request(one.method, initial_params(one, capabilities)))


def initial_params(one: InputRequired, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the params of the first request, without the members of a retry."""
    params = {name: value for name, value in one.params.items() if name not in RETRY_MEMBERS}
    meta = {} if capabilities is None else {revisions.CLIENT_CAPABILITIES: capabilities}
    return {**params, "_meta": meta}


def require_input_required(server: Server, one: InputRequired) -> Reply:
    """Send the first request again and return the reply; skip if it requires no input any more."""
    reply = send_initial(full_client_session(server), one)
    if not reply.needs_input:
        skip(f"{one.name} no longer requires input")
    return reply


def require_responses(session: Session, reply: Reply) -> dict[str, Any]:
    """Return valid responses to a reply's input requests; skip if the client has none."""
    responses = input_responses(session, reply)
    return skip("the client has no response to an input request") if responses is None else responses


def retry(server: Server, reply: Reply, **changed: Any) -> Reply:
    """Send a retry with valid ``responses`` and the reply's own ``state``, unless others are given."""
    session = full_client_session(server)
    valid = "responses" not in changed
    responses = (require_responses(session, reply) or ABSENT) if valid else changed["responses"]
    answer = send_retry(session, reply, responses, changed.get("state", ABSENT))
    if answer.fault is not None and not isinstance(answer.fault, Closed):
        server.tool_calls.unanswered_retries += 1
    return require_answer(answer)


def still_accepted(server: Server, one: InputRequired) -> bool:
    """Return whether the server still accepts a valid retry of a request."""
    return not is_refused(retry(server, require_input_required(server, one)))


def is_accepted_elicitation(server: Server, one: InputRequired, reply: Reply) -> bool:
    """Return whether an elicitation went on as when it is accepted, and not as when it is declined."""
    requests = run_with_client(server, DECLINING).requests
    runs = [InputRequired(request.rounds) for request in requests if len(request.rounds) > 1]
    declined = [run.rounds[1] for run in runs if (run.method, run.name) == (one.method, one.name)]
    differs = declined != [] and not any(map(one.is_same_continuation, declined))
    return differs and one.kinds == {"elicitation/create"} and one.is_same_continuation(reply)


def shows_invalid_response(one: InputRequired, reply: Reply) -> bool:
    """Return whether a result equals that of `FULL_CLIENT`, with `INVALID_RESPONSE` for one of its values."""
    responses = one.rounds[1].request.message["params"].get("inputResponses")
    values = [str(value.json) for value in Value(responses).walk() if value.is_a(str, int, float)]
    expected, got = (json.dumps(without_meta(each), sort_keys=True) for each in (one.rounds[1], reply))
    wrong = str(INVALID_RESPONSE)
    return wrong in got and any(got.replace(wrong, value) == expected for value in values)


# States


def tampered(state: str) -> Iterator[str]:
    """Yield copies of a state with one character changed, each at another place before the end."""
    for at in sorted({len(state) * quarter // 4 for quarter in (1, 2, 3)}):
        yield state[:at] + _other(state[at]) + state[at + 1 :]


def _other(char: str) -> str:
    return {"0": "1", "a": "b", "A": "B"}.get(char, "0" if char.isdigit() else "A" if char.isupper() else "a")


def truncated(state: str) -> list[str]:
    """Return copies of a state without its last quarter, and without its last part after a dot."""
    parts = [state[: len(state) * 3 // 4], state.rpartition(".")[0]]
    return [part for part in dict.fromkeys(parts) if part]


def retries_with_states(server: Server, reply: Reply, states: Iterable[str]) -> list[Reply]:
    """Return the answers to valid retries with other states."""
    return [retry(server, reply, state=state) for state in states]


def is_protected(server: Server, reply: Reply) -> bool:
    """Return whether the server refuses every tampered copy of a reply's state."""
    states = tampered(reply.result["requestState"])
    return all(map(is_refused, retries_with_states(server, reply, states)))


def protected_rounds(server: Server) -> list[tuple[InputRequired, Reply]]:
    """Return the requests with a protected state, each with a new first reply."""
    return [(one, reply) for one, reply in first_rounds(server) if is_protected(server, reply)]


def other_arguments(server: Server, one: InputRequired) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a tool call, each time with another value of one argument that is plain text."""
    tool, arguments = server.tool(one.name), one.params.get("arguments") or {}
    schema = Value(tool.input_schema if tool is not None and one.method == "tools/call" else None)
    for name, value in arguments.items():
        keywords = schema.get("properties", name) or Value({})
        if isinstance(value, str) and keywords.is_a(dict) and set(keywords.json) <= PLAIN_TEXT_KEYWORDS:
            yield {**arguments, name: f"{value} conformance"}


# Other clients and processes


@scenario
def ask_with_fewer_capabilities(server: Server) -> None:
    """Send each first request again for clients that lack a feature which its input requests need."""
    for one in input_required_requests(server):
        session = full_client_session(server)
        others = [feature for kind, feature in FEATURES.items() if one.kinds - {kind}]
        send_initial(session, one, {})
        for feature in others:
            send_initial(session, one, {feature: {}})


@dataclass(frozen=True)
class AbandonedProcess:
    """A process that never got the retries of ``asked``; its stdin was then closed.

    ``exit_code`` is None if it did not exit within `EXIT_SECONDS`.
    """

    asked: list[tuple[InputRequired, Reply]]
    exit_code: int | None


@scenario
def abandoned_process(server: Server) -> AbandonedProcess:
    """Send each first request to a process of its own, and leave it without any retry."""
    known = input_required_requests(server)
    capabilities, answers = FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)
    with server.fresh("requests without retries", capabilities, answers) as session:
        replies = [(one, send_initial(session, one)) for one in known]
        require_answer(session.drain())
        asked = [(one, reply) for one, reply in replies if reply.needs_input]
        return AbandonedProcess(asked, session.finish(session.scaled_timeout(EXIT_SECONDS)))


def exits_after_retries(server: Server) -> bool:
    """Return whether a process that gets every retry exits when its stdin is closed."""
    capabilities, answers = FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)
    with server.fresh("the end after retries", capabilities, answers) as session:
        for one in retryable(server):
            reply = send_initial(session, one)
            require_answer(send_retry(session, reply, require_responses(session, reply) or ABSENT))
        return session.finish(session.scaled_timeout(EXIT_SECONDS)) is not None
