"""The rules: each has a check or a reason for none, and `docs/requirements.md` is up to date."""

import ast
import json
import sys
from collections import Counter
from pathlib import Path

from mcp_conformance.cli.main import main
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import checked, checks, suites_directory
from mcp_conformance.requirements.official import SCENARIOS, WIRE, official_checks
from support.official_suite import recorded

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import generating  # noqa: E402


def test_the_page_of_requirements_is_up_to_date():
    page = generating.REQUIREMENTS.read_text(encoding="utf-8")
    assert page == generating.requirements_page(), "run: python docs/generating.py requirements"


def test_checks_are_read_without_their_bodies():
    suites = sorted(suites_directory().glob("test_*.py"))
    named = [
        (path.name, node.name)
        for path in suites
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert named == [(one.suite, one.name) for one in checks()]
    assert all(one.requirements for one in checks())


def test_each_rule_has_either_a_check_or_a_reason_for_none():
    rows = catalogue.all_requirements().values()
    assert [row.id for row in rows if (row.id in checked()) == bool(row.untestable)] == []


def test_the_official_checks_have_checked_rules_or_a_reason(capsys):
    known = official_checks()
    named = {rule for rules in known.values() if isinstance(rules, tuple) for rule in rules}
    assert named - set(checked()) == set()
    assert all(known.values())
    assert main(["list", "--official"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(" ")] == [*known]
    assert last.startswith(f"{len(named)} of these rules ")
    only_here = Counter(rule.partition(".")[0] for rule in set(checked()) - named)
    assert f" {only_here.total()} others are checked only here: " in last
    assert f", caching {only_here['caching']}," in last


def test_each_rule_is_listed_with_its_official_ids(capsys):
    assert main(["list", "ping", "--format", "json"]) == 0
    rows = {row["id"]: row["official"] for row in json.loads(capsys.readouterr().out)}
    assert rows["ping.responds"] == ["ping"]
    assert [] in rows.values()


def test_an_official_id_selects_and_explains_the_rules_that_judge_the_same(capsys):
    ids = ("reqmeta.log-opt-in", "logging.opt-in")
    assert catalogue.select("sep-2575-server-no-log-without-loglevel") == set(ids)
    assert catalogue.select("caching") >= {"caching.scope-values"}, "our family comes before their scenario"
    assert catalogue.select("server-session-lifecycle") == {
        *("http.post.notification-202", "http.session.delete-status", "http.session.unknown-404"),
    }
    assert main(["explain", "sep-2575-server-no-log-without-loglevel"]) == 0
    explained = capsys.readouterr().out.splitlines()
    assert [line for line in explained if line in ids] == [*ids]


def test_a_rule_names_its_official_checks(capsys):
    main(["explain", "ping.responds"])
    assert "In the official suite\n  ping\n" in capsys.readouterr().out


def test_the_table_of_the_official_suite_is_what_is_recorded_of_it():
    facts, timeline = recorded(), ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    assert {*SCENARIOS} == {*facts, WIRE}
    for name, (revisions, ids) in facts.items():
        one = SCENARIOS[name]
        assert sorted(one.checks) == ids, name
        ours = [each for each in timeline if one.since <= each <= (one.until or each)]
        assert ours == (["2026-07-28"] if revisions == ["extension"] else revisions), name
