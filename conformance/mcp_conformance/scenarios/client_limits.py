"""What a server offers and returns, for the clients that the user chose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mcp_conformance.clients.limits import KINDS, Limit, beyond, limits_of
from mcp_conformance.expect import require_some
from mcp_conformance.protocol.text import named
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.apps import listed_interfaces, read_interfaces
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding

MAX_PLACES = 5
Subject = tuple[str, Value]
"""Something that limits are about, and its name."""


def expect_within_limits(server: Server, kind: str) -> None:
    """Report a finding for each chosen client that has a limit of this kind and a subject beyond it."""
    limits = require_some(
        limits_of(server.settings.clients, kind), skip="the chosen clients have no such limit"
    )
    subjects = SUBJECTS[KINDS[kind].subjects](server)
    values = [value for _, value in subjects]
    found = [(limit, places) for limit in limits if (places := list(beyond(limit, values)))]
    findings = [_finding(limit, places, subjects) for limit, places in found]
    if findings:
        raise findings[0].with_others(findings[1:])


def _tools(server: Server) -> list[Subject]:
    tools = require_some(list(server.tools), skip="no tools are listed")
    return [(tool.name, tool.definition) for tool in tools]


def _interfaces(server: Server) -> list[Subject]:
    """Return the interfaces of tools, each by what says most of it: its contents, or else the list."""
    listed = listed_interfaces(server)
    found = [(one.reference.json, one.contents[0]) for one in read_interfaces(server)]
    return [(uri, value if value.get("_meta") else listed.get(uri, value)) for uri, value in found]


def _results(server: Server) -> list[Subject]:
    found = [(call.tool.name, call.reply.value) for call in server.calls() if not call.failed]
    results = [(name, value) for name, value in found if value is not None]
    return require_some(results, skip="no call of a tool succeeded")


SUBJECTS: Mapping[str, Callable[[Server], list[Subject]]] = {
    "tools": _tools,
    "interfaces": _interfaces,
    "results": _results,
}


def _finding(limit: Limit, places: list[Value], subjects: Sequence[Subject]) -> Finding:
    shown = ", ".join(f"{_subject_of(place, subjects)}: {place}" for place in places[:MAX_PLACES])
    more = f" and {len(places) - MAX_PLACES} more" if len(places) > MAX_PLACES else ""
    return Finding(limit.accepts, f"{shown}{more}; {limit}", places[0].lines)


def _subject_of(place: Value, subjects: Sequence[Subject]) -> str:
    """Return the name of the subject that a place belongs to."""
    found = [name for name, value in subjects if _has_inside(value, place)]
    return named(found[0])


def _has_inside(value: Value, place: Value) -> bool:
    return value.lines == place.lines and f"{place.path}.".startswith(f"{value.path}.")
