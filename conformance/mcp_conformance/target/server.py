"""The server during a run: the parts that own its state, and the words with which checks use them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Self

from mcp_conformance.backend.contact import HostUse
from mcp_conformance.client.handlers import DECLINING
from mcp_conformance.client.listing import Listing
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Answer, Session
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.arguments import Arguments
from mcp_conformance.target.causes import Causes
from mcp_conformance.target.fetches import Fetches
from mcp_conformance.target.fuzz_time import FuzzTime
from mcp_conformance.target.lists import Lists
from mcp_conformance.target.preparation import Preparation
from mcp_conformance.target.processes import Processes
from mcp_conformance.target.reported import Reported
from mcp_conformance.target.reproducer import QUICK, THOROUGH, Reproducer
from mcp_conformance.target.scenario import Records
from mcp_conformance.target.sessions import MALFORMED, SHARED, Sessions
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.state import State
from mcp_conformance.target.surface import Subject, Surface
from mcp_conformance.target.tool_calls import ToolCalls
from mcp_conformance.target.world import world_of
from mcp_conformance.transport.interface import Clock
from mcp_conformance.world.world import World


@dataclass
class RunShared:
    """What the servers of all revisions share in a run.

    ``surfaces`` are those in which a session opened.  ``servers`` has the server in each revision in which
    checks have begun, ``proposals`` the first reply to ``initialize`` for each revision.  ``fuzz_time`` is
    None without ``--time``; nothing fuzzes beyond ``fuzz_until`` (monotonic).  ``world`` is what is known of
    values behind the server, and ``preparation`` the calls by which a process comes to know them too; None
    before the first server.
    """

    surfaces: tuple[Surface, ...] = ()
    servers: dict[str, Server] = field(default_factory=dict)
    proposals: dict[str, Reply] = field(default_factory=dict)
    fuzz_time: FuzzTime | None = None
    fuzz_until: float = math.inf
    world: World | None = None
    preparation: Preparation | None = None

    def known_world(self, settings: Settings) -> World:
        """Return the world of the run, which begins with the first server."""
        if self.world is None:
            self.world = world_of(settings)
        return self.world

    def preparation_in(self, world: World) -> Preparation:
        """Return the preparation of new processes."""
        if self.preparation is None:
            self.preparation = Preparation(world)
        return self.preparation

    def fuzz_seconds(self, clock: Clock) -> float:
        """Return the seconds that the running check may fuzz."""
        share = math.inf if self.fuzz_time is None else self.fuzz_time.share
        return min(share, self.fuzz_until - clock.monotonic())


@dataclass
class FuzzRecords:
    """What the fuzzer has seen in one revision.

    ``failed_cases`` are the names of hostile values that a target failed with, ``values_read`` those of
    values in requests that the server answered with their ids.  ``blocks_together`` says that the server
    answers none of several requests in flight, which is reported once.  ``seconds_spent`` are those that all
    targets so far have waited for answers, except to shrink.
    """

    failed_cases: set[str] = field(default_factory=set)
    values_read: set[str] = field(default_factory=set)
    blocks_together: bool = False
    seconds_spent: float = 0.0


class Server:
    """The server under test in one revision.

    Its parts own its state: ``processes``, ``sessions``, ``lists``, ``arguments``, ``tool_calls``,
    ``fetches`` and ``state``; ``reported`` and ``causes`` let each verdict be reported once; ``fuzzing`` is
    what the fuzzer has seen, ``reproducer`` has the budget of all reductions, ``run`` is what the servers of
    all revisions share.  ``records`` are those of the scenarios, ``judged_figures`` those that checks of
    budgets measured, ``hosts`` counts what it asks other hosts, if that was looked at, ``updated`` says which
    recorded sessions were written.
    """

    def __init__(
        self,
        settings: Settings,
        surface: Surface,
        run: RunShared | None = None,
        processes: Processes | None = None,
    ):
        self.surface = surface
        self.revision = surface.revision
        self.run = run if run is not None else RunShared()
        self.reported = Reported()
        self.processes = processes if processes is not None else Processes(settings, surface.opening)
        self.sessions = Sessions(settings, surface, self.processes, self.reported)
        self.trail = self.sessions.trail
        self.causes = Causes(self.sessions)
        self.lists = Lists(self.sessions)
        world = self.run.known_world(settings)
        preparation = self.run.preparation_in(world)
        self.arguments = Arguments(settings, surface.revision, world)
        self.tool_calls = ToolCalls(self.sessions, self.lists, self.arguments, self.reported, preparation)
        tools = {tool.name for tool in surface.tools}
        self.sessions.prepare = lambda session: preparation.prepare(session, tools)
        self.fetches = Fetches(self.sessions, self.lists, self.tool_calls, self.reported, world)
        self.state = State(self.sessions, world)
        self.fuzzing = FuzzRecords()
        self.reproducer = Reproducer(QUICK if settings.is_gentle else THOROUGH, settings.clock)
        self.records: Records = {}
        self.judged_figures: dict[str, float] = {}
        self.hosts: Counter[HostUse] = Counter()
        self.updated: list[str] = []
        self._note_opening(surface)

    @classmethod
    def of(cls, subject: Subject, revision: str, run: RunShared | None = None) -> Self:
        """Return the server in one revision, with the session and the proposals of the probe."""
        run = run if run is not None else RunShared(subject.live)
        server = cls(subject.settings, subject.surface(revision), run, subject.processes_in(revision))
        if (session := subject.take_session(revision)) is not None:
            server.sessions.adopt(session)
        run.servers[revision] = server
        for surface in subject.surfaces:
            server._note_opening(surface)
        return server

    def _note_opening(self, surface: Surface) -> None:
        """Keep the reply to the proposal of the probe, if it is the first one for its revision."""
        if not surface.is_modern and (opening := surface.opening_reply) is not None:
            self.run.proposals.setdefault(surface.proposed_revision, opening)

    @property
    def settings(self) -> Settings:
        """How the server is run; it may start as slowly as its slowest process did."""
        return self.sessions.settings

    @property
    def clock(self) -> Clock:
        """The clock of all sessions."""
        return self.settings.clock

    # The other revisions of the run

    @property
    def other_surfaces(self) -> list[Surface]:
        """The surfaces in the other revisions in which a session opened."""
        return [one for one in self.run.surfaces if one.revision != self.revision]

    @property
    def is_newest(self) -> bool:
        """Whether no newer revision is tested in the run."""
        return not self._newer_revision(lambda _: True)

    def newer_revision_with(self, tool: Tool) -> str:
        """Return a newer revision of the run in which the server has the same tool; empty if none."""
        return self._newer_revision(
            lambda surface: any(
                other.name == tool.name and other.input_schema == tool.input_schema for other in surface.tools
            )
        )

    def newer_revision_offering(self, *features: str) -> str:
        """Return a newer revision of the run in which the server declares these features; empty if none."""
        return self._newer_revision(
            lambda surface: all(surface.offers.get(feature) is not None for feature in features)
        )

    def _newer_revision(self, fits: Callable[[Surface], bool]) -> str:
        newer = (one for one in self.other_surfaces if one.revision > self.revision)
        return next((one.revision for one in newer if fits(one)), "")

    # Sessions

    @property
    def session(self) -> Session:
        """The session of the checks that leave no trace; a process that ended or is silent is replaced."""
        return self.sessions.shared(SHARED)

    @property
    def malformed_session(self) -> Session:
        """The session for malformed lines, so that they disturb no other check."""
        return self.sessions.shared(MALFORMED)

    def shared(
        self,
        name: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Session:
        """Return the session of that name; replace a process that ended or stopped answering."""
        return self.sessions.shared(name, capabilities, client)

    def fresh(
        self,
        because: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> AbstractContextManager[Session]:
        """Return a context with a session that no check has used, which ends afterwards."""
        return self.sessions.fresh(because, capabilities, client)

    def proposed(self, revision: str) -> Reply:
        """Return the reply of a new process to ``initialize`` for ``revision``; requested only once."""
        proposals = self.run.proposals
        if revision not in proposals:
            proposals[revision] = self._proposed(revision)
        return proposals[revision]

    def _proposed(self, revision: str) -> Reply:
        session = self.sessions.launch(f"a proposal of {revision}")
        reply = session.propose(self.settings.start_timeout, revision)
        if reply.value is not None and session.revision == self.revision:
            session.notify("notifications/initialized")
            self.sessions.release(session)
        else:
            self.sessions.exclude(session)
            session.begin_close()
        return reply

    def received(self, *kinds: Kind) -> list[Value]:
        """Return every message of these kinds (all if none are named) in any conversation so far."""
        return self.sessions.received(*kinds)

    def close(self) -> None:
        """End every process."""
        self.sessions.close()

    # What the server offers

    @property
    def offers(self) -> Value:
        """The capabilities the server declares; those the probe found if it rejects server/discover."""
        return self.surface.offers

    def declares(self, *names: str) -> bool:
        """Return whether it declares a capability or a flag of it; false and null count as not declared."""
        return self.surface.declares(*names)

    def require_discovery(self) -> None:
        """Skip the check if the server rejects server/discover (reported by discover.implemented)."""
        if self.surface.found_features:
            skip("the server rejects server/discover, so its capabilities are not known")

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools the probe listed."""
        return self.surface.tools

    def tool(self, name: str) -> Tool | None:
        """Return the listed tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def listing(self, method: str) -> Listing:
        """Fetch a list (``tools/list``, ``prompts/list``, ...) in the shared session, once."""
        return self.lists.get(method)

    def listings(self) -> Iterator[Listing]:
        """Yield the list of each declared feature."""
        return self.lists.declared()

    def served_lists(self) -> list[str]:
        """Return the methods of the lists that are declared and answered."""
        return self.lists.served()

    def listed(self, *methods: str) -> list[Value]:
        """Return every item of these declared lists (all but tools if none are named)."""
        return self.lists.items(*methods)

    # Calls and fetches

    def call(self, tool: Tool) -> Call:
        """Call a tool with valid arguments, once in a run (`ToolCalls.call`)."""
        return self.tool_calls.call(tool)

    def calls(self) -> list[Call]:
        """Call every tool that may be called, once; leave out those without an answer."""
        return self.tool_calls.all()

    def quick_calls(self) -> list[Call]:
        """Call every tool as `calls` does; leave out the slow ones, without a wait for their answers."""
        return self.tool_calls.quick()

    def call_again(self, call: Call, params: Mapping[str, Any]) -> Reply:
        """Call a tool once more, with other ``params``; skip if the tool is slow."""
        return self.tool_calls.again(call, params)

    def prompts(self) -> list[Reply]:
        """Fetch each listed prompt; return the best reply to each, then the other refusals."""
        return self.fetches.prompts()

    def resources(self) -> list[Reply]:
        """Read the first listed resources once; refusals are among the replies."""
        return self.fetches.resources()

    def read(self, uri: str) -> Reply:
        """Read a resource once in a run, listed or not."""
        return self.fetches.read(uri)
