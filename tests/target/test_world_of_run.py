"""The world of a run: where a file of ours is put, and what was there before stays as it was."""

import pytest

from mcp_conformance.target.settings import Settings
from mcp_conformance.target.world import world_of
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.world.known import Owner
from mcp_conformance.world.ownership import made_text

NAME = f"{made_text(0)}.txt"


@pytest.fixture
def theirs(tmp_path):
    """A folder of the user's."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    return folder


@pytest.fixture
def throwaway():
    made = Throwaway()
    yield made
    made.remove()


def files_of(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def world_on(folder, throwaway, **more):
    return world_of(Settings(("server", "--root", str(folder)), throwaway=throwaway, **more))


def test_nothing_is_put_into_a_folder_of_the_user(theirs, throwaway):
    world = world_on(theirs, throwaway)
    assert files_of(theirs) == {"notes.txt": "mine"}
    assert world.store.get(str(theirs)).owner is Owner.FOUND


def test_if_the_user_allows_it_a_file_is_put_there_until_the_end(theirs):
    throwaway = Throwaway()
    world = world_on(theirs, throwaway, found_values=True)
    assert files_of(theirs).keys() == {"notes.txt", NAME}
    assert world.store.get(str(theirs / NAME)).owner is Owner.MADE
    throwaway.remove()
    assert files_of(theirs) == {"notes.txt": "mine"}


def test_a_file_of_the_same_name_is_theirs(theirs):
    (theirs / NAME).write_text("mine too")
    throwaway = Throwaway()
    world_on(theirs, throwaway, found_values=True)
    throwaway.remove()
    assert files_of(theirs) == {"notes.txt": "mine", NAME: "mine too"}


def test_nothing_is_put_beside_a_file_that_the_command_names(theirs, throwaway):
    world_on(theirs / "notes.txt", throwaway, found_values=True)
    assert files_of(theirs) == {"notes.txt": "mine"}
