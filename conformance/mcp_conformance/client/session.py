"""One conversation with a server: send, wait for replies, answer the server's requests, log every line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mcp_conformance.client.inbox import NO_ID, UNREAD, Inbox
from mcp_conformance.client.message_log import MessageLog, unended_message
from mcp_conformance.client.received import Received
from mcp_conformance.client.reply import Closed, Fault, Flood, Reply, Silence, Unanswered, Unread
from mcp_conformance.client.timing import Pace
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, encode, id_key, is_response, kind
from mcp_conformance.protocol.methods import CLIENT_INFO, FEATURES, LISTED, envelope, liveness_method
from mcp_conformance.protocol.value import Value
from mcp_conformance.transport.interface import EOF, Clock, Content, Item, Transport

NO_PARAMS: Any = ABSENT
PING_SECONDS = 10.0
ON_WAIT_SECONDS = 1.0
"""How often `Transport.on_wait` is called."""
MAX_OTHER_LINES = 3
"""How many lines a reply keeps that came instead of an answer."""
FLOOD_LINES = 50_000
FLOOD_LINES_AT_TIMEOUT = 2_000
"""How many lines instead of an answer are a flood if the answer did not come in time."""
FLOOD_BYTES = 100_000_000
LINE_END_SECONDS = 0.5
"""How long the end of a line may take when the message on it has come."""
UNENDED_SECONDS = 2.0
"""How long an answer may take to come and, when it is there, to get its line end."""
WRONG_ID_SECONDS = 1.0
"""How long an answer may take when one has come whose id no request has."""
USUAL_WRONG_ID_SECONDS = 0.1
"""The same after the session has had such answers before."""

Answer = Callable[[Any, str], Mapping[str, Any] | None]
"""A function from a request's params and the revision to the client's response: its member ``result`` or
``error``, or None to leave the request open."""
NO_ANSWERS: Mapping[str, Answer] = MappingProxyType({})


class Session:
    """One conversation with one process in one revision.

    In a modern revision `request` and `send` add the envelope to ``_meta``; the members given win.
    The session declares ``capabilities``, and answers requests of the server for them from ``client``, by
    method; it always answers ping, and refuses everything else.  No method raises for what a server does: a
    request without an answer gives a `Reply` with a ``fault``.  ``sent`` counts the lines of the client.
    ``wrong_answers`` has the requests that got an answer with another id instead, or one that is not UTF-8 or
    not JSON, each with that answer.
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
        self.received = Received(self.lines, lambda: self.liveness_method)
        self.unended: Line | None = None
        self.opening: Reply | None = None
        self.first_list: tuple[Line, ...] = ()
        self.closed = False
        self.is_silent = False
        self.is_flooded = False
        self.is_closing = False
        self.sent = 0
        self.wrong_answers: list[tuple[Line, Line]] = []
        self.inbox = Inbox(process.max_line)
        self._ids = itertools.count(1)

    @property
    def clock(self) -> Clock:
        """The clock of the conversation."""
        return self.process.clock

    # The opening

    @property
    def is_modern(self) -> bool:
        """Whether the revision is modern."""
        return revisions.is_modern(self.revision)

    @property
    def liveness_method(self) -> str:
        """A method that every server answers at once, and that changes nothing."""
        return liveness_method(self.revision)

    @property
    def envelope(self) -> dict[str, Any]:
        """The members of ``_meta`` that a modern request must have; empty in a handshake revision."""
        return envelope(self.revision, self.capabilities, self.client_info) if self.is_modern else {}

    def open(self, timeout: float | None = None) -> Reply:
        """Open the conversation by the rules of its revision, and return the opening.

        In a modern revision a list is requested too, as discovery alone does not show the era to a server.
        """
        if not self.is_modern:
            return self.initialize(timeout)
        opening = self.discover(timeout)
        listed = [method for feature, method in LISTED.items() if self.declares(feature)]
        if opening.value is not None and listed:
            self.first_list = self.request(listed[0], timeout=timeout).lines
        return opening

    def discover(self, timeout: float | None = None) -> Reply:
        """Send ``server/discover``."""
        self.opening = self.request("server/discover", timeout=timeout)
        return self.opening

    def initialize(self, timeout: float | None = None) -> Reply:
        """Send ``initialize``; after a result, adopt its revision and send ``initialized``."""
        opening = self.propose(timeout)
        if opening.value is not None:
            self.notify("notifications/initialized")
        return opening

    def propose(self, timeout: float | None = None, revision: str = "") -> Reply:
        """Send ``initialize`` and adopt the revision that the server answers.

        The revision proposed is that of the session unless another is given.
        """
        params = {
            "protocolVersion": revision or self.revision,
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
        """Return whether the server declared a capability (a path such as ``tools``, ``listChanged``).

        False and null count as not declared.
        """
        found = self.offers.get(*names)
        return found is not None and found.json is not False and found.json is not None

    # Sending

    def request(
        self, method: str, params: Any = NO_PARAMS, *, id: Any = ABSENT, timeout: float | None = None
    ) -> Reply:
        """Send a request and wait for its answer; ``id`` defaults to a fresh integer."""
        return self.await_reply(self.send(method, params, id=id), timeout)

    def send(self, method: str, params: Any = NO_PARAMS, *, id: Any = ABSENT) -> Line:
        """Send a request without waiting for its answer (`await_reply`)."""
        return self.send_message(self.request_of(method, params, id=id))

    def request_of(self, method: str, params: Any = NO_PARAMS, *, id: Any = ABSENT) -> dict[str, Any]:
        """Return the message of a request, with the envelope in a modern revision."""
        message = {"jsonrpc": "2.0", "id": next(self._ids) if id is ABSENT else id, "method": method}
        params = self._enveloped(params) if self.is_modern else params
        return message if params is NO_PARAMS else {**message, "params": params}

    def _enveloped(self, params: Any) -> Any:
        """Return the params with the envelope; unchanged if they, or their ``_meta``, are not an object."""
        given = {} if params is NO_PARAMS else params
        meta = given.get("_meta", {}) if isinstance(given, Mapping) else None
        return {**given, "_meta": {**self.envelope, **meta}} if isinstance(meta, Mapping) else params

    def notify(self, method: str, params: Any = NO_PARAMS) -> Line:
        """Send a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        return self.send_message(message if params is NO_PARAMS else {**message, "params": params})

    def send_message(self, message: Any) -> Line:
        """Send a JSON value as one line."""
        return self.send_raw(encode(message), message)

    def send_together(self, *messages: Any) -> list[Line]:
        """Send JSON values in one write, each as a line."""
        return self.send_lines(map(Line.sending, messages))

    def send_lines(self, lines: Iterable[Line]) -> list[Line]:
        """Send lines in one write."""
        at = self.process.age
        return self._send([replace(line, at=at) for line in lines])

    def _send(self, lines: list[Line]) -> list[Line]:
        for line in lines:
            self.lines.keep(line)
            self.inbox.expect(line.message)
        self.sent += len(lines)
        self.process.write(b"".join(line.raw + b"\n" for line in lines))
        return lines

    def send_texts(self, requests: Iterable[tuple[str, bytes]]) -> list[Line]:
        """Send requests (method, params) in one write; the params may be bytes that are not JSON."""
        return self._send([self._line_of_text(method, params) for method, params in requests])

    def _line_of_text(self, method: str, params: bytes) -> Line:
        id = next(self._ids)
        if self.is_modern and params.startswith(b"{"):
            comma = b"" if params[1:].lstrip().startswith(b"}") else b","
            params = b'{"_meta":' + encode(self.envelope) + comma + params[1:]
        raw = b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b}' % (id, encode(method), params)
        return Line(True, raw, self.process.age, {"jsonrpc": "2.0", "id": id, "method": method})

    def send_raw(self, raw: bytes, message: Any = ABSENT) -> Line:
        """Send any bytes and a line end."""
        return self._send([Line(sent=True, raw=raw, at=self.process.age, message=message)])[0]

    # Waiting

    def await_reply(self, request: Line, timeout: float | None = None, *, alone: bool = False) -> Reply:
        """Wait for the answer to a request that was sent.

        With ``alone`` no other request is open, so an error without an id is its answer too.  A ping follows
        one, as a server may send several for one line: none of them is the answer to the next request.
        """
        seconds = self.timeout if timeout is None else timeout
        keys = [id_key(request.message["id"]), *(NO_ID if alone else ())]
        before, begun, inbox = len(self.lines), self.clock.monotonic(), self.inbox
        inbox.drop_older(keys[1:], request.at)
        self._listen_for_answer(request, seconds, keys)
        if not inbox.has_any(keys) and self._wrong_ids(request):
            usual = USUAL_WRONG_ID_SECONDS if self.wrong_answers else WRONG_ID_SECONDS
            more = min(self.scaled_timeout(usual), begun + seconds - self.clock.monotonic())
            self._listen(more, lambda: inbox.has_any(keys))
            seconds = min(seconds, self.clock.monotonic() - begun)
        if (answer := inbox.take(keys)) is not None:
            if id_key(answer[1].get("id", ABSENT)) != keys[0]:
                self.drain()
            return Reply(request, *answer)
        others = [line for line in self.lines[before:] if not line.sent]
        stderr = self.process.stderr_since(request.at)
        if (instead := inbox.take_unanswered(keys[0])) and (instead.is_error or not self._wrong_ids(request)):
            fault: Fault = Unanswered(seconds, stderr=stderr, instead=instead.reason, status=instead.status)
        elif unread := self._unread(request):
            fault = Unread(seconds, stderr=stderr, unread=unread)
        else:
            if not self.closed and len(others) > FLOOD_LINES_AT_TIMEOUT:
                self._give_up()
            fault = self._fault(request, seconds)
            self.inbox.abandon(keys[0])
        return Reply(request, fault=fault, other_lines=tuple(others[:MAX_OTHER_LINES]))

    def _unread(self, request: Line) -> str:
        """Return why the answer to a request was not read; empty if none came, or none that had an end."""
        unread = self.inbox.take_unread(id_key(request.message["id"]))
        if unread in ("", *UNREAD):
            return unread
        if unread.startswith("not JSON"):  # its end may have been lost with the process
            self._listen(LINE_END_SECONDS, lambda: False)
            if self.closed:
                return ""
        spoiled = [line for line in self.lines if line.at >= request.at and line.fault == unread]
        self.wrong_answers += [(request, line) for line in spoiled[-1:]]
        return unread

    def _listen_for_answer(self, request: Line, seconds: float, keys: Sequence[IdKey]) -> None:
        """Read lines until an answer comes, one with a wrong id, one that never ends, or the time is over."""

        def has_come() -> bool:
            return self.inbox.has_any(keys) or bool(self._wrong_ids(request))

        first = min(seconds, self.scaled_timeout(UNENDED_SECONDS))
        self._listen(first, has_come)
        if not has_come() and seconds > first:
            unended = unended_message(self.process)
            is_answer = unended is not None and id_key(unended.message.get("id", ABSENT)) in keys
            self._listen(min(first, seconds - first) if is_answer else seconds - first, has_come)

    def is_answered(self, request: Line) -> bool:
        """Return whether the answer to a request came and is not yet taken."""
        return self.inbox.has(id_key(request.message["id"]))

    @property
    def flood(self) -> Flood:
        """The fault of a session that is flooded."""
        last = next((line.text for line in reversed(self.lines) if not line.sent), "")
        return Flood(len(self.lines), self.process.stderr, self.inbox.size, last)

    def _wrong_ids(self, request: Line) -> list[Line]:
        """Return the answers to no request since this one was sent; since the start if it is the first."""
        return self.inbox.wrong_ids(request.at if self.sent > 1 else 0.0)

    def _fault(self, request: Line, seconds: float) -> Fault:
        """Return what came instead of an answer."""
        if self.is_flooded:
            return self.flood
        if self.closed:
            return self.end_since(request.at)
        wrong = self._wrong_ids(request)
        self.wrong_answers += [(request, line) for line in wrong[:1]]
        self.is_silent = not wrong
        if unended_message(self.process) is not None:  # its end may be on its way
            self._listen(LINE_END_SECONDS, lambda: not self.process.unended)
        self._keep_unended()
        later = (line for line in self.lines if line.at >= request.at)
        unread = next((line.fault for line in later if line.fault in UNREAD), "")
        stderr = self.process.stderr_since(request.at)
        return Silence(seconds, self.inbox.strays(), stderr, self.unended is not None, unread)

    def end_since(self, at: float) -> Closed:
        """Return the fault of a closed session, with the stderr since a moment, or all if that is empty."""
        status = self.process.wait(1.0)
        return Closed(status, self.process.stderr_since(at) or self.process.stderr)

    def drain(self) -> Reply:
        """Request `liveness_method` and wait, so that the server has read everything sent before."""
        pong = self.request(
            self.liveness_method, timeout=min(self.timeout, self.scaled_timeout(PING_SECONDS))
        )
        if pong.line is not None:
            self.pace.note(pong.seconds)
        return pong

    def scaled_timeout(self, seconds: float) -> float:
        """Return ``seconds``, or more if the server is slow."""
        return self.pace.scaled(seconds, self.timeout)

    def wait_for(self, arrived: Callable[[], object], timeout: float) -> bool:
        """Read until ``arrived()`` is true, at most ``timeout`` seconds; return whether it is."""
        self._listen(timeout, lambda: bool(arrived()))
        return bool(arrived())

    def is_writing(self) -> bool:
        """Return whether the server has written a part of a line, and goes on with it."""
        part = self.process.unended
        return bool(part) and self.wait_for(lambda: self.process.unended != part, LINE_END_SECONDS)

    # Reading

    def _listen(self, seconds: float, done: Callable[[], bool]) -> None:
        """Read lines until ``done()``, the end of the output, a flood, or the timeout."""
        deadline = self.clock.monotonic() + seconds
        lines, size = len(self.lines) + FLOOD_LINES, self.inbox.size + FLOOD_BYTES
        while not done() and not self.closed:
            item = self._next(deadline, seconds)
            if item is None:
                return
            at, data = item
            if data is EOF:
                self.closed = True
                self._keep_unended()
                return
            self._receive(data, at)
            if len(self.lines) > lines or self.inbox.size > size:
                self._give_up()
            if self.clock.monotonic() > deadline:
                return

    def _next(self, deadline: float, seconds: float) -> Item | None:
        """Read the next item until the deadline, in waits of a second: Windows lets Ctrl-C interrupt none."""
        while (now := self.clock.monotonic()) < deadline:
            wait = min(deadline - now, ON_WAIT_SECONDS)
            if self.process.on_wait is not None:
                self.process.on_wait(seconds - (deadline - now), seconds)
            item = self.process.read(wait)
            if item is not None or self.clock.monotonic() - now < wait / 2:  # a stopped transport never waits
                return item
        return self.process.read(0.0)

    def _give_up(self) -> None:
        self.is_flooded = self.closed = True
        self.begin_close()

    def _receive(self, data: Content, at: float) -> None:
        """Log a line; answer the requests in it, and keep the answers."""
        line = self.inbox.line_from(data, at)
        if line is None:
            return
        self.lines.keep(line)
        for message in line.parts():
            if kind(message) is Kind.REQUEST:
                self._answer(message)
            elif is_response(message):
                self.inbox.add(line, message)

    def _keep_unended(self) -> None:
        self.unended = unended_message(self.process) or self.unended

    def _answer(self, message: Mapping[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        answer = {"result": {}} if method == "ping" else self.answer_to(method, params)
        if answer is not None:
            with suppress(ValueError, RecursionError):  # its id cannot be encoded
                self.send_message({"jsonrpc": "2.0", "id": message["id"], **answer})

    def answer_to(self, method: Any, params: Any) -> Mapping[str, Any] | None:
        """Return the client's response to a request; None if it leaves the request open."""
        return self._refusal(method, params) or self.client[method](params, self.revision)

    def _refusal(self, method: Any, params: Any) -> Mapping[str, Any] | None:
        """Return the error for a request that the client does not offer; None if it offers it."""
        feature = FEATURES.get(method) if isinstance(method, str) else None
        if feature is None or feature not in self.capabilities or method not in self.client:
            return {"error": {"code": -32601, "message": "This client does not offer that."}}
        mode = params.get("mode", "form") if isinstance(params, dict) else "form"
        modes = list(self.capabilities[feature] or ["form"])
        if feature == "elicitation" and mode not in modes:
            return {"error": {"code": -32602, "message": "This client does not offer that mode."}}
        return None

    def forget(self) -> None:
        """Drop every line and the answers that were not taken; for when no request is open."""
        self.lines.clear()
        self.inbox.clear()

    # The end

    def finish(self, timeout: float) -> int | None:
        """Close stdin and read the rest of stdout; return the exit status, None if the server runs on."""
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
        self.is_closing = True
        if self.is_flooded:
            self.process.begin_stop(0.0)
        self.process.begin_stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.begin_close()
