"""The published reports: made from what is there, every red explained, and nothing of a machine in them."""

import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from handmade import REPORT

from conformance.report.formats.json import SCHEMA

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "reports"
sys.path.insert(0, str(REPORTS))

import cleaning  # noqa: E402
import index  # noqa: E402

SERVERS = tomllib.loads((ROOT / "tests" / "real" / "servers.toml").read_text())
SOURCES = {"cleaning.py", "index.py", "origins.py", "regenerate.py", "notes.toml", "installed.json"}
ENDINGS = ("json", "html", "md")
CHECKER = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
AGAIN = "python reports/regenerate.py --index-only"
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
"""What a path, a process or a host of somebody's own looks like; the rest stands in servers' own examples."""


def test_what_is_there_is_what_is_made():
    reports, told = index.published(), index.notes()
    assert not list(index.problems(reports, told, SERVERS))
    for name, made in index.tables(reports, told).items():
        assert (REPORTS / name).read_text(encoding="utf-8") == made, AGAIN
    files = {path.name for path in REPORTS.iterdir() if path.is_file()}
    expected = {f"{name}.{ending}" for name in SERVERS for ending in ENDINGS}
    assert files == SOURCES | {"index.html", "README.md"} | expected


def test_a_link_leads_to_what_it_promises():
    page = (REPORTS / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="([\w-]+\.html)(?:#([^"]+))?"', page))
    texts = {name: (REPORTS / name).read_text(encoding="utf-8") for name, _ in links}
    assert len(texts) == len(SERVERS)
    for name, anchor in links:
        assert not anchor or f'id="{anchor}"' in texts[name], f"{name}#{anchor}: {AGAIN}"


@pytest.mark.parametrize("name", SERVERS)
def test_a_report_is_fit_to_be_read_by_anybody(name):
    text = (REPORTS / f"{name}.json").read_text(encoding="utf-8")
    assert not list(CHECKER.iter_errors(of_each_kind(json.loads(text))))
    for ending in ENDINGS:
        told = (REPORTS / f"{name}.{ending}").read_text(encoding="utf-8")
        assert not [told[max(0, at.start() - 60) : at.end() + 60] for at in MACHINE.finditer(told)]


def of_each_kind(report):
    """The report with one result of each kind and a few rules: all others would be judged in the same way."""
    results = {shape(one): one for one in report["results"]}
    rules = dict(list(report["rules"].items())[:3])
    return {**report, "results": list(results.values()), "rules": rules}


def shape(result):
    values = [result[name] for name in ("outcome", "level", "basis")]
    return (*values, *((name, type(value)) for name, value in result.items()))


# What keeps reports from being published ---------------------------------------------------------


def as_published(report=REPORT, name="one"):
    return index.Published(name, replace(report, ended=""), "one 1.0", "")


def test_a_red_that_nobody_has_read_is_told_and_so_is_a_note_without_one():
    one = as_published()
    red = {"tools.def.title-string", "ping.responds"}
    servers = {"one": {"broken": sorted(red)}}
    told = dict.fromkeys((("one", requirement) for requirement in red), "read")
    assert one.reds == red
    assert list(index.problems([one], told, servers)) == []
    assert list(index.problems([one], {**told, ("two", "ping.responds"): ""}, servers)) == [
        "notes.toml: two: ping.responds is not red"
    ]
    del told["one", "ping.responds"]
    assert list(index.problems([one], told, servers)) == [
        "one: ping.responds is red, and notes.toml does not say what it means"
    ]


def test_a_run_that_does_not_count_is_told():
    one = as_published()
    told = dict.fromkeys((("one", requirement) for requirement in one.reds), "read")
    cut = replace(one, report=replace(one.report, ended="interrupted"))
    (said,) = index.problems([cut], told, {"one": {"broken": one.reds}})
    assert said.startswith("one: the run ended")
    (said,) = index.problems([one], told, {"one": {"broken": []}})
    assert "another opinion about ping.responds, tools.def.title-string" in said
    said = list(index.problems([one], told, {"two": {"broken": []}}))
    assert said == ["two: has no report", "one: is not among the servers of tests/real/servers.toml"]


def test_the_page_obeys_nothing_that_a_server_wrote():
    page = index.page([as_published(name="<b>")], {})
    assert "<script" not in page
    assert "<b>" not in page
    assert "Nobody has read this yet." in page


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
            "it ended; to see it again: mcp-conformance replay .mcp-conformance/a.jsonl or '.mcp/b.jsonl'",
            "it ended",
        ),
    ],
)
def test_what_names_a_machine_is_taken_out(text, shown):
    assert cleaning.cleaner(PLACES, ["builder-7"])(text) == shown


def test_a_cleaned_report_is_the_same_report():
    clean = cleaning.cleaned(REPORT, {"{ENV}": "/srv/corpus/one"}, ["registry.example"])
    bare = tuple(replace(one, transcripts=()) for one in REPORT.results)
    assert clean == replace(REPORT, results=bare)
