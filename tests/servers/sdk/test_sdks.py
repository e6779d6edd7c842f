"""Runs on servers of official SDKs: the findings are those of the baseline, each with its reason."""

import os
import shutil
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import mcp_conformance_fixtures as fixtures
from mcp_conformance.protocol import revisions
from support import FINDINGS, run_suite
from support.server_installation import filled, installed, left_behind

SERVERS = tomllib.loads((Path(__file__).parent / "servers.toml").read_text())
PLACE = Path(os.environ["SDK_SERVERS"])
SOURCES = Path(fixtures.__file__).parent / "sdk"
ALWAYS = ("--call", "all", "--fuzz", "none", "--sdk-findings", "fail")
REVISIONS = os.environ.get("SDK_REVISIONS", "all")
"""``all`` revisions of a server, or ``latest``: the newest of each era."""


@pytest.mark.parametrize("name", SERVERS)
def test_the_findings_are_those_of_the_baseline(name, tmp_path):
    server = SERVERS[name]
    if server["registry"] == "npm" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    source = shutil.copy(SOURCES / server["source"], installed(PLACE, name, server))
    places = {"ENV": str(PLACE / name), "SOURCE": source}
    start = [filled(word, places) for word in server["start"]]
    options = ("--revision", REVISIONS, *ALWAYS, "--cwd", str(tmp_path), *server.get("options", ()))
    expect_known(run_suite(start, *options, timeout=600), server, "stdio")
    expect_known(run_suite([*start, "{port}"], *options, "--http", timeout=600), server, "http")
    assert left_behind(tmp_path) == []


def expect_known(run, server, transport):
    """Expect the findings of the baseline; one that `races` may be missing."""
    tested = chosen(supported(server))
    assert {case.revision for case in run.of("passed")} == tested, run.output
    racing = {rule for rule, finding in findings(server, transport).items() if finding.get("races")}
    expected, seen = known(server, transport, tested), found(run)
    certain = {key: where for key, where in expected.items() if key[0] not in racing}
    assert {key: where for key, where in seen.items() if key[0] not in racing} == certain, run.output
    assert all(seen[key] <= expected.get(key, set()) for key in seen if key[0] in racing), run.output


def found(run):
    """Return the revisions of each finding."""
    where = defaultdict(set)
    for case in run.findings:
        where[case.requirement, case.outcome].add(case.revision)
    return where


def supported(server):
    """Return the revisions that a server speaks, oldest first."""
    return between(server["revisions"], revisions.KNOWN)


def chosen(spoken):
    """Return the tested revisions of those that a server speaks."""
    newest = {revisions.is_modern(each): each for each in spoken}
    return set(newest.values() if REVISIONS == "latest" else spoken)


def findings(server, transport):
    """Return the lines of the baseline for a transport: over HTTP some are others."""
    if transport == "stdio":
        return server["known"]
    both = {rule: one for rule, one in server["known"].items() if rule not in server["only_stdio"]}
    return both | server["over_http"]


def known(server, transport, tested):
    """Return the baseline's findings in the tested revisions, in the form of `found`."""
    expected = {
        (requirement, outcome): tested & set(between(finding[outcome], supported(server)))
        for requirement, finding in findings(server, transport).items()
        for outcome in FINDINGS
        if outcome in finding
    }
    return {finding: where for finding, where in expected.items() if where}


def between(text, spoken):
    """Return the spoken revisions in a range such as ``2025-06-18 to 2026-07-28``, or in ``all``."""
    first, _, last = text.partition(" to ")
    return [each for each in spoken if text == "all" or first <= each <= (last or first)]


def test_each_finding_has_its_reason():
    for server in SERVERS.values():
        assert all(finding["why"] for part in ("known", "over_http") for finding in server[part].values())
        assert set(server["only_stdio"]) <= set(server["known"])


def test_each_version_is_pinned():
    for server in SERVERS.values():
        mark = "==" if server["registry"] == "pypi" else "@"
        assert all(mark in package[1:] for package in server["install"])
        assert set(server["revisions"].split(" to ")) <= set(revisions.KNOWN)
