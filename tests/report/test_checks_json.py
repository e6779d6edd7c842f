"""The report in the form of the official suite: its shape, its ids and its statuses."""

import json
from dataclasses import replace

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.formats import checks_json
from support.official_suite import misfits
from support.sample_report import REPORT, result

MODERN = "2026-07-28"


def checks(*results):
    report = replace(REPORT, results=results or REPORT.results)
    found = json.loads(checks_json.render(report))
    assert [(one, misfits(one)) for one in found if misfits(one)] == []
    return {(one["id"], one["details"]["specVersion"]): one for one in found}


def test_the_sample_has_the_shape_of_the_official_suite():
    assert {one["status"] for one in checks().values()} == {
        "SUCCESS",
        "FAILURE",
        "WARNING",
        "SKIPPED",
        "INFO",
    }


def test_a_rule_has_its_official_id_where_the_official_suite_has_it():
    rule = "resources.read.not-found-code"
    found = checks(*(result(rule, Outcome.WARNED, revision=each) for each in ("2025-11-25", MODERN)))
    assert {key: one["status"] for key, one in found.items()} == {
        (rule, "2025-11-25"): "WARNING",
        ("sep-2164-error-code", MODERN): "WARNING",
    }
    assert found["sep-2164-error-code", MODERN]["specReferences"][0]["id"] == rule


def test_an_official_id_has_the_worst_of_its_rules():
    cited = ("ping.responds", "ping.empty-result")
    passed = result("ping.responds", Outcome.PASSED, requirements=cited)
    skipped = result("ping.empty-result", Outcome.SKIPPED, reason="it sends nothing")
    broken = result("ping.empty-result", Outcome.FAILED, reason="expected {}", requirements=cited)
    assert checks(passed, skipped)["ping", "2025-11-25"]["status"] == "SUCCESS"
    found = checks(passed, skipped, broken)
    assert list(found) == [("ping", "2025-11-25")]
    assert found["ping", "2025-11-25"]["status"] == "FAILURE"
    assert found["ping", "2025-11-25"]["errorMessage"] == "expected {}"
