"""The reports of a run: each matches its golden file, and a server's text has no effect in any of them."""

import base64
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.connecting import ConnectingClient
from mcp_conformance.report.files import file_formats, write_file
from mcp_conformance.report.formats import badge, badge_json, github, html, sarif, terminal
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.formats import markdown as markdown_format
from mcp_conformance.report.formats.page import ASSETS, hues
from mcp_conformance.report.hosts import AskedHost
from mcp_conformance.report.model import OfferedTool
from mcp_conformance.report.strict_json import strict_json
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.credentials import redacted, secrets_of
from mcp_conformance.transport.files import BadFile
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance.verdicts import Cause
from support import REFERENCE, environment, forked, mutant, run_suite
from support.sample_report import EVIL, REPORT, RESULTS, failed, is_read_back, result

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = json.loads(json_format.SCHEMA.read_text())
GOOD = replace(
    REPORT,
    results=tuple(one for one in RESULTS if one.outcome in ("passed", "skipped")),
    ended="",
    exercise=(),
    lacking="",
)


def page(report=REPORT):
    """Return the page without its style and its script."""
    text = html.render(report)
    for name in ("report.css", "report.js"):
        text = text.replace((ASSETS / name).read_text(), "")
    text = text.replace(hues(), "")
    return re.sub("sha256-[^']+", "sha256-...", text)


RENDERED: dict[str, Callable[[], str]] = {
    **{f"report.{one.endings[0].strip('.')}": partial(one.render, REPORT) for one in file_formats()},
    "report.html": page,
    "report.github.txt": lambda: "\n".join(github.commands(REPORT)) + "\n",
    "report.txt": lambda: terminal.render(REPORT),
}


@pytest.mark.parametrize("name", RENDERED)
def test_report_matches_golden_file(name):
    """To renew a golden file, delete it and run this test twice."""
    path, text = GOLDEN / name, RENDERED[name]()
    if not path.exists():
        path.write_text(text, encoding="utf-8", newline="\n")
        pytest.fail(f"{name} was missing and has been written; read it")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in RENDERED if name != "report.json"])
def test_report_has_no_control_characters(name):
    """The JSON report may have them, escaped."""
    text = RENDERED[name]()
    assert not [char for char in text if not (char.isprintable() or char == "\n")]


def test_worst_finding_decides_the_status():
    outcomes = [one.outcome for one in RESULTS]
    assert REPORT.status == "failed"
    assert set(REPORT.counts) == set(Outcome) == set(outcomes)
    for removed, status in (
        ("failed blocked", "internal-error"),
        ("internal-error", "passed"),
        ("passed", "passed"),
    ):
        outcomes = [one for one in outcomes if one.value not in removed.split()]
        assert with_results(*(one for one in RESULTS if one.outcome in outcomes)).status == status
    assert with_results(*(one for one in RESULTS if one.outcome is Outcome.SKIPPED)).status == "untested"
    assert with_results().status == "untested"


def with_results(*results, **more):
    return replace(GOOD, results=results, **more)


LATE = "the checks took 5 s, which is all they may take (--conformance-max-time)"
PASSED = result("ping.empty-result", Outcome.PASSED)
BLOCKED_LATE = result("ping.responds", Outcome.BLOCKED, "test_late", reason=LATE, cause=Cause.TIME_IS_UP)


