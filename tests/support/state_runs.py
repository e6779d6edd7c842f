"""Runs of the checks of state on the server with state, in memory: what they find."""

from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.state.faults import DISK_ONLY
from support.bench import Bench, checks_of, settings_in_memory
from support.state import REVISION, state_in_memory

SUITE = "test_state"


def found_on(name, seed, folder, rules=frozenset()):
    """Return the rules that the checks find broken on a server, with what they say.

    With ``rules`` no further check runs once one of these is found: walks take half of the time.
    """
    log = folder / "state.jsonl" if name in DISK_ONLY else None
    settings = settings_in_memory(state_in_memory(name, log), seed=seed, transcripts=folder)
    subject = probe_all(settings, (REVISION,))
    bench = Bench(subject, REVISION)
    found = {}
    try:
        for check in checks_of(REVISION):
            if check.suite == SUITE and rules.isdisjoint(found):
                found |= {verdict.row.id: verdict.text for verdict in bench.run_all([check])}
    finally:
        bench.server.close()
    assert [one for surface in subject.surfaces for one in surface.failures] == []
    assert found or bench.passed
    return found
