"""The commands for one request by hand, as a user types them."""

import io
import json
import sys

import pytest

from mcp_conformance.cli.by_hand import Opened
from mcp_conformance.cli.main import main
from mcp_conformance.target.settings import Settings
from support.running import REFERENCE

RESULT = {"content": [{"type": "text", "text": "one\x1b[31m"}]}
SERVER = """
import json, sys
TOOL = {{"name": "count", "inputSchema": {{"type": "object", "properties": {{"word": {{"type": "string"}}}}}},
         "outputSchema": {{"type": "object", "required": ["n"]}}}}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {{"initialize": {{"protocolVersion": "2025-11-25", "capabilities": {{"tools": {{}}}},
                          "serverInfo": {{"name": "s", "version": "1"}}}},
          "ping": {{}}, "tools/list": {{"tools": [TOOL]}}, "tools/call": {result}}}.get(m["method"])
    error = {{"error": {{"code": -32601, "message": "no such method"}}}}
    answer = error if r is None else {{"result": r}}
    print(json.dumps({{"jsonrpc": "2.0", "id": m["id"], **answer}}), flush=True)
"""


@pytest.fixture
def by_hand(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command on a server; it returns the status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words, server=REFERENCE):
        status = main([*words, "--revision", "2025-11-25", "--", *server])
        return status, *capsys.readouterr()

    return run


def small_server(result):
    """Return the command of a server with one tool, which has an output schema."""
    return sys.executable, "-c", SERVER.format(result=repr(result))


def test_a_call_prints_the_answer_alone_to_stdout(by_hand):
    status, out, err = by_hand("call", "add", '{"a": 1, "b": 2}')
    assert (status, json.loads(out)) == (0, {"sum": 3})
    assert "answered in" in err


def test_arguments_are_made_up_and_said(by_hand):
    status, out, err = by_hand("call", "add")
    (said,) = (line for line in err.splitlines() if line.startswith("add "))
    arguments = json.loads(said.removeprefix("add ").removesuffix(" (made up)"))
    assert (status, json.loads(out)) == (0, {"sum": arguments["a"] + arguments["b"]})


def test_arguments_come_from_stdin(by_hand, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO('{"text": "hello"}'))
    status, out, _ = by_hand("call", "echo", "-", "--json")
    assert (status, json.loads(out)["content"][0]["text"]) == (0, "hello")


def test_wrong_arguments_are_sent_and_named(by_hand):
    status, _, err = by_hand("call", "add", '{"a": 1, "b": "x"}', "--verbose")
    assert status == 1
    assert "break the inputSchema: b: 'x'" in err
    assert '> {"jsonrpc":"2.0",' in err
    assert "isError in" in err


def test_an_answer_against_the_output_schema_is_named(by_hand):
    status, out, err = by_hand("call", "count", "{}", server=small_server(RESULT))
    assert (status, out) == (1, "one\\u001b[31m\n")
    assert "broken rule: tools.structured.present" in err


def test_an_answer_of_a_wrong_form_is_named(by_hand):
    status, _, err = by_hand("call", "count", "{}", server=small_server({"structuredContent": {"n": 1}}))
    assert status == 1
    assert "broken rule: tools.call.result-content-array" in err


def test_the_tools_are_listed_with_their_members(by_hand):
    status, out, _ = by_hand("list-tools")
    assert status == 0
    assert "weather(city, units?, days?)  Give a made-up forecast for a city." in out.splitlines()


def test_a_resource_is_read(by_hand):
    status, out, err = by_hand("read", "nowhere://x")
    assert (status, out) == (1, "")
    assert "error -32" in err


def test_a_prompt_is_fetched_with_made_up_arguments(by_hand):
    status, out, err = by_hand("prompt", "greet")
    assert status == 0
    assert out.startswith("user: ")
    assert "greet {" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("call", "ad"), "call: the server lists no tool 'ad'; did you mean add?"),
        (("call", "add", "[1]"), "call: the arguments are a JSON object"),
        (("call", "add", "{"), "call: the arguments are no JSON"),
        (("prompt", "gret"), "prompt: the server lists no prompt 'gret'; did you mean greet?"),
    ],
)
def test_a_mistake_is_one_line(by_hand, words, said):
    status, _, err = by_hand(*words)
    assert status == 4
    assert said in err
    assert err.count("\n") == 1


def test_a_cut_leaves_no_part_of_a_credential(capsys):
    secret = "kJ8vQ2mZx9Lr4TbW7nYp3sDf"
    server = Opened(Settings(("server",), env={"TOKEN": secret}), None, None, None, 0)
    server.say(f"{'a' * 290}{secret}{'b' * 600}")
    said = capsys.readouterr().err
    assert not any(secret[place : place + 6] in said for place in range(len(secret) - 5))
