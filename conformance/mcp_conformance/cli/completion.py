"""Completion of words in the shell, by argcomplete, which the user's shell calls this command for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

ASKED = "_ARGCOMPLETE"
"""The environment variable by which the shell asks for completions."""


def is_asked() -> bool:
    """Return whether the shell asks for completions, and not for a command to run."""
    return ASKED in os.environ


def complete(parser: argparse.ArgumentParser) -> None:
    """Write the completions, and end the process; do nothing without argcomplete."""
    try:
        import argcomplete  # noqa: PLC0415  (only completion needs it, and it need not be installed)
    except ImportError:
        return
    for action in _all_actions(parser):
        if action.dest == "server":
            action.completer = _servers  # type: ignore[attr-defined]
        elif action.dest in {"id", "pattern", "select"}:
            action.completer = _rules  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _all_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to them)
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for one in {id(each): each for each in action.choices.values()}.values():
                yield from _all_actions(one)


def _rules(prefix: str, **_: Any) -> list[str]:
    """Return the ids of the rules that begin so."""
    from mcp_conformance.requirements import catalogue  # noqa: PLC0415  (slow)

    return [id for id in catalogue.all_requirements() if id.startswith(prefix)]


def _servers(prefix: str, **_: Any) -> list[str]:
    """Return the names of the servers of the configuration file that begin so."""
    from mcp_conformance.cli.arguments import UsageError, configuration  # noqa: PLC0415  (slow)

    try:
        file = configuration("run")
    except UsageError:
        return []
    return [name for name in file.servers if name.startswith(prefix)] if file is not None else []
