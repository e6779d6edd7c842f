"""Fuzz one request parameter: generate values, judge answers, then shrink, reproduce and report failures."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from itertools import islice
from operator import itemgetter
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, InMemoryExampleDatabase
from hypothesis.errors import NoSuchExample, Unsatisfiable
from hypothesis.strategies import SearchStrategy

from mcp_conformance.client.reply import Reply
from mcp_conformance.deadline import Deadline, TookTooLong, held
from mcp_conformance.expect import skip
from mcp_conformance.fuzzing.budgets import CASES, CaseBudget
from mcp_conformance.fuzzing.case_source import CaseSource
from mcp_conformance.fuzzing.databases import leave_strange_caches, safe
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.oracles import VALIDATED, Case, Oracle, fault_of, grade
from mcp_conformance.fuzzing.reproduction import FailedCase, Reproduction
from mcp_conformance.fuzzing.trials import Trials
from mcp_conformance.generation import NoExample
from mcp_conformance.generation.adversarial import READABLE, SLOW_AT_MOST, value_name
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import FUZZED
from mcp_conformance.verdicts import Blocked, Cause, Finding

MAX_CASES_PER_SEED = 10**12
"""The distance of the seeds of two searches, so that they have no case in common."""
# What a person reads of one finding; the rest is counted.
MAX_NAMES_SHOWN = 8


def require_time(server: Server) -> None:
    """Skip the check if no time is left for fuzzing."""
    if server.run.fuzz_seconds(server.clock) <= 0:
        limits = {"--time": server.settings.time, "--max-time": server.settings.max_time}
        option, seconds = min(limits.items(), key=itemgetter(1))
        skip(f"the time was over: {option} {seconds:g}", cause=Cause.NOT_REACHED)


Smaller = Callable[[Case, Callable[[Case], bool]], Case]
"""Finds the smallest case next to one for which a function is true."""


class _SpentError(BaseException):
    """Ends a search that may send nothing new.  Hypothesis shrinks each `Exception`."""


class Fuzzer:
    """The fuzzing of one target.

    ``label`` names the kind of values.  Failures of the kinds in ``known`` are not reported.
    """

    def __init__(
        self,
        server: Server,
        target: FuzzTarget,
        label: str,
        known: Iterable[str] = (),
        budget: CaseBudget = CASES,
    ):
        leave_strange_caches()
        self.server, self.target, self.label, self._budget = server, target, label, budget
        self._examples = server.settings.examples_of(target.tool)
        self._trials = Trials(server, target, set(known), budget)
        self._failures = self._trials.failures

    # Trying

    def try_again(self, remembered: Callable[[Any], Case | None]) -> None:
        """Try values that failed in earlier runs; ``remembered`` makes a case of one, None if stale."""
        for text in tuple(self._database.fetch(self._key())):
            try:
                case = remembered(json.loads(text))
            except (ValueError, RecursionError):
                case = None
            if case is None or self._trials.failed(case) is None:
                self._database.delete(self._key(), text)

    def try_each(self, cases: Iterable[Case]) -> None:
        """Try these cases; the smallest case of each kind of failure is reported."""
        self._trials.each(cases)

    def try_edges(self, cases: Iterable[Case], smaller: Smaller) -> None:
        """Try these cases, which were not drawn, and shrink the failures of a few kinds with ``smaller``."""
        self.shrink_edges(self._new_kinds(cases), smaller)

    def try_hostile(self, named: Iterable[tuple[str, bytes | None]], oracle: Oracle) -> None:
        """Try hostile values (name, JSON text or None), except those that failed with another target.

        Those that a parser may refuse are sent alone, until the server has read them for another tool.
        """
        failed = self.server.fuzzing.failed_cases
        cases = [Case(text or b"", oracle, what, hostile=True) for what, text in named if what not in failed]
        readable = READABLE | self.server.fuzzing.values_read
        self._trials.each((one for one in cases if value_name(one.name) in readable), hostile=True)
        for one in cases:
            if not self._trials.is_spent:
                self._trials.failed(one)
        failed |= {one.case.name for same in self._failures.values() for one in same if one.case.name}

    def search(self, source: CaseSource, smaller: Smaller | None = None) -> None:
        """Try the cases of many seeds, then shrink the failures of a few kinds, at last with ``smaller``."""
        new = self._new_kinds(self._seeded(source))
        self.shrink(source, new)
        if smaller is not None:
            self.shrink_edges(new, smaller)

    def _new_kinds(self, cases: Iterable[Case]) -> list[str]:
        """Try these cases; return the kinds of failures of which one of them is the plainest."""
        known = {kind: same[0] for kind, same in self._failures.items()}
        self._trials.each(cases)
        return [kind for kind, same in self._failures.items() if same[0] is not known.get(kind)]

    def _seeded(self, source: CaseSource) -> Iterator[Case]:
        """Yield the cases of as many seeds as examples are wanted; stop when no values are found."""
        names = f"{self.server.settings.seed} {self.target.name} {self.label}"
        first = int.from_bytes(blake2b(names.encode(errors="surrogatepass"), digest_size=8).digest())
        failed = 0
        for number in range(self._examples):
            try:
                yield source.case(first * MAX_CASES_PER_SEED + number)
            except NoExample:
                failed += 1
                if failed == self._budget.max_failed_draws:
                    return
            else:
                failed = 0

    # Shrinking

    def shrink(self, source: CaseSource, kinds: Sequence[str]) -> None:
        """Shrink the failures of some kinds with Hypothesis, starting from other cases or from their own."""
        for kind in self._to_shrink(kinds):
            failed = self._failures[kind][0]
            if self._is_repeatable(failed):
                self._trials.allow_shrinking()
                case = failed.case
                if not self._shrunk(source.like(case), kind) and case.seed is not None:
                    self._shrunk(source.variations(case.seed), kind)
                self._remember(self._failures[kind][0].case)

    def shrink_edges(self, kinds: Sequence[str], smaller: Smaller) -> None:
        """Replace the failures of some kinds by the smallest case that ``smaller`` finds next to each."""
        for kind in self._to_shrink(kinds):
            if self._is_repeatable(self._failures[kind][0]):
                self._trials.allow_shrinking()
                found = smaller(self._failures[kind][0].case, partial(self._fails, kind))
                self._failures[kind].insert(0, self._trials.whole(found, kind))
                self._remember(found)

    def _to_shrink(self, kinds: Sequence[str]) -> list[str]:
        """Return the kinds of which the report shows a case: of those merged, the others are only named.

        An advisory failure of a value that was not drawn is plain as it is.
        """
        shown = [same[0] for same in self._reported()]
        found = [kind for kind in kinds if self._failures[kind][0] in shown and not self._is_plain(kind)]
        return found[: self._budget.max_kinds_shrunk]

    def _is_plain(self, kind: str) -> bool:
        same = self._failures[kind]
        return same[0].failure.advisory and any(one.case.seed is None for one in same)

    def _shrunk(self, cases: SearchStrategy[Case], kind: str) -> bool:
        """Find and shrink a failure of a kind; return whether one was found."""
        with suppress(NoSuchExample, Unsatisfiable):
            smallest = self._smallest(cases, partial(self._fails, kind))
            self._failures[kind].insert(0, self._trials.whole(smallest, kind))
            return True
        return False

    def _fails(self, kind: str, case: Case) -> bool:
        """Return whether a case fails in this way; False for a new one when the budget is spent."""
        if self._trials.is_spent and self._trials.is_new(case):
            return False
        failed = self._trials.failed(case)
        return failed is not None and failed.failure.kind == kind

    def _smallest(self, cases: SearchStrategy[Case], fails: Callable[[Case], bool]) -> Case:
        """Return the plainest case that fails; raise `NoSuchExample` or `Unsatisfiable` if none is found.

        The search ends with the budget, or after `CaseBudget.max_own_seconds_shrinking`.
        """
        several = st.lists(
            cases, min_size=1, max_size=self._budget.max_cases_per_example, unique_by=lambda case: case.text
        )
        source = random.Random(self.server.settings.seed)  # noqa: S311
        plainest: list[Case] = []

        def has_failure(some: Sequence[Case]) -> bool:
            with held():
                failing = list(islice(filter(fails, some), 1))
                plainest[:] = sorted((*plainest, *failing), key=lambda case: len(case.text))[:1]
            if self._trials.is_spent and not failing:
                raise _SpentError
            return bool(failing)

        try:
            with Deadline(self._budget.max_own_seconds_shrinking):
                found = find(several, has_failure, settings=self._settings(), random=source)
        except (_SpentError, TookTooLong):
            if not plainest:
                raise NoSuchExample("nothing was found in time") from None
            return plainest[0]
        return next(filter(fails, found))

    def _is_repeatable(self, failed: FailedCase) -> bool:
        """Return whether a failure can be shrunk: it does not depend on earlier requests.

        A wrong answer is first seen again in the process that all share for this: a start may take seconds.
        """
        if failed.beside:
            return False
        reproduction = self._trials.reproduction
        return (
            failed.is_silence or reproduction.is_repeated(failed) or reproduction.fails_in_isolation(failed)
        )

    def _key(self) -> bytes:
        """Return the database key of failing values: the server's name and the target, but no path."""
        names = (self.server.surface.server_name, self.server.revision, self.target.name, self.label)
        shown = self.server.settings.redaction(" ".join(("mcp-conformance", *names)))
        return shown.encode(errors="surrogatepass")

    def _remember(self, case: Case) -> None:
        """Save a failing value for the next run, unless it has a credential."""
        if not self.server.settings.redaction.hides(case.text.decode("utf-8", "surrogateescape")):
            self._database.save(self._key(), case.text)

    def _settings(self) -> settings:
        return settings(
            max_examples=math.ceil(self._examples / self._budget.cases_per_example),
            # How long a call takes is the server's, and judged elsewhere.
            deadline=None,
            database=None,  # a seeded search has none
            # A filter that rejects many values is the schema's, not a fault of ours.
            suppress_health_check=list(HealthCheck),
            # Without the phase that explains: it took 90 starts more, and the report does not show it.
            phases=[Phase.generate, Phase.shrink],
        )

    @property
    def _database(self) -> ExampleDatabase:
        """The database of failing values, as JSON text.

        A repository may ship one in `.hypothesis`: no tool that may write is called with what is there.
        """
        found, asked = self.server.settings.database, {"id": 0, "method": self.target.method}
        if found is None and self.server.surface.only_reads({**asked, "params": self.target.fixed}):
            found = settings().database
        return safe(found, self._key()) if found is not None else InMemoryExampleDatabase()

    # Reporting

    @property
    def kinds(self) -> set[str]:
        """The kinds of failures found."""
        return set(self._failures)

    def begin_confirming(self) -> None:
        """Begin to confirm missing answers, whose long timeouts pass until the `report`."""
        for same in self._reported():
            self._trials.reproduction.begin(same)

    def _reported(self) -> list[list[FailedCase]]:
        """Return the failures by kind, the worst first."""
        kinds = self._failures.values()
        worst_first = sorted(kinds, key=lambda same: (same[0].reply.fault is None, same[0].is_advisory))
        return _merged(worst_first)[: self._budget.max_kinds_reported]

    def report(self) -> None:
        """Raise the worst of the failures, with the others in it; nothing if there are none.

        Raises `Finding`, or `Blocked` if a request that is not hostile got no answer.
        """
        self._trials.count_left_out()
        reproductions = self._trials.reproduction.reproductions(self._reported())
        verdicts = [self._verdict(same, reproduction) for same, reproduction in reproductions]
        if verdicts:
            raise verdicts[0].with_others(verdicts[1:])

    def _verdict(self, same: list[FailedCase], reproduction: Reproduction) -> Finding | Blocked:
        more = f"{self._grade(same[0])}{_likewise(same)}"
        return self._trials.reproduction.verdict(same[0], reproduction, self.label, more)

    def _grade(self, failed: FailedCase) -> str:
        """Return how a tool took invalid arguments that it accepted, in brackets; empty if unknown."""
        if failed.case.wrong is None or not failed.was_accepted:
            return ""
        how = grade(self._call, failed.case.wrong, failed.reply, self._is_valid)
        return f" ({how})" if how else ""

    def _is_valid(self, arguments: Any) -> bool:
        """Return whether arguments of the target's tool are valid."""
        tool = next(tool for tool in self.server.tools if tool.name == self.target.tool)
        return not instance_errors(arguments, tool.input_schema, self.server.revision)

    def _call(self, arguments: Any) -> Reply:
        return self.target.ask(self.server.shared(FUZZED), encode(arguments), self._trials.answer_seconds)


