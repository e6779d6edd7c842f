"""Requests that a modern server answers by asking the client for something, made again in several ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.client.input_required import RETRY_MEMBERS, input_requests, input_responses, replies_in, send_retry
from conformance.client.reply import Closed, Reply
from conformance.client.session import Session
from conformance.expect import require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT
from conformance.protocol.methods import FEATURES
from conformance.protocol.value import Value
from conformance.scenarios.client_features import FULL_CLIENT, answers_for, run_with_client
from conformance.target.server import Server

MOST_CALLS = 5
MOST_FETCHES = 3
MOST_LOST = 2
EXIT = 10.0
MAY_ASK = ("tools/call", "prompts/get", "resources/read")
"""The methods that may be answered by asking for something."""


@dataclass(frozen=True)
class InputRequired:
    """A request that an able client was asked something for; ``rounds`` are all replies to that client."""

    rounds: tuple[Reply, ...]

    @property
    def method(self) -> str:
        """The method of the request."""
        return self.rounds[0].method

    @property
    def params(self) -> dict[str, Any]:
        """Its params, without what the client says of itself."""
        params = self.rounds[0].request.message["params"]
        return {name: value for name, value in params.items() if name != "_meta"}

    @property
    def name(self) -> str:
        """What it calls, gets or reads."""
        return str(self.params.get("name", self.params.get("uri")))

    @property
    def kinds(self) -> set[str]:
        """The methods of what the first answer asks for."""
        return wanted_in(self.rounds[0])

    @property
    def state(self) -> Any:
        """The state that came with the first answer, `ABSENT` if there is none."""
        return self.rounds[0].result.get("requestState", ABSENT)

    def is_same_continuation(self, reply: Reply) -> bool:
        """Whether a reply to a retry says the same as the one to the able client's own."""
        expected = self.rounds[1]
        if is_refused(reply) or reply.needs_input != expected.needs_input:
            return False
        if reply.needs_input:
            asked = input_requests(reply)
            return asked == input_requests(expected) and asked != input_requests(self.rounds[0])
        return bool(without_meta(reply) == without_meta(expected))


def input_required_requests(server: Server) -> list[InputRequired]:
    """The first requests that an able client was asked something for; skips the check if there are none."""
    meeting = run_with_client(server, FULL_CLIENT)
    calls = [call for call in meeting.calls if call.rounds[0].needs_input and not server.is_slow(call)]
    fetches = [fetch for fetch in meeting.fetches if fetch.rounds[0].needs_input]
    rounds = [call.rounds for call in calls[:MOST_CALLS]] + [fetch.rounds for fetch in fetches[:MOST_FETCHES]]
    found = [InputRequired(each) for each in rounds]
    return require_some(found, skip="nothing that may be called or fetched asks the client for anything")


def retryable(server: Server) -> list[InputRequired]:
    """Those whose retry was not refused, and that ask once more; skips the check if there are none."""
    known = [asker for asker in input_required_requests(server) if len(asker.rounds) > 1 and not is_refused(asker.rounds[1])]
    found: list[InputRequired] = server.once(
        "answerable",
        lambda: [asker for asker in known if send_initial(full_client_session(server), asker).needs_input],
    )
    return require_some(found, skip="nothing asks once more, or no retry of an able client was accepted")


def is_refused(reply: Reply) -> bool:
    """Whether a reply is an error of either kind, or did not come."""
    return reply.error is not None or reply.is_tool_error or reply.fault is not None


def is_done(reply: Reply) -> bool:
    """Whether a request was done, and nothing is asked for any more."""
    return not is_refused(reply) and not reply.needs_input


def without_meta(reply: Reply) -> Any:
    """What a result says, without what is said of it in ``_meta``."""
    result = reply.result
    return {key: value for key, value in result.items() if key != "_meta"} if isinstance(result, dict) else 0


def wanted_in(reply: Reply) -> set[str]:
    """The methods of what a reply asks for."""
    found = (each.get("method") for each in input_requests(reply).values() if isinstance(each, dict))
    return {method for method in found if isinstance(method, str)}


def declared_capabilities(reply: Reply) -> Any:
    """The capabilities that a request declares, None if it declares none."""
    declared = Value(reply.request.message).get("params", "_meta", revisions.CLIENT_CAPABILITIES)
    return None if declared is None else declared.json


def undeclared_methods(reply: Reply) -> list[str]:
    """What a reply asks for although its request does not declare it."""
    declared = declared_capabilities(reply)
    if not reply.needs_input or not isinstance(declared, dict):
        return []
    return sorted(kind for kind in wanted_in(reply) & set(FEATURES) if FEATURES[kind] not in declared)


