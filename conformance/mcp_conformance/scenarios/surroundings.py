"""Other machines: the server starts again in surroundings that users have, and must hold the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.scenarios.other_machines import Surrounding
from mcp_conformance.target.server import Server
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.verdicts import Finding

MAX_CALLS = 5
"""How many tools are called in each surrounding."""


def expect_conversation(server: Server, surroundings: tuple[Surrounding, ...]) -> None:
    """Report the first surrounding in which the server does not answer what it answers elsewhere.

    Skips the check if none can be had here, and in all but the newest revision.
    """
    if not server.is_newest:
        skip("surroundings are judged in the newest revision")
    obstacles = [one.obstacle(server.settings) for one in surroundings]
    chosen = [one for one, obstacle in zip(surroundings, obstacles, strict=True) if not obstacle]
    if not chosen:
        skip("; ".join(f"{one.title}: {why}" for one, why in zip(surroundings, obstacles, strict=True)))
    calls = [call for call in server.quick_calls() if not call.failed][:MAX_CALLS]
    for one in chosen:
        found = _trouble(server, one, calls)
        if found is not None and _trouble(server, one, calls) is not None:
            got = f"{found.what}, in two processes, on {one.title}"
            raise Finding("the conversation that works here", got, found.lines, stderr=found.stderr)


@dataclass(frozen=True)
class _Trouble:
    """What broke in a conversation, in words, with its lines and the server's stderr."""

    what: str
    lines: tuple[Line, ...]
    stderr: str


def _trouble(server: Server, surrounding: Surrounding, calls: list[Call]) -> _Trouble | None:
    """Hold a short conversation in a surrounding; return what breaks it, None if nothing does."""
    try:
        process = surrounding.settings(server.settings).start()
    except CannotStart as error:
        return _Trouble(str(error), (), "")
    server.processes.starts["other surroundings"] += 1
    session = server.settings.session(process, server.revision)
    with closing(session):
        silent = next((one for one in _replies(server, session, calls) if one.fault is not None), None)
        noise = session.received.non_json() if not server.surface.noise else []
        stderr = session.process.stderr
    if noise:
        return _Trouble(f"a line on stdout is not JSON in UTF-8 ({noise[0].fault})", (noise[0],), stderr)
    if silent is not None:
        return _Trouble(f"{silent.method} was not answered: {silent.fault}", silent.lines, stderr)
    return None


def _replies(server: Server, session: Session, calls: list[Call]) -> Iterator[Reply]:
    """Yield the answers to the opening, to each list, and to calls that succeed elsewhere."""
    yield session.open(server.settings.start_timeout)
    for method, (feature, _) in LISTS.items():
        if server.declares(feature):
            yield session.request(method)
    for call in calls:
        yield session.request("tools/call", call.params)
