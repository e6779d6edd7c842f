"""Many requests in flight: the requests sent on a session, and their answers, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.message_log import head_of
from mcp_conformance.client.reply import Closed, Flood, Reply, Silence
from mcp_conformance.client.session import PING_SECONDS, Session
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Line, id_key
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.progress import token_of

# Not measured.  Twice as much makes each lost request twice as dear, half as much takes a thread that was not
# scheduled for a loss; what is lost is confirmed in any case.
OVERTAKEN_SECONDS = 0.5
"""How long to wait for an answer that a later one has overtaken."""
# Servers on the Python SDK 1.x took 0.2 s.
ENDING_SECONDS = 1.0
"""How long a silent server may take to end after one more line: one whose loop has ended does so then."""
# What came is in our queue already: this is the time to parse it on a busy machine.
QUEUED_SECONDS = 0.05
"""How long to read what came while nobody waited for it."""


def reply_within(session: Session, request: Line, seconds: float) -> Reply:
    """Wait for the answer to a request that was sent, until so many seconds after it was.

    Those that have passed count only if the server did not wait for an answer of ours, which nobody gave
    meanwhile.
    """
    session.wait_for(lambda: session.is_answered(request), QUEUED_SECONDS)
    passed = 0.0 if session.received.has_asked_since(request) else session.process.age - request.at
    reply = session.await_reply(request, max(0.0, seconds - passed))
    if not isinstance(reply.fault, Silence):
        return reply
    return replace(reply, fault=replace(reply.fault, seconds=seconds))


@dataclass(frozen=True)
class Response:
    """An answer, the line it came in, and the request that has its id (None if there is none)."""

    line: Line
    message: Mapping[str, Any]
    request: Line | None

    @property
    def id(self) -> Any:
        """The id of the answer; None if it has none."""
        return self.message.get("id")


class Window:
    """The requests in flight on a session.

    Since the opening: the ``requests`` by id, the first line that ``answered`` each and the one that
    ``cancelled`` it, the request for each progress token in ``tokens``, and the ``notification`` sent last.
    Since the last `turn`: the requests ``sent``, whether they ``notified``, the first ``answers`` to any
    request, the ``repeats`` of such answers, and the ``strays``, whose ids no request has.
    """

    def __init__(self, session: Session):
        self.session = session
        self.requests: dict[IdKey, Line] = {}
        self.answered: dict[IdKey, Line] = {}
        self.tokens: dict[IdKey, Line] = {}
        self.notification: Line | None = None
        self.cancelled: dict[IdKey, Line] = {}
        self._known = 0
        self.sent: list[Line] = []
        self.answers: list[Response] = []
        self.turn()
        self.look()  # at the opening
        self.turn()

    def turn(self) -> None:
        """Begin a new turn; keep only the heads of long lines of the last one."""
        for line in self.sent:
            self._ask(head_of(line))
        for answer in self.answers:
            self.answered[key_of(answer.id)] = head_of(answer.line)
        self._start = len(self.session.lines)
        self.sent = []
        self.notified = False
        self.answers = []
        self.repeats: list[Response] = []
        self.strays: list[Response] = []

    @property
    def lines(self) -> list[Line]:
        """All lines since the last turn, sent and received."""
        return self.session.lines[self._start :]

    @property
    def open(self) -> list[Line]:
        """The requests since the last turn that were neither answered nor cancelled."""
        self.look()
        return [line for line in self.sent if not self._is_done(key_of(line.message["id"]))]

    def _is_done(self, key: IdKey) -> bool:
        return key in self.answered or key in self.cancelled or self.session.inbox.is_refused(key)

    @property
    def mute(self) -> bool:
        """Whether the last ping was not answered either."""
        return bool(self.sent) and self.sent[-1] in self.open

    @property
    def misnamed(self) -> list[Response]:
        """The messages that may answer open requests with a wrong id."""
        if not self.open or self.session.closed:
            return []
        repeats = [one for one in self.repeats if key_of(one.id) not in self.cancelled]
        return [*self.strays, *repeats]

    def is_answered(self, request: Line) -> bool:
        """Return whether a request was answered."""
        self.look()
        return key_of(request.message["id"]) in self.answered

    @property
    def end(self) -> Closed | Flood | None:
        """The fault that ended the session; None if it is open."""
        if self.session.inbox.is_flooded:
            return self.session.inbox.flood
        since = min((request.at for request in self.open), default=0.0)
        return self.session.inbox.end_since(since) if self.session.closed else None

    # Sending and waiting

    def exchange(self, burst: Sequence[Line], slack: float, ping_seconds: float = PING_SECONDS) -> None:
        """Send lines in one write and a ping, wait for the answers, and ping once more.

        The ping may take ``ping_seconds``. When it is answered, the other answers are waited for ``slack``
        seconds. When it is not, the second ping shows whether the process still reads.
        """
        self._wait(self.begin(burst), slack, slack, ping_seconds)

    def begin(self, burst: Sequence[Line]) -> Line:
        """Send lines in one write and a ping, and return the ping for `finish`."""
        self.turn()
        self.session.inbox.drop_answers()
        self.session.send_lines(burst)
        return self.session.send(self.session.liveness_method)

    def finish(self, ping: Line, slack: float) -> None:
        """Wait for the answers as in an `exchange`, less the seconds that have passed since `begin`.

        They count only if the server did not wait for an answer of ours, which nobody gave meanwhile.
        """
        self.session.wait_for(lambda: not self.open, QUEUED_SECONDS)
        self._wait(ping, slack, slack if self.session.received.has_asked_since(ping) else QUEUED_SECONDS)

    def _wait(self, ping: Line, slack: float, least: float, ping_seconds: float = PING_SECONDS) -> None:
        slack, least = self.session.scaled_timeout(slack), self.session.scaled_timeout(least)
        seconds = max(slack, min(self.session.scaled_timeout(ping_seconds), self.session.timeout))
        if self._comes(ping, seconds):
            passed = self.session.process.age - self._answer(ping).at
            self._wait_for_the_rest(max(least, slack - passed))
            self._comes(self.session.send(self.session.liveness_method), seconds)
        elif not self.session.closed:
            wait = min(seconds, self.session.scaled_timeout(ENDING_SECONDS))
            self._comes(self.session.send(self.session.liveness_method), wait)

    def _comes(self, ping: Line, seconds: float) -> bool:
        answered = self.session.wait_for(lambda: self.is_answered(ping), seconds)
        if answered:
            self.session.pace.note(self._answer(ping).at - ping.at)
        return answered

    def _answer(self, ping: Line) -> Line:
        return self.answered[key_of(ping.message["id"])]

    def _wait_for_the_rest(self, slack: float) -> None:
        """Wait until no request is open but those clearly answered with a wrong id."""
        if self.session.wait_for(lambda: self._hopeless() >= len(self.open), slack):
            self.session.wait_for(lambda: not self.open, self.session.scaled_timeout(OVERTAKEN_SECONDS))

    def _hopeless(self) -> int:
        """Return how many of the open requests get no answer, as far as is known."""
        unanswered = [
            line for line in self.open if self.session.inbox.is_unanswered(key_of(line.message["id"]))
        ]
        return len(self._misnamed_clearly()) + len(unanswered)

    def _misnamed_clearly(self) -> list[Response]:
        """Return the strays that cannot be an answer to a notification."""
        self.look()
        return [stray for stray in self.strays if stray.id is not None or not self.notified]

    # Looking

    def look(self) -> None:
        """Sort in the new lines."""
        while self._known < len(self.session.lines):
            line = self.session.lines[self._known]
            self._known += 1
            if line.sent:
                self._take_sent(line)
            else:
                self._take_received(line)

    def _take_sent(self, line: Line) -> None:
        message = line.message
        if not isinstance(message, dict) or "method" not in message:
            return
        if "id" in message:
            self.sent.append(line)
            self._ask(line)
            return
        self.notified, self.notification = True, line
        if message["method"] == CANCELLED and "params" in message:
            self.cancelled.setdefault(key_of(message["params"].get("requestId")), line)

    def _ask(self, line: Line) -> None:
        """Record a request by its id and its progress token."""
        self.requests[key_of(line.message["id"])] = line
        token = token_of(line.message)
        self.tokens |= {} if token is ABSENT else {key_of(token): line}

    def _take_received(self, line: Line) -> None:
        for part in line.parts():
            if not is_answer(part):
                continue
            key = key_of(part.get("id"))
            answer = Response(line, part, self.requests.get(key))
            if answer.request is None:
                self.strays.append(answer)
            elif key in self.answered:
                self.repeats.append(answer)
            else:
                self.answered[key] = line
                self.answers.append(answer)


def key_of(id: Any) -> IdKey:
    """Return the key of an id: "1" and 1 have different keys, 1 and 1.0 (equal in JSON) the same."""
    return id_key(int(id) if isinstance(id, float) and id.is_integer() else id)


def is_answer(part: Any) -> bool:
    """Return whether a message can only be an answer, right or wrong."""
    if not isinstance(part, dict) or "method" in part:
        return False
    return not part.keys().isdisjoint({"id", "result", "error"})
