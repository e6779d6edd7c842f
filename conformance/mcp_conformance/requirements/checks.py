"""Which requirement is cited by which check, read from the suites' source without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "mcp_conformance_suites"
FUZZING = "test_fuzz_"
"""How the names of suites begin that run only if something is fuzzed."""
LAST = "test_messages.py"
"""The suite that judges the messages of all the others."""


@dataclass(frozen=True)
class Check:
    """A check: the ``name`` of its function, its ``suite`` (file name) and the ids it cites.

    ``capability`` is the path of the capability that it needs, empty if it needs none; ``per_tool`` says that
    it runs for each tool, ``per_session`` for each recorded session, ``fuzzes`` that it runs only if
    something is fuzzed.
    """

    suite: str
    name: str
    requirements: tuple[str, ...]
    capability: tuple[str, ...] = ()
    per_tool: bool = False
    per_session: bool = False
    fuzzes: bool = False


def suites_directory() -> Path:
    """Return the directory of the suites, without importing them."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def _functions(path: Path) -> ast.Module:
    """Return the functions of a module without their bodies, which take most of the time to parse."""
    return ast.parse("\n".join(_heads(path.read_text(encoding="utf-8").splitlines())))


def _heads(lines: Iterable[str]) -> Iterator[str]:
    """Yield the decorators and the signature of each function and class, as our formatter writes them."""
    is_head = False
    for line in lines:
        code = line.partition("  #")[0]
        is_head = is_head or code.startswith(("@", "def ", "class "))
        if is_head:
            yield code
        if is_head and code.endswith(":") and code.startswith(("def ", "class ", ")")):
            yield "    pass"
            is_head = False


@cache
def checks() -> tuple[Check, ...]:
    """Return every check of the suites, in the order of files and lines."""
    return tuple(
        check
        for path in sorted(suites_directory().glob("test_*.py"))
        for check in _checks_in(path.name, _functions(path))
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
def _by_name() -> Mapping[tuple[str, str], Check]:
    return {(one.suite, one.name): one for one in checks()}


def check_of(suite: str, name: str) -> Check:
    """Return the check with the name of a function in a suite."""
    return _by_name()[suite, name]


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
            yield Check(
                suite,
                node.name,
                _marked(node, "requirement"),
                _marked(node, "capability"),
                any(_is_about("tool", one) for one in _arguments(node)),
                any(_is_about("recorded", one) for one in _arguments(node)),
                suite.startswith(FUZZING),
            )


def _arguments(function: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(argument.arg for argument in function.args.args)


def _is_about(subject: str, fixture: str) -> bool:
    """Return whether a fixture is the one for the subject of a check, or needs it."""
    return fixture == subject or any(_is_about(subject, one) for one in _fixtures().get(fixture, ()))


@cache
def _fixtures() -> Mapping[str, tuple[str, ...]]:
    """Return the fixtures of the suites by their names, each with those that it needs."""
    module = _functions(suites_directory() / "fixtures.py")
    return {node.name: _arguments(node) for node in module.body if isinstance(node, ast.FunctionDef)}


def _marked(function: ast.FunctionDef, mark: str) -> tuple[str, ...]:
    """Return the arguments of a function's marks with this name."""
    calls = [one for one in function.decorator_list if isinstance(one, ast.Call)]
    named = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == mark]
    return tuple(str(ast.literal_eval(argument)) for one in named for argument in one.args)
