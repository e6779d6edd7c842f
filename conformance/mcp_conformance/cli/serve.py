"""The command ``mcp-conformance serve``: a server that plays recorded sessions back, for tests of clients."""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mcp_conformance.cli.arguments import UsageError, expect_no_more
from mcp_conformance.protocol.jsonrpc import decode, encode, is_response
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.tap.serving import Exchange, Player, awaits_answer, exchanges
from mcp_conformance.tap.sessions import BadSession, Recorded, session_files
from mcp_conformance.tap.spoiling import SPOILS, spoiled


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Play the sessions on stdin and stdout, or over HTTP, until the client ends; return 0."""
    expect_no_more(rest)
    if command:
        raise UsageError("serve: recorded sessions are the server; remove -- and what follows it")
    rule = options.spoil or ""
    if rule and rule not in SPOILS:
        raise UsageError(
            f"serve: --spoil: no fault {rule!r}{did_you_mean(rule, SPOILS)}; it has {', '.join(SPOILS)}"
        )
    recorded = _recorded(options.files)
    if not recorded:
        raise UsageError("serve: no request has an answer in these sessions")
    if options.http is not None:
        from mcp_conformance.cli.serve_http import serve_http  # noqa: PLC0415  (not needed on stdio)

        return serve_http(recorded, options.http, rule)
    _serve(Player(recorded), rule)
    return 0


def _recorded(named: Sequence[Path]) -> list[Exchange]:
    try:
        return [one for path in session_files(named) for one in exchanges(Recorded.read(path).lines)]
    except (BadSession, OSError) as error:
        raise UsageError(f"serve: {error}") from error


def _serve(player: Player, rule: str) -> None:
    lines, waiting = _messages(), deque[Any]()
    while (message := waiting.popleft() if waiting else next(lines, None)) is not None:
        for said in player.said(message):
            for one in spoiled(rule, said, str(message.get("method"))):
                _write(one if isinstance(one, bytes) else encode(one))
            if awaits_answer(said):
                waiting.extend(_until_answered(said["id"], lines))


def _messages() -> Iterator[Any]:
    """Yield the messages of the client; what is no JSON object is nothing that was recorded."""
    for raw in sys.stdin.buffer:
        message, *_ = decode(raw.rstrip(b"\r\n"))
        if isinstance(message, dict):
            yield message


def _until_answered(id: str, lines: Iterator[Any]) -> Iterator[Any]:
    """Read until the client has answered, and yield what it says meanwhile."""
    for message in lines:
        if is_response(message) and message.get("id") == id:
            return
        yield message


def _write(raw: bytes) -> None:
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()
