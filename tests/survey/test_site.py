"""The site of a survey: totals, links, figures; and no text of a server has an effect in it."""

import json
import re
from dataclasses import replace
from html import unescape
from urllib.parse import unquote

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.formats.page import ASSETS
from mcp_conformance.survey.figures import NO_SDK, Entry, before, broken_rules, file_name, surveys_of
from mcp_conformance.survey.results import Grade, NoResults, Obstacle, SurveyResult
from mcp_conformance.survey.site import write_site
from mcp_conformance.survey.targets import Target
from support.sample_report import EVIL
from support.survey_results import REVISION, made_finding, made_result, made_results

PING, TITLE = "ping.responds", "tools.def.title-string"
DATA = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
MAX_START_BYTES = 2_000_000


def site(folder, *results):
    """Write the site; return its pages by their addresses."""
    write_site(results, folder)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*.html")
    }


def page_about(pages, words):
    (found,) = (name for name in pages if name.endswith(file_name(words)))
    return pages[found]


def plain(page):
    """Return what a reader sees of a page, without its script."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def rows(page):
    return json.loads(DATA.search(page)[1])


def unjudged(name, obstacle=Obstacle.SECRET, **facts):
    return made_result(name, grade=Grade.NOT_JUDGED, obstacle=str(obstacle), **facts)


# Pages -------------------------------------------------------------------------------------------


def test_the_totals_need_no_script(tmp_path):
    results = [made_result("a"), made_result("b"), made_result("c", [PING]), unjudged("d")]
    start = plain(site(tmp_path, *results)["index.html"])
    assert "Survey of 4 MCP servers 2 of 3 judged servers conform" in start
    assert "2 conforms (67 % of those judged) 1 does not conform (33 % of those judged)" in start
    assert "1 could not be judged Not judged, because: it needs a secret 1" in start


def test_a_server_that_could_not_be_judged_breaks_no_rule(tmp_path):
    pages = site(tmp_path, unjudged("a", rules=[PING]), made_result("b"))
    assert rows(pages["index.html"])[0][1:4] == ["could not be judged", "", ""]
    assert "No server breaks a rule." in pages["index.html"]
    assert not any(name.startswith("rules/") for name in pages)


def test_a_servers_page_has_each_finding_with_its_evidence(tmp_path):
    cases = [made_finding(PING, Outcome.FAILED, got=f"answer {number}") for number in range(15)]
    page = plain(page_about(site(tmp_path, made_result("a", cases)), "a"))
    assert all(f"got answer {number} on the wire" in page for number in range(15))
    assert '> {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}' in page
    assert f"mcp-conformance run --select {PING}" in page
    assert '{"name": "a", "registry": "pypi", "package": "a", "version": "1.0"}' in page


def test_a_finding_of_one_run_is_shown_apart(tmp_path):
    once = made_finding(PING, Outcome.FAILED)
    pages = site(tmp_path, replace(made_result("a"), unsteady=(once,)))
    page = plain(page_about(pages, "a"))
    assert page.index("No tested rule is broken.") < page.index("Seen in one of two runs")
    assert page.index("Seen in one of two runs") < page.index(PING)
    assert not any(name.startswith("rules/") for name in pages)


def test_a_server_without_a_grade_shows_the_diagnosis(tmp_path):
    page = plain(page_about(site(tmp_path, unjudged("a", diagnosis="TOKEN is not set")), "a"))
    assert "could not be judged: it needs a secret" in page
    assert "Why it could not be judged TOKEN is not set" in page
    assert "Findings" not in page


def test_a_rules_page_counts_by_sdk_and_version(tmp_path):
    results = [
        made_result("a", [PING], sdk="Python SDK 1.9.0"),
        made_result("b", sdk="Python SDK 1.9.0"),
        made_result("c", [PING], sdk="FastMCP 2.1 on Python SDK 1.10.0"),
        unjudged("d", sdk="Python SDK 1.9.0"),
        made_result("e"),
    ]
    page = plain(page_about(site(tmp_path, *results), PING))
    assert "red in 2 of 4 judged servers" in page
    assert "Python SDK 1.10.0 1 0 0 1 100 % Python SDK 1.9.0 1 0 0 2 50 % FastMCP 2.1 1 0 0 1 100 %" in page


def test_every_link_leads_to_a_page(tmp_path):
    pages = site(tmp_path, *made_results(12, surveys=2))
    targets = set()
    for name, page in pages.items():
        links = [one for one in re.findall(r'href="([^"]*)"', page) if not one.startswith("https://")]
        links += [row[-1] for found in DATA.findall(page) for row in json.loads(found)]
        for one in links:
            place, _, anchor = one.partition("#")
            assert not anchor or f'id="{anchor}"' in page
            targets.add((tmp_path / name).parent.joinpath(unquote(place)).resolve() if place else tmp_path)
    assert all(one.exists() for one in targets)
    assert {tmp_path / name for name in pages} <= targets


def test_pages_of_an_earlier_site_are_removed(tmp_path):
    site(tmp_path, made_result("a", [PING]), made_result("b"))
    own = tmp_path / "servers" / "notes.html"
    own.write_text("mine", encoding="utf-8")
    pages = site(tmp_path, made_result("b"))
    folders = {one.partition("/")[0] for one in pages}
    assert sorted(pages) == sorted(
        ["index.html", f"servers/{file_name('b')}", f"sdks/{file_name(NO_SDK)}", "servers/notes.html"]
    )
    assert folders == {"index.html", "servers", "sdks"}


def test_a_site_needs_a_result(tmp_path):
    with pytest.raises(NoResults, match="there is no result"):
        write_site([], tmp_path)


def test_the_start_page_of_3000_servers_is_below_2_mb(tmp_path):
    sizes = [len(site(tmp_path, *made_results(number, surveys=2))["index.html"]) for number in (50, 250)]
    per_server = (sizes[1] - sizes[0]) / 200
    assert sizes[1] + 2750 * per_server < MAX_START_BYTES


# Untrusted text ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evil_pages(tmp_path_factory):
    target = Target(EVIL, "npm", EVIL, EVIL, command=(EVIL,), env={"X": EVIL}, secrets=(EVIL,))
    finding = replace(
        made_finding(PING, Outcome.FAILED),
        **dict.fromkeys(("tool", "reason", "expected", "got", "stderr", "reproduce", "fix", "says"), EVIL),
        wire=(EVIL,),
        spec=f"javascript:{EVIL}",
    )
    shared = {"sdk": EVIL, "server": EVIL, "server_version": EVIL, "sandbox": EVIL, "options": (EVIL,)}
    red = made_result(target=target, rules=[finding], revisions=(EVIL,), **shared)
    blind = unjudged("b", obstacle=EVIL, diagnosis=EVIL, **shared)
    earlier = replace(red, tool_version="0.0.9", started="2026-10-01T10:00:00+00:00")
    return site(tmp_path_factory.mktemp("evil"), red, blind, earlier)


def test_text_of_a_server_has_no_effect(evil_pages):
    for page in evil_pages.values():
        assert "<script>alert" not in page
        assert "javascript:" not in page
        assert not any(sign in page for sign in "\x1b\u202e\u2066\ud800")
        assert all("<" not in found for found in DATA.findall(page))
    assert EVIL.partition(" ")[0] in str(rows(evil_pages["index.html"]))


def test_a_page_loads_nothing_and_runs_only_our_script(evil_pages):
    assert any("<script>" in page for page in evil_pages.values())
    for page in evil_pages.values():
        assert "default-src 'none'" in page
        assert "script-src 'sha256-" in page or "<script>" not in page
        assert not re.search(r"<(link|img|iframe|script)\b[^>]*\b(src|href)=|@import|url\(|fetch\(", page)


def test_credentials_are_left_out(tmp_path):
    secret = "s3cret-value-123"
    target = Target("a", command=("run", "--token", secret), env={"API_KEY": secret})
    result = unjudged("a", target=target, diagnosis=f"cannot log in with {secret}")
    pages = site(tmp_path, result)
    assert "cannot log in with ***" in page_about(pages, "a")
    assert all(secret not in page for page in pages.values())


NAMES = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "CON",
    "con",
    "a/b",
    "a-b",
    "a\\b",
    "é",
    "日本",
    "x" * 500,
    "\ud800",
]


def test_names_of_pages_are_safe_and_unique():
    made = [file_name(one) for one in NAMES]
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,75}\.html", one) for one in made)
    assert len({one.lower() for one in made}) == len(NAMES)


def test_the_style_adds_no_colour():
    css = (ASSETS / "survey.css").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-f]{3}|rgb|hsl", css)


# Surveys -----------------------------------------------------------------------------------------


def at(day, name, rules=(), version="1.0", **facts):
    started = f"2026-11-{day:02}T10:00:00+00:00"
    return made_result(target=Target(name, "pypi", name, version), rules=rules, started=started, **facts)


def shown(survey):
    return [f"{one.name} {one.version}" for one in survey.entries]


def test_a_new_release_of_a_server_begins_a_survey_with_the_others_as_they_were():
    results = [at(1, "a"), at(2, "b"), at(3, "c"), at(20, "b", version="2.0"), at(21, "c", version="2.0")]
    first, second = surveys_of(results)
    assert shown(first) == ["a 1.0", "b 1.0", "c 1.0"]
    assert shown(second) == ["a 1.0", "b 2.0", "c 2.0"]
    assert second.ended == "2026-11-21T10:00:00+00:00"


def test_another_version_or_other_options_are_another_survey():
    results = [at(1, "a"), at(3, "a", tool_version="0.2.0"), at(2, "a", options=("--call", "none"))]
    surveys = surveys_of(results)
    assert [(one.tool_version, one.options) for one in surveys] == [
        ("0.1.0", ()),
        ("0.1.0", ("--call", "none")),
        ("0.2.0", ()),
    ]
    assert before(surveys) is surveys[0]
    assert before(surveys[:2]) is None


def test_the_start_page_compares_with_the_survey_before(tmp_path):
    pages = site(
        tmp_path,
        *(at(1, "a", [PING]), at(1, "b", [TITLE])),
        *(at(2, "a", [PING], tool_version="0.2.0"), at(2, "b", [PING], tool_version="0.2.0")),
    )
    start = plain(pages["index.html"])
    assert "version 0.2.0 · 2026-11-02 2 0 2 0 0 % version 0.1.0 · 2026-11-01 2 0 2 0 0 %" in start
    assert re.search(rf"{re.escape(PING)} [^0-9]+ 2 0 0 100 % 1 none known 2", start)
    assert re.search(rf"{re.escape(TITLE)} [^0-9]+ 0 0 0 0 % 1 SDKs", start)
    assert "Results day version of this tool" in plain(page_about(pages, "a"))
    assert "red in 0 of 2 judged servers" in plain(page_about(pages, TITLE))


def test_rules_of_most_servers_come_first():
    warning = made_finding("errors.method-not-found-code", Outcome.WARNED)
    results = [at(1, "a", [PING, warning]), at(1, "b", [PING, warning]), at(1, "c", [TITLE, warning])]
    surveys = surveys_of(results)
    assert list(broken_rules(surveys)) == [PING, TITLE, warning.requirement]


def test_sdks_are_sorted_by_servers_and_their_versions_by_number():
    sdks = ["", "Go SDK 1.0", *(f"Python SDK {one}" for one in ("1.9.0", "1.10.0", "2.0.0rc1"))]
    (survey,) = surveys_of(made_result(f"s{place}", sdk=one) for place, one in enumerate(sdks))
    found = {name: list(versions) for name, versions in survey.sdks.items()}
    assert found == {"Python SDK": ["2.0.0rc1", "1.10.0", "1.9.0"], "Go SDK": ["1.0"], NO_SDK: [""]}


@pytest.mark.parametrize(
    ("sdk", "pairs"),
    [
        ("", ()),
        ("Python SDK 1.2.3", (("Python SDK", "1.2.3"),)),
        ("FastMCP 2.0 on Python SDK 1.2.3", (("FastMCP", "2.0"), ("Python SDK", "1.2.3"))),
        ("homemade", (("homemade", ""),)),
    ],
)
def test_a_result_names_its_sdks(sdk, pairs):
    assert made_result(sdk=sdk).sdks == pairs


def test_an_entry_counts_rules_by_revision():
    matrix = {PING: {REVISION: "passed", "2025-06-18": "failed"}, TITLE: {REVISION: "passed"}}
    entry = Entry.of(SurveyResult(Target("a"), "0.1", (), Grade.CONFORMS, matrix=matrix))
    assert entry.counts == {"2025-06-18": {"failed": 1}, REVISION: {"passed": 2}}


def test_a_result_reads_back_as_it_was_written():
    result = made_result("a", [PING], sdk="Python SDK 1.0")
    again = SurveyResult.from_json(result.to_json())
    assert again.broken == {PING: Outcome.FAILED}
    assert again == result
