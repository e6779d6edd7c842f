"""The exit statuses of a run: those of pytest, no start of the server, and a fault of the machine."""

from __future__ import annotations

PASSED, FAILED, INTERRUPTED, INTERNAL_ERROR, NOT_RUN, NOTHING_TESTED, NOT_STARTED, MACHINE = range(8)
WORDS = {
    PASSED: "passed",
    FAILED: "failed",
    INTERRUPTED: "interrupted",
    INTERNAL_ERROR: "internal error",
    NOT_RUN: "not run",
    NOTHING_TESTED: "nothing tested",
    NOT_STARTED: "did not start",
    MACHINE: "no room on this machine",
}
WORST_FIRST = (INTERRUPTED, FAILED, INTERNAL_ERROR, MACHINE, NOT_STARTED, NOT_RUN, NOTHING_TESTED, PASSED)
