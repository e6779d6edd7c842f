"""The public API for a user's own tests: the server, its tools as functions, strategies for arguments.

    from mcp_conformance import for_valid_arguments

    @for_valid_arguments("add")
    def test_the_sum_is_right(add, arguments):
        assert add(**arguments).structured["sum"] == arguments["a"] + arguments["b"]

A tool that such a test names may be called; `--call` is not needed.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, partial, wraps
from typing import Any, ClassVar, TypeVar, overload

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.client.tool_call import Call, Tool, call_in
from mcp_conformance.generation import NoExample, example, invalid_strategy, valid, with_known
from mcp_conformance.protocol.jsonrpc import Kind, Line, encode, kind
from mcp_conformance.protocol.revisions import LOG_LEVEL
from mcp_conformance.protocol.text import shorten
from mcp_conformance.state.exploring import uses_in
from mcp_conformance.state.links import Made, Maker, Workable
from mcp_conformance.state.uses import Use
from mcp_conformance.target.surface import Subject
from mcp_conformance.target.world import world_of
from mcp_conformance.world.exploration import Exploration
from mcp_conformance.world.filling import put
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.worked import Path
from mcp_conformance.world.world import World

T = TypeVar("T")
MAX_LINE_LENGTH = 600
MAX_STDERR_LENGTH = 1000
MAX_EXCHANGES_SHOWN = 3
MAX_SECONDS_LOST = 20.0
"""A Hypothesis test that has lost more to unanswered requests sends no new ones."""


class NoAnswer(AssertionError):  # noqa: N818  (a test fails by it as by any assertion)
    """A missing answer: the process ended, timed out or could not be started."""


@dataclass(frozen=True)
class McpError:
    """A JSON-RPC error."""

    code: Any
    message: Any
    data: Any = None


@dataclass(frozen=True, repr=False)
class McpResult:
    """The answer to a request: a result, or a JSON-RPC `error`.

    ``notifications`` are the messages that the server sent meanwhile and that ask for no answer.
    """

    reply: Reply
    notifications: Sequence[Mapping[str, Any]] = ()

    @property
    def error(self) -> McpError | None:
        """The JSON-RPC error; None if there is a result."""
        error = self.reply.error
        if error is None:
            return None
        members = error if isinstance(error, dict) else {}
        return McpError(members.get("code"), members.get("message", error), members.get("data"))

    @property
    def is_error(self) -> bool:
        """Whether the tool reports a failure (``isError``)."""
        return self.reply.is_tool_error

    @property
    def ok(self) -> bool:
        """Whether there is a result that reports no failure."""
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
        """The texts of a tool's content, a resource's contents or a prompt's messages, a line each.

        Raises `AssertionError` if there is none of these.
        """
        __tracebackhide__ = True
        found = self.json if isinstance(self.json, dict) else {}
        if "messages" in found:
            blocks = [one.get("content") for one in found["messages"] if isinstance(one, dict)]
        else:
            blocks = found.get("contents") or self.content
        return "\n".join(str(one["text"]) for one in blocks if isinstance(one, dict) and "text" in one)

    @property
    def progress(self) -> list[Any]:
        """The params of each progress notification: the request asks for them with ``progress=True``."""
        params = (self.reply.request.message or {}).get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        found = self._sent("notifications/progress")
        return [one for one in found if token is not None and one.get("progressToken") == token]

    @property
    def logs(self) -> list[Any]:
        """The params of each log message that the server sent meanwhile (`McpServer.log_level`)."""
        return self._sent("notifications/message")

    def _sent(self, method: str) -> list[Any]:
        found = (one.get("params") for one in self.notifications if one.get("method") == method)
        return [one for one in found if isinstance(one, dict)]

    def _member(self, name: str) -> Any:
        __tracebackhide__ = True
        if not isinstance(self.json, dict) or name not in self.json:
            raise AssertionError(f"there is no {name}: {self}")
        return self.json[name]

    def __repr__(self) -> str:
        return f"<{self.reply}>"


@dataclass(frozen=True, repr=False, eq=False)
class McpTool:
    """A listed tool, which is called like a function.

    ``definition`` is its object in ``tools/list``.  A test that calls a tool which is not ``released`` is
    skipped.
    """

    server: McpServer
    definition: Mapping[str, Any]
    released: bool = True

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
        """The arguments given for it with ``--example``."""
        return self.server.settings.vouched(self.name)

    def __call__(self, /, **arguments: Any) -> McpResult:
        """Call the tool.  Raises `NoAnswer`."""
        __tracebackhide__ = True
        if not self.released:
            pytest.skip(not_released(self.name))
        return self.server.call(self.name, arguments)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


def not_released(name: str) -> str:
    """Return why a test for each tool does not call this one."""
    return f"the tool may write, and nothing releases it (--conformance-call {name})"


@dataclass
class RequestLog:
    """The requests of one test: all that were sent, the last exchanges, the seconds without an answer."""

    sent: set[bytes] = field(default_factory=set)
    shown: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_EXCHANGES_SHOWN))
    seconds_lost: float = 0.0


class McpServer:
    """The server under test, in the newest revision that was probed: one process, restarted if it ends.

    It is also restarted after a timeout.  An obstacle is in `unusable`.
    """

    def __init__(self, subject: Subject):
        self.settings = subject.settings
        self.log = RequestLog()
        self._answered = 0
        self._last: tuple[Line, ...] = ()
        newest = max(subject.live or subject.surfaces[:1], key=lambda surface: surface.revision)
        self._surface = newest
        self._session = subject.take_session(newest.revision)
        self._log_level, self._tokens = "", 0
        self._explored: set[str] = set()
        self._uses: dict[tuple[str, ...], tuple[Use, ...]] = {}

    @property
    def unusable(self) -> str:
        """Why no test can use the server; empty if tests can."""
        if self._surface.refused:
            return f"the server offers revision {self._surface.refused}, not {self._surface.revision}"
        if self._surface.dead:
            failure = self._surface.failures[0]
            return _failure_text(failure.reason, failure.lines, failure.stderr)
        wrong = Subject(self.settings, (self._surface,)).error_in_samples()
        return f"--conformance-example: {wrong}" if wrong else ""

    @property
    def last_lines(self) -> tuple[Line, ...]:
        """The last request of the running test with its answer; empty if it has sent none."""
        return self._last if self.log.sent else ()

    @property
    def revision(self) -> str:
        """The negotiated revision of the protocol."""
        return self._surface.revision

    @property
    def callable_names(self) -> list[str]:
        """The names of the tools that may be called (``--call``)."""
        settings = self.settings
        return [tool.name for tool in self._surface.tools if tool.name and settings.may_call(tool)]

    @property
    def tools(self) -> list[McpTool]:
        """The tools that the server listed at its first start."""
        return [McpTool(self, tool.definition.json) for tool in self._surface.tools if tool.name]

    def tool(self, name: str) -> McpTool:
        """Return the listed tool of that name.  Raises `LookupError` if there is none."""
        __tracebackhide__ = True
        names = [tool.name for tool in self.tools]
        if name in names:
            return self.tools[names.index(name)]
        for failure in self._surface.failures:
            raise NoAnswer(_failure_text(failure.reason, failure.lines, failure.stderr))
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names) or 'none'}"
        raise LookupError(f"the server has no tool {name!r}; {hint}")

    @cached_property
    def _world(self) -> World:
        """What is known of the server: what a run, or ``learn``, has kept of it."""
        world = world_of(self.settings)
        world.recall(self._surface.tools)
        return world

    def known_schema(self, name: str) -> Any:
        """Return the input schema of a tool with the values that the server knows for its members.

        The first time, a tool that refuses the plainest arguments is called with others until it works,
        unless the user gives examples; the server then begins anew.
        """
        tool = next((one for one in self._surface.tools if one.name == name), None)
        if tool is None:
            return {"type": "object"}
        if name not in self._explored:
            self._explored.add(name)
            self._explore(tool)
        return with_known(tool.input_schema, *self._world.known_of(tool, self.revision))

    def _explore(self, tool: Tool) -> None:
        if self.settings.vouched(tool.name) or self._world.working(tool, self.revision):
            return
        with suppress(NoExample):
            plain = self._world.jail.arguments(tool, example(tool.input_schema, self.revision))
            first = call_in(self._running(), tool, plain or {})
            exploration = Exploration(self._world, self.revision, partial(call_in, self._running()))
            exploration.explore([first])
            if first.reply.fault is not None or exploration.calls_of(tool.name):
                self.restart()

    def held(self, name: str, *, must_stay_valid: bool = True) -> Callable[[Any], Any]:
        """Return what makes of drawn arguments those that a tool may get; None if they would not be valid."""
        jail = self._world.jail
        jail.meet(self._surface.tools, self.revision)

        def hold(arguments: Any) -> Any:
            held = jail.text(name, encode(arguments), must_stay_valid=must_stay_valid)
            return None if held is None else json.loads(held)

        return hold

    @property
    def ours(self) -> Ours:
        """What tells values that this run made from others."""
        return self._world.ownership.ours

    def listed(self, name: str) -> Tool:
        """Return the listed tool of a name, as a client has it."""
        return next(one for one in self._surface.tools if one.name == name)

    def uses(self, *names: str) -> tuple[Use, ...]:
        """Return how these tools use what others of them make, as calls in a process of its own show."""
        if names not in self._uses:
            tools = [one for one in self._surface.tools if one.name in names]
            self.restart()
            world = world_of(self.settings)
            self._uses[names] = uses_in(partial(call_in, self._running()), tools, world, self.revision)
            self.restart()
        return self._uses[names]

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: bool = False,
    ) -> McpResult:
        """Call a tool, listed or not, with any arguments.  Raises `NoAnswer`.

        With ``progress`` the tool is asked to report it (`McpResult.progress`).
        """
        __tracebackhide__ = True
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if progress:
            self._tokens += 1
            params["_meta"] = {"progressToken": f"test-{self._tokens}"}
        return self.request("tools/call", params, timeout=timeout)

    @property
    def resources(self) -> list[dict[str, Any]]:
        """The resources that the server lists now.  Raises `AssertionError` if the list cannot be fetched."""
        __tracebackhide__ = True
        return self._list("resources/list", "resources")

    @property
    def resource_templates(self) -> list[dict[str, Any]]:
        """The templates of resources, likewise."""
        __tracebackhide__ = True
        return self._list("resources/templates/list", "resourceTemplates")

    @property
    def prompts(self) -> list[dict[str, Any]]:
        """The prompts that the server lists now, likewise."""
        __tracebackhide__ = True
        return self._list("prompts/list", "prompts")

    def _list(self, method: str, member: str) -> list[dict[str, Any]]:
        __tracebackhide__ = True
        listing = fetch_list(self._running(), method, member)
        if listing.failure:
            raise AssertionError(f"{method}: {listing.failure}")
        return [one.json for one in listing.items]

    def read(self, uri: str, *, timeout: float | None = None) -> McpResult:
        """Read a resource.  Raises `NoAnswer`."""
        __tracebackhide__ = True
        return self.request("resources/read", {"uri": uri}, timeout=timeout)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> McpResult:
        """Fetch a prompt.  Raises `NoAnswer`."""
        __tracebackhide__ = True
        return self.request("prompts/get", {"name": name, "arguments": arguments or {}}, timeout=timeout)

    def log_level(self, level: str) -> None:
        """Ask for log messages of this level and above, from now on: `McpResult.logs` has them.

        Raises `NoAnswer`, and `AssertionError` if the server refuses.
        """
        __tracebackhide__ = True
        self._log_level = level
        if not self._running().is_modern:
            _ = self.request("logging/setLevel", {"level": level}).json

    def request(self, method: str, params: Any = NO_PARAMS, *, timeout: float | None = None) -> McpResult:
        """Send any request.  Raises `NoAnswer`; the next request then restarts the server.

        A Hypothesis test that has lost `MAX_SECONDS_LOST` in this way only repeats requests: the failure is
        shown, but no longer shrunk.
        """
        __tracebackhide__ = True
        request = encode([method] if params is NO_PARAMS else [method, params])
        is_spent = self.log.seconds_lost > MAX_SECONDS_LOST and request not in self.log.sent
        if is_spent and hypothesis.currently_in_test_context():
            hypothesis.reject()
        self.log.sent.add(request)
        start = self.settings.clock.monotonic()
        session = self._running()
        before = len(session.lines)
        reply = session.request(method, self._with_log_level(session, params), timeout=timeout)
        if reply.fault is not None:
            self.restart()
            self.log.seconds_lost += self.settings.clock.monotonic() - start
            reason = f"request no. {self._answered + 1} to this process was not answered: {reply.fault}"
            raise NoAnswer(_failure_text(reason, (*self._last, *reply.lines), session.process.stderr))
        self._answered += 1
        self._last = reply.lines
        self._show(reply.lines)
        came = [one for line in session.lines[before:] if not line.sent for one in line.parts()]
        return McpResult(reply, [one for one in came if kind(one) is Kind.NOTIFICATION])

    def _with_log_level(self, session: Session, params: Any) -> Any:
        """Return the params with the level of log messages, which each request of a modern revision has."""
        if not (self._log_level and session.is_modern):
            return params
        given = {} if params is NO_PARAMS else params
        return {**given, "_meta": {**given.get("_meta", {}), LOG_LEVEL: self._log_level}}

    def _running(self) -> Session:
        __tracebackhide__ = True
        if self._session is None:
            # What a test of the user's sends is the user's word: what is drawn for it is held before.
            session = Session(self.settings.start(), revision=self.revision, timeout=self.settings.timeout)
            opening = session.open(self.settings.start_timeout)
            if opening.value is None:
                session.close()
                reason, stderr = f"the server no longer starts: {opening}", session.process.stderr
                raise NoAnswer(_failure_text(reason, opening.lines, stderr))
            self._session, self._answered, self._last = session, 0, ()
            if self._log_level and not session.is_modern:
                session.request("logging/setLevel", {"level": self._log_level})
        return self._session

    def _show(self, lines: Sequence[Line]) -> None:
        """Let pytest, or Hypothesis, show the lines if the test fails."""
        if hypothesis.currently_in_test_context():
            hypothesis.note(_wire(lines))
        else:
            self.log.shown.append(_wire(lines))

    def restart(self) -> None:
        """End the process; the next request starts a new one."""
        if self._session is not None:
            self._session.close()
        self._session = None

    close = restart


# Async tests -------------------------------------------------------------------------------------


async def _in_thread(job: Callable[[], T]) -> T:
    """Run a function in a thread, in an event loop of asyncio or of what anyio supports."""
    anyio = sys.modules.get("anyio")
    found: T = await (anyio.to_thread.run_sync(job) if anyio is not None else asyncio.to_thread(job))
    return found


class AsyncMcpServer:
    """The server under test for async tests: the methods of `McpServer`, awaited; calls follow one another.

    ``server`` is the same server for tests that are not async.
    """

    def __init__(self, server: McpServer):
        self.server = server
        self._turn = threading.Lock()

    async def do(self, method: Callable[..., T], *values: Any, **named: Any) -> T:
        """Run a function that talks to the server, such as a method of ``server``, in a thread."""

        def in_turn() -> T:
            with self._turn:
                return method(*values, **named)

        return await _in_thread(in_turn)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> McpResult:
        """Call a tool, as `McpServer.call` does."""
        return await self.do(self.server.call, name, arguments, **options)

    async def read(self, uri: str, **options: Any) -> McpResult:
        """Read a resource."""
        return await self.do(self.server.read, uri, **options)

    async def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Any
    ) -> McpResult:
        """Fetch a prompt."""
        return await self.do(self.server.prompt, name, arguments, **options)

    async def request(self, method: str, params: Any = NO_PARAMS, **options: Any) -> McpResult:
        """Send any request."""
        return await self.do(self.server.request, method, params, **options)

    async def restart(self) -> None:
        """End the process; the next request starts a new one."""
        await self.do(self.server.restart)


@dataclass(frozen=True, repr=False, eq=False)
class AsyncMcpTool:
    """A listed tool for an async test, which awaits its calls; ``tool`` is the same for other tests."""

    tool: McpTool

    @property
    def name(self) -> str:
        """Its name."""
        return self.tool.name

    async def __call__(self, /, **arguments: Any) -> McpResult:
        """Call the tool.  Raises `NoAnswer`."""
        return await _in_thread(partial(self.tool, **arguments))


# Strategies --------------------------------------------------------------------------------------


def valid_arguments(tool: McpTool) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for valid arguments of a tool, the given examples included.

    Raises `mcp_conformance.generation.NoExample` if there are none.
    """
    try:
        schema = tool.server.known_schema(tool.name)
        drawn = valid(schema, tool.server.revision, tool.examples).map(deepcopy)
        return drawn.map(tool.server.held(tool.name)).filter(lambda one: one is not None)
    except NoExample as error:
        hint = f"--conformance-example '{tool.name} {{...}}' gives some"
        raise NoExample(f"no valid arguments are known for {tool.name}: {error}; {hint}") from None


