"""The furnished folder has files that other programs read, and a repository that Git finds sound."""

import hashlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import tomllib
import wave
import zipfile
import zlib
from pathlib import Path
from posixpath import normpath
from xml.etree import ElementTree

import pytest

from mcp_conformance.world.folder import Folder, furnish
from mcp_conformance.world.known import KnownValues, Owner

SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
WORDS = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
ROWS = [("apples", 12, 0.5), ("bread", 3, 2.25), ("cheese", 7, 4.75)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("furnished"))


def parts(path):
    """Return the parts of an Office file that are XML, by their path."""
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        return {name: ElementTree.fromstring(opened.read(name)) for name in opened.namelist()}


def test_the_files_are_there_and_named_by_their_ending(folder):
    assert len(folder.files) == len(set(folder.files)) > 20
    assert all(path.is_file() and path.is_absolute() for path in folder.files)
    assert folder.by_ending(".XLSX").name == "example.xlsx"
    assert folder.by_ending(".jpeg").name == "example.jpg"
    assert folder.by_ending(".sqlite3").name == "example.db"
    assert folder.by_ending("") is None
    assert folder.by_ending(".exe") is None


def test_it_is_as_furnished_until_something_is_added_changed_or_deleted(tmp_path):
    for change in (
        lambda root: (root / "added").mkdir(),
        lambda root: (root / "example.txt").write_text("other"),
        lambda root: (root / "example.csv").unlink(),
    ):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        folder = furnish(tmp_path)
        assert folder.is_as_furnished
        change(tmp_path)
        assert not folder.is_as_furnished


def test_no_file_is_a_module_or_what_programs_look_for_where_they_start(folder):
    names = [path.relative_to(folder.root).parts[0] for path in folder.files]
    assert all(name.startswith("example") for name in names)
    assert not any(Path(name).stem.isidentifier() for name in names if name.endswith(".py"))
    assert not any(name.isidentifier() for name in names)


def test_an_example_of_a_path_becomes_one_in_the_folder(folder):
    for example in ("/home/me/q1.xlsx", "C:\\Reports\\q1.xlsx", "q1.xlsx", "file:///home/me/q1.xlsx"):
        assert folder.like(example, must_exist=True) == folder.root / "example.xlsx"
        assert folder.like(example, must_exist=False) == folder.root / "q1.xlsx"
    assert folder.like("/home/me/project/", must_exist=True) == folder.root
    assert folder.like("/home/me/project", must_exist=False) == folder.root / "project"
    assert folder.like("../..", must_exist=False) == folder.root
    assert folder.like("/a/b.xyz", must_exist=True) == folder.root / "b.xyz"
    assert folder.like('a/<"b">.txt', must_exist=False) == folder.root / "b.txt"


def test_known_values_exist_and_are_ours(folder):
    known = KnownValues()
    known.add_all(folder.known())
    assert {one.owner for one in known} == {Owner.MADE}
    assert {one.origin.kind for one in known} == {"folder"}
    assert known.get(str(folder.root)) is not None
    for path in folder.files:
        assert known.get(str(path)) is not None
        assert known.get(path.relative_to(folder.root).as_posix()) is not None
    elsewhere = KnownValues()
    elsewhere.add_all(Folder(folder.root, is_cwd=False).known())
    assert elsewhere.get("example.txt") is None
    assert elsewhere.get(str(folder.root / "example.txt")) is not None


def test_the_same_files_are_made_each_time(folder, tmp_path):
    again = furnish(tmp_path)
    assert [path.read_bytes() for path in again.files] == [path.read_bytes() for path in folder.files]
    assert (tmp_path / ".git" / "index").read_bytes() == (folder.root / ".git" / "index").read_bytes()


# The kinds of files ------------------------------------------------------------------------------


