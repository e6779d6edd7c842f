"""The official suite on our reference with its fixtures, and what our table says of the suite."""

import pytest

from mcp_conformance.requirements.official import WIRE
from mcp_conformance_fixtures.reference_http_official import Official
from support.http_in_thread import served
from support.official_suite import LOGS, SETUP, Suite, misfits, recorded

NEVER_RUN = "tasks-status-notifications"
"""The id of a check that the suite skips on every server."""
REVISIONS = ("2025-11-25", "2026-07-28")


@pytest.fixture(scope="module")
def suite():
    return Suite()


@pytest.fixture(scope="module")
def runs(suite):
    """Return the checks of each scenario in a run of each revision, and in one of the extensions."""
    with served(Official()) as server:
        found = {revision: suite.run(server.url, "--spec-version", revision) for revision in REVISIONS}
        everything = suite.run(server.url)
    extensions = {name for name, (revisions, _) in recorded().items() if revisions == ["extension"]}
    return found | {"extension": {name: everything[name] for name in extensions}}


def test_the_scenarios_are_the_recorded_ones(suite):
    assert suite.scenarios() == {name: revisions for name, (revisions, _) in recorded().items()}


@pytest.mark.parametrize("revision", [*REVISIONS, "extension"])
def test_every_check_passes_on_the_reference(runs, revision):
    checks = [one for found in runs[revision].values() for one in found if one["id"] != NEVER_RUN]
    assert [one for one in checks if one["status"] not in ("SUCCESS", "INFO")] == []
    assert len(checks) > 80


def test_every_check_has_a_recorded_id(runs):
    known = {(name, id) for name, (_, ids) in recorded().items() for id in ids}
    found = {(name, one["id"]) for run in runs.values() for name, checks in run.items() for one in checks}
    assert {(name, id) for name, id in found - known if id not in LOGS | SETUP | {WIRE}} == set()


def test_every_recorded_id_is_in_the_suite(suite):
    text = suite.program.read_text(encoding="utf-8")
    ids = {id for _, ids in recorded().values() for id in ids}
    built = ("sep-2575-request-meta-invalid-", "sep-2575-http-server-method-not-found-404-")
    assert {id for id in ids if id not in text and not id.startswith(built)} == set()


def test_every_check_has_the_shape_of_ours(runs):
    wrong = [(one, misfits(one)) for run in runs.values() for checks in run.values() for one in checks]
    assert [(one, why) for one, why in wrong if why] == []
