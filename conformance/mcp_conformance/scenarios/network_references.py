"""Whether a server fetches what the schemas of its tools refer to on the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.expect import require, require_some, skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.scenarios.tool_effects import UNSEEN, attempts, effects_of_tools
from mcp_conformance.target.server import Server

MAX_DEPTH = 100


def references(tool: Tool) -> frozenset[str]:
    """Return the hosts on the network to which a `$ref` in the schemas of a tool refers."""
    output = tool.output_schema
    schemas = (tool.input_schema, output.json if output is not None else None)
    return frozenset(host for schema in schemas for host in _hosts(schema, MAX_DEPTH))


def _hosts(value: Any, depth: int) -> Iterator[str]:
    if not depth:
        return
    for name, member in value.items() if isinstance(value, dict) else ():
        if name == "$ref" and isinstance(member, str) and (host := _host(member)):
            yield host
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _hosts(member, depth - 1)


def _host(reference: str) -> str:
    """Return the host of a reference over HTTP; empty if it is another one."""
    try:
        parts = urlsplit(reference)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""


def fetched_references(server: Server) -> tuple[list[Attempt], tuple[Line, ...]]:
    """Return the attempts to reach the hosts of references while the tools are listed, and the lines of that.

    A server may have other business with such a host.  So only what a new process tries whenever it lists its
    tools counts, not in the pause between, and only if calls of tools without such a reference do not try it.
    Skips the check if nothing refers to the network, if that cannot be told, or seen.
    """
    found = {host for tool in server.tools for host in references(tool)}
    hosts = require_some(sorted(found), skip="no schema of a tool refers to the network")
    require(server.session.process.traffic, skip=UNSEEN)
    others = [one for one in effects_of_tools(server) if not references(one.call.tool)]
    require_some(others, skip="no call shows what else the server has to do with the hosts of its references")
    if any(_target(one) in hosts for effects in others for one in effects.reached):
        skip("the server reaches for the hosts of its references in calls too")
    with server.fresh("a list of tools with references to the network") as session:
        one, lines = _listed(session)
        begun = len(attempts(session))
        session.wait_for(lambda: False, lines[-1].at - lines[0].at)
        pause = attempts(session)[begun:]
        other, _ = _listed(session)
    tried = [each for each in one if each in other and each not in pause]
    return [each for each in tried if _target(each) in hosts], lines


def _listed(session: Session) -> tuple[Sequence[Attempt], tuple[Line, ...]]:
    """List the tools; return what the server tried to reach meanwhile, and the lines."""
    begun = len(attempts(session))
    listing = fetch_list(session, "tools/list", "tools")
    return attempts(session)[begun:], tuple(line for reply in listing.replies for line in reply.lines)


def _target(attempt: Attempt) -> str:
    """Return the name or the address that an attempt is for, as a URL has it."""
    return attempt.name.lower() or attempt.address
