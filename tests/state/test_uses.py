"""Which tools use what others make, as it was learned of the server with state."""

from mcp_conformance.state.uses import UseKind, uses_of
from support.scenes import Theatre

NOTES = ("list_folders", "create_note", "list_notes", "get_note", "update_note", "delete_note", "move_note")


def test_it_is_told_who_shows_changes_deletes_and_takes_what_a_tool_makes():
    theatre = Theatre("", NOTES)
    learned = theatre.learn()
    found = {(one.maker, one.tool): one for one in uses_of(learned, theatre.workables)}
    kinds = {key: one.kind for key, one in found.items()}
    assert kinds["create_note", "list_notes"] is UseKind.SHOWS
    assert kinds["create_note", "update_note"] is UseKind.CHANGES
    assert kinds["create_note", "delete_note"] is UseKind.DELETES
    assert kinds["create_note", "list_folders"] is UseKind.COUNTS
    assert found["create_note", "list_folders"].by == "`folders.notes` +1"
    assert {maker for maker, _ in found} == {"create_note"}
    use = found["create_note", "get_note"]
    assert (str(use.handle), use.member, use.seen) == ("`id` in its answer", ("id",), use.trials)