def test_the_workbook_has_a_sheet_with_rows_and_one_with_a_formula(folder):
    found = parts(folder.by_ending(".xlsx"))
    sheets = found["xl/workbook.xml"].findall(f".//{SPREADSHEET}sheet")
    assert [sheet.get("name") for sheet in sheets] == ["Sheet1", "Totals"]
    (formula,) = found["xl/worksheets/sheet2.xml"].iter(f"{SPREADSHEET}f")
    assert formula.text == "SUM(B2:B4)"
    used = [found[f"xl/worksheets/sheet{number}.xml"].find(f"{SPREADSHEET}dimension") for number in (1, 2)]
    assert [one.get("ref") for one in used] == ["A1:C4", "A1:B4"]
    rows = found["xl/worksheets/sheet1.xml"].findall(f".//{SPREADSHEET}row")
    assert [["".join(cell.itertext()) for cell in row] for row in rows[1:]] == [
        list(map(str, row)) for row in ROWS
    ]
    assert_every_part_is_declared(found)


def test_the_text_document_has_paragraphs_and_a_table(folder):
    found = parts(folder.by_ending(".docx"))
    document = found["word/document.xml"]
    assert "The shop sells three items." in ["".join(one.itertext()) for one in document.iter(f"{WORDS}p")]
    assert len(list(document.iter(f"{WORDS}tr"))) == 4
    assert_every_part_is_declared(found)


def test_the_presentation_has_a_slide_with_a_title_and_text(folder):
    found = parts(folder.by_ending(".pptx"))
    texts = [one.text for one in found["ppt/slides/slide1.xml"].iter(f"{DRAWING}t")]
    assert texts[:2] == ["Shop", "The shop sells three items."]
    scheme = next(found["ppt/theme/theme1.xml"].iter(f"{DRAWING}clrScheme"))
    assert [one.tag.removeprefix(DRAWING) for one in scheme][:4] == ["dk1", "lt1", "dk2", "lt2"]
    assert_every_part_is_declared(found)


def assert_every_part_is_declared(found):
    declared = {one.get("PartName") for one in found["[Content_Types].xml"] if one.get("PartName")}
    assert declared == {f"/{name}" for name in found if not name.endswith((".rels", "Types].xml"))}
    for name, relationships in found.items():
        if name.endswith(".rels"):
            base = name.partition("_rels/")[0]
            assert all(normpath(f"{base}{one.get('Target')}") in found for one in relationships)


def test_the_database_is_whole_and_can_be_written(folder, tmp_path):
    copy = shutil.copy(folder.by_ending(".db"), tmp_path)
    opened = sqlite3.connect(copy)
    assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert opened.execute("SELECT name, quantity, price FROM example_items ORDER BY id").fetchall() == ROWS
    opened.execute("INSERT INTO example_items (name, quantity) VALUES ('eggs', 3000)")
    opened.commit()
    assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    opened.close()


def test_the_page_says_where_its_objects_are(folder):
    content = folder.by_ending(".pdf").read_bytes()
    start = int(content.split()[-2])
    assert content[start:].startswith(b"xref\n0 7\n")
    for number, row in enumerate(content[start:].splitlines()[3:9], 1):
        assert content[int(row[:10]) :].startswith(b"%d 0 obj" % number)
    stream = content.partition(b"stream\n")[2].partition(b"\nendstream")[0]
    assert b"/Length %d " % len(stream) in content


def test_the_images_and_the_sound_are_whole(folder):
    png = folder.by_ending(".png").read_bytes()
    assert struct.unpack(">II", png[16:24]) == (16, 16)
    at = png.index(b"IDAT")
    (size,) = struct.unpack(">I", png[at - 4 : at])
    assert len(zlib.decompress(png[at + 4 : at + 4 + size])) == 16 * (1 + 3 * 16)
    jpeg = folder.by_ending(".jpg").read_bytes()
    assert (jpeg[:2], jpeg[-2:]) == (b"\xff\xd8", b"\xff\xd9")
    assert folder.by_ending(".gif").read_bytes().startswith(b"GIF89a\1\0\1\0")
    with wave.open(str(folder.by_ending(".wav"))) as opened:
        assert (opened.getframerate(), opened.getnframes()) == (8000, 800)
        assert len(opened.readframes(800)) == 1600


