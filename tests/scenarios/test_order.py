"""The order of the checks changes no verdict."""

import random
from collections import Counter

import pytest

from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.mutants import all_mutants
from support.bench import Bench, checks_of, settings_in_memory
from support.in_memory import mutated
from support.nightly import nightly

LAST = "test_messages"
"""The suite that judges the messages of all others; it is always the last one."""
MODERN, HANDSHAKE = LATEST_MODERN, LATEST_HANDSHAKE
MUTANTS = {one.name: one for one in all_mutants()}


def verdicts(mutate, revision, arrange):
    """Return the verdicts of all checks on a server, run in the order that ``arrange`` makes."""
    subject = probe_all(settings_in_memory(mutated(mutate)), (revision,))
    bench = Bench(subject, subject.live[0].revision, is_whole=True)
    last = [check for check in checks_of(revision) if check.suite == LAST]
    others = [check for check in checks_of(revision) if check.suite != LAST]
    found = bench.run_all([*arrange(others), *last])
    bench.server.close()
    return Counter((one.check.suite, one.check.name, one.row.id, str(one.outcome)) for one in found)


def shuffled(checks):
    return random.Random(7).sample(checks, len(checks))


@pytest.mark.parametrize(
    ("mutant", "revision"),
    [
        ("broken_json_ends_the_server", HANDSHAKE),
        ("text_is_a_number", HANDSHAKE),
        pytest.param("broken_json_ends_the_server", MODERN, marks=nightly),
        pytest.param("text_is_a_number", MODERN, marks=nightly),
    ],
)
def test_checks_in_another_order_give_the_same_verdicts(mutant, revision):
    mutate = MUTANTS[mutant].mutate
    usual = verdicts(mutate, revision, lambda checks: checks)
    assert usual
    assert verdicts(mutate, revision, shuffled) == usual
