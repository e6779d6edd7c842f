"""What real servers over HTTP were accused of under a wrong name, or with several."""

import time
from dataclasses import replace

import pytest

from mcp_conformance.scenarios import http_isolation
from mcp_conformance.scenarios.http_isolation import meetings
from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.http_mutants import HttpReference
from mcp_conformance_fixtures.http_mutants.http_post import each_notification_gets_a_result_without_an_id
from mcp_conformance_fixtures.http_unusual import ModernOnly
from mcp_conformance_fixtures.reference_http import method_of
from mcp_conformance_fixtures.reference_http_wire import Answer
from support.bench import Bench, run_checks, settings_on_process
from support.http_in_thread import served
from support.nightly import nightly

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
LATE = 0.4


class ListsLate(HttpReference):
    """A server whose first list takes long when another client asks at the same time."""

    was_late = False

    def reply(self, call, outlet):
        """Return an answer, once late."""
        is_first = method_of(call.message) == "tools/list" and "same " in str(call.message["id"])
        if is_first and not self.was_late:
            self.was_late = True
            time.sleep(LATE)
        return super().reply(call, outlet)


class OldVersionGetsText(HttpReference):
    """A server that refuses a version without a JSON-RPC error, as the Go SDK does one that is old."""

    def answer(self, call):
        """Return a text if the header names an unknown version."""
        is_old = any(value < "2024" for value in call.values("mcp-protocol-version"))
        text = Answer(400, [("Content-Type", "text/plain")], b"Unsupported version")
        return text if is_old else super().answer(call)


@pytest.fixture
def settings(tmp_path):
    with settings_on_process((), tmp_path, timeout=5.0) as found:
        yield found


@pytest.mark.parametrize(
    ("http", "revision", "selected", "broken"),
    [
        pytest.param(  # tmcp was to use no -32020 "on stdio"
            *(ModernOnly, MODERN, ("errors.defined-meaning",), set()), marks=nightly
        ),
        (
            OldVersionGetsText,  # a server of Grafana had three findings
            MODERN,
            ("http.version.matches-meta", "http.version.unsupported-modern", "test_version"),
            {"http.version.unsupported-modern"},
        ),
        (
            each_notification_gets_a_result_without_an_id,  # a server of Hugging Face had seven findings
            HANDSHAKE,
            ("test_http_post", "test_cancel", "test_jsonrpc", "test_wire_schema"),
            {"http.post.notification-no-body"},
        ),
    ],
)
def test_one_cause_has_one_name(settings, http, revision, selected, broken):
    def is_selected(check):
        return check.suite in selected or not check.ids.isdisjoint(selected)

    with served(http()) as server:
        chosen = replace(settings, command=(server.url,), http=server)
        run = run_checks(chosen, revision, is_selected, is_whole=False)
    assert {one.row.id for one in run.verdicts if one.outcome.counts} == broken
    assert run.passed


def test_an_answer_that_is_late_is_not_lost(settings, monkeypatch):
    monkeypatch.setattr(http_isolation, "ROUND_SECONDS", LATE / 4)
    monkeypatch.setattr(http_isolation, "ROUNDS", 1)
    http = ListsLate()
    with served(http) as server:
        subject = probe_all(replace(settings, http=server), (HANDSHAKE,))
        bench = Bench(subject, HANDSHAKE, is_whole=False)
        try:
            found = meetings(bench.server).rounds
        finally:
            bench.server.close()
            subject.close()
    assert http.was_late
    assert any(one.again is not None for one in found)
    assert all(reply.answer for one in found for reply in one.both)
