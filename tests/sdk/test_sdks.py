"""On servers of official SDKs the suite finds what the baseline tells, with its reason, and nothing else."""

import os
import shutil
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from installing import filled, installed, left_behind
from support import FINDINGS, run_suite

from conformance import fixtures, revisions

SERVERS = tomllib.loads((Path(__file__).parent / "servers.toml").read_text())
PLACE = Path(os.environ["SDK_SERVERS"])
SOURCES = Path(fixtures.__file__).parent / "sdk"
ALWAYS = ("--revision", "all", "--call", "all", "--profile", "none")


@pytest.mark.parametrize("name", SERVERS)
def test_the_findings_are_the_known_ones(name, tmp_path):
    server = SERVERS[name]
    source = shutil.copy(SOURCES / server["source"], installed(PLACE, name, server))
    places = {"ENV": str(PLACE / name), "SOURCE": source}
    start = [filled(word, places) for word in server["start"]]
    run = run_suite(start, *ALWAYS, "--cwd", str(tmp_path), *server.get("options", ()), timeout=600)
    assert {case.revision for case in run.of("passed")} == set(server["revisions"]), run.output
    assert found(run) == known(server), run.output
    assert left_behind(tmp_path) == []


def found(run):
    """The revisions of each finding."""
    where = defaultdict(set)
    for case in run.findings:
        where[case.requirement, case.outcome].add(case.revision)
    return where


def known(server):
    """What the baseline tells, in the same form."""
    told = server["known"].items()
    return {
        (requirement, outcome): set(between(finding[outcome], server["revisions"]))
        for requirement, finding in told
        for outcome in FINDINGS
        if outcome in finding
    }


def between(text, supported):
    """The revisions that ``2025-06-18 to 2026-07-28`` means; ``all`` are all that the server supports."""
    first, _, last = text.partition(" to ")
    return [each for each in supported if text == "all" or first <= each <= (last or first)]


def test_each_finding_has_its_reason():
    for server in SERVERS.values():
        assert all(finding["why"] for finding in server["known"].values())


def test_each_version_is_pinned():
    for server in SERVERS.values():
        mark = "==" if server["registry"] == "pypi" else "@"
        assert all(mark in package[1:] for package in server["install"])
        assert set(server["revisions"]) <= set(revisions.KNOWN)
