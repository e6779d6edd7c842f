"""The subject during a run: its conversations, and one shared place for all that was seen of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from conformance.client.listing import Walk
from conformance.client.refusals import NO_SUCH_NAME, REFUSED
from conformance.client.reply import Closed, Reply, Unread
from conformance.client.tool_call import Call, Tool, UnderWay
from conformance.expect import heard, not_exercised
from conformance.generation import NoExample, example
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.methods import LISTS
from conformance.protocol.value import Value
from conformance.target.sessions import Sessions
from conformance.target.settings import Settings
from conformance.target.surface import Surface
from conformance.verdicts import Blocked, NotExercised

T = TypeVar("T")
R = TypeVar("R")
MOST_SILENT_CALLS = 2
MOST_READS = 10
SLOW = 2.0


class Server(Sessions):
    """The subject in one revision.

    Tools are called once (`call`), prompts and resources fetched once, and all checks look at the same
    answers.
    """

    def __init__(self, settings: Settings, surface: Surface, common: dict[str, Any] | None = None):
        super().__init__(settings, surface, common)
        self.failed_cases: set[str] = set()
        self._kept: dict[str, Any] = {}
        self.under_way: UnderWay | None = None
        self._silent_calls = 0
        self._silent_fetches = 0

    # What it offers

    @property
    def offers(self) -> Value:
        """The capabilities it declares; those that were found if it tells of none."""
        return self.surface.offers

    def expect_told(self) -> None:
        """Skip the check if the server does not tell what it offers, as discover.implemented has it."""
        if self.surface.found:
            not_exercised("the server does not tell what it offers, as it refuses server/discover")

    def declares(self, *names: str) -> bool:
        """Whether it declares a capability or a flag of it; false and null count as not declared."""
        found = self.offers.get(*names)
        return found is not None and found.json is not False and found.json is not None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools it listed when it was probed."""
        return self.surface.tools

    def tool(self, name: str) -> Tool | None:
        """The listed tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def walk(self, method: str) -> Walk:
        """A list, fetched once (``tools/list``, ``prompts/list``, ...)."""
        walk: Walk = self.once(method, lambda: self.session.walk(method, LISTS[method][1]))
        return walk

    def lists(self) -> Iterator[Walk]:
        """Each list of a declared feature."""
        for method, (feature, _) in LISTS.items():
            if self.declares(feature):
                yield self.walk(method)

    def listing(self) -> list[str]:
        """The methods of the lists that are declared and served."""
        return [walk.method for walk in self.lists() if walk.replies[0].value is not None]

    def paged(self) -> list[Walk]:
        """The lists that have a second page."""
        return [walk for walk in self.lists() if any(cursor.is_a(str) for cursor in walk.cursors)]

    def whole(self) -> list[Walk]:
        """The lists that have a second page, could be walked to their end, and were read in full."""
        return [walk for walk in self.paged() if not walk.trouble and not walk.left_out]

    def undeclared(self, method: str) -> list[Value]:
        """What a list brings although its feature is not declared."""
        walk: Walk = self.once(f"undeclared {method}", lambda: self.session.walk(method, LISTS[method][1]))
        return walk.items

    def listed(self, *methods: str) -> list[Value]:
        """Every item of these lists (all but tools if none are named)."""
        wanted = methods or ("prompts/list", "resources/list", "resources/templates/list")
        return [item for walk in self.lists() if walk.method in wanted for item in walk.items]

    # Calling tools

    def examples(self, tool: Tool) -> list[dict[str, Any]]:
        """The arguments that the user vouches for."""
        return self.settings.vouched(tool.name)

    def arguments(self, tool: Tool) -> dict[str, Any]:
        """Valid arguments for a tool, the user's first if there are any.

        Raises `conformance.generation.NoExample`.
        """
        for arguments in self.examples(tool):
            return arguments
        made: dict[str, Any] = self.once(
            f"arguments {tool.name}", lambda: example(tool.input_schema, self.revision)
        )
        return made

    def call(self, tool: Tool) -> Call:
        """Call a tool with valid arguments, once in a run.

        Skips the check when the tool may not be called or no arguments are known.  Raises `Blocked` for the
        check that first meets a call without an answer.
        """
        arguments = self._arguments_for(tool)
        self._end_call()
        call: Call = self.once(f"call {tool.name}", lambda: self._call(tool, arguments))
        if call.reply.fault is not None:
            reason = f"tools/call of {tool.name} was not answered: {call.reply.fault}"
            lines, stderr = call.reply.lines, call.reply.fault.stderr
            blocked = Blocked(reason, lines, stderr, "tools.call.listed-is-callable", tool.name)
            self.charge(f"call {tool.name}", blocked)
        if call.reply.needs_input:
            not_exercised(f"{tool.name} asks the client for something first")
        return call

    def _arguments_for(self, tool: Tool) -> dict[str, Any]:
        """The arguments to call a tool with; skips the check when it may not be called, or none are known."""
        if not self.settings.may_call(tool):
            not_exercised(
                f"{tool.name} may not be called: --mcp-call {tool.name!r} or --mcp-call all releases it"
            )
        name = tool.definition.get("name")
        if name is None or not name.is_a(str):
            not_exercised(f"{tool.definition.path} has no name to be called by")
        try:
            return self.arguments(tool)
        except NoExample as error:
            not_exercised(f"no valid arguments for {tool.name}: {error}")

    def wanting(self) -> list[Call]:
        """The calls that were refused, or answered by asking for something, for what the client lacks."""
        calls = [one for one in self.kept() if isinstance(one, Call)]
        return [one for one in calls if one.failed or one.asked or one.reply.needs_input]

    def wanting_fetches(self) -> list[Reply]:
        """The listed prompts and resources that were refused, or that ask the client for something first."""
        replies = [one for one in self.kept() if isinstance(one, Reply)]
        fetched = [one for one in replies if one.method in ("prompts/get", "resources/read")]
        known = [one for one in fetched if NO_SUCH_NAME not in one.request.text]
        return [one for one in known if one.error is not None or one.needs_input]

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        if self._silent_calls >= MOST_SILENT_CALLS:
            not_exercised(f"{MOST_SILENT_CALLS} tools did not answer, so no more are called")
        return self._ended(UnderWay(self.shared("calls"), tool, arguments))

    def _ended(self, under_way: UnderWay) -> Call:
        call = under_way.end()
        if call.reply.fault is not None and not isinstance(call.reply.fault, Closed | Unread):
            self._silent_calls += 1
        return call

    def begin_calls(self) -> None:
        """Call the tools up to the first that is slow, which is left ``under_way`` until a call is needed."""
        for tool in self.tools:
            if self.under_way is None and f"call {tool.name}" not in self._kept:
                with suppress(NotExercised):
                    self._begin_call(tool, self._arguments_for(tool))

    def _begin_call(self, tool: Tool, arguments: dict[str, Any]) -> None:
        self.under_way = UnderWay(self.shared("calls"), tool, arguments)
        if not self.under_way.lasts(SLOW):
            self._end_call()

    def _end_call(self) -> None:
        """Wait for the call that is under way, if there is one."""
        begun, self.under_way = self.under_way, None
        if begun is not None:
            self.once(f"call {begun.tool.name}", lambda: self._ended(begun))

    def is_slow(self, call: Call) -> bool:
        """Whether a tool takes so long that it is called only once."""
        return call.reply.seconds > SLOW

    def call_again(self, call: Call, params: Mapping[str, Any]) -> Reply:
        """Call a tool once more, with other ``params``; a tool that is slow is not called a second time."""
        if self.is_slow(call):
            not_exercised(f"{call.tool.name} takes {call.reply.seconds:.1f} s, so it is called only once")
        return heard(self.shared("calls").request("tools/call", params))

    def calls(self) -> list[Call]:
        """Every tool that may be called, called once; those that were not answered are left out.

        Raises `Blocked` for a call without an answer that no check has met yet.
        """
        return exercised(self.call, self.tools)

    # Fetching prompts and resources

    def prompts(self) -> list[Reply]:
        """Each listed prompt, fetched once with made-up arguments; refusals are among the replies."""
        if not self.declares("prompts"):
            return []
        return exercised(self._prompt, self.walk("prompts/list").items)

    def resources(self) -> list[Reply]:
        """The first listed resources, read once; refusals are among the replies."""
        if not self.declares("resources"):
            return []
        items = self.walk("resources/list").first(MOST_READS)
        return exercised(self._resource, items)

    def read(self, uri: str) -> Reply:
        """A resource, read once in a run, listed or not."""
        return self._fetch("resources/read", uri, {"uri": uri}, "resources.read.not-found-is-error")

    def _prompt(self, item: Value) -> Reply:
        name, listed = item.get("name"), item.get("arguments")
        if name is None or not name.is_a(str):
            not_exercised("a prompt without a name")
        names = [argument.get("name") for argument in listed.each()] if listed is not None else []
        arguments = {one.json: "example" for one in names if one is not None and one.is_a(str)}
        return self._fetch("prompts/get", name.json, {"name": name.json, "arguments": arguments})

    def _resource(self, item: Value) -> Reply:
        uri = item.get("uri")
        if uri is None or not uri.is_a(str):
            not_exercised("a resource without a URI")
        params = {"uri": uri.json}
        return self._fetch("resources/read", uri.json, params, "resources.read.listed-is-readable")

    def _fetch(self, method: str, key: str, params: Mapping[str, Any], requirement: str = "") -> Reply:
        reply: Reply = self.once(f"{method} {key}", lambda: self._fetched(method, params))
        if reply.fault is not None:
            reason = f"{method} of {key} was not answered: {reply.fault}"
            blocked = Blocked(reason, reply.lines, reply.fault.stderr, requirement)
            self.charge(f"{method} {key}", blocked)
        if reply.needs_input:
            not_exercised(f"{method} of {key} asks the client for something first")
        return reply

    def _fetched(self, method: str, params: Mapping[str, Any]) -> Reply:
        if self._silent_fetches >= MOST_SILENT_CALLS:
            not_exercised(f"{MOST_SILENT_CALLS} prompts or resources did not come, so no more are fetched")
        self._end_call()
        reply = self.shared("calls").request(method, params)
        if reply.fault is not None and not isinstance(reply.fault, Closed | Unread):
            self._silent_fetches += 1
        return reply

    # All it said

    def provoke(self) -> None:
        """Make the server say what it can harmlessly be made to say, once: lists, calls, reads, refusals."""
        self.once("provoked", self._provoke)

    def _provoke(self) -> bool:
        list(self.lists())
        for ask in (self.calls, self.prompts, self.resources):
            ask()
        for method, params in REFUSED:
            self.session.request(method, params)
        self.rough_session.send_raw(b"this line is not JSON")
        self.rough_session.settle()
        return True

    def received(self, *kinds: Kind) -> list[Value]:
        """Every message of these kinds (all if none are named) in any conversation so far."""
        return [
            Value(message, "", (line,))
            for session in self.sessions
            for line, message in session.received(*kinds)
        ]

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make`` gives; made once in a run, and kept under the key for every check."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def kept(self) -> list[Any]:
        """Everything that `once` has kept so far."""
        return list(self._kept.values())


def exercised(look: Callable[[T], R], things: Iterable[T]) -> list[R]:
    """What ``look`` finds for each thing, without those that may not or cannot be looked at."""
    found = []
    for thing in things:
        with suppress(NotExercised):
            found.append(look(thing))
    return found
