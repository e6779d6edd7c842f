"""Requests and calls that a right server refuses, made of what it offers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any

from conformance.client.refusals import (
    FEATURE_REQUESTS,
    MISSHAPEN,
    NO_SUCH_NAME,
    NO_SUCH_URI,
    NOT_FOUND,
    words,
)
from conformance.client.reply import Reply
from conformance.client.session import NO_PARAMS
from conformance.client.tool_call import Call
from conformance.expect import skip
from conformance.generation import Invalid, NoExample, clearly_invalid, invalid_since_2020_12
from conformance.json_schema.validation import Unjudgeable, instance_errors
from conformance.protocol import revisions
from conformance.scenarios.traffic import exercise_everything
from conformance.target.server import Server

NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})
MOST_UNKNOWN = 10


@dataclass(frozen=True)
class WrongCall:
    """A tool call with invalid arguments: ``what`` is wrong with them, and what became of it."""

    what: str
    reply: Reply


def call_unknown(server: Server, arguments: Mapping[str, Any] = NO_ARGUMENTS) -> Reply:
    """A call of a tool that is not listed, made once with the same arguments."""
    params = {"name": NO_SUCH_NAME, "arguments": dict(arguments)}
    key = f"unknown {json.dumps(params, sort_keys=True)}"
    reply: Reply = server.once(key, lambda: server.session.request("tools/call", params))
    return reply


def unknown_calls(server: Server) -> Iterator[Reply]:
    """Calls of a tool that is not listed: without arguments, then with those of tools that may be called.

    A server that runs some tool whatever the name may still refuse what does not fit that tool.  For the same
    reason nothing is sent that fits a tool which may not be called.
    """
    yield call_unknown(server)
    for arguments in server.once("harmless arguments", lambda: _harmless_arguments(server)):
        yield call_unknown(server, arguments)


def _harmless_arguments(server: Server) -> list[dict[str, Any]]:
    quick = (call for call in server.calls() if not server.is_slow(call))
    fitting = (call.arguments for call in quick if call.arguments)
    return list(islice((one for one in fitting if not _fits_held_back(server, one)), MOST_UNKNOWN))


def _fits_held_back(server: Server, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool that may not be called takes these arguments; of those left out nothing is known."""
    held_back = (tool for tool in server.tools if not server.settings.may_call(tool))
    return server.surface.left_out > 0 or any(
        _fits(arguments, tool.input_schema, server.revision) for tool in held_back
    )


def _fits(arguments: Mapping[str, Any], schema: Any, revision: str) -> bool:
    try:
        return not instance_errors(dict(arguments), schema, revision)
    except Unjudgeable:
        return True


def malformed_call(server: Server, form: str) -> Reply:
    """A ``tools/call`` that names no tool, made once: params ``absent``, ``empty`` or a ``number``."""
    params = {"absent": NO_PARAMS, "empty": {}, "number": {"name": 5}}[form]
    reply: Reply = server.once(f"malformed {form}", lambda: server.session.request("tools/call", params))
    return reply


def invalid_calls(server: Server, call: Call) -> list[WrongCall]:
    """Calls of a tool with arguments that no leniency makes valid, made once.

    Meant for a tool that may be called: if the server does not validate, the tool runs.
    """
    schema = call.tool.input_schema
    return _wrong_calls(
        server, "invalid", call, lambda: clearly_invalid(schema, server.revision, call.arguments)
    )


def calls_wrong_in_2020_12(server: Server, call: Call) -> list[WrongCall]:
    """Calls whose arguments only a keyword of the 2020-12 dialect forbids, made once."""
    schema = call.tool.input_schema
    return _wrong_calls(server, "2020-12", call, lambda: invalid_since_2020_12(schema, server.revision))


def _wrong_calls(server: Server, key: str, call: Call, make: Callable[[], list[Invalid]]) -> list[WrongCall]:
    def all_calls() -> list[WrongCall]:
        try:
            return [_wrong_call(server, call, wrong) for wrong in make()]
        except NoExample as error:
            skip(f"no invalid arguments for {call.tool.name}: {error}")

    found: list[WrongCall] = server.once(f"{key} {call.tool.name}", all_calls)
    return found


def _wrong_call(server: Server, call: Call, wrong: Invalid) -> WrongCall:
    params = {"name": call.tool.name, "arguments": wrong.arguments}
    what = f"{wrong.detail!r} is missing" if wrong.kind == "missing" else f"{wrong.pointer} is wrong"
    return WrongCall(f"{what} ({wrong.keyword})", server.call_again(call, params))


def tool_errors(server: Server) -> list[Reply]:
    """Every tool result so far that reports an error, of valid, invalid and unknown calls alike."""
    exercise_everything(server)
    kept = [one for value in server.kept() for one in (value if isinstance(value, list) else [value])]
    replies = [getattr(one, "reply", one) for one in kept]
    return [reply for reply in replies if isinstance(reply, Reply) and reply.is_tool_error]


def undeclared_requests(server: Server) -> list[tuple[str, dict[str, Any]]]:
    """Well-formed requests for the features that are not declared."""
    server.require_discovery()
    return [
        (method, params)
        for path, since, method, params in FEATURE_REQUESTS
        if since <= server.revision and not server.declares(*path) and _has(server, method)
    ]


def misshapen_requests(server: Server) -> list[tuple[str, Any]]:
    """Requests for declared features whose params have the wrong shape."""
    return [
        (method, params)
        for path, method, params in MISSHAPEN
        if server.declares(*path.split(".")) and _has(server, method)
    ]


def _has(server: Server, method: str) -> bool:
    return not revisions.is_modern(server.revision) or method not in revisions.REMOVED


def not_found_requests(server: Server) -> list[tuple[str, dict[str, Any]]]:
    """Well-formed requests for things that do not exist."""
    return [(method, params) for feature, method, params in NOT_FOUND if server.declares(feature)]


def is_not_found(server: Server, reply: Reply) -> bool:
    """Whether a read is refused as one of a resource that does not exist."""
    if reply.error is None or reply.code == -32002:
        return reply.error is not None
    uri, unknown, said = reply.request.message["params"]["uri"], server.read(NO_SUCH_URI), words(reply)
    is_told = uri in said or reply.code == revisions.not_found(server.revision)
    return is_told and said.replace(uri, NO_SUCH_URI) == words(unknown)
