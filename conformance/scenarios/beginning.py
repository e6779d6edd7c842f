"""What a run of all suites does before its first check."""

from __future__ import annotations

from contextlib import suppress

from conformance.protocol import revisions
from conformance.scenarios.lifecycle import (
    delay_initialized,
    early_requests,
    initialize_with_unknown_members,
    propose_new_revision,
)
from conformance.scenarios.request_metadata import first_request_without_capabilities, replies_by_version
from conformance.target.scenario import STARTED_EARLY, STARTED_WITH_FUZZING, scenario
from conformance.target.server import CALLS, Server
from conformance.target.sessions import SHARED
from conformance.verdicts import Skipped

HANDSHAKE_OPENINGS = (
    initialize_with_unknown_members,
    delay_initialized,
    propose_new_revision,
    early_requests,
)
HANDSHAKE_STARTS, MODERN_STARTS, FUZZING_STARTS = 5, 6, 3
"""How many processes a run of all suites needs in an era whatever the server does, besides the probe."""
FUZZING_STARTS_OF_OLDER_ERA = 1
"""Arguments are fuzzed in the newer era only, and the process that proposed its revision is used again."""
MODERN_OPENINGS = (first_request_without_capabilities, replies_by_version)


def begin(server: Server) -> None:
    """Let the next sessions open in the unusual ways that checks judge, and start what takes its time."""
    server.session.drain()
    is_modern = revisions.is_modern(server.revision)
    server.openings = list(MODERN_OPENINGS if is_modern else HANDSHAKE_OPENINGS)
    server.sure_starts = MODERN_STARTS if is_modern else HANDSHAKE_STARTS
    is_older_era = not is_modern and any(surface.is_modern for surface in server.other_surfaces)
    if is_older_era:
        server.sure_starts += 1
    if server.settings.examples:
        server.sure_starts += FUZZING_STARTS_OF_OLDER_ERA if is_older_era else FUZZING_STARTS
    server.begin_calls()
    for start in STARTED_EARLY:
        start(server)


@scenario
def begin_fuzzing(server: Server) -> None:
    """End the sessions of the checks that came before; start what fuzzes and takes long to confirm.

    The checks of what is started here come at the end.
    """
    server.end_all_but(SHARED, CALLS)
    for start in STARTED_WITH_FUZZING:
        with suppress(Skipped):
            start(server)
