"""The table of all requirements: how loud each is, what checks it, and which mutants prove the check.

`python tests/requirements_table.py > docs/requirements.md` writes it anew.
"""

import sys
from collections import defaultdict

from conformance.fixtures.mutants import all_mutants

from conformance.protocol import revisions
from conformance.requirements import catalogue
from conformance.requirements.checks import checked

HEAD = """\
# Requirements

Every rule of the catalogue, with what proves it. `mcp-conformance explain ID` tells a rule in full.
This page is made by `python tests/requirements_table.py`, and a test keeps it fresh.

A rule without a check says why no client can observe it.
"""


def table():
    """Return the whole page."""
    broken = defaultdict(list)
    for mutant in all_mutants():
        for id in mutant.breaks:
            broken[id].append(mutant.name)
    rows = list(catalogue.all_requirements().values())
    lines = [HEAD, *summary(rows), ""]
    for family, about in catalogue.families().items():
        lines += [f"## {about.title}", "", "| Rule | Level (basis) | Revisions | Check | Mutants |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        lines += [line(row, broken[row.id]) for row in rows if row.family == family]
        lines.append("")
    return "\n".join(lines)


def summary(rows):
    """Say how many rules are checked."""
    tested = [row for row in rows if row.id in checked()]
    unseen = [row for row in rows if row.untestable]
    yield f"{len(rows)} rules: {len(tested)} checked, {len(unseen)} that no client can observe."


def line(row, mutants):
    """Return a row of the table."""
    levels = {f"{row.level(revision)} ({row.basis(revision)})": None for revision in row.revisions}
    names = [f"`{check.name}`" for check in checked().get(row.id, ())]
    cells = [f"`{row.id}`", ", ".join(levels), since(row), ", ".join(names) or reason(row)]
    return f"| {' | '.join([*cells, ', '.join(f'`{name}`' for name in mutants)])} |"


def since(row):
    """Return the revisions a rule holds in, shortened if they follow each other."""
    known = revisions.KNOWN
    first, last = known.index(row.revisions[0]), known.index(row.revisions[-1])
    if row.revisions != known[first : last + 1] or first == last:
        return ", ".join(row.revisions)
    return f"{row.revisions[0]} to {row.revisions[-1]}"


def reason(row):
    """Return why a rule has no check; empty if there is no reason."""
    return f"none: {row.untestable}" if row.untestable else ""


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
