"""Streamable HTTP as a transport: each line is a POST, each JSON body and each event becomes a line."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import (
    ABSENT,
    EVENT,
    IdKey,
    Kind,
    Line,
    decode,
    id_key,
    is_message,
    is_response,
    kind,
)
from mcp_conformance.protocol.methods import CANCELLED, LISTS
from mcp_conformance.protocol.text import shorten
from mcp_conformance.sandbox.traffic import Traffic
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.events import Event
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange, Listener
from mcp_conformance.transport.http.headers import ACCEPT, JSON, SESSION_ID, Mirror
from mcp_conformance.transport.http.request import Headers, Request
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.http.turns import wait_until
from mcp_conformance.transport.interface import (
    EOF,
    MAX_LINE,
    STOP_SECONDS,
    Clock,
    Empty,
    Item,
    NoAnswer,
    OnWait,
)
from mcp_conformance.transport.queue import ByteQueue

HARMLESS = ("initialize", "server/discover", "ping", *LISTS)
"""The methods of requests that may arrive twice: a session more is all that they leave."""
ACCEPT_EVENTS = (b"Accept", EVENT_STREAM.encode())
# A notification that is handled after the next request would change what that means; servers that never
# respond to one cost this once, then `BRIEF_SECONDS`.
ORDER_SECONDS = 10.0
"""How long the next message waits until one that is not a request has its response."""
BRIEF_SECONDS = 0.1
"""The same when the server has left such a message without a response before."""
# A hundred notifications to a server that takes 0.3 s for each take half of that; one that reads nothing
# would hold up the run for 10 s with each.
MAX_BACKLOG_SECONDS = 60.0
"""How long a write waits until its lines are on their way."""
# Checks read the first ones; a fuzzer sends thousands.
MAX_KEPT = 100
"""How many messages of a conversation are kept in ``posted``, with their exchanges."""
# A hundred of them take 10 MB at most; checks judge heads and short bodies.
MAX_KEPT_BYTES = 100_000
"""An exchange with a longer response is not kept."""
# As long as a whole run may take (--max-time).
MAX_RETRY_SECONDS = 3600.0
# A server that ends each stream at once would keep the run waiting for ever.
MAX_RESUMES = 20
"""How often the stream of one request is resumed."""
# Browsers wait 3 to 5 s; a check that needs the stream would wait as long.
DEFAULT_RETRY_SECONDS = 0.5
"""How long to wait before a stream is resumed if the server does not say."""


class HttpLines:
    """One conversation with an HTTP server, as a `mcp_conformance.transport.interface.Transport`.

    Requests are sent one after the other and answered side by side.  After a message that is not a request,
    and after ``initialize``, the next one waits for the response.  In a handshake revision a GET stream is
    open once the session is initialized, and streams are resumed.  ``posted`` has the first messages, each
    with its exchange, ``streamed`` the first exchanges of GET.  A conversation that ``owns_server`` ends it.
    """

    def __init__(
        self,
        server: HttpServer,
        *,
        max_line: int = MAX_LINE,
        on_wait: OnWait | None = None,
        owns_server: bool = False,
    ):
        self.server, self.on_wait, self.max_line = server, on_wait, max_line
        self.clock: Clock = server.throttle.clock
        self.command = server.command
        self.started = self.clock.monotonic()
        self.mirror = Mirror(server.parameters)
        self.posted: list[tuple[Any, Exchange]] = []
        self.max_posted = MAX_KEPT
        self.streamed: list[Exchange] = []
        self._owns_server, self._start = owns_server, server.starts
        self._client = Client(server.endpoint, self.clock, max_body=max_line, throttle=server.throttle)
        self._received = ByteQueue()
        self._unsent = ByteQueue()
        self._open: dict[IdKey, _Answers] = {}
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self._listening: Exchange | None = None
        self._last: Exchange | None = None
        self._sender = threading.Thread(target=self._send_all, daemon=True)
        self._sender.start()
        self._stopping: threading.Thread | None = None

    # The transport

    def write(self, data: bytes) -> None:
        """Send each line in a POST of its own, in order.

        Waits for their turns, and for those that wait for the responses to others: a timeout for an answer
        then counts from about when its request was sent.
        """
        # A response may wait until what came before it is read, which the thread that writes here would do.
        with self._received.roomy():
            for line in filter(None, data.split(b"\n")):
                turn = self.server.turns.take()
                if not self._sent_at_once(line, turn):
                    self._unsent.put(line, at=turn, timeout=MAX_BACKLOG_SECONDS)
            self._unsent.wait_until_taken(MAX_BACKLOG_SECONDS)
        self.server.turns.rest()

    def read(self, timeout: float) -> Item | None:
        """Return the next line with its `age`, `EOF` at the end, None if nothing arrives in time."""
        until = self.clock.monotonic() + timeout
        item = self._received.get(timeout)
        while item is None and not self._is_stopped.is_set() and (held := self.server.throttle.clock.left):
            item = self._received.get(held + until - self.clock.monotonic())
        return item

    def close_stdin(self) -> None:
        """End the session when everything is sent."""
        self._unsent.put(EOF)

    @property
    def unended(self) -> bytes:
        """Nothing: a line is whole when it comes."""
        return b""

    @property
    def age(self) -> float:
        """Seconds since the conversation began."""
        return self.clock.monotonic() - self.started

    @property
    def exit_code(self) -> int | None:
        """The exit status of the server; None while it runs, or if others have started it."""
        return self.server.exit_code

    def wait(self, timeout: float) -> int | None:
        """Wait for the server to exit; return its exit status, None if it still runs."""
        return self.server.wait(timeout) if self.server.is_lost else None

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to stderr since the conversation began."""
        return self.stderr_since(0.0)

    def stderr_since(self, at: float) -> str:
        """Return the part of stderr that came since the conversation was ``at`` seconds old."""
        return self.server.stderr_since(self.started + at)

    @property
    def pid(self) -> int | None:
        """The id of the server's process; None if it runs already."""
        return self.server.pid

    @property
    def is_left(self) -> bool:
        """Whether another process has taken the place of the one with which the conversation began."""
        return self.server.starts != self._start

    @property
    def traffic(self) -> Traffic | None:
        """What a server sends to the network that has only this conversation; None if that cannot be seen."""
        return self.server.traffic if self._owns_server else None

    def begin_stop(self, grace: float = STOP_SECONDS) -> None:
        """Begin to `stop` the conversation, in the background."""
        if self._stopping is None:
            self._stopping = threading.Thread(target=self._stop, args=(grace,))
            self._stopping.start()

    def stop(self, grace: float = STOP_SECONDS) -> None:
        """End the session at the server and close all connections; the server runs on."""
        self.begin_stop(grace)
        assert self._stopping is not None
        self._stopping.join()

    def _stop(self, grace: float) -> None:
        self._is_stopped.set()
        self._received.discard()
        self._unsent.discard()
        self._sender.join(grace)
        self._client.throttle = None  # nobody waits for the end of a session
        if self.mirror.session_id and not self.server.is_lost:
            self._begin("DELETE", self.mirror.session_headers).wait(grace)
        self._client.close()
        self._sender.join()
        if self._owns_server:
            self.server.close()

    # Sending

    def _sent_at_once(self, line: bytes, turn: float) -> bool:
        """Send a request in this thread if its turn has come and nothing is before it."""
        is_last_sent = self._last is None or self._last.is_sent or self._last.has_ended
        if not (self._unsent.is_awaited and is_last_sent and turn <= time.monotonic()):
            return False
        message = _message_in(line)
        if needs_order(message):
            return False
        self._post(line, message)
        return True

    def _send_all(self) -> None:
        while (item := self._unsent.get(None)) is not None:
            turn, line = item
            if not isinstance(line, bytes):
                self._received.put(EOF, at=self.age)
                return
            wait_until(turn)
            if self._last is not None:
                self._last.wait_until_sent(ORDER_SECONDS)
            if self._is_stopped.is_set():
                return
            self._send(line)

    def _send(self, line: bytes) -> None:
        message = _message_in(line)
        if self.mirror.is_modern and (cancelled := self._cancelled(message)) is not None:
            cancelled.abort()
            return
        listener = self._post(line, message)
        if needs_order(message):
            self._wait_in_order(listener)
        if listener.method == "notifications/initialized" and not self.mirror.is_modern:
            self._listen()

    def _post(self, line: bytes, message: Any) -> _Answers:
        listener = _Answers(self, message)
        if listener.key is not None:
            with self._lock:
                self._open[listener.key] = listener
        self._last = listener.exchange = self.post(line, self.mirror.headers(message), listener)
        if len(self.posted) < self.max_posted:
            self.posted.append((message, self._last))
        return listener

    def _wait_in_order(self, listener: _Answers) -> None:
        """Wait for a response before the next message is sent; only briefly if one never came before."""
        seconds = BRIEF_SECONDS if self.server.is_slow_in_order else ORDER_SECONDS
        if not listener.is_settled.wait(seconds):
            self.server.is_slow_in_order = True

    def post(self, body: bytes, headers: Headers, listener: Listener | None = None) -> Exchange:
        """Begin to POST a body with these headers and those of every POST."""
        return self._begin("POST", (JSON, ACCEPT, *headers), body, listener)

    def _begin(
        self, method: str, headers: Headers, body: bytes = b"", listener: Listener | None = None
    ) -> Exchange:
        request = Request.to(self.server.endpoint, method, (*headers, *self.server.headers), body)
        if isinstance(listener, _Answers) and listener.method in HARMLESS:
            request = replace(request, is_repeatable=True)
        return self._client.begin(request, listener)

    def exchange(self, request: Request, listener: Listener | None = None) -> Exchange:
        """Begin to send any request to the server, when its turn comes."""
        wait_until(self.server.turns.take())
        return self._client.begin(request, listener)

    def _cancelled(self, message: Any) -> Exchange | None:
        """Return the open exchange that a message cancels; over HTTP, closing its stream does that."""
        if kind(message) is not Kind.NOTIFICATION or message["method"] != CANCELLED:
            return None
        params = message.get("params")
        id = params.get("requestId", ABSENT) if isinstance(params, dict) else ABSENT
        with self._lock:
            listener = self._open.get(id_key(id))
        return None if listener is None else listener.exchange

    def stop_listening(self) -> bool:
        """Close the stream of the server's own; return whether one was open."""
        stream = self._listening
        if stream is None or stream.has_ended:
            return False
        stream.abort()
        return True

    def _listen(self) -> None:
        if self._listening is None:
            self._listening = self._get(_Stream(self), "")

    def _get(self, listener: Listener, last_id: str) -> Exchange:
        """Open a stream of the server's own, or resume one after an event."""
        last = ((b"Last-Event-ID", last_id.encode()),) if last_id else ()
        exchange = self._begin("GET", (ACCEPT_EVENTS, *self.mirror.session_headers, *last), b"", listener)
        if len(self.streamed) < MAX_KEPT:
            self.streamed.append(exchange)
        return exchange

    # Receiving, in the threads of the exchanges

    def took_head(self, exchange: Exchange, method: str) -> None:
        """Note the session that the server assigns."""
        ids = exchange.header(SESSION_ID)
        if method == "initialize" and ids and exchange.status == 200:
            self.mirror.session_id = ids[0]

    def line_of(self, exchange: Exchange, data: bytes) -> Line:
        """Return a line, with the name of the exchange that carried it."""
        kind_of_body = EVENT if exchange.media_type == EVENT_STREAM else ""
        title = f"{exchange.request.method} {exchange.number}: HTTP {exchange.status}{kind_of_body}"
        return Line.received(data, self.age, title)

    def took(self, line: Line, method: str = "") -> None:
        """Pass a line on."""
        message = line.message
        result = message.get("result") if isinstance(message, dict) else None
        if method == "initialize" and isinstance(result, dict):
            self.mirror.revision = str(result.get("protocolVersion", ""))
        elif method == "tools/list":
            self.mirror.learn_tools(result)
        self._received.put(line, at=line.at)

    def ended(self, exchange: Exchange, listener: _Answers) -> None:
        """Handle the end of the exchange of a message: without an answer, none will come."""
        with self._lock:
            if listener.key is not None and self._open.get(listener.key) is listener:
                del self._open[listener.key]
        if exchange.size > MAX_KEPT_BYTES:
            self.posted = [one for one in self.posted if one[1] is not exchange]
        self.server.note(exchange)
        is_broken = exchange.failure and not (exchange.aborted or exchange.is_stalled)
        if is_broken and (self.is_left or self.server.has_gone(exchange)):
            self._received.put(EOF, at=self.age)
        elif listener.is_request and not listener.is_answered and not exchange.aborted:
            id, reason, empty = listener.message["id"], why_unanswered(exchange), _empty(exchange)
            missing = NoAnswer(id, reason, exchange.status, exchange.was_lost, empty)
            self._received.put(missing, at=self.age)

    def resumed(self, exchange: Exchange, listener: _Stream) -> bool:
        """Begin to resume a stream whose connection ended, after the time that the server asks for.

        One without event ids is only opened again if it is a stream of the server's own.
        """
        most = MAX_RESUMES if listener.last_id else listener.max_reopened
        if self.mirror.is_modern or listener.resumes >= most or self._is_stopped.is_set():
            return False
        listener.resumes += 1
        self._client.run(lambda: self._resume(exchange, listener))
        return True

    def _resume(self, exchange: Exchange, listener: _Stream) -> None:
        if self._is_stopped.wait(min(listener.retry_seconds, MAX_RETRY_SECONDS)):
            listener.end(exchange)
        else:
            self._get(listener, listener.last_id)


