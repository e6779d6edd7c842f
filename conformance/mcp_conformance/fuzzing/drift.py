"""What changes in a process of the server over thousands of calls: what it takes, its speed, its answers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import mean

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.fuzzing.budgets import DriftBudget
from mcp_conformance.fuzzing.growth import MIN_SAMPLES, Sample, growth, merged
from mcp_conformance.protocol.jsonrpc import ABSENT, show
from mcp_conformance.protocol.text import named, shorten, without_times
from mcp_conformance.transport.interface import Clock
from mcp_conformance.transport.usage import Usage, usage_of

# If there are more, each two are merged, and the next come half as often: a soak of days has as many as a
# short one, and `growth` has enough of them after each merge.
MAX_SAMPLES = 2 * MIN_SAMPLES
# All of so many first answers are alike, and all of the last: an answer that is one of two at random differs
# so by chance once in 512 soaks; with four it would once in 128.
COMPARED_ANSWERS = 5
# Ten answers of each tool are kept, so what they may take is limited; what a finding shows is for a person.
MAX_COMPARED, MAX_SHOWN = 100_000, 300
MEMORY, FILES, CHILDREN, TIME = "memory", "open files", "child processes", "the time of the same calls"
# The least growth that counts, absolute and as a share of the figure before.  Not measured: half as much
# takes pools and heaps that still fill up for leaks, twice as much needs a soak of twice the length to see
# one.
LEAST = {MEMORY: (4e6, 0.1), FILES: (10, 0.1), CHILDREN: (4, 0.1), TIME: (0.0005, 0.5)}
FIGURES = tuple(LEAST)


@dataclass
class Answers:
    """The answers to one call that was made again and again, without times; ``first`` and ``last`` ones."""

    first: list[str] = field(default_factory=list)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=COMPARED_ANSWERS))
    count: int = 0

    def keep(self, answer: str) -> None:
        """Keep one more answer."""
        self.count += 1
        if len(self.first) < COMPARED_ANSWERS:
            self.first.append(answer)
        else:
            self.last.append(answer)

    @property
    def differ(self) -> bool:
        """Whether all first answers are the same, and all last ones, and these are others."""
        is_steady = len(set(self.first)) == len(set(self.last)) == 1
        return is_steady and len(self.last) == COMPARED_ANSWERS and self.first[0] != self.last[0]


class Drift:
    """The watch over one process with an id, if it runs here; it takes a sample now and then.

    ``calls`` counts the answered calls.
    """

    def __init__(self, pid: int | None, clock: Clock, budget: DriftBudget):
        self.calls = 0
        self.budget = budget
        self._pid, self._clock = pid, clock
        self._pause = budget.pause_seconds
        self._start = clock.monotonic()
        self._next = self._start
        self._series: dict[str, list[Sample]] = {name: [] for name in LEAST}
        self._seconds: list[float] = []
        self._answers: defaultdict[str, Answers] = defaultdict(Answers)
        self._only_reads = True

    def note(self, tool: Tool, reply: Reply, *, is_repeated: bool) -> None:
        """Note an answered call of a tool, which may be a repetition; take a sample if it is time to."""
        self.calls += 1
        self._only_reads = self._only_reads and tool.read_only
        if is_repeated:
            self._seconds.append(reply.seconds)
            self._answers[tool.name].keep(_shown(reply))
        if self._clock.monotonic() >= self._next:
            self._sample(None if self._pid is None else usage_of(self._pid))
            self._next = self._clock.monotonic() + self._pause

    def forget_times(self) -> None:
        """Begin to time calls anew, as other tools are called from now on."""
        self._series[TIME].clear()
        self._seconds.clear()

    def _sample(self, usage: Usage | None) -> None:
        if usage is not None:
            self._keep(MEMORY, usage.memory)
            self._keep(FILES, usage.files)
            self._keep(CHILDREN, usage.children)
        if self._seconds:
            self._keep(TIME, mean(self._seconds))
            self._seconds.clear()
        if any(len(samples) > MAX_SAMPLES for samples in self._series.values()):
            self._pause *= 2
            self._series = {name: merged(samples) for name, samples in self._series.items()}

    def _keep(self, name: str, figure: float) -> None:
        self._series[name].append((self.calls, figure))

    # The verdict

    @property
    def is_judged(self) -> bool:
        """Whether the process was called long enough."""
        seconds = self._clock.monotonic() - self._start
        return self.calls >= self.budget.min_calls and seconds >= self.budget.min_seconds

    @property
    def memory_growth(self) -> float:
        """The bytes by which the memory has grown since the first sample; 0 if it is not seen."""
        samples = self._series[MEMORY]
        return samples[-1][1] - samples[0][1] if samples else 0.0

    def has_figures(self, name: str) -> bool:
        """Return whether there are enough samples of a figure to judge it."""
        return len(self._series[name]) >= MIN_SAMPLES

    def changes(self) -> dict[str, str]:
        """Return a line on each figure that keeps on growing, and on each tool whose answers changed."""
        return dict([*self._growing(), *self._changed_answers()]) if self.is_judged else {}

    def lines(self, earlier: Mapping[str, str]) -> list[str]:
        """Return `changes` and those of ``earlier`` processes, or that there are none; and what is unseen."""
        if changes := {**self.changes(), **earlier}:
            judged = list(changes.values())
        elif self.is_judged:
            last = [_figure(name, samples[-1][1]) for name, samples in self._series.items() if samples]
            judged = [f"nothing kept on growing over {self.calls:,} calls: {', '.join(last)}"]
        else:
            least = f"{self.budget.min_seconds:g} s and {self.budget.min_calls} calls"
            return [f"growth was not judged: that takes {least} in one process"]
        unseen = "memory, open files and child processes of the server are not seen here"
        return [*judged, *([] if self._series[MEMORY] else [unseen])]

    def _growing(self) -> Iterator[tuple[str, str]]:
        for name, samples in self._series.items():
            if (found := growth(samples, *LEAST[name])) is not None:
                before, after = shown_amount(name, found.before), shown_amount(name, found.after)
                how = f"{name} grew from {before} to {after} over {found.calls:,} calls"
                yield name, f"{how}, {shown_amount(name, found.per_call)} a call, and did not level off"

    def _changed_answers(self) -> Iterator[tuple[str, str]]:
        """Yield the tools whose answers changed, unless a tool was called that may change things."""
        for name, answers in self._answers.items() if self._only_reads else ():
            if answers.differ:
                first, last = (shorten(one[0], MAX_SHOWN) for one in (answers.first, answers.last))
                times = f"first {first} ({COMPARED_ANSWERS} times), in the end {last} (the same)"
                what = f"answers to the same call of {named(name)} changed over {answers.count} calls of it"
                yield f"answers of {name}", f"{what}: {times}"


def _shown(reply: Reply) -> str:
    """Return a result without its `_meta`, or an error, and without times."""
    result = reply.result
    if isinstance(result, dict):
        result = {name: member for name, member in result.items() if name != "_meta"}
    return without_times(show(reply.error if result is ABSENT else result, MAX_COMPARED))


def _figure(name: str, amount: float) -> str:
    return f"{name} {shown_amount(name, amount)}"


def shown_amount(name: str, amount: float) -> str:
    """Return an amount with its unit."""
    if name == MEMORY:
        unit, worth = ("MB", 1e6) if amount >= 1e6 else ("kB", 1e3) if amount >= 1e3 else ("bytes", 1)
        return f"{_digits(amount / worth)} {unit}"
    if name == TIME:
        unit, worth = ("s", 1.0) if amount >= 1 else ("ms", 1e-3) if amount >= 1e-4 else ("µs", 1e-6)
        return f"{_digits(amount / worth)} {unit}"
    return _digits(amount)


def _digits(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 10 or amount == round(amount) else f"{amount:.2g}"
