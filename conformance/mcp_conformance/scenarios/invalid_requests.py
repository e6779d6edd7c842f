"""Requests and calls that a server must reject, made from what it offers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from mcp_conformance.client.refusals import (
    FEATURE_REQUESTS,
    MISSHAPEN,
    NO_SUCH_NAME,
    NO_SUCH_URI,
    NOT_FOUND,
    same_refusal,
    words,
)
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import NO_PARAMS
from mcp_conformance.client.thrown import INTERNAL_ERROR
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import expect_error, skip
from mcp_conformance.generation import Invalid, NoExample, clearly_invalid, invalid_since_2020_12
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Cause, Skipped

MALFORMED_PARAMS: Mapping[str, Any] = {"absent": NO_PARAMS, "empty": {}, "number": {"name": 5}}
"""The params of calls that name no tool."""
LISTS = {"tools/call": "tools/list", "prompts/get": "prompts/list", "resources/read": "resources/list"}
"""The methods that take a name or a URI, and the lists of these."""
MAX_UNKNOWN_CALLS = 10
MAX_RIGHT = 3
"""How many right requests are refused as well before a method is taken for unknown."""
UNKNOWN_METHOD = -32601
DEFAULT_DIALECT_SINCE = "2025-11-25"


@dataclass(frozen=True)
class InvalidCall:
    """A tool call with invalid arguments: ``mistake`` says what is wrong with them."""

    mistake: str
    reply: Reply


# Unknown methods


@scenario
def call_unknown_method(server: Server) -> Reply:
    """Request a method that no server has."""
    return server.session.request(NO_SUCH_METHOD, {})


def is_unknown_method(server: Server, reply: Reply) -> bool:
    """Return whether a request is refused in the words for a method that no server has."""
    if reply.code != UNKNOWN_METHOD:
        return False
    return words(reply).replace(reply.method, NO_SUCH_METHOD) == words(call_unknown_method(server))


def lacks_method(server: Server, method: str) -> bool:
    """Return whether requests of this method are refused as unknown although they name nothing unknown.

    Some servers have one code for methods and names that they do not know, so their words count too.  Others
    (the Rust SDK) take a request whose params they cannot read for one of an unknown method, so a right one
    must be refused too.
    """
    reply = misshapen_request(server, method)
    names_none = reply.code == UNKNOWN_METHOD and method not in LISTS
    return (names_none or is_unknown_method(server, reply)) and not _is_served(server, method)


@scenario
def _is_served(server: Server, method: str) -> bool:
    """Return whether a right request of this method meets another answer, or none may be sent."""
    replies = list(islice(_right_requests(server, method), MAX_RIGHT))
    if not replies and method in LISTS:
        replies = list(server.listing(LISTS[method]).replies[:1])
    return not replies or any(reply.code != UNKNOWN_METHOD for reply in replies)


def _right_requests(server: Server, method: str) -> Iterator[Reply]:
    """Send requests for what is listed, and yield the replies; a call is made only if it may be."""
    if method == "tools/call":
        yield from (call.reply for call in server.quick_calls())
    elif method == "prompts/get":
        names = server.listing("prompts/list").identifiers()
        yield from (server.session.request(method, {"name": name}) for name in names)
    elif method == "resources/read":
        yield from map(server.read, server.listing("resources/list").identifiers())
    else:
        params = next(params for _, _, name, params in FEATURE_REQUESTS if name == method)
        yield server.session.request(method, params)


@scenario
def misshapen_request(server: Server, method: str) -> Reply:
    """Send a request of this method that names nothing."""
    params = next(params for _, name, params in MISSHAPEN if name == method)
    return server.session.request(method, params)


def require_own_refusal(reply: Reply, right: Iterable[Reply]) -> Reply:
    """Return the reply to a wrong request; skip the check if nothing shows that the server saw what is wrong.

    That is so if all ``right`` requests of the same method, of which there are some, are refused in the same
    words; or if there are none, and the method seems to be unknown.
    """
    others = list(right)
    if not others and reply.code == UNKNOWN_METHOD:
        skip(f"no right request shows that {reply.method} is served: {reply}")
    if others and all(same_refusal(reply, one) for one in others):
        skip(f"{reply.method} is refused in the same words when nothing is wrong: {reply}")
    return reply


def require_known_method(server: Server, reply: Reply) -> Reply:
    """Return the reply to a wrong request; skip the check if an unknown method is refused in the same words.

    The right error for an unknown method is returned as it is: some rules expect it of a known one too.
    """
    if reply.code == UNKNOWN_METHOD:
        return reply
    return require_own_refusal(reply, [call_unknown_method(server)])


def expect_removed(server: Server, reply: Reply) -> None:
    """Expect that a removed method is unknown; skip if it gets the wrong code of any unknown method."""
    is_usual = reply.error is not None and reply.code == call_unknown_method(server).code
    if is_usual and reply.code != UNKNOWN_METHOD:
        skip(f"unknown methods are refused with {show(reply.code)} (see errors.method-not-found-code)")
    expect_error(reply, UNKNOWN_METHOD)


# Calls that name no tool, or an unknown one


@scenario
def call_unknown(server: Server) -> Reply:
    """Call a tool that is not listed, without arguments."""
    return _call_unknown(server, {})


@scenario
def unknown_calls(server: Server) -> tuple[Reply, ...]:
    """Call a tool that is not listed: without arguments, then with those of tools that may be called.

    A server that runs some tool whatever the name may still reject arguments that do not fit that tool.  For
    the same reason nothing is sent that fits a tool which may not be called.
    """
    replies = [call_unknown(server)]
    for arguments in _harmless_arguments(server):
        if replies[-1].fault is None:
            replies.append(_call_unknown(server, arguments))
    return tuple(replies)


def refuses_by_internal_error(server: Server) -> bool:
    """Return whether -32603 is the server's code for refusals: it refuses an unknown tool so, and names it.

    A low-level handler of the TypeScript SDK has no other way to refuse but to throw.
    """
    return any(one.code == INTERNAL_ERROR and NO_SUCH_NAME in words(one) for one in unknown_calls(server))


def _call_unknown(server: Server, arguments: Mapping[str, Any]) -> Reply:
    params = {"name": NO_SUCH_NAME, "arguments": dict(arguments)}
    return server.session.request("tools/call", params)


def _harmless_arguments(server: Server) -> list[dict[str, Any]]:
    given = (call.arguments for call in server.quick_calls() if call.arguments)
    harmless = (one for one in given if not _fits_forbidden_tool(server, one))
    distinct = {json.dumps(one, sort_keys=True): one for one in islice(harmless, MAX_UNKNOWN_CALLS)}
    return list(distinct.values())


def _fits_forbidden_tool(server: Server, arguments: Mapping[str, Any]) -> bool:
    """Return whether a tool that may not be called takes these arguments; yes if some tools are left out."""
    forbidden = (tool for tool in server.tools if not server.settings.may_call(tool))
    return server.surface.left_out > 0 or any(
        _fits(arguments, tool.input_schema, server.revision) for tool in forbidden
    )


def _fits(arguments: Mapping[str, Any], schema: Any, revision: str) -> bool:
    try:
        return not instance_errors(dict(arguments), schema, revision)
    except Unjudgeable:
        return True


@scenario
def malformed_call(server: Server, form: str) -> Reply:
    """Send a ``tools/call`` that names no tool, with params of one of `MALFORMED_PARAMS`."""
    return server.session.request("tools/call", MALFORMED_PARAMS[form])


# Calls with invalid arguments


@scenario
def invalid_calls(server: Server, call: Call) -> tuple[InvalidCall, ...]:
    """Call a tool with arguments that are invalid under any lenient reading.

    The tool must be one that may be called: it runs if the server does not validate.
    """
    schema = call.tool.input_schema
    return _invalid_calls(server, call, partial(clearly_invalid, schema, server.revision, call.arguments))


@scenario
def calls_invalid_in_2020_12(server: Server, call: Call) -> tuple[InvalidCall, ...]:
    """Call a tool with arguments that only a keyword of the 2020-12 dialect forbids.

    Skips a tool that names its dialect.
    """
    if call.tool.definition.get("inputSchema", "$schema") is not None:
        skip("the tool names its dialect")
    schema = server.arguments.whole_schema(call.tool)
    return _invalid_calls(server, call, partial(invalid_since_2020_12, schema, server.revision))


def _invalid_calls(server: Server, call: Call, make: Callable[[], list[Invalid]]) -> tuple[InvalidCall, ...]:
    try:
        invalid = make()
    except NoExample as error:
        cause = Cause.TOO_COSTLY if error.is_too_costly else None
        skip(f"no invalid arguments for {call.tool.name}: {error}", cause=cause)
    return tuple(_invalid_call(server, call, one) for one in invalid)


def _invalid_call(server: Server, call: Call, invalid: Invalid) -> InvalidCall:
    params = {"name": call.tool.name, "arguments": invalid.arguments}
    is_missing = invalid.kind == "missing"
    mistake = f"{invalid.detail!r} is missing" if is_missing else f"{invalid.pointer} is wrong"
    return InvalidCall(f"{mistake} ({invalid.keyword})", server.call_again(call, params))


def tool_errors(server: Server) -> list[Reply]:
    """Return the tool results that report an error, of valid, invalid, malformed and unknown calls alike.

    Makes the calls that no check has made yet.  Invalid ones end with the first that is not answered.
    """
    exercise_everything(server)
    calls = server.calls()
    replies = [call.reply for call in calls]
    if server.declares("tools"):
        replies += unknown_calls(server)
        replies += [malformed_call(server, form) for form in malformed_forms(server)]
    with suppress(Blocked):
        for call in calls:
            replies += _replies_to_invalid(server, call)
    return [reply for reply in replies if reply.is_tool_error]


def malformed_forms(server: Server) -> list[str]:
    """Return the forms of a call that names no tool; in a modern revision every request has params."""
    is_modern = revisions.is_modern(server.revision)
    return [form for form in MALFORMED_PARAMS if not (is_modern and form == "absent")]


def _replies_to_invalid(server: Server, call: Call) -> list[Reply]:
    found: list[InvalidCall] = []
    with suppress(Skipped):
        found += invalid_calls(server, call)
    if server.revision >= DEFAULT_DIALECT_SINCE:
        with suppress(Skipped):
            found += calls_invalid_in_2020_12(server, call)
    return [one.reply for one in found]


# Other requests


def undeclared_requests(server: Server) -> list[tuple[str, dict[str, Any]]]:
    """Return well-formed requests for the features that are not declared."""
    server.require_discovery()
    return [
        (method, params)
        for path, since, method, params in FEATURE_REQUESTS
        if since <= server.revision and not server.declares(*path) and _has(server, method)
    ]


def misshapen_requests(server: Server) -> list[tuple[str, Any]]:
    """Return requests for declared features whose params have the wrong shape."""
    return [
        (method, params)
        for path, method, params in MISSHAPEN
        if server.declares(*path.split(".")) and _has(server, method)
    ]


def _has(server: Server, method: str) -> bool:
    return not revisions.is_modern(server.revision) or method not in revisions.REMOVED


def not_found_requests(server: Server) -> list[tuple[str, dict[str, Any]]]:
    """Return well-formed requests for things that do not exist."""
    return [(method, params) for feature, method, params in NOT_FOUND if server.declares(feature)]


def is_not_found(server: Server, reply: Reply) -> bool:
    """Return whether the server rejected a read because the resource does not exist."""
    if reply.error is None or reply.code == -32002:
        return reply.error is not None
    uri, unknown, answer = reply.request.message["params"]["uri"], server.read(NO_SUCH_URI), words(reply)
    is_specific = uri in answer or reply.code == revisions.not_found(server.revision)
    return is_specific and answer.replace(uri, NO_SUCH_URI) == words(unknown)
