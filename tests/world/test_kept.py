"""What a run learned is kept for the next one, by the command and the tools' definitions."""

import json
import os
import threading
from pathlib import Path
from types import MappingProxyType

import pytest

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import example
from mcp_conformance.protocol.value import Value
from mcp_conformance.world.exploration import Exploration, needs_exploration
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.kept import Kept
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.replay import replay
from mcp_conformance.world.worked import Working
from mcp_conformance.world.world import World
from support.fake_tools import FakeTools, Refused

REVISION = "2025-11-25"
NOTHING = MappingProxyType({})
WORDS = ("--", "server", "--root", "{folder}")
REFUSAL = "There is no note \N{BULLET}."
ONE, OTHER = (Folder(Path("/tmp", name).absolute()) for name in ("one", "other"))


def tool(name="get_note", description="Get a note.", *, read_only=True):
    hints = {"readOnlyHint": read_only}
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    return Tool(
        Value({"name": name, "description": description, "inputSchema": schema, "annotations": hints})
    )


def known(value, owner=Owner.FOUND):
    return Known(value, ("id", "notes"), Origin("an answer of", "list_notes"), owner, 3)


def working(value, owner=Owner.FOUND):
    return Working("get_note", {"id": value}, {("id",): known(value, owner)}, (("id",),))


def kept(directory, folder=ONE, circumstances=()):
    return Kept.of(directory, WORDS, folder, circumstances)


def written(directory, one, folder=ONE):
    file = kept(directory, folder)
    file.put(tool(), one)
    file.write()
    return kept(directory, folder)


def test_arguments_come_back(tmp_path):
    file = written(tmp_path, working("n-1"))
    assert file.working(tool()) == working("n-1")
    assert not file.is_futile(tool(), REFUSAL)


def test_a_tool_that_refused_all_is_kept_too(tmp_path):
    file = kept(tmp_path)
    file.meet([tool()])
    file.put_futile(tool(), REFUSAL)
    file.write()
    file = kept(tmp_path)
    file.meet([tool()])
    assert file.working(tool()) is None
    assert file.is_futile(tool(), REFUSAL)


def test_a_tool_is_explored_again_when_something_has_changed(tmp_path):
    file = kept(tmp_path, circumstances=["1.0", "readonly"])
    file.meet([tool(), tool("list_notes")])
    file.put_futile(tool(), REFUSAL)
    file.write()

    def is_futile(refusal=REFUSAL, circumstances=("1.0", "readonly"), others=("list_notes",)):
        found = kept(tmp_path, circumstances=circumstances)
        found.meet([tool(), *map(tool, others)])
        return found.is_futile(tool(), refusal)

    assert is_futile()
    assert not is_futile(refusal="Not allowed.")
    assert not is_futile(circumstances=("1.1", "readonly"))
    assert not is_futile(circumstances=("1.0", "all"))
    assert not is_futile(others=("list_notes", "create_note"))


def test_the_folder_of_the_next_run_stands_for_that_of_this_one(tmp_path):
    written(tmp_path, working(str(ONE.root / "example.txt"), Owner.MADE))
    assert kept(tmp_path, OTHER).working(tool()) == working(str(OTHER.root / "example.txt"), Owner.MADE)


def test_of_a_changed_tool_or_another_command_nothing_is_known(tmp_path):
    file = written(tmp_path, working("n-1"))
    assert file.working(tool(description="Get it.")) is None
    assert file.working(tool(read_only=False)) is None
    assert file.working(tool("other")) is None
    assert Kept.of(tmp_path, (*WORDS, "--more")).working(tool()) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": 1, "tools": {}}', '{"format": 2, "tools": 3}', '{"format": 2', "[" * 100_000],
    ids=lambda text: text[:30],
)
def test_a_broken_file_is_an_empty_one(tmp_path, text):
    path = written(tmp_path, working("n-1")).path
    path.write_text(text)
    assert kept(tmp_path).working(tool()) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
@pytest.mark.parametrize("instead", ["pipe", "device", "folder"])
def test_what_is_no_file_is_not_read(tmp_path, instead):
    path = written(tmp_path, working("n-1")).path
    path.unlink()
    if instead == "pipe":
        os.mkfifo(path)
    elif instead == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert kept(tmp_path).working(tool()) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links need a right on Windows")
@pytest.mark.parametrize("shipped", [".mcp-conformance", ".mcp-conformance/known", "file", "names"])
def test_nothing_is_kept_through_links_that_a_repository_ships(tmp_path, monkeypatch, shipped):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("mine")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    directory = Path(".mcp-conformance")
    path = kept(directory).path
    if shipped in ("file", "names"):
        path.parent.mkdir(parents=True)
        names = [path] if shipped == "file" else [path.with_suffix(f".{os.getpid()}")]
        for link in [*names, path.with_suffix(".lock")]:
            link.symlink_to(mine / "file" if link == names[0] else mine / "lock")
    else:
        Path(shipped).parent.mkdir(exist_ok=True)
        Path(shipped).symlink_to(mine)
    with kept(directory).turn(0):
        written(directory, working("n-1"))
    assert [(one.name, one.read_text()) for one in mine.iterdir()] == [("file", "mine")]


