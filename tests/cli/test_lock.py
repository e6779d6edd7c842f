"""``mcp-conformance lock``: it writes a contract, and a run compares the server with it."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from support import REFERENCE, awkward, forked, read_junit
from support.nightly import nightly

SERVER = Path(__file__).parents[2] / "docs" / "examples" / "server.py"
COMMAND = ("--", sys.executable, "server.py")
SELECT = ("run", "--select", "contract")


@pytest.fixture
def folder(tmp_path):
    shutil.copyfile(SERVER, tmp_path / "server.py")
    return tmp_path


def change(folder, old, new):
    path = folder / "server.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def run(folder, *words):
    return forked([*words, *COMMAND], folder, 60)


def require_one_member_more(folder):
    change(folder, '"required": ["cents", "people"]', '"required": ["cents", "people", "currency"]')


def test_a_run_fails_on_a_breaking_change_until_the_contract_is_renewed(folder):
    assert run(folder, "lock")[0] == 0
    assert run(folder, *SELECT)[0] == 0
    require_one_member_more(folder)
    exit, output = run(folder, *SELECT, "--report", "report.json", "--junitxml", "junit.xml")
    assert exit == 1, output
    (finding,) = [
        one
        for one in json.loads((folder / "report.json").read_text())["results"]
        if one["outcome"] == "failed"
    ]
    assert (finding["requirement"], finding["tool"], finding["basis"]) == (
        "contract.input",
        "share",
        "project",
    )
    assert "currency is required now" in finding["reason"]
    assert "contract.input" in {case.requirement for case in read_junit(folder / "junit.xml")}
    exit, output = run(folder, "lock", "--update")
    assert exit == 0, output
    assert "share: BREAKING inputSchema: currency is required now" in output
    assert run(folder, *SELECT)[0] == 0


def test_a_changed_description_warns_and_fails_only_if_strict(folder):
    assert run(folder, "lock")[0] == 0
    change(folder, "Split a bill evenly.", "Split a bill.")
    exit, output = run(folder, *SELECT)
    assert (exit, "WARNED contract.current" in output) == (0, True)
    assert run(folder, *SELECT, "--strict")[0] == 1


@nightly
def test_a_contract_can_be_ignored_named_and_expected(folder):
    assert run(folder, "lock", "--contract", "old.json")[0] == 0
    require_one_member_more(folder)
    assert run(folder, *SELECT)[0] == 5
    assert run(folder, *SELECT, "--contract", "old.json")[0] == 1
    (folder / "mcp-contract.json").write_text((folder / "old.json").read_text())
    assert run(folder, *SELECT)[0] == 1
    assert run(folder, *SELECT, "--contract", "none")[0] == 5
    assert run(folder, "baseline", "update", "b.toml", "--select", "contract")[0] == 0
    exit, output = run(folder, *SELECT, "--baseline", "b.toml")
    assert (exit, "expected: contract.input (share)" in output) == (0, True)


def test_a_contract_that_is_there_is_not_overwritten(folder):
    assert run(folder, "lock")[0] == 0
    written = (folder / "mcp-contract.json").read_bytes()
    require_one_member_more(folder)
    exit, output = run(folder, "lock")
    assert (exit, len(output.strip().splitlines())) == (4, 1)
    assert "--update renews it" in output
    assert (folder / "mcp-contract.json").read_bytes() == written


def test_two_locks_of_a_server_are_the_same(folder):
    for name in ("one.json", "two.json"):
        words = ["lock", "--contract", name, "--revision", "all", "--", *REFERENCE]
        assert forked(words, folder, 60)[0] == 0
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", "{}", '{"format": 1}'])
def test_a_broken_contract_is_one_line_and_can_be_renewed(folder, text):
    (folder / "mcp-contract.json").write_text(text)
    exit, output = run(folder, *SELECT)
    assert (exit, len(output.strip().splitlines())) == (4, 1)
    assert "--contract: mcp-contract.json:" in output
    assert run(folder, "lock", "--update")[0] == 0
    assert run(folder, *SELECT)[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lock",), "no server is given"),
        (("lock", "--contract", "no/such/c.json"), "no such directory"),
        (("lock", "--update", "--contract", "."), "a directory, not a file"),
        ((*SELECT, "--contract", "none.json"), "none.json: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(folder, words, message):
    exit, output = forked(words, folder, 60) if words == ("lock",) else run(folder, *words)
    assert (exit, len(output.strip().splitlines())) == (4, 1)
    assert message in output


def test_a_server_that_does_not_list_everything_has_no_contract(folder):
    words = ["lock", "--", sys.executable, "-c", "raise SystemExit(3)"]
    exit, output = forked(words, folder, 60)
    assert (exit, "not written: " in output) == (1, True)
    assert not (folder / "mcp-contract.json").exists()


def test_a_server_with_a_late_tool_is_locked_with_it(folder):
    assert forked(["lock", *("--", *awkward("late_tool"))], folder, 60)[0] == 0
    (offer, *_) = json.loads((folder / "mcp-contract.json").read_text())["offers"]
    assert "late" in offer["tools"]