def test_the_texts_are_what_their_endings_say(folder):
    def text(ending):
        return folder.by_ending(ending).read_text(encoding="utf-8")

    assert [one["name"] for one in json.loads(text(".json"))["shop"]["items"]] == [
        "apples",
        "bread",
        "cheese",
    ]
    assert len([json.loads(line) for line in text(".jsonl").splitlines()]) == 3
    assert json.loads(text(".ipynb"))["nbformat"] == 4
    assert tomllib.loads(text(".toml"))["title"] == "Shop"
    assert len(ElementTree.fromstring(text(".xml"))) == 3
    assert ElementTree.fromstring(text(".svg")).get("width") == "40"
    compile(text(".py"), "example-program.py", "exec")
    memory = sqlite3.connect(":memory:")
    memory.executescript(text(".sql"))
    memory.close()
    with zipfile.ZipFile(folder.by_ending(".zip")) as opened:
        assert opened.testzip() is None


# The repository ----------------------------------------------------------------------------------


def test_the_pack_is_whole(folder):
    (pack,) = folder.root.glob(".git/objects/pack/*.pack")
    content, index = pack.read_bytes(), pack.with_suffix(".idx").read_bytes()
    for one in (content, index, (folder.root / ".git" / "index").read_bytes()):
        assert hashlib.sha1(one[:-20]).digest() == one[-20:]
    assert pack.stem == f"pack-{content[-20:].hex()}"
    assert index[-40:-20] == content[-20:]


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_git_finds_the_repository_sound(folder):
    def git(*words):
        variables = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(
            ("git", *words),
            cwd=folder.root,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout + done.stderr

    before = (folder.root / ".git" / "index").read_bytes()
    assert git("status", "--porcelain") == "M  example.json\n M example.md\n"
    assert (folder.root / ".git" / "index").read_bytes() == before
    assert git("fsck", "--strict", "--full") == ""
    assert git("log", "--format=%s", "main") == "Note a task\nAdd the files of the shop\n"
    assert git("for-each-ref", "--format=%(refname:short)").split() == ["feature", "main", "v1.0"]
    assert any(one.value == git("rev-parse", "v1.0").strip() for one in folder.known())
    assert git("diff", "main...feature", "--stat", "--format=").startswith(" example.csv")


MARK = "example795e-"


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own").mkdir()
    return furnish(tmp_path / "own")


def test_a_copy_is_made_under_another_name(own):
    original = own.by_ending(".csv")
    copy = Path(own.copy_of(str(original), f"{MARK}import"))
    assert (copy.parent, copy.name) == (own.root, f"{MARK}import.csv")
    assert not copy.exists()
    own.make_copies([3, "example", str(copy)], MARK)
    assert copy.read_bytes() == original.read_bytes()
    assert own.copy_of("/elsewhere/a.csv", f"{MARK}import") == ""


def test_a_copy_replaces_nothing_and_stays_in_the_folder(own, tmp_path_factory):
    there, elsewhere = own.root / f"{MARK}a.csv", tmp_path_factory.mktemp("elsewhere")
    there.write_text("changed by a tool")
    outside = elsewhere / f"{MARK}b.csv"
    unknown = own.root / f"{MARK}c.unknown"
    own.make_copies(map(str, (there, outside, unknown)), MARK)
    assert there.read_text() == "changed by a tool"
    assert not outside.exists()
    assert not unknown.exists()


@pytest.mark.skipif(os.name == "nt", reason="a link needs a privilege")
def test_no_copy_is_written_through_a_link(own, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    copy = own.copy_of(str(own.by_ending(".csv")), f"{MARK}import")
    own.root.rename(own.root.with_name("moved"))
    own.root.symlink_to(elsewhere)
    own.make_copies([copy], MARK)
    assert list(elsewhere.iterdir()) == []
