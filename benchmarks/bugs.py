"""Measure how many planted faults the values find that the suite sends to a tool, beside schemathesis.

    python benchmarks/bugs.py            # pip install schemathesis, to compare with it
    python benchmarks/bugs.py --missed   # with the faults that some seeds miss
    python benchmarks/bugs.py --limits   # forty faults at limits in place of the sixty

A profile sends to each tool the values of `test_valid_arguments_are_handled`: those at the boundaries, as
many from a seed as ``--fuzz`` says, and the hostile values that are valid.  Schemathesis draws as many.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from typing import Any

import planted_bugs
import planted_limits
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from mcp_conformance.generation import boundary, draw_valid, hostile, seeded, together, valid
from mcp_conformance.json_schema.validation import instance_errors
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES

REVISION = "2025-11-25"
MAX_BOUNDARY_VALUES = 60

Draw = Callable[[Any, int, int], list[Any]]
"""Draws values of a schema: (schema, seed, how many)."""


def fixed_values(schema: Any, *, has_hostile: bool) -> list[Any]:
    """Return the values that do not depend on the seed: boundaries, and hostile values that are valid."""
    found = [value for _, value in islice(boundary(schema, REVISION), MAX_BOUNDARY_VALUES)]
    return [*found, *together(schema, REVISION), *(valid_hostile_values(schema) if has_hostile else ())]


def valid_hostile_values(schema: Any) -> Iterator[Any]:
    for _, text in hostile(schema, REVISION):
        if text is None or len(text) > 100_000:
            continue
        try:
            value = json.loads(text)
            text.decode().encode("utf-16")
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and not instance_errors(value, schema, REVISION):
            yield value


def from_a_seed(schema: Any, number: int, count: int) -> list[Any]:
    source = seeded(number)
    return [draw_valid(schema, REVISION, source) for _ in range(count)]


def from_strategy(make: Callable[[Any], st.SearchStrategy[Any]]) -> Draw:
    def draw(schema: Any, number: int, count: int) -> list[Any]:
        found: list[Any] = []

        @seed(number)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(make(schema))
        def collect(value: Any) -> None:
            found.append(value)

        collect()
        return found

    return draw


def schemathesis(schema: Any) -> st.SearchStrategy[Any]:
    import jsonschema_rs  # noqa: PLC0415
    from schemathesis.generation.jsonschema import builder  # noqa: PLC0415

    return builder.build(copy.deepcopy(schema), draft=jsonschema_rs.Draft202012, formats={})


def triggered(bugs: list[planted_bugs.Bug], values: list[Any]) -> list[str]:
    return [what for what, is_hit in bugs if any(hits(is_hit, value) for value in values)]


def hits(is_hit: Callable[[dict[str, Any]], bool], value: Any) -> bool:
    """Return whether a value triggers a fault; a value that is not what the format says does not."""
    try:
        return is_hit(value)
    except (ValueError, IndexError):
        return False


def report(
    label: str, draw: Draw, count: int, fixed: dict[str, list[Any]], options: argparse.Namespace
) -> None:
    """Print the share of faults found; without ``fixed`` values, draw as many more."""
    found: Counter[tuple[str, str]] = Counter()
    by_seed: Counter[int] = Counter()
    seconds, drawn = 0.0, 0
    for name, schema in options.planted.TOOLS.items():
        for number in range(options.seeds):
            start = time.process_time()
            values = draw(schema, number, count)
            seconds += time.process_time() - start
            drawn += len(values)
            hit = triggered(options.planted.BUGS[name], [*fixed.get(name, ()), *values])
            found.update((name, what) for what in hit)
            by_seed[number] += len(hit)
    every = [(name, what) for name, bugs in options.planted.BUGS.items() for what, _ in bugs]
    share = sum(found.values()) / len(every) / options.seeds
    ever = sum(1 for bug in every if found[bug])
    cost = 1000 * seconds / drawn
    seeds = f"of {options.seeds} seeds, {ever} of {len(every)} ever"
    whole = sum(count == len(every) for count in by_seed.values())
    print(f"{label:44} {share:6.1%} {seeds}, all in {whole}, {cost:.3f} ms a value")
    for bug in every if options.missed else ():
        if found[bug] < options.seeds:
            print(f"    {found[bug]:3} of {options.seeds}: {': '.join(bug)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missed", action="store_true", help="print the faults that some seeds miss")
    parser.add_argument("--limits", dest="planted", action="store_const", const=planted_limits)
    parser.set_defaults(planted=planted_bugs)
    parser.add_argument("--profile", choices=["quick", "thorough"], help="only this one")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seeded", action="store_true", help="only values from seeds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # Of hostile values only the answer is judged: no wrong result of them is seen.
    has_hostile = options.planted is planted_bugs
    fixed = {
        name: fixed_values(schema, has_hostile=has_hostile) for name, schema in options.planted.TOOLS.items()
    }
    extra = round(sum(map(len, fixed.values())) / len(fixed))
    for profile in [options.profile] if options.profile else ["quick", "thorough"]:
        count = FUZZ_EXAMPLES[profile]
        report(f"{profile}: {count} from a seed alone", from_a_seed, count, {}, options)
        report(f"{profile}: with {extra} others", from_a_seed, count, fixed, options)
        if options.seeded:
            continue
        ours = from_strategy(lambda schema: valid(schema, REVISION))
        report(f"{profile}: from Hypothesis, with the others", ours, count, fixed, options)
        if find_spec("schemathesis"):
            theirs = from_strategy(schemathesis)
            report(f"schemathesis: {count + extra} values", theirs, count + extra, {}, options)


if __name__ == "__main__":
    main()
