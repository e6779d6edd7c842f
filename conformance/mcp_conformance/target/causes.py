"""The causes for which checks are blocked, counted: each is reported once, or a few times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mcp_conformance.client.reply import Closed, Flood, Unread
from mcp_conformance.protocol.jsonrpc import Kind, Line, kind
from mcp_conformance.target.surface import ProbeFailure
from mcp_conformance.verdicts import Blocked, Finding

MAX_REPORTS_OF_AN_END = 3
"""How many checks report requests that end the process, each by itself, in the same way."""
MAX_EXAMINED_ENDS = 10
"""How many ends of one kind are examined: does the request alone end the process?"""
FLOOD, NOT_READ = "flood", "not read"
"""Causes for which a check is blocked."""


class Causes:
    """The causes that the probe and the checks in one revision have met."""

    def __init__(self, failures: Iterable[ProbeFailure]):
        self._times: Counter[Any] = Counter(filter(None, map(_cause, failures)))

    def count(self, cause: Any) -> int:
        """Count a cause, and return how often it was met."""
        self._times[cause] += 1
        return self._times[cause]

    def is_repeated(self, verdict: Finding | Blocked, ends_alone: Callable[[Blocked], bool]) -> bool:
        """Return whether checks have reported the cause for which a check is blocked.

        A cause is a flood; an answer to one method that was too long to read; or an end of the process with
        one exit status and one text on stderr.  An end that the request alone brings about, as ``ends_alone``
        finds out, is reported `MAX_REPORTS_OF_AN_END` times.
        """
        fault = verdict.fault
        if not isinstance(verdict, Blocked) or verdict.others:
            return False
        if isinstance(fault, Flood):
            return self.count(FLOOD) > 1
        if isinstance(fault, Unread):
            return self.count((NOT_READ, _method(verdict.lines))) > 1
        if not isinstance(fault, Closed):
            return False
        end = fault.exit_code, _words(fault.stderr)
        times = self.count(end)
        if times > 1 and (times > MAX_EXAMINED_ENDS or not ends_alone(verdict)):
            return True
        return self.count(("reported", *end)) > MAX_REPORTS_OF_AN_END


def _cause(failure: ProbeFailure) -> Any:
    """Return the cause of a probe failure if checks may meet it too, else None."""
    if failure.is_flood:
        return FLOOD
    if failure.expected:
        return failure.requirement
    return (NOT_READ, _method(failure.lines)) if failure.is_unread else None


def _method(lines: Sequence[Line]) -> str:
    """Return the method of the request in these lines."""
    requests = (line.message for line in lines if kind(line.message) is Kind.REQUEST)
    return next((str(message["method"]) for message in requests), "")


def _words(stderr: str) -> str:
    """Return a text of stderr without the numbers in it."""
    return re.sub(r"\d+", "", stderr)
