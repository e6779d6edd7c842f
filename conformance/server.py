"""The subject during a run: its conversations, and one shared place for all that was seen of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

from conformance import revisions
from conformance.client import DECLINING
from conformance.generation import Invalid, NoExample, clearly_invalid, example, invalid_since_2020_12
from conformance.process import CannotStart, Process
from conformance.progress import progress_in
from conformance.rounds import more_rounds
from conformance.session import FEATURES, NO_PARAMS, PING_SECONDS, Answer, Closed, Reply, Session, Walk
from conformance.surface import LISTS, Settings, Surface, Tool
from conformance.uris import expand, is_template, matches, variables
from conformance.value import Value, members
from conformance.verdict import Blocked, NotExercised, heard, not_exercised
from conformance.wire import Kind

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 2
"""How many processes are started before they are needed."""
SLOW_START = 0.2
MOST_SILENT_CALLS = 2
BUSY = 1.0
MOST_HANGS = 2
MOST_READS = 10
MOST_TEMPLATES = 5
MOST_VALUES = 3
SLOW = 2.0
NO_SUCH_NAME = "conformance_no_such_name_8f14e45fceea167a"
"""A name, URI or cursor that no server has."""


@dataclass(frozen=True)
class Call:
    """A tool call and what became of it.

    ``asked`` is what the server asked of the client meanwhile, ``progress`` what it told of its progress;
    ``pong`` is the answer to a ping that was sent while the call took its time.  ``rounds`` are all replies,
    the last one included, of a call that was made again with what the server asked for.
    """

    tool: Tool
    arguments: dict[str, Any]
    reply: Reply
    asked: tuple[Value, ...] = ()
    progress: tuple[Value, ...] = ()
    pong: Reply | None = None
    rounds: tuple[Reply, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it was answered with an error of either kind."""
        return self.reply.error is not None or self.reply.is_tool_error


@dataclass(frozen=True)
class WrongCall:
    """A tool call with invalid arguments: ``what`` is wrong with them, and what became of it."""

    what: str
    reply: Reply


@dataclass(frozen=True)
class Expansion:
    """A URI that a template stands for, and what became of reading it.

    ``sure``: the server itself completed the only variable of the template to this URI, so it is there.
    """

    template: Value
    uri: str
    sure: bool
    reply: Reply


