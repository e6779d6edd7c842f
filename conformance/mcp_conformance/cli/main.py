"""The command ``mcp-conformance``: it loads the module of the command, and runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from mcp_conformance.cli import completion
from mcp_conformance.cli.streams import Streams
from mcp_conformance.report.exit_status import INTERNAL_ERROR, INTERRUPTED, MACHINE
from mcp_conformance.transport import interrupts

USAGE_ERROR = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status, which `docs/reference/outcomes.md` explains.

    With ``arguments`` it is a part of another program, which has the signals for its business.
    """
    is_process = arguments is None
    if is_process:
        interrupts.watch()
    streams = Streams()
    try:
        status = _run(arguments)
    except KeyboardInterrupt:
        interrupts.taken()
        _say(interrupts.MESSAGE)
        status = INTERRUPTED
    except Exception as error:  # noqa: BLE001  (Python's own status for it is that of findings)
        status = _status_of(error)
    finally:
        if is_process:
            interrupts.end_at_once()
        lost = streams.end()
    if status == INTERRUPTED and is_process:
        os._exit(status)  # Python's own end takes 0.1 s of CPU, which is seconds on a busy machine
    if lost and status != INTERRUPTED:
        _say(f"mcp-conformance: the output could not be written: {lost}")
        return MACHINE
    return status


def _status_of(error: Exception) -> int:
    """Print what ended the command, and return its exit status."""
    from traceback import format_exception  # noqa: PLC0415  (slow imports, and rarely needed)

    from mcp_conformance.transport.machine import OF_MACHINE, machine_fault  # noqa: PLC0415

    if lack := machine_fault(error):
        _say(f"mcp-conformance: {lack}{OF_MACHINE}")
        return MACHINE
    _say("".join(format_exception(error)).rstrip("\n"))
    return INTERNAL_ERROR


def _say(text: str) -> None:
    """Print a line to stderr; a configuration, a registry or a report may have chosen a part of it."""
    from mcp_conformance.protocol.text import harmless  # noqa: PLC0415

    print(harmless(text), file=sys.stderr)  # noqa: T201


def _run(arguments: Sequence[str] | None) -> int:
    from mcp_conformance.cli.arguments import UsageError, parser  # noqa: PLC0415  (slow, and may be interrupted)
    from mcp_conformance.transport.files import BadFile  # noqa: PLC0415

    if completion.is_asked():
        completion.complete(parser())
    words = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] | None = None
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], words[cut + 1 :]
    try:
        known = parser()
        known.expect_command(words)
        options, rest = known.parse_known_args(words)
        module, function = options.action
        action = getattr(import_module(f"mcp_conformance.cli.{module}"), function)
        status: int = action(options, rest, command)
    except (UsageError, BadFile) as error:
        from mcp_conformance.transport.machine import machine_fault  # noqa: PLC0415

        place = f"{words[0]}: " if isinstance(error, BadFile) else ""
        _say(f"mcp-conformance: {place}{error}".replace("\n", "\\n"))
        return MACHINE if machine_fault(error) else USAGE_ERROR
    return status