@pytest.mark.parametrize(
    ("report", "status", "verdict"),
    [
        (
            with_results(PASSED, ended="interrupted", not_run={"ping": 2, "tools": 3}),
            "unfinished",
            "not finished: interrupted, 5 of 6 checks did not run (1 passed)",
        ),
        (
            with_results(ended="interrupted", not_run={"ping": 2}),
            "unfinished",
            "not finished: interrupted, 2 of 2 checks did not run (no checks)",
        ),
        (
            with_results(failed("add"), ended="too late", not_run={"ping": 2}),
            "failed",
            "does not conform: 1 rule broken; not finished: too late, 2 of 3 checks did not run (1 failed)",
        ),
        (
            with_results(PASSED, BLOCKED_LATE, ended=LATE, not_run={"ping": 1}),
            "unfinished",
            f"not finished: {LATE}, 1 of 2 checks did not run (1 blocked, 1 passed)",
        ),
        (
            with_results(PASSED, outdated=("expected.toml:3: x is fixed",)),
            "failed",
            "the baseline is out of date; otherwise passed (1 passed)",
        ),
        (with_results(PASSED), "passed", "passed (1 passed)"),
        (
            with_results(PASSED, *(one for one in RESULTS if one.outcome in ("info", "warned", "expected"))),
            "passed",
            "passed, with 1 warning, 1 expected finding and 1 note (1 warned, 1 expected, 1 info, 1 passed)",
        ),
    ],
    ids=["interrupted", "at once", "first failure", "time is up", "baseline", "all done", "with remarks"],
)
def test_every_report_shows_the_same_verdict(report, status, verdict):
    assert (report.status, report.verdict) == (status, verdict)
    data = json.loads(json_format.render(report))
    assert (data["verdict"]["status"], data["verdict"]["text"]) == (status, verdict)
    assert is_read_back(report, json_format.read(json_format.render(report)))
    assert not list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data))
    markdown, html = markdown_format.render(report), page(report)
    assert verdict in markdown
    assert verdict.rpartition(" (")[0] in html
    (run,) = json.loads(sarif.render(report))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] == (not report.ended)
    shown = json.loads(badge_json.render(report))
    is_green = status == "passed" and Outcome.WARNED not in report.counts
    assert (shown["color"] == "brightgreen") == is_green
    errors = [line for line in github.commands(report) if line.startswith("::error ")]
    assert bool(errors) == (status != "passed")
    shown = terminal.render(report)
    headline, _, counts = verdict.removesuffix(")").rpartition(" (")
    assert shown.splitlines()[0] == f"verdict: {headline}"
    assert shown.splitlines()[-1].startswith(f"{counts} in ")
    assert LATE not in shown.partition("\n")[2]
    for outdated in report.outdated:
        texts = (markdown, html, shown, "\n".join(errors), json.dumps(invocation))
        assert all(outdated in text.replace("%3A", ":") for text in texts)
    for name, number in report.not_run.items():
        assert f"{name} ({number})" in shown
        assert f"({number})" in markdown
        assert f"({number})" in html


# JSON --------------------------------------------------------------------------------------------


def test_of_large_findings_alike_only_the_first_is_listed_whole():
    large = [
        result("jsonschema.recommended-dialect", Outcome.WARNED, tool=f"t{one}", reason=f"{one}{'x' * 400}")
        for one in range(5)
    ]
    report = replace(REPORT, results=large)
    shown = terminal.render(report)
    assert "x - and 4 more: t1, t2, t3, t4 (-v lists them)" in " ".join(shown.split())
    assert shown.count("x" * 400) == 1
    assert terminal.render(report, verbose=True).count("x" * 400) == 5


def test_sessions_over_http_are_not_called_processes():
    opened = {"2025-11-25": {"the probe": 1, "calls": 2}}
    shown = terminal.render(replace(REPORT, starts=opened), verbose=True)
    assert "processes started in 2025-11-25: 3 (the probe, calls (2))" in shown
    shown = terminal.render(replace(REPORT, sessions=opened, processes=1), verbose=True)
    assert "HTTP sessions opened in 2025-11-25: 3 (the probe, calls (2))\nprocesses started: 1\n" in shown


def test_the_seconds_of_each_phase_are_shown():
    phases = {"probe": {"seconds": 1.26, "waiting": 1.0}, "end": {"seconds": 0.5, "waiting": 0.0}}
    shown = terminal.render(replace(REPORT, phases=phases), verbose=True)
    assert "seconds in each phase (those of waiting for the server): probe 1.3 (1.0), end 0.5 (0.0)" in shown


