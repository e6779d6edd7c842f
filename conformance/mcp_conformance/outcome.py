"""The outcomes of a check: one table of what each says about the server, and how reports show it.

A new outcome is a member and a row here, and the place that gives it to a result.  Code that depends on what
an outcome says about the server branches on its `Weight`, and ends in `typing.assert_never`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto


class Weight(Enum):
    """What a result says about the server, the worst first."""

    FAILS = auto()
    """It fails the run."""
    WARNS = auto()
    """It counts against the server, and fails no run."""
    EXCUSED = auto()
    """It would count, if the user or the SDK did not excuse it."""
    NOTED = auto()
    """It is worth knowing, and does not count."""
    HOLDS = auto()
    SAYS_NOTHING = auto()


class Listed(Enum):
    """Which reports describe a result with its evidence; each lists what those before it list."""

    ALWAYS = auto()
    """The terminal, Markdown and the page."""
    VERBOSE = auto()
    """The terminal with ``-v``, and the page."""
    ON_PAGE = auto()
    NEVER = auto()


@dataclass(frozen=True)
class Style:
    """What an outcome counts for, and how reports show it.

    ``hue`` is its colour on a page, a custom property of ``report.css``; ``colour`` is that on a terminal.
    ``letter`` and ``category`` are pytest's, for its progress and its last line; without a letter, they are
    those that pytest has itself, and without a category it is the outcome's name.  ``mark`` stands before a
    number in a table, ``sign`` before the name in Markdown.  ``headline`` says in the verdict how many rules
    have the outcome: a sentence for one that fails, the singular of a noun for others.  A ``rare`` outcome
    has a column in a table only if some check has it.
    """

    weight: Weight
    listed: Listed
    hue: str
    colour: str = ""
    letter: str = ""
    category: str = ""
    mark: str = ""
    sign: str = ""
    headline: str = ""
    rare: bool = False


class Outcome(StrEnum):
    """The outcome of a check, the worst first; `STYLES` has a row for each.

    ``internal-error`` is a bug of this tool; ``expected`` is a broken rule that the baseline lists, ``new``
    one that came, or was sharpened, after the version of this tool that the user's project is pinned to.
    """

    FAILED = "failed"
    BLOCKED = "blocked"
    WARNED = "warned"
    NEW = "new"
    EXPECTED = "expected"
    INFO = "info"
    PASSED = "passed"
    INTERNAL_ERROR = "internal-error"
    SKIPPED = "skipped"

    @property
    def style(self) -> Style:
        """What it counts for, and how reports show it."""
        return STYLES[self]

    @property
    def place(self) -> int:
        """Its place among all outcomes; that of the worst is 0."""
        return PLACES[self]

    @property
    def fails(self) -> bool:
        """Whether it fails the run."""
        return self in FAILING

    @property
    def counts(self) -> bool:
        """Whether it counts against the server."""
        return self in COUNTED

    @property
    def is_finding(self) -> bool:
        """Whether it says something against the server, counted or not."""
        return self in FINDINGS

    @property
    def is_judged(self) -> bool:
        """Whether it says anything about the server."""
        return self.style.weight is not Weight.SAYS_NOTHING

    @property
    def with_sign(self) -> str:
        """Its name after its sign, for Markdown."""
        return f"{self.style.sign} {self.replace('-', ' ')}"


class ToolBugs(StrEnum):
    """Which mistakes in tools fail the run: the words of ``--fuzz-errors``."""

    NONE = "inform"
    PROVEN = "proven"
    ALL = "fail"

    def fail(self, *, is_proven: bool) -> bool:
        """Return whether a mistake fails the run."""
        return self is ToolBugs.ALL or (is_proven and self is ToolBugs.PROVEN)


class Defect(StrEnum):
    """What a server does to its users that its author is told first, whatever the specification says of it.

    The worst comes first.  `DOES` has what each does, of one and of several.
    """

    DIES = "dies"
    HANGS = "hangs"
    THROWS = "throws"
    LEAKS = "leaks"
    EXPOSED = "exposed"
    NEVER_WORKS = "never-works"
    SHUTS_OUT = "shuts-out"
    FORGETS = "forgets"
    MISLEADS = "misleads"
    LINGERS = "lingers"
    GROWS = "grows"

    @property
    def place(self) -> int:
        """Its place among all defects; that of the worst is 0."""
        return list(Defect).index(self)

    def told_of(self, subject: str, *, several: bool = False) -> str:
        """Return a sentence: the subject, and what it does."""
        return f"{subject} {DOES[self][several]}"


DOES: Mapping[Defect, tuple[str, str]] = {
    Defect.DIES: ("ends its process", "end the process"),
    Defect.HANGS: ("leaves a request unanswered", "leave requests unanswered"),
    Defect.THROWS: ("throws", "throw"),
    Defect.LEAKS: ("shows what others may not see", "show what others may not see"),
    Defect.EXPOSED: ("is open to any web page", "are open to any web page"),
    Defect.NEVER_WORKS: ("offers what does not work", "do not work"),
    Defect.SHUTS_OUT: ("shuts some clients out", "shut some clients out"),
    Defect.FORGETS: ("forgets what it was asked", "forget what they were asked"),
    Defect.MISLEADS: ("misleads its clients", "mislead their clients"),
    Defect.LINGERS: ("does not exit", "do not exit"),
    Defect.GROWS: ("grows", "grow"),
}


STYLES: Mapping[Outcome, Style] = {
    Outcome.FAILED: Style(
        Weight.FAILS,
        Listed.ALWAYS,
        hue="failed",
        colour="red",
        mark="✗",
        sign="❌",
        headline="does not conform: {} broken",
    ),
    Outcome.BLOCKED: Style(
        Weight.FAILS,
        Listed.ALWAYS,
        hue="blocked",
        colour="red",
        letter="B",
        category="failed",
        mark="⊘",
        sign="⛔",
        headline="could not be tested in full: {} blocked",
    ),
    Outcome.WARNED: Style(
        Weight.WARNS,
        Listed.ALWAYS,
        hue="warned",
        colour="yellow",
        letter="W",
        mark="!",
        sign="⚠️",
        headline="warning",
    ),
    Outcome.NEW: Style(
        Weight.NOTED, Listed.ALWAYS, hue="soft", letter="n", sign="🆕", headline="new finding", rare=True
    ),
    Outcome.EXPECTED: Style(
        Weight.EXCUSED, Listed.ON_PAGE, hue="soft", letter="x", headline="expected finding", rare=True
    ),
    Outcome.INFO: Style(Weight.NOTED, Listed.VERBOSE, hue="info", letter="i", headline="note"),
    Outcome.PASSED: Style(Weight.HOLDS, Listed.NEVER, hue="passed", colour="green"),
    Outcome.INTERNAL_ERROR: Style(
        Weight.SAYS_NOTHING,
        Listed.ALWAYS,
        hue="internal-error",
        colour="red",
        letter="E",
        category="error",
        sign="💥",
        rare=True,
    ),
    Outcome.SKIPPED: Style(Weight.SAYS_NOTHING, Listed.NEVER, hue="skipped"),
}
PLACES = {outcome: place for place, outcome in enumerate(Outcome)}


def weighing(*weights: Weight) -> tuple[Outcome, ...]:
    """Return the outcomes with one of these weights, the worst first."""
    return tuple(one for one in Outcome if one.style.weight in weights)


def listed_by(report: Listed) -> tuple[Outcome, ...]:
    """Return the outcomes whose results such a report lists, the worst first."""
    kinds = list(Listed)
    return tuple(one for one in Outcome if kinds.index(one.style.listed) <= kinds.index(report))


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of these outcomes.  Raises `ValueError` if there is none."""
    return min(outcomes, key=lambda one: one.place)


FAILING = weighing(Weight.FAILS)
"""The outcomes that fail a run."""
COUNTED = weighing(Weight.FAILS, Weight.WARNS)
"""The outcomes that count against the server."""
FINDINGS = weighing(Weight.FAILS, Weight.WARNS, Weight.EXCUSED, Weight.NOTED)
"""The outcomes that say something against the server."""
