"""HTTP requests with any headers and any body, sent beside the messages of a session, and their responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, decode, encode, id_key, is_response, kind
from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import CUT_OFF, EVENT_STREAM, Exchange
from mcp_conformance.transport.http.headers import ACCEPT, JSON
from mcp_conformance.transport.http.lines import HttpLines, why_unanswered
from mcp_conformance.transport.http.request import Headers, Request
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import Empty
from mcp_conformance.verdicts import Finding, empty_response

RAW = "unusual HTTP requests"
"""The name of the shared session beside which unusual requests are sent."""
RESPONSE_SECONDS = 5.0
"""How long a response may take; more if the server is slow."""
SHOWN_BODY, SHOWN_IN_SENTENCE = 400, 80
# Not measured: documents of large providers have some 5 kB.
MAX_DOCUMENT = 1024 * 1024
"""The bytes of a document of another server that are read."""

HeaderValue = str | bytes | None | Sequence[str | bytes]
"""The value of a header; None leaves the header out, a list sends it several times."""


@dataclass(frozen=True, eq=False)
class HttpReply:
    """A response to an HTTP request, or what came of it so far; ``sent`` is the message in the body."""

    exchange: Exchange
    sent: Any = ABSENT

    @property
    def status(self) -> int | None:
        """The status; None if there was no response."""
        return self.exchange.status

    @property
    def media_type(self) -> str:
        """The content type without parameters."""
        return self.exchange.media_type

    @property
    def body(self) -> bytes:
        """The body; of an event stream only the beginning."""
        return self.exchange.body

    def header(self, name: str) -> list[str]:
        """Return the values of a header, in any case of its name."""
        return self.exchange.header(name)

    def with_header(self, *names: str) -> str:
        """Return the status with these headers, as a finding shows them."""
        shown = [f"{name}: {named(', '.join(self.header(name)), SHOWN_IN_SENTENCE)}" for name in names]
        what = f"with {' and '.join(shown)}" if any(map(self.header, names)) else f"without {names[0]}"
        return f"HTTP {self.status} {what}"

    @property
    def is_accepted(self) -> bool:
        """Whether the status is one of success."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_refusal(self) -> bool:
        """Whether the status is one of an error of the client."""
        return self.status is not None and 400 <= self.status < 500

    @property
    def is_cut_off(self) -> bool:
        """Whether the connection ended, or fell silent, before the body was complete."""
        return self.exchange.is_stalled or self.exchange.failure == CUT_OFF

    @cached_property
    def messages(self) -> list[Any]:
        """The JSON values in the body: one, or that of each event with data."""
        if self.media_type == EVENT_STREAM:
            texts = [
                event.data.encode("utf-8", "surrogatepass") for _, event in self.exchange.events if event.data
            ]
        else:
            texts = [self.body.strip()] if self.body.strip() else []
        return [message for message, _, _ in map(decode, texts) if message is not ABSENT]

    @property
    def document(self) -> dict[str, Any] | None:
        """The JSON object that the response brings with the status 200; None if it brings none."""
        body = self.messages[0] if len(self.messages) == 1 else None
        is_json = self.media_type == "application/json" or self.media_type.endswith("+json")
        return body if self.status == 200 and is_json and isinstance(body, dict) else None

    @property
    def answer(self) -> Any:
        """The JSON-RPC response to the message sent, or an error without an id; None if there is none."""
        id = self.sent.get("id", ABSENT) if isinstance(self.sent, Mapping) else ABSENT
        keys = (id_key(id), id_key(None), id_key(ABSENT))
        found = [one for one in self.messages if is_response(one) and id_key(one.get("id", ABSENT)) in keys]
        return found[0] if found else None

    @property
    def result(self) -> Any:
        """The result in the answer; `ABSENT` if there is none."""
        return self.answer.get("result", ABSENT) if self.answer is not None else ABSENT

    @property
    def code(self) -> Any:
        """The code of the error in the answer; `ABSENT` if there is none."""
        error = self.answer.get("error") if self.answer is not None else None
        return error.get("code", ABSENT) if isinstance(error, Mapping) else ABSENT

    @property
    def was_served(self) -> bool:
        """Whether the request was taken: it has a result, or a notification a success."""
        if isinstance(self.sent, Mapping) and "id" in self.sent:
            return self.result is not ABSENT
        return self.status is not None and self.status < 300

    @cached_property
    def lines(self) -> tuple[Line, Line]:
        """The request and the response as evidence, with their messages."""
        one = self.exchange
        head = one.request.head.decode("latin-1").strip().replace("\r\n", " | ")
        sent = Line(True, f"{head} || {_text(one.request.body)}".encode(), message=self.sent)
        if one.status is None:
            return sent, Line(False, one.failure.encode() or b"(no response yet)", is_lost=one.was_lost)
        headers = " | ".join(
            f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in one.headers
        )
        got = f"HTTP {one.status} {one.reason} | {headers} || {_text(one.body)}"
        return sent, Line(False, got.encode(), message=self.messages, status=one.status)

    @property
    def value(self) -> Value:
        """The answer with its lines, for the words of a check."""
        return Value(self.answer, "body", self.lines)

    def __str__(self) -> str:
        if self.status is None:
            return self.exchange.failure or "no response"
        what, kind = f"HTTP {self.status}", self.media_type or "no content type"
        if self.result is ABSENT and self.code is ABSENT:
            text = named(self.body.decode("utf-8", "backslashreplace").strip(), SHOWN_IN_SENTENCE)
            begins = "" if kind == EVENT_STREAM else f": {text}"
            return f"{what} with {kind}{begins}" if self.body else f"{what} without a body"
        said = "a result" if self.code is ABSENT else f"error {self.code}"
        return f"{what} with {said}" + ("" if kind in (JSON[1].decode(), EVENT_STREAM) else f" as {kind}")


