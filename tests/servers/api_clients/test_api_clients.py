"""Servers that ask their API with the clients that most servers use: right ones, and one fault of each kind.

It runs in the nightly, where these clients are installed (`tox -e api-clients`).
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mcp_conformance_fixtures.api_clients as servers
from support import run_suite
from support.networks import require_network
from support.nightly import nightly

FOLDER = Path(servers.__file__).parent
PACKAGE = servers.__name__
SERVERS = PACKAGE.rpartition(".")[0]
COMMANDS = {
    "httpx": (sys.executable, "-m", f"{PACKAGE}.httpx_server"),
    "requests": (sys.executable, "-m", f"{PACKAGE}.requests_server"),
    "fetch": (shutil.which("node") or "node", str(FOLDER / "fetch_server.mjs")),
}
CHOSEN = "503,500,429,401,cut,elsewhere,reset,silent"
BROKEN = {
    "optimist": "backend.failure-is-error",
    "hasty": "backend.retry-after",
    "insistent": "backend.sent-once",
    "mixed": "backend.calls-apart",
    "patient": "backend.answers",
    "deaf": "backend.cancellation",
    "prints": "backend.wire-whole",
    "carries": "backend.credential-stays",
    "unverified": "backend.certificates",
}
ALSO = {"deaf": {"backend.answers"}, "patient": {"backend.cancellation"}}
"""What breaks too: what ends at no cancellation has no timeout here, and what has none goes on."""
ALONE = ("mixed", "deaf")
"""The faults that a server cannot have which makes one call after the other."""

pytestmark = nightly


def run(client, sicknesses, *fault):
    """Run the checks of the API on a server; skip the test if its client is not here."""
    require_network()
    is_there = shutil.which("node") if client == "fetch" else find_spec(client)
    if not is_there:
        pytest.skip(f"{client} is not installed")
    key = ("--env", "WEATHER_API_KEY=0123456789abcdef0123")
    how = ("--backend", sicknesses, "--call", "all", "--timeout", "8", "--fuzz", "none", *key)
    return run_suite((*COMMANDS[client], *fault), "--select", "backend", *how, timeout=400)


@pytest.mark.parametrize("client", COMMANDS)
def test_a_right_server_is_not_accused(client):
    found = run(client, "sick")
    assert [(one.check, one.text) for one in found.findings] == []
    assert len(found.of("passed")) > 12


@pytest.mark.parametrize(
    ("client", "fault"),
    [
        (client, fault)
        for client in COMMANDS
        for fault in BROKEN
        if not (client == "requests" and fault in ALONE)
    ],
)
def test_a_fault_is_found(client, fault):
    found = run(client, CHOSEN, fault)
    broken = {id for one in found.findings for id in one.requirements}
    assert BROKEN[fault] in broken
    assert broken <= {BROKEN[fault], *ALSO.get(fault, ())}, [one.text for one in found.findings]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(("asker", "broken"), [("Asker", set()), ("Deaf", {"backend.cancellation"})])
def test_over_http_a_call_is_cancelled_as_the_revision_says(asker, broken, revision):
    require_network()
    known = f"import sys; from {SERVERS}.mutants.backend import *; from {SERVERS}.api import *"
    command = (sys.executable, "-c", f"{known}; served(sys.argv[1:], {asker}())", "{port}")
    how = ("--backend", "silent", "--call", "weather", "--timeout", "8", "--http", "--revision", revision)
    found = run_suite(command, "--select", "backend.cancellation", *how)
    assert {id for one in found.findings for id in one.requirements} == broken
    assert len(found.of("passed")) == (not broken)
