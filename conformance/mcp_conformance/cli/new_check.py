"""``mcp-conformance new-check ID``: write a row, a check and a mutant to fill in, in the source tree."""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.cli.arguments import UsageError, expect_no_more
from mcp_conformance.requirements.catalogue import FIRST_VERSION, stem
from mcp_conformance.requirements.checks import checks
from mcp_conformance.transport.writing import write_named

ID = re.compile(r"[a-z]+(-[a-z]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")
ROW = re.compile(r'^\["([^"]+)"\]\n(?:(?!\[").*\n)*', re.MULTILINE)
FOLDERS = (
    "conformance/mcp_conformance/requirements",
    "suites/mcp_conformance_suites",
    "fixtures/mcp_conformance_fixtures/mutants",
)
"""The folders that a copy of the repository has, and an installed package has not."""
RELEASED = "tests/requirements/released-*.txt"
"""The file with the ids of the last release; its name has the version."""
NEW_ROW = """\
["{id}"]
level = "MUST"  # TODO: MUST, SHOULD or MAY
basis = "keyword"  # TODO: keyword, schema, prose, example, json-rpc or derived
{held}  # TODO: since which revision, and until which if it holds no longer
added-in = "{version}"
says = "TODO."
fix = "TODO."
observe = "TODO."
pitfalls = "TODO."
mutant = "TODO."
section = ["todo#todo"]
"""
NEW_CHECK = """

@pytest.mark.requirement("{id}")
@pytest.mark.capability({capability})  # TODO: what a server must declare, or delete this line
def test_{name}(server):
    raise NotImplementedError("TODO: write this check, and name it after the rule")
"""
NEW_MUTANT = '''

@mutant("{id}", on="TODO")
def {name}_broken(result):
    """TODO: what this server does wrong."""
    result["TODO"] = True
'''
NEW_SUITE = '''\
"""TODO: what the checks of {family} are about (spec: TODO)."""

from __future__ import annotations

import pytest
'''
NEW_MUTANTS = '''\
"""TODO: what the mutants of {family} do wrong."""

from mcp_conformance_fixtures.mutants import mutant
'''


@dataclass(frozen=True)
class Template:
    """A text to write into a file, at an offset of what the file holds now."""

    kind: str
    path: Path
    old: str
    offset: int
    text: str

    @property
    def line(self) -> int:
        """The number of the first line of the template that is not empty."""
        before = self.old[: self.offset] + self.text[: len(self.text) - len(self.text.lstrip("\n"))]
        return before.count("\n") + 1

    def write(self) -> None:
        """Write the file."""
        write_named(self.path, self.old[: self.offset] + self.text + self.old[self.offset :])


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Write the templates for ``options.id``, print their places, and return the exit status."""
    expect_no_more(rest, command)
    root = source_tree(Path.cwd())
    for template in templates(root, options.id):
        template.write()
        print(f"{template.path.relative_to(root).as_posix()}:{template.line}: {template.kind}")  # noqa: T201
    print("fill in every TODO, then: python docs/generating.py requirements")  # noqa: T201
    return 0


def source_tree(folder: Path) -> Path:
    """Return the copy of the repository that a folder is in; raises `UsageError` if there is none."""
    for root in (folder, *folder.parents):
        if all((root / name).is_dir() for name in FOLDERS):
            return root
    raise UsageError(f"new-check: {folder} is not in a copy of the repository, with {', '.join(FOLDERS)}")


def templates(root: Path, id: str) -> list[Template]:
    """Return the templates for a new id; raises `UsageError` if the id is malformed or taken."""
    if not ID.fullmatch(id):
        raise UsageError(
            f"new-check: {id!r} is not an id such as family.rule or family.group.rule, in lower case"
        )
    requirements, suites, mutants = (root / name for name in FOLDERS)
    family = id.partition(".")[0]
    families = tomllib.loads((requirements / "families.toml").read_text(encoding="utf-8"))
    if family not in families:
        raise UsageError(f"new-check: there is no family {family!r} in {FOLDERS[0]}/families.toml")
    catalogue = requirements / f"{stem(family)}.toml"
    if id in tomllib.loads(catalogue.read_text(encoding="utf-8")):
        raise UsageError(f"new-check: {id} is there already: mcp-conformance explain {id}")
    suite = closest(sorted(suites.glob("test_*.py")), id, suites / f"test_{stem(family)}.py")
    family_of_mutants = closest(sorted(mutants.glob("[!_]*.py")), id, mutants / f"{stem(family)}.py")
    names = {"id": id, "family": family, "name": re.sub(r"[.-]", "_", id), "capability": capability(id)}
    return [
        row_template(catalogue, id, next_version(root)),
        addition("the check", suite, NEW_SUITE.format(**names), NEW_CHECK.format(**names)),
        addition("the mutant", family_of_mutants, NEW_MUTANTS.format(**names), NEW_MUTANT.format(**names)),
    ]


def next_version(root: Path) -> str:
    """Return the version of the next release with new rules, without its last number."""
    for path in root.glob(RELEASED):
        major, minor, _ = path.stem.removeprefix("released-").split(".")
        return f"{major}.{int(minor) + 1}"
    return FIRST_VERSION


def capability(id: str) -> str:
    """Return the arguments of the mark `capability` of the last check in the smallest group of an id."""
    cited = [(one.capability, cited) for one in checks() for cited in one.requirements if one.capability]
    near = (path for group in groups(id) for path, one in reversed(cited) if one.startswith(group))
    return ", ".join(f'"{name}"' for name in next(near, ("TODO",)))


def row_template(path: Path, id: str, version: str) -> Template:
    """Return the row, behind the last one of the smallest group of its id, with the revisions of that one."""
    text = path.read_text(encoding="utf-8")
    found = list(ROW.finditer(text))
    near = ([row for row in found if row[1].startswith(group)] for group in groups(id))
    last = next(rows for rows in near if rows)[-1]
    row = tomllib.loads(text)[last[1]]
    held = "\n".join(f'{name} = "{row[name]}"' for name in ("since", "until") if name in row)
    new = NEW_ROW.format(id=id, held=held, version=version)
    is_at_end = last.end() == len(text)
    return Template("the row", path, text, last.end(), f"\n{new}" if is_at_end else f"{new}\n")


def closest(paths: list[Path], id: str, otherwise: Path) -> Path:
    """Return the file that cites most ids of the same group, the smallest group first."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    for group in groups(id):
        cited = {path: text.count(f'"{group}') for path, text in texts.items()}
        if any(cited.values()):
            return max(cited, key=lambda path: cited[path])
    return otherwise


def groups(id: str) -> Iterator[str]:
    """Yield the beginnings of an id that end with a dot, the longest first."""
    segments = id.split(".")
    for length in range(len(segments) - 1, 0, -1):
        yield ".".join(segments[:length]) + "."


def addition(kind: str, path: Path, head: str, text: str) -> Template:
    """Return a template behind the last function with a decorator; a new file begins with ``head``."""
    if not path.exists():
        return Template(kind, path, "", 0, head + text)
    old = path.read_text(encoding="utf-8")
    functions = [node for node in ast.parse(old).body if isinstance(node, ast.FunctionDef)]
    ends = [node.end_lineno or 0 for node in functions if node.decorator_list]
    lines = old.splitlines(keepends=True)
    return Template(kind, path, old, len("".join(lines[: max(ends, default=len(lines))])), text)
