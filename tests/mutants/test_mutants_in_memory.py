"""Each mutant is found: the suite reports the rules that it breaks, and no others.

No process is started, and time is virtual.  For each set of rules, one of the mutants that break them runs,
in one era, under the checks of these rules, some under that of all messages too and a few under the whole
suite; with ``MUTANTS=whole`` each runs in each era, under the whole suite.
"""

import pytest

from support.bench import leave_out_shrinking, settings_in_memory
from support.in_memory import mutated
from support.mutant_runs import in_memory


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("run", in_memory(), ids=lambda run: run.id)
def test_a_mutant_is_found(run, tmp_path, monkeypatch):
    leave_out_shrinking(monkeypatch)
    serve = mutated(run.mutant.mutate)
    run.expect_found(settings_in_memory(serve, transcripts=tmp_path, **run.limits))
