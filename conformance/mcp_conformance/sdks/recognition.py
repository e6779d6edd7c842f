"""Recognise the official SDK that a server is built on, by two independent signs.

A sign is a package that its program is installed with, a name in `serverInfo` that only the SDK gives, or the
words of an error.  Words count once for each path of the SDK's code that has them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from mcp_conformance.client.reply import Reply, Unanswered
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.scenarios.invalid_requests import (
    call_unknown,
    call_unknown_method,
    is_unknown_method,
    misshapen_requests,
    undeclared_requests,
)
from mcp_conformance.sdks.evidence import Answer
from mcp_conformance.sdks.names import TYPESCRIPT, Sdk
from mcp_conformance.sdks.packages import packages
from mcp_conformance.sdks.predicates import own_words, zod_issues
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Skipped


class Sign(StrEnum):
    """A kind of sign; two of one kind count once."""

    PACKAGE = "an installed package"
    NAME = "a name in serverInfo"
    UNKNOWN_METHOD = "the error for an unknown method"
    NOT_SERVED = "the error for a method without a handler"
    WRONG_PARAMS = "the error for params of the wrong shape"
    UNKNOWN_TOOL = "the answer for an unknown tool"


@dataclass(frozen=True)
class Recognised:
    """The SDK of a server, its ``version`` if a sign has it, and the kinds of the ``signs``."""

    sdk: Sdk
    version: str
    signs: frozenset[Sign]


@dataclass(frozen=True)
class Words:
    """What an SDK answers in one path of its code.

    ``is_common`` says that servers without an SDK have these words too, as they are JSON-RPC's own: they
    count only beside other words of the SDK.
    """

    sign: Sign
    sdks: tuple[Sdk, ...]
    match: Callable[[Answer], bool]
    is_common: bool = False


def _error(
    code: int, text: Callable[[Answer], str], data: Callable[[Answer], object] = lambda _: None
) -> Callable[[Answer], bool]:
    """Match an error with this code, and the message and data that belong to the request."""
    return lambda answer: (
        answer.code == code and answer.text == text(answer) and answer.error.get("data") == data(answer)
    )


def _named(words: str) -> Callable[[Answer], str]:
    """Return the message with the name of the tool that was called."""
    return lambda answer: words.format(answer.params.get("name"))


WORDS = (
    Words(
        Sign.UNKNOWN_METHOD,
        (Sdk.PYTHON_1,),
        _error(-32602, lambda _: "Invalid request parameters", lambda _: ""),
    ),
    Words(
        Sign.UNKNOWN_METHOD,
        (Sdk.PYTHON_2,),
        _error(-32601, lambda _: "Method not found", lambda it: it.method),
    ),
    Words(Sign.UNKNOWN_METHOD, TYPESCRIPT, _error(-32601, lambda _: "Method not found"), is_common=True),
    Words(Sign.UNKNOWN_METHOD, (Sdk.GO,), _error(-32601, lambda it: f'method not found: "{it.method}"')),
    Words(Sign.UNKNOWN_METHOD, (Sdk.RUST,), _error(-32601, lambda it: it.method)),
    Words(
        Sign.UNKNOWN_METHOD,
        (Sdk.CSHARP,),
        _error(-32601, lambda it: f"Method '{it.method}' is not available."),
    ),
    Words(
        Sign.UNKNOWN_METHOD, (Sdk.KOTLIN,), _error(-32601, lambda it: f"Server does not support {it.method}")
    ),
    Words(Sign.NOT_SERVED, (Sdk.PYTHON_1,), _error(-32601, lambda _: "Method not found"), is_common=True),
    Words(
        Sign.WRONG_PARAMS,
        (Sdk.PYTHON_2,),
        _error(-32602, lambda _: "Invalid request parameters", lambda _: ""),
    ),
    Words(Sign.WRONG_PARAMS, (Sdk.TYPESCRIPT_1,), lambda it: it.code == -32603 and bool(zod_issues(it.text))),
    Words(
        *(Sign.WRONG_PARAMS, (Sdk.TYPESCRIPT_2,)),
        lambda it: it.code == -32603 and it.method != "tools/call" and bool(zod_issues(it.text)),
    ),
    Words(Sign.WRONG_PARAMS, (Sdk.TYPESCRIPT_2,), lambda it: it.code == -32602 and _is_invalid_call(it.text)),
    Words(
        *(Sign.WRONG_PARAMS, (Sdk.GO,)),
        lambda it: it.code == -32602 and own_words(it).startswith("invalid params: unmarshaling "),
    ),
    Words(Sign.WRONG_PARAMS, (Sdk.CSHARP,), _error(-32603, lambda _: "An error occurred.")),
    Words(
        Sign.UNKNOWN_TOOL,
        (Sdk.TYPESCRIPT_1,),
        lambda it: it.tool_error == _named("MCP error -32602: Tool {} not found")(it),
    ),
    Words(Sign.UNKNOWN_TOOL, (Sdk.TYPESCRIPT_2,), _error(-32602, _named("Tool {} not found"))),
    Words(Sign.UNKNOWN_TOOL, (Sdk.GO,), _error(-32602, _named('unknown tool "{}"'))),
    Words(Sign.UNKNOWN_TOOL, (Sdk.RUST,), _error(-32602, lambda _: "tool not found")),
    Words(Sign.UNKNOWN_TOOL, (Sdk.CSHARP,), _error(-32602, _named("Unknown tool: '{}'"))),
    Words(Sign.UNKNOWN_TOOL, (Sdk.KOTLIN,), lambda it: it.tool_error == _named("Tool {} not found")(it)),
)
"""Rust's error for params of the wrong shape is not here: it comes from the path of an unknown method."""
RUST_NAME = "rmcp"
"""The name and version in `serverInfo` that the Rust SDK takes from itself if the author gives none."""
HTTP_TEXT = f'JSON RPC not handled: "{NO_SUCH_METHOD}" unsupported'
"""The body with which the Go SDK refuses an unknown method over HTTP."""
MIN_SIGNS = 2


