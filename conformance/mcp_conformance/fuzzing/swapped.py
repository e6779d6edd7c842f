"""Calls in flight at the same time that get each other's results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_conformance import remedies
from mcp_conformance.client.in_flight import Response, Window
from mcp_conformance.client.tool_call import Call
from mcp_conformance.verdicts import ECHO, Finding

Results = dict[str, str]
"""The result that a call has alone, by its tool and arguments; both as JSON."""


def call_key(params: Any) -> str:
    """Return the tool and the arguments of a call, as JSON."""
    return _text([params.get("name"), params.get("arguments")])


def result_alone(call: Call, window: Window) -> str:
    """Return the result of a call that was made once more, as JSON; empty if it is not the same again."""
    before = _result(call.reply.line.message) if call.reply.line is not None else ""
    again = [_result(one.message) for one in window.answers if _key(one) == call_key(call.params)]
    return before if again == [before] else ""


def _result(message: Any) -> str:
    """Return what a response says, as JSON without its ``_meta``; empty if it is not a result."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict):
        return ""
    return _text({name: value for name, value in result.items() if name != "_meta"})


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def swapped_results(known: Results, window: Window) -> Iterator[Finding]:
    """Yield calls with the result of another call, if that one has not got it either, but a third one's.

    Only results that one call alone has show whose they are.  A call that only changes what another shows,
    as "on" sets what "state" reads, keeps its own result, so neither is reported.
    """
    owners = {text: key for key, text in known.items() if Counter(known.values())[text] == 1}
    taken = [(one, owner) for one in window.answers if (owner := _owner(one, known, owners))]
    lost = {_key(one): one for one, _ in taken}
    for one, owner in taken:
        if owner in lost:
            yield _swapped(one, lost[owner])
            return


def _owner(answer: Response, known: Results, owners: Mapping[str, str]) -> str:
    """Return the call whose result an answer has; empty if that is its own, or not known."""
    key = _key(answer)
    owner = owners.get(_result(answer.message), "") if key in known else ""
    return "" if owner == key else owner


def _key(answer: Response) -> str:
    request = answer.request.message if answer.request is not None else {}
    params = request.get("params")
    is_call = request.get("method") == "tools/call" and isinstance(params, dict)
    return call_key(params) if is_call else ""


def _swapped(one: Response, other: Response) -> Finding:
    """Return the finding that a call has the result of another one."""
    assert one.request is not None
    assert other.request is not None
    name, other_params = one.request.message["params"]["name"], other.request.message["params"]
    whose = f"{other_params['name']} {json.dumps(other_params['arguments'])}"
    got = f"that of {whose}, which was called at the same time"
    lines = (one.request, one.line, other.request, other.line)
    return Finding(f"the result that {name} has alone", got, lines, ECHO, fix=remedies.RESULT_OF_ANOTHER)
