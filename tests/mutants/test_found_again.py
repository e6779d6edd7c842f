"""Each printed command ``again`` finds the same again, of all that mutants in memory break.

The words are read by our own command line; the server is in memory, in virtual time.
"""

import math

import pytest

from support.again import findings, read, words_of
from support.bench import leave_out_shrinking
from support.in_memory import mutated
from support.mutant_runs import in_memory
from support.nightly import some_of

SHARE = 40
"""One of so many mutants runs in a push, none that is fuzzed: a run and those of its findings take 0.2 s."""


def chosen():
    """Return the runs of mutants: all of them in the nightly run."""
    fuzzed = [run for run in in_memory() if run.fuzzed]
    others = [run for run in in_memory() if not run.fuzzed]
    return [*some_of(fuzzed, math.inf), *some_of(others, SHARE, name=lambda run: run.id)]


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("run", chosen(), ids=lambda run: run.id)
def test_a_finding_is_found_again(run, tmp_path, monkeypatch):
    leave_out_shrinking(monkeypatch)
    options = read(words_of(run, tmp_path))
    promised = {name: run.limits[name] for name in ("contract", "sessions")}
    serve = mutated(run.mutant.mutate)
    found = findings(options, serve, run.revision, promised, lambda check, _: run.selects(check))
    for one in {one.key: one for one in found}.values():
        assert one.differences(serve) == [], one.verdict.text
        words = one.again(options)
        if words is not None:
            again = {other.key for other in findings(read(words), serve, run.revision, promised)}
            assert one.key in again, f"{words} finds {sorted(again)}, not {one.key}: {one.verdict.text}"
