"""`mcp-conformance new-check`: templates are added to a copy of the repository."""

import ast
import shutil
import tomllib
from pathlib import Path

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.cli.new_check import FOLDERS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path / "suites")
    return tmp_path


def changed(tree):
    """Return the text added to each file; fail if a file has any other change."""
    found = {}
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        name = path.relative_to(tree).as_posix()
        old = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).exists() else ""
        new = path.read_text(encoding="utf-8")
        if new != old:
            start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
            added = new[start : start + len(new) - len(old)]
            assert new.replace(added, "", 1) == old or new[:start] + new[start + len(added) :] == old
            found[name] = added
    return found


def test_a_row_a_check_and_a_mutant_are_written_beside_their_group(tree, capsys):
    assert main(["new-check", "tools.structured.example"]) == 0
    written = changed(tree)
    printed = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert sorted(printed) == sorted(written)
    assert [name.partition("/")[0] for name in printed] == ["conformance", "suites", "fixtures"]
    rows = tomllib.loads((tree / FOLDERS[0] / "tools.toml").read_text(encoding="utf-8"))
    ids = list(rows)
    assert ids[ids.index("tools.structured.example") - 1].startswith("tools.structured.")
    for name in printed[1:]:
        assert "structured" in name
        ast.parse((tree / name).read_text(encoding="utf-8"))
        assert '"tools.structured.example"' in written[name]
    assert '@pytest.mark.capability("tools")  # TODO' in written[printed[1]]


def test_a_row_has_the_revisions_of_its_group_and_the_version_to_come(tree):
    main(["new-check", "ping.example"])
    released = tree / "tests" / "requirements" / "released-1.4.2.txt"
    released.parent.mkdir(parents=True)
    released.touch()
    main(["new-check", "tools.def.example"])
    first, second = (
        tomllib.loads((tree / FOLDERS[0] / f"{family}.toml").read_text(encoding="utf-8"))[id]
        for family, id in (("ping", "ping.example"), ("tools", "tools.def.example"))
    )
    assert (first["since"], first["until"], first["added-in"]) == ("2024-11-05", "2025-11-25", "0.1")
    assert ("until" in second, second["added-in"]) == (False, "1.5")


def test_the_printed_line_numbers_are_those_of_the_templates(tree, capsys):
    main(["new-check", "ping.example"])
    lines = capsys.readouterr().out.splitlines()[:-1]
    assert len(lines) == 3
    for line in lines:
        name, number, _ = line.split(":")
        first = (tree / name).read_text(encoding="utf-8").splitlines()[int(number) - 1]
        assert "ping.example" in first


def test_a_family_without_a_suite_gets_a_new_one(tree):
    main(["new-check", "deprecated.example"])
    for name in (
        "suites/mcp_conformance_suites/test_deprecated.py",
        "fixtures/mcp_conformance_fixtures/mutants/deprecated.py",
    ):
        text = (tree / name).read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)).startswith("TODO")
        assert text == changed(tree)[name]


@pytest.mark.parametrize("id", ["ping", "Ping.example", "ping.", "nothing.example", "ping.empty-result"])
def test_a_malformed_or_taken_id_is_an_error_and_writes_nothing(tree, capsys, id):
    assert main(["new-check", id]) == 4
    assert id.partition(".")[0] in capsys.readouterr().err
    assert changed(tree) == {}


def test_new_check_outside_a_copy_of_the_repository_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-check", "ping.example"]) == 4
    assert "not in a copy of the repository" in capsys.readouterr().err
