"""The rules of logging in: silent on a right server, and where they cannot be judged."""

from dataclasses import replace

import pytest

from mcp_conformance.login.flow import EXAMINED, REFRESHED, REFRESHED_FIRST
from mcp_conformance.login.web import Step
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.scenarios.logins import claims_of
from mcp_conformance_fixtures.reference_http_login import Issuing
from mcp_conformance_fixtures.reference_http_wire import Answer
from support.bench import all_checks, run_checks, settings_on_process
from support.http_in_thread import served
from support.logins import logged_in, with_login
from support.nightly import nightly

SUITE = "test_http_login"


def judged(http, revision, tmp_path, change=lambda login: login):
    """Return what the rules say of a server that somebody has logged in to."""
    with served(http) as server, settings_on_process((), tmp_path) as settings:
        chosen = with_login(replace(settings, http=server), change)
        return run_checks(chosen, revision, lambda check: check.suite == SUITE, is_whole=False)


@pytest.mark.parametrize(
    "revision",
    [
        "2025-03-26",
        pytest.param("2025-06-18", marks=nightly),
        pytest.param("2025-11-25", marks=nightly),
        LATEST_MODERN,
    ],
)
def test_every_rule_holds_on_a_right_server(revision, tmp_path):
    found = judged(Issuing(), revision, tmp_path)
    assert [one.text for one in found.verdicts] == []
    assert found.passed == {
        one.name for one in all_checks() if one.suite == SUITE and one.rows[0].holds_in(revision)
    }


class Asking(Issuing):
    """An authorization server that shows a page before anything else; its tokens are plain words."""

    def authorize(self, call):
        if "asked=1" in call.target:
            return super().authorize(call)
        return Answer(302, [("Location", f"{call.target}&asked=1")])

    def new_token(self, call):
        return self.token

    def response_issuer(self, call):
        return {}

    def server_document(self, call):
        document = super().server_document(call)
        del document["authorization_response_iss_parameter_supported"]
        return document


def test_what_a_page_hides_and_a_word_cannot_say_is_skipped(tmp_path):
    found = judged(Asking(), LATEST_MODERN, tmp_path)
    assert [one.text for one in found.verdicts] == []
    assert len(found.passed) == 5


def test_a_login_without_tries_and_a_server_without_answers_are_skipped(tmp_path):
    def change(login):
        names = ("wrong verifier", "no verifier", "foreign redirect", "redirect below")
        others = tuple(one for one in login.steps if one.name not in (*names, "code again"))
        return replace(login, steps=(*others, *(Step(name, "POST", "closed") for name in names)))

    found = judged(Issuing(), "2025-11-25", tmp_path, change)
    assert [one.text for one in found.verdicts] == []
    assert len(found.passed) == 5


@pytest.mark.parametrize("token", ["word", "a.b", "a.b.c", "eyJ.W10.x", "a.\u00e9.c"])
def test_a_token_that_is_no_jwt_says_nothing(token):
    assert claims_of(token) is None


def test_without_an_examination_a_login_is_short():
    with served(Issuing()) as server:
        names = {one.name for one in logged_in(server.url).steps}
    assert not names & {*EXAMINED, REFRESHED, REFRESHED_FIRST}