def _text(body: bytes) -> str:
    return shorten(body.decode("utf-8", "backslashreplace"), SHOWN_BODY)


def expect_errors_without_id(replies: Iterable[HttpReply], reason: str) -> None:
    """Expect that the errors in the responses have no id; skip the check for a reason if there is none."""
    errors = [(reply, one) for reply in replies for one in reply.messages if kind(one) is Kind.ERROR]
    for reply, error in require_some(errors, skip=reason):
        expect(reply, error.get("id") is None, "an error without an id")


def without_answer(reply: HttpReply) -> Finding:
    """Return the finding that a success has no answer to its request."""
    method = reply.sent.get("method") if isinstance(reply.sent, Mapping) else None
    empty = Empty.ENDED_STREAM if reply.media_type == EVENT_STREAM else Empty.NO_MESSAGE
    return empty_response(reply.lines, empty, why_unanswered(reply.exchange), [str(method or "a message")])


def end_of_server(expected: str, replies: Sequence[HttpReply], http: HttpServer) -> Finding:
    """Return the finding that a server answers nothing any more after the first of these exchanges."""
    lines = [line for reply in replies for line in reply.lines]
    status = http.wait(RESPONSE_SECONDS)
    end = f"{replies[-1]}; the process ended (exit status {status})" if status is not None else replies[-1]
    return Finding(expected, str(end), lines, fatal=True, defect=Defect.DIES)


def exchanges(server: Server) -> list[HttpReply]:
    """Return the first exchanges of each session so far, in which messages were sent in the usual way."""
    transports = [session.process for session in server.sessions]
    found = [one for lines in transports if isinstance(lines, HttpLines) for one in list(lines.posted)]
    return [HttpReply(exchange, message) for message, exchange in found if exchange.has_ended]


def http_session(server: Server) -> Session:
    """Return the session beside which unusual requests are sent; skip if the server answers nothing."""
    pong = _first_pong(server)
    if pong.fault is not None:
        skip(f"{pong.method} is not answered: {pong.fault}")
    return server.shared(RAW)


@scenario
def _first_pong(server: Server) -> Reply:
    return server.shared(RAW).drain()


def lines_of(session: Session) -> HttpLines:
    """Return the transport of a session over HTTP."""
    assert isinstance(session.process, HttpLines)
    return session.process


def unstreamed_response(session: Session, request: Line) -> HttpReply | None:
    """Return the HTTP response to a request if it is no event stream; None for a stream, and over pipes."""
    posted = session.process.posted if isinstance(session.process, HttpLines) else []
    found = (HttpReply(exchange, message) for message, exchange in posted if message == request.message)
    return next((reply for reply in found if reply.media_type != EVENT_STREAM), None)


