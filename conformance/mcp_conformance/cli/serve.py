"""The command ``mcp-conformance serve``: a server that plays recorded sessions back, for tests of clients."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from mcp_conformance.cli.arguments import UsageError, expect_http, expect_no_more
from mcp_conformance.protocol.jsonrpc import decode, is_response
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.tap.exchanges import Exchange, Said, exchanges
from mcp_conformance.tap.matching import learn
from mcp_conformance.tap.serving import Player, as_recorded
from mcp_conformance.tap.sessions import read_sessions
from mcp_conformance.tap.spoiling import FAULTS, OVER_HTTP, Fault, spoiled


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Play the sessions on stdin and stdout, or over HTTP, until the client ends; return 0."""
    expect_no_more(rest)
    if command:
        raise UsageError("serve: recorded sessions are the server; remove -- and what follows it")
    if options.spoil == "list":
        print("\n".join(f"{name:<46} {one.says}" for name, one in FAULTS.items()))  # noqa: T201
        return 0
    if not options.files:
        raise UsageError("serve: no sessions; name files, or a folder")
    fault = _fault(options.spoil, options.http is not None) if options.spoil else None
    recorded, spoil = _recorded(options.files), partial(spoiled, fault) if fault else as_recorded
    if options.http is not None:
        expect_http("serve")
        from mcp_conformance.cli.serve_http import serve_http  # noqa: PLC0415  (not needed on stdio)

        try:
            serve_http(lambda: Player(recorded, spoil), options.http, _say_address, fault)
        except OSError as error:
            raise UsageError(f"serve: --http {options.http}: {error.strerror}") from error
        return 0
    _serve(Player(recorded, spoil))
    return 0


def _fault(name: str, is_http: bool) -> Fault:
    """Return a fault by its name.  Raises `UsageError` if there is none, or none on stdio."""
    if name not in FAULTS:
        near = did_you_mean(name, FAULTS)
        raise UsageError(f"serve: --spoil: no fault {name!r}{near} (--spoil list prints all)")
    if name in OVER_HTTP and not is_http:
        raise UsageError(f"serve: --spoil {name}: only over HTTP; add --http PORT")
    return FAULTS[name]


def _recorded(named: Sequence[Path]) -> list[list[Exchange]]:
    """Return the exchanges of each session.  Raises `UsageError` if they are those of several servers."""
    sessions = list(read_sessions(named))
    found = [one for session in sessions if (one := exchanges(session.lines, session.began))]
    if not any(one.answer for exchanges in found for one in exchanges):
        raise UsageError("serve: no request has an answer in these sessions")
    servers = dict.fromkeys(session.server for session in sessions if session.server)
    if len(servers) > 1:
        raise UsageError(
            f"serve: the sessions are of several servers ({', '.join(servers)}); name those of one"
        )
    learn(found)
    return found


def _serve(player: Player) -> None:
    """Answer each message as it comes; what waits for an answer of the client goes on when that is there."""
    waiting: dict[str, Iterator[Said]] = {}
    for raw in sys.stdin.buffer:
        message, *_ = decode(raw.rstrip(b"\r\n"))
        if not isinstance(message, dict):  # nothing that was recorded
            continue
        playing = (
            waiting.pop(str(message.get("id")), iter(())) if is_response(message) else player.said(message)
        )
        for said in playing:
            sys.stdout.buffer.write(said.raw + b"\n")
            sys.stdout.buffer.flush()
            if said.waits:
                waiting[said.message["id"]] = playing
                break


def _say_address(url: str) -> None:
    print(f"mcp-conformance: serving {url}", file=sys.stderr, flush=True)  # noqa: T201
