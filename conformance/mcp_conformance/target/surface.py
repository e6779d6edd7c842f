"""The surface of a server in each revision: what it declares and lists, found by the probe before the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, Line, decode, is_response, kind
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.text import did_you_mean, named, shorten
from mcp_conformance.protocol.uri import all_variables, variables
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.target.processes import Processes
from mcp_conformance.target.settings import Sample, Settings
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped

START, SILENT = "start", "silent"
LOCKED, OLD = "credential", "HTTP+SSE"
"""Why no session opens with a server that lives: it wants a credential, or speaks an older transport."""
SPOILT = "other sessions"
"""The failure of a server over HTTP that serves nobody any more after one exchange."""
REFUSING = "every request"
"""The failure of a server that opens a session, and refuses each request in it alike, or answers with {}."""
SESSIONLESS = {LOCKED: "http.auth.", OLD: "http.sse24."}
"""What the ids of the rules begin with that are judged all the same."""
TEMPLATES = "resources/templates/list", "resourceTemplates"
READING = (*LISTS, "ping", "server/discover", "resources/read", "prompts/get", "completion/complete")
"""The methods of requests that change nothing."""
CALL_WORDS = ("all", "readonly")
"""The words of ``--call`` that are not names of tools."""
INITIALIZED = Line.sending({"jsonrpc": "2.0", "method": "notifications/initialized"})


@dataclass(frozen=True)
class ProbeFailure:
    """A reason why rules cannot be exercised; ``requirement`` is the rule that it breaks itself.

    ``name`` is `START` if no session opened, `LOCKED` or `OLD` if it is known why, `SILENT` if the server
    then stopped answering, `REFUSING` if it refused everything, else the feature concerned.  ``is_flood``
    says that the server flooded stdout, ``is_unread`` that a line was too long to read, ``is_end`` that the
    process ended or HTTP gave no answer, ``is_mute`` that it wrote no message, or flooded stdout before its
    first answer, ``is_unreached`` that it reaches no host, ``is_too_costly`` that a limit of this tool is
    reached, so that nothing can be judged.  ``ports`` are those that a mute server listens on.  What the user
    may try is the ``hint``, which ends the reason as long as nothing better is known.  The failure is a
    finding if it has an ``expected``, else it blocks the rule; ``is_fatal`` and ``defect`` are those of the
    finding.
    """

    name: str
    requirement: str
    reason: str
    lines: tuple[Line, ...] = ()
    stderr: str = ""
    is_flood: bool = False
    is_unread: bool = False
    expected: str = ""
    is_end: bool = False
    is_mute: bool = False
    is_unreached: bool = False
    is_too_costly: bool = False
    fix: str = ""
    is_fatal: bool = False
    defect: Defect | None = None
    ports: tuple[int, ...] = ()
    hint: str = ""

    @classmethod
    def of(cls, name: str, finding: Finding) -> ProbeFailure:
        """Return the failure that a finding is."""
        failure = cls(name, finding.requirement, finding.got, finding.lines, expected=finding.expected)
        return replace(failure, is_fatal=finding.fatal, defect=finding.defect)

    @property
    def verdict(self) -> Finding | Blocked | Skipped:
        """The verdict that the failure leads to."""
        if self.is_unreached:
            return Skipped(self.reason, cause=Cause.NO_HOST)
        if self.is_too_costly:
            return Skipped(self.reason, cause=Cause.TOO_COSTLY)
        if self.expected:
            defect = Defect(self.defect) if self.defect else None
            return Finding(
                self.expected, self.reason, self.lines, fatal=self.is_fatal, fix=self.fix, defect=defect
            )
        cause = Cause.NO_SESSION if self.name in SESSIONLESS else None
        return Blocked(f"{self.reason}{self.hint}", self.lines, self.stderr, cause=cause, fix=self.fix)


@dataclass(frozen=True)
class Surface:
    """What the server offers in one revision.

    ``opening`` are the lines of ``initialize`` or ``server/discover``, ``first_list`` those of the list
    request after it in a modern revision.  ``refused`` is the revision offered instead if the server does not
    speak this one. ``left_out`` counts the listed tools beyond those that are tested.  ``found_features`` are
    those whose lists a modern server serves although it rejects ``server/discover``.  ``noise`` counts the
    lines on stdout that are not JSON.  ``tools_bytes`` is the size of the results of ``tools/list`` as
    compact JSON, ``start_seconds`` the time from the start of the probe's first process to its first answer.
    """

    revision: str
    opening: tuple[Line, ...] = ()
    tools: tuple[Tool, ...] = ()
    failures: tuple[ProbeFailure, ...] = ()
    noise: int = 0
    refused: str = ""
    first_list: tuple[Line, ...] = ()
    left_out: int = 0
    found_features: tuple[str, ...] = ()
    tools_bytes: int = 0
    start_seconds: float | None = None

    @property
    def result(self) -> Value:
        """The result of ``initialize`` or ``server/discover``; an empty object if there was none."""
        message = self.opening[1].message if len(self.opening) > 1 else None
        result = message.get("result") if isinstance(message, dict) else None
        return Value(result if isinstance(result, dict) else {}, "result", self.opening)

    @property
    def opening_reply(self) -> Reply | None:
        """The reply to ``initialize`` or ``server/discover``; None if there was no answer."""
        request, line = (*self.opening, None, None)[:2]
        if request is None or line is None or not is_response(line.message):
            return None
        return Reply(request, line, line.message)

    @property
    def offers(self) -> Value:
        """The capabilities it declares, or whose features the probe found; an empty object if none."""
        declared = self.result.get("capabilities")
        if declared is not None:
            return declared
        return Value({feature: {} for feature in self.found_features}, "result.capabilities", self.opening)

    def declares(self, *names: str) -> bool:
        """Return whether it declares a capability or a flag of it; false and null count as not declared."""
        found = self.offers.get(*names)
        return found is not None and found.json is not False and found.json is not None

    @property
    def is_modern(self) -> bool:
        """Whether it was probed in a modern revision."""
        return revisions.is_modern(self.revision)

    def only_reads(self, message: Any) -> bool:
        """Return whether a request changes nothing: it calls no tool that there is, or one that says so."""
        if kind(message) is not Kind.REQUEST or message["method"] != "tools/call":
            return kind(message) is Kind.REQUEST and message["method"] in READING
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        return all(tool.read_only for tool in self.tools if tool.name == name)

    @property
    def opening_lines(self) -> tuple[Line, ...]:
        """All the lines that opened the session."""
        return (*self.opening, *self.first_list) if self.is_modern else (*self.opening, INITIALIZED)

    @property
    def proposed_revision(self) -> str:
        """The revision that the client proposed."""
        params = self.opening[0].message["params"] if self.opening else {}
        return str(params.get("protocolVersion", self.revision))

    @property
    def dead(self) -> bool:
        """Whether no session opened at all, or none that the server goes on to serve."""
        return self.refuses_all or any(one.name in (START, SILENT, LOCKED, OLD) for one in self.failures)

    @property
    def refuses_all(self) -> bool:
        """Whether a session opened in which each request is refused."""
        return any(failure.name == REFUSING for failure in self.failures)

    @property
    def closed(self) -> ProbeFailure | None:
        """The reason why no session opens with a server that lives; None unless it is known."""
        return next((one for one in self.failures if one.name in SESSIONLESS), None)

    @property
    def never_opened(self) -> bool:
        """Whether the process ended, was silent, or is known to open no session."""
        starts = [one for one in self.failures if one.name == START]
        return self.closed is not None or any(one.is_end or one.is_mute for one in starts)

    def can_judge(self, requirement: str) -> bool:
        """Return whether a rule can be judged here: in a session, or without one."""
        judged = SESSIONLESS[self.closed.name] if self.closed is not None else ""
        if self.dead:
            return bool(judged) and requirement.startswith(judged)
        return not requirement.startswith(SESSIONLESS[OLD])

    @property
    def server_info(self) -> Value | None:
        """The server's name and version object, None if it sends none."""
        where = ("_meta", revisions.SERVER_INFO) if self.is_modern else ("serverInfo",)
        return self.result.get(*where)

    @property
    def server_name(self) -> str:
        """The name and version the server reports, as one line."""
        info = self.server_info or Value({})
        parts = [info.get(member) for member in ("name", "version")]
        return named(" ".join(str(part.json) for part in parts if part is not None), 80) or "(no name)"

    def to_json(self) -> str:
        """Return this surface as text, for another process."""
        pages: list[tuple[Line, ...]] = []
        places: list[tuple[int, str]] = []
        for tool in self.tools:
            lines = tool.definition.lines
            pages += [lines] if pages[-1:] != [lines] else []
            places.append((len(pages) - 1, tool.definition.path))
        data = {
            "revision": self.revision,
            "opening": _rows(self.opening),
            "pages": [_rows(lines) for lines in pages],
            "tools": places,
            "failures": [{**vars(one), "lines": _rows(one.lines)} for one in self.failures],
            "noise": self.noise,
            "refused": self.refused,
            "first_list": _rows(self.first_list),
            "left_out": self.left_out,
            "found_features": self.found_features,
            "tools_bytes": self.tools_bytes,
            "start_seconds": self.start_seconds,
        }
        return json.dumps(data)

    @classmethod
    def from_json(cls, text: str) -> Surface:
        """Return the surface that `to_json` wrote."""
        data = json.loads(text)
        return cls(
            revision=data["revision"],
            opening=_lines(data["opening"]),
            tools=tuple(_tools([_lines(lines) for lines in data["pages"]], data["tools"])),
            failures=tuple(
                ProbeFailure(**{**one, "lines": _lines(one["lines"])}) for one in data["failures"]
            ),
            noise=data["noise"],
            refused=data["refused"],
            first_list=_lines(data["first_list"]),
            left_out=data["left_out"],
            found_features=tuple(data["found_features"]),
            tools_bytes=data["tools_bytes"],
            start_seconds=data["start_seconds"],
        )


