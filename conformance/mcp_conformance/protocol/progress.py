"""Progress notifications, and the requests that gave their progress tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, kind
from mcp_conformance.protocol.value import Value


@dataclass(frozen=True)
class Progress:
    """One progress notification.

    ``request`` is the request that gave its token, None if there was none; ``late`` says that its answer came
    before.
    """

    notification: Value
    request: Mapping[str, Any] | None
    late: bool

    @property
    def token(self) -> IdKey:
        """Its token as `id_key` makes it."""
        found = self.notification.get("params", "progressToken")
        return id_key(ABSENT if found is None else found.json)


def progress_in(lines: Sequence[Line]) -> Iterator[Progress]:
    """Yield the progress notifications in these lines, in order."""
    requests: dict[IdKey, Mapping[str, Any]] = {}
    answered = set()
    for line in lines:
        for message in line.parts():
            what = kind(message)
            if line.sent and what is Kind.REQUEST:
                token = token_of(message)
                requests.update({} if token is ABSENT else {id_key(token): message})
                answered.discard(id_key(message["id"]))
            elif not line.sent and what in (Kind.RESULT, Kind.ERROR):
                answered.add(id_key(message.get("id", ABSENT)))
            elif (
                not line.sent and what is Kind.NOTIFICATION and message["method"] == "notifications/progress"
            ):
                notification = Value(message, "", (line,))
                request = requests.get(Progress(notification, None, late=False).token)
                late = request is not None and id_key(request["id"]) in answered
                yield Progress(notification, request, late)


def token_of(request: Any) -> Any:
    """Return the progress token of a request, `ABSENT` if it has none."""
    token = Value(request).get("params", "_meta", "progressToken")
    return ABSENT if token is None else token.json
