"""What a reader pastes into a shell is printed whole, or not at all."""

import json
import shlex

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.build import MAX_GOT, CheckFacts, build_result
from mcp_conformance.report.text import to_fill_in
from mcp_conformance.requirements import catalogue
from mcp_conformance.target.settings import Settings


@pytest.mark.parametrize(
    ("argument", "is_shown"),
    [("x" * 3000, True), ("x" * MAX_GOT, False), ("a\nb", False), ("\x1b[2J", False)],
)
def test_a_command_is_never_cut(argument, is_shown):
    command = f"mcp-conformance run --example {argument} -- server"
    row = catalogue.requirement("ping.responds")
    facts = CheckFacts("a check", row, "2025-11-25", Outcome.FAILED, again=command, replay=command)
    result = build_result(facts, Settings(("server",)))
    assert (result.reproduce, result.replay) == ((command, command) if is_shown else ("", ""))
    assert (command in result.text) == is_shown
    assert "more ...]" not in result.text


@pytest.mark.parametrize("size", [1, 40])
def test_arguments_to_fill_in_are_whole_or_only_their_option_is_named(size):
    form = json.dumps({f"argument {number}": "<text>" for number in range(size)})
    words = shlex.split(to_fill_in("find", form).partition(": ")[2])
    assert words == ["--example", f"find {form}" if size == 1 else "find JSON"]
    assert to_fill_in("find", "") == ""