def test_the_calls_of_sequences_are_shown():
    sequences = {"noise": {"calls": 18, "seconds": 0.12}, "walks": {"calls": 1500, "seconds": 3.0}}
    shown = terminal.render(replace(REPORT, sequences=sequences), verbose=True)
    assert "calls in sequences: 1,518 (noise 18 (0.1 s), walks 1500 (3.0 s))" in shown


def test_json_survives_writing_and_reading():
    for report in (REPORT, GOOD):
        assert is_read_back(report, json_format.read(json_format.render(report)))


ASKED = AskedHost("call", "search", "https://api.example.com", "GET", "/v1/search?q")


@pytest.mark.parametrize(
    "report",
    [
        REPORT,
        GOOD,
        replace(GOOD, hosts=(ASKED,)),
        replace(GOOD, ended="x"),
        replace(GOOD, results=(), revisions=()),
    ],
)
def test_json_conforms_to_its_schema(report):
    checker = jsonschema.Draft202012Validator(SCHEMA)
    checker.check_schema(SCHEMA)
    assert not list(checker.iter_errors(json.loads(json_format.render(report))))


def test_schema_describes_all_members():
    described = SCHEMA["$defs"]["result"]["properties"]
    assert set(described) == {*json_format.FACTS, *json_format.EVIDENCE}
    assert SCHEMA["$defs"]["outcome"]["enum"] == list(Outcome)
    clients = (ConnectingClient("dual", "stdio", "yes", "2025-11-25"),)
    whole = json.loads(json_format.render(replace(REPORT, hosts=(ASKED,), clients=clients)))
    assert set(SCHEMA["properties"]) == set(whole)
    assert set(SCHEMA["properties"]["clients"]["items"]["properties"]) == set(whole["clients"][0])
    assert set(SCHEMA["properties"]["hosts"]["items"]["properties"]) == set(whole["hosts"][0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[]", "it is not a report of format 1"),
        ('{"format": 2}', "it is not a report of format 1"),
        ('{"format": 1}', "missing or of the wrong type: 'server'"),
        (json_format.render(GOOD).replace('"passed", "level"', '"perhaps", "level"'), "perhaps"),
        (json_format.render(GOOD).replace('"results": [', '"results": [3,'), "wrong type"),
    ],
    ids=range(7),
)
def test_text_that_is_not_a_report_is_an_error(text, message):
    with pytest.raises(BadFile, match=re.escape(message)):
        json_format.read(text)


