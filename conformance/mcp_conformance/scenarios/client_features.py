"""Conversations with clients that declare capabilities, and the requests that the server sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from mcp_conformance.client import handlers
from mcp_conformance.client.input_required import input_requests, more_rounds, replies_in
from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.session import Answer, Session
from mcp_conformance.client.tool_call import Call, Tool, call_in
from mcp_conformance.expect import require_some, skip
from mcp_conformance.generation import NoExample
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, id_key, kind
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.schemas import client_request_params
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Finding

SAMPLING = "sampling/createMessage"
MAX_JUDGED_REQUESTS = 20
MAX_SUCCEEDED = 10
"""How many tools that succeed without a client's capabilities are called with all of them."""


@dataclass(frozen=True)
class Client:
    """A kind of client: ``declares`` gives its capabilities in a revision, ``answers`` its answers by method.

    With ``has_root`` it has the throwaway folder as a root, if there is one.
    """

    name: str
    declares: Callable[[str], dict[str, Any]]
    answers: Mapping[str, Answer]
    has_root: bool = False


@dataclass(frozen=True)
class Fetch:
    """A prompt or resource that was fetched: the reply in each round, and the server's requests meanwhile."""

    rounds: tuple[Reply, ...]
    asked: tuple[Value, ...]

    @property
    def reply(self) -> Reply:
        """The last reply."""
        return self.rounds[-1]


@dataclass(frozen=True)
class ClientRun:
    """A conversation with a kind of client: its calls and fetches, and the reply to a ping at its ``end``."""

    session: Session
    calls: tuple[Call, ...]
    fetches: tuple[Fetch, ...]
    end: Reply

    @property
    def requests(self) -> tuple[Call | Fetch, ...]:
        """The calls, then the fetches."""
        return (*self.calls, *self.fetches)

    @property
    def owed(self) -> list[Reply]:
        """The replies that are owed: a server that asked for nothing may exit between two calls."""
        replies = [(one.reply, one.asked) for one in self.requests]
        if self.session.closed:
            replies.append((self.end, self.requests[-1].asked if self.requests else ()))
        return [reply for reply, asked in replies if asked or not _has_quit(reply)]

    def server_requests(self, *methods: str) -> list[Value]:
        """Return the server's requests for these features of a client (all if none are named)."""
        return self.session.received.requests(*(methods or FEATURES))

    def declared_requests(self, method: str) -> list[Value]:
        """Return the server's requests by a method, each with the line that opened the session."""
        return with_opening(self.session, self.server_requests(method))

    def calls_asking(self, method: str) -> list[Call]:
        """Return the calls during which the server sent a request by this method."""
        return [call for call in self.calls if _has_method(call.asked, method)]

    def answer(self, request: Value) -> Value:
        """Return the client's answer to a server's request; null if it sent none."""
        if "id" not in request.json:
            return self._response(request)
        sent = [line for line in self.session.lines if line.sent and kind(line.message) is Kind.RESULT]
        answers = (line for line in sent if id_key(line.message["id"]) == id_key(request.json["id"]))
        line = next(answers, None)
        return Value(None) if line is None else Value(line.message["result"], "result", (line,))

    def _response(self, request: Value) -> Value:
        """Return the client's response to an input request, from the retry that carries it."""
        for each in self.requests:
            for before, after in pairwise(each.rounds):
                for key, wanted in input_requests(before).items():
                    if wanted is request.json:
                        sent = Value(after.request.message, "", (after.request,))
                        return sent.get("params", "inputResponses", key) or Value(None)
        return Value(None)

    def unanswered(self, method: str) -> Iterator[Reply]:
        """Yield the replies with a fault to requests during which the server sent a request by this method.

        The last is the ping at the end, if the server ended after the client's last answer.
        """
        for request in self.requests:
            if request.reply.fault is not None and _has_method(request.asked, method):
                yield request.reply
        last = self.requests[-1].asked if self.requests else self.server_requests()
        if isinstance(self.end.fault, Closed) and _has_method(last, method):
            yield self.end


def _has_quit(reply: Reply) -> bool:
    return isinstance(reply.fault, Closed) and reply.fault.exit_code == 0


def _has_method(requests: Iterable[Value], method: str) -> bool:
    return any(each.json["method"] == method for each in requests)


# Kinds of clients


