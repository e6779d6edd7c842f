"""For tests of your own: the server as a fixture, its tools as functions, strategies for their arguments.

    from conformance import for_valid_arguments

    @for_valid_arguments("add")
    def test_the_sum_is_right(add, arguments):
        assert add(**arguments).structured["sum"] == arguments["a"] + arguments["b"]

A tool that a test of yours names is called: naming it there is leave enough.
"""

from __future__ import annotations

import inspect
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import get_close_matches
from functools import wraps
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from conformance.client.reply import Reply
from conformance.client.session import NO_PARAMS, Session
from conformance.generation import NoExample, invalid_strategy, valid
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Line, encode
from conformance.protocol.text import shorten
from conformance.target.probe import opened
from conformance.target.settings import Settings
from conformance.target.surface import Subject
from conformance.transport.interface import CannotStart
from conformance.transport.sandbox import Sandbox

LINE_SHOWN = 600
STDERR_SHOWN = 1000
EXCHANGES_SHOWN = 3
MOST_LOST = 20.0
"""How many seconds a Hypothesis test may lose to requests without an answer before it tries nothing new."""
USUAL_DEADLINE = timedelta(milliseconds=200)
"""Hypothesis's own: too short for a call to another process."""
SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test."""


class NoAnswer(AssertionError):  # noqa: N818  (a test fails by it as by any assertion)
    """The server gave no answer: it died, fell silent or could not be started."""


@dataclass(frozen=True)
class McpError:
    """A JSON-RPC error."""

    code: Any
    message: Any
    data: Any = None


@dataclass(frozen=True, repr=False)
class McpResult:
    """What a request brought: a result, or a JSON-RPC `error`."""

    reply: Reply

    @property
    def error(self) -> McpError | None:
        """The JSON-RPC error; None if there is a result."""
        told = self.reply.error
        if told is None:
            return None
        members = told if isinstance(told, dict) else {}
        return McpError(members.get("code"), members.get("message", told), members.get("data"))

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed (``isError``)."""
        return self.reply.is_tool_error

    @property
    def ok(self) -> bool:
        """Whether there is a result, and no word of failure in it."""
        return self.error is None and not self.is_error

    @property
    def json(self) -> Any:
        """The whole result.  Raises `AssertionError` if there is an error instead."""
        __tracebackhide__ = True
        if self.error is not None:
            raise AssertionError(f"there is no result: {self}")
        return self.reply.result

    @property
    def structured(self) -> Any:
        """The ``structuredContent``.  Raises `AssertionError` if there is none."""
        __tracebackhide__ = True
        return self._member("structuredContent")

    @property
    def content(self) -> Any:
        """The ``content``: an array of blocks.  Raises `AssertionError` if there is none."""
        __tracebackhide__ = True
        return self._member("content")

    @property
    def text(self) -> str:
        """The texts of the content, one below the other.  Raises `AssertionError` if there is no content."""
        __tracebackhide__ = True
        blocks = [block for block in self.content if isinstance(block, dict)]
        return "\n".join(str(block["text"]) for block in blocks if "text" in block)

    def _member(self, name: str) -> Any:
        __tracebackhide__ = True
        if not isinstance(self.json, dict) or name not in self.json:
            raise AssertionError(f"there is no {name}: {self}")
        return self.json[name]

    def __repr__(self) -> str:
        return f"<{self.reply}>"


@dataclass(frozen=True, repr=False, eq=False)
class McpTool:
    """A listed tool, to be called like a function.

    ``definition`` is what ``tools/list`` says of it.
    """

    server: McpServer
    definition: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.definition["name"])

    @property
    def input_schema(self) -> Any:
        """The schema of its arguments."""
        return self.definition.get("inputSchema", {"type": "object"})

    @property
    def examples(self) -> list[dict[str, Any]]:
        """The arguments given for it with ``--mcp-example``."""
        return self.server.settings.vouched(self.name)

    def __call__(self, /, **arguments: Any) -> McpResult:
        """Call it.  Raises `NoAnswer`."""
        __tracebackhide__ = True
        return self.server.call(self.name, arguments)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


@dataclass
class Trial:
    """What a test has asked the server so far, what was said last, and the seconds lost without an answer."""

    asked: set[bytes] = field(default_factory=set)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=EXCHANGES_SHOWN))
    lost: float = 0.0


