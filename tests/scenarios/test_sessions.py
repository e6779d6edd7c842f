"""Recorded sessions replayed on a server in memory: what counts as another answer, and what is written."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.scenarios.sessions import expect_same_answers
from mcp_conformance.tap.recordings import exchanged
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding, Skipped
from support.bench import reference_session, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"


@pytest.fixture
def session(tmp_path):
    """Return a session with the reference server, in a file."""
    found = replace(reference_session(REVISION), path=tmp_path / "recorded.jsonl")
    found.path.write_text("".join(json.dumps(row) + "\n" for row in (found.header, *found.rows)))
    return Recorded.read(found.path)


def judged(session, mutate=None, **settings):
    """Replay a session on the reference server with one ``mutate`` function; return the server."""
    chosen = replace(settings_in_memory(mutated(mutate)), **{"sessions": (session,), **settings})
    subject = probe_all(chosen, (REVISION,))
    server = Server.of(subject, REVISION)
    try:
        expect_same_answers(server, session)
    finally:
        server.close()
    return server


def replays(server):
    return server.processes.starts["recorded sessions"]


def echoing(*words):
    """Return a mutation that answers echo with one text after the other."""
    texts = iter(words)

    def mutate(server, request, reply):
        params = request.get("params", {}) if isinstance(request, dict) else {}
        if params.get("name") == "echo" and params.get("arguments", {}).get("text") == "hello":
            result = {"content": [{"type": "text", "text": next(texts)}], "isError": False}
            return {"jsonrpc": "2.0", "id": request["id"], "result": result}
        return reply

    return mutate


def without_answer(server, request, reply):
    is_echo = isinstance(request, dict) and request.get("params", {}).get("name") == "echo"
    return [] if is_echo else reply


def test_the_same_server_is_replayed_once(session):
    assert replays(judged(session)) == 1


def test_another_answer_counts_when_all_replays_have_it(session):
    with pytest.raises(Finding) as found:
        judged(session, echoing(*["bye"] * 4))
    assert str(found.value) == (
        "expected the recorded answers, got step 3 of recorded, tools/call echo with "
        '{"text": "hello"}: result.content[0].text was "hello", is "bye"'
    )
    request, then, now = found.value.lines
    assert (request.sent, then.carried_by, now.carried_by) == (True, "then", "now")


def test_what_differs_among_replays_varies(session):
    assert replays(judged(session, echoing("one", "two"))) == 2
    assert replays(judged(session, echoing("one", "one", "two"))) == 3


def test_a_missing_answer_is_found_and_ends_the_replay(session):
    with pytest.raises(Finding, match=r"step 3 of recorded.*there is no answer") as found:
        judged(session, without_answer, timeout=1.0)
    assert "more steps" not in str(found.value)


def test_what_is_accepted_passes_from_then_on(session):
    server = judged(session, echoing(*["bye"] * 4), update=True)
    (line,) = server.updated
    assert line.startswith('recorded.jsonl: step 3, tools/call echo with {"text": "hello"}: result.content')
    again = Recorded.read(session.path)
    changed = [now for then, now in zip(session.rows, again.rows, strict=True) if then != now]
    assert ["accepted" in row for row in changed] == [True]
    assert replays(judged(again, echoing("bye"))) == 1


def test_a_session_that_does_not_differ_is_not_touched(session):
    before = session.path.stat()
    assert judged(session, update=True).updated == []
    assert session.path.stat() == before


def test_a_missing_answer_is_not_accepted(session):
    with pytest.raises(Finding, match="not updated: an answer is missing"):
        judged(session, without_answer, update=True, timeout=1.0)


def test_recordings_of_the_same_requests_show_what_varies(session, tmp_path):
    rows = list(session.rows)
    place = exchanged(session)[2].row
    rows[place] = {**rows[place], "raw": rows[place]["raw"].replace("hello", "howdy")}
    other = replace(session, path=tmp_path / "other.jsonl", rows=tuple(rows))
    assert replays(judged(session, echoing("bye"), sessions=(session, other))) == 1
    newer = with_rows(other, lambda row: {**row, "raw": row["raw"].replace('"version":"', '"version":"9')})
    with pytest.raises(Finding, match=r'was "hello", is "bye"'):
        judged(session, echoing(*["bye"] * 4), sessions=(session, newer))


def with_rows(session, change):
    return replace(session, rows=tuple(map(change, session.rows)))


def renamed(row):
    return {**row, "raw": row["raw"].replace('"name":"reference"', '"name":"other"')}


def test_a_session_that_cannot_be_replayed_is_skipped_with_the_reason(session):
    def hidden(row):
        return {**row, "redacted": True} if row["sent"] else row

    def cut(row):
        return {**row, "cut_from": 20_000_000} if row["sent"] else row

    for change, reason in ((hidden, "credentials are left out"), (cut, "too long to be recorded")):
        with pytest.raises(Skipped, match=reason):
            judged(with_rows(session, change))
    with pytest.raises(Skipped, match="no request of its client has an answer"):
        judged(replace(session, rows=session.rows[:1]))


def test_a_session_is_replayed_as_far_as_calls_are_permitted(session):
    with pytest.raises(Skipped, match="it calls echo, add, which --call echo,add permits"):
        judged(session, call=())
    with pytest.raises(Skipped, match="it calls add, which --tool or --not-tool leaves out"):
        judged(session, not_tools=("add",))


def test_a_session_of_another_server_is_skipped_beside_one_of_this_server(session):
    other = with_rows(session, renamed)
    with pytest.raises(Skipped, match="it is a session of other"):
        judged(other, sessions=(other, session))
    with pytest.raises(Finding, match=r"result\.serverInfo.name was"):
        judged(other)


def test_a_file_that_was_not_written_to_its_end_is_read(session):
    session.path.write_bytes(session.path.read_bytes()[:-10])
    assert len(Recorded.read(session.path).rows) == len(session.rows) - 1
