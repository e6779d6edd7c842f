"""Helpers of our own tests; tests import the common ones from here."""

from support.running import (
    EVERYTHING,
    FINDINGS,
    HANDSHAKE,
    REFERENCE,
    Case,
    Run,
    awkward,
    environment,
    fork_server,
    forked,
    mutant,
    quick_mutant,
    read_junit,
    run_suite,
    script,
    started,
)

__all__ = [
    "EVERYTHING",
    "FINDINGS",
    "HANDSHAKE",
    "REFERENCE",
    "Case",
    "Run",
    "awkward",
    "environment",
    "fork_server",
    "forked",
    "mutant",
    "quick_mutant",
    "read_junit",
    "run_suite",
    "script",
    "started",
]
