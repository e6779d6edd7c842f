"""Futility: a tool whose refusals say nothing new teaches nothing more."""

from __future__ import annotations

import json
from typing import Any

from mcp_conformance.client.refusals import refuses_in_words
from mcp_conformance.client.reply import Reply
from mcp_conformance.world.wording import kind_of_refusal, say_same


class Futility:
    """Whether calls of a tool prove nothing: each is refused as some call was before.

    ``refusal`` is what valid arguments got; without one, calls are worth making.  So many calls in a row as
    ``most`` show it: another kind of refusal may mean that they get further, so it begins anew.
    """

    def __init__(self, refusal: str, most: int):
        self._most = most
        self._kinds = [refusal] if refusal else []
        self._same = 0

    @property
    def is_certain(self) -> bool:
        """Whether as many calls as wanted got a refusal that was known, and none ever another answer."""
        return bool(self._kinds) and self._same >= self._most

    def note(self, text: bytes, reply: Reply) -> None:
        """Note the reply to a call with arguments of this JSON text."""
        if not self._kinds or self.is_certain:
            return
        kind = kind_of_refusal(reply, _value(text)) if reply.fault is None else ""
        if kind and any(say_same(kind, one) for one in self._kinds):
            self._same += 1
        elif reply.fault is None and _is_refusal(reply):
            self._kinds.append(kind)
            self._same = 0
        else:
            self._kinds.clear()


def _is_refusal(reply: Reply) -> bool:
    return reply.error is not None or reply.is_tool_error or refuses_in_words(reply)


def _value(text: bytes) -> Any:
    """Return the value of a JSON text; None if it cannot be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
