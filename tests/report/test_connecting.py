"""Who can connect: each kind of client by what the probe of a run saw, and in each format."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.report.connecting import ConnectingClient, connecting_clients
from mcp_conformance.report.formats.html import render as html
from mcp_conformance.report.formats.json import read
from mcp_conformance.report.formats.json import render as as_json
from mcp_conformance.report.formats.markdown import render as markdown
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


def test_each_format_shows_it():
    clients = (
        ConnectingClient("modern-only", "stdio", "no"),
        ConnectingClient("dual", "stdio", "yes", HANDSHAKE),
    )
    report = replace(REPORT, clients=clients)
    assert "**Clients over stdio:** modern-only no, dual yes (2025-11-25)" in markdown(report)
    assert "clients over stdio" in html(report)
    assert read(as_json(report)).clients == clients
