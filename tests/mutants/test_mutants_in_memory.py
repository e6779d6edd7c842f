"""Each mutant is found: the suite reports the rules that it breaks, and no others.

No process is started, and time is virtual.  Each mutant runs in one era, under the chapters of the rules that
it breaks; one in forty, and with ``MUTANTS=whole`` all of them in each era, under the whole suite.
"""

import pytest
from support.bench import leave_out_shrinking, run_checks, settings_in_memory
from support.in_memory import mutated
from support.mutant_runs import FUZZ_EXAMPLES, expect_found, in_memory


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("run", in_memory(), ids=lambda run: run.id)
def test_a_mutant_is_found(run, monkeypatch):
    leave_out_shrinking(monkeypatch)
    examples = FUZZ_EXAMPLES if run.fuzzed else 0
    settings = settings_in_memory(mutated(run.mutant.mutate), examples, timeout=5.0, start_timeout=5.0)
    found = run_checks(settings, run.revision, run.selects, is_whole=run.is_whole, tools=run.tools)
    expect_found(run.mutant, *found)
