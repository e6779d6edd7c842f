"""An earlier run of the suites (``--since``), whose results may be taken over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_conformance.report.exercise import ExercisedTool


@dataclass(frozen=True)
class EarlierRun:
    """An earlier run beside this one: the names of the tools with the same definition in each revision.

    ``passed`` has the ids of the checks that passed, ``skipped`` the reasons of those that judged nothing;
    ``complete`` has the revisions in which all tools are the same.  ``difference`` says why nothing can be
    taken over, if so.  ``exercise`` has what was exercised of those tools that are the same everywhere.
    """

    date: str
    passed: frozenset[str]
    skipped: dict[str, str]
    same_tools: dict[str, frozenset[str]]
    complete: frozenset[str]
    difference: str = ""
    exercise: Mapping[str, ExercisedTool] = field(default_factory=dict)

    def covers(self, revision: str, tool: str) -> bool:
        """Return whether a check of a revision, and of a tool if it is about one, would judge the same."""
        if self.difference:
            return False
        return tool in self.same_tools.get(revision, ()) if tool else revision in self.complete
