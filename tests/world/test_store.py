"""The store: things in a file of ours may be changed there, things of others may not."""

import pytest

from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.store import Store
from support.fake_tools import tool

TEXT = made_text(0)
READS = tool("read_sheet", {"path": str}, reads=True)
WRITES = tool("write_sheet", {"path": str, "sheet": str})
SENDS = tool("send_sheet", {"sheet": str})
FILE = {"path": "/work/example.xlsx"}


def store(*, is_cwd=True):
    ours = Ours(frozenset({"example"}), frozenset({TEXT}), ("/work",), is_cwd=is_cwd)
    return Store(Ownership(TEXT, ours))


def seen(value):
    return Known(value, ("sheet",), Origin("an answer of", "read_sheet"), Owner.FOUND, 3)


def getting(found, value):
    """Return the names of the tools that may get a value."""
    tools = (READS, WRITES, SENDS)
    return [one.name for one in tools if value in [known.value for known in found.permitted(one)]]


def learned(value, arguments, found=None):
    found = store() if found is None else found
    found.learn([seen(value)], READS, arguments)
    return getting(found, value)


def test_what_is_in_a_file_of_ours_goes_to_tools_that_need_a_path():
    assert learned("Harvest plan", FILE) == ["read_sheet", "write_sheet"]


@pytest.mark.parametrize(
    "arguments",
    [{"path": "/home/me/a.xlsx"}, {"path": "a.xlsx"}, {**FILE, "other": "/home/me/a.xlsx"}, {}],
    ids=str,
)
def test_what_may_be_in_a_file_of_others_is_only_read(arguments):
    assert learned("Harvest plan", arguments) == ["read_sheet"]


@pytest.mark.parametrize("is_cwd", [True, False])
def test_a_relative_path_is_ours_where_the_server_works_in_our_folder(is_cwd):
    may_write = learned("Harvest plan", {"path": "example"}, store(is_cwd=is_cwd))
    assert ("write_sheet" in may_write) is is_cwd


@pytest.mark.parametrize(
    "value", ["/home/me/a.xlsx", "no such file, open '/home/me/example'", r"C:\Users\me\a.xlsx", "~/a.xlsx"]
)
def test_a_path_elsewhere_is_in_no_file_of_ours(value):
    """The refusal of a file server named its root, and was written into a file there."""
    assert learned(value, FILE) == ["read_sheet"]


def test_a_path_in_our_folder_is_ours():
    assert learned("/work/a.xlsx", {}) == ["read_sheet", "write_sheet", "send_sheet"]


def test_what_was_found_elsewhere_stays_found():
    found = store()
    found.add([seen("Harvest plan")])
    assert learned("Harvest plan", FILE, found) == ["read_sheet"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_has_not_is_never_known(number):
    """A server that wrote NaN in a result ended the exploration with an internal error."""
    found = store()
    found.add([seen(number)])
    assert learned(number, FILE, found) == []
    assert len(found) == 0
