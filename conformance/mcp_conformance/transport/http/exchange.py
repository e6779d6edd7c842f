"""One HTTP request and its response as they go over the wire: head, body, events, times and failures."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_conformance.transport.http.coding import CodingFailed, Decoder
from mcp_conformance.transport.http.events import Event, EventParser, EventTooLarge
from mcp_conformance.transport.http.request import Headers, Request
from mcp_conformance.transport.http.response import Done, Head, MalformedResponse
from mcp_conformance.transport.http.stream import Stream
from mcp_conformance.transport.interface import Clock

if TYPE_CHECKING:
    from mcp_conformance.transport.http.reader import ResponseReader

EVENT_STREAM = "text/event-stream"
# What a finding shows of it; a stream may last as long as the run.
KEPT_OF_EVENT_STREAM = 64 * 1024
"""The bytes that are kept of a body that is too long, and of that of an event stream beside its events."""
CLOSED = "the connection was closed before the response"
CUT_OFF = "the body ended early"
STALLED = "the body went on after a complete JSON text, but nothing more came"
ABORTED = "we closed the connection"
STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


IsRepeated = Callable[["Exchange", int, Sequence[str]], bool]
"""A function of an exchange, a status and the values of Retry-After: whether the request is sent again."""


@dataclass(frozen=True)
class Misreading:
    """A response to a request that was taken for something else, after the refused one ``before`` it."""

    before: Exchange | None
    exchange: Exchange
    status: int


class Listener:
    """A receiver of what happens in an exchange, in the thread of its connection: it must not wait."""

    def on_head(self, exchange: Exchange) -> None:
        """Handle the status and the headers."""

    def on_event(self, exchange: Exchange, at: float, event: Event) -> None:
        """Handle one event of an event stream, received at that time."""

    def on_end(self, exchange: Exchange) -> None:
        """Handle the end of the response, or the failure."""


class Exchange:
    """A request that is on its way, and what has come for it so far.

    ``number`` counts the exchanges of a client; ``status`` is None and the times are None until they are
    known.  ``headers`` and ``raw_head`` are as received; ``media_type`` is the content type in lower case
    without parameters, empty if there is none; ``body`` is decoded and without its chunks, and only the
    beginning of an event stream; ``received`` counts its bytes as they came; ``events`` has pairs of a time
    and an event, as many as fit into `max_body` bytes.
    ``event_parser`` has the counts of an event stream, ``trailing`` the bytes after the response,
    ``unasked`` the status of a second response to this one request, None without one.
    ``is_sent`` says that the whole request is sent, ``has_ended`` that the response is complete or never
    will be; ``failure`` is a sentence if the response is not complete, else empty; ``was_refused`` says that
    nothing listened.  ``was_resent`` says that a reused connection turned out to be closed, and the request
    was sent again; ``was_lost`` that it was not, as the server may have carried it out.  ``is_put_off`` says
    that the request is sent again after this response, ``tries`` how often that was so, and
    ``met_gateway`` that a proxy got no response of the server once.  ``stall_seconds`` is how long the next
    bytes of a body are waited for when it could be complete.  ``previous`` is the exchange before it on its
    connection, ``misread`` a response that may be to the body of that one.
    """

    def __init__(
        self,
        request: Request,
        listener: Listener,
        clock: Clock,
        max_body: int,
        is_repeated: IsRepeated = lambda *_: False,
    ):
        self.request = request
        self.number = 0
        self.status: int | None = None
        self.reason = ""
        self.headers: Headers = ()
        self.media_type = ""
        self.raw_head = b""
        self.events: list[tuple[float, Event]] = []
        self.event_parser: EventParser | None = None
        self.trailing = b""
        self.unasked: int | None = None
        self.received = 0
        self.failure = ""
        self.tries = 0
        self.previous: Exchange | None = None
        self.misread: Misreading | None = None
        self.is_put_off = self.met_gateway = False
        self.stall_seconds: float | None = None
        self._is_repeated = is_repeated
        self.was_refused = self.was_resent = self.was_lost = self.aborted = False
        self._reason = ABORTED
        self.sent_at: float | None = None
        self.head_at: float | None = None
        self.ended_at: float | None = None
        self._unsent = memoryview(b"")
        self._body = bytearray()
        self._decoder = Decoder(())
        self._event_bytes = 0
        self._listener, self._clock, self._max_body = listener, clock, max_body
        self._stream: Stream | None = None
        self.is_sent = self.has_ended = False
        self._changed = threading.Condition()

    def header(self, name: str) -> list[str]:
        """Return the values of the headers with this name in any case, without outer white space."""
        wanted = name.lower().encode()
        return [value.strip().decode("latin-1") for key, value in self.headers if key.lower() == wanted]

    @property
    def body(self) -> bytes:
        """The body so far."""
        return bytes(self._body)

    @property
    def is_stalled(self) -> bool:
        """Whether the body has an end for a reader of JSON, and none for a reader of HTTP."""
        return self.failure == STALLED

    @property
    def size(self) -> int:
        """The bytes of the body and of the events so far."""
        return len(self._body) + self._event_bytes

    @property
    def is_unsent(self) -> bool:
        """Whether no byte of the request was sent."""
        return len(self._unsent) == len(self.request.encoded)

    def wait_for_head(self, timeout: float) -> bool:
        """Wait for the head, or for the end; return whether there is a head."""
        with self._changed:
            self._wait_for(lambda: self.head_at is not None or self.has_ended, timeout)
        return self.head_at is not None

    def wait_until_sent(self, timeout: float) -> bool:
        """Wait until the whole request is sent, or the end has come; return whether it is."""
        with self._changed:
            return self._wait_for(lambda: self.is_sent or self.has_ended, timeout)

    def wait(self, timeout: float) -> bool:
        """Wait for the end; return whether it has come."""
        with self._changed:
            return self._wait_for(lambda: self.has_ended, timeout)

    def _wait_for(self, holds: Callable[[], bool], timeout: float) -> bool:
        """Wait until something holds, so long by the clock of the exchange; return whether it does."""
        until = self._clock.monotonic() + timeout
        while not holds() and (left := until - self._clock.monotonic()) > 0:
            self._changed.wait(left)
        return holds()

    def wait_or_abort(self, timeout: float) -> None:
        """Wait for the end, and close the connection if it does not come in time."""
        if not self.wait(timeout):
            self.give_up(timeout)

    def give_up(self, timeout: float) -> None:
        """Close the connection because the response has taken too long, and wait for the end."""
        self.abort(f"no complete response within our timeout of {timeout:.3g} s")
        self.wait(timeout)

    def abort(self, reason: str = ABORTED) -> None:
        """Close the connection of an exchange that has not ended, for a reason that is its ``failure``."""
        with self._changed:
            if self.has_ended:
                return
            self.aborted, self._reason = True, reason
            if self._stream is not None:
                self._stream.close()

    # For the client

    def prepare_again(self) -> None:
        """Forget the response that has put the request off."""
        self.is_put_off = False
        self.tries += 1
        self.status, self.reason, self.headers, self.media_type, self.raw_head = None, "", (), "", b""
        self._body.clear()
        self.received = 0

    def start(self, stream: Stream) -> None:
        """Send as much of the request as the connection takes at once."""
        with self._changed:
            self._stream = stream
            if self.aborted:
                stream.close()
        self.sent_at, self.failure = self._clock.monotonic(), ""
        self._unsent = memoryview(self.request.encoded)
        self._note_sent(stream.send_now(self._unsent))

    def run(self, stream: Stream, reader: ResponseReader) -> bool:
        """Send the rest and read the response; return whether the stream can be used again."""
        try:
            return self._run(stream, reader)
        except (CodingFailed, EventTooLarge) as error:
            self.fail(str(error))
            return False
        finally:
            with self._changed:
                self._stream = None

    def fail(self, failure: str, *, was_refused: bool = False) -> None:
        """Record why there is no complete response."""
        self.failure, self.was_refused = self._reason if self.aborted else failure, was_refused

    def end(self) -> None:
        """End the exchange, and notify those who wait."""
        self.ended_at = self._clock.monotonic()
        try:
            self._listener.on_end(self)
        finally:
            with self._changed:
                self.has_ended = True
                self._changed.notify_all()

    def _run(self, stream: Stream, reader: ResponseReader) -> bool:
        while True:
            sent, data = stream.transfer(self._unsent, self._stall_timeout())
            self._note_sent(sent)
            if data is None:
                if not sent and _is_json(self._body):
                    self.fail(STALLED)
                    return False
                continue
            if not data and (self.status is None or self.aborted or stream.was_reset):
                self._fail_at_end(reader)
                return False
            try:
                for part in reader.feed(data):
                    if isinstance(part, Done):
                        self._take_trailing(part.trailing or self._lingering(stream))
                        return part.can_reuse and not self._unsent
                    if not self._take(part):
                        return False
            except MalformedResponse as error:
                self.raw_head = self.raw_head or reader.unparsed_head
                self.fail(f"malformed response: {error}" if data else CUT_OFF)
                return False

    def _stall_timeout(self) -> float | None:
        """Return how long the next bytes of a body are waited for; None for those of an event stream."""
        return self.stall_seconds if self._body and self.event_parser is None else None

    def _note_sent(self, size: int) -> None:
        self._unsent = self._unsent[size:]
        if not self._unsent:
            with self._changed:
                self.is_sent = True
                self._changed.notify_all()

    def _fail_at_end(self, reader: ResponseReader) -> None:
        if self.status is not None:
            self.fail(CUT_OFF)
            return
        self.raw_head = reader.unparsed_head
        self.fail("the connection was closed within the head" if self.raw_head else CLOSED)

    def _take(self, part: Head | bytes) -> bool:
        """Take a part of the response; return whether more may come."""
        if isinstance(part, bytes):
            return self._take_body(part)
        self.status, self.reason, self.headers, self.raw_head = (
            part.status,
            part.reason,
            part.headers,
            part.raw,
        )
        self.media_type = "".join(self.header("content-type")[:1]).partition(";")[0].strip().lower()
        self._decoder = Decoder(self.header("content-encoding"))
        if self._is_repeated(self, part.status, self.header("retry-after")):
            self.is_put_off = True
            return True
        if self.media_type == EVENT_STREAM:
            self.event_parser = EventParser(self._max_body)
        with self._changed:
            self.head_at = self._clock.monotonic()
            self._changed.notify_all()
        self._listener.on_head(self)
        return True

    def _take_body(self, data: bytes) -> bool:
        self.received += len(data)
        # One byte more than is kept shows that the body is too long.
        data = self._decoder.feed(data, self._max_body + 1)
        if self.event_parser is not None:
            self._body += data[: KEPT_OF_EVENT_STREAM - len(self._body)]
            self._take_events(self.event_parser.feed(data), len(data))
            return True
        self._body += data
        if len(self._body) > self._max_body:
            del self._body[min(self._max_body, KEPT_OF_EVENT_STREAM) :]  # nobody reads it; 60 took a gigabyte
            self.fail(f"the body has more than {self._max_body} bytes")
            return False
        return True

    def _lingering(self, stream: Stream) -> bytes:
        """Return what comes after a response, if the request is one after which that is waited for."""
        if not self.request.lingers:
            return b""
        _, data = stream.transfer(memoryview(b""), self.request.lingers)
        return data or b""

    def _take_trailing(self, data: bytes) -> None:
        """Note the bytes after a response, and join them to a body that its Content-Length has cut."""
        if second := STATUS_LINE.match(data):
            self.unasked = int(second[1])
            return
        self.trailing = data
        if data and self.event_parser is None and not _is_json(self._body) and _is_json(self._body + data):
            self._body += data

    def _take_events(self, events: list[Event], size: int) -> None:
        at = self._clock.monotonic()
        self._event_bytes += size
        if self._event_bytes <= self._max_body:
            self.events += [(at, event) for event in events]
        for event in events:
            self._listener.on_event(self, at, event)


def _is_json(body: bytes | bytearray) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
