"""The subject before the run: how it is started, and what it offers, as probed once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance import revisions
from conformance.dialects import Unjudgeable, instance_errors
from conformance.process import MAX_LINE, OnWait, Process
from conformance.sandbox import Sandbox, importable, rooted, without_secrets
from conformance.session import LISTED, Flood, Reply, Session, Walk
from conformance.value import Value, members
from conformance.wire import ABSENT, Line, decode, named, shorten, show, torn

LISTS = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resources", "resourceTemplates"),
}
"""Each list method with the capability it belongs to and the member of its result."""

INITIALIZED = Session.line_of({"jsonrpc": "2.0", "method": "notifications/initialized"})
NOT_MODERN = "no modern revision"
NO_WALK = Walk("tools/list", "tools", ())
PROBE_PATIENCE = 3.0
"""How many seconds, at the least, a server that speaks a handshake revision has for ``server/discover``."""

PROFILES = {"none": 0, "quick": 50, "thorough": 500}
"""How many values Hypothesis makes for whatever is fuzzed, in each profile; with 0, nothing is fuzzed."""


MOST_TOOLS = 250
"""How many tools are tested, by default."""


@dataclass(frozen=True)
class Sample:
    """A tool call the user vouches for: the tool's name and its arguments."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """How the user wants the subject run.

    ``command`` is the program and its words, ``timeout`` and ``start_timeout`` are in seconds.  ``call``
    holds ``readonly``, ``all``, or patterns of tool names that may be called; nothing if it is empty.
    ``samples`` are arguments the user vouches for; they release no tool.  Of the tools that are listed the
    first ``most_tools`` are tested.  A line has ``max_line`` bytes at the most to be read, and all checks
    have ``max_time`` seconds.
    Without a ``cwd`` the server works in the ``sandbox``, where its home is too unless ``inherit_home``;
    without a ``sandbox`` it works here.  Paths in the command start from ``here``.  While an answer is waited
    for, ``on_wait`` is told so.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    inherit_home: bool = False
    sandbox: Sandbox | None = None
    timeout: float = 30.0
    start_timeout: float = 30.0
    call: tuple[str, ...] = ("readonly",)
    failing_tool: Sample | None = None
    changing_tool: Sample | None = None
    samples: tuple[Sample, ...] = ()
    transcripts: Path = Path(".mcp-conformance")
    seed: int = 0
    examples: int = 50
    most_tools: int = MOST_TOOLS
    max_line: int = MAX_LINE
    max_time: float = 3600.0
    here: Path = field(default_factory=Path.cwd)
    on_wait: OnWait | None = None

    def may_call(self, tool: Tool) -> bool:
        """Whether the user lets this tool run (``--mcp-call``)."""
        return any(
            pattern == "all" or (pattern == "readonly" and tool.read_only) or fnmatchcase(tool.name, pattern)
            for pattern in self.call
        )

    def vouched(self, tool: str) -> list[dict[str, Any]]:
        """The arguments the user vouches for, for the tool of that name (``--mcp-example``)."""
        return [dict(sample.arguments) for sample in self.samples if sample.tool == tool]

    def start(self) -> Process:
        """Start one process of the subject.  Raises `conformance.process.CannotStart`."""
        environment = without_secrets(os.environ)
        command, cwd = self.command, self.cwd
        if self.sandbox is not None:
            environment |= {} if self.inherit_home else self.sandbox.variables()
            if cwd is None:
                cwd = self.sandbox.work
                command = rooted(command, self.here)
                environment |= importable(command, self.here, environment)
        environment |= self.env
        return Process(command, env=environment, cwd=cwd, max_line=self.max_line, on_wait=self.on_wait)


