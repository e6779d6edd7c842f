"""What a server wrote in one conversation: lines, messages, notifications, requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mcp_conformance.client.inbox import UNREAD
from mcp_conformance.client.message_log import MessageLog, is_dropped, scan
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.methods import requests_in
from mcp_conformance.protocol.value import Value


class Received:
    """What the server wrote on the ``lines`` of a conversation; ``ping`` returns the method of our pings."""

    def __init__(self, lines: MessageLog, ping: Callable[[], str]):
        self.lines = lines
        self._ping = ping

    @scan
    def messages(self, *kinds: Kind) -> Iterator[tuple[Line, Any]]:
        """Yield each message of the server with its line, of these kinds (all if none are named)."""
        for line in self.lines:
            if not line.sent:
                for message in line.parts():
                    if not kinds or kind(message) in kinds:
                        yield line, message

    def notifications(self, method: str = "") -> list[tuple[Line, Any]]:
        """Return the notifications of the server with their lines, of one method or of all."""
        found = self.messages(Kind.NOTIFICATION)
        return [(line, message) for line, message in found if method in ("", message["method"])]

    def requests(self, *methods: str, since: int = 0) -> list[Value]:
        """Return the server's requests by these methods, without those in the first ``since`` lines."""
        lines = (line for line in self.lines[since:] if not line.sent)
        messages = (Value(message, "", (line,)) for line in lines for message in line.parts())
        requests = [request for message in messages for request in requests_in(message)]
        return [one for one in requests if one.json.get("method") in methods]

    def has_asked_since(self, sent: Line) -> bool:
        """Return whether the server has sent a request since a line was sent: it may wait for our answer."""
        return any(line.at >= sent.at for line, _ in self.messages(Kind.REQUEST))

    @property
    def kept_lines(self) -> list[Line]:
        """Every line of the server that was read and not dropped."""
        return [line for line in self.lines if not (line.sent or line.fault in UNREAD or is_dropped(line))]

    def after_request(self, line: Line) -> tuple[Line, ...]:
        """Return a line of the server after the last line sent before it, which may have provoked it.

        A ping is passed over, as one follows every line that has no answer.
        """
        sent = [one for one in self.lines[: self.lines.index(line)] if one.sent]
        others = [one for one in sent if f'"{self._ping()}"' not in one.text]
        return (*(others or sent)[-1:], line)

    def since(self, sent: Line) -> list[Line]:
        """Return the lines of the server since a line was sent, without the answers to pings."""
        ours = (line.message for line in self.lines if line.sent and line is not sent)
        requests = (one for one in ours if kind(one) is Kind.REQUEST)
        pings = {id_key(one["id"]) for one in requests if one["method"] == self._ping()}
        before = (line.message for line in self.kept_lines if line.at < sent.at)
        pings -= {id_key(one.get("id", ABSENT)) for one in before if is_response(one)}

        def is_pong(message: Any) -> bool:
            return is_response(message) and id_key(message.get("id", ABSENT)) in pings

        later = (line for line in self.kept_lines if line.at >= sent.at)
        return [line for line in later if not is_pong(line.message)]

    def non_json(self) -> list[Line]:
        """Return the lines on stdout that are not JSON."""
        return [line for line in self.kept_lines if not line.is_json]
