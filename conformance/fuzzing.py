"""Fuzzing one tool: values in, verdicts out, and a failure confirmed, shrunk and kept before it is told."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample, Unsatisfiable
from hypothesis.strategies import SearchStrategy

from conformance.dialects import Unjudgeable, instance_errors
from conformance.revisions import CONTENT_TYPES, has_content
from conformance.server import Call, Server
from conformance.session import Closed, Reply, Session, Silence
from conformance.surface import Tool
from conformance.transcript import Transcript, reduced
from conformance.verdict import Blocked, Finding, NotExercised
from conformance.wire import encode, shorten, show

ANSWERED = "jsonrpc.response-every-request"
PATIENCE = 1.0
MOST_DEATHS = 30
MOST_SILENCES = 5
MOST_FAILURES = 3
FLAKY = " (it happened once, and not again on a fresh server: flaky)"


@dataclass(frozen=True)
class Problem:
    """What is wrong with an answer: the rule it breaks, what was due, and its ``kind``."""

    requirement: str
    expected: str
    kind: str


Judge = Callable[[Tool, str, Reply], Problem | None]
"""Tells what is wrong with the answer a tool gave in a revision; None if nothing is."""


def survival(tool: Tool, revision: str, reply: Reply) -> Problem | None:
    """The judge of any arguments: an answer must come."""
    del tool, revision
    if isinstance(reply.fault, Closed):
        return Problem(ANSWERED, "an answer", f"dies {reply.fault.exit_code}")
    if reply.fault is not None:
        return Problem(ANSWERED, "an answer", "never answers")
    return None


def handled(tool: Tool, revision: str, reply: Reply) -> Problem | None:
    """The judge of valid arguments: a tool result comes, in the right shape, as the output schema says."""
    problem = survival(tool, revision, reply)
    if problem is not None or reply.code == -32042:
        return problem
    if reply.error is not None:
        id = "tools.call.schema-honest" if reply.code == -32602 else "tools.call.execution-error-as-result"
        return Problem(id, "a tool result", f"error {show(reply.code)}")
    return _result_problem(tool, revision, reply.result)


def _result_problem(tool: Tool, revision: str, result: Any) -> Problem | None:
    if not isinstance(result, dict) or not has_content(revision):
        return None
    content = result.get("content")
    if not isinstance(content, list):
        return Problem("tools.call.result-content-array", "an array in content", "no content")
    types = {block.get("type") if isinstance(block, dict) else None for block in content}
    if strange := types - CONTENT_TYPES[revision]:
        return Problem("tools.call.content-known-type", "known content types", f"content {strange}")
    if not isinstance(result.get("isError", False), bool):
        return Problem("tools.call.is-error-boolean", "true or false in isError", "isError")
    return None if result.get("isError") else _structured_problem(tool, revision, result)


def _structured_problem(tool: Tool, revision: str, result: dict[str, Any]) -> Problem | None:
    schema = tool.output_schema
    if schema is None or revision < "2025-06-18":
        return None
    if "structuredContent" not in result:
        return Problem("tools.structured.present", "structuredContent", "no structuredContent")
    try:
        errors = instance_errors(result["structuredContent"], schema.json, revision)
    except Unjudgeable:
        return None
    if not errors:
        return None
    kind = re.sub(r"'[^']*'|\"[^\"]*\"|-?\d+(\.\d+)?", "_", errors[0])
    return Problem("tools.structured.conforms", f"what the output schema says ({errors[0]})", kind)


def refused(tool: Tool, revision: str, reply: Reply) -> Problem | None:
    """The judge of invalid arguments: they are refused, in a result or in an error."""
    problem = survival(tool, revision, reply)
    if problem is not None or reply.error is not None or reply.is_tool_error:
        return problem
    return Problem("tools.call.inputs-validated", "a refusal", "accepts")


# Running -----------------------------------------------------------------------------------------


@dataclass
class Fuzzer:
    """Fuzzing of one tool with one judge.

    ``label`` names what is being tried, ``seed`` makes the choices repeatable.  The tool's answers so far are
    remembered, so that no arguments are sent twice.
    """

    server: Server
    call: Call
    judge: Judge
    label: str
    seed: int = 0
    examples: int = 30
    _outcomes: dict[bytes, tuple[Reply, Problem | None]] = field(default_factory=dict)
    _failures: dict[str, bytes] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _deaths: int = 0
    _silences: int = 0

    def __post_init__(self) -> None:
        if self.judge is handled:
            problem = handled(self.call.tool, self.server.revision, self.call.reply)
            self._known = {problem.kind} if problem is not None else set()

    def try_each(self, cases: Iterable[tuple[str, bytes]]) -> None:
        """Try arguments given as JSON text, each with a name; what fails under one name is told once."""
        for name, arguments in cases:
            self.problem(arguments, name)
            if self._spent():
                return

    def try_each_once(self, cases: Iterable[tuple[str, bytes]]) -> None:
        """Try cases that do not depend on the tool: what failed with one is not tried with others."""
        failed = self.server.failed_cases
        for what, arguments in cases:
            name = what.partition(" as ")[0]
            if name not in failed and self.problem(arguments, name) is not None:
                failed.add(name)
            if self._spent():
                return

    def search(self, strategy: SearchStrategy[Any]) -> None:
        """Try arguments that Hypothesis makes, and shrink what fails; each kind of failure once."""
        for _ in range(MOST_FAILURES):
            found = self._find(strategy)
            if found is None:
                return
            self._known.add(found)

    def _find(self, strategy: SearchStrategy[Any]) -> str | None:
        target: list[str] = []

        def fails(arguments: Any) -> bool:
            problem = self.problem(encode(arguments))
            if problem is None or problem.kind in self._known or self._spent():
                return False
            target.append(problem.kind)
            return problem.kind == target[0]

        try:
            smallest = find(
                strategy,
                fails,
                settings=self._settings(),
                random=random.Random(self.seed),  # noqa: S311
                database_key=self._key(),
            )
        except (NoSuchExample, Unsatisfiable):
            return target[0] if target else None
        self._failures[target[0]] = encode(smallest)
        return target[0]

    def _key(self) -> bytes:
        """Where failing examples are stored: by server and tool, not by a place on this machine."""
        names = (self.server.surface.server_name, self.server.revision, self.call.tool.name, self.label)
        return " ".join(("mcp", *names)).encode()

    def _settings(self) -> settings:
        return settings(
            max_examples=self.examples,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.reuse, Phase.generate, Phase.shrink],
        )

    def problem(self, arguments: bytes, name: str = "") -> Problem | None:
        """What is wrong with the tool's answer to these arguments; they are sent at most once.

        Problems of cases that have a ``name`` are equal only if that is the same too.
        """
        if arguments not in self._outcomes:
            reply = self._ask(arguments)
            problem = self.judge(self.call.tool, self.server.revision, reply)
            if problem is not None and name:
                problem = replace(problem, kind=f"{problem.kind} {name}")
            self._outcomes[arguments] = reply, problem
            self._count(reply)
            if problem is not None and problem.kind not in self._known:
                smaller = self._failures.get(problem.kind)
                if smaller is None or len(arguments) < len(smaller):
                    self._failures[problem.kind] = arguments
        return self._outcomes[arguments][1]

    def _ask(self, arguments: bytes) -> Reply:
        return ask(self.server.fuzz_session, self.call.tool, arguments, self._patience)

    @property
    def _patience(self) -> float:
        """How long an answer may take before it is doubted; doubts are settled with the user's timeout."""
        return min(self.server.settings.timeout, max(PATIENCE, 20 * self.call.reply.seconds))

    @property
    def _certainty(self) -> float:
        """How long an answer may take in the end: what the user allows, less for hostile arguments."""
        timeout = self.server.settings.timeout
        return min(timeout, 5 * self._patience) if self.judge is survival else timeout

    def _count(self, reply: Reply) -> None:
        self._deaths += isinstance(reply.fault, Closed)
        self._silences += reply.fault is not None and not isinstance(reply.fault, Closed)

    def _spent(self) -> bool:
        return self._deaths > MOST_DEATHS or self._silences > MOST_SILENCES

    # Telling

    def report(self) -> None:
        """Raise for the failures found: a `Finding`, or `Blocked` where no answer came; nothing if none."""
        told = [self._story(arguments) for arguments in self._failures.values()]
        stories = [story for story in told if story is not None]
        if not stories:
            return
        worst = max(stories, key=lambda story: isinstance(story, Blocked))
        others = [str(story) for story in stories if story is not worst]
        if others and isinstance(worst, Finding):
            worst.got += "".join(f"\nalso: {other}" for other in others)
        elif others and isinstance(worst, Blocked):
            worst.reason += "".join(f"\nalso: {other}" for other in others)
        raise worst

    def _story(self, arguments: bytes) -> Finding | Blocked | None:
        reply, problem = self._outcomes[arguments]
        assert problem is not None
        lines, how = self._confirm(problem, arguments, reply)
        if how == FLAKY and isinstance(reply.fault, Silence):
            return None  # it was only slow
        shown = shorten(arguments.decode("utf-8", "backslashreplace"), 200)
        got = f"{self.label} {shown}: {reply}{how}{self._keep(lines, problem, shown)}"
        if isinstance(reply.fault, Closed) or (reply.fault is not None and self.judge is not survival):
            return Blocked(got, lines, reply.fault.stderr, problem.requirement, self.call.tool.name)
        return Finding(problem.expected, got, lines, problem.requirement)

    def _confirm(self, problem: Problem, arguments: bytes, reply: Reply) -> tuple[Sequence[Any], str]:
        """Whether the call fails on a fresh server too, and if not, which calls before it make it fail."""
        if self._fails_after([arguments], problem):
            return reply.lines, ""
        before = list(self._outcomes)
        history = [*before[: before.index(arguments)], arguments]
        if not self._fails_after(history, problem):
            return reply.lines, FLAKY
        history = reduced(history, lambda calls: self._fails_after(calls, problem))
        return self._last_lines, f" (on a fresh server, after {len(history) - 1} other calls)"

    _last_lines: Sequence[Any] = ()

    def _fails_after(self, calls: Sequence[bytes], problem: Problem) -> bool:
        try:
            with self.server.fresh() as session:
                reply = None
                for arguments in calls:
                    reply = ask(session, self.call.tool, arguments, self._certainty)
                    if session.closed:
                        break
                assert reply is not None
                again = self.judge(self.call.tool, self.server.revision, reply)
                self._last_lines = tuple(session.lines[2:])
        except (NotExercised, Blocked):
            return False
        return again is not None and problem.kind.startswith(again.kind)

    def _keep(self, lines: Sequence[Any], problem: Problem, shown: str) -> str:
        """Write the conversation down for ``mcp-conformance replay``."""
        settings = self.server.settings
        name = re.sub(r"\W+", "-", f"{problem.requirement} {self.call.tool.name} {problem.kind}").strip("-")[
            :80
        ]
        path = Path(settings.transcripts, f"{name}.jsonl")
        about = f"{problem.requirement}: {self.call.tool.name} {shown}"
        opening = self.server.surface.hello
        try:
            Transcript(settings.command, self.server.revision, about, (*opening, INITIALIZED, *lines)).write(
                path
            )
        except OSError as error:
            return f"; no transcript: {error}"
        return f"; to see it again: mcp-conformance replay {path}"


def ask(session: Session, tool: Tool, arguments: bytes, timeout: float) -> Reply:
    """Call a tool with arguments that are given as JSON text, right or wrong; empty text leaves them out."""
    member = b',"arguments":' + arguments if arguments else b""
    sent = session.send_text("tools/call", b'{"name":' + json.dumps(tool.name).encode() + member + b"}")
    return session.await_reply(sent, timeout, alone=True)


INITIALIZED = Session.line_of({"jsonrpc": "2.0", "method": "notifications/initialized"})
