"""The findings of ``mcp-conformance run`` as they are found: a line each, before the report at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TextIO

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.text import named
from mcp_conformance.report.formats.terminal import weighty
from mcp_conformance.report.model import Result

MAX_TEXT = 300
"""How many characters of a reason are shown; the report at the end has the rest."""
STREAMED = (Outcome.FAILED, Outcome.WARNED)
"""The outcomes that are shown at once; why a rule is blocked may be seen later."""


class FindingLines:
    """The lines of a run: each rule that is broken once, in however many revisions and tools it is.

    They are written to ``out``; ``paint`` gives a word the colour and the weight with these names.
    """

    def __init__(self, out: TextIO, paint: Callable[[str, str], str]):
        self._out, self._paint = out, paint
        self._shown: set[tuple[str, Outcome]] = set()

    def of(self, results: Iterable[Result]) -> Iterator[str]:
        """Yield a line for each result against the server, unless its rule has one."""
        for one in results:
            alike = one.requirement, one.outcome
            if alike not in self._shown and one.outcome in STREAMED:
                self._shown.add(alike)
                head = self._paint(one.outcome.upper(), weighty(one.outcome.style.colour))
                about = f" {named(one.tool)}" if one.tool else ""
                yield f"{head} {one.requirement}{about}: {named(one.reason, MAX_TEXT)}"

    def write(self, lines: Iterable[str]) -> None:
        """Write lines; if nobody reads them any more, the report at the end meets that too, and says so."""
        with suppress(OSError):
            for line in lines:
                print(line, file=self._out, flush=True)
