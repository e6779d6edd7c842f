"""Files that we write: whole, under names that nobody knows before, and through no link of others."""

import os
import secrets
import stat
import sys
from pathlib import Path

import pytest

from mcp_conformance.login import store
from mcp_conformance.login.web import LoginFailed
from mcp_conformance.transport.lock import locked
from mcp_conformance.transport.user_folder import user_folder
from mcp_conformance.transport.writing import (
    append,
    create,
    make_ignored_folder,
    own_bytes,
    write,
    write_named,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Work in a folder; return a file beside it, which nothing may change."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    file = tmp_path / "mine" / "file"
    file.parent.mkdir()
    file.write_text("mine")
    yield file
    assert file.read_text() == "mine"
    assert [*file.parent.iterdir()] == [file]


def test_a_file_is_replaced_whole(outside):
    write(Path("new/a"), "one\n")
    Path("new/a").chmod(0o640)
    write(Path("new/a"), (f"{number}\n" for number in (1, 2)))
    assert Path("new/a").read_text() == "1\n2\n"
    assert stat.S_IMODE(Path("new/a").stat().st_mode) == 0o640

    def broken():
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(Path("new/a"), broken())
    assert [(path.name, path.read_text()) for path in Path("new").iterdir()] == [("a", "1\n2\n")]


def test_a_private_file_is_private_over_another_one(outside):
    write(Path("a"), "one")
    Path("a").chmod(0o644)
    write(Path("a"), "two", 0o600)
    assert stat.S_IMODE(Path("a").stat().st_mode) == 0o600


WAYS = {
    "write": lambda path: write_named(path, "ours"),
    "append": lambda path: append(path, "ours"),
    "create": lambda path: create(path).close(),
    "read": lambda path: own_bytes(path, 1000),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_link_to_a_file_outside_is_not_followed(outside, way):
    Path("link").symlink_to(outside)
    with pytest.raises(OSError, match=r"out of|exists|symbolic"):
        way(Path("link"))


@pytest.mark.parametrize("way", [*WAYS.values(), lambda path: write(path, "ours")], ids=[*WAYS, "write ours"])
@pytest.mark.parametrize("name", ["folder/new", "folder/deep/../new", "folder/file"])
def test_a_link_to_a_folder_outside_is_not_followed(outside, way, name):
    Path("folder").symlink_to(outside.parent)
    with pytest.raises(OSError, match="leads out of"):
        way(Path(name))


def test_a_link_that_leads_nowhere_is_not_followed(outside):
    Path("link").symlink_to(outside.with_name("new"))
    with pytest.raises(OSError, match="leads out of"):
        write_named(Path("link"), "ours")
    with locked(Path("link"), 0) as is_ours:
        assert not is_ours


def test_a_folder_of_ours_is_not_made_elsewhere(outside):
    Path("ours").symlink_to(outside.parent / "new")
    with pytest.raises(OSError, match="leads out of"):
        make_ignored_folder(Path("ours"))


def test_a_link_of_the_repository_around_is_not_followed(outside, monkeypatch):
    Path(".git").mkdir()
    Path("inside").mkdir()
    Path("link").symlink_to(outside)
    monkeypatch.chdir("inside")
    with pytest.raises(OSError, match="leads out of"):
        write_named(Path("../link"), "ours")


def test_a_link_inside_the_working_directory_is_followed(outside):
    Path("link").symlink_to("real")
    write_named(Path("link"), "ours")
    assert Path("link").is_symlink()
    assert Path("real").read_text() == "ours"


def test_a_link_in_the_place_of_a_file_of_ours_is_replaced(outside):
    Path("link").symlink_to(outside)
    write(Path("link"), "ours")
    assert not Path("link").is_symlink()
    assert Path("link").read_text() == "ours"


def test_a_private_folder_has_private_parents(outside):
    before = os.umask(0)
    try:
        make_ignored_folder(Path("state/ours/sessions"), 0o700)
    finally:
        os.umask(before)
    for name in ("state", "state/ours", "state/ours/sessions"):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o700


def test_a_user_without_a_home_has_no_folder(outside, monkeypatch):
    def home():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with pytest.raises(OSError, match="no home folder"):
        user_folder()
    assert store.kept("http://127.0.0.1/mcp") is None
    with pytest.raises(LoginFailed, match="no place for logins"):
        store.folder()


def test_names_before_the_end_can_not_be_guessed(outside, monkeypatch):
    """If one is guessed all the same, what is there stays, and nothing is written."""
    monkeypatch.setattr("mcp_conformance.transport.writing.token_hex", lambda size: "0" * 2 * size)
    assert secrets.token_hex(8) != secrets.token_hex(8)
    Path(f".{'0' * 16}.part").symlink_to(outside)
    with pytest.raises(FileExistsError):
        write(Path("a"), "ours")
    assert Path(f".{'0' * 16}.part").is_symlink()


def test_a_pipe_is_written_to(outside):
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_named(Path("pipe"), "ours")
    assert os.read(reader, 100) == b"ours"
    os.close(reader)


def test_only_a_file_is_read_back(outside):
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("long").write_text("too long")
    for name in ("folder", "pipe", "long"):
        with pytest.raises(OSError, match=r"not a file of ours|directory"):
            own_bytes(Path(name), 4)
