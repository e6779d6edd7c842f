"""The combined reports on several servers: what they say, and that a server's text has no effect in them."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from referencing import Registry, Resource

from mcp_conformance.cli.combined_files import write_files
from mcp_conformance.report.exit_status import FAILED, NOT_RUN, PASSED
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.servers import html, junit, markdown, sarif
from mcp_conformance.report.servers import json as servers_json
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.report.servers.text import table
from mcp_conformance.transport.files import BadFile
from support.sample_report import EVIL, REPORT

SCHEMA = json_format.SCHEMA.with_name("servers-1.schema.json")
GOOD = replace(REPORT, results=REPORT.results[-1:], ended="")
OUTCOMES = (
    ServerOutcome(EVIL, FAILED, line=3, report=REPORT),
    ServerOutcome("good", PASSED, line=7, report=GOOD),
    ServerOutcome("far", None, f"it is remote {EVIL}", line=9),
)
SERVERS = ServersReport("mcp.json", OUTCOMES, "1.0", pages={EVIL: "a b-r.html", "good": "good-r.html"})
RENDERERS = [html.render, servers_json.render, junit.render, markdown.render, sarif.render]


@pytest.mark.parametrize("render", RENDERERS)
def test_a_server_has_no_control_over_a_report(render):
    text = render(SERVERS)
    assert not [char for char in text if not (char.isprintable() or char == "\n")]
    assert "@team" not in re.sub(r"(`+).*?\1", "", text) or render is not markdown.render
    assert "<script" not in text or render in (servers_json.render, markdown.render, sarif.render)


def test_the_json_report_has_the_report_of_each_server():
    schemas = [json.loads(path.read_text()) for path in (json_format.SCHEMA, SCHEMA)]
    registry = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in schemas])
    found = json.loads(servers_json.render(SERVERS))
    jsonschema.Draft202012Validator(schemas[1], registry=registry).validate(found)
    first, second, third = found["servers"]
    assert first["report"] == json.loads(json_format.render(REPORT))
    assert (second["outcome"], second["line"], third["report"]) == ("passed", 7, None)
    with pytest.raises(BadFile, match="it is about several servers"):
        json_format.read(servers_json.render(SERVERS))


def test_the_place_of_a_finding_is_the_entry_of_its_server():
    """GitHub takes one run of each tool from a file."""
    both = replace(SERVERS, outcomes=(OUTCOMES[0], replace(OUTCOMES[1], name="other", report=REPORT)))
    (run,) = json.loads(sarif.render(both))["runs"]
    places = {json.dumps(one["locations"][0]["physicalLocation"]) for one in run["results"]}
    assert [json.loads(one)["artifactLocation"]["uri"] for one in places] == ["mcp.json"] * 2
    assert {json.loads(one)["region"]["startLine"] for one in places} == {3, 7}
    marks = [one["partialFingerprints"]["mcpConformance/v1"] for one in run["results"]]
    assert len(set(marks)) == len(marks) == 2 * len({one["ruleId"] for one in run["results"]}) + 2


def test_each_count_in_the_page_links_to_a_finding():
    links = re.findall(r'href="([^"#]+)#([^"]+)"', html.render(SERVERS))
    assert {page for page, _ in links} == {"a%20b-r.html"}
    own = json_format.render(REPORT)
    for _, anchor in links:
        outcome, _, rule = anchor.partition("-")
        assert f'"requirement": "{rule}"' in own, anchor
        assert f'"outcome": "{outcome}"' in own


def test_a_server_that_was_not_tested_fails_in_junit_if_all_are_required():
    for required, tag in ((False, "skipped"), (True, "failure")):
        root = ElementTree.fromstring(junit.render(replace(SERVERS, require_all=required)))
        assert root[2][0][0].tag == tag
        assert "it is remote" in root[2][0][0].attrib["message"]


def test_the_table_has_a_line_for_each_server():
    head, first, second, third = (line.split() for line in table(SERVERS))
    assert head[:2] == ["server", "outcome"]
    assert "failed" in first
    assert second[:2] == ["good", "passed"]
    assert third[:5] == ["far", "skipped", "it", "is", "remote"]


def test_a_server_that_passed_what_fitted_into_the_time_is_not_only_said_to_have_passed():
    hurried = ServerOutcome("good", PASSED, report=replace(GOOD, not_run={"ping": 3}))
    servers = replace(SERVERS, outcomes=(hurried,))
    for text in ("\n".join(table(servers)), markdown.render(servers), html.render(servers)):
        assert "3 of 4 checks did not run, as the time was over (--within)" in text
    assert hurried.left_out in servers_json.render(servers)


@pytest.mark.parametrize(
    ("statuses", "status", "required"),
    [
        ([0, 0], 0, 0),
        ([0, 1, 4], 1, 1),
        ([0, 4], 4, 4),
        ([3, 4], 3, 3),
        ([0, None], 0, 1),
        ([3, None], 3, 1),
        ([0, None, 5], 5, 1),
        ([1, 2], 2, 2),
        ([None], 5, 1),
        ([], 5, 5),
    ],
)
def test_the_exit_status_is_the_worst(statuses, status, required):
    servers = ServersReport("x", tuple(ServerOutcome("x", one) for one in statuses), "1.0")
    assert servers.status == status
    assert replace(servers, require_all=True).status == required


def test_each_server_has_its_checks_in_the_form_of_the_official_suite(tmp_path, capsys):
    """An array there has one server, so none is made of all servers."""
    servers = replace(SERVERS, outcomes=OUTCOMES[1:])
    assert write_files(servers, [str(tmp_path / "checks.json")], [])
    assert [one.name for one in tmp_path.iterdir()] == ["good-checks.json"]
    assert isinstance(json.loads((tmp_path / "good-checks.json").read_text("utf-8")), list)
    assert "NAME-checks.json of 1 server" in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    servers = replace(SERVERS, outcomes=(*OUTCOMES[1:], ServerOutcome("lost", NOT_RUN)))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert write_files(servers, ["a.json", "badge.svg"], ["junit.xml"])
    assert not write_files(servers, ["file/b.json"], [])
    written = ["a.json", "badge.svg", "file", "good-a.json", "good-badge.svg", "junit.xml"]
    assert sorted(one.name for one in tmp_path.iterdir()) == [one for one in written if one != "badge.svg"]
    assert capsys.readouterr().out.count("report: not written:") == 2


def test_the_summary_of_a_job_on_github_has_all_servers(tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert write_files(SERVERS, [], [])
    assert summary.read_text("utf-8") == f"before\n{markdown.render(SERVERS)}\n"
