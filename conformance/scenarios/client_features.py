"""What a server does with a client that has something to offer: one conversation for each kind of client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from conformance.client import handlers
from conformance.client.input_required import input_requests, more_rounds
from conformance.client.listing import fetch_list
from conformance.client.reply import Closed, Reply
from conformance.client.session import Answer, Session
from conformance.client.tool_call import Call, Tool, call_in
from conformance.generation import NoExample
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Kind, id_key, kind
from conformance.protocol.methods import FEATURES
from conformance.protocol.value import Value
from conformance.target.server import Server
from conformance.verdicts import Blocked, Finding


@dataclass(frozen=True)
class Client:
    """A client to meet a server with: what it declares in a revision, and what it answers.

    ``has_root``: it opens the throwaway folder to the server, if there is one.
    """

    name: str
    declares: Callable[[str], dict[str, Any]]
    answers: Mapping[str, Answer]
    has_root: bool = False


@dataclass(frozen=True)
class Fetch:
    """A prompt or resource that was fetched: every round of it, and what the server asked for meanwhile."""

    rounds: tuple[Reply, ...]
    asked: tuple[Value, ...]

    @property
    def reply(self) -> Reply:
        """What became of it in the end."""
        return self.rounds[-1]


@dataclass(frozen=True)
class ClientRun:
    """A conversation with a client, the tools called and the things fetched in it, and a ping at its end."""

    session: Session
    calls: tuple[Call, ...]
    fetches: tuple[Fetch, ...]
    end: Reply

    @property
    def requests(self) -> tuple[Call | Fetch, ...]:
        """All that was called and fetched, in order."""
        return (*self.calls, *self.fetches)

    def server_requests(self, *methods: str) -> list[Value]:
        """What the server asked for by these methods (all if none are named)."""
        return self.session.server_requests(*(methods or FEATURES))

    def asking(self, method: str) -> list[Call]:
        """The calls during which the server asked for this."""
        return [call for call in self.calls if _asks(call.asked, method)]

    def answer(self, asked: Value) -> Value:
        """What the client answered when it was asked; null if it left that open."""
        if "id" not in asked.json:
            return self._input(asked)
        sent = [line for line in self.session.lines if line.sent and kind(line.message) is Kind.RESULT]
        given = (line for line in sent if id_key(line.message["id"]) == id_key(asked.json["id"]))
        line = next(given, None)
        return Value(None) if line is None else Value(line.message["result"], "result", (line,))

    def _input(self, asked: Value) -> Value:
        """What the client sent with the retry of the request that was answered by asking for it."""
        for request in self.requests:
            for before, after in pairwise(request.rounds):
                for key, wanted in input_requests(before).items():
                    if wanted is asked.json:
                        given = Value(after.request.message, "", (after.request,))
                        return given.get("params", "inputResponses", key) or Value(None)
        return Value(None)

    def unanswered(self, method: str) -> Iterator[Reply]:
        """The requests that were left without an answer after the server had asked for this.

        The last one is the ping, if the server ended after an answer.
        """
        for request in self.requests:
            if request.reply.fault is not None and _asks(request.asked, method):
                yield request.reply
        last = self.requests[-1].asked if self.requests else self.server_requests()
        if isinstance(self.end.fault, Closed) and _asks(last, method):
            yield self.end


def _asks(asked: Iterable[Value], method: str) -> bool:
    return any(each.json["method"] == method for each in asked)


def all_capabilities(revision: str) -> dict[str, Any]:
    """All a client can declare in a revision."""
    declared: dict[str, Any] = {"roots": {}, "sampling": {}}
    if revisions.elicits(revision):
        declared["elicitation"] = {}
    if revisions.elicits_by_url(revision):
        declared |= {"sampling": {"tools": {}, "context": {}}, "elicitation": {"form": {}, "url": {}}}
    return declared


def features_alone(revision: str) -> dict[str, Any]:
    """Every feature, and no part of one that has to be declared by itself."""
    return {feature: {} for feature in all_capabilities(revision)}


def forms_alone(revision: str) -> dict[str, Any]:
    """The same, with elicitation by form declared as such."""
    declared = features_alone(revision)
    return {**declared, "elicitation": {"form": {}}} if revisions.elicits_by_url(revision) else declared


def pages_alone(revision: str) -> dict[str, Any]:
    """Elicitation by URL, and no forms."""
    return {"elicitation": {"url": {}}} if revisions.elicits_by_url(revision) else {}


FULL_CLIENT = Client("able", all_capabilities, handlers.ACCEPTING, has_root=True)
FEATURES_ONLY = Client("plain", features_alone, handlers.ACCEPTING, has_root=True)
URL_ELICITATION = Client("pages", pages_alone, handlers.ACCEPTING, has_root=True)
SAMPLING_TOOLS = Client("tools", all_capabilities, handlers.TOOL_USING, has_root=True)
DECLINING = Client("declining", all_capabilities, handlers.DECLINING)
CANCELLING = Client("cancelling", all_capabilities, handlers.CANCELLING)
INVALID_ANSWERS = Client("careless", forms_alone, handlers.INVALID)


def run_with_client(server: Server, met: Client) -> ClientRun:
    """The conversation with a client, held once.

    An able client finds out which tools ask for something: those that are listed for it alone, that failed
    without it, or that asked although there was nothing to ask for; and so it does with the prompts and
    resources of a modern server.  The other clients meet these.
    Raises `Blocked` for the check that first meets a request of the able client's without an answer.
    """
    wanted = _asking(server) if met is not FULL_CLIENT else _failed(server)
    meeting: ClientRun = server.once(f"meeting {met.name}", lambda: _held(server, met, *wanted))
    if met is FULL_CLIENT:
        replies = [request.reply for request in meeting.requests]
        for reply in [*replies, meeting.end] if meeting.session.closed else replies:
            if reply.fault is not None:
                reason = f"{reply.method} was not answered to a client with every capability: {reply.fault}"
                server.raise_once("meeting", Blocked(reason, reply.lines, reply.fault.stderr, fault=reply.fault))
    return meeting


def answers_for(server: Server, met: Client) -> Mapping[str, Answer]:
    """What a client answers to this server."""
    if met.has_root and server.settings.sandbox is not None:
        return {**met.answers, "roots/list": handlers.root_folder(server.settings.sandbox.work)}
    return met.answers


Wanted = tuple[list[Tool], list[Reply]]
"""The tools to call, and the replies to requests for prompts and resources that are to be made again."""


def _asking(server: Server) -> Wanted:
    meeting = run_with_client(server, FULL_CLIENT)
    tools = [call.tool for call in meeting.calls if call.asked]
    return tools, [fetch.rounds[0] for fetch in meeting.fetches if fetch.asked]


def _failed(server: Server) -> Wanted:
    server.calls()
    tools = [call.tool for call in server.calls_wanting_input() if not server.is_slow(call)]
    if not revisions.is_modern(server.revision):
        return tools, []
    server.prompts()
    server.resources()
    return tools, server.fetches_wanting_input()


def _held(server: Server, met: Client, tools: Sequence[Tool], fetches: Sequence[Reply]) -> ClientRun:
    with server.fresh(met.declares(server.revision), answers_for(server, met)) as session:
        session.drain()
        new = _new_tools(server, session) if met is FULL_CLIENT else []
        calls = tuple(_calls(server, session, [*tools, *new]))
        return ClientRun(session, calls, tuple(_fetches(session, fetches)), session.drain())


def _fetches(session: Session, wanted: Sequence[Reply]) -> Iterator[Fetch]:
    for reply in wanted:
        if not session.closed:
            yield _fetched(session, reply)


def _fetched(session: Session, wanted: Reply) -> Fetch:
    """The same prompt or resource once more, in this conversation."""
    before = len(session.lines)
    params = wanted.request.message["params"]
    own = {name: value for name, value in params.items() if name != "_meta"}
    reply = session.request(wanted.method, own)
    rounds = (reply, *more_rounds(session, reply))
    return Fetch(rounds, tuple(session.server_requests(*FEATURES, since=before)))


def _new_tools(server: Server, session: Session) -> list[Tool]:
    """The tools that are listed here alone, and that may be called."""
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
            call = call_in(session, tool, server.arguments(tool))
            yield call
            if call.reply.fault is not None or session.closed:
                return


def expect_answers(meeting: ClientRun, method: str, client_said: str) -> None:
    """Raise a `Finding` if the server left something unanswered after the client had said this."""
    for reply in meeting.unanswered(method):
        asked = meeting.server_requests(method)[-1]
        raise Finding(f"an answer, although {client_said}", str(reply), (*asked.lines, *reply.lines))
