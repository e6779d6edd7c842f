"""Completion of words in the shell, by argcomplete, which the user's shell calls this command for."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mcp_conformance.transport.files import BadFile, json_value, read_file

ASKED = "_ARGCOMPLETE"
"""The environment variable by which the shell asks for completions."""
CONTRACT, KNOWN = "mcp-contract.json", ".mcp-conformance/known"
"""The files here with names of tools: the contract, and what earlier runs have kept."""

PLAIN = re.compile(r"[\w./:@-]+")
"""Matches a name that is completed: a repository or a server may have chosen one that a shell runs."""


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
        for dests, completer in COMPLETERS:
            if (action.metavar if action.dest == "name" else action.dest) in dests:
                action.completer = partial(_plain, completer)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _all_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to them)
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for one in {id(each): each for each in action.choices.values()}.values():
                yield from _all_actions(one)


def _plain(completer: Callable[..., list[str]], prefix: str, **given: Any) -> list[str]:
    """Return the words of a completer that a shell and a terminal take for nothing but words."""
    return [word for word in completer(prefix, **given) if PLAIN.fullmatch(word)]


def _rules(prefix: str, **_: Any) -> list[str]:
    """Return the ids of the rules that begin so."""
    from mcp_conformance.requirements import catalogue  # noqa: PLC0415  (slow)

    return [id for id in catalogue.all_requirements() if id.startswith(prefix)]


def _all_rules(prefix: str, **_: Any) -> list[str]:
    """Return the ids of the rules of servers and of clients that begin so."""
    from mcp_conformance.tap.rows import client_rows  # noqa: PLC0415  (slow)

    return [*_rules(prefix), *(id for id in client_rows() if id.startswith(prefix))]


def _faults(prefix: str, **_: Any) -> list[str]:
    """Return the names of the faults of serve that begin so."""
    from mcp_conformance.tap.spoiling import FAULTS  # noqa: PLC0415  (slow)

    return [name for name in ("list", *FAULTS) if name.startswith(prefix)]


def _servers(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the names of the servers that begin so, of a client's configuration if it is named."""
    from mcp_conformance.project.client_configs import read_config  # noqa: PLC0415  (slow)

    path = getattr(parsed_args, "config", None)
    if path is None:
        return _in_configuration("servers", prefix)
    try:
        return [name for name in read_config(Path(path)).servers if name.startswith(prefix)]
    except BadFile:
        return []


def _profiles(prefix: str, **_: Any) -> list[str]:
    """Return the names of the profiles of the configuration file that begin so."""
    return _in_configuration("profiles", prefix)


def _in_configuration(table: str, prefix: str) -> list[str]:
    from mcp_conformance.cli.arguments import UsageError, configuration  # noqa: PLC0415  (slow)

    try:
        file = configuration("run")
    except UsageError:
        return []
    return [name for name in getattr(file, table) if name.startswith(prefix)] if file is not None else []


def _tools(prefix: str, **_: Any) -> list[str]:
    """Return the names of tools that begin so, as earlier runs here and the contract know them.

    To start the server for a press of a key would take too long, and could do anything.
    """
    files = [Path(CONTRACT), *Path(KNOWN).glob("*.json")]
    return sorted({name for file in files for name in _tools_in(file) if name.startswith(prefix)})


def _tools_in(file: Path) -> Iterator[str]:
    try:
        found = read_file(file, json_value)
        yield from found.get("tools") or ()
        for offer in found.get("offers") or ():
            yield from offer.get("tools") or ()
    except (BadFile, AttributeError, TypeError):
        return


COMPLETERS = (
    ({"server"}, _servers),
    ({"select"}, _rules),
    ({"id", "pattern"}, _all_rules),
    ({"profile"}, _profiles),
    ({"spoil"}, _faults),
    ({"tool", "not_tool", "call", "TOOL"}, _tools),
)
"""What completes the words of the arguments with these names; a ``name`` is known by what help calls it."""
