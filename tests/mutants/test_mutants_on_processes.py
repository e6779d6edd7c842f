"""Mutants are found on processes: one for each rule that no other breaks, and one of some families.

With ``MUTANTS=processes`` all mutants are.
"""

import os

import pytest

from mcp_conformance_fixtures.mutants import named
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


def test_processes_whose_ids_are_near_list_tools_in_different_orders(monkeypatch):
    mutate, request = named("order_of_tools_depends_on_hashes").mutate, {"method": "tools/list"}

    def order(process_id):
        monkeypatch.setattr(os, "getpid", lambda: process_id)
        pages = [[{"name": f"tool {page} {number}"} for number in range(4)] for page in range(5)]
        for page in pages:
            mutate(None, request, {"result": {"tools": page}})
        return pages

    orders = [order(process_id) for process_id in range(1000, 4000)]
    near = [(one, orders[place + step]) for place, one in enumerate(orders[:-6]) for step in range(1, 7)]
    assert not [one for one, other in near if one == other]
