"""What a run of all suites does before its first check."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from mcp_conformance.protocol import revisions
from mcp_conformance.scenarios.lifecycle import (
    delay_initialized,
    early_requests,
    initialize_with_unknown_members,
    propose_new_revision,
)
from mcp_conformance.scenarios.request_metadata import (
    first_request_without_capabilities,
    release_first_exchange,
    replies_by_version,
)
from mcp_conformance.target.scenario import STARTED_EARLY, STARTED_WITH_FUZZING, scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS, SHARED
from mcp_conformance.verdicts import Skipped

HANDSHAKE_OPENINGS = (
    initialize_with_unknown_members,
    delay_initialized,
    propose_new_revision,
    early_requests,
)
HANDSHAKE_STARTS, MODERN_STARTS = 5, 6
"""How many processes a run of all suites needs in an era whatever the server does, besides the probe."""
HANDSHAKE_FUZZING_STARTS, MODERN_FUZZING_STARTS, OLDER_ERA_FUZZING_STARTS = 3, 2, 1
"""How many more it needs to fuzz; arguments are fuzzed in the newer era only."""
MODERN_OPENINGS = (first_request_without_capabilities, replies_by_version)


@scenario
def begin(server: Server) -> None:
    """Let the next sessions open in the unusual ways that checks judge, and start what takes its time."""
    server.session.drain()
    openings = MODERN_OPENINGS if _is_modern(server) else HANDSHAKE_OPENINGS
    server.sessions.openings = [partial(opening, server) for opening in openings]
    server.processes.sure = _sure_starts(server)
    server.tool_calls.begin()
    for start in STARTED_EARLY:
        start(server)


def _is_modern(server: Server) -> bool:
    return revisions.is_modern(server.revision)


def _sure_starts(server: Server) -> int:
    """Return how many processes a run needs besides the probe; one proposes the newer era's revision."""
    is_older_era = not _is_modern(server) and any(surface.is_modern for surface in server.other_surfaces)
    if _is_modern(server):
        starts, fuzzing_starts = MODERN_STARTS, MODERN_FUZZING_STARTS
    elif is_older_era:
        starts, fuzzing_starts = HANDSHAKE_STARTS + 1, OLDER_ERA_FUZZING_STARTS
    else:
        starts, fuzzing_starts = HANDSHAKE_STARTS, HANDSHAKE_FUZZING_STARTS
    return starts + (fuzzing_starts if server.settings.examples else 0)


@scenario
def begin_fuzzing(server: Server) -> None:
    """End the sessions of the checks that came before; start what fuzzes and takes long to confirm.

    The process of the first exchange is used again.  The checks of what is started here come at the end.
    """
    _end_earlier_sessions(server)
    for start in STARTED_WITH_FUZZING:
        with suppress(Skipped):
            start(server)


@scenario
def _end_earlier_sessions(server: Server) -> None:
    if _is_modern(server):
        with suppress(Skipped):
            release_first_exchange(server)
    server.sessions.end_all_but(SHARED, CALLS)
