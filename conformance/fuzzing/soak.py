"""Calling tools at full speed, many calls under way at once; what fails is looked into there and then."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice

from conformance.client.reply import Closed, Reply
from conformance.client.session import Session
from conformance.client.tool_call import Tool, call_in
from conformance.fuzzing.fuzzer import Fuzzer
from conformance.fuzzing.oracles import Problem
from conformance.fuzzing.reduction import reduced
from conformance.fuzzing.reproduction import Prover
from conformance.fuzzing.soak_calls import Drill, Shot
from conformance.generation import NoExample
from conformance.protocol.jsonrpc import Line
from conformance.protocol.text import shorten
from conformance.target.server import Server
from conformance.verdicts import Blocked, Finding, Skipped

WINDOW = 32
"""How many calls are under way at once."""
MOST_LINES = 20_000
"""After how many lines of a conversation they are forgotten."""
MOST_KINDS = 3
"""How many kinds of problems with one rule are looked into for one tool."""
MOST_SLOW = 3
"""How often a tool may be much slower than usual before it is left out."""
EXAMPLES = 200
"""How many arguments Hypothesis tries to find the smallest that fail."""
PASTS = (10, 100, 1_000, 10_000)
"""How many calls, up to the one that failed, are made again if that one does not fail alone."""
LOOKING = 60.0
"""For how many seconds ever more of them are made again, and for how many then ever fewer."""
TRIES = 20
MOST_PROCESSES = 50
"""How many times a process may end before no more calls are tried one by one to find out which ended it."""
PING = 2.0
UNANSWERED, ENDS = "it leaves calls unanswered", "its calls end the server"


@dataclass(frozen=True)
class Told:
    """What was found out, at which call and of which tool."""

    number: int
    tool: str
    what: Finding | Blocked


@dataclass(frozen=True)
class Failed:
    """A call that failed, with the line that made it, what came of it and what is wrong with that."""

    shot: Shot
    line: Line
    reply: Reply
    problem: Problem


@dataclass(frozen=True)
class Again:
    """A failure seen again, and the conversation up to it."""

    failed: Failed
    lines: Sequence[Line]


class Soak:
    """The soaking of one server.

    The arguments of a call depend on the seed and on its number alone.  ``left_out`` names the tools that
    are not called any more: since which number, and why.  ``repeats`` counts failures that were known.
    """

    def __init__(self, server: Server):
        self.server = server
        self.seed = server.settings.seed
        self.drills: list[Drill] = []
        self.left_out: dict[str, tuple[int, str]] = {}
        self.calls = self.processes = self.repeats = 0
        self._next = self._first = 0
        self._is_over = False
        self._under_way: deque[tuple[Shot, Line]] = deque()
        self._session: Session | None = None
        self._known: set[tuple[str, str]] = set()
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._deaths: set[str] = set()
        self._slow: Counter[str] = Counter()

    def run(self, until: float) -> Iterator[Told | None]:
        """Call the tools until it is ``until`` (in monotonic seconds): what is found, None for each call."""
        try:
            yield from self._begin(until)
            self._end()  # what was called first belongs to no number
            while (session := self._filled(until)) is not None:
                shot, line = self._under_way.popleft()
                yield from self._judged(shot, line, session.await_reply(line, shot.drill.patience))
        except Blocked as error:
            yield Told(self._next, "", error)
        except Skipped:
            return  # the server no longer starts, which was told

    # Calling

    @property
    def callable_tools(self) -> list[Tool]:
        """The tools that may be called, each name once."""
        named = {tool.name: tool for tool in self.server.tools if tool.name}
        return [tool for tool in named.values() if self.server.settings.may_call(tool)]

    @property
    def _conversation(self) -> Session:
        """The conversation, in a new process when there is none."""
        if self._session is not None and self._session.closed:
            self._end()
        if self._session is None:
            self._session = self.server.connect()
            self._first = self._next
            self.processes += 1
        return self._session

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
            self.server.sessions.remove(self._session)
            self._session = None

    def _begin(self, until: float) -> Iterator[Told | None]:
        """Call each tool once, with nothing else under way."""
        for tool in self.callable_tools:
            if time.monotonic() > until:
                self._leave_out(tool.name, "there was no time for it")
                continue
            support = tool.definition.get("execution", "taskSupport")
            if support is not None and support.json == "required":
                self._leave_out(tool.name, "it can only be called as a task")
                continue
            try:
                arguments = self.server.arguments(tool)
            except NoExample as error:
                self._leave_out(tool.name, f"no valid arguments are known: {error}")
                continue
            call = call_in(self._conversation, tool, arguments)
            drill = Drill(self.server, call)
            if call.reply.fault is not None:
                reason = f"tools/call of {tool.name} was not answered: {call.reply.fault}"
                lines, stderr = call.reply.lines, call.reply.fault.stderr
                what = Blocked(reason, lines, stderr, "tools.call.listed-is-callable", tool.name)
                self._leave_out(tool.name, str(call.reply.fault))
                yield Told(0, tool.name, what)
                if not self._lives():
                    self._end()
            elif self.server.is_slow(call):
                self._leave_out(tool.name, f"it takes {call.reply.seconds:.1f} s")
            else:
                self.drills.append(drill)
                yield from self._judged(drill.first, call.reply.request, call.reply)

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out.setdefault(name, (self._next, reason))
        self._is_over = all(drill.name in self.left_out for drill in self.drills)
        self._under_way = deque(one for one in self._under_way if one[0].drill.name != name)

    def _lives(self) -> bool:
        """Whether the process still answers."""
        session = self._session
        return (
            session is not None
            and not session.closed
            and session.request(session.liveness_method, timeout=session.scaled_timeout(PING)).fault is None
        )

    def _filled(self, until: float) -> Session | None:
        """The conversation with as many calls under way as there may be; None if there are none."""
        if not self._under_way:
            if self._is_over or not self.drills:
                return None
            if len(self._conversation.lines) > MOST_LINES:
                self._conversation.forget()
        session = self._session
        assert session is not None
        while len(self._under_way) < WINDOW and len(session.lines) <= MOST_LINES:
            if session.closed or self._is_over or time.monotonic() > until:
                break
            shot = self._shot(self._next)
            self._next += 1
            if shot is not None:
                self._under_way.append((shot, shot.drill.target.send(session, shot.case.text)))
        return session if self._under_way else None

    def _shot(self, number: int) -> Shot | None:
        """The call of a number; None if its tool was left out by then, or no arguments were found."""
        drill = self.drills[number % len(self.drills)]
        if number >= self.left_out.get(drill.name, (number + 1, ""))[0]:
            return None
        try:
            return drill.shot(self.seed, number)
        except NoExample:
            return None

    # Judging

    def _judged(self, shot: Shot, line: Line, reply: Reply) -> Iterator[Told | None]:
        self.calls += reply.fault is None
        problem = shot.case.judge(reply)
        if problem is None:
            yield None
        elif reply.fault is None:
            yield from self._wrong(Failed(shot, line, reply, problem))
        else:
            yield from self._lost(Failed(shot, line, reply, problem))

    def _is_known(self, failed: Failed) -> bool:
        """Whether the same was told before, or enough like it."""
        name, problem = failed.shot.drill.name, failed.problem
        is_known = (name, problem.kind) in self._known or self._kinds[name, problem.requirement] >= MOST_KINDS
        self.repeats += is_known
        return is_known

    def _wrong(self, failed: Failed) -> Iterator[Told]:
        """Look into a wrong answer."""
        if not self._is_known(failed):
            yield from self._told_alone(failed) or [self._told_after_others(failed, failed.shot.number)]

    def _lost(self, failed: Failed) -> Iterator[Told | None]:
        """Look into an answer that did not come."""
        session = self._session
        assert session is not None
        lives = self._lives()
        suspects = [failed]
        if not lives:
            under_way, self._under_way = self._under_way, deque()
            for shot, line in under_way:
                if session.is_answered(line):
                    yield from self._judged(shot, line, session.await_reply(line, 0))
                else:
                    suspects.append(replace(failed, shot=shot, line=line))
        if not self._is_known(failed):
            yield from self._explained(failed, suspects, session)
        if not lives:
            self._end()

    def _explained(
        self, failed: Failed, suspects: Sequence[Failed], session: Session
    ) -> Iterator[Told | None]:
        culprit = self._culprit(suspects) if self.processes <= MOST_PROCESSES else None
        told = self._told_alone(culprit) if culprit is not None else []
        if culprit is not None and told:
            self._leave_out(culprit.shot.drill.name, ENDS if died(culprit) else UNANSWERED)
            yield from told
            return
        late = session.await_reply(failed.line, self.server.settings.timeout)
        if late.fault is None:
            self._note_slowness(failed.shot.drill, late)
            yield from self._judged(failed.shot, failed.line, late)
        elif not died(failed):
            self._leave_out(failed.shot.drill.name, UNANSWERED)
            yield self._told_after_others(failed, self._next - 1)
        elif failed.problem.kind in self._deaths:
            self.repeats += 1
        else:
            self._deaths.add(failed.problem.kind)
            yield self._told_after_others(failed, self._next - 1)

    def _culprit(self, suspects: Sequence[Failed]) -> Failed | None:
        """The first that is not answered by a fresh process either."""
        with self._other_server() as server, server.fresh() as session:
            for one in suspects:
                drill = one.shot.drill
                reply = drill.target.ask(session, one.shot.case.text, drill.patience)
                problem = one.shot.case.judge(reply)
                if reply.fault is not None and problem is not None:
                    return replace(one, reply=reply, problem=problem)
        return None

    def _note_slowness(self, drill: Drill, reply: Reply) -> None:
        drill.patience = min(self.server.settings.timeout, 4 * drill.patience)
        self._slow[drill.name] += 1
        if self._slow[drill.name] >= MOST_SLOW:
            self._leave_out(drill.name, f"{MOST_SLOW} calls took long, the last {reply.seconds:.1f} s")

    # Telling

    def _told_alone(self, failed: Failed) -> list[Told]:
        """What comes out when the call is made on a fresh server; empty if it does not fail there."""
        shot, drill = failed.shot, failed.shot.drill
        with self._other_server() as server:
            fuzzer = Fuzzer(server, drill.target, shot.label, self._kinds_known_of(drill))
            fuzzer.try_each([shot.case])
            kinds = fuzzer.kinds
            if kinds and not kinds <= fuzzer.search(drill.cases_like(shot.case)):
                fuzzer.search(drill.variations(shot))
            try:
                fuzzer.report()
            except (Finding, Blocked) as error:
                self._remember(failed, *fuzzer.kinds)
                return [Told(shot.number, drill.name, one) for one in (error, *error.others)]
        return []

    def _told_after_others(self, failed: Failed, last: int) -> Told:
        """What comes out when the calls before it are made again too, up to the one numbered ``last``."""
        past = range(self._first, last + 1)
        shots, again = self._fewest(past, failed)
        if again is not None:
            shown, lines = again.failed, again.lines
            others = f"after {len(shots) - 1} other calls, up to {WINDOW} under way at once"
            how = f" (on a fresh server, {others})" if len(shots) > 1 else ""
        else:
            shown, lines = failed, [*self.server.surface.opening, *failed.reply.lines]
            made = min(len(past), PASTS[-1])
            how = f" (it happened once, and not again when the last {made} calls were made again: flaky)"
        self._remember(shown)
        return self._story(shown, how, lines)

    def _story(self, failed: Failed, how: str, lines: Sequence[Line]) -> Told:
        shot, problem, reply = failed.shot, failed.problem, failed.reply
        arguments = shorten(shot.case.text.decode("utf-8", "backslashreplace"), 200)
        prover = Prover(self.server, shot.drill.target, shot.drill.patience)
        kept = prover.keeper(lines)(f"{problem.requirement}: {shot.drill.name} {arguments}", problem)
        got = f"{shot.label} {arguments}: {reply}{how}{kept}"
        what: Finding | Blocked = Finding(
            problem.expected, got, reply.lines, problem.requirement, advisory=problem.advisory
        )
        if reply.fault is not None:
            what = Blocked(got, reply.lines, reply.fault.stderr, problem.requirement, shot.drill.name)
        return Told(shot.number, shot.drill.name, what)

    def _remember(self, failed: Failed, *kinds: str) -> None:
        name, problem = failed.shot.drill.name, failed.problem
        self._kinds[name, problem.requirement] += 1
        self._known |= {(name, kind) for kind in (problem.kind, *kinds)}

    def _kinds_known_of(self, drill: Drill) -> set[str]:
        return {kind for name, kind in self._known if name == drill.name}

    # Making calls again

    def _fewest(self, past: range, failed: Failed) -> tuple[Sequence[Shot], Again | None]:
        """The fewest calls found that fail in the same way on a fresh server, and what came of them."""
        until = time.monotonic() + LOOKING
        for length in PASTS:
            shots = [shot for number in past[-length:] if (shot := self._shot(number)) is not None]
            again = self._again(shots, failed)
            if again is not None:
                return self._fewer(shots, again)
            if length >= len(past) or time.monotonic() > until:
                break
        return [], None

    def _fewer(self, shots: Sequence[Shot], again: Again) -> tuple[Sequence[Shot], Again]:
        until = time.monotonic() + LOOKING
        failed = again.failed

        def fails(some: Sequence[Shot]) -> bool:
            nonlocal again
            found = self._again(some, failed) if some and time.monotonic() < until else None
            again = found or again
            return found is not None

        for drill in self.drills:
            rest = [shot for shot in shots if shot.drill is not drill]
            shots = rest if len(rest) < len(shots) and fails(rest) else shots
        return reduced(shots, fails, TRIES), again

    def _again(self, shots: Sequence[Shot], failed: Failed) -> Again | None:
        """Make calls on a fresh server: what came of them, if that is the same failure."""
        waiting: deque[tuple[Shot, Line]] = deque()
        todo = iter(shots)
        with self._other_server() as server, suppress(Skipped, Blocked), server.fresh() as session:
            while True:
                for shot in islice(todo, WINDOW - len(waiting)):
                    waiting.append((shot, shot.drill.target.send(session, shot.case.text)))
                if not waiting:
                    return None
                shot, line = waiting.popleft()
                is_same = shot.number == failed.shot.number
                seconds = self.server.settings.timeout if is_same else shot.drill.patience
                reply = session.await_reply(line, seconds)
                problem = shot.case.judge(reply)
                is_like = problem is not None and problem.kind == failed.problem.kind
                if problem is not None and is_like and (is_same or session.closed):
                    return Again(Failed(shot, line, reply, problem), session.lines)
                if reply.fault is not None:
                    return None
        return None

    @contextmanager
    def _other_server(self) -> Iterator[Server]:
        """The server apart from the soak, for what starts processes of its own."""
        server = Server(replace(self.server.settings, examples=EXAMPLES), self.server.surface)
        try:
            yield server
        finally:
            server.close()


def died(failed: Failed) -> bool:
    """Whether the process ended instead of answering."""
    return isinstance(failed.reply.fault, Closed)
