"""The command ``mcp-conformance``: it loads the module of the command, and runs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from mcp_conformance.cli import interrupts

USAGE_ERROR = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return pytest's exit status: 0 clean, 1 findings, 2 interrupted, 4 usage error.

    A command that Ctrl-C ends before it can sum up has `interrupts.INTERRUPTED`.
    """
    interrupts.watch()
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        print(interrupts.MESSAGE, file=sys.stderr)  # noqa: T201
        return interrupts.INTERRUPTED
    finally:
        interrupts.end_at_once()


def _run(arguments: Sequence[str] | None) -> int:
    from mcp_conformance.cli.arguments import UsageError, parser  # noqa: PLC0415  (slow, and may be interrupted)

    words = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] | None = None
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], words[cut + 1 :]
    try:
        options, rest = parser().parse_known_args(words)
        module, function = options.action
        action = getattr(import_module(f"mcp_conformance.cli.{module}"), function)
        status: int = action(options, rest, command)
    except UsageError as error:
        print(f"mcp-conformance: {error}", file=sys.stderr)  # noqa: T201
        return USAGE_ERROR
    except BrokenPipeError:
        return 0
    return status
