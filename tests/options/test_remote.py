"""A server that others use too, at a URL of another machine, is tested with care."""

import math

import pytest

from mcp_conformance.client.spacing import Spacing
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.options.run_options import read_settings
from mcp_conformance.plugin.collection import RATE, share_rate
from mcp_conformance.target.settings import Settings

FEW = 20


def settings(url, **options):
    given = {name: Given(value, f"--{name}") for name, value in {"url": url, **options}.items()}
    return read_settings(Chosen(given, None, "--"))


@pytest.mark.parametrize(
    ("url", "options", "call", "rate"),
    [
        ("http://weather.example/mcp", {}, (), FEW),
        ("http://weather.example/mcp", {"call": ("readonly",)}, ("readonly", "readonly"), FEW),
        ("http://weather.example/mcp", {"rate": "5"}, (), 5),
        ("http://127.0.0.1:1/mcp", {}, ("readonly",), math.inf),
    ],
)
def test_a_remote_server_gets_few_requests_and_no_calls(url, options, call, rate):
    made = settings(url, **options)
    assert (made.call, made.http.turns.rate) == (call, rate)


def test_a_rate_is_above_0():
    with pytest.raises(BadOption, match=r"^--rate: a number over 0 is expected, not '0'"):
        settings("http://weather.example/mcp", rate="0")


@pytest.mark.parametrize(
    ("url", "options", "shared"),
    [
        ("http://weather.example/mcp", {}, FEW / 2),
        ("http://127.0.0.1:1/mcp", {"rate": "5"}, 2.5),
        ("http://127.0.0.1:1/mcp", {}, math.inf),
    ],
)
def test_two_workers_share_the_rate(url, options, shared):
    made = settings(url, **options)
    share_rate(made, {RATE: made.rate, "workercount": 2})
    assert made.rate == shared


def test_two_workers_with_servers_of_their_own_share_the_rate_too():
    """What the server asks of others may be limited there."""
    made = Settings(("server",), spacing=Spacing(10.0))
    share_rate(made, {RATE: made.rate, "workercount": 2})
    assert made.rate == 5.0
