"""Compare the generators of arguments with hypothesis-jsonschema and schemathesis: quality and speed.

    git clone https://github.com/json-schema-org/JSON-Schema-Test-Suite suite
    git -C suite archive -o suite.tar.gz HEAD tests
    python benchmarks/generation.py --suite suite/suite.tar.gz --tools tools.jsonl

The source distribution of jsonschema has the suite too, an older one.  ``--tools`` is a file of JSON
lines with an ``inputSchema`` each.  Times are CPU times.  Engines that are not installed are left out.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import tarfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

import hypothesis_jsonschema
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import validators
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

from mcp_conformance.generation import (
    NoExample,
    Unsatisfiable,
    boundary,
    draw_valid,
    invalid,
    seeded,
    valid,
    values,
)
from mcp_conformance.json_schema.validation import DIALECTS, validator_of

REVISION = "2025-11-25"
DRAFTS = {"draft2020-12": "2020-12", "draft7": "draft-07"}
DRAWS = 30
MAX_CPU_SECONDS = 10.0
"""The CPU time after which an engine counts as hanging on a schema."""

Engine = Callable[[Any, str], st.SearchStrategy[Any]]


class TooSlow(BaseException):
    """An engine has used up its time."""


def ours(schema: Any, _: str) -> st.SearchStrategy[Any]:
    return values(schema, REVISION)


def arguments(schema: Any, _: str) -> st.SearchStrategy[Any]:
    return valid(schema, REVISION)


def plain(schema: Any, _: str) -> st.SearchStrategy[Any]:
    return hypothesis_jsonschema.from_schema(copy.deepcopy(schema))


def schemathesis(schema: Any, draft: str) -> st.SearchStrategy[Any]:
    import jsonschema_rs  # noqa: PLC0415
    from schemathesis.generation.jsonschema import builder  # noqa: PLC0415

    number = jsonschema_rs.Draft7 if draft == "draft7" else jsonschema_rs.Draft202012
    return builder.build(copy.deepcopy(schema), draft=number, formats={})


def engines() -> dict[str, Engine]:
    found: dict[str, Engine] = {"ours": ours}
    found[f"hypothesis-jsonschema {version('hypothesis-jsonschema')}"] = plain
    if find_spec("schemathesis"):
        found[f"schemathesis {version('schemathesis')}"] = schemathesis
    else:
        print("schemathesis is not installed: left out")
    return found


def drawn(strategy: st.SearchStrategy[Any]) -> list[tuple[float, Any]]:
    """Return the values that Hypothesis draws, each with the CPU seconds since the previous one."""
    found: list[tuple[float, Any]] = []
    start = last = time.process_time()

    @settings(
        max_examples=DRAWS,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        nonlocal last
        now = time.process_time()
        found.append((now - last, value))
        last = now
        if now - start > MAX_CPU_SECONDS:
            raise TooSlow

    collect()
    return found


def suite(path: str, draft: str) -> Iterator[dict[str, Any]]:
    """Yield the required groups of the JSON Schema Test Suite from an archive that has it."""
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            parts = PurePosixPath(member.name).parts
            if parts[-3:-1] == ("tests", draft) and member.name.endswith(".json"):
                yield from json.load(archive.extractfile(member))  # type: ignore[arg-type]


def oracle(schema: Any, draft: str) -> Any:
    return validators.validator_for({"$schema": DIALECTS[DRAFTS[draft]]})(schema, registry=REGISTRY)


def is_valid(schema: Any, draft: str, value: Any) -> bool:
    """Judge by jsonschema; with our reading of patterns if Python cannot read them."""
    try:
        return bool(oracle(schema, draft).is_valid(value))
    except re.error:
        return bool(validator_of(schema, DIALECTS[DRAFTS[draft]]).is_valid(value))


def needs_a_remote_document(group: dict[str, Any], draft: str) -> bool:
    schema = group["schema"]
    if isinstance(schema, dict) and "localhost" in schema.get("$schema", ""):
        return True
    try:
        for test in group["tests"]:
            list(oracle(schema, draft).iter_errors(test["data"]))
    except Unresolvable:
        return True
    except re.error:
        return False
    return False


def outcome(make: Engine, group: dict[str, Any], draft: str, times: list[float]) -> str:
    """Return the outcome of drawing from one schema of the test suite, as text."""
    schema = group["schema"]
    if isinstance(schema, dict):
        schema = {"$schema": DIALECTS[DRAFTS[draft]], **schema}
    is_satisfiable = any(test["valid"] for test in group["tests"])
    try:
        found = drawn(make(schema, draft))
    except Unsatisfiable:
        return "called unsatisfiable, wrongly" if is_satisfiable else "right: unsatisfiable"
    except (Exception, TooSlow) as error:  # noqa: BLE001
        empty = isinstance(error, NoExample) or type(error).__name__ == "Unsatisfiable"
        return "right: nothing drawn" if empty and not is_satisfiable else f"failed: {type(error).__name__}"
    times += [seconds for seconds, _ in found]
    if not all(is_valid(group["schema"], draft, value) for _, value in found):
        return "drew invalid values"
    if not found and is_satisfiable:
        return "drew nothing"
    return (
        "right: 30 valid draws" if len(found) == DRAWS else "right: all valid, Hypothesis found fewer than 30"
    )


def report_suite(path: str) -> None:
    for draft in DRAFTS:
        groups = [group for group in suite(path, draft) if not needs_a_remote_document(group, draft)]
        print(f"\n{draft}: {len(groups)} required groups that need no remote document")
        for name, make in engines().items():
            times: list[float] = []
            outcomes = Counter(outcome(make, group, draft, times) for group in groups)
            right = sum(count for what, count in outcomes.items() if what.startswith("right"))
            print(f"  {name:32} right {right:4} of {len(groups)}   {spread(times)}")
            for what, count in outcomes.most_common():
                print(f"      {count:4}  {what}")


def spread(times: list[float]) -> str:
    """Return median, 99th percentile and maximum in milliseconds, as text."""
    if not times:
        return "-"
    ordered = sorted(1000 * seconds for seconds in times)
    marks = (ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1])
    return "ms per value: median {:.2f}, p99 {:.2f}, most {:.1f}".format(*marks)


def report_tools(schemas: list[Any]) -> None:
    print(f"\n{len(schemas)} input schemas of tools")
    for name, make in engines().items():
        engine = arguments if make is ours else make
        times: list[float] = []
        means: list[float] = []
        right = 0
        for schema in schemas:
            try:
                found = drawn(engine(schema, "draft2020-12"))
            except (Exception, TooSlow):  # noqa: BLE001
                continue
            right += bool(found) and all(judge(schema).is_valid(value) for _, value in found)
            times += [seconds for seconds, _ in found]
            means.append(sum(seconds for seconds, _ in found) / max(1, len(found)))
        print(f"  {name:32} right {right:4} of {len(schemas)}   {spread(times)}")
        print(f"  {'':32} mean of each schema   {spread(means)}")


def report_seeded(schemas: list[Any]) -> None:
    times = []
    for schema in schemas:
        source = seeded(0)
        draw_valid(schema, REVISION, source)
        start = time.process_time()
        for _ in range(100):
            draw_valid(schema, REVISION, source)
        times.append((time.process_time() - start) / 100)
    print(f"  {'ours, from a seed':32} mean of each schema   {spread(times)}")


ASSERTIONS = frozenset(
    {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minProperties",
    }
    | {"maxProperties", "not", "oneOf", "anyOf", "dependentRequired"}
)
NOTHING_FORBIDDEN = {"uniqueItems": False, "minLength": 0, "minItems": 0, "minProperties": 0}
SAFE = 2**53 - 1

Location = tuple[Any, ...]


class Locations:
    """The assertions of a schema by their paths in jsonschema's errors; local references are followed.

    ``void`` are those that no value can violate: the name of a member that is not a string, a bound at which
    numbers stop being safe, and the inside of a branch of anyOf beside one that any object meets.
    """

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self.all: set[Location] = set()
        self.void: set[Location] = set()
        self._walk(schema, (), (), beside=False)

    def _walk(self, schema: Any, path: Location, above: tuple[int, ...], *, beside: bool) -> None:
        if not isinstance(schema, dict) or id(schema) in above:
            return
        above = (*above, id(schema))
        if schema.get("$ref", "").startswith("#"):
            self._walk(self._target(schema["$ref"]), path, above, beside=beside)
        for keyword, content in schema.items():
            for location in asserted(keyword, content):
                self._add((*path, *location), content, beside=beside)
            for step, inside in subschemas(keyword, content):
                closed_in = beside or (keyword == "anyOf" and has_open_branch(content, step[0]))
                self._walk(inside, (*path, keyword, *step), above, beside=closed_in)

    def _target(self, reference: str) -> Any:
        target = self._root
        for step in reference.split("/")[1:]:
            target = target[step]
        return target

    def _add(self, location: Location, content: Any, *, beside: bool) -> None:
        self.all.add(location)
        own_type = location[-1] == "type" and location[-3:-2] == ("anyOf",)
        is_unsafe = location[-1] in ("minimum", "maximum") and abs(content) >= SAFE
        if (beside and not own_type) or is_unsafe or location[-2:] == ("propertyNames", "type"):
            self.void.add(location)


def asserted(keyword: str, content: Any) -> Iterator[Location]:
    if keyword in ASSERTIONS and NOTHING_FORBIDDEN.get(keyword, ...) != content:
        yield (keyword,)
    elif keyword == "required":
        yield from ((keyword, name) for name in content)
    elif keyword in ("additionalProperties", "items") and content is False:
        yield (keyword,)


def subschemas(keyword: str, content: Any) -> Iterator[tuple[Location, Any]]:
    if keyword in ("properties", "patternProperties", "dependentSchemas"):
        yield from (((name,), inside) for name, inside in content.items())
    elif keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
        yield from (((index,), inside) for index, inside in enumerate(content))
    elif keyword in ("items", "additionalProperties", "propertyNames"):
        yield (), content


def has_open_branch(branches: list[Any], taken: int) -> bool:
    """Return True if another branch than this one allows any object."""
    others = [branch for index, branch in enumerate(branches) if index != taken]
    return {"type": "object", "additionalProperties": True} in others


def judge(schema: Any) -> Any:
    return validators.validator_for(schema, default=validators.Draft202012Validator)(schema)


def violated(schema: Any, value: Any) -> set[Location]:
    """Return the locations of all errors, also inside the branches of anyOf and oneOf."""
    found: set[Location] = set()
    todo = list(judge(schema).iter_errors(value))
    for error in todo:
        path: Location = tuple(error.absolute_schema_path)
        missing = re.match("'(.*)' is a required property", error.message, re.DOTALL)
        found.add((*path, missing[1]) if error.validator == "required" and missing else path)
        todo += error.context or []
    return found


def report_invalid(schemas: list[Any]) -> None:
    all_of_them = void = hit = complete = count = 0
    missed: list[Location] = []
    start = time.process_time()
    for schema in schemas:
        wanted = Locations(schema)
        found = invalid(schema, REVISION)
        hits = set().union(*(violated(schema, one.arguments) for one in found))
        all_of_them += len(wanted.all)
        void += len(wanted.void - hits)
        hit += len(wanted.all & hits)
        complete += wanted.all - wanted.void <= hits
        count += len(found)
        missed += wanted.all - wanted.void - hits
    seconds = time.process_time() - start
    start = time.process_time()
    edges = sum(1 for schema in schemas for _ in boundary(schema, REVISION))
    can_be = all_of_them - void
    print(f"\ninvalid: {hit} of {all_of_them} keyword locations violated, {hit / all_of_them:.1%}")
    print(f"  {hit / can_be:.1%} of the {can_be} that a value can violate")
    print(f"  {complete} of {len(schemas)} schemas completely, {count} values, {seconds:.1f} s with judging")
    print(f"  {len(missed)} of those missed: {Counter(map(kind_of, missed)).most_common(8)}")
    print(f"boundary: {edges} values, {time.process_time() - start:.1f} s")


def kind_of(location: Location) -> str:
    return "required" if location[-2:-1] == ("required",) else str(location[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", help="an archive with the JSON Schema Test Suite")
    parser.add_argument("--tools", help="JSON lines with an inputSchema each")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.tools:
        with open(options.tools) as lines:  # noqa: PTH123
            schemas = [json.loads(line)["inputSchema"] for line in lines]
        report_tools(schemas)
        report_seeded(schemas)
        report_invalid(schemas)
    if options.suite:
        report_suite(options.suite)


if __name__ == "__main__":
    main()
