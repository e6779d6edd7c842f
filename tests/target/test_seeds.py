"""What recorded sessions give to a run: the calls that worked are made first, and their values are known."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.seeds import recorded_calls, values_of_sessions
from mcp_conformance.target.server import Server
from mcp_conformance.world.known import Owner
from support.bench import reference_session, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
ID = "note-4711"


def only_what_exists(server, request, reply):
    """Let echo work with one text only, as a tool does that gets the id of a thing."""
    params = request.get("params", {}) if isinstance(request, dict) else {}
    if params.get("name") == "echo" and params.get("arguments", {}).get("text") != ID:
        result = {"content": [{"type": "text", "text": "There is no such thing."}], "isError": True}
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}
    return reply


def session(text=ID):
    """Return a session with the reference server in which another text was echoed."""
    found = reference_session(REVISION)
    rows = [{**row, "raw": row["raw"].replace("hello", text)} for row in found.rows]
    return replace(found, rows=tuple(rows))


def called(*sessions):
    """Return the call of echo on a server that knows one id, and its arguments in their order."""
    chosen = replace(settings_in_memory(mutated(only_what_exists)), sessions=sessions)
    server = Server.of(probe_all(chosen, (REVISION,)), REVISION)
    try:
        call = server.call(server.tool("echo"))
        return call, server.arguments.origins(call.tool, call.arguments)
    finally:
        server.close()


def test_a_tool_that_needs_an_id_works_with_that_of_a_session():
    call, origins = called(session())
    assert (call.failed, call.arguments, call.others) == (False, {"text": ID}, ())
    assert origins == ("a recorded session",)
    assert called()[0].failed


def test_a_recorded_call_that_works_no_more_is_one_of_several():
    call, _ = called(session("note-0815"))
    assert call.failed
    assert {"text": "note-0815"} in [one.arguments for one in call.with_others]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda raw: raw, ["echo", "add"]),
        (lambda raw: raw.replace('"text":"', '"text":"***'), ["add"]),
        (lambda raw: raw.replace('"isError":false', '"isError":true'), ["add"]),
    ],
)
def test_calls_that_worked_without_credentials_are_seeds(change, found):
    rows = [{**row, "raw": change(row["raw"])} for row in session().rows]
    assert list(recorded_calls([replace(session(), rows=tuple(rows))])) == found


def test_values_of_recorded_requests_are_known_by_their_names():
    known = {json.dumps(one.value): (one.keys, one.owner) for one in values_of_sessions([session()])}
    assert known[f'"{ID}"'] == (("text",), Owner.FOUND)
    assert known['"Ann"'] == (("name",), Owner.FOUND)
    assert known["2"] == (("b",), Owner.FOUND)


def test_a_session_with_unusual_parameters_has_no_values():
    rows = [
        {"sent": True, "at": 0.0, "raw": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}'},
        {"sent": False, "at": 0.1, "raw": '{"jsonrpc":"2.0","id":1,"result":{}}'},
    ]
    unusual = Recorded(session().path, (), tuple(rows))
    assert (recorded_calls([unusual]), list(values_of_sessions([unusual]))) == ({}, [])
