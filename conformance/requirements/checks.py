"""Which requirement is cited by which check, read from the suites' source without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "conformance.suites"
LAST = "test_messages.py"
"""The suite that judges the messages of all the others."""


@dataclass(frozen=True)
class Check:
    """A check: the ``name`` of its function, its ``suite`` (file name) and the ids it cites."""

    suite: str
    name: str
    requirements: tuple[str, ...]


def suites_directory() -> Path:
    """Return the directory of the suites, without importing them."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def checks() -> tuple[Check, ...]:
    """Return every check of the suites, in the order of files and lines."""
    return tuple(
        check
        for path in sorted(suites_directory().glob("test_*.py"))
        for check in _checks_in(path.name, ast.parse(path.read_text(encoding="utf-8")))
    )


@cache
def checked() -> Mapping[str, tuple[Check, ...]]:
    """Return the checks that cite each requirement, by its id."""
    found: dict[str, list[Check]] = {}
    for check in checks():
        for id in check.requirements:
            found.setdefault(id, []).append(check)
    return {id: tuple(some) for id, some in found.items()}


@cache
def _families() -> Mapping[tuple[str, str], str]:
    cited = {(one.suite, one.name): one.requirements[:1] for one in checks()}
    return {check: id.partition(".")[0] for check, ids in cited.items() for id in ids}


def family_of(node: str) -> str:
    """Return the family of the first requirement that a check cites, by the check's node id.

    The items of a failed probe are no checks of a suite; their family is lifecycle.
    """
    path, _, name = node.partition("[")[0].rpartition("::")
    return _families().get((path.rpartition("/")[2], name), "lifecycle")


def _checks_in(suite: str, module: ast.Module) -> Iterator[Check]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Check(suite, node.name, tuple(_cited(node)))


def _cited(function: ast.FunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.requirement":
            yield from (str(ast.literal_eval(argument)) for argument in decorator.args)