class McpServer:
    """The server under test: one process, started again after it has died or fallen silent.

    Raises `CannotStart`; any other reason why it is of no use is in `unusable`.
    """

    def __init__(self, settings: Settings, revision: str, *, exactly: bool):
        self.settings = settings
        self.trial = Trial()
        self._answered = 0
        self._last: tuple[Line, ...] = ()
        self._session: Session | None = self._launched(revision)
        try:
            self._surface = opened(settings, self._session, exactly=exactly)
        except BaseException:
            self.close()
            raise

    def _launched(self, revision: str) -> Session:
        return Session(self.settings.start(), revision=revision, timeout=self.settings.timeout)

    @property
    def unusable(self) -> str:
        """Why no test can use it; empty if nothing is wrong."""
        if self._surface.refused:
            return f"--mcp-revision: the server offers {self._surface.refused}, not {self._surface.revision}"
        if self._surface.dead:
            trouble = self._surface.failures[0]
            return _told(trouble.reason, trouble.lines, trouble.stderr)
        wrong = Subject(self.settings, (self._surface,)).error_in_samples()
        return f"--mcp-example: {wrong}" if wrong else ""

    @property
    def revision(self) -> str:
        """The revision of the protocol that was agreed on."""
        return self._surface.revision

    @property
    def tools(self) -> list[McpTool]:
        """The tools it listed when it was started first."""
        return [McpTool(self, tool.definition.json) for tool in self._surface.tools if tool.name]

    def tool(self, name: str) -> McpTool:
        """The listed tool of that name.  Raises `LookupError` if there is none."""
        __tracebackhide__ = True
        names = [tool.name for tool in self.tools]
        if name in names:
            return self.tools[names.index(name)]
        for trouble in self._surface.failures:
            raise NoAnswer(_told(trouble.reason, trouble.lines, trouble.stderr))
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names) or 'none'}"
        raise LookupError(f"the server has no tool {name!r}; {hint}")

    def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> McpResult:
        """Call a tool, listed or not, with any arguments.  Raises `NoAnswer`."""
        __tracebackhide__ = True
        return self.request("tools/call", {"name": name, "arguments": arguments or {}}, timeout=timeout)

    def request(self, method: str, params: Any = NO_PARAMS, *, timeout: float | None = None) -> McpResult:
        """Make any request.  Raises `NoAnswer`; the next request then starts the server again.

        Within a Hypothesis test that has lost `MOST_LOST` seconds in this way, only what was asked before is
        asked again: the failure is shown, but no longer shrunk.
        """
        __tracebackhide__ = True
        words = encode([method] if params is NO_PARAMS else [method, params])
        is_spent = self.trial.lost > MOST_LOST and words not in self.trial.asked
        if is_spent and hypothesis.currently_in_test_context():
            hypothesis.reject()
        self.trial.asked.add(words)
        start = self.settings.clock.monotonic()
        session = self._running()
        reply = session.request(method, params, timeout=timeout)
        if reply.fault is not None:
            self.restart()
            self.trial.lost += self.settings.clock.monotonic() - start
            reason = f"request no. {self._answered + 1} to this process was not answered: {reply.fault}"
            raise NoAnswer(_told(reason, (*self._last, *reply.lines), session.process.stderr))
        self._answered += 1
        self._last = reply.lines
        self._show(reply.lines)
        return McpResult(reply)

    def _running(self) -> Session:
        __tracebackhide__ = True
        if self._session is None:
            session = self._launched(self.revision)
            hello = session.open(self.settings.start_timeout)
            if hello.value is None:
                session.close()
                stderr = session.process.stderr
                raise NoAnswer(_told(f"the server no longer starts: {hello}", hello.lines, stderr))
            self._session, self._answered, self._last = session, 0, ()
        return self._session

    def _show(self, lines: Sequence[Line]) -> None:
        """Have the lines shown if the test fails."""
        if hypothesis.currently_in_test_context():
            hypothesis.note(_wire(lines))
        else:
            self.trial.said.append(_wire(lines))

    def restart(self) -> None:
        """End the process; the next request starts a new one."""
        if self._session is not None:
            self._session.close()
        self._session = None

    close = restart


# Strategies --------------------------------------------------------------------------------------


