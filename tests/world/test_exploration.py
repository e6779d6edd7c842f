"""Exploration: calls in rounds find arguments that work, within limits, and in the same order each time."""

from mcp_conformance.generation import example
from mcp_conformance.world.exploration import MAX_CALLS, Exploration
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.refused import MAX_SAME
from mcp_conformance.world.world import World
from support.fake_tools import FakeTools, Refused

REVISION = "2025-11-25"
TEXT = made_text(0)


def explored(server, *known, limit=MAX_CALLS, **choices):
    """Explore the tools of a server after their plain calls; return what was learned."""
    ours = Ours(frozenset({"example"}), frozenset({TEXT}))
    world = World(Ownership(TEXT, ours, **choices))
    world.add(known)
    exploration = Exploration(world, REVISION, server.call, lambda _: limit)
    first = [server.call(one, plain(one)) for one in server.tools]
    server.calls.clear()
    exploration.explore(first)
    return exploration


def plain(tool):
    return example(tool.input_schema, REVISION)


def found(value, *keys):
    return Known(value, keys, Origin("the command"), Owner.FOUND, 3)


def test_a_value_that_a_refusal_quotes_is_tried():
    def status(repo_path: str):
        if repo_path != "/srv/repo":
            raise Refused(f"Repository path '{repo_path}' is outside the allowed repository '/srv/repo'")
        return "On branch main"

    server = FakeTools(status, reading={"status"})
    assert explored(server).best_of("status").arguments == {"repo_path": "/srv/repo"}
    assert len(server.calls) <= 2


def test_what_one_tool_made_another_gets():
    notes = {}

    def read_note(note_id: str):
        if note_id not in notes:
            raise Refused(f"Note '{note_id}' not found")
        return {"text": notes[note_id]}

    def create_note(text: str):
        notes["n-42ab17"] = text
        return {"note_id": "n-42ab17", "title": text}

    server = FakeTools(read_note, create_note, reading={"read_note"})
    assert explored(server).best_of("read_note").arguments == {"note_id": "n-42ab17"}


def test_a_tool_that_may_write_gets_nothing_that_was_found():
    def set_title(path: str):
        if path != "/srv/notes/a.txt":
            raise Refused(f"No such note: '{path}'. Available: '/srv/notes/a.txt'")
        return "done"

    server = FakeTools(set_title)
    assert explored(server, found("/srv/notes/a.txt", "path")).best_of("set_title") is None
    assert not any("/srv/notes" in one["path"] for one in server.of("set_title"))
    server = FakeTools(set_title)
    best = explored(server, found("/srv/notes/a.txt", "path"), uses_found=True).best_of("set_title")
    assert best.arguments == {"path": "/srv/notes/a.txt"}


def test_deleting_comes_last():
    names = []

    def remove_item(name: str):
        names.append("remove_item")
        if TEXT not in name:
            raise Refused(f"no item '{name}'")
        return "removed"

    def put_item(name: str):
        names.append("put_item")
        if TEXT not in name:
            raise Refused(f"'{name}' is a reserved name")
        return {"name": name}

    explored(FakeTools(remove_item, put_item))
    explored_names = names[2:]
    assert explored_names.index("remove_item") > len(explored_names) - 1 - explored_names[::-1].index(
        "put_item"
    )


def test_a_tool_whose_refusals_stay_the_same_is_left_alone():
    def fail(reason: str):
        raise Refused(f"It failed ({reason}).")

    server = FakeTools(fail)
    explored(server, *(found(f"value {number}", "reason") for number in range(20)), uses_found=True)
    assert 0 < len(server.calls) <= MAX_SAME + 1


def test_a_tool_without_a_network_is_left_alone():
    def fetch(url: str):
        raise Refused("fetch failed: getaddrinfo ENOTFOUND example.org")

    server = FakeTools(fetch, reading={"fetch"})
    explored(server, found("https://example.org/a", "url"))
    assert server.calls == []


def test_a_tool_that_works_is_called_again_only_with_what_the_server_knows():
    def echo(text: str):
        return f"You said {text}"

    server = FakeTools(echo)
    exploration = explored(server)
    assert server.calls == []
    assert exploration.best_of("echo") is None


def test_another_kind_of_answer_is_worth_a_few_calls():
    def search(query: str):
        return "1 note: plans" if query == "plans" else "Nothing was found"

    server = FakeTools(search, reading={"search"})
    assert explored(server, found("plans", "query")).best_of("search").arguments == {"query": "plans"}


def test_the_calls_of_a_tool_are_limited():
    def pick(color: str, size: str, shape: str):
        raise Refused(f"refused {len(server.calls)}: no such thing")

    server = FakeTools(pick, reading={"pick"})
    values = [found(f"{key} {number}", key) for key in ("color", "size", "shape") for number in range(9)]
    explored(server, *values, limit=7)
    assert len(server.calls) <= 7


def test_the_same_answers_make_the_same_calls():
    def pick(color: str, size: str):
        if (color, size) != ("red", "large"):
            raise Refused(f"No '{size}' of '{color}'. Colors: 'blue', 'red'. Sizes: 'small', 'large'.")
        return "picked"

    first, second = FakeTools(pick, reading={"pick"}), FakeTools(pick, reading={"pick"})
    explored(first)
    explored(second)
    assert first.calls == second.calls


def test_a_tool_that_deletes_gets_a_thing_made_for_it():
    items = set()

    def create_item(name: str):
        items.add(name)
        return {"name": name}

    def read_item(item: str):
        if item not in items:
            raise Refused(f"Item '{item}' not found")
        return {"item": item}

    def delete_item(item: str):
        if item not in items:
            raise Refused(f"Item '{item}' not found")
        items.remove(item)
        return "deleted"

    server = FakeTools(delete_item, read_item, create_item, reading={"read_item"})
    exploration = explored(server)
    assert exploration.best_of("delete_item").arguments["item"] == f"{TEXT}x1"
    assert exploration.best_of("read_item").arguments["item"] in items


def test_two_members_do_not_share_a_text():
    def link(source: str, target: str):
        if {source, target} - {"alpha", "omega"}:
            raise Refused("No such thing. Available: 'alpha', 'omega'")
        return f"{source} {target}"

    server = FakeTools(link, reading={"link"})
    known = [found("alpha", "source", "target"), found("omega", "source", "target")]
    best = explored(server, *known).best_of("link")
    assert best.arguments == {"source": "alpha", "target": "omega"}


def test_a_member_that_a_refusal_needs_is_added():
    def move(id: str, target: str = ""):
        if not target:
            raise Refused("target is required")
        return f"moved {id} to {target}"

    server = FakeTools(move)
    assert explored(server).best_of("move").arguments["target"] == TEXT


def test_one_of_several_members_is_added():
    def remind(id: str, date: str = "", days: int = 0):
        if not date and not days:
            raise Refused("One of 'date' and 'days' is required.")
        if date and days:
            raise Refused("'days' is not allowed with 'date'.")
        if date:
            raise Refused("date is not a date.")
        return "done"

    server = FakeTools(remind)
    assert explored(server).best_of("remind").arguments["days"] == 1
