"""The reply to a request: a result, an error, or the fault that came instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, Line, show
from mcp_conformance.protocol.last_words import last_words
from mcp_conformance.protocol.text import last_line, shorten
from mcp_conformance.protocol.value import Value
from mcp_conformance.transport.interface import Empty

MB = 1_000_000
MIN_SHOWN_SECONDS = 0.05
"""A shorter wait is not shown: the time passed before it, or an answer of another request ended it."""


@dataclass(frozen=True)
class Silence:
    """No answer came in ``seconds``.

    ``strays`` are the ids of answers to no open request; ``unended`` says that a message came without its
    line end, ``unread`` why a line was not read.
    """

    seconds: float
    strays: tuple[Any, ...] = ()
    stderr: str = ""
    unended: bool = False
    unread: str = ""

    def __str__(self) -> str:
        ids = ", ".join(show(id, 40) for id in self.strays[:3])
        strays = f", but one with id {ids}, which no open request has" if self.strays else ""
        unended = ", but a message without its line end" if self.unended else ""
        unread = f", but {self.unread}" if self.unread else ""
        within = f" within {self.seconds:.3g} s" if self.seconds >= MIN_SHOWN_SECONDS else ""
        return f"no answer{within}{strays}{unended}{unread}"


@dataclass(frozen=True)
class Unread(Silence):
    """The answer came, but was too long to read."""

    def __str__(self) -> str:
        return f"the answer is {self.unread}"


@dataclass(frozen=True)
class Unanswered(Silence):
    """It is known that no answer comes; ``instead`` says what came, ``status`` the HTTP status.

    ``empty`` is set if that was a success over HTTP.
    """

    instead: str = ""
    status: int | None = None
    empty: Empty | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether an HTTP status rejected the request, as it may for one that is too large."""
        return self.status is not None and 400 <= self.status < 500

    def __str__(self) -> str:
        return f"no answer: {self.instead}"


@dataclass(frozen=True)
class Closed:
    """The server closed its stdout; ``exit_code`` is None if the process still runs."""

    exit_code: int | None
    stderr: str = ""

    def __str__(self) -> str:
        if self.exit_code is None:
            return "the server closed its stdout"
        how = f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit status {self.exit_code}"
        words = last_words(self.stderr, self.exit_code)
        return f"the server process ended ({how}){f': {words}' if words else ''}"

    @property
    def last_line(self) -> str:
        """The last line on stderr, after a colon; empty if the text has what ended the process."""
        known = self.exit_code is not None and last_words(self.stderr, self.exit_code)
        return "" if known else last_line(self.stderr)


@dataclass(frozen=True)
class Flood:
    """The server wrote so many other lines, or bytes, instead of an answer that the session was given up."""

    lines: int
    stderr: str = ""
    size: int = 0
    last: str = ""

    def __str__(self) -> str:
        much = f" ({self.size // MB} MB)" if self.size > MB else ""
        last = f", the last of them {shorten(self.last, 200)}" if self.last else ""
        lines = f"the {self.lines} lines" if self.lines != 1 else "the line"
        return f"no answer among {lines}{much} the server wrote instead{last}"


Fault = Silence | Closed | Flood


@dataclass(frozen=True)
class Reply:
    """The reply to one request.

    Either ``fault`` is set (no answer came), or ``error`` is the error object, or ``result`` is the result
    (any JSON value, also null).  ``other_lines`` are the lines that came instead of an answer, ``log`` has
    what the server wrote to stderr meanwhile, if somebody looked (`mcp_conformance.client.thrown`).
    """

    request: Line
    line: Line | None = None
    message: Mapping[str, Any] = field(default_factory=dict, repr=False)
    fault: Fault | None = None
    other_lines: tuple[Line, ...] = ()
    log: str = field(default="", repr=False)

    @property
    def method(self) -> str:
        """The method of the request."""
        message = self.request.message
        return str(message.get("method")) if isinstance(message, dict) else "the line sent"

    @property
    def has_id(self) -> bool:
        """Whether the answer has the id of the request; an error without one need not."""
        request = self.request.message
        return isinstance(request, dict) and self.message.get("id", ABSENT) == request.get("id")

    @property
    def result(self) -> Any:
        """The result, `ABSENT` if there is none."""
        return self.message.get("result", ABSENT) if self.error is None else ABSENT

    @property
    def value(self) -> Value | None:
        """The result with its path and its lines, None if there is none."""
        return None if self.result is ABSENT else Value(self.result, "result", self.lines)

    @property
    def error(self) -> Any:
        """The error member, None if there is none."""
        return self.message.get("error")

    @property
    def error_value(self) -> Value:
        """The error with its path and its lines."""
        return Value(self.error, "error", self.lines)

    @property
    def code(self) -> Any:
        """The code of the error, `ABSENT` if there is none."""
        return self.error.get("code", ABSENT) if isinstance(self.error, dict) else ABSENT

    @property
    def is_tool_error(self) -> bool:
        """Whether this is a tool result that reports an error (``isError`` is true)."""
        return isinstance(self.result, dict) and self.result.get("isError") is True

    @property
    def texts(self) -> list[str]:
        """The texts in the content of a result."""
        content = self.result.get("content") if isinstance(self.result, dict) else None
        blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        return [one["text"] for one in blocks if isinstance(one.get("text"), str)]

    @property
    def needs_input(self) -> bool:
        """Whether this is a result with ``input_required``: the client retries with what it asks for."""
        return isinstance(self.result, dict) and self.result.get("resultType") == "input_required"

    @property
    def seconds(self) -> float:
        """How long the answer took; 0 if there is none."""
        return 0.0 if self.line is None else self.line.at - self.request.at

    @property
    def lines(self) -> tuple[Line, ...]:
        """The request and its answer, or what came instead."""
        return (self.request, *self.other_lines) if self.line is None else (self.request, self.line)

    def __str__(self) -> str:
        if self.fault is not None:
            return str(self.fault)
        if self.error is not None:
            return f"error {show(self.code)} {show(self.error_message)}"
        return f"result {show(self.result)}"

    @property
    def error_message(self) -> Any:
        """The message of the error, `ABSENT` if there is none."""
        return self.error.get("message", ABSENT) if isinstance(self.error, dict) else ABSENT


def results_of(replies: Iterable[Reply]) -> list[Value]:
    """Return the results of those replies that have one."""
    found = (reply.value for reply in replies)
    return [value for value in found if value is not None]
