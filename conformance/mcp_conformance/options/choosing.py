"""What the user chose on a command line, together with what the configuration file says of the server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_conformance.options.configuration import (
    COMMAND,
    PROFILE,
    URL,
    Configuration,
    nearest_configuration,
)
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.project.files import CONFIGURATION_PLACES
from mcp_conformance.transport.credentials import redacted

WITH_CREDENTIALS = ("env", "header")
"""The options of a file with values that no output has."""


def choose(options: Mapping[str, Given], server: Given | None, prefix: str, folder: Path) -> Chosen:
    """Return all that the user chose.

    ``server`` is the server's command, or its name in the configuration file that is nearest to ``folder``;
    None for the only one there.  What the user gave beside the file wins.  Raises `BadOption`.
    """
    file = configuration_beside(options, server, folder)
    name = server.text if server is not None else ""
    profile = options[PROFILE].text if PROFILE in options else ""
    if file is None or (name and name not in file.servers):
        if profile:
            raise options[PROFILE].error(f"only a server of {CONFIGURATION_PLACES} has profiles")
        if file is None:
            return Chosen(options, server, prefix)
        return Chosen(options, server, prefix, tuple(file.servers), project=file.project)
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
    )


def _is_above(folder: Path) -> bool:
    """Return whether a folder is above the working directory, so that the words of a command differ."""
    return folder.resolve() in Path.cwd().resolve().parents


def _has_credentials(configured: Mapping[str, Given], command: Given | None) -> bool:
    """Return whether a file has what a printed command leaves out: variables, headers, or words."""
    words = tuple(word for text in (command.texts if command is not None else ()) for word in text.split())
    return not configured.keys().isdisjoint(WITH_CREDENTIALS) or redacted(words) != words


def configuration_beside(
    options: Mapping[str, Given], server: Given | None, folder: Path
) -> Configuration | None:
    """Return the configuration file nearest to a folder; None beside a URL or a command that is an array.

    Raises `BadConfiguration`.
    """
    is_array = server is not None and (isinstance(server.value, tuple) or server.text.startswith("["))
    return None if is_array or URL in options else nearest_configuration(folder)
