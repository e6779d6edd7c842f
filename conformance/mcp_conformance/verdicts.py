"""Verdicts: the exceptions of a check (`Finding`, `Blocked`, `Skipped`), and the outcome of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from enum import Enum, StrEnum
from pathlib import Path
from typing import Self

from mcp_conformance import remedies
from mcp_conformance.client.reply import Closed, Fault, Silence, Unanswered
from mcp_conformance.outcome import Defect, Outcome, ToolBugs
from mcp_conformance.protocol.jsonrpc import EVENT, NOT_UTF_8, Line, foreign_encoding, is_response, show
from mcp_conformance.requirements.catalogue import Requirement, requirement
from mcp_conformance.transport.interface import Empty

INTERNAL_ERROR = 500
"""The HTTP status of a server that met an exception (RFC 9110)."""
NORMATIVE = ("keyword", "schema", "project")
ECHO, ANSWERED = "jsonrpc.response-id-echo", "jsonrpc.response-every-request"
"""The rules that an answer has the id of its request, and that each request gets one."""


class Cause(StrEnum):
    """Why a check was blocked or skipped, where the report needs to know."""

    TIME_IS_UP = "time-is-up"
    TOO_COSTLY = "too-costly"
    NOT_REACHED = "not-reached"
    NO_SESSION = "no-session"
    CIRCUMSTANCES = "circumstances"
    NO_HOST = "no-host"
    MACHINE = "machine"


class Repeat(Enum):
    """How a run shows what a check found again: by its check alone, by all checks, or not at all."""

    BY_CHECK = "check"
    BY_RUN = "run"
    NOT_SEEN = "not seen"


class Verdict:
    """The common part of `Finding` and `Blocked`: a check may find several and raises the worst.

    ``requirement`` names the broken rule if it is not the one that the check cites; ``transcripts`` are the
    files with the conversations that show it, ``stderr`` is what the server wrote there meanwhile.
    ``tool`` names the tool if it is not the one that the check is about, ``fix`` the remedy for what was seen
    if it is not the rule's, ``repeat`` how to see it again, and ``defect`` what the server does to its users,
    if it is not the rule's (`defect_of`); what ``is_harmless`` does nothing to them, whatever the rule's
    others do.  ``seen`` is what came instead of an answer in ``lines``, if no ``fault`` says it, and
    ``history`` are the lines that a reproduction needs, if ``lines`` are fewer.
    """

    requirement: str
    defect: Defect | None = None
    is_harmless = False
    seen: Fault | None = None
    history: tuple[Line, ...] = ()
    fix: str = ""
    repeat: Repeat = Repeat.BY_CHECK
    tool: str
    stderr: str
    transcripts: tuple[Path, ...] = ()
    others: tuple[Finding | Blocked, ...] = ()

    def with_others(self, others: Iterable[Finding | Blocked]) -> Self:
        """Return this verdict with the others that the same check found."""
        verdict = copy(self)
        verdict.others = tuple(others)
        return verdict


class Finding(Verdict, AssertionError):  # noqa: N818  (a verdict, not an error)
    """The server broke a rule.

    ``expected`` and ``got`` are one sentence or value each; ``lines`` are the lines on the wire that prove
    it, ``fault`` is what came instead of an answer, if anything.  An ``advisory`` finding has the outcome
    ``info``, whatever the rule's level.  A ``tool_bug`` is a mistake in a tool that breaks no rule of the
    protocol: the user says whether it fails, or only one that ``is_proven``.  A ``fatal`` finding, that the
    process ended or that a client got the answer of another, fails whatever the rule's basis.
    """

    def __init__(  # noqa: PLR0913  (facts of a finding, most of them optional)
        self,
        expected: str,
        got: str,
        lines: Sequence[Line] = (),
        requirement: str = "",
        *,
        fault: Fault | None = None,
        advisory: bool = False,
        tool_bug: bool = False,
        is_proven: bool = False,
        transcripts: Sequence[Path] = (),
        stderr: str = "",
        tool: str = "",
        fatal: bool = False,
        fix: str = "",
        repeat: Repeat = Repeat.BY_CHECK,
        defect: Defect | None = None,
    ):
        super().__init__(expected, got)
        self.expected, self.got, self.lines, self.requirement = expected, got, tuple(lines), requirement
        self.fault, self.advisory, self.fatal = fault, advisory, fatal
        self.tool_bug, self.is_proven = tool_bug, is_proven
        self.transcripts, self.stderr, self.tool = tuple(transcripts), stderr, tool
        self.fix, self.repeat, self.defect = fix, repeat, defect

    def __str__(self) -> str:
        return f"expected {self.expected}, got {self.got}"


class Blocked(Verdict, Exception):  # noqa: N818  (a verdict, not an error)
    """A rule that applies could not be exercised, through the server's fault: it fails the run.

    ``fault`` is what came instead of an answer, if that is the whole reason.
    """

    def __init__(  # noqa: PLR0913
        self,
        reason: str,
        lines: Sequence[Line] = (),
        stderr: str = "",
        requirement: str = "",
        tool: str = "",
        *,
        fault: Fault | None = None,
        cause: Cause | None = None,
        transcripts: Sequence[Path] = (),
        fix: str = "",
        defect: Defect | None = None,
    ):
        super().__init__(reason)
        self.reason, self.lines, self.stderr = reason, tuple(lines), stderr
        self.requirement, self.tool = requirement, tool
        self.fault, self.cause, self.transcripts = fault, cause, tuple(transcripts)
        self.fix, self.defect = fix, defect

    def __str__(self) -> str:
        return self.reason


class Skipped(Exception):  # noqa: N818  (a verdict, not an error)
    """A rule was not exercised for an honest reason: not declared, not permitted, nothing to judge."""

    def __init__(self, reason: str, *, cause: Cause | None = None):
        super().__init__(reason)
        self.cause = cause


NOT_JSON_RULE = {
    "stdio": "stdio.stdout-purity",
    "http": "http.post.request-content-type",
    "event": "http.sse.data-is-message",
}
"""The rule that an answer breaks which is not JSON."""
UTF_8_RULE = {
    "stdio": "stdio.utf8-output",
    "http": "http.post.utf8-output",
    "event": "http.post.utf8-output",
}
"""The rule that an answer breaks which is not UTF-8."""

MAX_METHODS = 5
"""How many methods a finding names."""
EMPTY_RULES = {
    Empty.NO_MESSAGE: (
        "http.post.request-content-type",
        "the answer as application/json or text/event-stream",
    ),
    Empty.ENDED_STREAM: ("http.sse.response-comes", "the answer before the end of the event stream"),
}
"""The rule that each kind breaks, and what was expected in its place."""


def transport_of(line: Line) -> str:
    """Return how a line came: over ``stdio``, as a body of ``http``, or as an ``event``."""
    if not line.carried_by:
        return "stdio"
    return "event" if line.carried_by.endswith(EVENT) else "http"


def wrong_answer(request: Line, answer: Line) -> Finding:
    """Return the finding that a request got an answer with another id, or one that is not JSON in UTF-8."""
    if answer.fault:
        encoding = foreign_encoding(answer.raw)
        is_utf_8 = not (encoding or answer.fault.startswith(NOT_UTF_8))
        rule = (NOT_JSON_RULE if is_utf_8 else UTF_8_RULE)[transport_of(answer)]
        got = f"a line in {encoding}" if encoding else f"a line that is {answer.fault}"
        fix = remedies.of_oddities(answer.oddities)
        return Finding("JSON" if is_utf_8 else "UTF-8", got, (request, answer), rule, fix=fix)
    wanted, ids = request.message["id"], [one.get("id") for one in answer.parts() if is_response(one)]
    got = f"id {', '.join(show(one, 100) for one in ids)}"
    fix = remedies.of_id(wanted, ids[0]) if len(ids) == 1 else ""
    return Finding(f"id {show(wanted)}", got, (request, answer), ECHO, fix=fix)


def empty_response(lines: Sequence[Line], empty: Empty, got: str, methods: Iterable[str]) -> Finding:
    """Return the finding that a request, and others of these methods, got a response without an answer."""
    rule, expected = EMPTY_RULES[empty]
    names = sorted(set(methods))
    more = f" and {len(names) - MAX_METHODS} other methods" if len(names) > MAX_METHODS + 1 else ""
    named = ", ".join(names[: MAX_METHODS if more else None]) + more
    return Finding(expected, f"{got} (for {named})", lines, rule, fatal=True, defect=Defect.HANGS)


def remedy_of(verdict: Finding | Blocked, row: Requirement, revision: str) -> str:
    """Return what to do about what a verdict has seen; empty if the rule's remedy will do."""
    if not verdict.fix and isinstance(verdict.fault, Silence) and verdict.fault.unended:
        return remedies.LINE_END
    is_end = row.id == ANSWERED and defect_of(verdict, row, revision) is Defect.DIES
    return verdict.fix or (remedies.ENDS if is_end else "")


