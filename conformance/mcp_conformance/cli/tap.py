"""The command ``mcp-conformance tap``: stand in the place of a server, and record its session."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from mcp_conformance.cli.arguments import UsageError, expect_http, expect_no_more
from mcp_conformance.tap.forwarding import end_as, forward
from mcp_conformance.tap.tape import Tape, What
from mcp_conformance.transport import interrupts

HAND_OVER_SECONDS = 5.0
"""Seconds that the end waits for the recorder to write all: it takes 0.3 s of CPU; a signal ends the wait."""
CANNOT_START = 127
"""The exit status of a shell for a command that it cannot start."""


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Run the server, pass all bytes on, and return its exit status."""
    expect_no_more(rest)
    if options.http is not None or options.url:
        return _http(options, command)
    command = [*options.words, *(["--", *command] if options.words and command else command or ())]
    if not command:
        raise UsageError("tap: no server; usage: mcp-conformance tap [options] -- COMMAND [ARGUMENTS ...]")
    tape = _tape(options, command)
    try:
        status = forward(command, tape)
    except OSError as error:
        _end(tape, CANNOT_START)
        raise UsageError(f"tap: {command[0]}: {os.strerror(error.errno or 0)}") from error
    _end(tape, status)
    return end_as(status)


def _end(tape: Tape, status: int) -> None:
    """Wait for the recorder; the client that ends this process meanwhile need not."""
    try:
        tape.end(status, HAND_OVER_SECONDS)
    except KeyboardInterrupt:
        interrupts.taken()


def _tape(options: argparse.Namespace, command: list[str]) -> Tape:
    folder = str(options.to.absolute()) if options.to else ""
    judge = [str(options.judge)] if options.judge is not None else []
    tape = Tape([sys.executable, "-P", "-m", "mcp_conformance.tap.recorder", folder, *judge])
    tape.add(What.STARTED, json.dumps(command).encode())
    return tape


def _http(options: argparse.Namespace, command: list[str] | None) -> int:
    """Pass on what comes to a port, until a signal ends this command."""
    expect_http("tap")
    from mcp_conformance.tap.http_forwarding import forward_http  # noqa: PLC0415  (stdio needs none of it)

    if command or options.words or options.http is None or not options.url:
        raise UsageError("tap: over HTTP, --http PORT and --url URL say all, and no command follows")
    tape = _tape(options, [options.url])
    try:
        forward_http(options.http, options.url, tape, _say_address)
    except (OSError, ValueError) as error:
        raise UsageError(f"tap: {error}") from error
    finally:
        _end(tape, 0)
    return 0


def _say_address(url: str) -> None:
    print(f"mcp-conformance: tap: give clients the address {url}", file=sys.stderr, flush=True)  # noqa: T201
