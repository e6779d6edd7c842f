"""Ownership: a tool that may write gets only what this run made, and words."""

import pytest

from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, is_deleting, made_text
from support.fake_tools import tool

TEXT = made_text(0)
OURS = Ours(marks=frozenset({TEXT}), folders=("/work",))
READS, WRITES, DELETES = tool("get", {}, reads=True), tool("put", {}), tool("delete_note", {})


def known(owner):
    return Known("a", ("name",), Origin("a list"), owner)


def permitted(**choices):
    ownership = Ownership(TEXT, OURS, **choices)
    return {
        (one.name, owner)
        for one in (READS, WRITES, DELETES)
        for owner in Owner
        if ownership.permits(one, known(owner))
    }


EVERYTHING = {(one.name, owner) for one in (READS, WRITES, DELETES) for owner in Owner}
FOUND_BY_WRITERS = {("put", Owner.FOUND), ("delete_note", Owner.FOUND)}


def test_a_tool_that_may_write_gets_nothing_that_was_found():
    assert permitted() == EVERYTHING - FOUND_BY_WRITERS


def test_the_user_may_allow_what_does_not_delete():
    assert permitted(uses_found=True) == EVERYTHING - {("delete_note", Owner.FOUND)}


def test_in_a_closed_sandbox_everything_is_allowed():
    assert permitted(is_closed=True) == EVERYTHING


@pytest.mark.parametrize(
    ("value", "like", "owner"),
    [
        (f"/home/me/{TEXT}.txt", Owner.FOUND, Owner.FOUND),
        (f"/home/me/{TEXT}.txt", Owner.WORD, Owner.FOUND),
        (rf"C:\Reports\{TEXT}.xlsx", Owner.WORD, Owner.FOUND),
        (f"/work/{TEXT}.txt", Owner.FOUND, Owner.MADE),
        (TEXT, Owner.FOUND, Owner.MADE),
    ],
)
def test_a_new_file_in_a_folder_of_the_user_is_not_ours(value, like, owner):
    assert Ownership(TEXT, OURS).owner_of_new(value, like) is owner


def test_a_name_says_whether_a_tool_deletes():
    names = ("delete_note", "clearCells", "move_file", "create_note", "get_removed")
    assert [name for name in names if is_deleting(tool(name, {}))] == [
        "delete_note",
        "clearCells",
        "move_file",
    ]
    assert not is_deleting(tool("delete_note", {}, reads=True))


def test_the_text_of_a_run_depends_on_its_seed():
    assert made_text(0) == made_text(0) != made_text(1)
    assert made_text(0).isidentifier()
