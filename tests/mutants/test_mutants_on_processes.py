"""One mutant of each fourth family, and those that need a process, are found on processes.

With ``MUTANTS=processes`` all mutants are.
"""

import pytest

from support import quick_mutant
from support.bench import SAMPLES, hurry, leave_out_shrinking, settings_on_process
from support.mutant_runs import on_processes


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("run", on_processes(), ids=lambda run: run.id)
def test_a_mutant_is_found(run, tmp_path, monkeypatch):
    if run.needs_own_network and run.limits["sandbox"] is None:
        pytest.skip("the packets of a server are not seen here")
    leave_out_shrinking(monkeypatch)
    hurry(monkeypatch)
    command = quick_mutant(run.mutant.name)
    with settings_on_process(command, tmp_path, **run.limits, **SAMPLES) as settings:
        if missing := run.missing(settings):
            pytest.skip(missing)
        run.expect_found(settings)