def valid_arguments(tool: McpTool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that are valid under the tool's input schema, the given examples among them.

    Raises `conformance.generation.NoExample` if there are none.
    """
    try:
        return valid(tool.input_schema, tool.server.revision, tool.examples).map(deepcopy)
    except NoExample as error:
        hint = f"--mcp-example '{tool.name} {{...}}' gives some"
        raise NoExample(f"no valid arguments are known for {tool.name}: {error}; {hint}") from None


def invalid_arguments(tool: McpTool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that the tool's input schema forbids, and that no lenient server takes for valid ones.

    Raises `conformance.generation.NoExample` if it forbids none.
    """
    try:
        wrong = invalid_strategy(tool.input_schema, tool.server.revision, clear=True)
    except NoExample as error:
        raise NoExample(f"no invalid arguments are known for {tool.name}: {error}") from None
    return wrong.map(lambda one: deepcopy(one.arguments))


Test = Callable[..., Any]


def for_valid_arguments(tool: str, /, **strategies: st.SearchStrategy[Any]) -> Callable[[Test], Test]:
    """Run a test for many valid arguments of a tool, shrunk to the plainest ones when it fails.

    The test gets them as ``arguments``, and the tool under its own name (``get_sum`` for ``get-sum``) or, if
    it asks for that instead, as ``tool``.  All else it asks for are fixtures, or drawn from ``strategies`` as
    in `hypothesis.given`.  It is a Hypothesis test like any other, but without a deadline unless one is set;
    the arguments given with ``--mcp-example`` come first or, where there are ``strategies``, now and then.
    """

    def decorate(test: Test) -> Test:
        asked = inspect.signature(test)
        if "arguments" not in asked.parameters or inspect.iscoroutinefunction(test):
            raise TypeError(f"{test.__name__} must be a plain function with a parameter 'arguments'")
        others = {*asked.parameters} - {"arguments"}
        handed = next((name for name in (re.sub(r"\W", "_", tool), "tool") if name in others), None)
        own = _OwnTest(tool, has_examples=not strategies)
        kept = asked.replace(parameters=[one for one in asked.parameters.values() if one.name != handed])

        @wraps(test)
        def with_tool(*values: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            given = kept.bind(*values, **named).arguments
            return test(**given, **({handed: own.tool} if handed else {}))

        with_tool.__signature__ = kept  # type: ignore[attr-defined]
        made = hypothesis.given(arguments=st.deferred(lambda: own.arguments), **strategies)(with_tool)
        made.mcp_own_test = own  # type: ignore[attr-defined]
        marked: Test = pytest.mark.usefixtures("mcp_conformance_server")(made)
        return marked

    return decorate


class _OwnTest:
    """What a test made by `for_valid_arguments` is handed when it runs."""

    tool: McpTool
    arguments: st.SearchStrategy[dict[str, Any]]

    def __init__(self, name: str, *, has_examples: bool):
        self._name, self._has_examples = name, has_examples

    def prepare(self, function: Any, server: McpServer) -> None:
        """Be ready to run; the first time, put the examples given for the tool before what is drawn."""
        trouble = self._trouble(server)
        if trouble:
            pytest.fail(trouble, pytrace=False)
        if self._has_examples:
            self._has_examples = False
            for arguments in reversed(self.tool.examples):
                hypothesis.example(arguments=arguments)(function)

    def _trouble(self, server: McpServer) -> str:
        """Take the tool, and say why it cannot be tested; an empty text if it can."""
        try:
            self.tool = server.tool(self._name)
            self.arguments = valid_arguments(self.tool)
        except (LookupError, NoAnswer, NoExample) as error:
            return str(error)
        return ""


# The fixture -------------------------------------------------------------------------------------


@contextmanager
def serving(config: pytest.Config, chosen: Settings, wanted: Sequence[str]) -> Iterator[McpServer]:
    """The server in a throwaway folder, in the newest revision of ``wanted``, for the tests of a session."""
    named = [word for word in wanted if word != "latest"]
    revision = max(named, default=revisions.LATEST_HANDSHAKE)
    with ExitStack() as stack:
        sandbox = Sandbox()
        stack.callback(sandbox.remove)
        settings = replace(chosen, sandbox=sandbox)
        try:
            server = McpServer(settings, revision, exactly=len(named) == 1)
            stack.callback(server.close)
            if server.unusable and not named:
                server = _modern(settings, stack) or server
        except CannotStart as error:
            pytest.fail(f"--mcp-server: {error}", pytrace=False)
        if server.unusable:
            pytest.fail(server.unusable, pytrace=False)
        watch = _Watch(server)
        config.pluginmanager.register(watch)
        stack.callback(config.pluginmanager.unregister, watch)
        yield server


def _modern(settings: Settings, stack: ExitStack) -> McpServer | None:
    """The server in the newest modern revision, None if it speaks none."""
    server = McpServer(settings, revisions.LATEST_MODERN, exactly=True)
    stack.callback(server.close)
    return None if server.unusable else server


class _Watch:
    """A plugin of pytest's: it hands tests the server, and shows what was said in a test that failed."""

    def __init__(self, server: McpServer):
        self._server = server

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins."""
        self._server.trial = Trial()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Prepare a test that uses the server."""
        function = getattr(item, "function", None)
        own = getattr(function, "mcp_own_test", None)
        if own is not None:
            own.prepare(function, self._server)
        if "mcp_conformance_server" in getattr(item, "fixturenames", ()):
            _made_patient(function)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the last lines of a test that failed."""
        report = yield
        if report.failed and self._server.trial.said:
            report.sections.append(("MCP", "\n".join(self._server.trial.said)))
        return report


def _made_patient(function: Any) -> None:
    """Take from a Hypothesis test its usual deadline, and the explanations that look into our code.

    They would restart a server that dies a hundred times.  A deadline and phases that were chosen are kept.
    """
    chosen = getattr(function, SETTINGS, None)
    if chosen is not None and chosen.deadline == USUAL_DEADLINE:
        chosen = hypothesis.settings(chosen, deadline=None)
    if chosen is not None and set(chosen.phases) == set(hypothesis.Phase):
        phases = [phase for phase in chosen.phases if phase is not hypothesis.Phase.explain]
        chosen = hypothesis.settings(chosen, phases=phases)
    if chosen is not None:
        setattr(function, SETTINGS, chosen)


def _wire(lines: Sequence[Line]) -> str:
    return "\n".join(f"{'>' if line.sent else '<'} {shorten(line.text, LINE_SHOWN)}" for line in lines)


def _told(reason: str, lines: Sequence[Line], stderr: str) -> str:
    said = shorten(stderr[-STDERR_SHOWN:].strip(), STDERR_SHOWN)
    return "\n".join(filter(None, (reason, _wire(lines), said and f"stderr: {said}")))
