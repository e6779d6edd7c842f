"""What is learned of a server with state: links, effects and noise, each seen three times."""

import pytest

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.value import Value
from mcp_conformance.state.kinds import Kind, kinds_of
from mcp_conformance.state.links import Doing
from mcp_conformance.state.paging import limits_for
from support.scenes import Theatre
from support.state import KINDS_OF_SERVERS

FILES = ("write_file", "read_file", "list_files", "delete_file")
NOTES = ("create_note", "get_note", "list_notes", "update_note", "delete_note")


def links_of(learned):
    return {(one.maker, one.tool) for thing in learned.things for one in thing.links}


def test_links_are_found_by_what_reads_show():
    theatre = Theatre()
    learned = theatre.learn()
    assert learned.is_whole
    assert links_of(learned) >= {
        ("create_folder", "list_folders"),
        ("create_note", "list_notes"),
        ("create_note", "get_note"),
        ("increment_counter", "read_counter"),
        ("write_file", "read_file"),
        ("write_file", "list_files"),
    }
    assert all(one.seen == one.trials == 3 for thing in learned.things for one in thing.links)
    assert len(theatre.shop.hand.calls) < 500
    assert theatre.shop.hand.counts.keys() == {"noise", "links", "counts", "effects"}


def test_what_tools_do_is_seen():
    kinds = kinds_of(Theatre().learn().things)
    assert kinds["create_folder"] == {Kind.CREATES}
    assert kinds["get_note"] == {Kind.READS}
    assert Kind.CHANGES in kinds["update_note"]
    assert kinds["delete_note"] == {Kind.DELETES}
    assert kinds["delete_file"] == {Kind.DELETES}


@pytest.mark.parametrize("name", ["", "answers_have_a_clock_and_a_number"])
def test_what_counts_is_seen(name):
    learned = Theatre(name).learn()
    [count] = learned.counts
    said = "`list_folders` counts what `create_note` makes (`folders.notes` +1): seen in 3 of 3"
    assert str(count) == said
    counted = {one.tool: one for thing in learned.things for one in thing.doing(Doing.COUNTS)}
    assert counted.keys() == {"create_note", "increment_counter"}
    said = "`increment_counter` counts what it makes, as `read_counter` shows (`value` +1): seen in 3 of 3"
    assert str(counted["increment_counter"]) == said
    assert (counted["increment_counter"].by, counted["increment_counter"].drift) == ("`value` +1", 0)
    kinds = kinds_of(learned.things, learned.counts)
    assert kinds["list_folders"] == {Kind.READS, Kind.COUNTS}
    assert Kind.COUNTS in kinds["increment_counter"]


def test_a_number_that_looking_moves_too_is_known():
    learned = Theatre(
        "reading_a_counter_adds_to_it", ("increment_counter", "read_counter", "list_files")
    ).learn()
    [counts] = [one for thing in learned.things for one in thing.doing(Doing.COUNTS)]
    assert (counts.step, counts.drift) == (1, 1)


def test_a_link_says_what_it_was_inferred_from():
    thing = next(one for one in Theatre(tools=NOTES).learn().things if one.maker.name == "create_note")
    [read] = [one for one in thing.links if one.tool == "get_note"]
    said = "`create_note` makes what `get_note` reads (found by `id` in its answer): seen in 3 of 3"
    assert str(read) == said
    assert [one.tool for one in thing.doing(Doing.DELETES)] == ["delete_note"]
    [deletes] = thing.doing(Doing.DELETES)
    assert str(deletes).endswith("`list_notes`, `get_note` show: seen in 3 of 3")


def test_a_reader_that_answers_with_an_error_shows_nothing():
    theatre = Theatre(tools=(*NOTES, "read_counter"))
    ask = theatre._ask
    theatre._ask = lambda tool, given: (
        theatre.session.request("conformance/none") if tool == "read_counter" else ask(tool, given)
    )
    learned = theatre.learn()
    assert ("create_note", "get_note") in links_of(learned)
    assert learned.noise.places("read_counter") == frozenset()


def test_nothing_is_learned_where_nothing_is_made():
    learned = Theatre(tools=("list_folders", "list_files", "search")).learn()
    assert learned.things == ()


def test_a_tool_that_replaces_makes_no_lasting_thing():
    learned = Theatre(tools=("update_note", "get_note")).learn()
    assert [one.lasts for one in learned.things] == [False]


def test_learning_ends_with_its_budget():
    theatre = Theatre(max_calls=40)
    learned = theatre.learn()
    assert not learned.is_whole
    assert len(theatre.shop.hand.calls) <= 40


def test_clocks_and_random_ids_are_noise():
    theatre = Theatre("answers_have_a_clock_and_a_number", tools=FILES)
    noise = theatre.learn().noise
    assert {place[0] for place in noise.places("list_files")} == {"answer"}


@pytest.mark.parametrize("name", ["", "names_are_made_of_what_was_given"])
def test_only_what_this_run_made_is_changed(name):
    theatre = Theatre(name, tools=NOTES)
    theirs = theatre.result("create_note", folder=theatre.folder, title="theirs", text="text")
    theatre.learn()
    assert theatre.result("get_note", id=theirs["id"]) == theirs


def test_the_fixture_has_all_servers():
    assert "" in KINDS_OF_SERVERS


def test_a_limit_is_raised_to_its_maximum_or_to_a_hundred():
    def limits(**members):
        definition = {"name": "list", "inputSchema": {"type": "object", "properties": members}}
        return limits_for(Tool(Value(definition, "tool", ())), {})

    number = {"type": "integer"}
    assert limits(limit=number, max_results=number | {"maximum": 20}) == {
        ("limit",): 100,
        ("max_results",): 20,
    }
    assert limits(page=number, limit={"type": "string"}) == {}
