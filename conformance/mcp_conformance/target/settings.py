"""How to run the server under test, and what may be done to it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_conformance.client.session import Session
from mcp_conformance.client.spacing import Spacing
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.text import first_names, named
from mcp_conformance.sandbox.confined import Confined, Start
from mcp_conformance.sandbox.layer import Layer
from mcp_conformance.sandbox.sandbox import UNCONFINED_ROOT, Sandbox, is_root
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.target.contract import Contract
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.seeds import recorded_calls
from mcp_conformance.target.solo import Solo
from mcp_conformance.target.tool_limits import ToolLimits, limits_of
from mcp_conformance.transport.credentials import redacted, secrets_of
from mcp_conformance.transport.forged import secrets_of_token
from mcp_conformance.transport.http.headers import in_variables
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.transport.http.request import Headers
from mcp_conformance.transport.http.server import DEFAULT_PATH, HttpServer
from mcp_conformance.transport.in_process import InProcess
from mcp_conformance.transport.interface import MAX_LINE, SYSTEM_CLOCK, CannotStart, Clock, OnWait, Transport
from mcp_conformance.transport.process import Process
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance.transport.throwaway import Throwaway, importable, rooted, without_secrets
from mcp_conformance.world.folder import Folder, furnish
from mcp_conformance.world.jail import Gate

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

    from mcp_conformance.backend.backend import Backend
    from mcp_conformance.login.live import LiveLogin

T = TypeVar("T")
OPEN_WORLD_CALLS = 20
"""How often the fuzzer calls a tool that may reach an open world, unless it fuzzes thoroughly.

