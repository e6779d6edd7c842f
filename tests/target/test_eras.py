"""The eras of a server: the probe finds them, and no process gets requests of both."""

import sys

import pytest

from mcp_conformance.protocol import revisions
from support import EVERYTHING, REFERENCE, awkward, mutant, run_suite
from support.nightly import nightly

HANDSHAKE, MODERN = revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN
QUICK = ("--fuzz", "none", "--timeout", "3")
LOGGED = """
import os
from pathlib import Path
from mcp_conformance_fixtures.mutants import params, refused
from mcp_conformance_fixtures.reference import SILENCE, main

def mutate(server, request, reply):
    if not isinstance(request, dict):
        return None
    meta = params(request).get("_meta")
    envelope = isinstance(meta, dict) and "io.modelcontextprotocol/protocolVersion" in meta
    era = "modern" if envelope else "handshake" if request.get("method") == "initialize" else ""
    with Path({log!r}).open("a") as log:
        log.write(f"{{os.getpid()}} {{era}}\\n")
    if request.get("method") in {methods!r}:
        {action}
    return None

main(mutate)
"""

ONE_WRITER = """
import atexit, os, sys
from pathlib import Path
from mcp_conformance_fixtures.reference import main

lock = Path({lock!r})
try:
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    sys.exit("the store is locked")
atexit.register(lock.unlink)
main()
"""


def logged(log, *methods, action="return refused(request, -32601)"):
    """Return a reference server that logs the eras of each process, and answers some methods wrongly."""
    return (sys.executable, "-c", LOGGED.format(log=str(log), methods=methods, action=action))


def revisions_of(run):
    return {case.revision for case in run.cases}


def test_a_server_of_both_eras_is_tested_in_the_newest_revision_of_each(tmp_path):
    log = tmp_path / "log"
    options = ("--revision", "latest", "--select", "discover", "--select", "lifecycle", *QUICK)
    run = run_suite(logged(log), *options)
    assert run.exit == 0, run.output
    assert run.findings == []
    assert {case.revision for case in run.of("passed")} == {HANDSHAKE, MODERN}
    eras = {}
    for pid, *era in map(str.split, log.read_text().splitlines()):
        eras.setdefault(pid, set()).update(era)
    assert {frozenset(seen) for seen in eras.values()} == {frozenset({"handshake"}), frozenset({"modern"})}


@pytest.mark.parametrize("code", [-32601, -32022], ids=["unknown", "unsupported"])
def test_a_server_without_a_handshake_is_tested_in_the_modern_era_alone(tmp_path, code):
    server = logged(tmp_path / "log", "initialize", action=f"return refused(request, {code})")
    run = run_suite(server, "--revision", "latest", "--select", "discover", *QUICK)
    assert run.exit == 0, run.output
    assert revisions_of(run) == {MODERN}
    assert run_suite(server, "--revision", HANDSHAKE, *QUICK).exit in (1, 4)


@pytest.mark.parametrize(
    "action", ["return refused(request, -32602)", "return SILENCE", "raise SystemExit(1)"]
)
@nightly
def test_a_server_without_discovery_is_tested_in_the_handshake_era_alone(tmp_path, action):
    server = logged(tmp_path / "log", "server/discover", "tools/list", action=action)
    run = run_suite(server, "--revision", "latest", "--select", "ping", *QUICK)
    assert revisions_of(run) - {HANDSHAKE} == set()
    assert run.of("passed")


def test_a_revision_of_the_other_era_is_refused_in_one_line():
    run = run_suite(awkward("extra_members"), "--revision", MODERN, *QUICK)
    assert run.exit == 4
    assert f"the server does not speak {MODERN}; it offers no modern revision" in run.output


def test_revision_all_selects_the_revisions_of_both_eras():
    run = run_suite(REFERENCE, "--revision", "all", "--select", "tools.def.name-string", *QUICK)
    assert {HANDSHAKE, MODERN, "2024-10-07"} <= {case.revision for case in run.of("passed")}


@nightly
def test_a_modern_server_without_discovery_is_tested_without_its_declarations():
    selected = "discover,capabilities,list-changed,version,tools.list,prompts.list,resources.list,errors"
    options = ("--revision", f"{HANDSHAKE},{MODERN}", "--select", selected, "--fuzz", "none", *EVERYTHING)
    run = run_suite(mutant("discovery_is_unknown"), *options)
    assert [case.requirement for case in run.findings] == ["discover.implemented"]
    passed = {case.requirement for case in run.of("passed") if case.revision == MODERN}
    assert {"tools.list.answered", "prompts.list.answered", "resources.list.answered"} <= passed
    assert not [id for id in passed if id.startswith(("capabilities", "discover"))]
    offer = "offers tools (25), prompts, resources (found by trying; the server does not declare it)"
    assert offer in " ".join(run.output.split())


def test_a_server_that_cannot_run_twice_is_tested_one_process_at_a_time(tmp_path):
    server = (sys.executable, "-c", ONE_WRITER.format(lock=str(tmp_path / "lock")))
    run = run_suite(server, "--revision", "latest", "--select", "ping", "--select", "discover", *QUICK)
    assert run.exit == 0, run.output
    assert run.findings == []
    assert {case.revision for case in run.of("passed")} == {HANDSHAKE, MODERN}
    assert "one at a time: a process that is started beside another one ends" in run.output
    assert "the store is locked" in run.output


def test_a_revision_without_an_answer_is_named(tmp_path):
    server = logged(tmp_path / "log", "server/discover", action="raise SystemExit(3)")
    run = run_suite(server, "--revision", "latest", "--select", "ping", *QUICK)
    assert run.exit == 0, run.output
    assert f"not tested: {MODERN}, as the server never answered server/discover" in run.output
    assert "one at a time" not in run.output
