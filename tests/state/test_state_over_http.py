"""The server with state over HTTP, where each session has a store of its own: right and odd ones pass."""

from dataclasses import replace

import pytest

from mcp_conformance_fixtures.state.faults import HTTP_ONLY, RULES
from mcp_conformance_fixtures.state.http import HttpState
from mcp_conformance_fixtures.state.odd import ODD
from support.bench import run_checks, settings_on_process
from support.http_in_thread import served
from support.nightly import nightly
from support.state import KINDS_OF_SERVERS, REVISION

OF_SESSIONS = "test_what_a_session_has_for_itself_is_in_no_other"


def found_over_http(name, folder):
    """Return what the checks of state find on a server over HTTP."""
    with settings_on_process((), folder) as chosen, served(HttpState(KINDS_OF_SERVERS[name])) as server:
        settings = replace(chosen, command=(server.url,), http=server)
        return run_checks(settings, REVISION, lambda check: check.suite == "test_state", is_whole=False)


@nightly
@pytest.mark.parametrize("name", ["", *ODD])
def test_a_right_server_breaks_no_rule_over_http(name, tmp_path):
    found = found_over_http(name, tmp_path)
    assert [one.text for one in found.verdicts] == []
    assert OF_SESSIONS in found.passed


@nightly
@pytest.mark.parametrize("name", sorted(HTTP_ONLY))
def test_what_sessions_share_is_found(name, tmp_path):
    found = found_over_http(name, tmp_path)
    assert {one.row.id for one in found.verdicts} == RULES[name]