class _Stream(Listener):
    """A receiver of the events of a stream, which is resumed when its connection ends."""

    # Servers end idle streams now and then, which is right; one that ends each at once would be asked for
    # ever.
    max_reopened = 3
    """How often a stream without event ids is opened again."""

    def __init__(self, lines: HttpLines):
        self.lines = lines
        self.last_id = ""
        self.retry_seconds = DEFAULT_RETRY_SECONDS
        self.resumes = 0

    def on_event(self, exchange: Exchange, at: float, event: Event) -> None:  # noqa: ARG002
        """Pass the data of an event on as a line."""
        self.last_id = self.last_id if event.id is None else event.id
        self.retry_seconds = self.retry_seconds if event.retry is None else event.retry / 1000
        if event.data:
            # A lone surrogate must come to where messages are judged, and not end here.
            self.take(self.lines.line_of(exchange, event.data.encode("utf-8", "surrogatepass")))

    def take(self, line: Line) -> None:
        """Take a line."""
        self.lines.took(line)

    def on_end(self, exchange: Exchange) -> None:
        """Resume the stream, unless it ended for good."""
        if exchange.media_type == EVENT_STREAM and exchange.status == 200 and not exchange.aborted:
            self.lines.resumed(exchange, self)

    def end(self, exchange: Exchange) -> None:
        """Note that nothing more comes."""


