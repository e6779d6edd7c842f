"""Extensions over HTTP: their checks judge what they judge in memory, in each revision that has them."""

from dataclasses import replace

import pytest

from mcp_conformance_fixtures.reference_http import HttpReference
from mcp_conformance_fixtures.reference_skills import SKILLS
from support.bench import SAMPLES, run_checks, settings_in_memory, settings_on_process
from support.http_in_thread import served
from support.in_memory import mutated
from support.nightly import nightly

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"


def declared(server, request, reply):
    """Declare skills in a handshake."""
    if isinstance(request, dict) and request.get("method") == "initialize":
        reply["result"]["capabilities"]["extensions"] = {SKILLS: {"directoryRead": True}}


@pytest.mark.parametrize(
    ("suite", "revision"),
    [
        ("test_apps", HANDSHAKE),
        pytest.param("test_apps", MODERN, marks=nightly),
        pytest.param("test_skills", HANDSHAKE, marks=nightly),
        pytest.param("test_skills", MODERN, marks=nightly),
        pytest.param("test_xtasks", MODERN, marks=nightly),
    ],
)
def test_an_extension_is_judged_over_http_as_in_memory(suite, revision, tmp_path):
    mutate = declared if revision == HANDSHAKE else None
    in_memory = run_checks(settings_in_memory(mutated(mutate)), revision, lambda one: one.suite == suite)
    with (
        settings_on_process((), tmp_path, timeout=5.0, start_timeout=10.0, **SAMPLES) as chosen,
        served(HttpReference(mutate)) as server,
    ):
        settings = replace(chosen, command=(server.url,), http=server)
        found = run_checks(settings, revision, lambda one: one.suite == suite)
    assert [verdict.text for verdict in found.verdicts] == []
    assert found.failures == []
    assert found.passed >= in_memory.passed > set()
