"""The server during a run: its conversations, and one record of each list, call and fetch for all checks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self, TypeVar

from mcp_conformance.client.listing import Listing, fetch_list
from mcp_conformance.client.refusals import NO_SUCH_NAME, asks_client, complaint_about_network
from mcp_conformance.client.reply import Closed, Reply, Unread
from mcp_conformance.client.tool_call import Call, PendingCall, Tool, call_in
from mcp_conformance.expect import require_answer, skip
from mcp_conformance.generation import NoExample, example, further_examples
from mcp_conformance.generation.modest import modest
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.fuzz_time import FuzzTime
from mcp_conformance.target.pending_calls import SLOW_SECONDS, PendingCalls
from mcp_conformance.target.reproducer import QUICK, THOROUGH, Reproducer
from mcp_conformance.target.scenario import Records, scenario
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Subject, Surface
from mcp_conformance.target.unanswered import unanswered
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped

T = TypeVar("T")
R = TypeVar("R")
MAX_SILENT_CALLS = 2
MAX_READS = 10
MADE_UP = "example"
"""The value of each argument of a prompt."""
CALLS = "calls"
"""The name of the shared session in which tools are called, and prompts and resources fetched."""
FUZZ_TIME = "fuzz time"
"""The key of the `FuzzTime` of the run."""
SERVERS = "servers"
"""The key under which the servers of all revisions are known to each other."""


class Server(Sessions):
    """The server under test in one revision.

    It calls each tool once (`call`) and fetches each prompt and resource once; all checks judge the same
    answers. ``pending`` are slow calls without an answer.  ``records`` are those of the scenarios.
    ``tool_calls``, ``tool_successes`` and ``tool_deaths`` count the calls of each tool with valid arguments,
    those that succeeded, and those that ended the process.
    ``reproducer`` has the budget of all reductions in this revision.
    ``values_read`` are the names of hostile values in requests that the server answered with their ids.
    ``judged_figures`` are those that checks of budgets have measured.
    """

    def __init__(self, settings: Settings, surface: Surface, common: dict[str, Any] | None = None):
        super().__init__(settings, surface, common)
        self.records: Records = {}
        self.other_surfaces: tuple[Surface, ...] = ()
        self.failed_cases: set[str] = set()
        self.values_read: set[str] = set()
        self.reproducer = Reproducer(QUICK if settings.is_gentle else THOROUGH, settings.clock)
        self.pending = PendingCalls()
        self.tool_calls = Counter[str]()
        self.tool_successes = Counter[str]()
        self.tool_deaths = Counter[str]()
        self.judged_figures: dict[str, float] = {}
        self._calls: dict[str, Call] = {}
        self._fetches: dict[tuple[str, str], Reply] = {}
        self._silent_calls = 0
        self._silent_fetches = 0

    @classmethod
    def of(cls, subject: Subject, revision: str, common: dict[str, Any] | None = None) -> Self:
        """Return the server in one revision, with the session and the proposals of the probe."""
        server = cls(subject.settings, subject.surface(revision), common)
        server.starter = subject.starter(revision)
        if (session := subject.take_session(revision)) is not None:
            server.adopt(session)
        server.common.setdefault(SERVERS, {})[revision] = server
        server.other_surfaces = tuple(one for one in subject.live if one.revision != revision)
        for surface in subject.surfaces:
            if not surface.is_modern and (opening := surface.opening_reply) is not None:
                server.note_proposal(surface.proposed_revision, opening)
        return server

    @property
    def handshake_server(self) -> Server | None:
        """The same server in `revisions.LATEST_HANDSHAKE`, if checks run in that too."""
        server: Server | None = self.common.get(SERVERS, {}).get(revisions.LATEST_HANDSHAKE)
        return server

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

    @property
    def fuzz_seconds(self) -> float:
        """The seconds that the running check may fuzz, infinite without ``--time``."""
        time: FuzzTime | None = self.common.get(FUZZ_TIME)
        return math.inf if time is None else time.share

    # Capabilities and lists

    @property
    def offers(self) -> Value:
        """The capabilities the server declares; those the probe found if it rejects server/discover."""
        return self.surface.offers

    def require_discovery(self) -> None:
        """Skip the check if the server rejects server/discover (reported by discover.implemented)."""
        if self.surface.found_features:
            skip("the server rejects server/discover, so its capabilities are not known")

    def declares(self, *names: str) -> bool:
        """Return whether it declares a capability or a flag of it; false and null count as not declared."""
        return self.surface.declares(*names)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools the probe listed."""
        return self.surface.tools

    def tool(self, name: str) -> Tool | None:
        """Return the listed tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @scenario
    def listing(self, method: str) -> Listing:
        """Fetch a list (``tools/list``, ``prompts/list``, ...) in the shared session."""
        return fetch_list(self.session, method, LISTS[method][1])

    def listings(self) -> Iterator[Listing]:
        """Yield the list of each declared feature."""
        for method, (feature, _) in LISTS.items():
            if self.declares(feature):
                yield self.listing(method)

    def served_lists(self) -> list[str]:
        """Return the methods of the lists that are declared and answered."""
        return [one.method for one in self.listings() if one.replies[0].value is not None]

    def paged_listings(self) -> list[Listing]:
        """Return the lists that have a second page."""
        return [one for one in self.listings() if any(cursor.is_a(str) for cursor in one.cursors)]

    def complete_paged_listings(self) -> list[Listing]:
        """Return the lists that have a second page, came to an end, and were read in full."""
        return [one for one in self.paged_listings() if one.is_complete]

    def undeclared_items(self, method: str) -> list[Value]:
        """Return the items of a list whose feature is not declared."""
        return self.listing(method).items

    def listed(self, *methods: str) -> list[Value]:
        """Return every item of these lists (all but tools if none are named)."""
        wanted = methods or ("prompts/list", "resources/list", "resources/templates/list")
        return [item for one in self.listings() if one.method in wanted for item in one.items]

    # Calling tools

    def examples(self, tool: Tool) -> list[dict[str, Any]]:
        """Return the arguments that the user vouches for."""
        return self.settings.vouched(tool.name)

    def arguments(self, tool: Tool) -> dict[str, Any]:
        """Return valid arguments for a tool, the user's first if there are any.

        Raises `mcp_conformance.generation.NoExample`.
        """
        vouched = self.examples(tool)
        return vouched[0] if vouched else self._made_arguments(tool)

    @scenario
    def schema(self, tool: Tool) -> Any:
        """Return the schema for valid arguments of a tool; numbers are modest unless the run is thorough."""
        examples = self.examples(tool)
        return (
            modest(tool.input_schema, self.revision, examples)
            if self.settings.is_gentle
            else tool.input_schema
        )

    @scenario
    def _made_arguments(self, tool: Tool) -> dict[str, Any]:
        made: dict[str, Any] = example(tool.input_schema, self.revision)
        return made

    def call(self, tool: Tool) -> Call:
        """Call a tool with valid arguments, once in a run; if that fails, with a few others.

        The call is the first that succeeds, else the first of all.  Skips the check when the tool may not be
        called or no arguments are known.  Raises a `Finding` or `Blocked` for the first check that meets a
        call without an answer.
        """
        arguments = self._arguments_for(tool)
        if tool.name in self.pending:
            self._end_pending_calls(tool.name)
        elif tool.name not in self._calls:
            self._calls[tool.name] = self._call(tool, arguments)
        call = self._calls[tool.name]
        if call.is_at_work:
            skip(
                f"{tool.name} takes longer than {self.settings.timeout:g} s and reports progress (--timeout)"
            )
        if call.reply.fault is not None:
            self.raise_once(f"call {tool.name}", self._unanswered(call))
        if call.reply.needs_input:
            skip(f"{tool.name} asks the client for something first")
        return call

    @scenario
    def _unanswered(self, call: Call) -> Finding | Blocked:
        return unanswered(self, call)

    def other_death(self, call: Call) -> Finding | Blocked | None:
        """Return the verdict on the call with other valid arguments that ended the process; None without."""
        dead = next((one for one in call.others if isinstance(one.reply.fault, Closed)), None)
        return None if dead is None else self._unanswered(dead)

    def _arguments_for(self, tool: Tool) -> dict[str, Any]:
        """Return the arguments to call a tool with; skip if it may not be called, or none are known."""
        if not self.settings.may_call(tool):
            skip(f"{tool.name} may not be called: --call {tool.name!r} or --call all releases it")
        name = tool.definition.get("name")
        if name is None or not name.is_a(str):
            skip(f"{tool.definition.path} has no name to be called by")
        try:
            return self.arguments(tool)
        except NoExample as error:
            cause = Cause.TOO_COSTLY if error.is_too_costly else None
            skip(f"no valid arguments for {tool.name}: {error}", cause=cause)

    def answered_calls(self) -> list[Reply]:
        """Return the results of the calls with valid arguments so far, without those of the fuzzer."""
        calls = [one for call in self._calls.values() for one in call.with_others]
        return [one.reply for one in calls if one.reply.value is not None]

    def calls_wanting_input(self) -> list[Call]:
        """Return the calls so far that failed, or asked for something that the client lacks."""
        return [one for one in self._calls.values() if one.failed or one.asked or one.reply.needs_input]

    def fetches_wanting_input(self) -> list[Reply]:
        """Return the fetches so far of listed prompts and resources that failed or asked for something."""
        known = [one for one in self._fetches.values() if NO_SUCH_NAME not in one.request.text]
        return [one for one in known if one.error is not None or one.needs_input]

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        if not self.pending.leave_room:
            self._end_pending_calls()
        if self._silent_calls >= MAX_SILENT_CALLS:
            skip(f"{MAX_SILENT_CALLS} tools did not answer, so no more are called")
        return self._finished(call_in(self.shared(CALLS), tool, arguments))

    def _finished(self, first: Call) -> Call:
        """Call again with other valid arguments if a call fails; return the best call."""
        if first.reply.fault is not None and not isinstance(first.reply.fault, Closed | Unread):
            self._silent_calls += 1
        calls = [first]
        self.count_call(first.tool, first.reply)
        for arguments in self._further_arguments(first):
            calls.append(call_in(self.shared(CALLS), first.tool, arguments))
            self.count_call(first.tool, calls[-1].reply)
            if calls[-1].reply.fault is not None or not calls[-1].failed:
                break
        best = first if calls[-1].failed or calls[-1].reply.fault is not None else calls[-1]
        return replace(best, others=tuple(one for one in calls if one is not best))

    def _further_arguments(self, first: Call) -> Iterator[dict[str, Any]]:
        """Yield other valid arguments, the user's if there are any, for a tool that may succeed with them."""
        reply = first.reply
        if not first.failed or asks_client(reply) or complaint_about_network(reply) or self.is_slow(first):
            return
        vouched = self.examples(first.tool)
        with suppress(NoExample):
            yield from vouched[1:] if vouched else further_examples(self.schema(first.tool), self.revision)

    def count_call(self, tool: Tool, reply: Reply) -> None:
        """Count a call with valid arguments, unless the tool needs a task or something of the client."""
        if not asks_client(reply) and tool.task_support != "required":
            self.tool_calls[tool.name] += 1
            self.tool_successes[tool.name] += reply.value is not None and not reply.is_tool_error
            self.tool_deaths[tool.name] += isinstance(reply.fault, Closed)

    def begin_calls(self) -> None:
        """Call the tools; the first slow calls stay pending until some check needs them."""
        for tool in self.tools:
            if self.pending.leave_room and tool.name not in self._calls:
                with suppress(Skipped):
                    self._begin_call(tool, self._arguments_for(tool))

    def _begin_call(self, tool: Tool, arguments: dict[str, Any]) -> None:
        call = PendingCall(self.shared(CALLS), tool, arguments)
        if not self.pending.add_if_long(call):
            self._calls[tool.name] = self._finished(call.end())

    def _end_pending_calls(self, *names: str) -> None:
        """Wait for the pending calls of these tools, for all if none are named.

        Raises `Deferred` in place of a long wait, if the check may be deferred.
        """
        for call in self.pending.end(*names):
            self._calls[call.tool.name] = self._finished(self._alone(call))

    def _alone(self, call: Call) -> Call:
        """Return a call; make it again if the process ended, for which other calls may be the cause."""
        has_ended = isinstance(call.reply.fault, Closed)
        return call_in(self.shared(CALLS), call.tool, call.arguments) if has_ended else call

    def is_slow(self, call: Call) -> bool:
        """Return whether a tool takes so long that it is called only once."""
        return call.reply.seconds > SLOW_SECONDS

    def call_again(self, call: Call, params: Mapping[str, Any]) -> Reply:
        """Call a tool once more, with other ``params``; skip if the tool is slow.

        An earlier call may have ended the process, so a call that meets its end is repeated in another one.
        """
        if self.is_slow(call):
            skip(f"{call.tool.name} takes {call.reply.seconds:.1f} s, so it is called only once")
        reply = self.shared(CALLS).request("tools/call", params)
        if isinstance(reply.fault, Closed):
            reply = self.shared(CALLS).request("tools/call", params)
        return require_answer(reply)

    @scenario
    def missing_network(self, call: Call) -> str:
        """Return what a tool says twice when it reaches no host; empty if it does not."""
        if not complaint_about_network(call.reply):
            return ""
        params = call.params
        return complaint_about_network(self.call_again(call, params))

    def calls(self) -> list[Call]:
        """Call every tool that may be called, once; leave out those without an answer.

        Raises `Blocked` for a call without an answer that no check has met yet.
        """
        return exercised(self.call, self.tools)

    def quick_calls(self) -> list[Call]:
        """Call every tool as `calls` does; leave out the slow ones, without a wait for their answers."""
        quick = (tool for tool in self.tools if not self.pending.is_slow(tool.name))
        return [call for call in exercised(self.call, quick) if not self.is_slow(call)]

    # Fetching prompts and resources

    def prompts(self) -> list[Reply]:
        """Fetch each listed prompt once with made-up arguments; refusals are among the replies."""
        if not self.declares("prompts"):
            return []
        return exercised(self._prompt, self.listing("prompts/list").items)

    def resources(self) -> list[Reply]:
        """Read the first listed resources once; refusals are among the replies."""
        if not self.declares("resources"):
            return []
        items = self.listing("resources/list").first(MAX_READS)
        return exercised(self._resource, items)

    def read(self, uri: str) -> Reply:
        """Read a resource once in a run, listed or not."""
        return self._fetch("resources/read", uri, {"uri": uri}, "resources.read.not-found-is-error")

    def _prompt(self, item: Value) -> Reply:
        name, listed = item.get("name"), item.get("arguments")
        if name is None or not name.is_a(str):
            skip("a prompt without a name")
        names = [argument.get("name") for argument in listed.each()] if listed is not None else []
        arguments = {one.json: MADE_UP for one in names if one is not None and one.is_a(str)}
        return self._fetch("prompts/get", name.json, {"name": name.json, "arguments": arguments})

    def _resource(self, item: Value) -> Reply:
        uri = item.get("uri")
        if uri is None or not uri.is_a(str):
            skip("a resource without a URI")
        params = {"uri": uri.json}
        return self._fetch("resources/read", uri.json, params, "resources.read.listed-is-readable")

    def _fetch(self, method: str, key: str, params: Mapping[str, Any], requirement: str = "") -> Reply:
        if (method, key) not in self._fetches:
            self._fetches[method, key] = self._fetched(method, params)
        reply = self._fetches[method, key]
        if reply.fault is not None:
            reason = f"{method} of {key} was not answered: {reply.fault}"
            blocked = Blocked(reason, reply.lines, reply.fault.stderr, requirement)
            self.raise_once(f"{method} {key}", blocked)
        if reply.needs_input:
            skip(f"{method} of {key} asks the client for something first")
        return reply

    def _fetched(self, method: str, params: Mapping[str, Any]) -> Reply:
        if self._silent_fetches >= MAX_SILENT_CALLS:
            skip(f"{MAX_SILENT_CALLS} prompts or resources did not come, so no more are fetched")
        if self.pending.keep_others_waiting:
            self._end_pending_calls()
        reply = self.shared(CALLS).request(method, params)
        if reply.fault is not None and not isinstance(reply.fault, Closed | Unread):
            self._silent_fetches += 1
        return reply

    def received(self, *kinds: Kind) -> list[Value]:
        """Return every message of these kinds (all if none are named) in any conversation so far."""
        return [
            Value(message, "", (line,))
            for session in self.sessions
            for line, message in session.received(*kinds)
        ]


def exercised(look: Callable[[T], R], things: Iterable[T]) -> list[R]:
    """Return what ``look`` returns for each thing, without those for which it skips."""
    found = []
    for thing in things:
        with suppress(Skipped):
            found.append(look(thing))
    return found
