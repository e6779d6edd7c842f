"""Rows that came after the last release say so: they fail no project that is pinned to it."""

import re
from dataclasses import replace
from pathlib import Path

from mcp_conformance.requirements.catalogue import all_requirements, requirement

HERE = Path(__file__).parent
CHANGELOG = HERE.parents[1] / "CHANGELOG.md"
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", re.MULTILINE)


def lists():
    """Return the ids of each release that has a list, by its version."""
    return {
        path.stem.removeprefix("released-"): set(path.read_text(encoding="utf-8").split())
        for path in HERE.glob("released-*.txt")
    }


def newest_release(changelog):
    """Return the version of the newest section with a date; empty before the first release."""
    return next(iter(RELEASE.findall(changelog)), "")


def wrong_versions(rows, version, ids):
    """Return the ids of rows that say they are newer than a release and are in it, or the opposite."""
    return [
        row.id for row in rows if (row.id in ids) == replace(row, sharpened_in=None).is_newer_than(version)
    ]


def test_the_last_release_has_a_list_of_its_rows():
    newest = newest_release(CHANGELOG.read_text(encoding="utf-8"))
    assert list(lists()) == ([newest] if newest else []), "see RELEASING.md, step 2"


def test_rows_newer_than_the_last_release_have_added_in():
    for version, ids in lists().items():
        assert wrong_versions(all_requirements().values(), version, ids) == []


def test_a_row_without_its_version_is_found_and_so_is_one_with_a_wrong_one():
    old, forgotten = requirement("ping.responds"), requirement("ping.prompt")
    new = replace(requirement("ping.periodic"), added_in="0.2")
    wrong = replace(requirement("ping.unanswered"), added_in="0.2")
    sharper = replace(requirement("ping.empty-result"), sharpened_in="0.2")
    released = {old.id, wrong.id, sharper.id}
    assert wrong_versions([old, forgotten, new, wrong, sharper], "0.1.0", released) == [
        forgotten.id,
        wrong.id,
    ]


def test_an_undated_section_is_not_a_release():
    assert newest_release("# Changelog\n\n## 0.2.0 (unreleased)\n\n## 0.1.0 (2026-12-01)\n") == "0.1.0"
    assert newest_release("## 0.1.0 (unreleased)\n") == ""