class _Answers(_Stream):
    """A receiver of what comes for a message of ours; it is settled when nothing more needs to come."""

    max_reopened = 0

    def __init__(self, lines: HttpLines, message: Any):
        super().__init__(lines)
        self.message = message
        self.is_request = kind(message) is Kind.REQUEST
        self.is_notification = isinstance(message, dict) and "method" in message and "id" not in message
        self.method = str(message.get("method", "")) if isinstance(message, dict) else ""
        self.key = id_key(message["id"]) if self.is_request else None
        self.exchange: Exchange | None = None
        self.is_answered = False
        self.is_settled = threading.Event()

    def on_head(self, exchange: Exchange) -> None:
        """Note the session that the server assigns."""
        self.lines.took_head(exchange, self.method)

    def take(self, line: Line) -> None:
        """Take a line, and note whether it is the answer."""
        self.lines.took(line, self.method)
        if any(is_response(one) and id_key(one.get("id", ABSENT)) == self.key for one in line.parts()):
            self.is_answered = True
            self.is_settled.set()

    def on_end(self, exchange: Exchange) -> None:
        """Take the body if it is no stream; settle the message unless its stream is resumed."""
        if not self._is_resumed(exchange):
            self.end(exchange)

    def end(self, exchange: Exchange) -> None:
        """Settle the message."""
        self.lines.ended(exchange, self)
        self.is_settled.set()

    def _is_resumed(self, exchange: Exchange) -> bool:
        if exchange.media_type == EVENT_STREAM:
            lacks_answer = self.is_request and not (self.is_answered or exchange.aborted)
            return lacks_answer and self.lines.resumed(exchange, self)
        status, body = exchange.status or 0, exchange.body.strip()
        if body and not self.is_notification:  # what a notification gets is not an answer
            line = self.lines.line_of(exchange, body)
            if status == 200 or any(map(is_message, line.parts())):  # it is a message, or should be one
                self.take(line)
        return False


