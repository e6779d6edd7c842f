"""What a played server does wrong on purpose, to try a client: a fault has the name of its rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import encode, is_response
from mcp_conformance.tap.exchanges import Said

Spoil = Callable[[dict[str, Any]], Iterator[Any]]
"""Yields what is sent in the place of a message: messages, or bytes that are a line."""


def _twice(message: dict[str, Any]) -> Iterator[Any]:
    yield from (message, message)


def _text_id(message: dict[str, Any]) -> Iterator[Any]:
    yield {**message, "id": str(message["id"])} if isinstance(message["id"], int) else {**message, "id": 0}


def _never(_: dict[str, Any]) -> Iterator[Any]:
    yield from ()


def _noise(message: dict[str, Any]) -> Iterator[Any]:
    yield b"DEBUG: answering"
    yield message


def _torn(message: dict[str, Any]) -> Iterator[Any]:
    yield json.dumps(message, indent=1).encode()


def _latin(message: dict[str, Any]) -> Iterator[Any]:
    text = json.dumps({**message, "_note": "\u00e9"}, ensure_ascii=False)
    yield text.encode("latin-1", "replace")


def _no_version(message: dict[str, Any]) -> Iterator[Any]:
    yield {name: value for name, value in message.items() if name != "jsonrpc"}


def _both(message: dict[str, Any]) -> Iterator[Any]:
    yield {**message, "result": {}, "error": {"code": -32603, "message": "spoiled"}}


def _bare_error(message: dict[str, Any]) -> Iterator[Any]:
    yield {"jsonrpc": "2.0", "id": message["id"], "error": "spoiled"}


def _progress(message: dict[str, Any]) -> Iterator[Any]:
    params = {"progressToken": "spoiled", "progress": 1}
    yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    yield message


def _no_content(message: dict[str, Any]) -> Iterator[Any]:
    result = message.get("result")
    if isinstance(result, dict) and "content" in result:
        message = {**message, "result": {**result, "content": None}}
    yield message


SPOILS: dict[str, Spoil] = {
    "jsonrpc.response-exactly-once": _twice,
    "jsonrpc.response-id-echo": _text_id,
    "jsonrpc.response-every-request": _never,
    "jsonrpc.version-member": _no_version,
    "jsonrpc.result-xor-error": _both,
    "jsonrpc.error-object": _bare_error,
    "stdio.stdout-purity": _noise,
    "stdio.no-embedded-newline": _torn,
    "stdio.utf8-output": _latin,
    "progress.token-known": _progress,
    "tools.call.result-content-array": _no_content,
}
"""Each fault by the id of its rule; what opens a session is never spoiled."""


def spoiled(rule: str, said: Said, method: str) -> Iterator[Said]:
    """Yield what a server with a fault sends in the place of its answer to a request."""
    if not is_response(said.message) or method in ("initialize", "server/discover"):
        yield said
        return
    for one in SPOILS[rule](said.message):
        yield replace(said, spoiled=one if isinstance(one, bytes) else encode(one))
