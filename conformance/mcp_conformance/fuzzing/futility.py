"""Futility: a tool that answers every call alike teaches nothing more."""

from __future__ import annotations

import json
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.world.wording import MARK, kind_of_refusal

MIN_LENGTH = 15
"""Refusals that share fewer characters around our values may mean different things."""


class Futility:
    """Whether calls of a tool prove nothing: each gets the ``refusal`` that valid arguments got before.

    Without one, calls are worth making.  ``most`` is how many of them show it.
    """

    def __init__(self, refusal: str, most: int):
        self._refusal, self._most = refusal, most
        self._begin, self._end = refusal.split(MARK, maxsplit=1)[0], refusal.rsplit(MARK, maxsplit=1)[-1]
        self._same = 0

    @property
    def is_certain(self) -> bool:
        """Whether as many calls as wanted got this refusal, and none anything else."""
        return bool(self._refusal) and self._same >= self._most

    def note(self, text: bytes, reply: Reply) -> None:
        """Note the reply to a call with arguments of this JSON text."""
        if not self._refusal or self.is_certain:
            return
        if reply.fault is None and self._is_same(kind_of_refusal(reply, _value(text))):
            self._same += 1
        else:
            self._refusal = ""

    def _is_same(self, kind: str) -> bool:
        """Return whether a refusal says the same around our values, which servers write in their own ways."""
        if len(self._begin) + len(self._end) < MIN_LENGTH:
            return kind == self._refusal
        return kind.startswith(self._begin) and kind.endswith(self._end)


def _value(text: bytes) -> Any:
    """Return the value of a JSON text; None if it cannot be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
