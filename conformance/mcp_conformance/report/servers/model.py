"""A run of several servers as one value.  Every combined report is made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mcp_conformance.outcome import COUNTED, Outcome
from mcp_conformance.report.exit_status import FAILED, NOTHING_TESTED, WORDS, WORST_FIRST
from mcp_conformance.report.model import Report, Result, grouped, plural

SKIPPED = "skipped"
SHOWN = tuple(one for one in Outcome if one is not Outcome.SKIPPED)
"""The outcomes that the tables of servers count, the worst first."""


@dataclass(frozen=True)
class ServerOutcome:
    """The outcome of one server.

    ``status`` is the exit status of its run, None if it was not to be tested; ``text`` says why.  ``line``
    is that of its entry in the file that lists it, counted from 1.  ``junit`` is the XML that pytest wrote.
    """

    name: str
    status: int | None
    text: str = ""
    line: int = 1
    report: Report | None = None
    junit: str = ""

    @property
    def word(self) -> str:
        """The status in a word or two."""
        return SKIPPED if self.status is None else WORDS.get(self.status, f"exit {self.status}")

    @property
    def left_out(self) -> str:
        """That not all checks have run, though the run ended as the user wants; empty if they have."""
        return self.report.left_out if self.report is not None else ""

    @property
    def remark(self) -> str:
        """Why the server was not tested, or not by all checks; empty if it was."""
        return self.text or self.left_out

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """The number of results with each outcome, the worst first."""
        return self.report.counts if self.report else {}

    @property
    def exercised(self) -> str:
        """How many of its callable tools were exercised, such as ``31/46``.

        Empty if none was callable, or if only some checks were to run.
        """
        if self.report is None or self.report.is_partial or not self.report.callable_tools:
            return ""
        return f"{len(self.report.exercised_tools)}/{len(self.report.callable_tools)}"

    @cached_property
    def broken(self) -> list[list[Result]]:
        """The findings of each broken rule that counts, the worst first."""
        return list(grouped(self.report.judged, *COUNTED)) if self.report else []


@dataclass(frozen=True)
class ServersReport:
    """The outcomes of all servers that a ``file`` lists, in its order.

    ``require_all`` says that a server that was not tested counts as one that failed.
    ``pages`` has the file name of each server's own page, by the server's name.
    """

    file: str
    outcomes: tuple[ServerOutcome, ...]
    tool_version: str
    require_all: bool = False
    pages: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def reports(self) -> Sequence[tuple[ServerOutcome, Report]]:
        """The servers that have a report."""
        return [(one, one.report) for one in self.outcomes if one.report is not None]

    @cached_property
    def status(self) -> int:
        """The exit status of all runs together: the worst, or that nothing was tested."""
        untested = {FAILED} if self.require_all else set()
        statuses = set[int]().union(
            *({one.status} if one.status is not None else untested for one in self.outcomes)
        )
        return next((status for status in WORST_FIRST if status in statuses), NOTHING_TESTED)

    @property
    def headline(self) -> str:
        """How many servers had which outcome."""
        words = Counter(one.word for one in self.outcomes)
        counted = [f"{number} {word}" for word, number in words.items()]
        return ", ".join([plural(len(self.outcomes), "server"), *counted])

    @property
    def outcomes_shown(self) -> list[Outcome]:
        """The outcomes that some server has, the worst first."""
        return [one for one in SHOWN if any(server.counts.get(one) for server in self.outcomes)]

    @property
    def further_columns(self) -> list[str]:
        """The names of the columns after the outcomes: that of the tools only if some server has any."""
        exercised = ["exercised"] if any(server.exercised for server in self.outcomes) else []
        return [*exercised, "seconds"]

    @cached_property
    def connecting(self) -> list[list[str]]:
        """The rows of a table that says which clients can connect, the first with the names of its columns.

        A row has the server, the transport of its run, and each kind of client.  Without such facts there
        is no row.
        """
        known = [(one.name, report.clients) for one, report in self.reports if report.clients]
        heads = [["server", "transport", *(one.client for one in clients)] for _, clients in known[:1]]
        rows = [[name, clients[0].transport, *(one.answer for one in clients)] for name, clients in known]
        return [*heads, *rows]

    def broken_rules(self) -> Iterator[tuple[Result, list[tuple[ServerOutcome, Result]]]]:
        """Yield each broken rule with its servers, and what was found first in each; most servers first."""
        found: dict[str, list[tuple[ServerOutcome, Result]]] = {}
        for server in self.outcomes:
            for rule, first in {group[0].requirement: group[0] for group in reversed(server.broken)}.items():
                found.setdefault(rule, []).append((server, first))
        for places in sorted(found.values(), key=len, reverse=True):
            yield min((one for _, one in places), key=lambda one: one.outcome.place), places