def _rows(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return lines as JSON, without the messages, which can be decoded again."""
    return [
        {
            "sent": line.sent,
            "raw": line.raw.decode("latin-1"),
            "at": line.at,
            "fault": line.fault,
            "oddities": line.oddities,
            "carried_by": line.carried_by,
        }
        for line in lines
    ]


def _lines(data: list[dict[str, Any]]) -> tuple[Line, ...]:
    lines = []
    for one in data:
        raw = one["raw"].encode("latin-1")
        oddities = tuple(one["oddities"])
        line = Line(one["sent"], raw, one["at"], decode(raw)[0], one["fault"], oddities, one["carried_by"])
        lines.append(line)
    return tuple(lines)


def _tools(pages: list[tuple[Line, ...]], places: list[tuple[int, str]]) -> Iterator[Tool]:
    """Yield the tools on these pages, each given by its page and its path."""
    listed = [_listed(lines) for lines in pages]
    for page, path in places:
        yield Tool(Value(next(listed[page], None), path, pages[page]))


def _listed(lines: tuple[Line, ...]) -> Iterator[Any]:
    """Yield the tools on the page in these lines."""
    wanted, parts = lines[0].message["id"], [Value(part) for part in lines[-1].parts()]
    answers = [one for one in parts if one.is_a(dict) and one.json.get("id") == wanted]
    pages = members(answers, "result", "tools")
    return (tool.json for page in pages for tool in page.each())


@dataclass(frozen=True)
class Subject:
    """The server under test: how to run it, and its surface in each revision to be tested.

    ``sessions`` are those of the probe that are still open and that no `Server` has taken, by revision;
    ``ending`` are those that are about to end.  ``processes`` start more, by revision.  ``probed`` are
    the revisions of all probes, also of those without a surface; ``unopened`` are the surfaces left out in
    which the server answered nothing.
    """

    settings: Settings
    surfaces: tuple[Surface, ...]
    sessions: dict[str, Session] = field(default_factory=dict, compare=False)
    ending: list[Session] = field(default_factory=list, compare=False)
    processes: dict[str, Processes] = field(default_factory=dict, compare=False)
    probed: tuple[str, ...] = ()
    unopened: tuple[Surface, ...] = ()

    def take_session(self, revision: str) -> Session | None:
        """Return the session of the probe in a revision, once; None if there is none."""
        return self.sessions.pop(revision, None)

    def processes_in(self, revision: str) -> Processes:
        """Return the processes in a revision, besides those of the probe."""
        if revision not in self.processes:
            self.processes[revision] = Processes(self.settings, self.surface(revision).opening)
        return self.processes[revision]

    def end_sessions(self) -> None:
        """Begin to end the sessions that no `Server` has taken."""
        for session in self.sessions.values():
            session.begin_close()
        self.ending.extend(self.sessions.values())
        self.sessions.clear()

    def close(self) -> None:
        """End the sessions that no `Server` has taken, and the processes that were started ahead."""
        left = [*self.sessions.values(), *self.ending]
        self.sessions.clear()
        for processes in self.processes.values():
            processes.begin_stop()
        for session in left:
            session.begin_close()
        for processes in self.processes.values():
            processes.stop()
        for session in left:
            session.close()

    @property
    def live(self) -> tuple[Surface, ...]:
        """The surfaces of the revisions in which a session opened."""
        return tuple(filter(is_live, self.surfaces))

    @property
    def judged(self) -> tuple[Surface, ...]:
        """The surfaces of the revisions in which a session opened, or rules are judged without one."""
        return tuple(one for one in self.surfaces if is_live(one) or one.closed is not None)

    def surface(self, revision: str) -> Surface:
        """Return the surface in one revision."""
        return next(one for one in self.surfaces if one.revision == revision)

    @property
    def never_opened(self) -> bool:
        """Whether the server did not start: it ended, or was silent, in each revision."""
        return bool(self.surfaces) and all(one.never_opened for one in self.surfaces)

    @property
    def rejection(self) -> str:
        """That the server rejects the user's credential in each revision; empty if it does not."""
        is_given = self.settings.http is not None and self.settings.http.has_credential
        closed = [one.closed for one in self.surfaces if one.closed is not None and one.closed.name == LOCKED]
        return closed[0].reason if is_given and len(closed) == len(self.surfaces) > 0 else ""

    def error_in_samples(self) -> str:
        """Return what is wrong with the arguments that the user vouches for; empty if nothing is."""
        return next(filter(None, map(self._error_in, self.settings.samples)), "")

    def unmatched_pattern(self) -> str:
        """Return what is wrong with a name in ``--call`` that no listed tool has; empty if nothing is."""
        names = sorted({tool.name for surface in self.live for tool in surface.tools})
        is_certain = self.live and not any(one.failures or one.left_out for one in self.live)
        given = [one for one in self.settings.call if one not in CALL_WORDS]
        missing = [one for one in given if not any(fnmatchcase(name, one) for name in names)]
        if not missing or not is_certain:
            return ""
        return f"the server has no tool {missing[0]!r}{_near(missing[0], names)}"

    def _error_in(self, sample: Sample) -> str:
        tools = [(surface.revision, tool) for surface in self.live for tool in surface.tools]
        names = sorted({tool.name for _, tool in tools})
        if sample.tool not in names and variables(sample.tool):
            return self._error_in_expansion(sample)
        if sample.tool not in names:
            is_certain = self.live and not any(one.failures or one.left_out for one in self.live)
            return f"the server has no tool {sample.tool!r}{_near(sample.tool, names)}" if is_certain else ""
        for revision, tool in tools:
            errors = _errors(sample, tool, revision) if tool.name == sample.tool else []
            if errors:
                return f"these arguments are not valid for {sample.tool} in {revision}: {errors[0]}"
        return ""

    def _error_in_expansion(self, sample: Sample) -> str:
        """Return what is wrong with values for a template of resources; empty if it can't be said."""
        listings = [
            fetch_list(session, *TEMPLATES)
            for revision, session in self.sessions.items()
            if self.surface(revision).declares("resources")
        ]
        is_certain = self.sessions and not any(one.failure for one in listings)
        listed = sorted({name for one in listings for name in one.identifiers()})
        if sample.tool not in listed:
            wrong = f"the server lists no template {sample.tool!r}{_near(sample.tool, listed)}"
            return wrong if is_certain else ""
        needed, known = variables(sample.tool), all_variables(sample.tool)
        if not set(needed) <= sample.arguments.keys() <= set(known):
            return f"{sample.tool} takes a value for each of {', '.join(known)}"
        wrong_ones = [name for name, value in sample.arguments.items() if not isinstance(value, str | int)]
        return f"{wrong_ones[0]} of {sample.tool} takes a text" if wrong_ones else ""


def _near(name: str, names: list[str]) -> str:
    return did_you_mean(name, names) or f"; it has {shorten(', '.join(names) or 'none', 400)}"


def _errors(sample: Sample, tool: Tool, revision: str) -> list[str]:
    try:
        return instance_errors(dict(sample.arguments), tool.input_schema, revision)
    except Unjudgeable:
        return []


def is_live(surface: Surface) -> bool:
    """Return whether a session opened in the revision of this surface."""
    return not surface.refused and not surface.dead
