"""A rule of another revision, or of a capability that is not declared, is no item; the report counts them."""

import json
from types import SimpleNamespace

import pytest

from mcp_conformance.plugin.applicability import not_applicable, why_not
from mcp_conformance.protocol.revisions import KNOWN, LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.requirements.checks import Check, checks
from mcp_conformance.target.surface import Subject, Surface
from support import REFERENCE, awkward, run_suite

FUZZING, NOT_FUZZING = (SimpleNamespace(examples=examples, http=None) for examples in (1, 0))
PING = "ping.empty-result"
CAPABILITIES = {"tools", "prompts", "resources", "logging", "completions", "tasks", "extensions"}


def surface(capabilities=None, revision=LATEST_HANDSHAKE, **facts):
    result = {"protocolVersion": revision, "capabilities": capabilities or {}}
    answer = SimpleNamespace(message={"jsonrpc": "2.0", "id": 1, "result": result})
    return Surface(revision, (SimpleNamespace(message={}), answer), **facts)


def check(**facts):
    return Check("test_some.py", "test_it", **{"requirements": (PING,), **facts})


@pytest.mark.parametrize(
    ("surface", "check", "reason"),
    [
        (surface(), check(), ""),
        (surface(revision=LATEST_MODERN), check(), f"not a rule of {LATEST_MODERN}"),
        (surface(revision=LATEST_MODERN), check(requirements=(PING, "discover.implemented")), ""),
        (surface(refused="2025-06-18"), check(), f"the server does not speak {LATEST_HANDSHAKE}"),
        (surface(), check(capability=("tools",)), f"tools not declared in {LATEST_HANDSHAKE}"),
        (surface({"tools": {}}), check(capability=("tools",)), ""),
        (
            surface({"tools": {"listChanged": False}}),
            check(capability=("tools", "listChanged")),
            f"tools.listChanged not declared in {LATEST_HANDSHAKE}",
        ),
        (surface(revision="2024-11-05"), check(capability=("completions",)), ""),
        (surface({"tools": {}}), check(per_tool=True), f"no tools listed in {LATEST_HANDSHAKE}"),
    ],
)
def test_a_check_applies_or_has_a_reason(surface, check, reason):
    assert why_not(surface, check, FUZZING) == reason


def test_a_check_that_fuzzes_applies_if_something_is_fuzzed():
    assert why_not(surface(), check(fuzzes=True), FUZZING) == ""
    assert why_not(surface(), check(fuzzes=True), NOT_FUZZING) == "nothing is fuzzed (--fuzz none)"


def test_a_check_counts_in_each_revision():
    subject = Subject(FUZZING, (surface(), surface(revision=LATEST_MODERN)))
    counts = not_applicable(subject, [check(), check(capability=("tools",))])
    assert counts == {
        f"tools not declared in {LATEST_HANDSHAKE}": 1,
        f"not a rule of {LATEST_MODERN}": 2,
    }


def test_every_capability_of_a_check_exists():
    assert {one.capability[0] for one in checks() if one.capability} == CAPABILITIES


def test_a_revision_that_is_not_spoken_has_no_items(tmp_path):
    server, every = awkward("extra_members"), ("--fuzz", "none", "--revision", "all")
    run = run_suite(server, "--select", "tools,ping", *every, "--report", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    tested = {one["revision"] for one in report["revisions"] if one["state"] == "tested"}
    assert {one["revision"] for one in report["results"]} == tested < set(KNOWN)
    assert report["run"]["not_applicable"]
    assert "did not apply" not in run.output
    assert "skipped (-v says why) in" in run.output


def test_a_selected_rule_that_does_not_apply_has_its_reason():
    run = run_suite(REFERENCE, "--select", "ping", "--revision", LATEST_MODERN)
    assert run.exit == 5
    assert f"did not apply (not a rule of {LATEST_MODERN}: " in run.output
