"""Who can connect: each kind of client by what the probe of a run saw, and in each format."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.report.connecting import ConnectingClient, connecting_clients
from mcp_conformance.report.formats.html import render as html
from mcp_conformance.report.formats.json import read
from mcp_conformance.report.formats.json import render as as_json
from mcp_conformance.report.formats.markdown import render as markdown
from mcp_conformance.report.formats.sarif import render as sarif
from mcp_conformance.report.formats.terminal import render as terminal
from mcp_conformance.report.servers.html import render as servers_html
from mcp_conformance.report.servers.markdown import render as servers_markdown
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.report.servers.text import clients_table
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import LOCKED, START, ProbeFailure, Subject, Surface
from mcp_conformance_fixtures.http_unusual import HandshakesOnly, ModernOnly
from mcp_conformance_fixtures.reference_http import HttpReference
from mcp_conformance_fixtures.reference_http_auth import Protected
from support.http_in_thread import served
from support.nightly import some_of
from support.sample_report import REPORT

HANDSHAKE, NEWEST = "2025-11-25", "2026-07-28"


def dead(revision, name=START):
    return Surface(revision, failures=(ProbeFailure(name, "lifecycle.initialize.responds", "no"),))


@pytest.mark.parametrize(
    ("surfaces", "probed", "expected"),
    [
        (
            [Surface(HANDSHAKE), Surface(NEWEST)],
            2,
            [f"yes ({HANDSHAKE})", f"yes ({NEWEST})", f"yes ({NEWEST})"],
        ),
        ([Surface(HANDSHAKE)], 2, [f"yes ({HANDSHAKE})", "no", f"yes ({HANDSHAKE})"]),
        ([Surface(HANDSHAKE)], 1, [f"yes ({HANDSHAKE})", "not tried", f"yes ({HANDSHAKE})"]),
        (
            [Surface(HANDSHAKE, refused="2024-11-05")],
            1,
            ["yes (2024-11-05)", "not tried", "yes (2024-11-05)"],
        ),
        ([dead(HANDSHAKE)], 2, ["no", "no", "no"]),
        ([dead(HANDSHAKE, LOCKED)], 2, ["with a credential"] * 3),
    ],
)
def test_what_the_probe_saw_says_who_can_connect(surfaces, probed, expected):
    subject = Subject(Settings(("server",)), tuple(surfaces), probed=(HANDSHAKE, NEWEST)[:probed])
    found = connecting_clients(subject)
    assert [one.client for one in found] == ["handshake-only", "modern-only", "dual"]
    assert {one.transport for one in found} == {"stdio"}
    assert [str(one).partition(" ")[2] for one in found] == expected


@pytest.mark.parametrize(
    ("http", "expected"),
    some_of(
        [
            (HttpReference, ["yes", "yes", "yes"]),
            (HandshakesOnly, ["yes", "no", "yes"]),
            (ModernOnly, ["no", "yes", "yes"]),
            (Protected, ["with a credential"] * 3),
        ],
        2,
        name=lambda one: one[0].__name__,
    ),
)
def test_a_run_says_who_can_connect(http, expected, capfd):
    with served(http()) as server:
        main(["run", "--output-format", "json", "--select", "ping", "--url", server.url])
    report = json.loads(capfd.readouterr().out)
    assert [one["can"] for one in report["clients"]] == expected
    assert {one["transport"] for one in report["clients"]} == {"Streamable HTTP"}


CLIENTS = (
    ConnectingClient("handshake-only", "stdio", "not tried"),
    ConnectingClient("modern-only", "stdio", "no"),
    ConnectingClient("dual", "stdio", "yes", HANDSHAKE),
)
TITLE = "clients that can connect over stdio"
LISTED = "handshake-only not tried, modern-only no, dual yes (2025-11-25)"


def test_each_format_shows_it():
    report = replace(REPORT, clients=CLIENTS)
    assert f"\n{TITLE}: {LISTED}\n" in terminal(report)
    assert f"**{TITLE.capitalize()}:** {LISTED}" in markdown(report)
    assert TITLE in html(report)
    assert read(as_json(report)).clients == CLIENTS
    (run,) = json.loads(sarif(report))["runs"]
    assert run["invocations"][0]["properties"]["clients"] == json.loads(as_json(report))["clients"]


def test_the_reports_on_several_servers_show_it_for_each():
    over_http = tuple(replace(one, transport="Streamable HTTP", can="no", revision="") for one in CLIENTS)
    outcomes = (
        ServerOutcome("near", 0, report=replace(REPORT, clients=CLIENTS)),
        ServerOutcome("far", 0, report=replace(REPORT, clients=over_http)),
        ServerOutcome("lost", None, "it is remote"),
    )
    servers = ServersReport("mcp.json", outcomes, "1.0")
    assert [re.split(" {2,}", line) for line in clients_table(servers)] == [
        ["server", "transport", "handshake-only", "modern-only", "dual"],
        ["near", "stdio", "not tried", "no", "yes (2025-11-25)"],
        ["far", "Streamable HTTP", "no", "no", "no"],
    ]
    assert "| `near` | stdio | not tried | no | yes (2025-11-25) |" in servers_markdown(servers)
    assert "Clients that can connect" in servers_html(servers)
    assert not list(clients_table(replace(servers, outcomes=outcomes[2:])))


def test_junit_shows_it(tmp_path, capfd):
    file = tmp_path / "junit.xml"
    with served(HttpReference()) as server:
        main(["run", "--select", "ping.responds", f"--junitxml={file}", "--url", server.url])
    properties = {one.get("name"): one.get("value") for one in ElementTree.parse(file).iter("property")}
    assert properties["clients that can connect over Streamable HTTP"].startswith("handshake-only yes")
