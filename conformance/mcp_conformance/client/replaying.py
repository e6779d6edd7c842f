"""The lines of a conversation sent again to a server, with what it names otherwise this time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from mcp_conformance.client.new_names import NewNames
from mcp_conformance.client.session import Answer, Session
from mcp_conformance.client.spacing import Spacing
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Line, encode, id_key, is_request, is_response
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.transport.interface import Transport

ANY_MODE: Mapping[str, Any] = {"form": {}, "url": {}}
"""The modes in which a recorded client may have answered."""


@dataclass(frozen=True)
class ReplayStep:
    """A request that was replayed, the ``number``-th, with its answers ``then`` and ``now`` (or None).

    In ``then`` things have the names of now, in ``recalled``, the answer of now, those of then.  The answer
    of now came after ``took`` seconds.
    """

    number: int
    line: Line
    then: Line | None
    now: Line | None
    fault: str = ""
    recalled: Line | None = None
    took: float = 0.0

    @property
    def differs(self) -> bool:
        """Whether the answers differ as JSON."""
        if self.then is None or self.now is None:
            return self.then is not self.now
        return bool(self.then.message != self.now.message)


@dataclass(frozen=True)
class Manner:
    """How a conversation is replayed.

    The client pauses as it did then, at most ``max_pause`` seconds each time.  Unless it ``awaits_all``,
    nothing waits for an answer that was not there then.
    """

    max_pause: float = 0.0
    awaits_all: bool = True
    spacing: Spacing | None = None


AT_ONCE = Manner()


def replay(
    transcript: Transcript, process: Transport, timeout: float, manner: Manner = AT_ONCE
) -> Iterator[ReplayStep]:
    """Send the lines of a transcript again, byte for byte; yield a step for each request.

    Only what the server has named otherwise this time, such as an id of its own, is sent as it names it now.
    A request of the server gets the answer that it got then.
    """
    playing = _Playing(transcript, process, timeout, manner)
    with closing(playing.session):
        before = 0.0
        for sent, group in groupby(transcript.lines, lambda line: line.sent):
            lines = list(group)
            if playing.session.closed:
                break
            if sent:
                if (pause := min(manner.max_pause, lines[0].at - before)) > 0:
                    playing.session.wait_for(lambda: False, pause)
                playing.send(lines)
            else:
                yield from playing.steps(lines)
            before = lines[-1].at
        if manner.awaits_all:
            yield from playing.rest()


class _Playing:
    """A replay that goes on: its session, and the requests that wait for their answers."""

    def __init__(self, transcript: Transcript, process: Transport, timeout: float, manner: Manner):
        self._client = client = _Client(transcript.lines)
        self.session = Session(
            process,
            revision=transcript.revision,
            timeout=timeout,
            capabilities=client.capabilities,
            client=client.answers,
        )
        self.session.spacing = manner.spacing
        self._timeout = timeout
        self._answers = _answers(transcript.lines)
        self._waiting: dict[IdKey, tuple[int, Line]] = {}
        self._number = 0

    def send(self, lines: Sequence[Line]) -> None:
        """Send the next lines of the client."""
        for line in self.session.send_lines(self._client.next_lines(lines)):
            for part in filter(is_request, line.parts()):
                self._number += 1
                one = line if part is line.message else replace(line, message=part)
                self._waiting[id_key(part["id"])] = self._number, one

    def steps(self, lines: Sequence[Line]) -> Iterator[ReplayStep]:
        """Wait for the answers that came next, and yield a step for each."""
        ids = [id_key(part.get("id")) for line in lines for part in line.parts() if is_response(part)]
        for id in ids:
            if id in self._waiting:
                yield self._step(*self._waiting.pop(id))

    def rest(self) -> Iterator[ReplayStep]:
        """Wait for the answers that did not come then."""
        return (self._step(*one) for one in self._waiting.values())

    def _step(self, number: int, line: Line) -> ReplayStep:
        reply = self.session.await_reply(line, self._timeout)
        then, now = next(self._answers[id_key(line.message["id"])], None), reply.line
        if now is not None and now.message is not reply.message:
            now = Line.received(encode(reply.message), now.at)
        if then is None or now is None:
            return ReplayStep(number, line, then, now, str(reply.fault or ""))
        names = self._client.names
        then = names.learn(then, now)
        return ReplayStep(number, line, then, now, "", names.recalled(now), max(0.0, now.at - line.at))


def _answers(lines: Iterable[Line]) -> Mapping[IdKey, Iterator[Line]]:
    """Return the answers of the server by the ids of their requests, each a line of its own."""
    found: dict[IdKey, list[Line]] = defaultdict(list)
    for line in lines:
        for part in line.parts() if not line.sent else ():
            if is_response(part):
                own = line if part is line.message else Line.received(encode(part), line.at)
                found[id_key(part.get("id"))].append(own)
    return defaultdict(lambda: iter(()), {id: iter(some) for id, some in found.items()})


class _Client:
    """The recorded client: what it sends, and what it answers to requests of the server."""

    def __init__(self, lines: Sequence[Line]):
        sent = [line for line in lines if line.sent]
        self.names = NewNames(sent)
        asked = [line.message for line in lines if not line.sent and is_request(line.message)]
        ids = {id_key(one["id"]) for one in asked}
        self._answers = {
            id_key(line.message.get("id")): line
            for line in sent
            if is_response(line.message) and id_key(line.message.get("id")) in ids
        }
        self._asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in asked:
            self._asked[one["method"]].append(one)
        self.answers: Mapping[str, Answer] = {method: self._answer_to(method) for method in self._asked}
        self.capabilities = {FEATURES[method]: ANY_MODE for method in self._asked if method in FEATURES}

    def next_lines(self, lines: Sequence[Line]) -> list[Line]:
        """Return the next lines of the client with the names of now, without answers to the server."""
        answers = set(map(id, self._answers.values()))
        named = self.names.of(lines)
        return [one for line, one in zip(lines, named, strict=True) if id(line) not in answers]

    def _answer_to(self, method: str) -> Answer:
        def answer(params: Any, _: str) -> Mapping[str, Any] | None:
            waiting = self._asked[method]
            if not waiting:
                return {"error": {"code": -32601, "message": "This request was not recorded."}}
            alike = (at for at, one in enumerate(waiting) if one.get("params", ABSENT) == params)
            line = self._answers.get(id_key(waiting.pop(next(alike, 0))["id"]))
            if line is None:
                return None
            message = self.names.named(line).message
            return {name: message[name] for name in ("result", "error") if name in message}

        return answer
