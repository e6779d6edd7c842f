"""Every rule is checked or says why not, and the page that says so is fresh."""

from pathlib import Path

import pytest
from conformance.fixtures.mutants import all_mutants
from requirements_table import reason, table

from conformance.requirements import catalogue
from conformance.requirements.checks import checked

PAGE = Path(__file__).parents[1] / "docs" / "requirements.md"
BROKEN = {id for mutant in all_mutants() for id in mutant.breaks}
ROWS = list(catalogue.all_requirements().values())


def test_the_page_is_fresh():
    assert PAGE.read_text() == table() + "\n", "python tests/requirements_table.py > docs/requirements.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_rule_is_checked_or_says_why_not(row):
    assert bool(checked().get(row.id)) != bool(reason(row))


@pytest.mark.parametrize("id", sorted(checked()))
def test_a_check_is_proven_by_a_mutant(id):
    assert id in BROKEN
