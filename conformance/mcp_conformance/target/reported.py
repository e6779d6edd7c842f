"""The verdicts that several checks may meet: the first one reports each, later ones are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from mcp_conformance.expect import skip
from mcp_conformance.verdicts import Blocked, Finding


class Reported:
    """The verdicts that checks have reported, each by a key."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def raise_once(self, key: str, verdict: Finding | Blocked) -> NoReturn:
        """Raise a verdict for the first check that meets it; later ones are skipped with the reason."""
        if key in self._keys:
            cause = verdict.cause if isinstance(verdict, Blocked) else None
            skip(f"{verdict} (reported once)", cause=cause)
        self._keys.add(key)
        raise verdict

    def withdraw(self, key: str) -> None:
        """Let a verdict be raised again: the one that was raised did not count."""
        self._keys.discard(key)

    @contextmanager
    def without_report(self, reason: str) -> Iterator[None]:
        """Skip the check for this reason if it is blocked meanwhile; what blocks it stays unreported."""
        keys = set(self._keys)
        try:
            yield
        except Blocked as blocked:
            self._keys &= keys
            skip(f"{reason}: {blocked}")
