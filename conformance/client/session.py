"""One conversation with a server: it asks, it answers what it is asked, and it keeps every line."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from conformance.client.message_log import (
    CompressedLine,
    DecompressedMessage,
    MessageLog,
    is_dropped,
    received,
    weight,
)
from conformance.client.reply import Closed, Fault, Flood, Reply, Silence, Unread
from conformance.client.timing import Pace
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Kind, Line, encode, id_key, is_message, kind, show
from conformance.protocol.methods import CLIENT_INFO, FEATURES, LISTED, envelope, liveness_method
from conformance.protocol.text import shorten
from conformance.protocol.value import Value
from conformance.transport.interface import EOF, HEAD, Clock, End, Overlong, Transport

NO_PARAMS: Any = ABSENT
PING_SECONDS = 10.0
TICK = 1.0
"""Seconds from one word on a wait to the next."""
MEANWHILE = 3
FLOOD_LINES = 50_000
FLOOD_LINES_IN_VAIN = 2_000
"""How many lines in place of an answer are a flood if the answer did not come in time."""
FLOOD_BYTES = 100_000_000
WEIGHT_OF_A_BYTE = 8
"""What a message may take of memory, in bytes for each that a line may have at the most."""
TOO_LONG = "a line longer than this tool reads (--mcp-max-line)"
TOO_MUCH = "a line with more values than this tool reads (--mcp-max-line)"
UNREAD = (TOO_LONG, TOO_MUCH)
ANSWER = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"\w*")\s*,\s*"result"'
)
"""How an answer begins that names its request first."""
NO_ID = (id_key(None), id_key(ABSENT))
"""How answers are filed that name no request."""

Answer = Callable[[Any, str], Mapping[str, Any] | None]
"""What a client answers to the params of a request, in a revision: the member ``result`` or ``error`` of the
response, or None to leave the request open."""
NO_ANSWERS: Mapping[str, Answer] = MappingProxyType({})


class Session:
    """A conversation with one process in one revision.

    In a modern revision every request that `request` and `send` make says in ``_meta`` what it has to
    (`envelope`); what the caller puts there counts.

    ``capabilities`` are what the session declares as a client; what the server may ask of it then is answered
    from ``client``, by method, ping is answered always, and everything else is refused.  ``unread`` says what
    came that was too much to be read.  Nothing here raises for what a server does: a request that is not
    answered gives a `Reply` with a ``fault``.
    """

    def __init__(
        self,
        process: Transport,
        *,
        revision: str = revisions.LATEST_HANDSHAKE,
        timeout: float = 30.0,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = NO_ANSWERS,
    ):
        self.process = process
        self.pace = Pace()
        self.revision = revision
        self.timeout = timeout
        self.capabilities = dict(capabilities or {})
        self.client = client
        self.client_info: dict[str, Any] = dict(CLIENT_INFO)
        self.lines = MessageLog()
        self.unended: Line | None = None
        self.unread = ""
        self.opening: Reply | None = None
        self.first_list: tuple[Line, ...] = ()
        self.closed = False
        self.is_silent = False
        self.is_flooded = False
        self.left = False
        self.size = 0
        self._ids = itertools.count(1)
        self._answers: dict[tuple[str, str], tuple[Line, Mapping[str, Any]]] = {}
        self._taken: set[tuple[str, str]] = set()
        self._half_read: tuple[str, str] | None = None
        self._not_read: dict[tuple[str, str], str] = {}

    @property
    def clock(self) -> Clock:
        """The clock of the conversation."""
        return self.process.clock

    # The opening

    @property
    def is_modern(self) -> bool:
        """Whether it is held in a modern revision."""
        return revisions.is_modern(self.revision)

    @property
    def envelope(self) -> dict[str, Any]:
        """What a modern request says of itself in ``_meta``; nothing in a handshake revision."""
        return envelope(self.revision, self.capabilities, self.client_info) if self.is_modern else {}

    @property
    def liveness_method(self) -> str:
        """A method that every server answers at once, and that changes nothing."""
        return liveness_method(self.revision)

    def open(self, timeout: float | None = None) -> Reply:
        """Open the conversation as its revision has it: what the server said of itself.

        In a modern revision a list is asked for too: discovery alone does not tell a server of which era the
        conversation is to be.
        """
        if not self.is_modern:
            return self.initialize(timeout)
        opening = self.discover(timeout)
        listed = [method for feature, method in LISTED.items() if self.declares(feature)]
        if opening.value is not None and listed:
            self.first_list = self.request(listed[0], timeout=timeout).lines
        return opening

    def discover(self, timeout: float | None = None) -> Reply:
        """Ask a modern server what it offers."""
        self.opening = self.request("server/discover", timeout=timeout)
        return self.opening

    def initialize(self, timeout: float | None = None) -> Reply:
        """Ask for ``self.revision``; when the server agrees to one, adopt it and say ``initialized``."""
        opening = self.propose(timeout)
        if opening.value is not None:
            self.notify("notifications/initialized")
        return opening

    def propose(self, timeout: float | None = None) -> Reply:
        """Ask for ``self.revision`` and adopt what the server agrees to; ``initialized`` is left to say."""
        params = {
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": self.client_info,
        }
        self.opening = self.request("initialize", params, timeout=timeout)
        offered = self.opening.value.get("protocolVersion") if self.opening.value is not None else None
        if offered is not None and offered.json in revisions.HANDSHAKE:
            self.revision = offered.json
        return self.opening

    @property
    def offers(self) -> Value:
        """The capabilities the server declared; an empty object if it declared none."""
        opening = self.opening.value if self.opening is not None else None
        declared = opening.get("capabilities") if opening is not None else None
        return declared if declared is not None else Value({}, "result.capabilities")

    def declares(self, *names: str) -> bool:
        """Whether the server declared the capability ``names`` (a path such as ``tools``, ``listChanged``).

        A flag that is false counts as not declared.
        """
        found = self.offers.get(*names)
        return found is not None and found.json is not False and found.json is not None

    # Asking

    def request(
        self, method: str, params: Any = NO_PARAMS, *, id: Any = ABSENT, timeout: float | None = None
    ) -> Reply:
        """Send a request and wait for its answer; ``id`` defaults to a fresh integer."""
        return self.await_reply(self.send(method, params, id=id), timeout)

    def send(self, method: str, params: Any = NO_PARAMS, *, id: Any = ABSENT) -> Line:
        """Send a request without waiting; give the line to `await_reply` later."""
        return self.send_message(self.request_of(method, params, id=id))

    def request_of(self, method: str, params: Any = NO_PARAMS, *, id: Any = ABSENT) -> dict[str, Any]:
        """The message of a request, with the envelope if there is one."""
        message = {"jsonrpc": "2.0", "id": next(self._ids) if id is ABSENT else id, "method": method}
        params = self._enveloped(params) if self.is_modern else params
        return message if params is NO_PARAMS else {**message, "params": params}

    def _enveloped(self, params: Any) -> Any:
        """The params with the envelope; as they are if they, or their ``_meta``, are no object."""
        given = {} if params is NO_PARAMS else params
        meta = given.get("_meta", {}) if isinstance(given, Mapping) else None
        return {**given, "_meta": {**self.envelope, **meta}} if isinstance(meta, Mapping) else params

    def notify(self, method: str, params: Any = NO_PARAMS) -> Line:
        """Send a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        return self.send_message(message if params is NO_PARAMS else {**message, "params": params})

    def send_message(self, message: Any) -> Line:
        """Send any JSON value as one line."""
        return self.send_raw(encode(message), message)

    def send_together(self, *messages: Any) -> list[Line]:
        """Send each JSON value as a line of its own, all of them in one write."""
        return self.send_lines(map(self.line_of, messages))

    def send_lines(self, lines: Iterable[Line]) -> list[Line]:
        """Send lines in one write."""
        at = self.process.age
        sent = [replace(line, at=at) for line in lines]
        for line in sent:
            self.lines.keep(line)
        self.process.write(b"".join(line.raw + b"\n" for line in sent))
        return sent

    def send_text(self, method: str, params: bytes) -> Line:
        """Send a request whose params are given as JSON text, which may be text that is none."""
        id = next(self._ids)
        head = {"jsonrpc": "2.0", "id": id, "method": method}
        if self.is_modern and params.startswith(b"{"):
            comma = b"" if params[1:].lstrip().startswith(b"}") else b","
            params = b'{"_meta":' + encode(self.envelope) + comma + params[1:]
        return self.send_raw(encode(head)[:-1] + b',"params":' + params + b"}", head)

    @staticmethod
    def line_of(message: Any) -> Line:
        """The line that sends a message."""
        return Line(sent=True, raw=encode(message), message=message)

    def send_raw(self, raw: bytes, message: Any = ABSENT) -> Line:
        """Send these bytes and a line end; nothing about them is checked."""
        line = Line(sent=True, raw=raw, at=self.process.age, message=message)
        self.lines.keep(line)
        self.process.write(raw + b"\n")
        return line

    def await_reply(self, request: Line, timeout: float | None = None, *, alone: bool = False) -> Reply:
        """Wait for the answer to a request that `send` has sent.

        With ``alone`` nothing else is under way, so an error without an id, as for a line that cannot be
        read, is its answer too.
        """
        seconds = self.timeout if timeout is None else timeout
        keys = [id_key(request.message["id"]), *(NO_ID if alone else ())]
        before = len(self.lines)
        self._drop_older(keys[1:], request)
        self._listen(seconds, lambda: any(key in self._answers or key in self._not_read for key in keys))
        for key in filter(self._answers.__contains__, keys):
            self._taken.add(key)
            return Reply(request, *self._answers.pop(key))
        meanwhile = [line for line in self.lines[before:] if not line.sent]
        if keys[0] in self._not_read:
            self._taken.add(keys[0])
            unread = self._not_read.pop(keys[0])
            fault: Fault = Unread(seconds, stderr=self.process.stderr, unread=unread)
        else:
            fault = self._fault(request, seconds, meanwhile)
        return Reply(request, fault=fault, other_lines=tuple(meanwhile[:MEANWHILE]))

    def _drop_older(self, keys: Iterable[tuple[str, str]], request: Line) -> None:
        """Forget answers under these keys that came before a request was sent."""
        for key in keys:
            if key in self._answers and self._answers[key][0].at < request.at:
                del self._answers[key]

    @property
    def flood(self) -> Flood:
        """What the server has written, where that is too much."""
        last = next((line.text for line in reversed(self.lines) if not line.sent), "")
        return Flood(len(self.lines), self.process.stderr, self.size, last)

    def is_answered(self, request: Line) -> bool:
        """Whether the answer to a request that `send` has sent is there, and not yet taken."""
        return id_key(request.message["id"]) in self._answers

    def _fault(self, request: Line, seconds: float, meanwhile: Sequence[Line]) -> Fault:
        if not self.closed and len(meanwhile) > FLOOD_LINES_IN_VAIN:
            self._give_up()
        if self.is_flooded:
            return self.flood
        if self.closed:
            return Closed(self.process.wait(1.0), self.process.stderr)
        self.is_silent = True
        self._keep_unended()
        asked = {
            id_key(one.message.get("id")) for one in self.lines if one.sent and isinstance(one.message, dict)
        }
        open = asked - self._taken
        strays = tuple(message.get("id") for key, (_, message) in self._answers.items() if key not in open)
        later = (line for line in self.lines if line.at >= request.at)
        unread = next((line.fault for line in later if line.fault in UNREAD), "")
        return Silence(seconds, strays, self.process.stderr, self.unended is not None, unread)

    def drain(self) -> Reply:
        """Wait until the server has worked off all it was sent: one `pulse` there and back."""
        pong = self.request(self.liveness_method, timeout=min(self.timeout, self.scaled_timeout(PING_SECONDS)))
        if pong.line is not None:
            self.pace.note(pong.seconds)
        return pong

    def scaled_timeout(self, seconds: float) -> float:
        """How long to wait for what takes ``seconds`` at the most: more of them where the server is slow."""
        return self.pace.scaled(seconds, self.timeout)

    # Listening

    def received(self, *kinds: Kind) -> Iterator[tuple[Line, Any]]:
        """Each message the server has sent so far with its line, of these kinds (all if none are named)."""
        for line in self.lines:
            if not line.sent:
                for message in line.parts():
                    if not kinds or kind(message) in kinds:
                        yield line, message

    def notifications(self, method: str = "") -> list[tuple[Line, Any]]:
        """The notifications the server has sent so far, of one method or of all."""
        found = self.received(Kind.NOTIFICATION)
        return [(line, message) for line, message in found if method in ("", message["method"])]

    def server_requests(self, *methods: str, since: int = 0) -> list[Value]:
        """What the server has asked of this client by these methods, after so many lines."""
        said = (line for line in self.lines[since:] if not line.sent)
        found = (Value(message, "", (line,)) for line in said for message in line.parts())
        asked = [wanted for one in found for wanted in _asked_in(one)]
        return [one for one in asked if one.json.get("method") in methods]

    @property
    def received_lines(self) -> list[Line]:
        """Every line the server has written so far, but those that were not read or not kept."""
        return [line for line in self.lines if not (line.sent or line.fault in UNREAD or is_dropped(line))]

    def received_since(self, sent: Line) -> list[Line]:
        """What the server has written since a line was sent, but no answers to a `pulse`.

        A pulse that was answered before has no other answer: what comes under its id is none.
        """
        ours = (line.message for line in self.lines if line.sent and line is not sent)
        asked = (one for one in ours if kind(one) is Kind.REQUEST)
        pulses = {id_key(one["id"]) for one in asked if one["method"] == self.liveness_method}
        before = (line.message for line in self.received_lines if line.at < sent.at)
        pulses -= {id_key(one.get("id", ABSENT)) for one in before if kind(one) in (Kind.RESULT, Kind.ERROR)}
        later = (line for line in self.received_lines if line.at >= sent.at)
        return [line for line in later if not _answers(line.message, pulses)]

    def non_json_lines(self) -> list[Line]:
        """The lines on stdout that are not JSON."""
        return [line for line in self.received_lines if not line.is_json]

    def wait_for(self, arrived: Callable[[], object], timeout: float) -> bool:
        """Listen until ``arrived()`` is true, for ``timeout`` seconds at most; whether it became true."""
        self._listen(timeout, lambda: bool(arrived()))
        return bool(arrived())

    def _listen(self, seconds: float, done: Callable[[], bool]) -> None:
        deadline = self.clock.monotonic() + seconds
        lines, size = len(self.lines) + FLOOD_LINES, self.size + FLOOD_BYTES
        while not done() and not self.closed:
            item = self._next(deadline, seconds)
            if item is None:
                return
            at, data = item
            if data is EOF:
                self.closed = True
                self._keep_unended()
                return
            self._take(data, at)
            if len(self.lines) > lines or self.size > size:
                self._give_up()
            if self.clock.monotonic() > deadline:
                return

    def _next(self, deadline: float, seconds: float) -> tuple[float, bytes | Overlong | End] | None:
        """What comes next until the deadline; who wants to know is told of the wait, every second."""
        left, tell = max(0.0, deadline - self.clock.monotonic()), self.process.on_wait
        while tell is not None and left > 0:
            tell(seconds - left, seconds)
            item = self.process.read(min(left, TICK))
            if item is not None:
                return item
            left = max(0.0, deadline - self.clock.monotonic())
        return self.process.read(left)

    def _give_up(self) -> None:
        self.is_flooded = self.closed = True
        self.begin_close()

    def _take(self, data: bytes | Overlong, at: float) -> None:
        self.size += data.size if isinstance(data, Overlong) else len(data)
        if isinstance(data, Overlong):
            if data.is_last and self._half_read is not None:
                self._not_read[self._half_read] = TOO_LONG
            if not data.head:
                return
            self._half_read = _id_in(data.head)
            self.unread = f"a line of more than {self.process.max_line} bytes"
            line = Line(sent=False, raw=data.head, at=at, fault=TOO_LONG)
        elif weight(data) > WEIGHT_OF_A_BYTE * self.process.max_line:
            self.unread = f"a line with more values than {self.process.max_line} bytes may have"
            line = Line(sent=False, raw=data[:HEAD], at=at, fault=TOO_MUCH)
            if (key := _id_in(line.raw)) is not None:
                self._not_read[key] = TOO_MUCH
        else:
            line = received(data, at)
        self.lines.keep(line)
        for message in line.parts():
            what = kind(message)
            if what is Kind.REQUEST:
                self._answer(message)
            elif what in (Kind.RESULT, Kind.ERROR):
                told = DecompressedMessage(line) if isinstance(line, CompressedLine) and message is line.message else message
                self._answers.setdefault(id_key(message.get("id", ABSENT)), (line, told))

    def _keep_unended(self) -> None:
        line = Line.received(self.process.unended, self.process.age)
        if is_message(line.message):
            self.unended = line

    def _answer(self, message: Mapping[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        answer = {"result": {}} if method == "ping" else self.answer_to(method, params)
        if answer is not None:
            with suppress(ValueError, RecursionError):  # its id is none that could be written
                self.send_message({"jsonrpc": "2.0", "id": message["id"], **answer})

    def answer_to(self, method: Any, params: Any) -> Mapping[str, Any] | None:
        """What this client answers when it is asked for something; None if it leaves that open."""
        return self._refusal(method, params) or self.client[method](params, self.revision)

    def _refusal(self, method: Any, params: Any) -> Mapping[str, Any] | None:
        """The error for a request that this client does not take; None if it takes it."""
        feature = FEATURES.get(method) if isinstance(method, str) else None
        if feature is None or feature not in self.capabilities or method not in self.client:
            return {"error": {"code": -32601, "message": "This client does not offer that."}}
        mode = params.get("mode", "form") if isinstance(params, dict) else "form"
        modes = list(self.capabilities[feature] or ["form"])
        if feature == "elicitation" and mode not in modes:
            return {"error": {"code": -32602, "message": "This client does not offer that mode."}}
        return None

    def forget(self) -> None:
        """Forget every line so far, and the answers that nobody took; for when no request is open."""
        self.lines.clear()
        self.forget_answers()
        self._taken.clear()

    def forget_answers(self) -> None:
        """Forget the answers that nobody took."""
        self._answers.clear()

    # The end

    def finish(self, timeout: float) -> int | None:
        """Close the server's stdin and read what it still writes; its exit status, None if it lives on."""
        deadline = self.clock.monotonic() + timeout
        self.process.close_stdin()
        self._listen(timeout, lambda: False)
        self.closed = True
        return self.process.wait(max(0.0, deadline - self.clock.monotonic()))

    def close(self) -> None:
        """End the process."""
        self.process.stop()

    def begin_close(self) -> None:
        """Begin to end the process; `close` waits until it has ended."""
        self.left = True
        if self.is_flooded:
            self.process.begin_stop(0.0)
        self.process.begin_stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.begin_close()

    def transcript(self) -> str:
        """Every line so far, ``>`` for ours and ``<`` for the server's."""
        return "\n".join(f"{'>' if line.sent else '<'} {shorten(line.text)}" for line in self.lines)


def _id_in(head: bytes) -> tuple[str, str] | None:
    """The id of the answer that begins like this, if it stands there."""
    found = ANSWER.match(head)
    return None if found is None else id_key(json.loads(found[1]))


def _asked_in(message: Value) -> list[Value]:
    """What a message asks of the client: itself if it is a request, or what its result is in want of."""
    if kind(message.json) is Kind.REQUEST:
        return [message]
    wanted = message.get("result", "inputRequests") if kind(message.json) is Kind.RESULT else None
    if wanted is None or not wanted.is_a(dict):
        return []
    parts = (Value(one, f"{wanted.path}[{show(key, 40)}]", message.lines) for key, one in wanted.json.items())
    return [part for part in parts if part.is_a(dict)]


def _answers(message: Any, ids: Collection[tuple[str, str]]) -> bool:
    """Whether a message is the answer to a request with one of these ids."""
    return kind(message) in (Kind.RESULT, Kind.ERROR) and id_key(message.get("id", ABSENT)) in ids
