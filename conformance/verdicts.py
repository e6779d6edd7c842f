"""What a check says: it held (nothing is raised), `Finding`, or `Blocked`; and the words to say it with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Self, TypeVar

from conformance.client.reply import Fault
from conformance.protocol.jsonrpc import Line
from conformance.requirements.catalogue import Requirement


class Outcome(StrEnum):
    """What became of a check, worst last.

    One that ``crashed`` did so by a mistake of ours; what is ``known`` is broken, and the baseline has it.
    """

    SKIPPED = "skipped"
    CRASHED = "crashed"
    PASSED = "passed"
    INFORMED = "informed"
    KNOWN = "known"
    WARNED = "warned"
    BLOCKED = "blocked"
    FAILED = "failed"


ORDER = list(Outcome)
UNTESTED = (Outcome.SKIPPED, Outcome.CRASHED)
"""What says nothing of the server."""
NORMATIVE = ("keyword", "schema")


def loudness(row: Requirement, revision: str, *, strict: bool = False, pedantic: bool = False) -> Outcome:
    """How loud a broken rule is: its basis decides whether it counts, its level how much.

    A MUST fails and a SHOULD warns (with ``strict`` it fails); a rule that rests on no keyword and no schema
    informs, unless ``pedantic`` asks to judge it like the others.
    """
    level, basis = row.level(revision), row.basis(revision)
    if level == "MAY" or not (pedantic or basis in NORMATIVE):
        return Outcome.INFORMED
    return Outcome.FAILED if level == "MUST" or strict else Outcome.WARNED


T = TypeVar("T")


class Verdict:
    """What a `Finding` and a `Blocked` have in common: one check may tell several, the worst is raised."""

    others: tuple[Finding | Blocked, ...] = ()

    def with_others(self, others: Iterable[Finding | Blocked]) -> Self:
        """This verdict, with others that the same check tells."""
        self.others = tuple(others)
        return self


class Finding(Verdict, AssertionError):  # noqa: N818  (a verdict, not an error)
    """The server broke a rule.

    ``expected`` and ``got`` are one sentence or value each; ``lines`` are the wire lines that prove it.
    ``requirement`` names the rule that was broken, if it is not the one that the check cites.  What is
    ``advisory`` informs, whatever the rule's level.
    """

    def __init__(
        self,
        expected: str,
        got: str,
        lines: Sequence[Line] = (),
        requirement: str = "",
        *,
        advisory: bool = False,
    ):
        super().__init__(expected, got)
        self.expected, self.got, self.lines, self.requirement = expected, got, tuple(lines), requirement
        self.advisory = advisory

    def __str__(self) -> str:
        return f"expected {self.expected}, got {self.got}"


class Blocked(Verdict, Exception):  # noqa: N818  (a verdict, not an error)
    """A rule that applies could not be exercised, through the server's fault: red, and never a pass.

    ``requirement`` and ``tool`` name the rule that was broken, if it is not the one that the check cites.
    ``fault`` is what came in place of an answer, if that was all.
    """

    fault: Fault | None = None

    def __init__(
        self, reason: str, lines: Sequence[Line] = (), stderr: str = "", requirement: str = "", tool: str = ""
    ):
        super().__init__(reason)
        self.reason, self.lines, self.stderr = reason, tuple(lines), stderr
        self.requirement, self.tool = requirement, tool

    def by(self, fault: Fault | None) -> Self:
        """This verdict, with the fault it is due to."""
        self.fault = fault
        return self

    def __str__(self) -> str:
        return self.reason


class NotExercised(Exception):  # noqa: N818  (a verdict, not an error)
    """A rule that was not exercised for an honest reason: not declared, not permitted, nothing to look at."""


def worth(
    what: Finding | Blocked, row: Requirement, revision: str, *, strict: bool, pedantic: bool
) -> Outcome:
    """What becomes of a check that has told this of a rule."""
    if isinstance(what, Blocked):
        return Outcome.BLOCKED
    if what.advisory and not pedantic:
        return Outcome.INFORMED
    return loudness(row, row.stated_in(revision), strict=strict, pedantic=pedantic)
