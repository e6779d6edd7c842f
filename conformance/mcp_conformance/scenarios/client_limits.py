"""What the listed tools are for the clients that the user chose."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.clients.limits import Limit, beyond, limits_of
from mcp_conformance.expect import require_some
from mcp_conformance.protocol.text import named
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding

MAX_PLACES = 5


def expect_within_limits(server: Server, kind: str) -> None:
    """Report a finding for each chosen client that has a limit of this kind and a tool beyond it."""
    tools = [tool.definition for tool in require_some(list(server.tools), skip="no tools are listed")]
    limits = require_some(
        limits_of(server.settings.clients, kind), skip="the chosen clients have no such limit"
    )
    found = [(limit, places) for limit in limits if (places := list(beyond(limit, tools)))]
    findings = [_finding(limit, places, server.tools) for limit, places in found]
    if findings:
        raise findings[0].with_others(findings[1:])


def _finding(limit: Limit, places: list[Value], tools: Sequence[Tool]) -> Finding:
    shown = ", ".join(f"{_tool_of(place, tools)}: {place}" for place in places[:MAX_PLACES])
    more = f" and {len(places) - MAX_PLACES} more" if len(places) > MAX_PLACES else ""
    return Finding(limit.accepts, f"{shown}{more}; {limit}", places[0].lines)


def _tool_of(place: Value, tools: Sequence[Tool]) -> str:
    """Return the name of the tool that a place belongs to."""
    paths = {tool.definition.path: tool.name for tool in tools}
    return named(next(name for path, name in paths.items() if f"{place.path}.".startswith(f"{path}.")))
