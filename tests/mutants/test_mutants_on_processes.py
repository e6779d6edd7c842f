"""One mutant of each family, and those that need a process, are found on processes.

With ``MUTANTS=processes`` all mutants are.
"""

import pytest
from support import quick_mutant
from support.bench import SAMPLES, leave_out_shrinking, run_checks, settings_on_process
from support.mutant_runs import FUZZ_EXAMPLES, expect_found, on_processes


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("run", on_processes(), ids=lambda run: run.id)
def test_a_mutant_is_found(run, tmp_path, monkeypatch):
    leave_out_shrinking(monkeypatch)
    command, examples = quick_mutant(run.mutant.name), FUZZ_EXAMPLES if run.fuzzed else 0
    limits = {"timeout": 5.0, "start_timeout": 5.0}
    with settings_on_process(command, tmp_path, examples, **limits, **SAMPLES) as settings:
        found = run_checks(settings, run.revision, run.selects, is_whole=run.is_whole, tools=run.tools)
    expect_found(run.mutant, *found)