@dataclass(frozen=True)
class Tool:
    """A listed tool."""

    definition: Value

    @property
    def name(self) -> str:
        """Its name; empty when it has none that is a string."""
        name = self.definition.get("name")
        return name.json if name is not None and name.is_a(str) else ""

    @property
    def input_schema(self) -> Any:
        """Its input schema, an open object schema when it has none."""
        schema = self.definition.get("inputSchema")
        return schema.json if schema is not None else {"type": "object"}

    @property
    def output_schema(self) -> Value | None:
        """Its output schema, None when it has none."""
        return self.definition.get("outputSchema")

    @property
    def read_only(self) -> bool:
        """Whether the tool says of itself that it changes nothing."""
        hint = self.definition.get("annotations", "readOnlyHint")
        return hint is not None and hint.json is True


@dataclass(frozen=True)
class Trouble:
    """Something that keeps rules from being exercised; ``requirement`` is the rule it breaks itself.

    ``is_flood`` says that the server flooded its stdout.
    """

    name: str
    requirement: str
    reason: str
    lines: tuple[Line, ...] = ()
    stderr: str = ""
    is_flood: bool = False


@dataclass(frozen=True)
class Surface:
    """What the server offers in one revision, as probed once before the run.

    ``refused`` is what it offered instead, when it does not speak the one asked for.  ``settled`` is what was
    said after ``hello`` to open the conversation.  ``left_out`` is how many more tools were listed than are
    tested.  ``found`` are the features that a modern server turned out to have that does not tell what it
    offers, as it refuses to be discovered.
    """

    revision: str
    hello: tuple[Line, ...] = ()
    tools: tuple[Tool, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    noise: int = 0
    refused: str = ""
    settled: tuple[Line, ...] = ()
    left_out: int = 0
    found: tuple[str, ...] = ()

    @property
    def result(self) -> Value:
        """The result of ``initialize`` or ``server/discover``; an empty object if there was none."""
        message = self.hello[1].message if len(self.hello) > 1 else None
        result = message.get("result") if isinstance(message, dict) else None
        return Value(result if isinstance(result, dict) else {}, "result", self.hello)

    @property
    def offers(self) -> Value:
        """The capabilities it declares, or that were found; an empty object if none."""
        declared = self.result.get("capabilities")
        if declared is not None:
            return declared
        return Value({feature: {} for feature in self.found}, "result.capabilities", self.hello)

    @property
    def is_modern(self) -> bool:
        """Whether it was probed in a modern revision."""
        return revisions.is_modern(self.revision)

    @property
    def opening(self) -> tuple[Line, ...]:
        """The lines that opened the conversation."""
        return (*self.hello, *self.settled) if self.is_modern else (*self.hello, INITIALIZED)

    @property
    def asked(self) -> str:
        """The revision that the server was asked for."""
        params = self.hello[0].message["params"] if self.hello else {}
        return str(params.get("protocolVersion", self.revision))

    @property
    def dead(self) -> bool:
        """Whether no conversation came about at all."""
        return any(trouble.name == "start" for trouble in self.troubles)

    @property
    def server_info(self) -> Value | None:
        """What the server says of itself, None if it says nothing."""
        where = ("_meta", revisions.SERVER_INFO) if self.is_modern else ("serverInfo",)
        return self.result.get(*where)

    @property
    def server_name(self) -> str:
        """Name and version the server gives itself."""
        info = self.server_info or Value({})
        parts = [info.get(member) for member in ("name", "version")]
        return named(" ".join(str(part.json) for part in parts if part is not None), 80) or "(no name)"

    def to_json(self) -> str:
        """This surface as text, for another process."""
        pages: list[tuple[Line, ...]] = []
        places: list[tuple[int, str]] = []
        for tool in self.tools:
            lines = tool.definition.lines
            pages += [lines] if pages[-1:] != [lines] else []
            places.append((len(pages) - 1, tool.definition.path))
        told = {
            "revision": self.revision,
            "hello": _told(self.hello),
            "pages": [_told(lines) for lines in pages],
            "tools": places,
            "troubles": [{**vars(one), "lines": _told(one.lines)} for one in self.troubles],
            "noise": self.noise,
            "refused": self.refused,
            "settled": _told(self.settled),
            "left_out": self.left_out,
            "found": self.found,
        }
        return json.dumps(told)

    @classmethod
    def from_json(cls, text: str) -> Surface:
        """The surface that `to_json` wrote."""
        data = json.loads(text)
        return cls(
            revision=data["revision"],
            hello=_lines(data["hello"]),
            tools=tuple(_tools([_lines(lines) for lines in data["pages"]], data["tools"])),
            troubles=tuple(Trouble(**{**one, "lines": _lines(one["lines"])}) for one in data["troubles"]),
            noise=data["noise"],
            refused=data["refused"],
            settled=_lines(data["settled"]),
            left_out=data["left_out"],
            found=tuple(data["found"]),
        )


def _told(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Lines as JSON, without the messages, which can be read again."""
    return [
        {
            "sent": line.sent,
            "raw": line.raw.decode("latin-1"),
            "at": line.at,
            "fault": line.fault,
            "oddities": line.oddities,
        }
        for line in lines
    ]


def _lines(data: list[dict[str, Any]]) -> tuple[Line, ...]:
    lines = []
    for one in data:
        raw = one["raw"].encode("latin-1")
        lines.append(Line(one["sent"], raw, one["at"], decode(raw)[0], one["fault"], tuple(one["oddities"])))
    return tuple(lines)


def _tools(pages: list[tuple[Line, ...]], places: list[tuple[int, str]]) -> Iterator[Tool]:
    """The tools that are listed on these pages, each given by its page and its path."""
    listed = [_listed(lines) for lines in pages]
    for page, path in places:
        yield Tool(Value(next(listed[page], None), path, pages[page]))


def _listed(lines: tuple[Line, ...]) -> Iterator[Any]:
    """The tools on the page that these lines brought."""
    wanted, said = lines[0].message["id"], [Value(part) for part in lines[-1].parts()]
    answers = [one for one in said if one.is_a(dict) and one.json.get("id") == wanted]
    pages = members(answers, "result", "tools")
    return (tool.json for page in pages for tool in page.each())


# Probing -----------------------------------------------------------------------------------------


def probe(settings: Settings, revision: str, *, exactly: bool, timeout: float | None = None) -> Surface:
    """Open one conversation and see what the server offers.

    With ``exactly``, a server that offers another revision than ``revision`` has refused it; otherwise the
    revision it offers is taken.  The opening takes ``timeout`` seconds at most, else the settings' own.
    Raises `conformance.process.CannotStart`; all else is in the surface.
    """
    with closing(Session(settings.start(), revision=revision, timeout=settings.timeout)) as session:
        return opened(settings, session, exactly=exactly, timeout=timeout)


def opened(settings: Settings, session: Session, *, exactly: bool, timeout: float | None = None) -> Surface:
    """What a server offers in a conversation that is opened with this, as `probe` tells it."""
    revision = session.revision
    hello = session.open(timeout or settings.start_timeout)
    refused = _refused(session, hello)
    if refused:
        return Surface(revision, hello.lines, refused=refused)
    found = _found(session) if session.is_modern and hello.error is not None else ()
    trouble = None if found else _hello_trouble(settings, session, hello)
    if trouble is not None:
        return Surface(revision, hello.lines, troubles=(trouble,), noise=len(session.noise()))
    if exactly and session.revision != revision:
        return Surface(revision, hello.lines, refused=session.revision)
    has_tools = "tools" in found or session.declares("tools")
    walk, troubles = _probe_tools(session) if has_tools else (NO_WALK, ())
    tools = tuple(map(Tool, walk.first(settings.most_tools)))
    if len(tools) < walk.size:
        tools = tuple(_lean(tools))
    return Surface(
        session.revision,
        hello.lines,
        tools,
        troubles,
        len(session.noise()),
        settled=session.settled,
        left_out=walk.size - len(tools),
        found=found,
    )


def _refused(session: Session, hello: Reply) -> str:
    """What a server offers that does not speak the era of this conversation; empty if it speaks it."""
    if hello.code == revisions.UNSUPPORTED_VERSION:
        supported = hello.error_value.get("data", "supported")
        return show(supported.json, 80) if supported is not None else "other versions"
    if not session.is_modern or hello.fault is not None or is_discovered(hello):
        return ""
    return "" if _serves_lists(session, hello) else NOT_MODERN


def is_discovered(hello: Reply) -> bool:
    """Whether the answer to ``server/discover`` is that of a server which knows what it was asked."""
    result = hello.value
    return result is not None and any(result.get(name) for name in ("supportedVersions", "resultType"))


def _serves_lists(session: Session, hello: Reply) -> bool:
    """Whether a server that did not tell what it offers answers other requests in the modern way."""
    listed = session.request("tools/list", timeout=max(1.0, 4 * hello.seconds)).value
    return listed is not None and listed.get("resultType") is not None


def _found(session: Session) -> tuple[str, ...]:
    """The features whose lists are served."""
    return tuple(feature for feature, method in LISTED.items() if session.request(method).value is not None)


def _hello_trouble(settings: Settings, session: Session, hello: Reply) -> Trouble | None:
    asked = hello.method
    opening = "discover.implemented" if session.is_modern else "lifecycle.initialize.responds"

    def trouble(reason: str, rule: str = opening) -> Trouble:
        told = f"{reason} (mcp-conformance doctor -- COMMAND tells more)"
        return Trouble("start", rule, told, hello.lines, session.process.stderr)

    if session.unended is not None:
        reason = f"the server answered {asked} without a line end: {shorten(session.unended.text)}"
        return trouble(reason, "stdio.newline-delimited")
    if hello.fault is not None and torn(session.said):
        reason = f"the server never answered {asked} on one line: it wrote a message of several lines"
        return trouble(reason, "stdio.no-embedded-newline")
    if hello.fault is not None:
        what = "; what it wrote to stdout is not JSON-RPC" if session.noise() else ""
        where = "" if settings.cwd else "; it ran in a throwaway directory, --cwd . runs it here"
        return trouble(f"the server never answered {asked}: {hello.fault}{what}{where}")
    if hello.value is None:
        return trouble(f"the server refused {asked}: {hello}")
    offered = hello.value.get("protocolVersion")
    if not session.is_modern and (offered is None or offered.json not in revisions.HANDSHAKE):
        known = ", ".join(revisions.HANDSHAKE)
        got = "no protocolVersion" if offered is None else f"revision {show(offered.json)}"
        return trouble(f"the server answered initialize with {got}; known revisions are {known}")
    return None


def _probe_tools(session: Session) -> tuple[Walk, tuple[Trouble, ...]]:
    walk = settled_walk(session, "tools/list")
    last = walk.replies[-1]
    if last.value is not None and not any(page is not None for page in _arrays(walk)):
        trouble = Trouble("tools", "tools.list.result-shape", "tools/list has no array of tools", last.lines)
        return NO_WALK, (trouble,)
    if not walk.trouble:
        return walk, ()
    id = "pagination.progress" if walk.looped else "tools.list.answered"
    if len(walk.replies) > 1 and not walk.looped:
        id = "pagination.cursor-accepted"
    stderr = last.fault.stderr if last.fault else ""
    return walk, (Trouble("tools", id, walk.trouble, last.lines, stderr, isinstance(last.fault, Flood)),)


def _lean(tools: Iterable[Tool]) -> Iterator[Tool]:
    """These tools, whose lines are kept without the many others that came with them."""
    known: dict[int, tuple[Line, ...]] = {}
    for tool in tools:
        lines = tool.definition.lines
        if id(lines) not in known:
            known[id(lines)] = tuple(line if line.sent else replace(line, message=ABSENT) for line in lines)
        yield Tool(replace(tool.definition, lines=known[id(lines)]))


def _arrays(walk: Walk) -> Iterator[Value | None]:
    for reply in walk.replies:
        array = reply.value.get(walk.member) if reply.value is not None else None
        yield array if array is not None and array.is_a(list) else None


def settled_walk(session: Session, method: str) -> Walk:
    """Fetch a list; if a change is announced meanwhile, fetch it again (three times at most).

    Servers that add a tool right after the handshake are settled this way.
    """
    session.settle()
    member = LISTS[method][1]
    changed = f"notifications/{LISTS[method][0]}/list_changed"
    for _ in range(3):
        known = len(session.notifications(changed))
        walk = session.walk(method, member)
        if walk.trouble or session.settle().fault is not None:
            break
        if len(session.notifications(changed)) == known:
            break
    return walk


@dataclass(frozen=True)
class Subject:
    """The server under test: how to run it, and its surface in each revision to be tested."""

    settings: Settings
    surfaces: tuple[Surface, ...]

    @property
    def live(self) -> tuple[Surface, ...]:
        """The surfaces of revisions in which a conversation came about."""
        return tuple(filter(_is_live, self.surfaces))

    def surface(self, revision: str) -> Surface:
        """The surface in one revision."""
        return next(one for one in self.surfaces if one.revision == revision)

    def mistake(self) -> str:
        """What is wrong with the arguments that the user vouches for; empty if nothing is."""
        return next(filter(None, map(self._mistake, self.settings.samples)), "")

    def _mistake(self, sample: Sample) -> str:
        tools = [(surface.revision, tool) for surface in self.live for tool in surface.tools]
        names = sorted({tool.name for _, tool in tools})
        if sample.tool not in names:
            is_certain = self.live and not any(surface.troubles for surface in self.live)
            return f"the server has no tool {sample.tool!r}{_near(sample.tool, names)}" if is_certain else ""
        for revision, tool in tools:
            errors = _errors(sample, tool, revision) if tool.name == sample.tool else []
            if errors:
                return f"these arguments are not valid for {sample.tool} in {revision}: {errors[0]}"
        return ""


def _near(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]}?" if near else f"; it has {shorten(', '.join(names) or 'none', 400)}"


def _errors(sample: Sample, tool: Tool, revision: str) -> list[str]:
    try:
        return instance_errors(dict(sample.arguments), tool.input_schema, revision)
    except Unjudgeable:
        return []


def probe_all(settings: Settings, wanted: Sequence[str]) -> Subject:
    """Probe the server in each revision of ``wanted``.

    ``("latest",)`` takes the handshake revision that it agrees to, and the newest modern one if it speaks it.
    Raises `conformance.process.CannotStart`.
    """
    latest = tuple(wanted) == ("latest",)
    found: list[Surface] = []
    for revision in (revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN) if latest else wanted:
        patience = _patience(settings, found) if revisions.is_modern(revision) else None
        found.append(probe(settings, revision, exactly=not latest, timeout=patience))
    found = [_reconciled(one, found) for one in found]
    if latest:
        found = [one for one in found if _is_live(one)] or found[:1]
    return Subject(settings, tuple(found))


def _patience(settings: Settings, found: Sequence[Surface]) -> float:
    """How long the answer to ``server/discover`` may take, by how long those to ``initialize`` took."""
    taken = [one.hello[-1].at for one in found if _is_live(one)]
    return (
        min(settings.start_timeout, max(PROBE_PATIENCE, 4 * max(taken))) if taken else settings.start_timeout
    )


def _reconciled(surface: Surface, found: Sequence[Surface]) -> Surface:
    """A surface; one without a conversation is one of an era that is not spoken, if only the other is."""
    alive = {one.is_modern for one in found if _is_live(one)}
    if not surface.dead or alive != {not surface.is_modern}:
        return surface
    refused = NOT_MODERN if surface.is_modern else ", ".join(revisions.MODERN)
    return Surface(surface.revision, surface.hello, refused=refused)


def _is_live(surface: Surface) -> bool:
    return not surface.refused and not surface.dead
