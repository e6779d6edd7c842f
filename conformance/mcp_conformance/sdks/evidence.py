"""The evidence of a finding as typed values: what was sent, what came of it, and the fault instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.reply import Closed, Fault, Reply, Unanswered
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, decode, id_key, is_response, kind
from mcp_conformance.verdicts import Blocked, Finding

CANCELLED, LISTEN = "notifications/cancelled", "subscriptions/listen"
SESSION_ENDED = 404
"""The HTTP status of a request whose session the server no longer has (basic/transports)."""


@dataclass(frozen=True)
class Answer:
    """A response with the request that it answers; ``request`` is empty if no line has its id."""

    message: Mapping[str, Any]
    request: Mapping[str, Any]

    @classmethod
    def of(cls, reply: Reply) -> Answer:
        """Return the answer in a reply; without one its message is empty."""
        request = reply.request.message
        return cls(reply.message, request if isinstance(request, Mapping) else {})

    @property
    def result(self) -> Any:
        """The result, `ABSENT` if there is none."""
        return self.message.get("result", ABSENT) if "error" not in self.message else ABSENT

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object; empty if there is none."""
        return _object(self.message.get("error"))

    @property
    def code(self) -> Any:
        """The code of the error; None if there is none."""
        return self.error.get("code")

    @property
    def text(self) -> str:
        """The message of the error; empty if it is not a string."""
        message = self.error.get("message")
        return message if isinstance(message, str) else ""

    @property
    def method(self) -> str:
        """The method of the request; empty if it is not shown."""
        return str(self.request.get("method", ""))

    @property
    def params(self) -> Mapping[str, Any]:
        """The params of the request; empty if they are not an object."""
        return _object(self.request.get("params"))

    @property
    def tool_error(self) -> str:
        """The first text of a tool result with ``isError``; empty if this is not one."""
        result = _object(self.result)
        texts = texts_of(result)
        return texts[0] if result.get("isError") is True and texts else ""


@dataclass(frozen=True)
class Evidence:
    """What a finding shows.

    ``sent`` and ``received`` are the messages of its lines, an array as one message.  ``statuses`` are those
    of HTTP responses, ``fault`` is what came instead of an answer, ``stderr`` what the server wrote there,
    ``last`` is the last line that was sent.  ``history`` are the messages that were sent in a reproduction.
    """

    sent: tuple[Any, ...] = ()
    received: tuple[Any, ...] = ()
    statuses: tuple[int, ...] = ()
    fault: Fault | None = None
    stderr: str = ""
    last: bytes = b""
    history: tuple[Any, ...] = ()

    @classmethod
    def of(cls, error: Finding | Blocked) -> Evidence:
        """Return the evidence of a verdict."""
        fault = error.fault or error.seen
        written = fault.stderr if fault is not None else ""
        return cls(
            tuple(_message(line) for line in error.lines if line.sent),
            tuple(_message(line) for line in error.lines if not line.sent),
            tuple(line.status for line in error.lines if line.status is not None),
            fault,
            f"{error.stderr}\n{written}",
            next((line.raw for line in reversed(error.lines) if line.sent), b""),
            tuple(_message(line) for line in error.history if line.sent),
        )

    @property
    def requests(self) -> list[Mapping[str, Any]]:
        """The requests that were sent, those in arrays too."""
        return [one for one in _parts(self.sent) if kind(one) is Kind.REQUEST]

    @property
    def notifications(self) -> list[Mapping[str, Any]]:
        """The notifications that came."""
        return [one for one in _parts(self.received) if kind(one) is Kind.NOTIFICATION]

    @property
    def answers(self) -> list[Answer]:
        """The responses that came, each with its request."""
        asked = {id_key(one["id"]): one for one in self.requests}
        responses = [one for one in _parts(self.received) if is_response(one)]
        return [Answer(one, asked.get(id_key(one.get("id", ABSENT)), {})) for one in responses]

    @property
    def unanswered(self) -> list[Mapping[str, Any]]:
        """The well-formed requests without an answer in the lines, except where that proves nothing.

        A cancelled request may have none, and so may a subscription.  An HTTP response is an answer.  Where
        the server sent something else than responses, the finding is about that, and shows no answers.
        """
        if self.statuses or not all(map(is_response, _parts(self.received))):
            return []
        came = {id_key(one.message.get("id", ABSENT)) for one in self.answers}
        notices = [one for one in _parts(self.sent) if kind(one) is Kind.NOTIFICATION]
        given_up = [_object(one.get("params")) for one in notices if one["method"] == CANCELLED]
        came |= {id_key(params.get("requestId", ABSENT)) for params in given_up}
        return [one for one in self.requests if _wants_answer(one) and id_key(one["id"]) not in came]

    @property
    def has_ended(self) -> bool:
        """Whether the process ended without a crash: by itself, with the status 0 or 1."""
        return isinstance(self.fault, Closed) and self.fault.exit_code in (0, 1)

    @property
    def harm(self) -> str:
        """What the fault costs a client: the process, or an answer; empty if it costs neither.

        A request that an HTTP status refuses leaves no client waiting; 404 is the loss of the whole session.
        """
        if isinstance(self.fault, Closed):
            return "ends the process"
        if isinstance(self.fault, Unanswered) and self.fault.is_refusal:
            return "ends the session" if self.fault.status == SESSION_ENDED else ""
        return "loses an answer" if self.fault is not None or self.unanswered else ""


def texts_of(result: Mapping[str, Any]) -> list[str]:
    """Return the texts in the content of a result."""
    content = result.get("content")
    blocks = [_object(one) for one in content] if isinstance(content, list) else []
    return [one["text"] for one in blocks if isinstance(one.get("text"), str)]


def _wants_answer(request: Mapping[str, Any]) -> bool:
    is_well_formed = request.get("jsonrpc") == "2.0" and isinstance(request["method"], str)
    return is_well_formed and request["method"] != LISTEN


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _message(line: Line) -> Any:
    """Return the message of a line as it was on the wire; that of a line which shows an HTTP message."""
    message = decode(line.raw)[0]
    return line.message if message is ABSENT else message


def _parts(messages: tuple[Any, ...]) -> Iterator[Any]:
    for message in messages:
        yield from message if isinstance(message, list) else (message,)
