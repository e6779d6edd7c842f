"""What must be exercised (``--require-exercised``): with workers of xdist, and after an earlier run."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.nightly import nightly
from support.running import forked

SERVER = (Path(__file__).parents[2] / "docs" / "examples" / "server.py").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The server of the tutorial, repaired; its tool share works."""
    folder = tmp_path_factory.mktemp("bills")
    (folder / "server.py").write_text(SERVER.replace('{"each": str(each)}', '{"each": each}'))
    return folder


def run(folder, *options):
    words = ["run", "--fuzz", "none", *options, "--", sys.executable, "server.py"]
    return forked(words, folder, 60)


@nightly
def test_too_little_fails_and_a_later_run_takes_over_what_was_exercised(folder):
    status, output = run(folder, "--require-exercised", "2", "-n", "2", "--report=a.json", "--junitxml=j.xml")
    assert status == 1, output
    assert "verdict: too few tools were exercised; otherwise passed; 1 of 1 tool exercised\n" in output
    assert "--require-exercised: 1 of 1 tool exercised, 2 required\n" in output
    found = json.loads((folder / "a.json").read_text())["exercise"]
    (share,) = found["tools"]
    assert (found["callable"], found["exercised"], share["origins"]) == (1, 1, ["made up"])
    (suite,) = ElementTree.parse(folder / "j.xml").getroot()
    properties = {one.get("name"): one.get("value") for one in suite.find("properties")}
    assert properties["tools exercised"] == "1 of 1"
    assert properties["tool share"].endswith(" (made up)")

    status, output = run(folder, "--require-exercised", "100%", "--since", "a.json", "--report=b.json")
    assert status == 0, output
    assert json.loads((folder / "b.json").read_text())["exercise"]["tools"] == [share]


def test_a_run_of_some_checks_does_not_judge_it(folder):
    status, output = run(folder, "--require-exercised", "100%", "--select", "ping")
    assert status == 0, output
    assert "verdict: passed\n" in output
    assert "not judged: what was exercised (--require-exercised), as not all checks were to run" in output


def test_what_cannot_be_required_is_one_line(folder):
    status, output = run(folder, "--require-exercised", "much")
    assert status == 4
    assert "--require-exercised: percents such as 80%, or a number of tools, are expected" in output
