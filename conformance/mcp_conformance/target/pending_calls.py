"""The slow calls of tools that run beside the checks, and the checks that are deferred until they end."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.client.tool_call import PING_AFTER_SECONDS, SLOW_SECONDS, Call, PendingCall

MAX_PENDING = 2
"""How many slow calls run beside the checks; a server without network may have many."""


class Deferred(Exception):  # noqa: N818  (not an error)
    """A check needs the answer of a slow call, which others need not wait for: it comes again later."""


class PendingCalls:
    """The calls without an answer, in one session.

    Whoever needs one of them waits for it (`end`), unless the check ``may_be_deferred``.
    """

    def __init__(self) -> None:
        self.may_be_deferred = False
        self._calls: dict[str, PendingCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def __iter__(self) -> Iterator[PendingCall]:
        return iter(self._calls.values())

    def __contains__(self, tool: str) -> bool:
        return tool in self._calls

    @property
    def keep_others_waiting(self) -> bool:
        """Whether the process does not answer other requests meanwhile."""
        return not all(one.lets_others_pass for one in self)

    @property
    def leave_room(self) -> bool:
        """Whether another tool can be called meanwhile."""
        return len(self._calls) < MAX_PENDING and not self.keep_others_waiting

    def add_if_long(self, call: PendingCall) -> bool:
        """Add a call that lasts; return whether it does."""
        if not call.lasts(PING_AFTER_SECONDS):
            return False
        self._calls[call.tool.name] = call
        return True

    def is_slow(self, tool: str) -> bool:
        """Return whether a tool has not answered for so long that it is slow."""
        return tool in self._calls and self._calls[tool].lasts(SLOW_SECONDS)

    def read(self) -> None:
        """Read what came so far: the server may ask for something during a call."""
        for one in self:
            one.lasts(0.0)

    def end(self, *tools: str) -> list[Call]:
        """Wait for the calls of these tools, for all if none are named, and return them.

        Raises `Deferred` in place of a long wait, if the check may be deferred.
        """
        names = tools or tuple(self._calls)
        if self.may_be_deferred and any(map(self.is_slow, names)):
            raise Deferred
        return [self._calls.pop(name).end() for name in names]
