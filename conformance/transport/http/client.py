"""HTTP exchanges with one server: a thread for each that is under way, and connections that are reused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING

from conformance.transport.http.endpoint import Endpoint
from conformance.transport.http.exchange import CLOSED, Exchange, Listener
from conformance.transport.http.request import Request
from conformance.transport.http.stream import ConnectionFailed, Stream
from conformance.transport.interface import MAX_LINE, SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from conformance.transport.http.reader import ResponseReader

CONNECT_SECONDS = 5.0


class HttpUnavailable(Exception):  # noqa: N818
    """The library that reads responses is not installed."""


class Client:
    """The exchanges with one server.  Raises `HttpUnavailable` if h11 is not installed."""

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Clock = SYSTEM_CLOCK,
        *,
        connect_timeout: float = CONNECT_SECONDS,
        max_body: int = MAX_LINE,
    ):
        self.endpoint = endpoint
        self._clock, self._connect_timeout, self._max_body = clock, connect_timeout, max_body
        self._reader = _reader_class()
        self._workers = _Workers()
        self._idle: list[Stream] = []
        self._running: set[Exchange] = set()
        self._begun = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def begin(self, request: Request, listener: Listener | None = None) -> Exchange:
        """Send a request, on an idle connection at once, and return its exchange."""
        exchange = Exchange(request, listener or Listener(), self._clock, self._max_body)
        with self._lock:
            self._begun += 1
            exchange.number = self._begun
            if not self._is_closed:
                self._running.add(exchange)
                idle = self._take_idle() if request.is_framed else None
                if idle is not None:
                    exchange.start(idle)
                self._workers.run(lambda: self._run(exchange, idle))
                return exchange
        exchange.abort()
        exchange.fail("")
        exchange.end()
        return exchange

    def close(self) -> None:
        """Abort all exchanges; when this returns, no thread and no connection is left.

        A listener must not call it, as its thread would wait for itself.
        """
        with self._lock:
            self._is_closed = True
            running, idle, self._idle = list(self._running), self._idle, []
        for exchange in running:
            exchange.abort()
        for stream in idle:
            stream.close()
        self._workers.join()

    def _run(self, exchange: Exchange, idle: Stream | None) -> None:
        try:
            if idle is not None:
                self._run_on(exchange, idle)
                exchange.was_resent = exchange.failure == CLOSED
            if idle is None or exchange.was_resent:
                self._run_on_new(exchange)
        finally:
            with self._lock:
                self._running.discard(exchange)
            exchange.end()

    def _run_on_new(self, exchange: Exchange) -> None:
        try:
            stream = Stream.connect(self.endpoint, self._connect_timeout)
        except ConnectionFailed as error:
            before = f"{CLOSED}, and then " if exchange.was_resent else ""
            exchange.fail(f"{before}{error}", was_refused=error.is_refused)
            return
        exchange.start(stream)
        self._run_on(exchange, stream)

    def _run_on(self, exchange: Exchange, stream: Stream) -> None:
        can_reuse = False
        try:
            can_reuse = exchange.run(stream, self._reader(exchange.request)) and exchange.request.is_framed
        finally:
            with self._lock:
                if keep := can_reuse and not self._is_closed:
                    self._idle.append(stream)
            if not keep:
                stream.close()

    def _take_idle(self) -> Stream | None:
        while self._idle:
            stream = self._idle.pop()
            if not stream.is_readable:
                return stream
            stream.close()
        return None


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
        module = import_module("conformance.transport.http.reader")
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise HttpUnavailable("HTTP needs one more package: install pytest-mcp-conformance[http].") from error
    reader: type[ResponseReader] = module.ResponseReader
    return reader