def post(
    session: Session,
    method: str,
    params: Any = NO_PARAMS,
    headers: Mapping[str, HeaderValue] | None = None,
    **given: Any,
) -> HttpReply:
    """POST a request of a session, with changed ``headers``; an ``id`` and ``seconds`` may be given."""
    message = session.request_of(method, params, id=given.pop("id", ABSENT))
    return post_message(session, message, headers, **given)


def post_message(
    session: Session, message: Any, headers: Mapping[str, HeaderValue] | None = None, **given: Any
) -> HttpReply:
    """POST any JSON value; without ``headers`` it has those that a right client sends with it."""
    return post_body(session, encode(message), headers, message=message, **given)


def post_body(
    session: Session,
    body: bytes,
    headers: Mapping[str, HeaderValue] | None = None,
    *,
    message: Any = ABSENT,
    seconds: float = RESPONSE_SECONDS,
) -> HttpReply:
    """POST any bytes, with the headers of a ``message`` if that is what they are."""
    usual = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    request = request_to(session, "POST", changed(usual, headers or {}), body)
    return send_raw(session, request, message=message, seconds=seconds)


def get(
    session: Session, headers: Mapping[str, HeaderValue] | None = None, *, seconds: float = 0.0
) -> HttpReply:
    """Open a stream with GET; return when there is a head, and the stream has ended or ``seconds`` passed."""
    usual = ((b"Accept", EVENT_STREAM.encode()), *lines_of(session).mirror.session_headers)
    return send_raw(session, request_to(session, "GET", changed(usual, headers or {})), seconds=seconds)


def delete(session: Session, headers: Mapping[str, HeaderValue] | None = None) -> HttpReply:
    """Send DELETE, which ends the session."""
    usual = lines_of(session).mirror.session_headers
    return send_raw(session, request_to(session, "DELETE", changed(usual, headers or {})))


def request_to(session: Session, method: str, headers: Headers = (), body: bytes = b"") -> Request:
    """Return a request with exactly these headers, besides Host, Content-Length and those of the user."""
    server = lines_of(session).server
    own = {name.lower() for name, _ in headers}
    users = tuple(one for one in server.headers if one[0].lower() not in own)
    return Request.to(server.endpoint, method, (*headers, *users), body)


def send_raw(
    session: Session, request: Request, *, message: Any = ABSENT, seconds: float = RESPONSE_SECONDS
) -> HttpReply:
    """Send exactly this request, beside the messages of a session.

    Wait for the head of the response, and for its end; of an event stream ``seconds`` at most, then close it.
    """
    exchange = lines_of(session).exchange(request)
    limit = min(session.timeout, session.scaled_timeout(RESPONSE_SECONDS))
    if exchange.wait_for_head(limit):
        is_stream = exchange.media_type == EVENT_STREAM
        exchange.wait(seconds if is_stream else max(seconds, limit))
    if not exchange.has_ended:
        exchange.give_up(limit)
    return HttpReply(exchange, message)


def requested(session: Session, endpoint: Endpoint) -> HttpReply:
    """GET a JSON document at an address of this server or another, without any header of the user's."""
    request = Request.to(endpoint, "GET", ((b"Accept", b"application/json"),))
    if endpoint.origin == lines_of(session).server.endpoint.origin:
        return send_raw(session, request)
    limit = session.scaled_timeout(RESPONSE_SECONDS)
    with closing(Client(endpoint, max_body=MAX_DOCUMENT)) as client:
        exchange = client.begin(request)
        exchange.wait(limit)
        if not exchange.has_ended:
            exchange.give_up(limit)
    return HttpReply(exchange)


def changed(headers: Headers, changes: Mapping[str, HeaderValue]) -> Headers:
    """Return headers with some values changed, added, repeated or left out (None), whatever their case."""
    names = {name.lower().encode(): value for name, value in changes.items()}
    kept = tuple(one for one in headers if one[0].lower() not in names)
    added = [
        (name.encode(), value if isinstance(value, bytes) else value.encode("latin-1"))
        for name, given in changes.items()
        for value in ([given] if isinstance(given, str | bytes) else given or ())
    ]
    return (*kept, *added)
