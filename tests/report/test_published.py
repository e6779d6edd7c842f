"""The published survey: its results explain themselves, and name no machine."""

import re
from pathlib import Path

import pytest

from mcp_conformance.survey.cleaning import cleaned, without_hosts
from mcp_conformance.survey.markdown import render, unexplained
from mcp_conformance.survey.notes import read_notes
from mcp_conformance.survey.results import Grade, SurveyResult
from mcp_conformance.survey.store import Store
from mcp_conformance.survey.targets import Target, read_targets
from mcp_conformance.transport.files import BadFile

ROOT = Path(__file__).parents[2]
PUBLISHED = ("reports", "reports/backend")
"""The folders with a survey each: of servers with default options, and of servers whose API is sick."""
MAX_BYTES = 2_000_000
MACHINE = re.compile(
    r"""(?:(?<![\w.}~-])|(?<=\\[nrt]))(?:
        /root\b | /(?:work|tmp|private|mnt|builds?|workspace)/ | /var/(?:folders|tmp)/
        | /home/(?!me/|user/|username/|runner/) | /Users/(?!me/|user/|username/|name/)
    )
    | \b[A-Z]:\\+Users\\
    | \((?:node|bun|deno):\d+\) | \bpid[ =:#]+\d | mcp-conformance-\w{8}/ | mcp-survey-
    | https?://[^/\s"]*(?:artifactory|nexus|verdaccio|devpi|jfrog|mirror|proxy)
    | https?://(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.) | https?://[^/\s"]+\.(?:internal|local|lan|corp)\b
    """,
    re.VERBOSE,
)
"""A path, a process id or a host of a machine; other paths come from the servers' own examples."""


@pytest.fixture(scope="module", params=PUBLISHED)
def folder(request):
    return request.param


@pytest.fixture(scope="module")
def results(folder):
    return list(Store(str(ROOT / folder / "results")).results())


def test_each_target_has_a_result_and_each_red_rule_a_note(folder, results):
    targets = {one.name: one.shown for one in read_targets(ROOT / folder / "targets.toml")}
    assert {one.target.name: one.target.shown for one in results} == targets
    assert {one.grade for one in results} == {Grade.CONFORMS, Grade.DOES_NOT_CONFORM}
    assert list(unexplained(results, read_notes(ROOT / folder / "notes.toml"))) == []


def test_the_readme_has_the_table_of_the_results(folder, results):
    mark = f"<!-- mcp-conformance survey table {folder}/results --notes {folder}/notes.toml -->\n"
    _, _, table = (ROOT / folder / "README.md").read_text(encoding="utf-8").partition(mark)
    assert table.strip() == render(results, read_notes(ROOT / folder / "notes.toml")).strip()


def test_results_have_no_paths_of_a_machine(results):
    texts = {one.target.name: one.to_json() for one in results}
    found = [
        text[max(0, at.start() - 60) : at.end() + 60]
        for text in texts.values()
        for at in MACHINE.finditer(text)
    ]
    assert found == []
    assert sum(map(len, texts.values())) <= MAX_BYTES


def result(text):
    return SurveyResult(Target("one", command=("one",)), "0.1.0", (), Grade.NOT_JUDGED, diagnosis=text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("node /srv/corpus/one/index.js", "node {ENV}/index.js"),
        ('File "/srv/corpus/one/lib/x.py", line 3', 'File "{ENV}/lib/x.py", line 3'),
        (r"failed\n/srv/corpus/one: no", r"failed\n{ENV}: no"),
        ("/srv/corpus/one-more", "/srv/corpus/one-more"),
        ("notifications/roots, file/root, /rooted", "notifications/roots, file/root, /rooted"),
        ("{WORK}/root", "{WORK}/root"),
        ("at /srv/corp [... 12 more ...] s/one/index.js", "at {ENV}… [... 12 more ...] …{ENV}/index.js"),
        ("(node:4242) Warning, pid=17", "(node:PID) Warning, pid=PID"),
    ],
)
def test_cleaning_removes_paths_of_a_machine(text, shown):
    assert cleaned(result(text), {"{ENV}": "/srv/corpus/one"}) == result(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Looking in indexes: https://me:secret@packages.example/simple",
            "Looking in indexes: https://HOST/simple",
        ),
        ("GET https://registry.npmjs.org/one", "GET https://registry.npmjs.org/one"),
    ],
)
def test_installers_show_no_private_hosts(text, shown):
    assert without_hosts(text) == shown


def test_two_notes_on_one_rule_are_a_mistake(tmp_path):
    path = tmp_path / "notes.toml"
    note = '[[read]]\nrequirement = "ping.responds"\nservers = ["one"]\nnote = "It does not."\n'
    path.write_text(note * 2, encoding="utf-8")
    with pytest.raises(BadFile, match=r"one: ping\.responds has two notes"):
        read_notes(path)
