"""One mutant of each chapter, and those that need a process, are found on processes as a user starts them.

With ``MUTANTS=processes`` all mutants are.
"""

import pytest
from support import EVERYTHING, quick_mutant, run_suite
from support.mutant_runs import expect_found, on_processes

from conformance.requirements.checks import checks

LEAN = (
    "--capture=no",
    *(
        word
        for name in ("logging", "warnings", "threadexception", "unraisableexception")
        for word in ("-p", f"no:{name}")
    ),
)
"""Without what pytest does around each of a thousand checks that no verdict depends on."""
TIMEOUTS = ("--timeout", "5", "--start-timeout", "5")
CITED = {check.name: set(check.requirements) for check in checks()}


def selection(run):
    """Return the options that select the checks of a run."""
    if run.fuzzed:
        tools = f" and ({' or '.join(run.tools)})" if run.tools else ""
        return ["--fuzz", "quick", "-k", f"{run.fuzzed}{tools}"]
    return ["--fuzz", "none", *(word for chapter in run.chapters for word in ("--select", chapter))]


@pytest.mark.parametrize("run", on_processes(), ids=lambda run: run.id)
def test_a_mutant_is_found(run):
    one = run.mutant
    options = ("--revision", run.revision, *TIMEOUTS, *EVERYTHING, *LEAN)
    done = run_suite(quick_mutant(one.name), *options, *selection(run))
    found = [cited(case) for case in done.findings]
    expect_found(one, found, "\n".join(case.text for case in done.findings) or done.output)
    assert done.exit == (1 if done.of("failed", "blocked") else 0)


def cited(case):
    """Return the requirements that a check cites, and the most severe of those it found broken."""
    return CITED.get(case.check.partition("[")[0], set()) | {case.requirement}
