"""The catalogue, the checks, the mutants and the reference server fit together without a gap."""

import functools
import sys

import pytest
from conformance.fixtures.mutants import all_mutants
from support import EVERYTHING, REFERENCE, awkward, run_suite

from conformance.protocol import revisions
from conformance.requirements import catalogue
from conformance.requirements.checks import checked, checks

pytestmark = pytest.mark.xdist_group("closure")
"""Its tests share what is slow to set up."""


@functools.cache
def reference_runs():
    """Run the suite on the reference server in every revision, and the fuzzing of each era's newest."""
    return (
        run_suite(REFERENCE, "--revision", "all", "--fuzz", "none", *EVERYTHING),
        run_suite(REFERENCE, "--revision", "latest", "-k", "test_fuzz", *EVERYTHING),
    )


def test_every_check_cites_requirements_of_the_catalogue():
    known = catalogue.all_requirements()
    assert [check for check in checks() if not check.requirements] == []
    assert [id for id in checked() if id not in known] == []


def test_no_check_judges_a_row_that_is_called_untestable():
    assert [id for id in checked() if catalogue.requirement(id).untestable] == []


def test_every_checked_row_is_broken_by_a_mutant():
    broken = {id for mutant in all_mutants() for id in mutant.breaks}
    assert sorted(set(checked()) - broken) == []


def test_every_mutant_breaks_rows_that_are_checked():
    wrong = {m.name: id for m in all_mutants() for id in (*m.breaks, *m.also) if id not in checked()}
    assert wrong == {}


def test_the_reference_server_is_clean_in_every_revision():
    for run in reference_runs():
        assert [(case.check, case.text) for case in run.findings] == []
        assert run.exit == 0
    assert {case.revision for case in reference_runs()[0].of("passed")} == set(revisions.KNOWN)


def test_every_check_has_run_on_a_right_server():
    """On the reference server, on one that offers next to nothing, or on one that has what else there is."""
    stateless = (sys.executable, "-m", "conformance.fixtures.stateless")
    nothing = run_suite(awkward("bare_minimum"), "--revision", "all", "--fuzz", "none")
    other = run_suite(stateless, "--revision", "latest", "--fuzz", "none")
    assert [(case.check, case.text) for case in other.findings] == []
    runs = (*reference_runs(), nothing, other)
    ran = {case.check.partition("[")[0] for run in runs for case in run.of("passed")}
    assert sorted({check.name for check in checks()} - ran) == []
