"""Two runs say the same of a server, whatever the hash seed, and however many workers there are."""

import sys
from pathlib import Path

from support import REFERENCE

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from determinism import differences, run

OPTIONS = ("--revision", "2025-11-25", "--fuzz", "none", "--call", "all")
SELECTED = ("--select", "tools.def,pagination")


def test_one_process_and_two_workers_say_the_same():
    _, alone = run(REFERENCE, (*OPTIONS, *SELECTED), 1)
    _, spread = run(REFERENCE, (*OPTIONS, *SELECTED, "-n", "2"), 2)
    assert len(alone) > 50
    assert list(differences([("alone", alone), ("spread", spread)])) == []


def test_what_differs_is_shown():
    runs = [("one", {"a": "passed", "b": "passed"}), ("other", {"a": "passed", "b": "failed"}), ("third", {})]
    assert list(differences(runs)) == [
        "a",
        "    passed: one, other",
        "    was not run: third",
        "b",
        "    passed: one",
        "    failed: other",
        "    was not run: third",
    ]