def _merged(kinds: Iterable[list[FailedCase]]) -> list[list[FailedCase]]:
    """Return the failures by kind; those that accept invalid arguments are one kind if they are as severe.

    A tool that accepts any type need not be said to repair some values.  What a parser drops and what takes a
    tool too long are two kinds.
    """
    found = list(kinds)
    takes_any_type = any(_accepts_a_type(one) for same in found for one in same)
    merged: dict[Any, list[FailedCase]] = {}
    for same in found:
        failure = same[0].failure
        is_lenient = failure.advisory and not takes_any_type
        kind = (VALIDATED, is_lenient) if failure.requirement == VALIDATED else failure.kind
        for one in same:
            is_read = one.case.hostile and value_name(one.case.name) in SLOW_AT_MOST
            merged.setdefault((kind, is_read), []).append(one)
    return list(merged.values())


def _accepts_a_type(failed: FailedCase) -> bool:
    """Return whether a tool has accepted a value of a type that no lenient reader makes the right one."""
    wrong, failure = failed.case.wrong, failed.failure
    is_certain = failure.requirement == VALIDATED and not failure.advisory
    return is_certain and wrong is not None and wrong.keyword == "type"


def _likewise(same: Sequence[FailedCase]) -> str:
    """Return what else failed in the same way, in brackets."""
    _, *others = list(dict.fromkeys(filter(None, map(_title, same)))) or [""]
    more = f" and {len(others) - MAX_NAMES_SHOWN} more" if len(others) > MAX_NAMES_SHOWN else ""
    how = "accepted too" if same[0].was_accepted else "so did"
    return f" ({how}: {', '.join(others[:MAX_NAMES_SHOWN])}{more})" if others else ""


def _title(failed: FailedCase) -> str:
    """Return the name of a value, or what is wrong with arguments that were accepted; empty for others."""
    wrong = failed.case.wrong if failed.was_accepted else None
    return failed.case.name if wrong is None else fault_of(wrong)
