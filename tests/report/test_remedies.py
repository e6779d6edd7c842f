"""The remedy of a finding is for what was seen; without one it is the rule's."""

from dataclasses import replace

import pytest

from mcp_conformance import remedies
from mcp_conformance.client.reply import Closed, Silence, Unanswered
from mcp_conformance.outcome import Outcome
from mcp_conformance.report.build import CheckFacts, Evidence, build_result
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import all_requirements
from mcp_conformance.target.settings import Settings
from mcp_conformance.verdicts import ANSWERED, Blocked, Finding, remedy_of
from mcp_conformance_fixtures.http_mutants import started
from mcp_conformance_fixtures.mutants import all_mutants
from support.bench import run_checks, settings_in_memory, settings_on_process
from support.http_in_thread import served
from support.in_memory import mutated
from support.nightly import nightly

NOW, NOW_MODERN = "2025-11-25", "2026-07-28"


def fix_of(verdict, rule="jsonrpc.response-id-echo", sdk=""):
    row = catalogue.requirement(rule)
    facts = CheckFacts("a check", row, NOW, Outcome.FAILED, evidence=Evidence.of(verdict), sdk=sdk)
    return build_result(facts, Settings(("server",))).fix


def test_a_verdict_brings_its_remedy():
    assert fix_of(Finding("an id", "another", fix="Do this.")) == "Do this."
    assert fix_of(Blocked("no answer", fix="Do this.")) == "Do this."
    row = catalogue.requirement("jsonrpc.response-id-echo")
    assert fix_of(Finding("an id", "another")) == row.fix


@pytest.mark.parametrize(
    ("wanted", "got", "fix"),
    [
        (1, "1", ""),
        ("1", 1, ""),
        (1, None, remedies.LOST_ID),
        (2**53 + 1, 2**53, remedies.ROUNDED_ID),
        (2**53 + 1, float(2**53), remedies.ROUNDED_ID),
        (2**53 + 1, 7, ""),
        (1, 2, ""),
        (2**31, -(2**31), remedies.NARROW_ID),
        (2**32 + 7, 7, remedies.NARROW_ID),
        (" a", "a", ""),
        ("é", "Ã©", remedies.GARBLED_ID),
        ("é", None, remedies.LOST_ID),
    ],
)
def test_the_remedy_for_an_id_depends_on_the_id(wanted, got, fix):
    assert remedies.of_id(wanted, got) == fix


@pytest.mark.parametrize(("id", "fix"), [(0, ""), ("", ""), (-1, remedies.ANY_ID), ("\0", remedies.ANY_ID)])
def test_the_remedy_for_an_unread_id_depends_on_the_id(id, fix):
    assert remedies.of_unread_id(id) == fix


def test_the_end_of_the_process_has_a_remedy_of_its_own():
    row, ends = catalogue.requirement(ANSWERED), Closed(1, "")
    assert remedy_of(Blocked("no answer", fault=ends), row, NOW) == remedies.ENDS
    assert remedy_of(Blocked("no answer", fix="Do this.", fault=ends), row, NOW) == "Do this."
    assert remedy_of(Blocked("no answer", fault=Silence(5.0)), row, NOW) == ""
    unended = Blocked("no answer", fault=Silence(5.0, unended=True))
    assert remedy_of(unended, row, NOW) == remedies.LINE_END
    other = catalogue.requirement("cancel.completed-ignored")
    assert remedy_of(Blocked("no answer", fault=ends), other, NOW) == ""


def test_a_credential_that_may_not_call_is_no_fault_of_the_registry():
    assert (
        remedies.of_missing_answer(Unanswered(0.0, instead="HTTP 403", status=403)) == remedies.NOT_PERMITTED
    )
    assert remedies.of_missing_answer(Silence(30.0)) == remedies.NO_ANSWER


@pytest.mark.parametrize(
    ("name", "rule", "fix"),
    [
        ("result_has_nan", "stdio.stdout-purity", remedies.NO_NUMBER),
        ("an_error_has_no_string_as_its_id", "jsonrpc.response-id-echo", remedies.LOST_ID),
        ("an_id_has_32_bits", "jsonrpc.response-id-echo", remedies.NARROW_ID),
        ("a_negative_id_is_refused", "jsonrpc.id-types-accepted", remedies.ANY_ID),
        ("ping_refuses_texts_and_gives_a_payload", "ping.responds", remedies.REFUSED_PING),
        ("ping_is_an_unknown_method", "ping.responds", ""),
        ("a_prompt_comes_and_goes_undeclared", "drift.lists", remedies.UNSTEADY),
    ],
)
def test_what_a_check_saw_has_its_own_remedy(name, rule, fix, tmp_path):
    (one,) = [mutant for mutant in all_mutants() if mutant.name == name]
    settings = settings_in_memory(mutated(one.mutate), examples=50, transcripts=tmp_path)
    found = run_checks(settings, NOW, lambda check: rule in check.ids, is_whole=False).verdicts
    assert {verdict.error.fix for verdict in found if verdict.row.id == rule} == {fix}


@pytest.mark.parametrize(
    ("name", "rule", "begins"),
    [
        ("an_invalid_token_gets_403", "http.auth.invalid-token", "Answer 401, with error"),
        pytest.param(
            "wrong_method_header_gets_422", "http.headers.method-mismatch", "Keep the refusal", marks=nightly
        ),
    ],
)
def test_a_refusal_of_another_kind_over_http_has_its_own_remedy(name, rule, begins, tmp_path):
    with served(started(name)) as http, settings_on_process((), tmp_path, timeout=5.0) as chosen:
        settings = replace(chosen, command=(http.url,), http=http)
        found = run_checks(settings, NOW_MODERN, lambda check: rule in check.ids, is_whole=False).verdicts
    fixes = {verdict.error.fix for verdict in found if verdict.row.id == rule}
    assert [fix.startswith(begins) for fix in fixes] == [True]


@pytest.mark.parametrize(("sdk", "named"), [("TypeScript", "McpServer"), ("Python", "MCPServer")])
def test_no_remedy_tells_a_low_level_server_of_another_class_only(sdk, named):
    """Who wrote a low-level handler has no McpServer to replace the handler of."""
    texts = [row.fix_in.get(sdk, "") for row in all_requirements().values()]
    named = [text for text in texts if named in text]
    assert [text for text in named if "low-level" not in text and " or Server" not in text] == []
