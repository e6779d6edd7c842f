"""The jail: what a tool that may write can be given, and what takes the place of the rest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_conformance.generation import NoExample
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.world.jail import Jail
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.naming import Places, is_fresh
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.store import Store
from support.fake_tools import tool

TEXT = made_text(0)
OURS = Ours(frozenset({"example"}), frozenset({TEXT}), ("/run/ours",))
REVISION = "2025-11-25"
SAVES = tool("save_file", {"path": str, "content": str})
DELETES = tool("delete_record", {"record": str})
READS = tool("read_file", {"path": str}, reads=True)


def jail(*tools, places=(), is_confined=True, **choices):
    """Return a jail that knows these tools."""
    made = Jail(Store(Ownership(TEXT, OURS, **choices)), Places(places))
    made.meet(tools or (SAVES, DELETES, READS), REVISION)
    made.is_confined = lambda: is_confined
    return made


def given_for(held, one, **arguments):
    return held.arguments(one, arguments)


HOSTILE = (
    *("", ".", "..", "../up", "/", "~", "~/notes", "/etc/hosts", "C:\\", "\\\\host\\share", "*", " ", "\0"),
    *("%2e%2e%2fup", "%252e%252e/up", "\uff0e\uff0e\uff0fup", "a/../../b", "file:///etc/hosts", "NUL", "a"),
    *("up\0/../../etc", "/run/ours/../../etc/hosts", "example", "README.md", "config.json"),
)
FRESH = (TEXT, f"a {TEXT}", f"notes/{TEXT}.md", f"../{TEXT}", "/run/ours/work/a.txt")


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("one", [SAVES, DELETES], ids=lambda one: one.name)
def test_a_value_that_could_be_somebodys_becomes_one_of_this_run(one, value):
    member = "path" if one is SAVES else "record"
    held = given_for(jail(), one, **{member: value, **({"content": "x"} if one is SAVES else {})})
    assert held[member] != value
    assert TEXT in held[member] or held[member].startswith("/run/ours/")
    assert is_fresh(held[member], [TEXT], OURS)


@pytest.mark.parametrize("value", ["", "..", "/etc/hosts", "example"])
def test_a_tool_that_reads_gets_all(value):
    assert given_for(jail(), READS, path=value) == {"path": value}


def test_the_content_of_something_names_nothing():
    arguments = {"path": f"{TEXT}.txt", "content": "../%s '; --"}
    assert given_for(jail(), SAVES, **arguments) == arguments
    ending = tool("delete_lines", {"content": str})
    assert given_for(jail(ending), ending, content="..") == {"content": f"../{TEXT}"}


@pytest.mark.parametrize(
    "value", [TEXT, f"a {TEXT}", f"notes/{TEXT}.md", f"../{TEXT}", "/run/ours/work/a.txt"]
)
def test_what_is_ours_is_sent_as_it_is(value):
    assert given_for(jail(), DELETES, record=value) == {"record": value}


@pytest.mark.parametrize("value", [f"/{TEXT}", f"../../{TEXT}", f"{TEXT}/../x", f"~/{TEXT}", f"/etc/{TEXT}"])
def test_the_word_of_the_run_does_not_open_a_place_of_others(value):
    held = given_for(jail(), DELETES, record=value)["record"]
    assert held != value
    assert is_fresh(held, [TEXT], OURS)


@given(
    st.text(max_size=40)
    | st.sampled_from(["../", "/", "~", ".", "%2e", "\\", "\0", TEXT]).flatmap(
        lambda part: st.lists(st.sampled_from([part, "a", "/", "..", TEXT]), max_size=6).map("".join)
    )
)
def test_whatever_is_sent_is_ours_however_it_is_read(value):
    held = jail()
    sent = given_for(held, DELETES, record=value)["record"]
    assert is_fresh(sent, [TEXT], OURS)
    assert given_for(held, DELETES, record=sent) == {"record": sent}


def test_the_wire_is_held_too():
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    message["params"] = {"name": "delete_record", "arguments": {"record": "/etc/hosts"}}
    line = jail().line(Line.sending(message))
    assert json.loads(line.raw) == line.message
    assert line.message["params"]["arguments"] == {"record": "/run/ours/outside/etc/hosts"}
    assert jail().line(line).raw == line.raw


def test_a_line_that_no_parser_reads_is_held_as_well():
    raw = b'{"method":"tools/call","params":{"arguments":{"record":1e400,"record":"..","x":[[['
    held = jail().line(Line(True, raw + b'],"name":"delete_record"}'))
    assert b'".."' not in held.raw
    assert f'"../{TEXT}"'.encode() in held.raw


def test_each_call_of_a_batch_is_held_by_its_own_tool():
    calls = [
        {"method": "tools/call", "params": {"name": name, "arguments": {"path": "..", "record": ".."}}}
        for name in ("read_file", "delete_record")
    ]
    first, second = json.loads(jail().line(Line.sending(calls)).raw)
    assert first["params"]["arguments"]["path"] == ".."
    assert second["params"]["arguments"]["record"] == f"../{TEXT}"


def test_names_of_members_are_held_where_they_may_be_any():
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    one = tool("save_all", {"files": schema})
    held = given_for(jail(one), one, files={"README.md": "text", TEXT: "text"})
    assert "README.md" not in held["files"]
    assert TEXT in held["files"]


def test_a_value_of_the_users_own_example_is_sent():
    held = jail()
    held.vouch("delete_record", {"record": "README.md"})
    assert given_for(held, DELETES, record="README.md") == {"record": "README.md"}
    assert given_for(held, SAVES, path="README.md", content="x")["path"] != "README.md"


def test_a_word_of_the_schema_is_sent_unless_it_exists(tmp_path):
    one = tool("set_mode", {"mode": {"type": "string", "enum": ["fast", "slow"]}})
    assert given_for(jail(one, places=[tmp_path]), one, mode="fast") == {"mode": "fast"}
    (tmp_path / "fast").touch()
    assert given_for(jail(one, places=[tmp_path]), one, mode="fast") is None


def test_a_member_that_takes_letters_alone_gets_letters():
    one = tool("drop_table", {"table": {"type": "string", "pattern": "^[a-z]+$"}})
    sent = given_for(jail(one), one, table="users")["table"]
    assert sent.isalpha()
    assert sent != "users"


@pytest.mark.parametrize(("value", "is_sent"), [(1, False), (0, False), (2**31, True), (1.5, True)])
def test_an_id_is_a_number_that_nobody_has(value, is_sent):
    one = tool("delete_note", {"note_id": {"type": "number"}})
    assert (given_for(jail(one), one, note_id=value)["note_id"] == value) is is_sent


def test_a_number_that_names_nothing_is_sent():
    one = tool("add", {"a": int, "b": int})
    assert given_for(jail(one), one, a=0, b=-1) == {"a": 0, "b": -1}


def test_an_id_of_what_a_call_has_made_is_sent():
    one = tool("delete_note", {"note_id": {"type": "integer"}})
    held = jail(one)
    held._store.add([Known(7, ("id",), Origin("an answer of", "create_note"), Owner.MADE, 3)])
    assert given_for(held, one, note_id=7) == {"note_id": 7}
    line = Line.sending({"method": "tools/call", "params": {"name": one.name, "arguments": {"note_id": 8}}})
    assert held.line(line, [b"8"]) is line


def test_a_tool_that_was_seen_to_write_is_held():
    held = jail()
    held.distrust("read_file")
    assert given_for(held, READS, path="..") == {"path": f"../{TEXT}"}


def test_a_name_that_begins_with_taking_away_is_not_believed():
    one = tool("delete_file", {"path": str}, reads=True)
    assert given_for(jail(one), one, path="/etc/hosts") != {"path": "/etc/hosts"}


@pytest.mark.parametrize("arguments", [{}, {"record": None}, {"record": []}, {"record": {"a": True}}])
def test_a_tool_that_deletes_is_told_what_where_nothing_holds_it(arguments):
    text = json.dumps(arguments).encode()
    assert jail().text("delete_record", text) == text
    with pytest.raises(NoExample, match="takes things away, and is not called without 'record'"):
        jail(is_confined=False).text("delete_record", text)


def test_nothing_is_held_where_nothing_of_the_users_can_be_written():
    held = jail(is_closed=True)
    assert given_for(held, DELETES, record="/etc/hosts") == {"record": "/etc/hosts"}
