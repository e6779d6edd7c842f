"""The published reports: generated from stored facts, with explained findings and no machine's paths."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.sample_report import REPORT

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports"
sys.path.insert(0, str(REPORTS))

import cleaning  # noqa: E402
import pages  # noqa: E402
import regenerate  # noqa: E402
import summaries  # noqa: E402

SERVERS = summaries.servers()
SCRIPTS = {"cleaning.py", "origins.py", "pages.py", "regenerate.py", "summaries.py"}
DATA = {"installed.json", "notes.toml", "results.json"}
REMAKE = "python reports/regenerate.py --pages-only"
MAX_PAGE_BYTES, MAX_BYTES = 15_000, 1_000_000
LINK = re.compile(r"\]\(([^):#]+)\)")
CODE = re.compile(r"(`+).*?\1", re.DOTALL)
MACHINE = re.compile(
    r"""(?:(?<![\w.}~-])|(?<=\\[nrt]))(?:
        /root\b | /(?:work|tmp|private|mnt|builds?|workspace)/ | /var/(?:folders|tmp)/
        | /home/(?!me/|user/|username/|runner/) | /Users/(?!me/|user/|username/|name/)
    )
    | \b[A-Z]:\\+Users\\
    | \((?:node|bun|deno):\d+\) | \bpid[ =:#]+\d | mcp-conformance-\w{8}/ | mcp-report-
    | https?://[^/\s"]*(?:artifactory|nexus|verdaccio|devpi|jfrog|mirror|proxy)
    | https?://(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.) | https?://[^/\s"]+\.(?:internal|local|lan|corp)\b
    """,
    re.VERBOSE,
)
"""A path, a process id or a host of a machine; other paths come from the servers' own examples."""


def files():
    return [path for path in REPORTS.iterdir() if path.is_file()]


def test_pages_are_generated_from_the_stored_facts():
    runs, explained = summaries.published(), summaries.notes()
    assert list(summaries.problems(runs, explained, SERVERS)) == []
    generated = regenerate.made_pages(runs, explained)
    stale = [name for name, text in generated.items() if (REPORTS / name).read_text(encoding="utf-8") != text]
    assert stale == [], REMAKE
    assert {path.name for path in files()} == SCRIPTS | DATA | set(generated)


def test_pages_are_short_and_their_links_have_targets():
    broken = []
    for path in files():
        if path.suffix == ".md":
            links = LINK.findall(CODE.sub("", path.read_text(encoding="utf-8")))
            broken += [f"{path.name}: {link}" for link in links if not (REPORTS / link).exists()]
    assert broken == []
    sizes = {path.name: path.stat().st_size for path in files()}
    assert [name for name in SERVERS if sizes[f"{name}.md"] > MAX_PAGE_BYTES] == []
    assert sum(sizes.values()) <= MAX_BYTES


def test_reports_have_no_paths_of_a_machine():
    found = []
    for path in files():
        if path.suffix in {".md", ".json"}:
            text = path.read_text(encoding="utf-8")
            found += [text[max(0, at.start() - 60) : at.end() + 60] for at in MACHINE.finditer(text)]
    assert found == []


# Problems that prevent publication ---------------------------------------------------------------


def as_published(report=REPORT, name="one"):
    return summaries.Published(name, "one 1.0", "", summaries.summary_of(replace(report, ended="")))


def test_a_red_finding_without_a_note_and_a_note_without_a_finding_are_problems():
    one = as_published()
    red = {"tools.def.title-string", "ping.responds"}
    servers = {"one": {"broken": sorted(red)}}
    explained = dict.fromkeys((("one", requirement) for requirement in red), "explained")
    assert one.summary.red == red
    assert list(summaries.problems([one], explained, servers)) == []
    assert list(summaries.problems([one], {**explained, ("two", "ping.responds"): ""}, servers)) == [
        "notes.toml: two: ping.responds is not red"
    ]
    del explained["one", "ping.responds"]
    assert list(summaries.problems([one], explained, servers)) == [
        "one: ping.responds is red, and notes.toml does not explain it"
    ]


def test_an_incomplete_run_and_an_unknown_server_are_problems():
    one = as_published()
    explained = dict.fromkeys((("one", requirement) for requirement in one.summary.red), "explained")
    cut = replace(one, summary=replace(one.summary, ended="interrupted"))
    (problem,) = summaries.problems([cut], explained, {"one": {"broken": one.summary.red}})
    assert problem.startswith("one: the run ended")
    (problem,) = summaries.problems([one], explained, {"one": {"broken": []}})
    assert "differs on ping.responds, tools.def.title-string" in problem
    problems = list(summaries.problems([one], explained, {"two": {"broken": []}}))
    assert problems == ["two: has no report", "one: is not in tests/servers/real/servers.toml"]


def test_pages_escape_text_of_a_server():
    own_words = CODE.sub("", pages.page(as_published(), {}))
    assert "<" not in own_words
    assert "@team" not in own_words
    assert pages.UNREAD in own_words


# Cleaning ----------------------------------------------------------------------------------------

PLACES = {"{ENV}": "/srv/corpus/one", "{TMP}": "/tmp", "~": "/root"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("node /srv/corpus/one/index.js", "node {ENV}/index.js"),
        ('File "/srv/corpus/one/lib/x.py", line 3', 'File "{ENV}/lib/x.py", line 3'),
        (r"failed\n/srv/corpus/one: no", r"failed\n{ENV}: no"),
        ("file:///root/.npm", "file://~/.npm"),
        ("/tmp/mcp-conformance-ab12_x9z/home/a", "{SANDBOX}/home/a"),
        ("/tmp/other", "{TMP}/other"),
        ("/srv/corpus/one-more", "/srv/corpus/one-more"),
        (
            "notifications/roots, file/root, /rooted, ../tmp",
            "notifications/roots, file/root, /rooted, ../tmp",
        ),
        ("{WORK}/root", "{WORK}/root"),
        ("at /srv/corp [... 12 more ...] s/one/index.js", "at {ENV}… [... 12 more ...] …{ENV}/index.js"),
        ("(node:4242) Warning, pid=17", "(node:PID) Warning, pid=PID"),
        ("on builder-7: no", "on HOST: no"),
        (
            "it ended; reproduce with: mcp-conformance replay .mcp-conformance/a.jsonl or '.mcp/b.jsonl'",
            "it ended",
        ),
    ],
)
def test_cleaning_removes_paths_and_names_of_a_machine(text, shown):
    assert cleaning.cleaner(PLACES, ["builder-7"])(text) == shown


def test_cleaning_changes_nothing_else():
    clean = cleaning.cleaned(REPORT, {"{ENV}": "/srv/corpus/one"}, ["registry.example"])
    bare = tuple(replace(one, transcripts=()) for one in REPORT.results)
    assert clean == replace(REPORT, results=bare)