@pytest.mark.parametrize(("number", "around"), [(0xD83D, ""), (0xDC00, ""), (0xDCFF, "a")])
def test_half_of_a_surrogate_pair_is_text_in_json(number, around):
    """Strict parsers refuse its escape."""
    half = f"{around}{chr(number)}{around}"
    text = strict_json({half: [half, ("whole \U0001f600", half)]})
    assert "\\ud83d\\ude00" in text
    read = json.loads(text)
    assert not [one for one in str(read) if "\ud800" <= one <= "\udfff"]
    assert f"\\u{number:04x}" in next(iter(read))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_report_goes_where_a_link_leads_and_leaves_nothing_else(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    assert write_file(tmp_path / "link.json", "new").error is None
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_crafted_report_prints_nothing_that_is_obeyed(tmp_path, capsys):
    evil = json_format.render(GOOD).replace("2025-11-25", "\\u001b[2J\\n::error::x")
    (tmp_path / "old.json").write_text(json_format.render(GOOD))
    (tmp_path / "new.json").write_text(evil)
    main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\n::" not in out


# HTML --------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags of a page, and those that are open at its end."""

    VOID = ("meta", "input", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.attributes, self.texts = Counter(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += attrs
        self.open += [] if tag in self.VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_page_has_no_tags_of_the_server():
    page = Page(html.render(REPORT))
    assert page.open == []
    assert page.tags["script"] == page.tags["style"] == 1
    assert not {"b", "i", "u"} & set(page.tags) - {"b"}
    assert page.tags["b"] == len(REPORT.counts)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
    assert all(value.startswith("https://") for name, value in page.attributes if name == "href")
    assert shorten(EVIL) in "".join(page.texts)


def test_page_runs_its_own_script_and_loads_nothing():
    text = html.render(REPORT)
    script = re.search(r"<script>(.*)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text
    assert not re.search(r"@import|url\(|fetch\(|XMLHttp|innerHTML|eval\(", text)


def test_link_has_an_https_target():
    hostile = replace(failed("add"), spec="javascript:alert(1)")
    assert "href" not in html.render(replace(GOOD, results=(hostile,)))


def test_page_of_a_clean_run_reports_no_findings():
    text = page(GOOD)
    assert "No tested rule is broken." in text
    assert "<article" not in text


# Markdown ----------------------------------------------------------------------------------------


def test_markdown_fits_into_a_comment():
    many = [replace(failed("add"), requirement=f"tools.r{number}") for number in range(900)]
    text = markdown_format.render(replace(REPORT, results=tuple(many), not_called=(EVIL,) * 500))
    assert 50_000 < len(text) < 65_536
    left = int(re.search(r"… and (\d+) more rules, for which there is no room here", text)[1])
    assert left == 900 - len(re.findall("^### ", text, re.MULTILINE))
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize("words", [EVIL, "a`", "`b", "``", " ", "", "@team #1 <b>"])
def test_code_in_markdown_stays_code(words):
    span = markdown_format.code(words)
    ticks = re.match("`*", span)[0]
    assert "\n" not in span
    assert span.endswith(ticks)
    assert ticks not in span[len(ticks) : len(span) - len(ticks)] or not ticks
    block = markdown_format.fence(words)
    assert block.splitlines()[0] == block.splitlines()[-1]
    assert block.splitlines()[0] not in block.splitlines()[1:-1]


# SARIF -------------------------------------------------------------------------------------------

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
TIME = {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}
PLACE = {
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {"properties": {"uri": {"pattern": "^[A-Za-z0-9_./%~-]+$"}}},
                "region": {"properties": {"startLine": {"minimum": 1}}},
            },
        }
    },
}
ESSENTIALS = {
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "uniqueItems": True,
                                        "items": {
                                            "required": ["id", "shortDescription", "help"],
                                            "properties": {"shortDescription": TEXT, "help": TEXT},
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {
                        "items": {
                            "required": ["executionSuccessful"],
                            "properties": {
                                "startTimeUtc": TIME,
                                "toolExecutionNotifications": {
                                    "items": {"required": ["message"], "properties": {"message": TEXT}}
                                },
                            },
                        }
                    },
                    "results": {
                        "items": {
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
                            "properties": {
                                "level": LEVEL,
                                "message": TEXT,
                                "locations": {"minItems": 1, "items": PLACE},
                                "suppressions": {"items": {"properties": {"kind": {"const": "external"}}}},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                            },
                        }
                    },
                },
            }
        },
    },
}
"""A schema of the members that readers of SARIF need."""


@pytest.mark.parametrize("report", [REPORT, GOOD, replace(REPORT, source="")])
def test_sarif_has_the_members_that_readers_need(report):
    log = json.loads(sarif.render(report))
    assert not list(jsonschema.Draft202012Validator(ESSENTIALS).iter_errors(log))
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[one["ruleIndex"]] for one in run["results"]] == [one["ruleId"] for one in run["results"]]
    assert len(run["results"]) == len(report.findings)


def test_fingerprints_distinguish_findings_and_are_stable():
    def prints(report):
        (run,) = json.loads(sarif.render(report))["runs"]
        return [one["partialFingerprints"]["mcpConformance/v1"] for one in run["results"]]

    later = [replace(one, reason="another", got="another", reproduce="another") for one in REPORT.results]
    assert len(set(prints(REPORT))) == len(REPORT.findings)
    assert prints(replace(REPORT, results=tuple(later), seconds=1.0)) == prints(REPORT)


# GitHub ------------------------------------------------------------------------------------------


