"""Each mutant is found: the suite reports the rules it is there to break, and no others.

Each runs under the chapters of the rules it breaks, in one era; with ``MUTANTS=whole`` under the whole suite
in each era in which these rules hold, which takes hours of one core (`tox -e mutants`).
"""

import os
import re
from pathlib import Path

import pytest
from conformance.fixtures import mutants
from conformance.fixtures.mutants import all_mutants
from support import EVERYTHING, quick_mutant, run_suite

from conformance.protocol import revisions
from conformance.requirements import catalogue
from conformance.requirements.checks import checks


def names_in(pattern):
    """The names of the mutants in some modules."""
    modules = Path(mutants.__file__).parent.glob(pattern)
    return {name for path in modules for name in re.findall(r"^def (\w+)", path.read_text(), re.MULTILINE)}


FUZZED = {name: kind for kind in ("tools", "features", "protocol") for name in names_in(f"fuzz_{kind}.py")}
"""The mutants that only some arguments, or some order of requests, bring out, and what is fuzzed for that."""
IN_PASSING = names_in("messages.py")
"""The mutants whose messages no chapter asks for; they are seen in what other chapters evoke."""
LEAN = (
    "--capture=no",
    *(
        word
        for name in ("logging", "warnings", "threadexception", "unraisableexception")
        for word in ("-p", f"no:{name}")
    ),
)
"""Without what pytest does around each of a thousand checks that no verdict depends on."""
WHOLE = os.environ.get("MUTANTS") == "whole"
PATIENCE = ("--timeout", "5", "--start-timeout", "5")
SEES_ALL = "jsonrpc.message-shape"
"""The rule of the look at every message, which speaks of other chapters."""
CITED = {check.name: set(check.requirements) for check in checks()}


def revisions_of(one):
    """The revision a mutant names, else the newest of each era in which all it breaks holds."""
    if one.revision:
        return [one.revision]
    rows = [catalogue.requirement(id) for id in one.breaks]
    eras = [
        [rev for rev in era if all(row.holds_in(rev) for row in rows)]
        for era in (revisions.HANDSHAKE, revisions.MODERN)
    ]
    return [era[-1] for era in eras if era]


def revision_of(one):
    """One of these: about as many mutants run in one era as in the other."""
    choice = revisions_of(one)
    return choice[len(one.name) % len(choice)]


def runs():
    """Each mutant with the revisions it is run in."""
    for one in all_mutants():
        for revision in revisions_of(one) if WHOLE else [revision_of(one)]:
            yield pytest.param(one, revision, id=f"{one.name}-{revision}")


def chapters(one):
    """The options that select the chapters of what a mutant breaks; none for the whole suite."""
    if WHOLE or one.name in IN_PASSING:
        return []
    if one.name in FUZZED:
        return ["-k", f"test_fuzz_{FUZZED[one.name]} or test_messages"]
    groups = {id.rpartition(".")[0] for id in (*one.breaks, *one.also)}
    return [word for selected in (*sorted(groups), SEES_ALL) for word in ("--select", selected)]


@pytest.mark.parametrize(("one", "revision"), [*runs()])
def test_a_mutant_is_found(one, revision):
    profile = "quick" if one.name in FUZZED else "none"
    options = ("--revision", revision, "--fuzz", profile, *PATIENCE, *EVERYTHING, *LEAN)
    run = run_suite(quick_mutant(one.name), *options, *chapters(one))
    found = [cited(case) for case in run.findings]
    told = "\n".join(case.text for case in run.findings) or run.output
    missed = [id for id in one.breaks if not any(id in ids for ids in found)]
    assert not missed, f"nothing reported {missed}:\n{told}"
    strays = [ids for ids in found if not ids & {*one.breaks, *one.also}]
    assert not strays, f"{strays} were reported too:\n{told}"
    assert run.exit == (1 if run.of("failed", "blocked") else 0)


def cited(case):
    """All requirements that the check of a case cites, and the loudest of those it found broken."""
    return CITED.get(case.check.partition("[")[0], set()) | {case.requirement}
