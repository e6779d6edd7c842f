"""The rules: each has a check or a reason for none, and `docs/requirements.md` is up to date."""

import sys
from pathlib import Path

from conformance.requirements import catalogue
from conformance.requirements.checks import checked

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import generating  # noqa: E402


def test_the_page_of_requirements_is_up_to_date():
    page = generating.REQUIREMENTS.read_text(encoding="utf-8")
    assert page == generating.requirements_page(), "run: python docs/generating.py requirements"


def test_each_rule_has_either_a_check_or_a_reason_for_none():
    rows = catalogue.all_requirements().values()
    assert [row.id for row in rows if (row.id in checked()) == bool(row.untestable)] == []