@scenario
def recognise(server: Server) -> Recognised | None:
    """Return the official SDK that the server is built on; None if fewer than two signs name one."""
    facts, words = list(_facts(server)), list(_spoken(server))
    candidates = [_recognised(sdk, facts, words) for sdk in Sdk]
    likeliest = max(candidates, key=lambda one: len(one.signs))
    return likeliest if len(likeliest.signs) >= MIN_SIGNS else None


def _recognised(sdk: Sdk, facts: list[tuple[Sign, Sdk, str]], words: list[Words]) -> Recognised:
    """Return the signs that a server is built on an SDK, however few."""
    known = {sign: version for sign, other, version in facts if other is sdk}
    spoken = [one for one in words if sdk in one.sdks]
    is_certain = any(not one.is_common for one in spoken)
    signs = {*known, *(one.sign for one in spoken if is_certain)}
    return Recognised(sdk, next(filter(None, known.values()), ""), frozenset(signs))


def sdk_of(server: Server) -> str:
    """Return the name of the SDK that the server is recognised to be built on; empty if there is none."""
    found = recognise(server)
    return "" if found is None else str(found.sdk)


def _facts(server: Server) -> Iterator[tuple[Sign, Sdk, str]]:
    """Yield what is known without a request: the packages of the process, and its name."""
    settings = server.settings
    path = settings.env.get("PATH") or os.environ.get("PATH", "")
    for package in packages(settings.command, settings.here, path):
        yield Sign.PACKAGE, package.sdk, package.version
    info = server.surface.server_info
    if info is not None and (name := info.get("name")) is not None and name.json == RUST_NAME:
        version = info.get("version")
        yield Sign.NAME, Sdk.RUST, str(version.json) if version is not None else ""


def _spoken(server: Server) -> Iterator[Words]:
    """Yield the words of SDKs among the answers of the server."""
    for sign, reply in _replies(server):
        answer = Answer.of(reply)
        yield from (words for words in WORDS if words.sign is sign and words.match(answer))
        if isinstance(reply.fault, Unanswered) and HTTP_TEXT in reply.fault.instead:
            yield Words(sign, (Sdk.GO,), lambda _: True)


def _replies(server: Server) -> Iterator[tuple[Sign, Reply]]:
    """Yield the answers to requests that a server refuses, as far as it still answers."""
    try:
        yield Sign.UNKNOWN_METHOD, call_unknown_method(server)
        for method, params in undeclared_requests(server)[:1]:
            yield Sign.NOT_SERVED, server.session.request(method, params)
        for method, params in misshapen_requests(server):
            reply = server.session.request(method, params)
            if not is_unknown_method(server, reply):
                yield Sign.WRONG_PARAMS, reply
                break
        if server.declares("tools"):
            yield Sign.UNKNOWN_TOOL, call_unknown(server)
    except (Blocked, Skipped):
        return


def _is_invalid_call(text: str) -> bool:
    before, _, issues = text.partition(": ")
    return before == "Invalid tools/call request" and bool(zod_issues(issues))
