"""The inbox of a session: reads what the server writes until what is awaited has come."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mcp_conformance.client.message_log import MessageLog, one_message, received, unended_message, weight
from mcp_conformance.client.reply import Closed, Fault, Flood, Reply, Silence, Unanswered, Unread
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.transport.interface import EOF, HEAD, Content, Item, NoAnswer, Overlong, Transport

ON_WAIT_SECONDS = 1.0
"""How often `Transport.on_wait` is called."""
MAX_OTHER_LINES = 3
"""How many lines a reply keeps that came instead of an answer."""
FLOOD_LINES = 50_000
FLOOD_LINES_AT_TIMEOUT = 2_000
"""How many lines instead of an answer are a flood if the answer did not come in time."""
FLOOD_BYTES = 100_000_000
LINE_END_SECONDS = 0.5
"""How long the end of a line may take when the message on it has come."""
UNENDED_SECONDS = 2.0
"""How long an answer may take to come and, when it is there, to get its line end."""
WRONG_ID_SECONDS = 1.0
"""How long an answer may take when one has come whose id no request has."""
USUAL_WRONG_ID_SECONDS = 0.1
"""The same after the server has sent such answers before."""
BYTES_IN_MEMORY = 8
"""How many bytes of memory a message may take for each byte that a line may have."""
TOO_LONG = "a line longer than this tool reads (--max-line)"
TOO_MUCH = "a line with more values than this tool reads (--max-line)"
UNREAD = (TOO_LONG, TOO_MUCH)
"""The faults of a line that was not read."""
ANSWER_HEAD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"\w*")\s*,\s*"(?:result|error)"'
)
"""The beginning of an answer that has its id first."""

UTF_16_MARK = b"\xff\xfe"
RESULT_MEMBERS = {method: member for method, (_, member) in LISTS.items()} | {
    "tools/call": "content",
    "prompts/get": "messages",
    "resources/read": "contents",
}
"""The member that the result of a method has, and that of no other."""
NO_ID = (id_key(None), id_key(ABSENT))
"""The keys of answers that name no request."""


class Inbox:
    """What the server writes: its lines are logged, its answers are kept until their requests take them.

    A request of the server is handed to ``on_request``; ``scaled`` returns a timeout, longer if the server is
    slow.  ``size`` is the number of bytes that came, after ``waited`` seconds of waiting.  ``unread`` says
    why a line was not read, empty if all were; ``unended`` is a message that came without its line
    end.  ``closed`` says that nothing more is read, ``is_flooded`` that too much came instead of an
    answer.  ``wrong_answers`` has the requests that got an answer with another id instead, or one that is not
    UTF-8 or not JSON, each with that answer.
    """

    def __init__(
        self,
        process: Transport,
        lines: MessageLog,
        on_request: Callable[[Mapping[str, Any]], None],
        scaled: Callable[[float], float],
    ) -> None:
        self.size = 0
        self.waited = 0.0
        self.unread = ""
        self.unended: Line | None = None
        self.closed = False
        self.is_flooded = False
        self.wrong_answers: list[tuple[Line, Line]] = []
        self._process, self._clock, self._lines = process, process.clock, lines
        self._on_request, self._scaled = on_request, scaled
        self._max_line = process.max_line
        self._sent = 0
        self._answers: dict[IdKey, tuple[Line, Mapping[str, Any]]] = {}
        self._taken: set[IdKey] = set()
        self._requested: set[IdKey] = set()
        self._abandoned: set[IdKey] = set()
        self._unrequested: list[Line] = []
        self._unread_answers: dict[IdKey, str] = {}
        self._overlong_answer: IdKey | None = None
        self._unanswered: dict[IdKey, NoAnswer] = {}
        self._waits_since = self._flooded_since = 0, 0

    # Waiting

    def await_reply(self, request: Line, seconds: float, *, alone: bool) -> Reply:
        """Wait for the answer to a request; with ``alone`` an error without an id is its answer too."""
        keys = [id_key(request.message["id"]), *(NO_ID if alone else ())]
        before, begun = len(self._lines), self._clock.monotonic()
        self._waits_since = before, self.size
        self._drop_older(keys[1:], request.at)
        self._listen_for_answer(request, seconds, keys)
        if not self._has_any(keys) and self._wrong_ids(request):
            usual = USUAL_WRONG_ID_SECONDS if self.wrong_answers else WRONG_ID_SECONDS
            more = min(self._scaled(usual), begun + seconds - self._clock.monotonic())
            self.listen(more, lambda: self._has_any(keys))
            seconds = min(seconds, self._clock.monotonic() - begun)
        for key in filter(self._answers.__contains__, keys):
            self._taken.add(key)
            return Reply(request, *self._answers.pop(key))
        others = [line for line in self._lines[before:] if not line.sent]
        fault = self._fault(request, seconds, len(others))
        return Reply(request, fault=fault, other_lines=tuple(others[:MAX_OTHER_LINES]))

    def _listen_for_answer(self, request: Line, seconds: float, keys: Sequence[IdKey]) -> None:
        """Read lines until an answer comes, one with a wrong id, one that never ends, or the time is over."""

        def has_come() -> bool:
            return self._has_any(keys) or bool(self._wrong_ids(request))

        first = min(seconds, self._scaled(UNENDED_SECONDS))
        self.listen(first, has_come)
        if not has_come() and seconds > first:
            unended = unended_message(self._process)
            is_answer = unended is not None and id_key(unended.message.get("id", ABSENT)) in keys
            self.listen(min(first, seconds - first) if is_answer else seconds - first, has_come)
        if not (has_come() or self.closed):
            self._await_line_end(has_come)

    def _await_line_end(self, done: Callable[[], bool]) -> None:
        """Give a message that has no line end yet the time to get it, and keep it if it gets none."""
        message = unended_message(self._process)
        if message is not None:
            written = len(message.raw)
            self.listen(LINE_END_SECONDS, lambda: done() or len(self._process.unended) != written)
            if self._process.unended == message.raw:
                self.unended = message

    def _has_any(self, keys: Iterable[IdKey]) -> bool:
        """Return whether one of these answers came, read or not."""
        found = (self._answers, self._unread_answers, self._unanswered)
        return any(key in some for key in keys for some in found)

    def _drop_older(self, keys: Iterable[IdKey], at: float) -> None:
        """Drop those of these answers that came before a moment."""
        for key in keys:
            if key in self._answers and self._answers[key][0].at < at:
                del self._answers[key]

    def _wrong_ids(self, request: Line) -> list[Line]:
        """Return the answers with an id of no request, if there are as many as open requests.

        Those count that came since a request or, if it is the first line of all, before it too.  Over HTTP a
        JSON text that is no answer to its request came for no other one: then it need not be as many.
        """
        since = request.at if self._sent > 1 else 0.0
        found = [line for line in self._unrequested if line.at >= since]
        instead = self._unanswered.get(id_key(request.message["id"]))
        is_its_own = instead is not None and instead.is_json
        return found if is_its_own else self._if_all(found)

    def _other_ids(self, request: Line) -> list[Line]:
        """Return the results since a request without an id, or with that of an earlier one of another method.

        The latter must have what only the result of this method has: it may be a second answer otherwise.
        """
        found = [
            (key, *self._answers[key]) for key in self._answers if self._answers[key][0].at >= request.at
        ]
        wrong = [
            line
            for key, line, message in found
            if (key in NO_ID and "result" in message)
            or (key in self._taken and self._is_of_other_request(key, request, message))
        ]
        return self._if_all(wrong)

    def _is_of_other_request(self, key: IdKey, request: Line, message: Mapping[str, Any]) -> bool:
        """Return whether a second answer to one request has the result of another, by its members."""
        asked = (line.message for line in self._lines if line.sent and isinstance(line.message, dict))
        first = next((one for one in asked if id_key(one.get("id", ABSENT)) == key), {})
        method, result = request.message["method"], message.get("result")
        is_other = first.get("method") not in (None, method)
        return is_other and isinstance(result, dict) and RESULT_MEMBERS.get(method) in result

    def _if_all(self, answers: list[Line]) -> list[Line]:
        """Return answers with wrong ids if they are as many as the open requests; else none."""
        are_open = len(self._requested - self._taken - self._answers.keys()) if answers else 0
        return answers if 0 < are_open <= len(answers) else []

    def is_wrongly_answered(self, request: Line) -> bool:
        """Return whether a request got one of the `wrong_answers`."""
        return any(one is request for one, _ in self.wrong_answers)

    # Faults

    def _fault(self, request: Line, seconds: float, others: int) -> Fault:
        """Return what came instead of an answer, and so many other lines."""
        key, stderr = id_key(request.message["id"]), self._process.stderr_since(request.at)
        if (instead := self._unanswered.get(key)) is not None:
            self._abandon(key)
            if instead.is_error or not self._wrong_ids(request):
                status, empty = instead.status, instead.empty
                return Unanswered(seconds, stderr=stderr, instead=instead.reason, status=status, empty=empty)
        if unread := self._why_unread(request):
            return Unread(seconds, stderr=stderr, unread=unread)
        if not self.closed and others > FLOOD_LINES_AT_TIMEOUT:
            self._give_up(self._waits_since)
        fault = self._silence(request, seconds)
        self._abandon(key)
        return fault

    def _why_unread(self, request: Line) -> str:
        """Return why the answer to a request was not read; empty if none came, or none that had an end."""
        key = id_key(request.message["id"])
        if key in self._unread_answers:
            self._taken.add(key)
        unread = self._unread_answers.pop(key, "")
        if unread in ("", *UNREAD):
            return unread
        if unread.startswith("not JSON"):  # its end may have been lost with the process
            self.listen(LINE_END_SECONDS, lambda: False)
            if self.closed:
                return ""
        spoiled = [line for line in self._lines if line.at >= request.at and line.fault == unread]
        self.wrong_answers += [(request, line) for line in spoiled[-1:]]
        return unread

    def _silence(self, request: Line, seconds: float) -> Fault:
        """Return the fault of a request that got no answer at all."""
        if self.is_flooded:
            return self.flood
        if self.closed:
            return self.end_since(request.at)
        mangled = self._wrong_ids(request) or self._other_ids(request)
        self.wrong_answers += [(request, line) for line in mangled[:1]]
        later = (line for line in self._lines if line.at >= request.at)
        unread = next((line.fault for line in later if line.fault in UNREAD), "")
        stderr = self._process.stderr_since(request.at)
        return Silence(seconds, self._strays(request), stderr, self.unended is not None, unread)

    @property
    def flood(self) -> Flood:
        """The fault of a session that is flooded."""
        lines, size = self._flooded_since
        came = [line for line in self._lines[lines:] if not line.sent]
        last = came[-1].text if came else ""
        return Flood(len(came), self._process.stderr, self.size - size, last)

    def end_since(self, at: float) -> Closed:
        """Return the fault of a closed session, with the stderr since a moment, or all if that is empty."""
        status = self._process.wait(1.0)
        return Closed(status, self._process.stderr_since(at) or self._process.stderr)

    def _strays(self, request: Line) -> tuple[Any, ...]:
        """Return the ids of answers that belong to no request, or to one answered before.

        One without an id that came before this request belongs to an earlier line, unless it was the first.
        """
        open_requests = (self._requested | self._abandoned) - self._taken
        since = request.at if len(self._requested) > 1 else 0.0
        return tuple(
            message.get("id")
            for key, (line, message) in self._answers.items()
            if key not in open_requests and (message.get("id") is not None or line.at >= since)
        )

    # Reading

    def listen(self, seconds: float, done: Callable[[], bool]) -> None:
        """Read lines until ``done()``, the end of the output, a flood, or the timeout."""
        deadline = self._clock.monotonic() + seconds
        before = lines, size = len(self._lines), self.size
        while not done() and not self.closed:
            item = self._next(deadline, seconds)
            if item is None:
                return
            at, data = item
            if data is EOF:
                self.closed = True
                self._keep_unended()
                return
            self._receive(data, at)
            if len(self._lines) > lines + FLOOD_LINES or self.size > size + FLOOD_BYTES:
                self._give_up(before)
            if self._clock.monotonic() > deadline:
                return

    def is_writing(self) -> bool:
        """Return whether the server has written a part of a line, and goes on with it."""
        part = self._process.unended
        if part:
            self.listen(LINE_END_SECONDS, lambda: self._process.unended != part)
        return bool(part) and self._process.unended != part

    def _next(self, deadline: float, seconds: float) -> Item | None:
        """Read the next item until the deadline, in waits of a second: Windows lets Ctrl-C interrupt none."""
        while (now := self._clock.monotonic()) < deadline:
            wait = min(deadline - now, ON_WAIT_SECONDS)
            if self._process.on_wait is not None:
                self._process.on_wait(seconds - (deadline - now), seconds)
            item = self._process.read(wait)
            waited = self._clock.monotonic() - now
            self.waited += waited
            # A stopped transport never waits.
            if item is not None or waited < wait / 2:
                return item
        return self._process.read(0.0)

    def _give_up(self, since: tuple[int, int]) -> None:
        """Give a flooded session up; before the flood it had so many lines and bytes."""
        self._flooded_since = since
        self.is_flooded = self.closed = True
        self._process.begin_stop(0.0)

    def _keep_unended(self) -> None:
        self.unended = unended_message(self._process) or self.unended

    def _receive(self, data: Content, at: float) -> None:
        """Log a line; hand on the requests in it, and keep the answers."""
        line = self.line_from(data, at)
        if line is None:
            return
        self._lines.keep(line)
        for message in line.parts():
            if kind(message) is Kind.REQUEST:
                self._on_request(message)
            elif is_response(message):
                self._add(line, message)

    def line_from(self, data: Content, at: float) -> Line | None:
        """Return the line that came, cut to its head if it is too long; None for its later parts.

        None too for the knowledge that a request gets no answer, which is kept.
        """
        if isinstance(data, NoAnswer):
            self._unanswered[id_key(data.id)] = data
            return None
        if isinstance(data, Overlong):
            return self._overlong(data, at)
        assert isinstance(data, bytes | Line)
        raw = data if isinstance(data, bytes) else data.raw
        self.size += len(raw)
        if weight(raw) <= BYTES_IN_MEMORY * self._max_line:
            line = received(data, at)
            if line.fault and (key := _answer_key(line.raw)) is not None:
                self._unread_answers[key] = line.fault
            return line
        self.unread = f"a line with more values than {self._max_line} bytes may have"
        line = Line(sent=False, raw=raw[:HEAD], at=at, fault=TOO_MUCH)
        if (key := _answer_key(line.raw)) is not None:
            self._unread_answers[key] = TOO_MUCH
        return line

    def _overlong(self, part: Overlong, at: float) -> Line | None:
        self.size += part.size
        if part.is_last and self._overlong_answer is not None:
            self._unread_answers[self._overlong_answer] = TOO_LONG
        if not part.head:
            return None
        self._overlong_answer = _answer_key(part.head)
        self.unread = f"a line of more than {self._max_line} bytes"
        return Line(sent=False, raw=part.head, at=at, fault=TOO_LONG)

    def expect(self, message: Any) -> None:
        """Note that the client sends this; a server may take it, or its parts, for requests."""
        self._sent += 1
        for part in message if isinstance(message, list) else [message]:
            if isinstance(part, dict) and "id" in part and not is_response(part):
                self._requested.add(id_key(part["id"]))

    def _add(self, line: Line, message: Mapping[str, Any]) -> None:
        """Keep an answer, unless one with the same id waits already."""
        key = id_key(message.get("id", ABSENT))
        self._answers.setdefault(key, (line, one_message(line, message)))
        if key not in self._requested and key not in self._abandoned and key not in NO_ID:
            self._unrequested.append(line)

    def _abandon(self, key: IdKey) -> None:
        """Note that nobody waits for the answer to a request any more."""
        self._requested.discard(key)
        self._abandoned.add(key)

    def has(self, key: IdKey) -> bool:
        """Return whether an answer was read and not yet taken."""
        return key in self._answers

    def no_answer(self, request: Line) -> NoAnswer | None:
        """Return what is known of a request that gets no answer; None if nothing is."""
        id = request.message.get("id", ABSENT) if isinstance(request.message, dict) else ABSENT
        return self._unanswered.get(id_key(id))

    def is_unanswered(self, key: IdKey) -> bool:
        """Return whether it is known that a request gets no answer."""
        return key in self._unanswered

    def is_refused(self, key: IdKey) -> bool:
        """Return whether an HTTP status of a client's error came instead of an answer."""
        status = self._unanswered[key].status if key in self._unanswered else None
        return status is not None and 400 <= status < 500

    def drop_answers(self) -> None:
        """Drop the answers that were not taken."""
        self._answers.clear()

    def clear(self) -> None:
        """Drop the answers, and forget which were taken."""
        self._answers.clear()
        self._taken.clear()
        self._requested.clear()
        self._abandoned.clear()
        self._unrequested.clear()


def _answer_key(head: bytes) -> IdKey | None:
    """Return the key of the answer that begins like this, in UTF-16 too; None if it does not name its id."""
    found = ANSWER_HEAD.match(head[:HEAD].replace(b"\0", b"").removeprefix(UTF_16_MARK))
    return None if found is None else id_key(json.loads(found[1]))