def severity(row: Requirement, revision: str, *, strict: bool = False, pedantic: bool = False) -> Outcome:
    """Return the outcome of a broken rule: its basis decides whether it counts, its level how much.

    A MUST fails and a SHOULD warns (with ``strict`` it fails); a rule without a keyword or a schema behind it
    informs, unless ``pedantic`` judges it like the others.
    """
    level, basis = row.level(revision), row.basis(revision)
    if level == "MAY" or not (pedantic or basis in NORMATIVE):
        return Outcome.INFO
    return Outcome.FAILED if level == "MUST" or strict else Outcome.WARNED


def broken_rule(cited: Sequence[Requirement], revision: str, error: BaseException | None) -> Requirement:
    """Return the broken rule: the one that the error names, else the most severe of the cited ones here.

    Without an error it is the rule that the check is about.
    """
    if isinstance(error, Verdict) and error.requirement:
        return requirement(error.requirement)
    holding = [row for row in cited if row.holds_in(revision)]
    return min(holding, key=lambda row: severity(row, revision).place, default=cited[0])


def outcome_of(  # noqa: PLR0913  (what the user chose about severities)
    verdict: Finding | Blocked,
    row: Requirement,
    revision: str,
    *,
    strict: bool = False,
    pedantic: bool = False,
    tool_bugs: ToolBugs = ToolBugs.PROVEN,
) -> Outcome:
    """Return the outcome of a check that raised ``verdict`` about a rule.

    A rule that nobody has read against the revision only informs: the revision may have dropped it.  What no
    revision allows counts all the same: a fatal finding, and what blocks a check, such as a missing answer.
    """
    if isinstance(verdict, Blocked):
        return Outcome.BLOCKED
    if verdict.fatal:
        return Outcome.FAILED
    stated = row.stated_in(revision)
    if verdict.tool_bug and tool_bugs.fail(is_proven=verdict.is_proven):
        return Outcome.FAILED
    found = severity(row, stated, strict=strict, pedantic=pedantic)
    if not row.is_reviewed_in(stated) or ((verdict.advisory or verdict.tool_bug) and not pedantic):
        found = Outcome.INFO
    if found is Outcome.INFO and defect_of(verdict, row, stated) is not None:
        return Outcome.FAILED if strict else Outcome.WARNED
    return found


def defect_of(verdict: Finding | Blocked, row: Requirement, revision: str) -> Defect | None:
    """Return what the server does to its users, as its verdict shows; None if it is a matter of the rule.

    The end of the process and a missing answer are defects under any rule; an HTTP status is an answer, and
    500 one that says that the server met an exception.
    """
    fault = verdict.fault
    if isinstance(verdict, Blocked) and verdict.cause is not None:
        return None
    if verdict.defect is not None:
        return verdict.defect
    if isinstance(fault, Closed):
        return Defect.DIES
    if isinstance(fault, Unanswered) and fault.status == INTERNAL_ERROR:
        return Defect.THROWS
    if fault is not None and not (isinstance(fault, Unanswered) and fault.is_refusal):
        return Defect.HANGS
    is_certain = not (isinstance(verdict, Finding) and verdict.advisory) and row.is_reviewed_in(revision)
    return row.defect if is_certain and not verdict.is_harmless else None