def _message_in(line: bytes) -> Any:
    """Return the JSON value of a line of ours, `ABSENT` if it is not JSON; be quick with usual ones."""
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError):
        return decode(line)[0]


def needs_order(message: Any) -> bool:
    """Return whether the next message waits for the response to this one."""
    return kind(message) is not Kind.REQUEST or message["method"] == "initialize"


def _empty(exchange: Exchange) -> Empty | None:
    """Return what a success without an answer was; None for an error, a JSON text, or a failure."""
    if exchange.failure or not 200 <= (exchange.status or 0) < 300:
        return None
    if exchange.media_type == EVENT_STREAM:
        return Empty.ENDED_STREAM
    is_json = exchange.body.strip() and exchange.media_type == JSON[1].decode()
    return None if is_json else Empty.NO_MESSAGE


def why_unanswered(exchange: Exchange) -> str:
    """Return what came instead of the answer to a request."""
    if exchange.status is None:
        return exchange.failure
    what = f"HTTP {exchange.status} {exchange.reason}".rstrip()
    if exchange.failure:
        return f"{what}, but {exchange.failure}"
    if exchange.media_type == EVENT_STREAM:
        return f"{what} with an event stream that ended without it"
    text = shorten(exchange.body.decode("utf-8", "replace").strip(), 100)
    return f"{what} {f'with the body {text!r}' if text else 'without a body'}"