def invalid_arguments(tool: McpTool) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for arguments that a tool's input schema forbids under any lenient reading.

    Raises `mcp_conformance.generation.NoExample` if the schema forbids none.
    """
    try:
        wrong = invalid_strategy(tool.server.known_schema(tool.name), tool.server.revision, clear=True)
    except NoExample as error:
        raise NoExample(f"no invalid arguments are known for {tool.name}: {error}") from None
    held = tool.server.held(tool.name, must_stay_valid=False)
    return wrong.map(lambda one: held(deepcopy(one.arguments)))


Test = Callable[..., Any]


def for_valid_arguments(tool: str, /, **strategies: st.SearchStrategy[Any]) -> Callable[[Test], Test]:
    """Run a test with many valid arguments of a tool, shrunk to the plainest ones if it fails.

    The test gets them as ``arguments``, and the tool under its own name (``get_sum`` for ``get-sum``) or as
    ``tool``.  Its other parameters are fixtures, or drawn from ``strategies`` as in `hypothesis.given`.  The
    Hypothesis test has no deadline, unless the user sets one.  The arguments given with ``--example``
    come first or, with ``strategies``, at random.
    """

    def decorate(test: Test) -> Test:
        others = {*_parameters(test, "arguments")} - {"arguments"}
        handed = next((name for name in (re.sub(r"\W", "_", tool), "tool") if name in others), "")
        own = OwnTest(tool, has_examples=not strategies)
        return own.given(_handed(test, own, handed), strategies)

    return decorate


@overload
def for_each_tool(test: Test, /) -> Test: ...
@overload
def for_each_tool(**strategies: st.SearchStrategy[Any]) -> Callable[[Test], Test]: ...
def for_each_tool(test: Test | None = None, /, **strategies: st.SearchStrategy[Any]) -> Any:
    """Run a test once for each tool that the server lists, which it gets as ``tool``.

    If it has a parameter ``arguments`` too, it runs with many valid ones of each, as with
    `for_valid_arguments`.  A tool for which none can be made fails it.  The test is skipped for a tool that
    may not be called (``--call``), unless it calls none; the mark ``skip_tools`` names others to skip.
    """
    if test is None:
        return partial(for_each_tool, **strategies)
    own = OwnTest("", has_examples=False)
    if "arguments" in _parameters(test, "tool"):
        made = own.given(_handed(test, own, "tool", EACH_TOOL), strategies)
    else:
        made = pytest.mark.usefixtures("conformance_server")(_handed(test, own, "tool", EACH_TOOL))
        made.mcp_own_test = own  # type: ignore[attr-defined]
    return made


EACH_TOOL = "each_tool"
"""The parameter by which pytest knows the runs of a test for each tool: the name of one."""


def _parameters(test: Test, needed: str) -> Mapping[str, inspect.Parameter]:
    found = inspect.signature(test).parameters
    if needed not in found:
        raise TypeError(f"{test.__name__} must have a parameter {needed!r}")
    return found


def _handed(test: Test, own: OwnTest, name: str, added: str = "") -> Test:
    """Return a test that gets its tool as ``name`` from ``own``, and has ``added`` in its signature."""
    signature = inspect.signature(test)
    parameters = [one for one in signature.parameters.values() if one.name != name]
    without_tool = signature.replace(parameters=parameters)
    more = [inspect.Parameter(added, inspect.Parameter.KEYWORD_ONLY)] if added else []

    def given(values: Sequence[Any], named: dict[str, Any], tool: Any) -> dict[str, Any]:
        named.pop(added, None)
        return {**without_tool.bind(*values, **named).arguments, **({name: tool} if name else {})}

    @wraps(test)
    def plain(*values: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        return test(**given(values, named, own.tool))

    @wraps(test)
    async def awaiting(*values: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        return await test(**given(values, named, AsyncMcpTool(own.tool)))

    with_tool: Any = awaiting if inspect.iscoroutinefunction(test) else plain
    with_tool.__signature__ = signature.replace(parameters=[*parameters, *more])
    handed: Test = with_tool
    return handed


def draws_arguments(test: Test) -> bool:
    """Return whether a test is called with many arguments of its tool."""
    return hasattr(test, "hypothesis")


class OwnTest:
    """The tool and the arguments of a test made by `for_valid_arguments` or `for_each_tool`."""

    each_tool = EACH_TOOL
    tool: McpTool
    _arguments: st.SearchStrategy[dict[str, Any]]

    def __init__(self, name: str, *, has_examples: bool):
        self._name, self._has_examples = name, has_examples

    def given(self, test: Test, strategies: Mapping[str, st.SearchStrategy[Any]]) -> Test:
        """Return a Hypothesis test that draws the arguments of the tool."""

        @st.composite
        def arguments(draw: st.DrawFn) -> dict[str, Any]:
            return draw(self._arguments)

        made = hypothesis.given(arguments=arguments(), **strategies)(test)
        made.mcp_own_test = self  # type: ignore[attr-defined]
        marked: Test = pytest.mark.usefixtures("conformance_server")(made)
        return marked

    def prepare(self, function: Any, server: McpServer, params: Mapping[str, Any]) -> None:
        """Look up the tool, which ``params`` of pytest may name; fail the test if it can't be tested.

        The first time, put the user's examples before the drawn arguments.
        """
        name = params.get(self.each_tool, self._name)
        obstacle = self._look_up(server, name, draws=draws_arguments(function))
        if obstacle:
            pytest.fail(obstacle, pytrace=False)
        if self.each_tool in params:
            self.tool = replace(self.tool, released=name in server.callable_names)
        if self._has_examples:
            self._has_examples = False
            for arguments in reversed(self.tool.examples):
                hypothesis.example(arguments=arguments)(function)

    def _look_up(self, server: McpServer, name: str, *, draws: bool) -> str:
        """Look up the tool; return why it cannot be tested, empty if it can."""
        try:
            self.tool = server.tool(name)
            if draws:
                self._arguments = valid_arguments(self.tool)
        except (LookupError, NoAnswer, NoExample) as error:
            return str(error)
        return ""


# Sequences of calls ------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Answer:
    """A call of a tool that succeeded: other calls take values from it."""

    made: Made

    def __repr__(self) -> str:
        return f"<answer of {self.made.maker.name}>"


class McpStateMachine(RuleBasedStateMachine):
    """A Hypothesis state machine that calls tools in any order; `state_machine` makes it.

    A method ``after_TOOL(self, arguments, result)`` of a subclass is called after each call of that tool; the
    name has underscores for what a Python name may not have.  Rules, invariants and more are added as in
    `hypothesis.stateful.RuleBasedStateMachine`.
    """

    server: ClassVar[McpServer]

    def call(self, tool: str, arguments: dict[str, Any]) -> McpResult:
        """Call a tool, and have the result judged.  Raises `NoAnswer`."""
        __tracebackhide__ = True
        result = self.server.call(tool, arguments)
        after = getattr(self, f"after_{_python_name(tool)}", None)
        if after is not None:
            after(arguments, result)
        return result


def state_machine(server: McpServer, *tools: str) -> type[McpStateMachine]:
    """Return a Hypothesis state machine whose rules call these tools with valid arguments.

    A value that another of the tools makes, such as an id, is taken from one of its answers; which tool takes
    what is learned first, by calls in a process of its own.  Raises `LookupError` for an unknown tool and
    `mcp_conformance.generation.NoExample` if no valid arguments are known.
    """
    known = {name: server.tool(name) for name in tools}
    taken = _taken(server, tools)
    bundles = {use.maker: Bundle(_python_name(use.maker)) for uses in taken.values() for use in uses.values()}
    members: dict[str, Any] = {"server": server}
    for name, tool in known.items():
        uses = {_python_name(path[-1]): use for path, use in taken.get(name, {}).items()}
        given: dict[str, Any] = {key: bundles[use.maker] for key, use in uses.items()}
        given |= {"target": bundles[name]} if name in bundles else {}
        called = _calling(tool, uses, is_target=name in bundles)
        drawn = valid_arguments(tool).map(partial(_without, frozenset(use.member for use in uses.values())))
        decorated: Any = rule(arguments=drawn, **given)
        members[called.__name__] = decorated(called)
    return type("McpStateMachine", (McpStateMachine,), members)


def _without(paths: Collection[Path], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments without the members at the top that get values of answers."""
    return {name: value for name, value in arguments.items() if (name,) not in paths}