def input_required_replies(server: Server) -> list[Reply]:
    """Every result so far that says it asks for something, of methods that may."""
    input_required_requests(server)
    return [reply for reply in all_results(server) if reply.needs_input and reply.method in MAY_ASK]


def all_results(server: Server) -> list[Reply]:
    """Every result of any conversation so far, with its request."""
    found = (reply for session in server.sessions for reply in replies_in(session))
    return [reply for reply in found if reply.value is not None]


# Retries


def full_client_session(server: Server) -> Session:
    """A conversation that checks share, of a client that declares everything and answers what it is asked."""
    if len(_lost(server)) >= MOST_LOST:
        skip(f"{MOST_LOST} retries were not answered, so no more are made")
    return server.shared("able", FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT))


def _lost(server: Server) -> list[Reply]:
    """The retries that were left without an answer."""
    found: list[Reply] = server.once("lost retries", list)
    return found


def send_initial(session: Session, asker: InputRequired, capabilities: Mapping[str, Any] | None = None) -> Reply:
    """The request of an asker, made once more, by a client with the session's capabilities or others."""
    return require_answer(session.request(asker.method, initial_params(asker, capabilities)))


def initial_params(asker: InputRequired, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The params of the request of an asker."""
    params = {name: value for name, value in asker.params.items() if name not in RETRY_MEMBERS}
    meta = {} if capabilities is None else {revisions.CLIENT_CAPABILITIES: capabilities}
    return {**params, "_meta": meta}


def send_initial_again(server: Server, asker: InputRequired) -> Reply:
    """The answer to the first round, which asks for something; skips the check if it does not any more."""
    reply = send_initial(full_client_session(server), asker)
    if not reply.needs_input:
        skip(f"{asker.name} does not ask for anything any more")
    return reply


def responses_to(session: Session, asked: Reply) -> dict[str, Any]:
    """The right responses to what a reply asks for; skips the check if the client has none."""
    responses = input_responses(session, asked)
    return skip("what is asked for cannot be given") if responses is None else responses


def retry(server: Server, asked: Reply, **changed: Any) -> Reply:
    """The second round, with the right ``responses`` and its own ``state`` unless others are given."""
    session = full_client_session(server)
    responses = changed["responses"] if "responses" in changed else responses_to(session, asked) or ABSENT
    reply = send_retry(session, asked, responses, changed.get("state", ABSENT))
    if reply.fault is not None and not isinstance(reply.fault, Closed):
        _lost(server).append(reply)
    return require_answer(reply)


def still_accepted(server: Server, asker: InputRequired) -> bool:
    """Whether an able client's retry is still not refused."""
    return not is_refused(retry(server, send_initial_again(server, asker)))


def tampered(state: str) -> Iterator[str]:
    """A state with one character changed, in one place or another, none of them at its end."""
    for at in sorted({len(state) * quarter // 4 for quarter in (1, 2, 3)}):
        yield state[:at] + _other(state[at]) + state[at + 1 :]


def truncated(state: str) -> list[str]:
    """What is left of a state without its end, or without what may be its seal."""
    parts = [state[: len(state) * 3 // 4], state.rpartition(".")[0]]
    return [part for part in dict.fromkeys(parts) if part]


def _other(char: str) -> str:
    return {"0": "1", "a": "b", "A": "B"}.get(char, "0" if char.isdigit() else "A" if char.isupper() else "a")


def ask_with_fewer_capabilities(server: Server) -> None:
    """Make the request of every asker once for clients that lack some feature of what it asks for."""
    server.once("others", lambda: list(_asked_as_others(server)))


def _asked_as_others(server: Server) -> Iterator[Reply]:
    session = full_client_session(server)
    for asker in input_required_requests(server):
        others = [feature for kind, feature in FEATURES.items() if asker.kinds - {kind}]
        yield send_initial(session, asker, {})
        for feature in others:
            yield send_initial(session, asker, {feature: {}})


# A process that is lost between two rounds


@dataclass(frozen=True)
class AbandonedProcess:
    """A process that was left after the first round of every asker, and how it ended without its stdin."""

    asked: list[tuple[InputRequired, Reply]]
    exit_code: int | None


def abandoned_process(server: Server) -> AbandonedProcess:
    """That process, which has `EXIT` seconds to end."""
    found: AbandonedProcess = server.once("unfinished", lambda: _unfinished(server))
    return found


def _unfinished(server: Server) -> AbandonedProcess:
    known = input_required_requests(server)
    with server.fresh(FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)) as session:
        replies = [(asker, send_initial(session, asker)) for asker in known]
        require_answer(session.drain())
        asked = [pair for pair in replies if pair[1].needs_input]
        return AbandonedProcess(asked, session.finish(session.scaled_timeout(EXIT)))
