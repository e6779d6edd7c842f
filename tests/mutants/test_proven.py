"""What a push proves: each checked rule is broken by a mutant that runs under its checks."""

from mcp_conformance.requirements.checks import checked
from support.mutant_runs import proven


def test_a_push_proves_every_checked_rule():
    assert sorted({*checked()} - proven()) == []