def _taken(server: McpServer, tools: Sequence[str]) -> dict[str, dict[Path, Use]]:
    """Return by tool at which members a value of another one stands; what was seen counts most."""
    taken: dict[str, dict[Path, Use]] = {}
    for use in sorted(server.uses(*tools), key=lambda one: one.trials == 0):
        if use.handle is not None and use.maker in tools and use.maker != use.tool:
            taken.setdefault(use.tool, {}).setdefault(use.member, use)
    return taken


def _calling(tool: McpTool, uses: Mapping[str, Use], *, is_target: bool) -> Callable[..., Any]:
    """Return a rule that calls a tool with arguments, in which values of answers stand at some members."""
    name, server = tool.name, tool.server
    maker = Maker(Workable(server.listed(name), {}), ())

    def call(self: Any, arguments: dict[str, Any], **answers: Answer) -> Any:
        __tracebackhide__ = True
        for key, answer in answers.items():
            handle = uses[key].handle
            put(arguments, uses[key].member, answer.made.value(handle, server.ours) if handle else None)
        result = self.call(name, arguments)
        made = Made(maker, {}, Call(maker.workable.tool, arguments, result.reply))
        if not is_target:
            return None
        return Answer(made) if result.ok else multiple()

    call.__name__ = call.__qualname__ = f"call_{_python_name(name)}"
    return call


def _python_name(name: str) -> str:
    """Return a name with underscores for what a Python name may not have, and after one that rules use."""
    found = re.sub(r"\W", "_", name)
    return f"{found}_" if found in ("self", "arguments", "target", "targets") else found


def _wire(lines: Sequence[Line]) -> str:
    return "\n".join(line.shown(MAX_LINE_LENGTH) for line in lines)


def _failure_text(reason: str, lines: Sequence[Line], stderr: str) -> str:
    end = shorten(stderr[-MAX_STDERR_LENGTH:].strip(), MAX_STDERR_LENGTH)
    return "\n".join(filter(None, (reason, _wire(lines), end and f"stderr: {end}")))
