"""The subject before the run: how it is started, and what it offers, as probed once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from conformance.client.session import Session
from conformance.client.tool_call import Tool
from conformance.json_schema.validation import Unjudgeable, instance_errors
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Line, decode
from conformance.protocol.text import named, shorten
from conformance.protocol.value import Value, members
from conformance.target.settings import Sample, Settings

INITIALIZED = Session.line_of({"jsonrpc": "2.0", "method": "notifications/initialized"})


@dataclass(frozen=True)
class ProbeFailure:
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
    failures: tuple[ProbeFailure, ...] = ()
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
        return any(trouble.name == "start" for trouble in self.failures)

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
            "failures": [{**vars(one), "lines": _told(one.lines)} for one in self.failures],
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
            failures=tuple(ProbeFailure(**{**one, "lines": _lines(one["lines"])}) for one in data["failures"]),
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


@dataclass(frozen=True)
class Subject:
    """The server under test: how to run it, and its surface in each revision to be tested."""

    settings: Settings
    surfaces: tuple[Surface, ...]

    @property
    def live(self) -> tuple[Surface, ...]:
        """The surfaces of revisions in which a conversation came about."""
        return tuple(filter(is_live, self.surfaces))

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
            is_certain = self.live and not any(surface.failures for surface in self.live)
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


def is_live(surface: Surface) -> bool:
    """Whether a conversation came about in the revision of this surface."""
    return not surface.refused and not surface.dead
