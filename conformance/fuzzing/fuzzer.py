"""Fuzz one request parameter: generate values, judge answers, then shrink, reproduce and report failures."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, InMemoryExampleDatabase
from hypothesis.errors import NoSuchExample, Unsatisfiable
from hypothesis.strategies import SearchStrategy

from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.fuzzing.fuzz_target import FuzzTarget
from conformance.fuzzing.oracles import Case, Oracle, grade
from conformance.fuzzing.reproduction import FailedCase, Reproducer, Reproduction, shown_text
from conformance.protocol.jsonrpc import encode
from conformance.target.server import Server
from conformance.target.settings import FUZZ_EXAMPLES
from conformance.verdicts import Blocked, Finding

MIN_HOSTILE_SECONDS = 0.1
MIN_ANSWER_SECONDS = 1.0
"""An answer counts as missing after this time, or after 20 times the tool's usual time."""
CASES_PER_EXAMPLE = 4
"""The average number of cases in one example of Hypothesis: faster than one at a time."""
MAX_CASES_PER_EXAMPLE = 10
MAX_DEATHS = 12
MAX_DEATHS_SHRINKING = 40
MAX_SILENCES = 6
MAX_KINDS_SEARCHED = 3
MAX_KINDS_REPORTED = 8
MAX_NAMES_SHOWN = 8
ALL_TOOLS_SECONDS = 60.0
"""The time for which a slow server answers while all its tools are fuzzed; more examples get more time.

Only the server's time counts: a busy machine tries as many values as an idle one.
"""
MIN_SECONDS = 3.0
MIN_SHRINKING_SECONDS = 15.0
"""The least time for which the server answers while a failure is shrunk."""


