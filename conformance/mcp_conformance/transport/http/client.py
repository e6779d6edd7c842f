"""HTTP exchanges with one server: connections that are reused, and a thread that reads each of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING

from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import CLOSED, Exchange, Listener, Misreading
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.stream import ConnectionFailed, Stream
from mcp_conformance.transport.http.tally import Tally
from mcp_conformance.transport.http.throttle import GATEWAY, Throttle
from mcp_conformance.transport.interface import MAX_LINE, SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from mcp_conformance.transport.http.reader import ResponseReader

# A handshake that is lost is sent again after 1 s, then after 3 s: two may be lost.
CONNECT_SECONDS = 5.0
# The buffer that Linux gives a socket at first.
MAX_AT_ONCE = 16 * 1024
"""The bytes that an idle connection takes at once."""
# Half of the 2 s after which gunicorn closes one, the shortest default of the usual servers.
MAX_IDLE_SECONDS = 1.0
"""How long a connection may be idle and get another request: the server may be about to close it."""
# A server writes a body at once; what a proxy holds back comes within some 0.2 s.  Thousands of responses
# may be too short: the first one shows it.
STALL_SECONDS, BRIEF_STALL_SECONDS = 1.0, 0.05
"""How long the rest of a body is waited for after a complete JSON text: the first time, and later."""
REFUSED, NOT_HTTP = 400, (400, 501)
"""The first status of a refusal, and those of what is not HTTP."""
IDEMPOTENT = ("GET", "HEAD", "OPTIONS", "DELETE", "PUT", "TRACE")
"""The methods of requests that may be sent twice (RFC 9110, section 9.2.2)."""


class HttpUnavailable(Exception):  # noqa: N818
    """The library that reads responses is not installed."""


class Client:
    """The exchanges with one server.  Raises `HttpUnavailable` if h11 is not installed.

    Once a request is lost with a reused connection, each has a connection of its own.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Clock = SYSTEM_CLOCK,
        *,
        connect_timeout: float = CONNECT_SECONDS,
        max_body: int = MAX_LINE,
        throttle: Throttle | None = None,
    ):
        self.endpoint = endpoint
        self.throttle = throttle
        self.tally = throttle.tally if throttle is not None else Tally()
        self._clock, self._connect_timeout, self._max_body = clock, connect_timeout, max_body
        self._reader = _reader_class()
        self._workers = _Workers()
        self._idle: list[_Connection] = []
        self._running: set[Exchange] = set()
        self._begun = 0
        self._is_closed = False
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def begin(self, request: Request, listener: Listener | None = None) -> Exchange:
        """Send a request, on an idle connection at once, and return its exchange."""
        exchange = Exchange(request, listener or Listener(), self._clock, self._max_body, self._is_repeated)
        exchange.stall_seconds = BRIEF_STALL_SECONDS if self.tally.stalled else STALL_SECONDS
        with self._lock:
            self._begun += 1
            exchange.number = self._begun
            if not self._is_closed:
                self._running.add(exchange)
                if not self._begun_on_idle(exchange):
                    self._workers.run(lambda: self._run(exchange))
                return exchange
        exchange.abort()
        exchange.fail("")
        exchange.end()
        return exchange

    def _begun_on_idle(self, exchange: Exchange) -> bool:
        """Send a request on an idle connection, whose worker reads the response; False without one.

        An idle connection takes a short request at once; a long one gets a new connection in its place.
        """
        connection = self._take_idle() if exchange.request.is_framed else None
        if connection is None:
            return False
        is_short = len(exchange.request.encoded) <= MAX_AT_ONCE
        if is_short:
            connection.exchange = exchange
            self.tally.reused += 1
            exchange.previous = connection.previous
            exchange.start(connection.stream)
        if not exchange.is_sent:
            connection.stream.close()
        return is_short

    def run(self, job: Callable[[], None]) -> None:
        """Run a job that may wait, in a thread of its own; none after `close`."""
        with self._lock:
            if not self._is_closed:
                self._workers.run(job)

    def close(self) -> None:
        """Abort all exchanges; when this returns, no thread and no connection is left.

        A listener must not call it, as its thread would wait for itself.
        """
        with self._lock:
            self._is_closed = True
            self._closing.set()
            running, idle, self._idle = list(self._running), self._idle, []
        for exchange in running:
            exchange.abort()
        for connection in idle:
            connection.stream.close()
        self._workers.join()

    def _run(self, exchange: Exchange) -> None:
        """Run an exchange on a new connection; one that follows may have to be sent again, on another."""
        again: Exchange | None = exchange
        while again is not None:
            again = self._run_connected(again)

    def _run_connected(self, exchange: Exchange) -> Exchange | None:
        """Connect for an exchange, run it and those that follow, and return one that must be sent again."""
        try:
            connection = _Connection(Stream.connect(self.endpoint, self._connect_timeout))
        except ConnectionFailed as error:
            before = f"{CLOSED}, and then " if exchange.was_resent else ""
            exchange.fail(f"{before}{error}", was_refused=error.is_refused)
            self._end(exchange, None)
            return None
        exchange.previous = None
        exchange.start(connection.stream)
        following: Exchange | None = exchange
        while following is not None:
            if self._must_be_resent(following, connection):
                self._wait_for_turn(following)
                return following
            following = self._next(connection)
        return None

    def _must_be_resent(self, exchange: Exchange, connection: _Connection) -> bool:
        """Run an exchange; return whether its request is sent again.

        That is so if the server has put it off, or if a reused connection has lost it.  The server may have
        carried out what it has read, so only a request that does no harm twice, or of which no byte was sent,
        is sent again after a loss.
        """
        can_reuse = is_lost = is_resent = False
        try:
            reader = self._reader(exchange.request)
            can_reuse = exchange.run(connection.stream, reader) and exchange.request.is_framed
            is_lost = connection.is_reused and exchange.failure == CLOSED
            may_resend = exchange.request.method in IDEMPOTENT or exchange.is_unsent
            exchange.was_lost = is_lost and not may_resend
            is_resent = exchange.is_put_off or (is_lost and may_resend)
            return is_resent
        finally:
            exchange.was_resent |= is_lost and is_resent
            connection.is_reused, connection.previous = True, exchange
            if not can_reuse or is_resent:
                connection.stream.close()
            if not is_resent:
                self._end(exchange, connection if can_reuse else None)

    def _wait_for_turn(self, exchange: Exchange) -> None:
        """Before a request that was put off is sent again, wait for a turn, or until the client is closed."""
        if not exchange.is_put_off:
            return
        if self.throttle is not None:
            self._closing.wait(max(0.0, self.throttle.turns.take() - time.monotonic()))
        exchange.prepare_again()

    def _is_repeated(self, exchange: Exchange, status: int, retry_after: Sequence[str]) -> bool:
        """Count a response; return whether its request is sent again after a wait."""
        self.tally.note(status)
        if exchange.misread is None and _is_misread(exchange, status):
            exchange.misread = Misreading(exchange.previous, exchange, status)
            return True
        exchange.met_gateway |= status in GATEWAY
        is_repeatable = exchange.request.is_repeatable
        return self.throttle is not None and self.throttle.grants(
            exchange.tries, status, retry_after, is_repeatable=is_repeatable
        )

    def _end(self, exchange: Exchange, idle: _Connection | None) -> None:
        with self._lock:
            self.tally.lost += exchange.was_lost
            self.tally.stalled += exchange.is_stalled
            self.tally.recovered += exchange.met_gateway and (exchange.status or GATEWAY[0]) not in GATEWAY
            self.tally.refused_before += _follows_refusal(exchange) or exchange.misread is not None
            if exchange.misread is not None and exchange.status not in (None, exchange.misread.status):
                self.tally.misread.append(exchange.misread)
            exchange.previous = None  # which would keep all exchanges of a connection
            self._running.discard(exchange)
            if idle is not None and self._is_closed:
                idle.stream.close()
            elif idle is not None:
                idle.idle_since = self._clock.monotonic()
                self._idle.append(idle)
        exchange.end()

    def _next(self, connection: _Connection) -> Exchange | None:
        """Wait for the response to the next request on a connection; None if the connection ends."""
        connection.stream.wait_until_readable()
        with self._lock:
            exchange, connection.exchange = connection.exchange, None
            if exchange is None and connection in self._idle:
                self._idle.remove(connection)
        if exchange is None:
            connection.stream.close()
        return exchange

    def _take_idle(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            is_fresh = self._clock.monotonic() - connection.idle_since < MAX_IDLE_SECONDS
            is_trusted = not (self.tally.lost or self.tally.misread)
            if is_fresh and is_trusted and not connection.stream.is_readable:
                return connection
            connection.stream.close()
        return None


class _Connection:
    """A connection that a worker reads, and the exchange that was begun on it while it was idle."""

    def __init__(self, stream: Stream):
        self.stream = stream
        self.exchange: Exchange | None = None
        self.is_reused = False
        self.idle_since = 0.0
        self.previous: Exchange | None = None


def _follows_refusal(exchange: Exchange) -> bool:
    """Return whether a request went over a connection whose last request had a body and was refused."""
    before = exchange.previous
    return before is not None and before.request.body != b"" and (before.status or 0) >= REFUSED


def _is_misread(exchange: Exchange, status: int) -> bool:
    """Return whether the server may have taken the body of the request before for the head of this one."""
    is_of_parser = status in NOT_HTTP and exchange.media_type != "application/json"
    return is_of_parser and _follows_refusal(exchange)


class _Workers:
    """Daemon threads that run jobs; an idle one is used before a new one is started."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._lock = threading.Lock()

    def run(self, job: Callable[[], None]) -> None:
        """Run a job at once, in a thread that has no other."""
        with self._lock:
            self._jobs.put(job)
            if self._idle:
                self._idle -= 1
                return
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Wait until all jobs are done and all threads have ended."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            with self._lock:
                self._idle += 1


def _reader_class() -> type[ResponseReader]:
    try:
        module = import_module("mcp_conformance.transport.http.reader")
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise HttpUnavailable("HTTP needs one more package: install pytest-mcp-conformance[http].") from error
    reader: type[ResponseReader] = module.ResponseReader
    return reader