CHANGES = [
    {
        "working": {
            "arguments": {},
            "needed": [],
            "known": [{"path": [], "value": 1, "keys": [], "origin": [], "owner": 1, "rank": 1e400}],
        }
    },
    {"working": None},
    {"working": 3},
    {"working": {}},
    {"working": {"arguments": 3, "known": [], "needed": []}},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_broken_entry_is_none(tmp_path, change):
    path = written(tmp_path, working("n-1")).path
    content = json.loads(path.read_text())
    content["tools"]["get_note"] |= change
    path.write_text(json.dumps(content))
    assert kept(tmp_path).working(tool()) is None
    assert not kept(tmp_path).is_futile(tool(), REFUSAL)


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path):
    (tmp_path / "file").touch()
    assert written(tmp_path / "file", working("n-1")).working(tool()) is None


def world(file, *, uses_found=False):
    return World(Ownership("example1", Ours(), uses_found), None, file)


def test_a_tool_that_may_write_gets_back_no_value_that_was_found(tmp_path):
    for read_only, uses_found, gets in ((True, False, True), (False, False, False), (False, True, True)):
        one = tool(read_only=read_only)
        file = kept(tmp_path)
        file.put(one, working("n-1"))
        found = world(file, uses_found=uses_found)
        found.recall([one])
        assert bool(found.worked["get_note"]) is gets


def test_what_an_earlier_run_made_was_there_before_this_one(tmp_path):
    for read_only, gets in ((True, True), (False, False)):
        one = tool(read_only=read_only)
        file = kept(tmp_path)
        file.put(one, working("n-1", Owner.MADE))
        found = world(file)
        found.recall([one])
        assert bool(found.worked["get_note"]) is gets
        found.add([known("n-1", Owner.MADE)])
        assert found.store.permitted(one)


def test_a_world_keeps_what_worked(tmp_path):
    found = world(kept(tmp_path))
    with found.shared([tool()], 1.0):
        found.worked.add(working("n-1"), [])
    assert kept(tmp_path).working(tool()) == working("n-1")


def test_two_processes_keep_what_each_has_learned(tmp_path):
    first, second = kept(tmp_path), kept(tmp_path)
    first.put(tool(), working("n-1"))
    second.put(tool("other"), working("n-2"))
    first.write()
    second.write()
    assert kept(tmp_path).working(tool()) == working("n-1")
    assert kept(tmp_path).working(tool("other")) is not None


def run(file, server, given=NOTHING, **choices):
    """Explore the tools of a server as one run does; return how often the tools were called for that."""
    found = World(Ownership("example1", Ours(frozenset({"example"})), **choices), None, file, given)
    found.meet(server.tools, REVISION)

    def first(tool):
        worked = found.working(tool, REVISION)
        return dict([*given.get(tool.name, ()), *worked, example(tool.input_schema, REVISION)][0])

    begun = [server.call(tool, first(tool)) for tool in server.tools]
    server.calls.clear()
    with found.shared(server.tools, 1.0):
        Exploration(found, REVISION, server.call).explore(begun)
    return len(server.calls)


def shop(word="item"):
    """Return a server with a tool that works on a color only, and one that refuses all."""

    def paint(color: str):
        if color != "teal":
            raise Refused(f"'{color}' is no color. Use one of: 'teal'.")
        return "painted"

    def fetch_item(item: str):
        raise Refused(f"There is no {word} '{item}'. Try 'one', 'two' or 'three'.")

    return FakeTools(paint, fetch_item, reading={"fetch_item"})


def test_the_next_run_explores_nothing(tmp_path):
    assert run(kept(tmp_path), shop()) > 1
    assert run(kept(tmp_path), shop()) == 0


def test_a_tool_that_refuses_otherwise_is_explored_again(tmp_path):
    run(kept(tmp_path), shop())
    assert run(kept(tmp_path), shop("thing")) > 0


KEY = "a b c d 81723"
GIVEN = {"login": [{"api_key": KEY, "user": "olaf@example.org"}]}


def test_what_the_user_gives_is_neither_kept_nor_given_to_others(tmp_path):
    def login(api_key: str, user: str):
        return f"{user} is here."

    def remove_user(user: str, api_key: str):
        raise Refused("Not this one.")

    def find_user(user: str):
        if user != "olaf@example.org":
            raise Refused(f"There is no user '{user}'.")
        return f"{user} is a user."

    server = FakeTools(login, remove_user, find_user, reading={"find_user"})
    file = kept(tmp_path)
    assert run(file, server, GIVEN) > 0
    assert {"user": "olaf@example.org"} in server.of("find_user")
    assert "olaf@example.org" not in str(server.of("remove_user"))
    assert KEY not in str(server.calls)
    written = file.path.read_text()
    assert KEY not in written
    assert "olaf" not in written