class Server:
    """The subject in one revision.

    `session` is shared by the checks that leave no trace; `fresh` gives a process of one's own.  Tools are
    called once (`call`), prompts and resources fetched once, and all checks look at the same answers.  A
    process that died is replaced; its death is raised as `Blocked` once, for the check that met it.
    ``common`` is for what the subject's servers in all revisions share.
    """

    def __init__(self, settings: Settings, surface: Surface, common: dict[str, Any] | None = None):
        self.settings = settings
        self.common = common if common is not None else {}
        self.surface = surface
        self.revision = surface.revision
        self.sessions: list[Session] = []
        self.failed_cases: set[str] = set()
        self._kept: dict[str, Any] = {}
        self._shared: dict[str, Session] = {}
        self._charged: set[str] = set()
        self._ahead: list[Process] = []
        self._left: list[Session] = []
        self._others: list[Server] = []
        self._silent_calls = 0
        self._silent_fetches = 0
        self._hangs = 0

    # Sessions

    def connect(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Session:
        """A new process and a conversation with it, opened in this server's revision.

        Raises `Blocked` if it does not open as it did when it was probed.
        """
        session = self.launch(capabilities, client)
        hello = session.open(self.settings.start_timeout)
        if hello.value is None or session.revision != self.revision:
            session.close()
            stderr = session.process.stderr
            self.charge("start", Blocked(f"the server no longer starts: {hello}", hello.lines, stderr))
        return session

    def launch(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Session:
        """A new process to which nothing has been said yet; skips the check when starting them is no use."""
        self._expect_use()
        session = Session(
            self._process(),
            revision=self.revision,
            timeout=self.settings.timeout,
            capabilities=capabilities,
            client=client,
        )
        self.sessions.append(session)
        return session

    def _process(self) -> Process:
        """A process that was started ahead, if it still runs, else a new one; others are started ahead.

        None is for the first one, for there may be no more, and for a server that starts fast.
        """
        ahead = [process for process in self._ahead if process.exit_code is None]
        for ended in set(self._ahead) - set(ahead):
            ended.stop()
        process = ahead.pop(0) if ahead else self.settings.start()
        with suppress(CannotStart):
            while self.sessions and self._starts_slowly and len(ahead) < AHEAD:
                ahead.append(self.settings.start())
        self._ahead = ahead
        return process

    @property
    def _starts_slowly(self) -> bool:
        return any(line.at > SLOW_START for line in self.surface.hello[1:])

    def _expect_use(self) -> None:
        for trouble in {"start", "hung"} & self._charged:
            not_exercised(f"the server is blocked ({trouble}): see the blocked check")

    def proposed(self, revision: str) -> Reply:
        """What a new process answers when it is asked for ``revision``; asked once for all revisions."""
        key = f"proposed {revision}"
        if key not in self.common:
            self.common[key] = self._proposed(revision)
        reply: Reply = self.common[key]
        return reply

    def _proposed(self, revision: str) -> Reply:
        if self.surface.asked == revision:
            request, line = self.surface.hello
            return Reply(request, line, line.message)
        self._expect_use()
        session = Session(self._process(), revision=revision, timeout=self.settings.timeout)
        self._left.append(session)
        try:
            return session.propose(self.settings.start_timeout)
        finally:
            session.leave()

    @contextmanager
    def fresh(
        self, capabilities: Mapping[str, Any] | None = None, client: Mapping[str, Answer] = DECLINING
    ) -> Iterator[Session]:
        """A process of one's own, ended afterwards; ``client`` answers what the server asks for."""
        session = self.connect(capabilities, client)
        try:
            yield session
        finally:
            session.leave()

    def with_environment(self, **variables: str) -> Server:
        """The same subject with more environment variables."""
        other = Server(replace(self.settings, env={**self.settings.env, **variables}), self.surface)
        self._others.append(other)
        return other

    @property
    def session(self) -> Session:
        """The shared conversation; a process that died or fell silent is replaced."""
        return self.shared("session")

    @property
    def rough_session(self) -> Session:
        """A conversation for broken lines, so that what they do to the server disturbs no other check."""
        return self.shared("rough")

    @property
    def fuzz_session(self) -> Session:
        """A conversation for fuzzed calls."""
        return self.shared("fuzz")

    def shared(
        self,
        name: str,
        capabilities: Mapping[str, Any] | None = None,
        client: Mapping[str, Answer] = DECLINING,
    ) -> Session:
        """A conversation that checks share under a name; a process that died or fell silent is replaced."""
        session = self._shared.get(name)
        if session is not None and session.silent and not session.closed:
            session.silent = False
            if session.settle().fault is not None:
                self._hung(session)
        if session is None or session.closed or session.silent:
            if session is not None:
                session.leave()
            self._shared.pop(name, None)
            session = self._shared[name] = self.connect(capabilities, client)
        return session

    def _hung(self, session: Session) -> None:
        """Give up a server that has stopped answering, pings included, for the second time."""
        self._hangs += 1
        if self._hangs >= MOST_HANGS:
            session.close()
            asked = [line for line in session.lines if line.sent][-2:]
            reason = f"the server stopped answering in {self._hangs} processes, pings included"
            self.charge("hung", Blocked(reason, asked, session.process.stderr))

    def charge(self, key: str, blocked: Blocked) -> None:
        """Raise ``blocked`` for the first check that meets it; later ones are skipped with the reason."""
        if key in self._charged:
            not_exercised(f"{blocked.reason} (reported once)")
        self._charged.add(key)
        raise blocked

    def close(self) -> None:
        """End every process."""
        for other in self._others:
            other.close()
        for process in self._ahead:
            process.dismiss()
        sessions = [*self.sessions, *self._left]
        for session in sessions:
            session.leave()
        for process in [*self._ahead, *(session.process for session in sessions)]:
            process.stop()
        self._ahead.clear()

    # What it offers

    @property
    def offers(self) -> Value:
        """The capabilities it declares; an empty object if none."""
        declared = self.surface.result.get("capabilities")
        return declared if declared is not None else Value({}, "result.capabilities", self.surface.hello)

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
        """The lists that have a second page and could be walked to their end."""
        return [walk for walk in self.paged() if not walk.trouble]

    def undeclared(self, method: str) -> list[Value]:
        """What a list brings although its feature is not declared."""
        walk: Walk = self.once(f"undeclared {method}", lambda: self.session.walk(method, LISTS[method][1]))
        return walk.items

    def completion_request(self) -> dict[str, Any] | None:
        """Params for ``completion/complete`` of the first thing listed that has an argument."""
        return next(self.completion_requests(), None)

    def completion_requests(self) -> Iterator[dict[str, Any]]:
        """Params for ``completion/complete`` of every argument of a prompt and variable of a template."""
        for prompt in self.listed("prompts/list"):
            arguments = members([*(prompt.get("arguments") or Value([])).each()], "name")
            for name, argument in product(members([prompt], "name"), arguments):
                if name.is_a(str) and argument.is_a(str):
                    ref = {"type": "ref/prompt", "name": name.json}
                    yield {"ref": ref, "argument": {"name": argument.json, "value": ""}}
        for template in members(self.listed("resources/templates/list"), "uriTemplate"):
            for variable in variables(template.json) if template.is_a(str) else ():
                ref = {"type": "ref/resource", "uri": template.json}
                yield {"ref": ref, "argument": {"name": variable, "value": ""}}

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
        if not self.settings.may_call(tool):
            not_exercised(
                f"{tool.name} may not be called: --mcp-call {tool.name!r} or --mcp-call all releases it"
            )
        name = tool.definition.get("name")
        if name is None or not name.is_a(str):
            not_exercised(f"{tool.definition.path} has no name to be called by")
        try:
            arguments = self.arguments(tool)
        except NoExample as error:
            not_exercised(f"no valid arguments for {tool.name}: {error}")
        call: Call = self.once(f"call {tool.name}", lambda: self._call(tool, arguments))
        if call.reply.fault is not None:
            reason = f"tools/call of {tool.name} was not answered: {call.reply.fault}"
            lines, stderr = call.reply.lines, call.reply.fault.stderr
            blocked = Blocked(reason, lines, stderr, "tools.call.listed-is-callable", tool.name)
            self.charge(f"call {tool.name}", blocked)
        if call.reply.needs_input:
            not_exercised(f"{tool.name} asks the client for something first")
        return call

    def wanting(self) -> list[Call]:
        """The calls that were refused, or answered by asking for something, for what the client lacks."""
        calls = [one for one in self._kept.values() if isinstance(one, Call)]
        return [one for one in calls if one.failed or one.asked or one.reply.needs_input]

    def wanting_fetches(self) -> list[Reply]:
        """The listed prompts and resources that were refused, or that ask the client for something first."""
        replies = [one for one in self._kept.values() if isinstance(one, Reply)]
        fetched = [one for one in replies if one.method in ("prompts/get", "resources/read")]
        known = [one for one in fetched if NO_SUCH_NAME not in one.request.text]
        return [one for one in known if one.error is not None or one.needs_input]

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        if self._silent_calls >= MOST_SILENT_CALLS:
            not_exercised(f"{MOST_SILENT_CALLS} tools did not answer, so no more are called")
        call = self.call_in(self.shared("calls"), tool, arguments)
        if call.reply.fault is not None and not isinstance(call.reply.fault, Closed):
            self._silent_calls += 1
        return call

    def call_in(self, session: Session, tool: Tool, arguments: dict[str, Any]) -> Call:
        """Call a tool in a conversation, if it may be called; it is asked to tell its progress."""
        before = len(session.lines)
        meta = {"progressToken": f"progress-{before}"}
        params = {"name": tool.name, "arguments": arguments, "_meta": meta}
        request = session.send("tools/call", params)
        session.wait_for(lambda: session.is_answered(request), BUSY)
        busy = not session.is_answered(request) and not session.closed
        ping = session.send(session.pulse) if busy else None
        reply = session.await_reply(request)
        pong = session.await_reply(ping, PING_SECONDS if reply.fault is None else 0.0) if ping else None
        rounds = [reply, *more_rounds(session, reply)]
        reply = rounds[-1]
        if reply.fault is None:
            session.settle()
        asked = tuple(session.asked(*FEATURES, since=before))
        progress = tuple(one.notification for one in progress_in(session.lines[before:]) if one.request)
        return Call(tool, arguments, reply, asked, progress, pong, tuple(rounds))

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
        return _exercised(self.call, self.tools)

    def prompts(self) -> list[Reply]:
        """Each listed prompt, fetched once with made-up arguments; refusals are among the replies."""
        if not self.declares("prompts"):
            return []
        return _exercised(self._prompt, self.walk("prompts/list").items)

    def resources(self) -> list[Reply]:
        """The first listed resources, read once; refusals are among the replies."""
        if not self.declares("resources"):
            return []
        items = self.walk("resources/list").items[:MOST_READS]
        return _exercised(self._resource, items)

    def read(self, uri: str) -> Reply:
        """A resource, read once in a run, listed or not."""
        return self._fetch("resources/read", uri, {"uri": uri}, "resources.read.not-found-is-error")

    def expansions(self) -> list[Expansion]:
        """Some URIs that the listed templates stand for, read once: completed by the server, or listed."""
        found = [item for item in self.listed("resources/templates/list") if _is_expandable(item)]
        pairs = [
            (template, uri, sure)
            for template in found[:MOST_TEMPLATES]
            for uri, sure in self._uris_of(template.json["uriTemplate"])
        ]
        return _exercised(lambda pair: Expansion(*pair, self.read(pair[1])), pairs)

    def _uris_of(self, template: str) -> list[tuple[str, bool]]:
        known = {name: self.completed(template, name) for name in variables(template)}
        rows = [
            {name: values[at % len(values)] for name, values in known.items()}
            for at in range(max(map(len, known.values())))
            if all(known.values())
        ]
        made = {expand(template, row): len(known) == 1 for row in rows}
        listed = [uri.json for uri in members(self.listed("resources/list"), "uri") if uri.is_a(str)]
        fitting = [uri for uri in listed[:MOST_READS] if matches(template, uri)]
        return [*made.items(), *((uri, False) for uri in fitting[:MOST_VALUES] if uri not in made)]

    def completed(self, template: str, variable: str) -> list[str]:
        """Some values that the server itself gives for a variable of a template, asked for once."""
        values: list[str] = self.once(
            f"completed {template} {variable}", lambda: self._completed(template, variable)
        )
        return values

    def _completed(self, template: str, variable: str) -> list[str]:
        for typed in ("", "1", "a"):
            if "no completion" in self._kept:
                break
            ref, argument = {"type": "ref/resource", "uri": template}, {"name": variable, "value": typed}
            reply = self.session.request("completion/complete", {"ref": ref, "argument": argument})
            if reply.fault is not None or reply.code == -32601:
                self._kept["no completion"] = reply
            found = members([reply.value or Value({})], "completion", "values")
            values = [value.json for array in found for value in array.each() if value.is_a(str)]
            if any(values):
                return [value for value in values if value][:MOST_VALUES]
        return []

    def is_templated(self, uri: str) -> bool:
        """Whether a listed template could stand for a URI."""
        patterns = members(self.listed("resources/templates/list"), "uriTemplate")
        return any(pattern.is_a(str) and matches(pattern.json, uri) for pattern in patterns)

    def is_not_found(self, reply: Reply) -> bool:
        """Whether a read is refused as one of a resource that does not exist."""
        if reply.error is None or reply.code == -32002:
            return reply.error is not None
        uri, unknown, words = reply.request.message["params"]["uri"], self.read(NO_SUCH_URI), _words(reply)
        is_told = uri in words or reply.code == revisions.not_found(self.revision)
        return is_told and words.replace(uri, NO_SUCH_URI) == _words(unknown)

    def tool_blocks(self, *types: str) -> list[Value]:
        """Every content block of these types (all if none are named) in the results of tools."""
        found = [call.reply.value.get("content") for call in self.calls() if call.reply.value is not None]
        return _of_type(
            [block for content in found if content is not None for block in content.each()], types
        )

    def prompt_blocks(self, *types: str) -> list[Value]:
        """Every content block of these types (all if none are named) in the messages of prompts."""
        found = [reply.value.get("messages") for reply in self.prompts() if reply.value is not None]
        messages = [message for array in found if array is not None for message in array.each()]
        return _of_type(members(messages, "content"), types)

    def blocks(self, *types: str) -> list[Value]:
        """Every content block of these types (all if none are named) from tools and prompts."""
        return self.tool_blocks(*types) + self.prompt_blocks(*types)

    def contents(self) -> list[Value]:
        """Every resource content: of resources that were read, and embedded ones."""
        found = [reply.value.get("contents") for reply in self.resources() if reply.value is not None]
        read = [content for array in found if array is not None for content in array.each()]
        return read + members(self.blocks("resource"), "resource")

    def listed(self, *methods: str) -> list[Value]:
        """Every item of these lists (all but tools if none are named)."""
        wanted = methods or ("prompts/list", "resources/list", "resources/templates/list")
        return [item for walk in self.lists() if walk.method in wanted for item in walk.items]

    def annotated(self) -> list[Value]:
        """Everything that may have content annotations: blocks, resources and templates."""
        return [*self.blocks(), *self.listed()]

    def with_icons(self) -> list[Value]:
        """Everything that may have icons but tools: what is listed, resource links, and the server itself."""
        info = self.surface.server_info
        return [*self.listed(), *self.blocks("resource_link"), *([info] if info is not None else [])]

    def icons(self) -> list[Value]:
        """Every icon, those of tools included."""
        found = members([*self.with_icons(), *(tool.definition for tool in self.tools)], "icons")
        return [icon for icons in found if icons.is_a(list) for icon in icons.each() if icon.is_a(dict)]

    # Calls and requests that a right server refuses

    def call_unknown(self, name: str) -> Reply:
        """A call of a tool that is not listed, made once."""
        params = {"name": name, "arguments": {}}
        reply: Reply = self.once(f"unknown {name}", lambda: self.session.request("tools/call", params))
        return reply

    def malformed_call(self, form: str) -> Reply:
        """A ``tools/call`` that names no tool, made once: params ``absent``, ``empty`` or a ``number``."""
        params = {"absent": NO_PARAMS, "empty": {}, "number": {"name": 5}}[form]
        reply: Reply = self.once(f"malformed {form}", lambda: self.session.request("tools/call", params))
        return reply

    def invalid_calls(self, call: Call) -> list[WrongCall]:
        """Calls of a tool with arguments that no leniency makes valid, made once.

        Meant for a tool that may be called: if the server does not validate, the tool runs.
        """
        schema = call.tool.input_schema
        return self._wrong_calls(
            "invalid", call, lambda: clearly_invalid(schema, self.revision, call.arguments)
        )

    def calls_wrong_in_2020_12(self, call: Call) -> list[WrongCall]:
        """Calls whose arguments only a keyword of the 2020-12 dialect forbids, made once."""
        schema = call.tool.input_schema
        return self._wrong_calls("2020-12", call, lambda: invalid_since_2020_12(schema, self.revision))

    def _wrong_calls(self, key: str, call: Call, make: Callable[[], list[Invalid]]) -> list[WrongCall]:
        def all_calls() -> list[WrongCall]:
            try:
                return [self._wrong_call(call, wrong) for wrong in make()]
            except NoExample as error:
                not_exercised(f"no invalid arguments for {call.tool.name}: {error}")

        found: list[WrongCall] = self.once(f"{key} {call.tool.name}", all_calls)
        return found

    def _wrong_call(self, call: Call, wrong: Invalid) -> WrongCall:
        params = {"name": call.tool.name, "arguments": wrong.arguments}
        what = f"{wrong.detail!r} is missing" if wrong.kind == "missing" else f"{wrong.pointer} is wrong"
        return WrongCall(f"{what} ({wrong.keyword})", self.call_again(call, params))

    def tool_errors(self) -> list[Reply]:
        """Every tool result so far that reports an error, of valid, invalid and unknown calls alike."""
        self.provoke()
        kept = [
            one for value in self._kept.values() for one in (value if isinstance(value, list) else [value])
        ]
        replies = [getattr(one, "reply", one) for one in kept]
        return [reply for reply in replies if isinstance(reply, Reply) and reply.is_tool_error]

    def undeclared_requests(self) -> list[tuple[str, dict[str, Any]]]:
        """Well-formed requests for the features that are not declared."""
        return [
            (method, params)
            for path, since, method, params in FEATURE_REQUESTS
            if since <= self.revision and not self.declares(*path) and self._has(method)
        ]

    def misshapen_requests(self) -> list[tuple[str, Any]]:
        """Requests for declared features whose params have the wrong shape."""
        return [
            (method, params)
            for path, method, params in MISSHAPEN
            if self.declares(*path.split(".")) and self._has(method)
        ]

    def _has(self, method: str) -> bool:
        return not revisions.is_modern(self.revision) or method not in revisions.REMOVED

    def not_found_requests(self) -> list[tuple[str, dict[str, Any]]]:
        """Well-formed requests for things that do not exist."""
        return [(method, params) for feature, method, params in NOT_FOUND if self.declares(feature)]

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
        reply = self.shared("calls").request(method, params)
        if reply.fault is not None and not isinstance(reply.fault, Closed):
            self._silent_fetches += 1
        return reply

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make`` gives; made once in a run, and kept under the key for every check."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


REFUSED: tuple[tuple[str, Any], ...] = (
    ("conformance/no-such-method", {}),
    ("tools/call", {"name": NO_SUCH_NAME, "arguments": {}}),
    ("tools/call", {}),
    ("tools/list", {"cursor": 5}),
)
"""Requests that a right server refuses, and none that runs anything."""

NO_SUCH_URI = f"conformance://{NO_SUCH_NAME}"

FEATURE_REQUESTS: tuple[tuple[tuple[str, ...], str, str, dict[str, Any]], ...] = (
    (("tools",), "2024-11-05", "tools/list", {}),
    (("tools",), "2024-11-05", "tools/call", {"name": NO_SUCH_NAME, "arguments": {}}),
    (("prompts",), "2024-11-05", "prompts/list", {}),
    (("prompts",), "2024-11-05", "prompts/get", {"name": NO_SUCH_NAME}),
    (("resources",), "2024-11-05", "resources/list", {}),
    (("resources",), "2024-11-05", "resources/templates/list", {}),
    (("resources",), "2024-11-05", "resources/read", {"uri": NO_SUCH_URI}),
    (("resources", "subscribe"), "2024-11-05", "resources/subscribe", {"uri": NO_SUCH_URI}),
    (("logging",), "2024-11-05", "logging/setLevel", {"level": "info"}),
    (
        ("completions",),
        "2025-03-26",
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": NO_SUCH_NAME}, "argument": {"name": "a", "value": ""}},
    ),
)
"""For each feature, the revision since when a request belongs to it, and a well-formed one."""

MISSHAPEN: tuple[tuple[str, str, Any], ...] = (
    ("tools", "tools/call", {}),
    ("tools", "tools/list", {"cursor": 5}),
    ("prompts", "prompts/get", {}),
    ("prompts", "prompts/list", {"cursor": 5}),
    ("resources", "resources/read", {}),
    ("resources", "resources/list", {"cursor": 5}),
    ("resources", "resources/templates/list", {"cursor": 5}),
    ("resources.subscribe", "resources/subscribe", {}),
    ("completions", "completion/complete", {}),
    ("logging", "logging/setLevel", {}),
)
"""For each feature a request whose params have the wrong shape."""

NOT_FOUND: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("prompts", "prompts/get", {"name": NO_SUCH_NAME}),
    ("resources", "resources/read", {"uri": NO_SUCH_URI}),
)
"""For each feature a well-formed request for something that does not exist."""


def _is_expandable(template: Value) -> bool:
    text = template.get("uriTemplate")
    return text is not None and text.is_a(str) and is_template(text.json) and variables(text.json) != []


def same_refusal(one: Reply, other: Reply) -> bool:
    """Whether two requests are refused in the same words."""
    return _refuses(one) and _refuses(other) and _words(one) == _words(other)


def refused_as_unknown(reply: Reply, name: str, unknown: Reply) -> bool:
    """Whether a call of ``name`` is refused in the words, name included, that refuse `NO_SUCH_NAME`."""
    if not (_refuses(reply) and _refuses(unknown)) or NO_SUCH_NAME not in _words(unknown):
        return False
    return _words(reply).replace(name, NO_SUCH_NAME) == _words(unknown)


def _refuses(reply: Reply) -> bool:
    return reply.error is not None or reply.is_tool_error


def _words(reply: Reply) -> str:
    return json.dumps(reply.result if reply.error is None else reply.error, sort_keys=True)


def _of_type(blocks: list[Value], types: tuple[str, ...]) -> list[Value]:
    return [block for block in blocks if not types or getattr(block.get("type"), "json", None) in types]


def _exercised(look: Callable[[T], R], things: Iterable[T]) -> list[R]:
    """What ``look`` finds for each thing, without those that may not or cannot be looked at."""
    found = []
    for thing in things:
        with suppress(NotExercised):
            found.append(look(thing))
    return found
