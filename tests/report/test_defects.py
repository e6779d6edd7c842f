"""Defects: what a server does to its users is counted beside conformance, whatever its rule rests on."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.client.reply import Closed, Silence, Unanswered
from mcp_conformance.outcome import DOES, Defect, Outcome
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.report.build import CheckFacts, Evidence, build_result
from mcp_conformance.report.formats import badge, github, sarif, terminal
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.formats import markdown as markdown_format
from mcp_conformance.report.text import defect_lines
from mcp_conformance.requirements.catalogue import all_requirements, requirement
from mcp_conformance.sdks.facts import FACTS
from mcp_conformance.target.settings import Settings
from mcp_conformance.verdicts import Blocked, Cause, Finding, defect_of, outcome_of
from mcp_conformance_fixtures.mutants import named
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated
from support.sample_report import REPORT, REVISION, result

PROSE, JSON_RPC = requirement("tools.call.listed-is-callable"), requirement("jsonrpc.parse-error")
MUST = requirement("tools.call.is-error-boolean")
PASSED = result("ping.empty-result", Outcome.PASSED)


def throws(tool, place="/srv/server.py:7", outcome=Outcome.FAILED, **more):
    got = f"{{}}: ZeroDivisionError: division by zero, {place.rpartition('/')[2]}"
    facts = {"tool": tool, "got": got, "reason": got, "stderr": place, "defect": "throws"}
    return result("tools.call.no-exception", outcome, **(facts | more))


def report(*results):
    """Return a report of a finished run with these results."""
    return replace(REPORT, results=(PASSED, *results), ended="", lacking="", outdated=(), exercise=())


def test_tools_that_throw_are_the_headline_and_no_rule_is_broken():
    found = report(throws("add"), throws("mean"), throws("mean", "/srv/server.py:9"))
    assert found.headline == "2 tools throw; otherwise passed"
    assert [one.tool for one in found.defects] == ["add", "mean", "mean"]
    assert badge.badge_verdict(found) == ("3 defects", "red")


def test_defects_stand_before_conformance_and_the_worst_first():
    broken = result("tools.call.is-error-boolean", Outcome.FAILED, tool="add", reason="expected a boolean")
    dies = result("tools.call.valid-not-fatal", Outcome.FAILED, tool="add", got="it ended", defect="dies")
    lingers = result("stdio.exit-on-stdin-close", Outcome.WARNED, reason="it runs on", defect="lingers")
    found = report(broken, throws("add"), lingers, dies)
    assert found.headline == (
        "1 tool ends its process; 1 tool throws; the server does not exit; does not conform: 1 rule broken"
    )


def test_warned_defect_does_not_fail_and_is_told():
    found = report(throws("add", outcome=Outcome.WARNED))
    assert (found.status, found.headline) == ("passed", "1 tool throws; passed, with 1 warning")


def test_what_two_rules_show_in_the_same_words_is_told_once():
    rules = ("tools.call.malformed-request", "tools.call.malformed-request-code")
    hangs = [result(rule, Outcome.BLOCKED, reason="no answer within 30 s", defect="hangs") for rule in rules]
    assert len(defect_lines(report(*hangs))) == 1


def test_what_several_revisions_show_of_one_tool_is_one_defect():
    (found,) = report(throws("add"), replace(throws("add"), revision="2026-07-28")).defects
    assert [one.revision for one in found.results] == [REVISION, "2026-07-28"]


def test_an_end_of_the_process_that_an_sdk_brings_about_is_one_defect_and_names_the_sdk():
    facts = {"defect": "dies", "deviation": "Python SDK 1.x", "way_out": "fixed in 2.3.0: upgrade"}
    one = result("cancel.race-graceful", Outcome.FAILED, got="the server process ended", **facts)
    other = result("jsonrpc.response-every-request", Outcome.BLOCKED, reason="no answer", **facts)
    (found,) = report(one, other).defects
    assert str(found) == (
        "the server ends its process: the server process ended, under cancel.race-graceful"
        " (every server built on the Python SDK 1.x does this; fixed in 2.3.0: upgrade)"
    )


def test_tools_that_break_one_rule_in_one_way_share_a_line():
    def misleads(tool, rule="tools.call.execution-error-as-result"):
        facts = {"expected": "isError true", "got": f"{tool} failed", "defect": "misleads"}
        return result(rule, Outcome.WARNED, tool=tool, **facts)

    found = report(*map(misleads, "abcdefg"), misleads("a", "tools.call.inputs-validated"), throws("a"))
    text = terminal.render(found)
    assert (
        "\n  - a, b, c, d, e and 2 more mislead their clients: expected isError true, got a failed\n" in text
    )
    assert text.count("mislead") == 3  # the verdict, that line, and the other rule
    assert "a, b, c, d, e and 2 more" in markdown_format.render(found)
    assert len(json.loads(json_format.render(found))["verdict"]["defects"]) == 9


@pytest.mark.parametrize("outcome", [Outcome.EXPECTED, Outcome.NEW, Outcome.INFO, Outcome.PASSED])
def test_excused_defect_is_not_counted(outcome):
    assert report(throws("add", outcome=outcome)).defects == ()


def test_each_format_names_the_defects():
    found = report(throws("add"))
    line = "add throws: {}: ZeroDivisionError: division by zero, server.py:7"
    assert f"\n  - {line}\n" in terminal.render(found)
    assert f"`{line}`" in markdown_format.render(found)
    notice, error = github.commands(found)
    assert notice == f"::notice file=src/server one.py,title=MCP conformance::{found.headline}%0A{line}"
    assert "derived%2C throws" in error
    (run,) = json.loads(sarif.render(found))["runs"]
    first, second, *_ = run["invocations"][0]["toolExecutionNotifications"]
    assert first["message"]["text"].startswith("verdict: 1 tool throws; ")
    assert second["message"]["text"] == line
    assert run["results"][0]["message"]["text"].startswith("add throws. A call with valid arguments meets no")
    (member,) = json.loads(json_format.render(found))["verdict"]["defects"]
    assert (member["kind"], member["tool"], member["outcome"]) == ("throws", "add", "failed")
    assert json_format.read(json_format.render(found)).defects[0].kind is Defect.THROWS


def test_note_on_a_keyword_rule_is_not_said_to_be_without_a_keyword():
    notes = [result("tools.call.inputs-validated", Outcome.INFO, reason="coerces")]
    text = terminal.render(report(*notes, result("errors.parse-error-code", Outcome.INFO, reason="-1")))
    assert "1 note on rules broken in a way that may be meant (-v shows them): tools.call.inputs-val" in text
    assert "1 note on rules without a keyword (-v shows them): errors.parse-error-code" in text


# What decides ------------------------------------------------------------------------------------


def test_rule_with_a_defect_warns_where_another_only_informs():
    assert outcome_of(Finding("a", "b"), PROSE, REVISION) is Outcome.WARNED
    assert outcome_of(Finding("a", "b"), PROSE, REVISION, strict=True) is Outcome.FAILED
    assert outcome_of(Finding("a", "b"), JSON_RPC, REVISION) is Outcome.INFO
    assert outcome_of(Finding("a", "b", advisory=True), PROSE, REVISION) is Outcome.INFO


@pytest.mark.parametrize(
    ("fault", "defect", "outcome"),
    [
        (Closed(1), Defect.DIES, Outcome.WARNED),
        (Silence(5.0), Defect.HANGS, Outcome.WARNED),
        (Unanswered(5.0, status=400), None, Outcome.INFO),
        (Unanswered(0.1, status=500), Defect.THROWS, Outcome.WARNED),
        (Unanswered(5.0, status=503), Defect.HANGS, Outcome.WARNED),
        (None, None, Outcome.INFO),
    ],
)
def test_lost_answer_is_a_defect_under_any_rule(fault, defect, outcome):
    finding = Finding("an error", "nothing", fault=fault)
    assert defect_of(finding, JSON_RPC, REVISION) is defect
    assert outcome_of(finding, JSON_RPC, REVISION) is outcome


def test_defect_of_the_finding_itself_warns_though_it_is_advisory():
    finding = Finding("isError", "success", advisory=True, defect=Defect.MISLEADS)
    assert (
        outcome_of(finding, requirement("tools.call.invalid-arguments-channel"), REVISION) is Outcome.WARNED
    )


def test_defect_lets_what_counts_count_as_before():
    assert outcome_of(Finding("a", "b", fault=Closed(1)), MUST, REVISION) is Outcome.FAILED
    assert outcome_of(Blocked("no answer", fault=Silence(5.0)), MUST, REVISION) is Outcome.BLOCKED


def test_what_need_not_be_the_servers_fault_is_no_defect():
    blocked = Blocked("a limit", fault=Silence(5.0), cause=Cause.CIRCUMSTANCES)
    assert defect_of(blocked, PROSE, REVISION) is None


def test_each_kind_of_defect_is_told_and_some_row_or_fault_has_it():
    assert set(DOES) == set(Defect)
    assert {row.defect for row in all_requirements().values() if row.defect} == set(Defect)


def test_sdk_that_ends_the_process_is_told_with_the_version_without_that():
    ways = {fact.way_out for fact in FACTS if fact.rule == "cancel.race-graceful"}
    assert ways == {"fixed in 2.3.0: upgrade"}
    assert any(fact.way_out.startswith("reported: https:") for fact in FACTS)


def test_a_defect_line_names_the_tool_once():
    call = Line.sending({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look"}})
    evidence = Evidence.of(Finding("no files written", "a file", (call,)))
    facts = CheckFacts(
        "a check", PROSE, REVISION, Outcome.WARNED, "look", evidence=evidence, defect=Defect.MISLEADS
    )
    (found,) = report(build_result(facts, Settings(("server",)))).defects
    assert str(found) == "look misleads its clients: tools/call: expected no files written, got a file"


def test_a_defect_line_over_http_says_the_method_and_the_target():
    head = Line(True, b"GET /mcp HTTP/1.1 | Accept: text/event-stream")
    evidence = Evidence.of(Finding("HTTP 405", "HTTP 200", (head,)))
    facts = CheckFacts("a check", PROSE, REVISION, Outcome.WARNED, evidence=evidence, defect=Defect.EXPOSED)
    (found,) = report(build_result(facts, Settings(("server",)))).defects
    assert found.text == "GET /mcp: expected HTTP 405, got HTTP 200"


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ({"method": "prompts/get", "params": {"name": "greet"}}, 'prompts/get "greet"'),
        ({"method": "tools/list", "params": {"cursor": "forged"}}, 'tools/list with the cursor "forged"'),
        ({"method": "ping"}, "ping"),
        ({"method": 5, "params": [1]}, "5"),
        ({"method": {"a": 1}}, '{"a": 1}'),
    ],
)
def test_a_defect_line_says_what_was_asked_expected_and_got(message, asked):
    sent = Line.sending({"jsonrpc": "2.0", "id": 1, **message})
    evidence = Evidence.of(Finding("error -32602", "a page", (sent,)))
    facts = CheckFacts("a check", PROSE, REVISION, Outcome.WARNED, evidence=evidence, defect=Defect.MISLEADS)
    (found,) = report(build_result(facts, Settings(("server",)))).defects
    assert str(found) == f"the server misleads its clients: {asked}: expected error -32602, got a page"


def test_a_long_trace_of_a_panic_is_shown_from_its_begin():
    frames = "".join(f"sdk.handle{number}(0x1)\n\t/sdk/conn.go:{number} +0x76\n" for number in range(200))
    log = f"started\npanic: assignment to entry in nil map\n\ngoroutine 7 [running]:\n{frames}exit status 2\n"
    evidence = Evidence("an answer", "none", stderr=log)
    facts = CheckFacts("node", MUST, REVISION, Outcome.FAILED, evidence=evidence)
    shown = build_result(facts, Settings(("server",))).stderr.splitlines()
    assert shown[:1] == ["panic: assignment to entry in nil map"]
    assert shown[3:5] == ["sdk.handle0(0x1)", "  /sdk/conn.go:0 +0x76"]


def test_logging_that_is_served_undeclared_works():
    settings = settings_in_memory(mutated(named("logging_is_served_undeclared").mutate))
    rule = "lifecycle.capabilities.advertised"
    run = run_checks(settings, REVISION, lambda one: rule in one.ids, is_whole=False)
    (found,) = [one for one in run.verdicts if one.error is not None]
    assert found.outcome is Outcome.INFO
    assert "logging to be declared" in str(found.error)
    assert defect_of(found.error, requirement(rule), REVISION) is None
