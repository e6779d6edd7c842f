"""What a run exercised of each tool, and how much of it a user requires (``--require-exercised``).

Prompts and resource templates are shown too, and do not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.text import named
from mcp_conformance.target.exercise import ToolExercise
from mcp_conformance.target.surface import Subject
from mcp_conformance.world.reading import PROMPT, TEMPLATE

NOT_PERMITTED = "it may not be called (--call)"
NEEDS_TASK = "it can only be called as a task"
ASKS_CLIENT = "it asks the client for something first"
NOT_REACHED = "no check of this run called it"
TOOL = "tool"
FETCHED = "prompts and templates"
"""The title of a table that has no tools."""
KINDS = {PROMPT: "prompt", TEMPLATE: "template"}
MAX_NAME = 200
REQUIRED = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")


@dataclass(frozen=True)
class ExercisedTool:
    """What a run exercised of a tool, or of a prompt or a template, in all revisions together.

    ``calls`` are those with valid arguments, of which ``successes`` succeeded and got so many different
    ``answers``; ``origins`` are where the arguments of the successes came from.  ``why_not`` says why the
    tool was not there to be exercised; it is empty for one that counts.  The fuzzer left out ``left_out``
    calls, as each would get a refusal like another: about ``saved_seconds``.  ``kind`` is `TOOL`, or says
    what it is instead.  ``lacks`` are the words by which it reaches no host, if no call succeeded for that
    reason.
    """

    name: str
    why_not: str = ""
    calls: int = 0
    successes: int = 0
    answers: int = 0
    origins: tuple[str, ...] = ()
    left_out: int = 0
    saved_seconds: float = 0.0
    kind: str = TOOL
    lacks: str = ""

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool, and no prompt or template."""
        return self.kind == TOOL

    @property
    def title(self) -> str:
        """The name, and what it is of if it is no tool."""
        return self.name if self.is_tool else f"{self.kind} {self.name}"

    @property
    def is_callable(self) -> bool:
        """Whether it is a tool that may be called, and a client like ours can."""
        return self.is_tool and not self.why_not

    @property
    def is_exercised(self) -> bool:
        """Whether a call succeeded."""
        return self.successes > 0

    @property
    def is_vain(self) -> bool:
        """Whether it was called, or fetched, and that never succeeded."""
        return not self.why_not and self.calls > 0 and not self.is_exercised


def exercised_tools(
    subject: Subject,
    exercise: Mapping[str, ToolExercise],
    earlier: Mapping[str, ExercisedTool],
    *,
    is_whole: bool,
) -> tuple[ExercisedTool, ...]:
    """Return what was exercised of each tool that the server lists, in the order of its lists.

    ``earlier`` has the tools of a run whose results are taken over, for those that this run did not call.
    Unless the run ``is_whole``, a tool that it did not call does not count.
    """
    tools: dict[str, list[Tool]] = {}
    for surface in subject.live:
        for tool in surface.tools:
            if tool.name:
                tools.setdefault(tool.name, []).append(tool)
    found = []
    for name, same in tools.items():
        one = exercise.get(name, ToolExercise())
        if not one.calls and name in earlier:
            found.append(earlier[name])
            continue
        why_not = "" if one.calls and not one.asks else _why_not(subject, same, one, is_whole=is_whole)
        found.append(_shown(name, one, TOOL, why_not))
    return tuple(found)


def fetched(exercise: Mapping[str, ToolExercise]) -> tuple[ExercisedTool, ...]:
    """Return what was exercised of the prompts and templates that were fetched."""
    found = []
    for name, one in exercise.items():
        method, _, own = name.partition(" ")
        found.append(_shown(own, one, KINDS[method], "" if one.calls else ASKS_CLIENT))
    return tuple(found)


def _shown(name: str, one: ToolExercise, kind: str, why_not: str) -> ExercisedTool:
    shown = name if len(name) <= MAX_NAME else named(name, MAX_NAME)
    saved = (one.left_out, round(one.saved_seconds, 3))
    numbers = (one.calls, one.successes, one.answers, tuple(one.origins), *saved)
    return ExercisedTool(shown, why_not, *numbers, kind, "" if one.successes else one.complaint)


def _why_not(subject: Subject, same: Sequence[Tool], one: ToolExercise, *, is_whole: bool) -> str:
    """Return why a tool does not count, which was not called, or asked the client for something."""
    if one.successes:
        return ""
    if not any(map(subject.settings.may_call, same)):
        return NOT_PERMITTED
    if all(tool.task_support == "required" for tool in same):
        return NEEDS_TASK
    if one.asks:
        return ASKS_CLIENT
    return one.obstacle or ("" if is_whole else NOT_REACHED)


@dataclass(frozen=True)
class RequiredExercise:
    """How much must be exercised: a ``number`` of tools, or, as a share, percents of the callable ones."""

    number: float
    is_share: bool = False

    @classmethod
    def of(cls, text: str) -> Self:
        """Return what ``80%`` or ``12`` requires.  Raises `ValueError`."""
        found = REQUIRED.fullmatch(text.strip())
        if found is None or (found[2] and float(found[1]) > 100) or (not found[2] and "." in found[1]):
            raise ValueError(f"percents such as 80%, or a number of tools, are expected, not {text!r}")
        return cls(float(found[1]), bool(found[2]))

    def __str__(self) -> str:
        return f"{self.number:g}{'%' if self.is_share else ''}"

    def is_met(self, tools: Iterable[ExercisedTool]) -> bool:
        """Return whether enough is exercised; a share of no tool is, unless none of them may be called."""
        found = list(tools)
        could = [one for one in found if one.is_callable]
        if not could and self.is_share:
            return self.number == 0 or all(one.why_not != NOT_PERMITTED for one in found)
        done = sum(one.is_exercised for one in could)
        return done >= (math.ceil(self.number * len(could) / 100) if self.is_share else self.number)