def all_capabilities(revision: str) -> dict[str, Any]:
    """Return every capability that a client can declare in a revision."""
    declared: dict[str, Any] = {"roots": {}, "sampling": {}}
    if revisions.elicits(revision):
        declared["elicitation"] = {}
    if revisions.elicits_by_url(revision):
        declared |= {"sampling": {"tools": {}, "context": {}}, "elicitation": {"form": {}, "url": {}}}
    return declared


def features_only(revision: str) -> dict[str, Any]:
    """Return every feature, without the parts that a client declares inside one."""
    return {feature: {} for feature in all_capabilities(revision)}


def form_elicitation(revision: str) -> dict[str, Any]:
    """Return every feature, with elicitation by form declared inside elicitation."""
    declared = features_only(revision)
    return {**declared, "elicitation": {"form": {}}} if revisions.elicits_by_url(revision) else declared


def url_elicitation(revision: str) -> dict[str, Any]:
    """Return elicitation by URL alone."""
    return {"elicitation": {"url": {}}} if revisions.elicits_by_url(revision) else {}


FULL_CLIENT = Client("full", all_capabilities, handlers.ACCEPTING, has_root=True)
FEATURES_ONLY = Client("features only", features_only, handlers.ACCEPTING, has_root=True)
URL_ELICITATION = Client("URL elicitation", url_elicitation, handlers.ACCEPTING, has_root=True)
SAMPLING_TOOLS = Client("sampling tools", all_capabilities, handlers.TOOL_USING, has_root=True)
DECLINING = Client("declining", all_capabilities, handlers.DECLINING)
CANCELLING = Client("cancelling", all_capabilities, handlers.CANCELLING)
INVALID_ANSWERS = Client("invalid answers", form_elicitation, handlers.INVALID)


def answers_for(server: Server, client: Client) -> Mapping[str, Answer]:
    """Return the client's answers to this server, by method."""
    if client.has_root and server.settings.throwaway is not None:
        return {**client.answers, "roots/list": handlers.root_folder(server.settings.throwaway.work)}
    return client.answers


# Running


def run_with_client(server: Server, client: Client) -> ClientRun:
    """Hold the conversation with a kind of client, once.

    `FULL_CLIENT` calls the tools that only it is shown, that failed without it, or that sent requests to a
    client without capabilities, and a few others; in a modern revision it fetches prompts and resources that
    failed or sent requests, too.  The other clients repeat the calls and fetches in which the server sent
    requests to `FULL_CLIENT`.  Raises `Blocked` for the first check that meets a request of `FULL_CLIENT`
    without an answer.
    """
    run = _client_run(server, client)
    if client is FULL_CLIENT:
        for reply in run.owed:
            if reply.fault is not None:
                reason = f"{reply.method} was not answered to a client with every capability: {reply.fault}"
                server.reported.raise_once(
                    "full client", Blocked(reason, reply.lines, reply.fault.stderr, fault=reply.fault)
                )
    return run


@scenario
def _client_run(server: Server, client: Client) -> ClientRun:
    tools, fetches = _worth_repeating(server) if client is FULL_CLIENT else _asking(server)
    with server.fresh(
        f"the client {client.name!r}", client.declares(server.revision), answers_for(server, client)
    ) as session:
        session.drain()
        new = _new_tools(server, session) if client is FULL_CLIENT else []
        calls = tuple(_calls(server, session, [*tools, *new]))
        return ClientRun(session, calls, tuple(_fetches(session, fetches)), session.drain())


def _asking(server: Server) -> tuple[list[Tool], list[Reply]]:
    """Return the tools, and the replies to fetches, for which the server sent requests to `FULL_CLIENT`."""
    run = run_with_client(server, FULL_CLIENT)
    tools = [call.tool for call in run.calls if call.asked]
    return tools, [fetch.rounds[0] for fetch in run.fetches if fetch.asked]


def _worth_repeating(server: Server) -> tuple[list[Tool], list[Reply]]:
    """Return the tools, and the replies to fetches, that may go on differently with a capable client.

    They may have failed for want of a capability; some tools that succeeded may ask only such a client.
    """
    succeeded = [call for call in server.quick_calls() if not call.failed]
    wanting = [call for call in server.tool_calls.wanting_input() if not call.is_slow]
    tools = list({call.tool.name: call.tool for call in [*wanting, *succeeded[:MAX_SUCCEEDED]]}.values())
    if not revisions.is_modern(server.revision):
        return tools, []
    server.prompts()
    server.resources()
    return tools, server.fetches.wanting_input()