def test_annotations_are_one_line_each_and_as_many_as_github_shows():
    many = [replace(failed("add"), requirement=f"tools.r{number}") for number in range(30)]
    lines = list(github.commands(replace(REPORT, results=tuple(many))))
    assert len(lines) == github.MAX_ANNOTATIONS
    assert all(line.startswith("::error file=src/server one.py,title=") for line in lines)
    assert not [line for line in lines if "\n" in line or line.count("::") < 2]
    assert "title=MCP run not finished::" in lines[0]
    assert lines[-1].endswith("and 23 more rules: see the log")


# Badge -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "ended", "message", "colour"),
    [
        ("failed failed passed", "", "1 rule broken", "red"),
        ("blocked passed", "", "blocked", "red"),
        ("warned passed", "", "passed, 1 warning", "yellow"),
        ("info passed passed", "", "2 checks passed", "brightgreen"),
        ("expected passed", "", "1 check passed", "brightgreen"),
        ("passed", "interrupted", "not finished", "lightgrey"),
        ("skipped", "", "not tested", "lightgrey"),
        ("internal-error passed", "", "not tested", "lightgrey"),
    ],
)
def test_badge_shows_the_verdict(outcomes, ended, message, colour):
    results = tuple(result("ping.responds", Outcome(one)) for one in outcomes.split())
    report = replace(GOOD, results=results, ended=ended)
    shown = json.loads(badge_json.render(report))
    assert (shown["message"], shown["color"]) == (message, colour)
    image = ElementTree.fromstring(badge.render(report))
    assert image.get("aria-label") == f"MCP conformance: {message}"


# Credentials -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("server --api-key abcdefgh x", "server --api-key *** x"),
        ("server --token=abcdefgh", "server --token=***"),
        ("env GITHUB_TOKEN=abcdefgh server", "env GITHUB_TOKEN=*** server"),
        ("remote --header Authorization:abcdefgh", "remote --header Authorization:***"),
        ("db postgres://me:abcdefgh@host/db", "db postgres://***@host/db"),
        ("server ghp_abcdefghijklmnop1234", "server ***"),
        ("server --token --verbose", "server --token --verbose"),
        ("python -m auth_server --port 3", "python -m auth_server --port 3"),
    ],
)
def test_command_is_shown_without_credentials(words, shown):
    assert " ".join(redacted(words.split())) == shown


def test_credential_is_left_out_of_other_texts():
    given = (["s", "--token", "abcdefgh"], {"API_KEY": "abcdefghij", "PATH": "/bin:/usr/bin"})
    redaction = Redaction(secrets_of(*given))
    assert redaction.hidden == ("abcdefghij", "abcdefgh")
    shown = redaction.text("abcdefghij, abcdefgh, /bin:/usr/bin")
    assert shown == "***, ***, /bin:/usr/bin"


def test_every_text_of_a_report_is_redacted():
    """A credential in any field that the server or the user fills does not reach the report."""
    secret = "hush-hush-42"
    settings = Settings(("server", "--token", secret))
    hidden = settings.redaction(
        replace(
            REPORT,
            options={"example": [f"add {secret}"]},
            ended=secret,
            notices=(secret,),
            results=(replace(failed("add"), transcripts=(secret,), stderr=secret, wire=(f"< {secret}",)),),
            revisions=(
                replace(REPORT.revisions[0], tools=(OfferedTool(secret, False, {secret: [secret]}),)),
            ),
        )
    )
    assert secret not in repr(hidden)
    assert "***" in repr(hidden)
    assert Settings(("server",)).redaction(REPORT) == REPORT


def test_report_of_a_dead_server_has_no_credentials(tmp_path):
    """The server writes a credential to stderr."""
    code = "import os, sys; sys.exit('my key is ' + os.environ['MY_API_KEY'])"
    files = [tmp_path / name for name in ("a.json", "a.html", "a.md", "a.sarif")]
    reports = [word for file in files for word in ("--report", str(file))]
    run = run_suite((sys.executable, "-c", code), "--env", "MY_API_KEY=hush-hush-42", *reports)
    texts = [run.output, *(file.read_text() for file in files)]
    assert all("my key is ***" in text for text in texts[1:])
    assert not [text for text in texts if "hush-hush" in text]
    report = reported(files[0])
    assert (report.status, report.revisions[0].state) == ("not-started", "dead")
    assert report.server.startswith(sys.executable)


