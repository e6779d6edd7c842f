"""Which files of a project somebody edits, and which ones a run writes."""

import os
import sys
from pathlib import Path

import pytest

from mcp_conformance.project.changes import MAX_RESTARTS, Edits, GitIgnore, stamps
from mcp_conformance.transport.removal import remove_tree
from support.repositories import write


def test_files_that_nobody_edits_are_not_watched(tmp_path):
    names = ["server.py", "src/tool.ts", "build/out.js", "notes.log", "pkg/__pycache__/a.pyc", "a~"]
    names += [".git/HEAD", "node_modules/x/index.js", "env/pyvenv.cfg", "env/lib/a.py", "data/kept.db"]
    write(tmp_path, dict.fromkeys(names, "x"))
    write(tmp_path, {".gitignore": "# outputs\nbuild/\n*.db\n!kept.db\n"})
    assert set(stamps(tmp_path)) == {".gitignore", "server.py", "src/tool.ts", "data/kept.db"}


@pytest.mark.skipif(sys.platform == "win32", reason="paths are shorter there, and links need a right")
def test_a_deep_tree_and_links_to_all_are_watched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "everything").symlink_to("/")
    (tmp_path / "again").symlink_to(".")
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    deep = sys.getrecursionlimit() + 100
    for _ in range(deep):
        Path("a").mkdir()
        os.chdir("a")
    Path("file").write_text("")
    monkeypatch.chdir(tmp_path)
    assert "a/" * deep + "file" in stamps(tmp_path)
    assert not [path for path in stamps(tmp_path) if path.startswith(("everything", "again"))]
    remove_tree(str(tmp_path / "a"))  # pytest can't
    assert not (tmp_path / "a").exists()


def test_what_the_watch_itself_prints_is_no_edit(tmp_path):
    write(tmp_path, {"server.py": "x = 1"})
    with (tmp_path / "printed.txt").open("w") as printed:
        assert stamps(tmp_path, (printed.fileno(),)).keys() == {"server.py"}
    assert stamps(tmp_path).keys() == {"server.py", "printed.txt"}


def test_a_file_is_known_by_its_time_and_size(tmp_path):
    write(tmp_path, {"server.py": "x"})
    before = stamps(tmp_path)
    (tmp_path / "server.py").write_text("xy")
    assert stamps(tmp_path) != before
    os.utime(tmp_path / "server.py", ns=(1, 1))
    assert stamps(tmp_path) == {"server.py": (1, 2)}


@pytest.mark.parametrize(
    ("line", "path", "is_folder", "ignored"),
    [
        ("*.db", "a/b/c.db", False, True),
        ("/c.db", "a/c.db", False, False),
        ("/c.db", "c.db", False, True),
        ("out", "a/out", True, True),
        ("out/", "a/out", False, False),
        ("a/*.js", "a/b.js", False, True),
        ("a/*.js", "b/a/b.js", False, False),
        ("**/gen", "x/y/gen", True, True),
    ],
)
def test_simple_patterns_of_gitignore_hold(line, path, is_folder, ignored):
    assert GitIgnore([line])(path, is_folder=is_folder) is ignored


class Disk:
    """Files that a test changes, with a clock that each look moves by a second."""

    def __init__(self):
        self.files, self.time, self.pauses = {"server.py": (0, 0), "data.db": (0, 0)}, 0.0, []
        self.edits = Edits(self.look, clock=lambda: self.time)

    def look(self):
        self.time += 1
        return dict(self.files)

    def touch(self, *names):
        for name in names:
            self.files[name] = (self.files.get(name, (0, 0))[0] + 1, 0)

    def sleep(self, seconds):
        self.time += seconds
        for name in self.pauses.pop(0) if self.pauses else ():
            self.touch(name)


def test_an_edit_while_nothing_runs_is_waited_for_until_no_more_follow():
    disk = Disk()
    disk.pauses = [(), ("server.py",), ("new.py",), ()]
    assert disk.edits.wait(disk.sleep) == {"server.py", "new.py"}


def test_an_edited_file_ends_a_run_and_another_one_does_not():
    disk = Disk()
    disk.touch("server.py")
    disk.edits.while_idle()
    disk.edits.begin_run()
    disk.touch("data.db")
    disk.time += 100
    assert disk.edits.in_run() == frozenset()
    disk.touch("server.py")
    disk.time += 100
    assert disk.edits.in_run() == {"server.py"}
    assert disk.edits.end_run(stopped=True) == {"server.py", "data.db"}


def test_the_files_are_looked_at_now_and_then():
    disk = Disk()
    disk.edits.while_idle()
    before = disk.time
    disk.edits.in_run()
    assert disk.time == before


def test_a_file_that_changes_in_two_runs_is_what_they_write():
    disk = Disk()
    disk.edits.begin_run()
    disk.touch("data.db")
    assert disk.edits.end_run(stopped=False) == {"data.db"}
    disk.edits.begin_run()
    disk.touch("data.db")
    assert disk.edits.end_run(stopped=False) == frozenset()
    assert disk.edits.ignored == {"data.db"}
    assert disk.edits.while_idle() == frozenset()
    disk.touch("data.db")
    assert disk.edits.while_idle() == {"data.db"}
    assert disk.edits.ignored == set()


def test_an_edit_during_a_run_is_no_write_of_the_run():
    disk = Disk()
    disk.edits.begin_run()
    disk.touch("server.py")
    assert disk.edits.end_run(stopped=False) == {"server.py"}
    disk.edits.begin_run()
    assert disk.edits.end_run(stopped=False) == frozenset()
    assert disk.edits.ignored == set()


def test_a_file_that_is_edited_and_written_by_each_run_does_not_end_them_for_ever():
    disk = Disk()
    disk.touch("data.db")
    disk.edits.while_idle()
    for _ in range(MAX_RESTARTS):
        assert disk.edits.ignored == set()
        disk.edits.begin_run()
        disk.touch("data.db")
        disk.edits.end_run(stopped=True)
    assert disk.edits.ignored == {"data.db"}


def test_the_reports_of_the_runs_are_ignored_from_the_beginning():
    disk = Disk()
    edits = Edits(disk.look, ["report.json"])
    edits.begin_run()
    disk.touch("report.json")
    assert edits.end_run(stopped=False) == frozenset()