def _new_tools(server: Server, session: Session) -> list[Tool]:
    """Return the tools that are listed only in this session, and that may be called."""
    if not session.declares("tools"):
        return []
    known = {tool.name for tool in server.tools}
    listed = [Tool(item) for item in fetch_list(session, "tools/list", "tools").items]
    return [
        tool for tool in listed if tool.name and tool.name not in known and server.settings.may_call(tool)
    ]


def _calls(server: Server, session: Session, tools: Sequence[Tool]) -> Iterator[Call]:
    for tool in tools:
        with suppress(NoExample):
            call = call_in(session, tool, server.arguments.valid(tool))
            server.tool_calls.exercise.count(tool, call.reply)
            yield call
            if call.reply.fault is not None or session.closed:
                return


def _fetches(session: Session, replies: Sequence[Reply]) -> Iterator[Fetch]:
    for reply in replies:
        if not session.closed:
            yield _fetched_again(session, reply)


def _fetched_again(session: Session, earlier: Reply) -> Fetch:
    """Return a fetch of the same prompt or resource in this session."""
    before = len(session.lines)
    params = earlier.request.message["params"]
    reply = session.request(earlier.method, {name: params[name] for name in params if name != "_meta"})
    rounds = (reply, *more_rounds(session, reply))
    return Fetch(rounds, tuple(session.received.requests(*FEATURES, since=before)))


# The server's requests


def require_requests(server: Server, method: str) -> None:
    """Skip the check unless the server sent a request by this method to a client with every capability."""
    found = run_with_client(server, FULL_CLIENT).server_requests(method)
    require_some(found, skip=f"no permitted tool asked for {method}")


def require_use(server: Server, method: str) -> None:
    """Skip the check if the server refuses each request for which it asks a client with every capability.

    Such a server does not need what it asks for.
    """
    run = run_with_client(server, FULL_CLIENT)
    asking = [one.reply for one in run.requests if _has_method(one.asked, method)]
    if asking and all(reply.error is not None for reply in asking):
        skip(f"each request for which the server asks for {method} is refused")


def requested_params(server: Server, method: str) -> list[Value]:
    """Return the params of all the server's requests by a method, to clients that take part in it."""
    clients = [FULL_CLIENT]
    if revisions.elicits_by_url(server.revision):
        clients += [FEATURES_ONLY, SAMPLING_TOOLS if method == SAMPLING else URL_ELICITATION]
    found = [each for client in clients for each in run_with_client(server, client).server_requests(method)]
    return [each.get("params") or Value(None, "params", each.lines) for each in found]


def with_opening(session: Session, requests: Sequence[Value]) -> list[Value]:
    """Return the server's requests, each with the line that declared what the client can do.

    That is the request which it answers, or else the session's opening.
    """
    opening = [session.opening.request] if session.opening is not None else []
    answered = {id(reply.line): [reply.request] for reply in replies_in(session)}
    declared = [answered.get(id(each.lines[-1]), opening) for each in requests]
    return [
        Value(each.json, each.path, (*lines, *each.lines))
        for each, lines in zip(requests, declared, strict=True)
    ]


def schema_errors(params: Iterable[Value], method: str, revision: str) -> Iterator[tuple[Value, str]]:
    """Yield the params that break the schema of their method, each with its first error.

    Judges the first `MAX_JUDGED_REQUESTS`: a server that sends more is in a loop.  Skips the check at params
    that are too large to judge.
    """
    schema = {**client_request_params(method, revision), "$schema": revisions.DEFAULT_DIALECT}
    for value in islice(params, MAX_JUDGED_REQUESTS):
        try:
            errors = instance_errors(value.json, schema, revision)
        except Unjudgeable as reason:
            skip(str(reason))
        if errors:
            yield value, errors[0]


def expect_answers(run: ClientRun, method: str, client_said: str) -> None:
    """Expect an answer to every request during which the server sent a request by this method."""
    for reply in run.unanswered(method):
        asked = run.server_requests(method)[-1]
        raise Finding(f"an answer, although {client_said}", str(reply), (*asked.lines, *reply.lines))
