"""The revisions of the rows: since when each holds, until when, and against which it was read."""

import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_conformance.protocol.revisions import KNOWN
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import families, requirement, stem, unreviewed

UNREVIEWED = 0
"""The rows that hold in the newest revision and that nobody has read against it. It only goes down."""
FOLDER = Path(catalogue.__file__).parent
TABLES = ("level", "basis", "section")
ROW = {
    "since": "2024-11-05",
    "level": "MUST",
    "basis": "keyword",
    "section": ["basic/index"],
    "says": "So it is.",
}


def written():
    """Return each row as its file has it, by id."""
    texts = ((FOLDER / f"{stem(family)}.toml").read_text(encoding="utf-8") for family in families())
    return {id: row for text in texts for id, row in tomllib.loads(text).items()}


def keys(row):
    """Yield the revisions in each table of a row, in the order of the file."""
    yield from (list(row[name]) for name in TABLES if isinstance(row[name], dict))


def test_rows_to_read_against_the_newest_revision_are_counted():
    found = [row.id for row in unreviewed()]
    assert len(found) == UNREVIEWED, f"mcp-conformance list --unreviewed: {', '.join(found)}"


def test_rows_name_known_revisions():
    named = {
        revision
        for row in written().values()
        for revision in (
            *(row[name] for name in ("since", "until", "reviewed") if name in row),
            *row.get("except", ()),
            *(one for table in keys(row) for one in table),
        )
    }
    assert {*named, *(family.reviewed for family in families().values())} <= set(KNOWN)


def test_a_row_ends_after_it_begins_and_before_the_newest_revision():
    ends = {id: (row["since"], row["until"]) for id, row in written().items() if "until" in row}
    assert ends
    assert [id for id, (since, until) in ends.items() if not since <= until < KNOWN[-1]] == []


def test_exceptions_lie_between_revisions_in_which_the_row_holds():
    holes = {id: row["except"] for id, row in written().items() if "except" in row}
    assert "batch.not-sent" in holes
    for id, some in holes.items():
        first, *_, last = requirement(id).revisions
        assert [one for one in some if not first < one < last or requirement(id).holds_in(one)] == []


def test_a_table_begins_with_the_row_and_has_only_differences():
    wrong = []
    for id, row in written().items():
        held = requirement(id).revisions
        wrong += [id for table in keys(row) if table[0] != row["since"] or not set(table) <= set(held)]
        wrong += [id for table in keys(row) if table != sorted(table) or len(table) < 2]
        values = [list(row[name].values()) for name in TABLES if isinstance(row[name], dict)]
        wrong += [id for some in values if any(a == b for a, b in pairwise(some))]
    assert wrong == []


def test_a_row_says_that_it_was_read_only_if_its_family_was_not():
    own = {id: row["reviewed"] for id, row in written().items() if "reviewed" in row}
    old = [id for id, revision in own.items() if revision <= families()[requirement(id).family].reviewed]
    assert old == [], "delete these lines"
    assert [id for id in own if "until" in written()[id]] == []


def test_a_value_holds_until_the_next_one_of_its_table():
    row = requirement("tools.def.name-unique")
    assert {revision: row.basis(revision) for revision in row.revisions if revision < "2026"} == {
        "2024-10-07": "prose",
        "2024-11-05": "prose",
        "2025-03-26": "prose",
        "2025-06-18": "prose",
        "2025-11-25": "keyword",
    }


def test_a_row_without_an_end_holds_in_the_newest_revision_and_one_with_an_end_does_not():
    assert requirement("tools.def.name-unique").revisions == KNOWN
    assert requirement("ping.responds").revisions == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.mark.parametrize(
    ("row", "reviewed"),
    [
        ({}, "2025-11-25"),
        ({"reviewed": "2026-07-28"}, "2026-07-28"),
        ({"until": "2025-06-18"}, "2025-06-18"),
        ({"since": "2026-07-28"}, "2026-07-28"),
        ({"basis": {"2024-11-05": "prose", "2026-07-28": "keyword"}}, "2026-07-28"),
        ({"except": ["2026-07-28"]}, "2026-07-28"),
    ],
    ids=["family", "row", "end", "new", "changed", "suspended"],
)
def test_a_row_was_read_against_each_revision_that_it_names(row, reviewed, monkeypatch):
    family = replace(families()["ping"], reviewed="2025-11-25")
    monkeypatch.setattr(catalogue, "families", lambda: {"ping": family})
    found = catalogue._requirement("ping.example", ROW | row)
    assert found.reviewed == reviewed
    assert found.is_reviewed_in(reviewed)
    assert [one for one in found.revisions if not found.is_reviewed_in(one)] == [
        one for one in found.revisions if one > reviewed
    ]