A tool that says nothing may: ``openWorldHint`` is true by default.  One that made a diagram opened 110 tabs
of a browser, and one of a paid service was called 113 times.
"""
MAX_TOOLS = 250
"""How many tools are tested by default."""


KEPT = Path(".mcp-conformance")
"""The directory for what a run keeps, in the working directory or beside the configuration."""


@dataclass(frozen=True)
class Sample:
    """A tool call the user vouches for: the tool's name and its arguments."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """How to run the server, and the limits of the run.

    ``command`` is the program and its arguments; ``timeout``, ``start_timeout``, ``max_time`` (of all
    checks) and ``time`` (after which nothing more is fuzzed) are in seconds; ``max_line`` is the most bytes
    of a line that are read; of the listed tools that match ``only_tools`` (all, if it is empty) and none of
    ``not_tools`` the first ``max_tools`` are tested.  ``call`` holds
    ``readonly``, ``all``, or patterns of the names of tools that may be called.  ``samples`` are arguments
    that the user vouches for; they release no tool.  ``found_values`` lets tools that may write have values
    that were there before.  ``examples`` is the level of fuzzing, ``max_examples`` how many values are drawn
    instead; ``calls_per_tool`` limits the fuzzer; 0 is no choice.  ``tool_limits`` hold for single tools.
    ``expanded`` are the variables whose values are in the command, for reports to leave them out.
    Without a ``cwd`` the server works in the ``throwaway`` folder, its home is there unless ``inherit_home``;
    without a ``throwaway`` folder it works here.  A ``sandbox`` confines it, or a ``layer`` holds what it
    writes elsewhere; a ``backend`` is every host that it can reach.  ``budgets`` limit figures, in bytes and
    seconds; ``clients`` are those whose limits are checked.  The ``contract`` is what the server promised,
    the ``sessions`` what it was recorded to do; ``update`` accepts what it does now.  Relative paths in the
    command start from ``here``; the path of the working directory in the throwaway folder replaces
    ``{folder}`` in it, and in ``env``.  ``on_wait`` is called during waits, which ``clock`` measures.
    ``database`` remembers the values that failed, if it is not Hypothesis's own; ``kept`` is the directory
    for what is learned of the tools, None to keep nothing.
    ``http`` is the server of the run if it speaks HTTP; then the command has a port to fill in, or is a URL.
    ``auth_origins`` are other origins that may be asked about authorization; ``login`` is the one that gave
    the token among its headers.  With ``forge`` variants of the user's token are sent; ``other_identity`` are
    the headers of a second one, in place of the user's.
    ``solo`` knows whether its processes can run beside each other, ``spacing`` how many messages a second it
    takes; every line passes the ``gate`` before it is sent.  ``surroundings`` says that checks start the
    server as other machines would: by a ``launcher`` before the command, or in the directory ``work`` instead
    of that of the throwaway folder.
    With ``make_object`` the server is what this returns, an object in this process, and not a command.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    expanded: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    inherit_home: bool = False
    throwaway: Throwaway | None = None
    sandbox: Sandbox | None = None
    layer: Layer | None = field(default=None, compare=False)
    backend: Backend | None = field(default=None, compare=False)
    timeout: float = 30.0
    start_timeout: float = 30.0
    call: tuple[str, ...] = ("readonly",)
    failing_call: Sample | None = None
    mutating_call: Sample | None = None
    samples: tuple[Sample, ...] = ()
    found_values: bool = False
    transcripts: Path = KEPT
    kept: Path | None = None
    seed: int = 0
    examples: int = 50
    max_examples: int = 0
    calls_per_tool: int = 0
    tool_limits: tuple[ToolLimits, ...] = ()
    only_tools: tuple[str, ...] = ()
    not_tools: tuple[str, ...] = ()
    max_tools: int = MAX_TOOLS
    max_line: int = MAX_LINE
    max_time: float = 3600.0
    time: float = math.inf
    budgets: Mapping[str, float] = field(default_factory=dict)
    clients: tuple[str, ...] = ()
    contract: Contract | None = None
    sessions: tuple[Recorded, ...] = ()
    update: bool = False
    here: Path = field(default_factory=Path.cwd)
    on_wait: OnWait | None = None
    clock: Clock = SYSTEM_CLOCK
    http: HttpServer | None = None
    auth_origins: tuple[str, ...] = ()
    login: LiveLogin | None = None
    forge: bool = False
    other_identity: Headers = ()
    database: ExampleDatabase | None = None
    solo: Solo = field(default_factory=Solo, compare=False)
    spacing: Spacing = field(default_factory=Spacing, compare=False)
    gate: Gate = field(default_factory=Gate, compare=False)
    surroundings: bool = False
    launcher: tuple[str, ...] = ()
    work: Path | None = None
    make_object: Callable[[], Any] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments by which a command of this tool finds the server, without credentials."""
        if self.http is None:
            return ("--", *self.shown_command)
        texts = in_variables([name.decode() for name, _ in self.http.fixed_headers])
        login = ["--auth", "login"] if self.login is not None else []
        headers = [*(f"--header-env={text}" for text in texts), *login]
        if self.http.url:
            return ("--url", *self.shown_command, *headers)
        path = ("--http-path", self.http.path) if self.http.path != DEFAULT_PATH else ()
        return ("--http", *path, *headers, "--", *self.shown_command)

    @property
    def redaction(self) -> Redaction:
        """What leaves the credentials of the user out of what is shown and written."""
        tokens = self.login.tokens if self.login is not None else ()
        return self._redaction if len(tokens) < 2 else self._redaction.also(*tokens)

    @cached_property
    def _redaction(self) -> Redaction:
        sent = (*(self.http.headers if self.http is not None else ()), *self.other_identity)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in sent]
        tokens = (one for _, value in headers for one in secrets_of_token(value, with_forged=self.forge))
        return Redaction((*secrets_of(self.command, self.env, (*self.expanded.items(), *headers)), *tokens))

    @property
    def shown_command(self) -> tuple[str, ...]:
        """The command, or the URL, without credentials."""
        return self.redaction(redacted(self.command))

    @property
    def confinement(self) -> tuple[str, ...]:
        """What a report says of what confines the server, or of a server of root that nothing confines."""
        if self.sandbox is not None:
            return (f"sandbox: {self.sandbox.describe(listens=self.http is not None)}",)
        if self.layer is not None:
            return (self.layer.describe(), *self._written_elsewhere())
        is_ours = self.http is None or not self.http.url
        return (UNCONFINED_ROOT,) if is_ours and is_root() else ()

    def _written_elsewhere(self) -> Iterator[str]:
        """Yield what the server wrote, or deleted, outside of the run's folders, as far as that is seen."""
        assert self.layer is not None
        changes = self.layer.changes()
        for word, some in (
            ("wrote", [path for path, state in changes.items() if state is not None]),
            ("deleted", [path for path, state in changes.items() if state is None]),
        ):
            if some:
                yield f"outside of them it {word} {first_names(list(map(named, sorted(some))))}"

    @property
    def rate(self) -> float:
        """How many requests a second the server gets at most, by the user's choice or its own limit."""
        return self.spacing.rate if self.http is None else self.http.turns.rate

    def limit_rate(self, rate: float) -> None:
        """Send no more than so many requests a second; for one of several processes that share a rate."""
        paced = self.spacing if self.http is None else self.http.turns
        paced.rate = min(paced.rate, rate)

    def may_call(self, tool: Tool) -> bool:
        """Return whether the user permits calls of this tool (``--call``)."""
        return any(
            pattern == "all" or (pattern == "readonly" and tool.read_only) or fnmatchcase(tool.name, pattern)
            for pattern in self.call
        )

    @property
    def holds_writes(self) -> bool:
        """Whether the server can change none of the user's files, once it has started."""
        if self.sandbox is not None:
            return not self.sandbox.write
        return self.layer is not None and (self.layer.is_held or not self.layer.reason)

    @property
    def may_call_writing(self) -> bool:
        """Whether the user permits calls of tools that do not say that they only read."""
        return any(pattern not in ("readonly", "none") for pattern in self.call)

    def tests(self, tool: Tool) -> bool:
        """Return whether a listed tool is tested (``--tool``, ``--not-tool``)."""
        is_chosen = not self.only_tools or any(fnmatchcase(tool.name, one) for one in self.only_tools)
        return is_chosen and not any(fnmatchcase(tool.name, one) for one in self.not_tools)

    def limits(self, name: str) -> ToolLimits:
        """Return the limits that the user sets for a tool alone."""
        return limits_of(name, self.tool_limits)

    def timeout_of(self, name: str) -> float:
        """Return how many seconds an answer of a tool may take."""
        own = self.limits(name).timeout
        return self.timeout if own is None else own

    def examples_of(self, name: str = "") -> int:
        """Return how many values are drawn for a tool, or for what is no tool; 0 if it is not fuzzed."""
        level = self._level(name)
        return self.max_examples if level and self.max_examples else level

    @property
    def fuzzes_tools(self) -> bool:
        """Whether some tool may be fuzzed."""
        return bool(self.examples) or any(one.examples for one in self.tool_limits)

    def _level(self, name: str) -> int:
        own = self.limits(name).examples
        return self.examples if own is None else own

    def calls_of(self, name: str) -> int:
        """Return how often the user lets the fuzzer call a tool; 0 if the user chose nothing."""
        return self.limits(name).calls or self.calls_per_tool

    def fuzzed_calls(self, tool: Tool) -> float:
        """Return how often the fuzzer may call a tool (``--calls-per-tool``), infinity for no limit.

        A server that limits its calls gets as few as a tool that may reach an open world.
        """
        if chosen := self.calls_of(tool.name):
            return chosen
        is_spared = self.may_reach_out(tool) or self.spacing.has_slow_calls
        return OPEN_WORLD_CALLS if self.is_gentle_with(tool.name) and is_spared else math.inf

    def explored_calls(self, tool: Tool) -> float:
        """Return how often a tool may be called in search of arguments that work: half as often.

        A tool that says nothing has no limit, as only one whose calls fail is explored.
        """
        is_limited = self.calls_of(tool.name) or tool.open_world
        return self.fuzzed_calls(tool) // 2 if is_limited else math.inf

    def may_reach_out(self, tool: Tool) -> bool:
        """Return whether a tool may reach an open world: it says nothing else, and is not confined."""
        has_network = self.backend is None and (self.sandbox is None or self.sandbox.network)
        return has_network and not tool.closed_world

    @property
    def is_gentle(self) -> bool:
        """Whether tools are spared numbers that make them do much, and many calls to the world outside."""
        return self.is_gentle_with("")

    def is_gentle_with(self, name: str) -> bool:
        """Return whether a tool is spared, as `is_gentle` says of all."""
        return self._level(name) <= FUZZ_EXAMPLES["quick"]

    def vouched(self, tool: str) -> list[dict[str, Any]]:
        """Return the arguments the user vouches for, for the tool of that name (``--example``)."""
        return [dict(sample.arguments) for sample in self.samples if sample.tool == tool]

    def recorded(self, tool: str) -> list[dict[str, Any]]:
        """Return the arguments with which the tool of that name has worked in recorded sessions."""
        return [deepcopy(one) for one in self._recorded_calls.get(tool, ())]

    @cached_property
    def _recorded_calls(self) -> Mapping[str, tuple[dict[str, Any], ...]]:
        return recorded_calls(self.sessions)

    @property
    def folder(self) -> Folder | None:
        """The furnished folder, which ``{folder}`` stands for; None without a throwaway one.

        The server works there unless it has a directory of its own.  The path is the one that programs show
        as their working directory: without links on POSIX, as it was given in a container and on Windows.
        """
        if self.throwaway is None:
            return None
        work, is_shown = self.throwaway.work, self.sandbox is not None or os.name == "nt"
        return Folder(work if is_shown else work.resolve(), is_cwd=self.cwd is None and self.work is None)

    def within(self, throwaway: Throwaway) -> Settings:
        """Return the settings for a throwaway folder; in the user's calls its path replaces ``{folder}``."""
        layer = self.layer.over(throwaway.root) if self.layer is not None else None
        if layer is not None:
            throwaway.at_end(layer.close)
        placed = replace(self, throwaway=throwaway, layer=layer)
        folder = placed.folder
        assert folder is not None

        def filled(sample: Sample) -> Sample:
            return replace(sample, arguments=folder.filled(sample.arguments))

        return replace(
            placed,
            samples=tuple(map(filled, self.samples)),
            failing_call=filled(self.failing_call) if self.failing_call is not None else None,
            mutating_call=filled(self.mutating_call) if self.mutating_call is not None else None,
        )

    def _filled(self, value: T) -> T:
        folder = self.folder
        return folder.filled(value) if folder is not None else value

    def start(self) -> Transport:
        """Start a process of the server, or a conversation with it over HTTP.  Raises `CannotStart`."""
        if self.make_object is not None:
            (name,) = self.command
            return InProcess(name, self.make_object, on_wait=self.on_wait, clock=self.clock)
        if self.http is None:
            self.solo.prepare()
            process = self._launch(self.command)
            self.solo.begin(process)
            return process
        if self.http.is_spoilt:
            return self.start_beside()
        return self.converse()

    def session(self, process: Transport, revision: str, **given: Any) -> Session:
        """Return a session with a process, which sends what the gate lets pass."""
        session = Session(process, revision=revision, timeout=self.timeout, **given)
        session.tool_timeout, session.guard = self.timeout_of, self.gate
        return session

    def start_beside(self) -> HttpLines:
        """Start a conversation over HTTP with a process of its own, which ends with it."""
        assert self.http is not None
        return replace(self, http=self.http.beside()).converse(owns_server=True)

    def converse(self, *, owns_server: bool = False) -> HttpLines:
        """Start a conversation with the server over HTTP; one that owns the server ends it."""
        assert self.http is not None
        self.http.ready(self._launch, self.start_timeout)
        return HttpLines(self.http, max_line=self.max_line, on_wait=self.on_wait, owns_server=owns_server)

    def _launch(self, command: tuple[str, ...]) -> Process:
        """Start a command in the surroundings that the user chose."""
        environment = without_secrets(os.environ)
        own, command, cwd = self._filled(self.env), self._filled(command), self.cwd
        if self.throwaway is not None:
            self._furnish(self.throwaway)
            environment |= {} if self.inherit_home else self.throwaway.variables()
            if cwd is None:
                cwd = self.work or self.throwaway.work
                command = rooted(command, self.here)
                environment |= importable(command, self.here, environment)
        environment |= own
        return Process(
            (*self.launcher, *command),
            env=environment,
            cwd=cwd,
            confined=self._confined(command, environment, own, cwd),
            max_line=self.max_line,
            on_wait=self.on_wait,
            clock=self.clock,
        )

    def _furnish(self, throwaway: Throwaway) -> None:
        try:
            throwaway.restore()
            throwaway.furnish(furnish)
        except OSError as error:
            raise CannotStart(f"the folder for the server cannot be furnished: {error}") from error

    def renew_folder(self) -> bool:
        """Furnish the folder of the server anew, a few times in a run; return whether that is done."""
        return self.throwaway is not None and self.throwaway.renew(furnish)

    @contextmanager
    def folder_as_furnished(self) -> Iterator[bool]:
        """Put the folder as it was at first in the place of what calls have made of it, for a time.

        Gives whether that is done: it is not if they have changed nothing, or for a server that runs already.
        """
        folder = self.folder
        is_ours = self.http is None and self.make_object is None
        if self.throwaway is None or folder is None or not is_ours or folder.is_as_furnished:
            yield False
            return
        with self.throwaway.replaced(furnish) as is_done:
            yield is_done

    def _confined(
        self,
        command: tuple[str, ...],
        environment: Mapping[str, str],
        own: Mapping[str, str],
        cwd: Path | None,
    ) -> Confined | None:
        """Return the command that starts this one in the sandbox, the network of the backend, the layer.

        None without any.
        """
        confined, sandbox = None, self.sandbox
        if sandbox is not None and self.backend is not None:
            # Its network is an empty one already, in which the backend alone is reached.
            sandbox = replace(sandbox, network=True, read=(*sandbox.read, self.backend.folder))
        if sandbox is not None:
            places = (
                self.throwaway.variables() if self.throwaway is not None and not self.inherit_home else {}
            )
            folder = self.throwaway.root if self.throwaway is not None else None
            port = self.http.endpoint.port if self.http is not None else 0
            cwd = cwd or self.here
            start = Start(command, environment, own, places, cwd, folder, port, self.launcher)
            confined = sandbox.confined(start)
        if self.backend is not None:
            plain = Confined((*self.launcher, *command), environment)
            is_sandboxed, listens = sandbox is not None, self.http is not None
            confined = self.backend.around(confined or plain, own, is_sandboxed=is_sandboxed, listens=listens)
        if self.layer is not None:
            confined = self.layer.around(confined or Confined((*self.launcher, *command), environment))
        return confined
