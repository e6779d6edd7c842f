"""Fuzz the tool itself for a long time: run the engine and the suites on servers with generated scripts.

    python benchmarks/self_fuzz.py memory --seconds 600 --seed 1
    python benchmarks/self_fuzz.py process --seconds 600 --seed 1

``memory`` runs some checks, drawn for each script, on a server in memory: some hundred scripts a minute.
``process`` runs ``mcp-conformance`` on a process: some seconds for each.  Hypothesis generates the scripts
(`tests/support/script_strategies.py`), but they run outside of it, so that an internal error does not end the
run: each is printed once, with its script, and counted.  Only the tests fuzz bytes and messages, with
SELF_FUZZ set:

    SELF_FUZZ=10000 python -m pytest tests/e2e/test_self_fuzz.py --hypothesis-seed=1
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "e2e")]

import test_self_fuzz as fuzz  # noqa: E402

from mcp_conformance.protocol import revisions  # noqa: E402
from support.script_strategies import scripts  # noqa: E402

Script = list[dict[str, Any]]
Try = Callable[[Script, random.Random], str]
BATCH = 200
SHOWN = 2000


def made(number: int) -> Iterator[tuple[Script, random.Random]]:
    """Yield scripts without end, each with a random generator for the other choices."""
    while True:
        yield from ((script, random.Random(chance)) for script, chance in drawn(number))
        number += 1


def drawn(number: int) -> list[tuple[Script, int]]:
    """Return the scripts of one seed."""
    batch: list[tuple[Script, int]] = []

    @seed(number)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scripts, st.integers(0, 2**32))
    def collect(script: Script, chance: int) -> None:
        batch.append((script, chance))

    collect()
    return batch


def in_memory(script: Script, chance: random.Random) -> str:
    """Run some checks on a server in memory, and return whether a conversation opened."""
    revision = chance.choice([*revisions.KNOWN, revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN])
    chosen = fuzz.some_checks(chance.random(), 40)
    counts = fuzz.run_in_memory(script, (revision,), chosen)
    return "conversations" if counts["live"] else "no conversation"


def in_a_process(script: Script, chance: random.Random) -> str:
    """Run some families on a server in a process, and return the exit status."""
    revision = chance.choice([revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN, "latest", "all"])
    families = chance.sample(fuzz.FAMILIES, 3)
    return f"exit {fuzz.run_scripted(script, revision, families).exit}"


def place_of(error: Exception) -> str:
    """Return the type and the place of an exception in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if "/mcp_conformance" in one.filename] or frames
    return f"{type(error).__name__} {Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}"


def main() -> int:
    """Run scripts for a while, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("where", choices=("memory", "process"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    attempt: Try = in_memory if chosen.where == "memory" else in_a_process
    counts, errors, end = Counter[str](), Counter[str](), time.monotonic() + chosen.seconds
    for script, chance in made(chosen.seed):
        counts["scripts"] += 1
        try:
            counts[attempt(script, chance)] += 1
        except Exception as error:  # noqa: BLE001  (every exception here is an internal error)
            name = place_of(error)
            errors[name] += 1
            if errors[name] == 1:
                print(f"{name}: {str(error)[:SHOWN]}\n    {json.dumps(script)}", flush=True)
        if time.monotonic() > end:
            break
    print(f"{dict(counts)}; internal errors: {dict(errors) or 'none'}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
