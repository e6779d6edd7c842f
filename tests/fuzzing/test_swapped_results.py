"""Results of calls at once: whose they are is said only where nothing else explains it."""

import json
from types import SimpleNamespace

import pytest

from mcp_conformance.client.in_flight import Response
from mcp_conformance.fuzzing.swapped import call_key, swapped_results
from mcp_conformance.protocol.jsonrpc import Line


def result(text):
    return {"content": [{"type": "text", "text": text}]}


def found(alone, came):
    """Return what is reported of tools: the text of each ``alone``, and those that ``came`` in a crowd."""
    keys = {name: call_key({"name": name, "arguments": {}}) for name in alone}
    known = {keys[name]: json.dumps(result(text), sort_keys=True) for name, text in alone.items()}
    answers = []
    for id, (name, text) in enumerate(came):
        params = {"name": name, "arguments": {}}
        request = Line.sending({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        message = {"jsonrpc": "2.0", "id": id, "result": result(text)}
        answers.append(Response(Line.received(json.dumps(message).encode()), message, request))
    return [(one.expected, one.got) for one in swapped_results(known, SimpleNamespace(answers=answers))]


ALONE = {"a": "1", "b": "2", "c": "3"}


@pytest.mark.parametrize(
    "came",
    [
        [("a", "2"), ("b", "3"), ("c", "1")],
        [("a", "2"), ("b", "1"), ("c", "3")],
        [("a", "1"), ("a", "2"), ("b", "1"), ("c", "3")],
    ],
    ids=["all rotate", "two are swapped", "once of twice"],
)
def test_a_call_with_the_result_of_another_is_reported_once(came):
    ((expected, got),) = found(ALONE, came)
    assert expected == "the result that a has alone"
    assert got == "that of b {}, which was called at the same time"


@pytest.mark.parametrize(
    ("alone", "came"),
    [
        (ALONE, [("a", "1"), ("b", "2"), ("c", "3")]),
        ({"switch": "on", "state": "off"}, [("switch", "on"), ("state", "on")]),
        ({"a": "done", "b": "done", "c": "3"}, [("a", "3"), ("b", "done"), ("c", "done")]),
        (ALONE, [("a", "4"), ("b", "5"), ("c", "6")]),
        (ALONE, [("d", "1"), ("a", "1"), ("b", "2")]),
    ],
    ids=["own results", "one changes another", "equal results", "results nobody had", "an unknown call"],
)
def test_results_that_may_be_a_calls_own_are_not_reported(alone, came):
    assert found(alone, came) == []
