"""What is known of a conversation at each line: requests in flight, what was declared and listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.methods import CANCELLED, LISTS
from mcp_conformance.protocol.revisions import (
    CLIENT_CAPABILITIES,
    HANDSHAKE,
    KNOWN,
    PROTOCOL_VERSION,
    is_modern,
)
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER

WITHOUT_HEADER = "2025-03-26"
"""The revision of a request without the header that names it."""
OTHER = {CLIENT: SERVER, SERVER: CLIENT}


@dataclass
class Asked:
    """A request, its ``answer`` if it has one, and the ``progress`` that was last said of it.

    One that came ``again``, after a lost connection, is answered as often.
    """

    line: Line
    message: Mapping[str, Any]
    answer: Line | None = None
    cancelled: bool = False
    again: bool = False
    progress: float | None = None

    @property
    def method(self) -> str:
        """The method that was asked for."""
        return str(self.message.get("method"))

    @property
    def token(self) -> Any:
        """The progress token of the request; `ABSENT` if it has none."""
        return part(self.message, "params", "_meta", "progressToken")


@dataclass
class Conversation:
    """The state of a conversation before a message; `begin` takes its revision, `see` the rest.

    ``asked`` has the requests of each side by their ids, ``asked_twice`` those whose id was used before.
    ``opening`` is the request that opened a handshake, and ``is_ready`` says that the client has ended it.
    ``headers`` are those of the HTTP request or response that carries the line, None on stdio.
    ``inputs`` has the requests whose results ask for input, with these results.
    ``session`` is the name of the session over HTTP, empty if it has none.
    """

    revision: str = ""
    asked: dict[str, dict[IdKey, Asked]] = field(default_factory=lambda: {CLIENT: {}, SERVER: {}})
    opening: Asked | None = None
    is_ready: bool = False
    client_capabilities: Any = None
    server_capabilities: Any = None
    tools: dict[str, Any] = field(default_factory=dict)
    cursors: set[str] = field(default_factory=set)
    inputs: list[tuple[Asked, Any]] = field(default_factory=list)
    headers: Mapping[str, str] | None = None
    session: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the conversation was seen from its beginning, and is one client's.

        Over HTTP a tap may start in the middle, and without sessions nothing says whose a request is.
        """
        return self.headers is None or self.opening is not None

    @property
    def is_modern(self) -> bool:
        """Whether no handshake opens the conversation."""
        return is_modern(self.revision)

    def request_of(self, sender: str, response: Any) -> Asked | None:
        """Return the request that a response of ``sender`` answers; None if there is no such one."""
        return self.asked[OTHER[sender]].get(id_key(response.get("id")))

    def named_by(self, sender: str, token: Any) -> Asked | None:
        """Return the latest request to ``sender`` with a progress token; None if there is none."""
        wanted = id_key(token)
        found = (one for one in reversed(self.asked[OTHER[sender]].values()) if one.token is not ABSENT)
        return next((one for one in found if id_key(one.token) == wanted), None)

    def in_flight(self, sender: str) -> Iterator[Asked]:
        """Yield the requests of a side that have no answer and were not cancelled."""
        return (one for one in self.asked[sender].values() if one.answer is None and not one.cancelled)

    def declares(self, sender: str, *path: str) -> bool:
        """Return whether a side has declared a capability, such as ``resources`` and ``subscribe``."""
        known = self.client_capabilities if sender == CLIENT else self.server_capabilities
        return part(known, *path) not in (ABSENT, None, False)

    def inputs_for(self, message: Any) -> list[Any]:
        """Return the results that ask for input for a request of that method, tool, prompt or URI."""
        return [result for asked, result in self.inputs if _target(asked.message) == _target(message)]

    def begin(self, line: Line, message: Any) -> None:
        """Take the revision that a request of the client names: under it the request itself is judged.

        A client that finds no modern server by ``server/discover`` begins anew by ``initialize``.
        """
        if not line.sent or kind(message) is not Kind.REQUEST:
            return
        version = part(message, "params", "_meta", PROTOCOL_VERSION)
        if version in KNOWN and is_modern(version):
            self.revision = version
        elif message["method"] == "initialize":
            wanted = part(message, "params", "protocolVersion")
            self.revision = wanted if wanted in HANDSHAKE else ""

    def alone(self, headers: Mapping[str, str]) -> Conversation:
        """Return a conversation of one HTTP request outside of a session, which shares what was listed."""
        named = headers.get("mcp-protocol-version", "")
        revision = named if named in KNOWN else WITHOUT_HEADER
        return replace(
            self, revision=revision, asked={CLIENT: {}, SERVER: {}}, opening=None, client_capabilities=None
        )

    def see(self, line: Line, message: Any) -> None:
        """Take a message into account."""
        sender = CLIENT if line.sent else SERVER
        what = kind(message)
        if what is Kind.REQUEST:
            self._see_request(sender, line, message)
        elif what is Kind.NOTIFICATION:
            self._see_notification(sender, message)
        elif is_response(message) and (asked := self.request_of(sender, message)) is not None:
            asked.answer = asked.answer or line
            self._see_answer(asked, message)

    def see_again(self, line: Line) -> None:
        """Take a line of the server into account that was delivered again."""
        for message in line.parts():
            asked = (
                self.asked[SERVER].get(id_key(message.get("id"))) if kind(message) is Kind.REQUEST else None
            )
            if asked is not None:
                asked.again = True

    def _see_request(self, sender: str, line: Line, message: Any) -> None:
        asked = self.asked[sender][id_key(message.get("id"))] = Asked(line, message)
        version = part(message, "params", "_meta", PROTOCOL_VERSION)
        if sender == CLIENT and version in KNOWN and is_modern(version):
            self.client_capabilities = part(message, "params", "_meta", CLIENT_CAPABILITIES)
        elif sender == CLIENT and asked.method == "initialize":
            self.opening = asked
            self.client_capabilities = part(message, "params", "capabilities")

    def _see_notification(self, sender: str, message: Any) -> None:
        method = message.get("method")
        if method == "notifications/initialized" and sender == CLIENT:
            self.is_ready = True
        elif method == CANCELLED:
            id = part(message, "params", "requestId")
            if (asked := self.asked[sender].get(id_key(id))) is not None:
                asked.cancelled = True
        elif method == "notifications/progress":
            asked = self.named_by(sender, part(message, "params", "progressToken"))
            progress = part(message, "params", "progress")
            if asked is not None and isinstance(progress, int | float):
                asked.progress = progress

    def _see_answer(self, asked: Asked, message: Any) -> None:
        result = message.get("result")
        if asked.method in ("initialize", "server/discover") and isinstance(result, dict):
            self.server_capabilities = result.get("capabilities")
            self.session = (self.headers or {}).get("mcp-session-id", "")
            version = result.get("protocolVersion")
            self.revision = version if asked.method == "initialize" and version in KNOWN else self.revision
        if part(result, "resultType") == "input_required":
            self.inputs.append((asked, result))
        if asked.method == "tools/list":
            for tool in items(result, "tools"):
                self.tools[str(tool.get("name"))] = tool
        if asked.method in LISTS and isinstance(part(result, "nextCursor"), str):
            self.cursors.add(part(result, "nextCursor"))


def _target(request: Any) -> tuple[Any, ...]:
    return tuple(part(request, *path) for path in (("method",), ("params", "name"), ("params", "uri")))


def part(value: Any, *path: str) -> Any:
    """Return the member at a path; `ABSENT` if there is none."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def items(result: Any, member: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list of a result."""
    found = part(result, member)
    return (one for one in found if isinstance(one, dict)) if isinstance(found, list) else iter(())


def keys_of(value: Any) -> frozenset[str]:
    """Return the names of the members of an object; none if it is not one."""
    return frozenset(value) if isinstance(value, dict) else frozenset()