# Real runs ---------------------------------------------------------------------------------------

BROKEN = mutant("a_tool_has_a_null_title")
SELECTED = ("--select", "tools.def.title-string,ping")


def reported(path):
    return json_format.read(path.read_text())


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["alone", "workers"])
def test_run_writes_its_reports(more, tmp_path):
    names = ("r.json", "sub/r.html", "r.md", "r.sarif", "r.sarif.json", "r.svg", "badge.json")
    files = [tmp_path / name for name in names]
    run = run_suite(BROKEN, *SELECTED, *more, *(f"--report={file}" for file in files))
    report = reported(files[0])
    assert Counter(one.outcome.value for one in report.results) == Counter(case.outcome for case in run.cases)
    assert {one.node.rpartition("::")[2] for one in report.results} == {case.check for case in run.cases}
    assert (report.server, report.version, report.status, report.ended) == (
        "reference",
        "1.0.0",
        "failed",
        "",
    )
    (finding,) = report.findings
    assert (finding.requirement, finding.tool) == ("tools.def.title-string", "nothing")
    assert finding.expected == "a string, or no title"
    assert finding.wire[0].startswith('> {"jsonrpc":"2.0"')
    assert finding.reproduce in run.of("failed")[0].text
    tools = {tool.name: tool for tool in report.revisions[0].tools}
    assert tools["nothing"].definition["title"] is None
    assert report.not_called == ("change", "grow")
    assert files[1].read_text() == html.render(report)
    assert files[2].read_text() == markdown_format.render(report)
    assert files[3].read_text() == files[4].read_text() == sarif.render(report)
    assert files[5].read_text() == badge.render(report)
    assert files[6].read_text() == badge_json.render(report)
    assert all(f"report: {file}" in run.output for file in files)


@pytest.mark.parametrize(
    ("options", "ended"),
    [(("-x",), "stopped after 1 failure"), (("-p", "support.interrupting_plugin"), "interrupted")],
    ids=["first failure", "Ctrl-C"],
)
def test_run_that_ends_early_writes_its_report(options, ended, tmp_path):
    run = run_suite(BROKEN, *SELECTED, *options, "--report", str(tmp_path / "r.json"))
    report = reported(tmp_path / "r.json")
    assert report.ended == ended
    assert report.status == ("failed" if ended.startswith("stopped") else "unfinished")
    assert report.not_run["tools"] > 0
    assert f"not finished: {ended}, {sum(report.not_run.values())} of " in run.output
    assert f"report: {tmp_path / 'r.json'}" in run.output


@pytest.mark.parametrize(
    ("name", "exit", "message"),
    [
        (
            "r.txt",
            4,
            "--report: 'r.txt' ends in none of .html, .json, .md, .sarif, .sarif.json, .svg",
        ),
        (".", 4, "--report: "),
        ("r.json/x.md", 4, "report: not written"),
    ],
)
def test_report_that_cannot_be_written_is_a_usage_error(name, exit, message, tmp_path):
    (tmp_path / "r.json").touch()
    run = run_suite(REFERENCE, "--select", "ping", "--report", str(tmp_path / name))
    assert run.exit == exit
    assert message in run.output


def test_findings_are_annotated_on_github_and_the_job_has_a_summary(tmp_path):
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    variables = environment(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    words = ["run", *SELECTED, "--revision", "2025-11-25", "--", *BROKEN]
    _, output = forked(words, tmp_path, 120, variables)
    (line,) = [line for line in output.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=MCP tools.def.title-string failed (MUST%2C schema)::")
    text = summary.read_text()
    assert text.startswith("before\n## ❌ MCP conformance: does not conform: 1 rule broken")
    assert "### ❌ failed: `tools.def.title-string` (MUST, schema)" in text
