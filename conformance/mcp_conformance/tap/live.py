"""A session judged while it runs: a line for each rule, when it is first broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_conformance.protocol.text import harmless, shorten
from mcp_conformance.tap.judging import Breach, Judgement
from mcp_conformance.transport.writing import append

MAX_SHOWN = 300


def sentence(breach: Breach) -> str:
    """Return one line about a broken rule, and when.

    It does not have the line itself: what is in it may only later be known as a credential.
    """
    at = f" (at {breach.lines[-1].at:.3f} s)" if breach.lines else ""
    return harmless(shorten(f"{breach.side} {breach.level} {breach.rule}: {breach.what}", MAX_SHOWN) + at)


class Live:
    """Judges the rows of a session as they come, and tells of each rule once."""

    def __init__(self, tell: Callable[[str], None]):
        self._tell = tell
        self._judgements: dict[str, Judgement] = {}
        self._told: set[tuple[str, str]] = set()

    def see(self, session: str, row: Mapping[str, Any]) -> None:
        """Judge a row of a session."""
        judgement = self._judgements.setdefault(session, Judgement(session))
        for breach in judgement.see_row(row):
            if (breach.side, breach.rule) not in self._told:
                self._told.add((breach.side, breach.rule))
                self._tell(sentence(breach))


def teller(place: str) -> Callable[[str], None]:
    """Return what writes a line to stderr (``-``), or at the end of a file."""

    def tell(text: str) -> None:
        if place == "-":
            print(f"mcp-conformance: {text}", file=sys.stderr, flush=True)  # noqa: T201
            return
        try:
            append(Path(place), text + "\n")
        except OSError as error:  # the session is recorded all the same
            print(f"mcp-conformance: tap: --judge: {error}", file=sys.stderr, flush=True)  # noqa: T201

    return tell
