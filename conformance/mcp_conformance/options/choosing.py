"""What the user chose on a command line, together with what the configuration file says of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mcp_conformance.options.configuration import (
    COMMAND,
    PROFILE,
    URL,
    BadConfiguration,
    nearest_configuration,
)
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.project.files import CONFIGURATION_PLACES
from mcp_conformance.transport.credentials import redacted

WITH_CREDENTIALS = ("env", "header", "header-other")
"""The options of a file with values that no output has."""


def choose(options: Mapping[str, Given], server: Given | None, prefix: str, folder: Path) -> Chosen:
    """Return all that the user chose.

    ``server`` is the server's command, or its name in the configuration file that is nearest to ``folder``;
    None for the only one there.  The rules of the project are in that file whoever names the server.  What
    the user gave beside the file wins.  Raises `BadOption`.
    """
    is_whole = _is_whole(options, server)
    file = None if is_whole else nearest_configuration(folder)
    name = server.text if server is not None else ""
    profile = options[PROFILE].text if PROFILE in options else ""
    if file is None or (name and name not in file.servers):
        if profile:
            raise options[PROFILE].error(f"only a server of {CONFIGURATION_PLACES} has profiles")
        if file is None:
            alone = Chosen(options, server, prefix)
            return _with_rules(alone, folder) if is_whole else alone
        read_from = str(file.path) if file.project.checks else ""
        return Chosen(options, server, prefix, tuple(file.servers), project=file.project, read_from=read_from)
    if not name and len(file.servers) > 1:
        raise BadOption(
            f"{file.path}: choose one of its servers with {prefix}server: {', '.join(file.servers)}"
        )
    configured = file.chosen(name, profile)
    command = configured.pop(COMMAND, None)
    folder = file.path.parent
    is_named = _is_above(folder) or _has_credentials(configured, command)
    return Chosen(
        {**configured, **options},
        command,
        prefix,
        tuple(file.servers),
        is_configured=True,
        source=(("--server", name) if name else ()) if is_named else None,
        beside=frozenset(options),
        place=Path() if folder.resolve() == Path.cwd().resolve() else folder,
        project=file.project,
        read_from=str(file.path),
    )


def _is_above(folder: Path) -> bool:
    """Return whether a folder is above the working directory, so that the words of a command differ."""
    return folder.resolve() in Path.cwd().resolve().parents


def _has_credentials(configured: Mapping[str, Given], command: Given | None) -> bool:
    """Return whether a file has what a printed command leaves out: variables, headers, or words."""
    words = tuple(word for text in (command.texts if command is not None else ()) for word in text.split())
    return not configured.keys().isdisjoint(WITH_CREDENTIALS) or redacted(words) != words


def _is_whole(options: Mapping[str, Given], server: Given | None) -> bool:
    """Return whether the user named the server without a file: by a URL, or by a command that is an array."""
    is_array = server is not None and (isinstance(server.value, tuple) or server.text.startswith("["))
    return is_array or URL in options


def _with_rules(chosen: Chosen, folder: Path) -> Chosen:
    """Return what the user chose without a file together with the rules of the project in a folder.

    A file that cannot be read has none, as nobody asked for it.
    """
    try:
        file = nearest_configuration(folder)
    except BadConfiguration:
        return chosen
    if file is None or not file.project.checks:
        return chosen
    return replace(chosen, project=file.project, read_from=str(file.path))