@dataclass
class Fuzzer:
    """The fuzzing of one target.

    ``label`` names the kind of values.  Failures of the kinds in ``known`` are not reported.  No value is
    sent twice.
    """

    server: Server
    target: FuzzTarget
    label: str
    known: set[str] = field(default_factory=set)
    _outcomes: dict[bytes, FailedCase | None] = field(default_factory=dict)
    _failures: dict[str, list[FailedCase]] = field(default_factory=dict)
    _seconds_left: float = field(init=False)
    _deaths: int = 0
    _max_deaths: int = MAX_DEATHS
    _silences: int = 0

    def __post_init__(self) -> None:
        timeout = self.server.settings.timeout
        self._examples = self.server.settings.examples
        share = max(MIN_SECONDS, ALL_TOOLS_SECONDS / (1 + 3 * len(self.server.tools)))
        self._seconds_left = share * max(1.0, self._examples / FUZZ_EXAMPLES["quick"])
        self._answer_seconds = min(timeout, max(MIN_ANSWER_SECONDS, 20 * self.target.seconds))
        self._reproducer = Reproducer(self.server, self.target, self._answer_seconds)

    # Trying

    def try_again(self, remembered: Callable[[Any], Case | None]) -> None:
        """Try values that failed in earlier runs; ``remembered`` makes a case of one, None if stale."""
        for text in self._database.fetch(self._key()):
            try:
                case = remembered(json.loads(text))
            except ValueError:
                case = None
            if case is None or self._failed(case) is None:
                self._database.delete(self._key(), text)

    def try_each(self, cases: Iterable[Case]) -> None:
        """Try these cases; the smallest case of each kind of failure is reported."""
        for case in cases:
            if self._is_spent:
                return
            self._failed(case)

    def try_hostile(self, named: Iterable[tuple[str, bytes | None]], oracle: Oracle) -> None:
        """Try hostile values (name, JSON text or None), except those that failed with another target."""
        failed = self.server.failed_cases
        self.try_each(
            Case(text or b"", oracle, what, hostile=True) for what, text in named if what not in failed
        )
        failed |= {one.case.name for same in self._failures.values() for one in same if one.case.name}

    def search(self, cases: SearchStrategy[Case]) -> set[str]:
        """Try cases that Hypothesis makes, shrink failures of a few kinds, and return these kinds."""
        sought: set[str] = set()
        for _ in range(MAX_KINDS_SEARCHED):
            kind = self._find(cases, sought)
            if not kind:
                break
            sought.add(kind)
        return sought

    def _find(self, cases: SearchStrategy[Case], sought: set[str]) -> str:
        """Find and shrink a failure of a kind not sought before; return its kind, empty if there is none."""
        target = ""

        def fails(case: Case) -> bool:
            nonlocal target
            if _digest(case) not in self._outcomes and self._is_spent:
                return False
            failed = self._failed(case)
            if failed is None or failed.failure.kind in sought:
                return False
            if not target and not self._is_repeatable(failed):
                sought.add(failed.failure.kind)
                return False
            if not target:
                target = failed.failure.kind
                self._seconds_left = max(self._seconds_left, MIN_SHRINKING_SECONDS)
                self._max_deaths = self._deaths + MAX_DEATHS_SHRINKING
            return failed.failure.kind == target

        with suppress(NoSuchExample, Unsatisfiable):
            smallest = self._whole(self._smallest(cases, fails))
            self._failures[target].insert(0, smallest)
            self._database.save(self._key(), smallest.case.text)
        return target

    def _whole(self, case: Case) -> FailedCase:
        """Return the failure of a case; send the case again if its long answer was dropped."""
        failed = self._outcomes[_digest(case)]
        assert failed is not None
        again = self._try(case) if failed.is_brief else None
        return again if again is not None and again.failure.kind == failed.failure.kind else failed

    def _smallest(self, cases: SearchStrategy[Case], fails: Callable[[Case], bool]) -> Case:
        """Return the plainest case that fails; raise `NoSuchExample` or `Unsatisfiable` if none is found."""
        several = st.lists(
            cases, min_size=1, max_size=MAX_CASES_PER_EXAMPLE, unique_by=lambda case: case.text
        )
        source = random.Random(self.server.settings.seed)  # noqa: S311
        found = find(several, lambda some: any(map(fails, some)), settings=self._settings(), random=source)
        return next(filter(fails, found))

    def _is_repeatable(self, failed: FailedCase) -> bool:
        """Return whether a failure can be shrunk: it does not depend on earlier requests."""
        return failed.is_silence or self._reproducer.fails_in_isolation(failed)

    def _key(self) -> bytes:
        """Return the database key of failing values: the server's name and the target, but no path."""
        names = (self.server.surface.server_name, self.server.revision, self.target.name, self.label)
        return " ".join(("mcp-conformance", *names)).encode(errors="surrogatepass")

    def _settings(self) -> settings:
        return settings(
            max_examples=math.ceil(self._examples / CASES_PER_EXAMPLE),
            deadline=None,
            database=None,  # a seeded search has none
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )

    @property
    def _database(self) -> ExampleDatabase:
        """The database of failing values, as JSON text."""
        return settings().database or InMemoryExampleDatabase()

    def _failed(self, case: Case) -> FailedCase | None:
        """Return the failure of a case, None if it passes; send it the first time only."""
        key = _digest(case)
        if key not in self._outcomes:
            failed = self._outcomes[key] = self._try(case)
            if failed is not None:
                self._file(failed)
        return self._outcomes[key]

    def _file(self, failed: FailedCase) -> None:
        """Add a failure to those of its kind, the plainest first; keep a long answer only of that one."""
        same = self._failures.setdefault(failed.failure.kind, [])
        is_plainer = not same or len(failed.case.text) < len(same[0].case.text)
        for one in same[:1] if is_plainer else [failed]:
            one.drop_long_reply()
        same.insert(0 if is_plainer else len(same), failed)

    def _try(self, case: Case) -> FailedCase | None:
        begun = self.server.clock.monotonic()
        session = self.server.fuzzing_session
        reply = self._ask(session, case)
        self._seconds_left -= self.server.clock.monotonic() - begun
        failure = case.oracle(reply)
        if failure is None or failure.kind in self.known:
            return None
        failed = FailedCase(case, failure, reply, session.lines, len(session.lines))
        self._deaths += failed.is_death
        self._silences += failed.is_silence
        return failed

    def _ask(self, session: Session, case: Case) -> Reply:
        """Send a case and return the reply; end a process that answers neither the case nor a ping.

        A hostile value gets a short time; if it is not answered then, it is sent again in the end, and gets
        a longer one.
        """
        brief = max(MIN_HOSTILE_SECONDS, 10 * self.target.seconds)
        sent = self.target.send(session, case.text)
        reply = session.await_reply(
            sent, min(self._answer_seconds, brief) if case.hostile else self._answer_seconds, alone=True
        )
        if reply.fault is None or session.closed:
            return reply
        ping = session.request(session.liveness_method, timeout=self._answer_seconds)
        if ping.fault is not None:
            session.close()
        session.is_silent = False
        return session.await_reply(sent, 0.0, alone=True) if session.is_answered(sent) else reply

    @property
    def _is_spent(self) -> bool:
        return self._seconds_left < 0 or self._deaths > self._max_deaths or self._silences > MAX_SILENCES

    # Reporting

    @property
    def kinds(self) -> set[str]:
        """The kinds of failures found."""
        return set(self._failures)

    def report(self) -> None:
        """Raise the worst of the failures, with the others in it; nothing if there are none.

        Raises `Finding`, or `Blocked` if a request that is not hostile got no answer.
        """
        kinds = sorted(
            self._failures.values(), key=lambda same: (same[0].reply.fault is None, same[0].is_advisory)
        )
        reproductions = self._reproducer.reproductions(kinds[:MAX_KINDS_REPORTED])
        verdicts = [self._verdict(same, reproduction) for same, reproduction in reproductions]
        if verdicts:
            raise verdicts[0].with_others(verdicts[1:])

    def _verdict(self, same: list[FailedCase], reproduction: Reproduction) -> Finding | Blocked:
        failed, lines = same[0], reproduction.lines
        failure, reply, text = failed.failure, failed.reply, failed.case.text
        written = self._reproducer.write(failure, text, reproduction.conversations)
        more = f"{reproduction.how}{self._grade(failed)}{_likewise(same)}{written}"
        got = f"{self.label} {shown_text(text)}: {reply}{more}"
        id, paths = failure.requirement, written.paths
        if failed.is_death or (failed.is_silence and not failed.case.hostile):
            stderr = reply.fault.stderr if reply.fault is not None else ""
            fault = reply.fault if reproduction.how else None  # a failure in isolation is always reported
            return Blocked(got, lines, stderr, id, self.target.tool, fault=fault, transcripts=paths)
        return Finding(failure.expected, got, lines, id, advisory=failure.advisory, transcripts=paths)

    def _grade(self, failed: FailedCase) -> str:
        """Return how a tool took invalid arguments that it accepted, in brackets; empty if unknown."""
        if failed.case.wrong is None or not failed.was_accepted:
            return ""
        how = grade(self._call, failed.case.wrong, failed.reply)
        return f" ({how})" if how else ""

    def _call(self, arguments: Any) -> Reply:
        return self.target.ask(self.server.fuzzing_session, encode(arguments), self._answer_seconds)


def _digest(case: Case) -> bytes:
    """Return a short key for the value of a case."""
    return blake2b(case.text, digest_size=16).digest()


def _likewise(same: Sequence[FailedCase]) -> str:
    """Return the names of other values that failed in the same way, in brackets."""
    names = list(dict.fromkeys(one.case.name for one in same if one.case.name))
    return f" (so did: {', '.join(names[1 : 1 + MAX_NAMES_SHOWN])})" if len(names) > 1 else ""
