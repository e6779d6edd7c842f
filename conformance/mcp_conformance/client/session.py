"""One conversation with a server: send, wait for replies, answer the server's requests, log every line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mcp_conformance.client.inbox import Inbox
from mcp_conformance.client.message_log import MessageLog
from mcp_conformance.client.received import Received
from mcp_conformance.client.reply import Reply, Silence
from mcp_conformance.client.spacing import Spacing
from mcp_conformance.client.timing import Pace
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Line, encode, id_key, is_response
from mcp_conformance.protocol.methods import CLIENT_INFO, FEATURES, LISTED, envelope, liveness_method
from mcp_conformance.protocol.value import Value
from mcp_conformance.transport.interface import Clock, Transport

NO_PARAMS: Any = ABSENT
PING_SECONDS = 10.0
CALL = "tools/call"
Answer = Callable[[Any, str], Mapping[str, Any] | None]
"""A function from a request's params and the revision to the client's response: its member ``result`` or
``error``, or None to leave the request open."""
NO_ANSWERS: Mapping[str, Answer] = MappingProxyType({})
Guard = Callable[[Line, Collection[bytes]], Line]
"""A function from a line, and the values that the session has made, to the line that may be sent."""


class Session:
    """One conversation with one process in one revision.

    In a modern revision `request` and `send` add the envelope to ``_meta``; the members given win.
    The session declares ``capabilities``, and answers requests of the server for them from ``client``, by
    method; it always answers ping, and refuses everything else.  No method raises for what a server does: a
    request without an answer gives a `Reply` with a ``fault``.  ``sent`` counts the lines of the client,
    which ``spacing`` keeps apart if they must be few.  ``begun`` is the request of an opening for which
    nothing waits yet.  ``preparation`` are the lines by which its process was made to know what another one
    does, and ``renamed`` has the values that are others in it, as JSON texts.  ``made`` are values that name
    what its calls have made, as JSON texts; the ``guard`` says what may be sent.
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
        self.tool_timeout: Callable[[str], float] = lambda _: self.timeout
        self.capabilities = dict(capabilities or {})
        self.client = client
        self.client_info: dict[str, Any] = dict(CLIENT_INFO)
        self.lines = MessageLog()
        self.received = Received(self.lines, lambda: self.liveness_method)
        self.opening: Reply | None = None
        self.begun: Line | None = None
        self.first_list: tuple[Line, ...] = ()
        self.is_silent = False
        self.is_closing = False
        self.sent = 0
        self.spacing: Spacing | None = None
        self.preparation: tuple[Line, ...] = ()
        self.renamed: dict[bytes, bytes] = {}
        self.made: set[bytes] = set()
        self.guard: Guard = lambda line, _: line
        self.inbox = Inbox(process, self.lines, self._answer, self.scaled_timeout)
        self._ids = itertools.count(1)

    @property
    def clock(self) -> Clock:
        """The clock of the conversation."""
        return self.process.clock

    @property
    def closed(self) -> bool:
        """Whether the server closed its stdout, or was given up."""
        return self.inbox.closed

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
        If the server offers other modern revisions only, the session goes on in the newest of them.
        """
        if not self.is_modern:
            return self.initialize(timeout)
        opening = self.discover(timeout)
        if offered := newest_offered(opening, self.revision):
            self.revision = offered
            opening = self.discover(timeout)
        listed = [method for feature, method in LISTED.items() if self.declares(feature)]
        if opening.value is not None and listed:
            self.first_list = self.request(listed[0], timeout=timeout).lines
        return opening

    def discover(self, timeout: float | None = None) -> Reply:
        """Send ``server/discover``."""
        begun, self.begun = self.begun, None
        self.opening = self.await_reply(begun or self.send("server/discover"), timeout)
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
        begun, self.begun = self.begun, None
        request = begun or self.send(*_proposal(self, revision or self.revision))
        self.opening = self.await_reply(request, timeout)
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
        if params is NO_PARAMS:
            return message
        whole = {**message, "params": params}
        guarded: dict[str, Any] = self._guarded(Line.sending(whole)).message if method == CALL else whole
        return guarded

    def _guarded(self, line: Line) -> Line:
        return self.guard(line, {*self.made, *self.renamed.values()})

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
        lines = [self._in_turn(self._guarded(line)) for line in lines]
        for line in lines:
            self.lines.keep(line)
            self.inbox.expect(line.message)
        self.sent += len(lines)
        self.process.write(b"".join(line.raw + b"\n" for line in lines))
        return lines

    def _in_turn(self, line: Line) -> Line:
        """Wait until a line may be sent; the answers to a server's requests never wait."""
        if self.spacing is None or is_response(line.message):
            return line
        before = self.process.age
        is_call = isinstance(line.message, dict) and line.message.get("method") == CALL
        self.spacing.wait(
            self.clock.monotonic(),
            lambda seconds: self.wait_for(lambda: False, seconds),
            is_call=is_call,
        )
        return replace(line, at=line.at + self.process.age - before)

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
        seconds = timeout_of(self, request) if timeout is None else timeout
        reply = self.inbox.await_reply(request, seconds, alone=alone)
        if type(reply.fault) is Silence:
            self.is_silent = not self.inbox.is_wrongly_answered(request)
        if reply.fault is None and not reply.has_id:
            self.drain()
        return reply

    def is_answered(self, request: Line) -> bool:
        """Return whether the answer to a request came and is not yet taken."""
        return self.inbox.has(id_key(request.message["id"]))

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
        self.inbox.listen(timeout, lambda: bool(arrived()))
        return bool(arrived())

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
        self.inbox.listen(timeout, lambda: False)
        self.inbox.closed = True
        return self.process.wait(max(0.0, deadline - self.clock.monotonic()))

    def close(self) -> None:
        """End the process."""
        self.process.stop()

    def begin_close(self) -> None:
        """Begin to end the process; `close` waits until it has ended."""
        self.is_closing = True
        if self.inbox.is_flooded:
            self.process.begin_stop(0.0)
        self.process.begin_stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.begin_close()


def begin(session: Session) -> None:
    """Send the request that opens the conversation; `Session.open` waits for its answer."""
    is_modern = session.is_modern
    session.begun = session.send(*("server/discover",) if is_modern else _proposal(session, session.revision))


def _proposal(session: Session, revision: str) -> tuple[str, Any]:
    return "initialize", {
        "protocolVersion": revision,
        "capabilities": session.capabilities,
        "clientInfo": session.client_info,
    }


def timeout_of(session: Session, request: Line) -> float:
    """Return how many seconds the answer to a request may take: a tool may have a limit of its own."""
    message = request.message
    is_call = isinstance(message, dict) and message.get("method") == "tools/call"
    params = message.get("params") if is_call else None
    name = params.get("name") if isinstance(params, dict) else None
    return session.tool_timeout(name) if isinstance(name, str) else session.timeout


def give_up(session: Session) -> None:
    """Begin to end a process, and read no more, so that nobody pings it and waits for its answer."""
    session.begin_close()
    session.inbox.closed = True


def newest_offered(opening: Reply, revision: str) -> str:
    """Return the newest modern revision that a server offers instead of this one.

    It is empty if the server offers this one too, or no modern one at all.
    """
    is_refused = opening.code == revisions.UNSUPPORTED_VERSION
    found = opening.error_value if is_refused else opening.value
    path = ("data", "supported") if is_refused else ("supportedVersions",)
    offered = found.get(*path) if found is not None else None
    if offered is None or not offered.is_a(list) or revision in offered.json:
        return ""
    return max((one for one in revisions.MODERN if one in offered.json), default="")
