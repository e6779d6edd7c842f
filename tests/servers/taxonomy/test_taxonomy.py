"""The runtime faults of the published taxonomy: what the suites say is what benchmarks/taxonomy.toml expects.

The runs take four minutes, so they are left to the nightly.
"""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from mcp_conformance.requirements import catalogue
from mcp_conformance_fixtures.taxonomy import FAULTS
from support.bench import leave_out_shrinking
from support.nightly import nightly

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

taxonomy = import_module("taxonomy")

ROWS = taxonomy.rows()
SUBCATEGORIES = 27
"""How many the taxonomy has: each has a fault here."""


def test_the_page_has_what_the_table_expects():
    assert taxonomy.PAGE.read_text(encoding="utf-8") == taxonomy.page(ROWS), (
        "python benchmarks/taxonomy.py --write"
    )


def test_each_subcategory_has_a_fault_and_each_fault_a_server():
    assert len({row.part for row in ROWS}) == SUBCATEGORIES
    assert len({(row.part, row.says) for row in ROWS}) == len(ROWS)
    assert {row.name for row in ROWS if row.kind == "fault"} == FAULTS.keys()
    for row in ROWS:
        assert row.seen in taxonomy.SEEN, row
        assert row.kind in ("fault", "start", "") or row.mutant is not None, f"there is no {row.server}"
        assert row.verdict != taxonomy.FOUND or row.named_by or row.names or row.seen == "no", row
        assert row.verdict == taxonomy.FOUND or row.why, f"{row} lacks a reason"
        for id in (*row.rules, *row.also):
            catalogue.requirement(id)


@nightly
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("row", [row for row in ROWS if row.server], ids=lambda row: row.name)
def test_a_fault_is_judged_as_expected(row, tmp_path, monkeypatch):
    leave_out_shrinking(monkeypatch)
    if missing := taxonomy.missing(row):
        pytest.skip(missing)
    said = taxonomy.say(row, tmp_path)
    assert (said.verdict(row), said.strays(row) if row.kind == "fault" else []) == (row.verdict, []), said
