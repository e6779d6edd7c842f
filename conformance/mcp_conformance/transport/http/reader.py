"""A parser of HTTP/1.1 responses, by h11, which only this module imports."""

from __future__ import annotations

from collections.abc import Iterator

import h11

from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.response import Done, Head, MalformedResponse

# h11 refuses a head of more than 16 kB, which breaks no rule.
MAX_HEAD = 128 * 1024
GET, HEAD = (h11.Request(method=method, target="/", headers=[(b"Host", b"-")]) for method in ("GET", "HEAD"))
END = h11.EndOfMessage()
"""What h11 takes for the request, of which only the method matters: a response to HEAD has no body."""


class ResponseReader:
    """A parser of the response to one request; informational responses are skipped."""

    def __init__(self, request: Request):
        self.unparsed_head = b""
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._connection.send(HEAD if request.method == "HEAD" else GET)
        self._connection.send(END)
        options = [value.strip().lower() for name, value in request.headers if name.lower() == b"connection"]
        self._asks_to_close = options == [b"close"]

    def feed(self, data: bytes) -> Iterator[Head | bytes | Done]:
        """Yield the parts in these bytes, b"" for the end of the stream; raises `MalformedResponse`."""
        if self._connection.their_state is h11.SEND_RESPONSE:
            self.unparsed_head += data
        try:
            self._connection.receive_data(data)
            while (part := self._next()) is not None:
                yield part
                if isinstance(part, Done):
                    return
        except h11.RemoteProtocolError as error:
            raise MalformedResponse(str(error)) from error

    def _next(self) -> Head | bytes | Done | None:
        """Return the next part, None if more bytes are needed."""
        event = self._connection.next_event()
        while isinstance(event, h11.InformationalResponse):
            self._cut_head()
            event = self._connection.next_event()
        if isinstance(event, h11.Response):
            headers = tuple((bytes(name), bytes(value)) for name, value in event.headers.raw_items())
            return Head(event.status_code, event.reason.decode("latin-1"), headers, self._cut_head())
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            trailing, _ = self._connection.trailing_data
            stays_open = self._connection.their_state is h11.DONE and not self._asks_to_close
            return Done(bytes(trailing), can_reuse=stays_open and not trailing)
        return None

    def _cut_head(self) -> bytes:
        """Return the bytes of the head that was just parsed, and keep those after it."""
        rest, _ = self._connection.trailing_data
        cut = len(self.unparsed_head) - len(rest)
        head, self.unparsed_head = self.unparsed_head[:cut], self.unparsed_head[cut:]
        return head
