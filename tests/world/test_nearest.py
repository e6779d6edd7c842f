"""The nearest call of a tool that never worked: which one is kept, and what it seems to lack."""

import json

import pytest

from mcp_conformance.generation import example
from mcp_conformance.target.exercise import Exercise
from mcp_conformance.world.exploration import Exploration
from mcp_conformance.world.folder import furnish
from mcp_conformance.world.nearest import form_of
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.world import World
from support.fake_tools import FakeTools, Refused, tool

REVISION = "2025-11-25"
TEXT = made_text(0)


def nearest(server, folder=None, limit=30):
    """Explore the tools of a server; return the nearest call of the first tool."""
    folders = () if folder is None else (str(folder.root),)
    world = World(Ownership(TEXT, Ours(frozenset({"example"}), frozenset({TEXT}), folders)), folder)
    if folder is not None:
        world.add(folder.known())
    world.meet(server.tools, REVISION)
    exercise = Exercise(world.origins)

    def call(tool, arguments):
        made = server.call(tool, arguments)
        exercise.count(tool, made.reply)
        exercise.keep_nearest(made, world)
        return made

    exploration = Exploration(world, REVISION, call, lambda _: limit)
    exploration.explore([call(one, example(one.input_schema, REVISION)) for one in server.tools])
    shipped = Exercise.from_data(json.loads(json.dumps(exercise.as_data())))
    assert dict(shipped) == dict(exercise)
    return shipped[server.tools[0].name].nearest


def test_a_call_with_what_exists_is_nearer_than_the_plainest(tmp_path):
    def chart(path: str, series: str):
        if not path.endswith(".xlsx"):
            raise Refused(f"Path '{path}' must end with .xlsx")
        raise Refused(f"Series '{series}' not found in {path}")

    found = nearest(FakeTools(chart, reading={"chart"}), furnish(tmp_path))
    arguments = json.loads(found.arguments)
    assert arguments["path"].startswith("{folder}/")
    assert arguments["path"].endswith(".xlsx")
    assert found.answer == f"Series '{arguments['series']}' not found in {arguments['path']}"
    assert "series" in found.lacks
    assert json.loads(found.form) == {"path": "<path>", "series": "<series>"}


@pytest.mark.parametrize(
    ("answer", "lacks"),
    [
        ("Missing required argument: mode", "the member `mode`"),
        ("File must end with .pptx", "a file that ends in .pptx"),
        ("Call open_book first", "a call of open_book first"),
        ("authentication failed: no Google credential found", "an account, or a credential for it"),
        ("It did not work", ""),
    ],
)
def test_what_it_lacks_is_read_from_the_answer(answer, lacks):
    def show(path: str, mode: str = ""):
        raise Refused(answer)

    def open_book(id: int):
        raise Refused("no")

    assert nearest(FakeTools(show, open_book, reading={"show"}), limit=0).lacks == lacks


def test_the_form_keeps_what_works_elsewhere_and_adds_what_is_missing():
    # A macro reader's proposal, read_vba {"path": "example"}, could not work.
    def show(path: str, flag: bool, mode: str = ""):
        raise Refused("Missing required argument: mode")

    def list_paths(path: str):
        if path == "example":
            raise Refused(f"'{path}' must be one of: 'north', 'south'")
        return path

    found = nearest(FakeTools(show, list_paths, reading={"show", "list_paths"}))
    form = json.loads(found.form)
    assert form["mode"] == "<mode>"
    assert form["path"] in {"north", "south"}
    assert form["flag"] in {True, False}


def test_nothing_to_fill_in_is_no_form():
    assert (
        form_of({"kind": "a", "on": True}, tool("show", {"kind": {"enum": ["a", "b"]}, "on": bool})) is None
    )


def test_a_tool_that_works_has_no_nearest_call():
    def show(path: str):
        if path == "example":
            raise Refused(f"'{path}' must be one of: 'north', 'south'")
        return "sunny"

    server = FakeTools(show, reading={"show"})
    assert nearest(server) is None
