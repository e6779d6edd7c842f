"""The exit statuses of a run: those of pytest, and one for a server that did not start."""

from __future__ import annotations

PASSED, FAILED, INTERRUPTED, INTERNAL_ERROR, NOT_RUN, NOTHING_TESTED, NOT_STARTED = range(7)
WORDS = {
    PASSED: "passed",
    FAILED: "failed",
    INTERRUPTED: "interrupted",
    INTERNAL_ERROR: "internal error",
    NOT_RUN: "not run",
    NOTHING_TESTED: "nothing tested",
    NOT_STARTED: "did not start",
}
WORST_FIRST = (INTERRUPTED, FAILED, INTERNAL_ERROR, NOT_STARTED, NOT_RUN, NOTHING_TESTED, PASSED)
