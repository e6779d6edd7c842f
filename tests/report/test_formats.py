"""The formats of report files: they are found by looking, and a new one is one module."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_conformance.cli.combined_files import write_files
from mcp_conformance.report import files, formats, servers
from mcp_conformance.report.exit_status import PASSED
from mcp_conformance.report.files import file_formats, format_help, format_of
from mcp_conformance.report.formats import badge_json, sarif
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from support import REFERENCE
from support.nightly import nightly
from support.sample_report import REPORT

DOCS = Path(__file__).parents[2] / "docs"
MADE_UP = '''
"""A report as one line."""

from mcp_conformance.report.file_format import FileFormat


def render(report):
    """Return the line."""
    return f"{report.server}: {report.status}\\n"


FILE_FORMAT = FileFormat((".line",), "one line", render)
'''
COMBINED = '''
"""The combined report as one line."""

from mcp_conformance.report.file_format import CombinedFormat

COMBINED = CombinedFormat(lambda servers: f"{servers.headline}\\n", has_own_files=False)
'''
PROGRAM = """
import sys
from mcp_conformance.cli.main import main
from mcp_conformance.report import formats
formats.__path__.append(sys.argv.pop(1))
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Put the module of a format, and that of its combined report, into the packages."""
    for package, text in ((formats, MADE_UP), (servers, COMBINED)):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / "one_line.py").write_text(text, encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    monkeypatch.setattr(files, "file_formats", file_formats.__wrapped__)
    yield tmp_path
    for package in (formats, servers):
        sys.modules.pop(f"{package.__name__}.one_line", None)
        vars(package).pop("one_line", None)


def test_the_longest_ending_is_the_format():
    found = {name: format_of(Path(name)).render for name in ("R.JSON", "r.sarif.json", "my-badge.json")}
    assert found == {
        "R.JSON": json_format.render,
        "r.sarif.json": sarif.render,
        "my-badge.json": badge_json.render,
    }


def test_no_two_formats_have_an_ending_and_each_has_a_help():
    endings = [ending for one in file_formats() for ending in one.endings]
    assert len(set(endings)) == len(endings) >= 7
    assert all(one.help and not one.help.endswith(".") for one in file_formats())


def test_every_ending_is_in_the_docs_and_in_the_help():
    reports = (DOCS / "how-to" / "ci.md").read_text(encoding="utf-8").partition("## Reports")[2]
    listed = {
        word for cell in re.findall(r"^\| (.+?) \|", reports, re.MULTILINE) for word in cell.split(", ")
    }
    assert {f"`{ending}`" for one in file_formats() for ending in one.endings} <= listed
    assert all(ending in format_help() for one in file_formats() for ending in one.endings)


def test_a_new_format_is_a_module(made_up, monkeypatch):
    monkeypatch.chdir(made_up)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert format_of(Path("r.line")).render(replace(REPORT, server="x")) == "x: failed\n"
    assert ".line: one line" in format_help()
    with pytest.raises(ValueError, match=r"ends in none of .*\.line"):
        format_of(Path("r.txt"))
    outcomes = (ServerOutcome("one", PASSED, report=REPORT),)
    assert write_files(ServersReport("mcp.json", outcomes, "1.0"), ["all.line"], [])
    assert (made_up / "all.line").read_text() == "1 server, 1 passed\n"
    assert not (made_up / "one-all.line").exists()


@nightly
def test_a_run_writes_a_new_format_and_its_help_has_it(made_up):
    report, folder = made_up / "r.line", made_up / formats.__name__
    words = ("run", "--select", "ping", "--fuzz", "none", f"--report={report}", "--", *REFERENCE)
    for more in (words, ("run", "--help")):
        program = [sys.executable, "-c", PROGRAM, str(folder), *more]
        ended = subprocess.run(program, cwd=made_up, capture_output=True, text=True, check=True)
    assert report.read_text() == "reference: passed\n"
    assert ".line: one line" in " ".join(ended.stdout.split())
