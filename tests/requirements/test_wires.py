"""The wires on the page of a rule: what passes comes from the reference server, what fails from a mutant."""

import sys
from pathlib import Path

import pytest

from mcp_conformance.requirements.checks import checked
from support.nightly import nightly

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from http_wires import http_wires_of  # noqa: E402
from wires import wires_of  # noqa: E402

UNSEEN: tuple[str, ...] = ("backend.", "budget.", "client.", "contract.", "drift.", "http.")
UNSEEN += ("sessions.", "state.", "surroundings.")
"""The families of what no line shows, or none of the servers in memory."""
FIRST = {id.partition(".")[0]: id for id in reversed(checked()) if not id.startswith(UNSEEN)}
"""The first checked rule of each family."""


def test_a_wire_is_what_the_servers_answer():
    wires = wires_of("ping.empty-result")
    ping, pong = wires.passes
    assert wires.fails[0] == ping
    assert wires.fails[1] == pong.replace("{}", "null")


@pytest.mark.parametrize("id", FIRST.values())
@nightly
def test_the_wire_that_fails_is_not_the_one_that_passes(id):
    wires = wires_of(id)
    assert wires.fails
    assert wires.passes != wires.fails


@pytest.mark.parametrize("id", ["http.post.content-type-checked", "http.security.origin-checked"])
def test_a_wire_of_http_is_a_request_with_its_response(id):
    wires = http_wires_of(id)
    request = [line for line in wires.fails if line.startswith("> ")]
    assert request[0].endswith(" HTTP/1.1")
    assert list(wires.passes[: len(request)]) == request
    assert wires.passes != wires.fails


@pytest.mark.parametrize("id", ["tasks.id-unguessable", "mrtr.state-bound", "resources.read.path-traversal"])
def test_a_wire_is_the_same_each_time_and_names_no_folder_of_this_machine(id):
    wires = wires_of(id)
    assert wires == wires_of(id)
    assert str(DOCS.parent) not in "".join(wires.fails)