def test_a_number_that_the_user_gives_for_one_tool_is_not_changed_by_another(tmp_path):
    def get_issue(issue_number: int):
        if issue_number != 50177:
            raise Refused("There is no such issue.")
        return {"issue_number": issue_number, "title": "Cold soup"}

    def label_issue(issue_number: int):
        raise Refused(f"There is no issue {issue_number}.")

    server = FakeTools(get_issue, label_issue, reading={"get_issue"})
    run(kept(tmp_path), server, {"get_issue": [{"issue_number": 50177}]})
    assert {"issue_number": 50177} not in server.of("label_issue")


def test_who_comes_second_waits_and_knows_what_the_first_has_learned(tmp_path):
    first, second = kept(tmp_path), kept(tmp_path)
    is_waiting, seen = threading.Event(), []

    def wait():
        is_waiting.set()
        with second.turn():
            seen.append(second.working(tool()))

    thread = threading.Thread(target=wait)
    with first.turn():
        thread.start()
        is_waiting.wait()
        first.put(tool(), working("n-1"))
        first.write()
        assert not seen
    thread.join()
    assert seen == [working("n-1")]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**4000], ids=["nan", "inf", "long"])
def test_a_definition_may_have_a_number_that_json_has_not(number, tmp_path):
    schema = {"type": "object", "properties": {"a": {"minimum": number}}}
    one, first = Tool(Value({"name": "get_note", "inputSchema": schema})), kept(tmp_path)
    first.meet([one])
    first.put(one, working("n-1"))
    first.write()
    assert kept(tmp_path).working(one) == working("n-1")


def again(file, server, runs=0):
    """Make the calls that a run has kept, then explore what does not work; return the numbers of both."""
    text = made_text(0, runs)
    file.text = text
    found = World(Ownership(text, Ours(frozenset({"example"}), frozenset({text}))), None, file)
    found.meet(server.tools, REVISION)
    calls = replay(found, server.tools, server.call, lambda _: True)
    replayed = len(server.calls)
    worked = {name: some[0] for name, some in calls.items() if not needs_exploration(some[0])}

    def first(tool):
        known = found.working(tool, REVISION)
        return server.call(tool, dict([*known, example(tool.input_schema, REVISION)][0]))

    begun = [worked.get(tool.name) or first(tool) for tool in found.in_order(server.tools)]
    server.calls.clear()
    exploration = Exploration(found, REVISION, server.call)
    exploration.replayed.update(worked)
    with found.shared(server.tools, 1.0):
        exploration.explore(begun)
    return replayed, len(server.calls)


def depot(*, lasts=None, ids=None, forgets=False):
    """Return a server like git: what was staged can be committed once; what is named can be named once.

    ``lasts`` are the names and changes that are there, ``ids`` number what is made; ``forgets`` leaves out
    the staging.
    """
    there, numbers, staged = lasts if lasts is not None else set(), ids or iter(range(1, 99)), []

    def add_file(name: str):
        if not name.startswith("example") or name in there:
            raise Refused(
                f"There is no new file '{name}'. Use one of: 'example-file'." if not there else "None."
            )
        staged.append(name)
        return f"staged {name}"

    def commit(message: str):
        if forgets or not staged:
            raise Refused("Nothing is staged. Use add_file first.")
        there.update(staged)
        staged.clear()
        return {"id": f"c-{next(numbers)}", "message": message}

    def show_commit(id: str):
        if not id.startswith("c-") or (made := int(id[2:])) >= next(numbers):
            raise Refused(f"There is no commit '{id}'.")
        return {"id": id, "place": made, "text": "a change"}

    def reset():
        staged.clear()
        return "nothing is staged"

    return FakeTools(add_file, reset, commit, show_commit, reading={"show_commit"})


def test_the_next_run_makes_the_calls_that_worked_in_their_order(tmp_path):
    assert again(kept(tmp_path), depot())[1] > 0
    replayed, explored = again(kept(tmp_path), depot())
    assert (replayed > 0, explored) == (True, 0)


def test_the_next_run_names_its_own_things(tmp_path):
    there = set()
    again(kept(tmp_path), depot(lasts=there))
    file = kept(tmp_path)
    assert file.runs == 1
    assert again(file, depot(lasts=there, ids=iter(range(50, 99))), runs=1)[1] == 0
    assert len(there) == 2, there


def test_what_does_not_work_again_is_explored_again(tmp_path):
    again(kept(tmp_path), depot())
    assert again(kept(tmp_path), depot(forgets=True))[1] > 0
