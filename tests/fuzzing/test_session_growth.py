"""What a server over HTTP keeps of sessions that were opened and ended."""

import sys
from contextlib import closing
from dataclasses import replace

import pytest

from mcp_conformance.fuzzing.session_growth import SessionGrowth
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.server import HttpServer
from support.bench import settings_on_process
from support.nightly import nightly

KEEPS = (sys.executable, "-m", "mcp_conformance_fixtures.http_adverse", "keeps-sessions", "{port}")
REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "{port}")


@nightly
@pytest.mark.parametrize(
    ("command", "revision", "said"),
    [
        (KEEPS, "2025-11-25", "1 MB a session, and did not level off"),
        (KEEPS, "2026-07-28", "1 MB a session, and did not level off"),
        (REFERENCE, "2025-11-25", "memory did not keep on growing over "),
    ],
    ids=["keeps", "keeps-both-eras", "reference"],
)
def test_memory_that_grows_with_sessions_is_reported(command, revision, said, tmp_path):
    http = HttpServer(command=command)
    with closing(http), settings_on_process(command, tmp_path, timeout=5.0) as settings:
        subject = probe_all(replace(settings, http=http), (revision,))
        server = Server.of(subject, revision)
        growth = SessionGrowth(server)
        growth.watch(settings.clock.monotonic() + 20.0)
        server.close()
        subject.close()
    (line,) = growth.lines()
    assert said in line
