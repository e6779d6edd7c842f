"""What the user gave as an option, an ini value, or in the configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_conformance.plugin.configuration import BadConfiguration, Configuration, nearest_configuration
from mcp_conformance.plugin.flags import FLAGS, LISTS, VALUES, dest, ini
from mcp_conformance.plugin.node_ids import CHOSEN
from mcp_conformance.project.files import CONFIGURATION_PLACES

CONFIGURATION = pytest.StashKey["Configuration | None"]()


def is_server_named(config: pytest.Config) -> bool:
    """Return whether the user names a server, or the configuration file does."""
    return bool(server_text(config) or value(config, "url") or configuration(config))


def wants_suites(config: pytest.Config) -> bool:
    """Return whether this run collects the suites.  Raises `pytest.UsageError` if no server is named.

    The flag adds them to every run, the ini value to a run without paths on its command line.  A node id of
    ours asks for itself.
    """
    if hasattr(config, "workerinput"):
        return "mcp_surfaces" in config.workerinput
    names_paths = config.args_source is config.ArgsSource.ARGS
    by_ini = config.getini("conformance") and not names_paths
    names_checks = bool(config.stash[CHOSEN])
    wanted = bool(config.getoption("conformance") or by_ini or names_checks)
    if wanted and not is_server_named(config):
        places = f"--conformance-server COMMAND, --conformance-url URL, or {CONFIGURATION_PLACES}"
        raise pytest.UsageError(f"--conformance: no server is named: {places}")
    return wanted


def value(config: pytest.Config, name: str) -> Any:
    """Return an option's value: the flag if given, else the ini value, else that of the configured server."""
    flag = config.getoption(dest(name))
    if flag is not None:
        return flag
    found = config.getini(ini(name))
    return found or configured(config).get(name, found)


def configuration(config: pytest.Config) -> Configuration | None:
    """Return the configuration file nearest to the root directory; None beside a command that is an array.

    Raises `pytest.UsageError`.
    """
    if server_text(config).startswith("["):
        return None
    if CONFIGURATION not in config.stash:
        try:
            config.stash[CONFIGURATION] = nearest_configuration(config.rootpath)
        except BadConfiguration as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[CONFIGURATION]


def configured(config: pytest.Config) -> Mapping[str, Any]:
    """Return what the configuration file says of the server, which may be named by its name there.

    Empty if the user gives a command or a URL instead.  Raises `pytest.UsageError` if one must be chosen.
    """
    file, server = configuration(config), server_text(config)
    is_url = bool(config.getoption(dest("url")) or config.getini(ini("url")))
    if file is None or is_url or (server and server not in file.servers):
        return {}
    try:
        return file.chosen(server)
    except BadConfiguration as error:
        raise pytest.UsageError(f"{error} (--conformance-server NAME)") from None


def server_text(config: pytest.Config) -> str:
    """Return the command of the server, or the name that it has in the configuration file."""
    return (config.getoption("conformance_server") or "").strip() or config.getini(
        "conformance_server"
    ).strip()


def given(config: pytest.Config) -> dict[str, Any]:
    """Return the given options by name, for a report; of environment variables and headers only the names."""
    names = [name for name, *_ in (*VALUES, *LISTS, *FLAGS) if name != "report"]
    found = {name: value(config, name) for name in names if value(config, name)}
    for name, sign in (("env", "="), ("header", ":")):
        if name in found:
            found[name] = [text.partition(sign)[0] for text in found[name]]
    return found


def path_of(config: pytest.Config, name: str, text: str) -> Path:
    """Return the path that an option names; that of an ini value is relative to the root directory."""
    return Path(text) if config.getoption(dest(name)) else config.rootpath / text
