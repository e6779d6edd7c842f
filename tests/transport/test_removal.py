"""A folder is deleted whatever a server has made of it, and nothing outside is changed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_conformance.transport import removal
from mcp_conformance.transport import throwaway as throwaway_module
from mcp_conformance.transport.removal import remove_tree
from mcp_conformance.transport.throwaway import Throwaway, scratch_folder

posix = pytest.mark.skipif(not removal.IS_BY_NUMBER, reason="Windows deletes by path")


def nested(folder, depth):
    """Make folders in folders, of any depth, as no path gets too long; each has a file."""
    folder.mkdir()
    place = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("n" * 200, dir_fd=place)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
        inner = os.open("n" * 200, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)


@posix
def test_a_deep_folder_is_deleted(tmp_path):
    """With less files than folders, and paths of 600,000 letters."""
    nested(tmp_path / "deep", 3000)
    assert remove_tree(str(tmp_path / "deep"))
    assert not (tmp_path / "deep").exists()


@posix
def test_links_are_deleted_and_not_followed(tmp_path):
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "file").write_text("kept")
    (outside / "inner").chmod(0o500)
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    for place in (folder, folder / "a", folder / "a" / "b"):
        (place / "to_file").symlink_to(outside / "file")
        (place / "to_folder").symlink_to(outside / "inner")
        (place / "to_nothing").symlink_to("nothing")
    (tmp_path / "root").symlink_to(outside)
    assert remove_tree(str(folder))
    assert remove_tree(str(tmp_path / "root"))
    assert (outside / "file").read_text() == "kept"
    assert stat.S_IMODE((outside / "inner").stat().st_mode) == 0o500


AS_ANOTHER = """
import os, sys
from runpy import run_path
remove_tree = run_path(sys.argv[2])["remove_tree"]
if os.geteuid() == 0:  # who may delete all
    os.setuid(65534)
place = os.path.join(sys.argv[1], "mine")
os.makedirs(os.path.join(place, "a", "b"))
open(os.path.join(place, "a", "b", "file"), "w").close()
for name in ("a/b", "a", "."):
    os.chmod(os.path.join(place, name), 0)
sys.exit(not remove_tree(place))
"""


@posix
def test_permissions_keep_nothing():
    with scratch_folder("mcp-conformance-test-") as folder:
        folder.chmod(0o777)
        done = subprocess.run([sys.executable, "-c", AS_ANOTHER, folder, removal.__file__], check=False)
        assert done.returncode == 0
        assert not (folder / "mine").exists()


def test_a_folder_that_is_not_there_is_deleted(tmp_path):
    assert remove_tree(str(tmp_path / "none"))


def test_an_endless_deletion_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(removal, "MAX_SECONDS", -1)
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    assert remove_tree(str(tmp_path / "folder")) is not removal.IS_BY_NUMBER


def test_a_path_that_was_refused_is_deleted_once_it_may_be_written(tmp_path):
    """As on Windows, where git's objects could not be deleted."""

    def delete(path):
        if not Path(path).stat().st_mode & stat.S_IWUSR:
            raise PermissionError(path)
        Path(path).unlink()

    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    file.chmod(0o400)
    link.symlink_to(file)
    removal._delete_read_only(delete, str(link), None)
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    removal._delete_read_only(delete, str(file), None)
    assert not file.exists()


def test_a_folder_is_deleted_by_path(tmp_path, monkeypatch):
    monkeypatch.setattr(removal, "IS_BY_NUMBER", False)
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "file").touch()
    assert remove_tree(str(tmp_path / "folder"))


def test_a_scratch_folder_is_deleted_at_the_end():
    with scratch_folder("mcp-conformance-test-") as folder:
        (folder / "file").touch()
    assert not folder.exists()


def test_a_throwaway_folder_is_made_again_unless_it_is_a_link_now(tmp_path):
    throwaway = Throwaway()
    try:
        remove_tree(str(throwaway.root))
        throwaway.restore()
        assert throwaway.work.is_dir()
        assert throwaway.restored == {"work", "home", "tmp"}
        throwaway.work.rmdir()
        throwaway.work.symlink_to(tmp_path)
        with pytest.raises(OSError, match="work is a link now"):
            throwaway.restore()
    finally:
        throwaway.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_working_directory_is_put_aside_for_a_new_one(tmp_path, monkeypatch):
    monkeypatch.setattr(throwaway_module, "MAX_RENEWALS", 1)
    throwaway = Throwaway()
    try:
        throwaway.work.rmdir()
        throwaway.work.symlink_to(tmp_path)
        assert throwaway.renew(lambda path: (path / "file").touch())
        assert [path.name for path in throwaway.work.iterdir()] == ["file"]
        assert not throwaway.work.is_symlink()
        assert not throwaway.renew(lambda path: (path / "other").touch())
        assert [path.name for path in throwaway.work.iterdir()] == ["file"]
    finally:
        throwaway.remove()
    assert list(tmp_path.iterdir()) == []
