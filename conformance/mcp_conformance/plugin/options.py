"""The options under pytest: its flags and ini values, and what the user chose by them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcp_conformance.options.choosing import choose
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.options.option import Kind, Option
from mcp_conformance.options.table import OPTIONS
from mcp_conformance.plugin.node_ids import CHOSEN
from mcp_conformance.project.files import CONFIGURATION_PLACES
from mcp_conformance.protocol.text import harmless

if TYPE_CHECKING:
    from mcp_conformance.options.run_options import RunOptions

RUN_OPTIONS: pytest.StashKey[RunOptions] = pytest.StashKey()
"""What the user chose, in a run that collects the suites."""
HANDED = pytest.StashKey[Chosen]()
"""What the user chose, in a run that another process or a command of ours starts."""
FOR_WORKERS = "mcp_options"
PREFIX, COMMAND, INI_COMMAND = "--conformance-", "--conformance-server", "conformance_server"
FOR_SUITES = ("select", "skip", "report", "within", "baseline", "since", "strict", "pedantic")
"""Options that the project's own tests have no use for."""
OBJECT, INI_OBJECT = "--conformance-object", "conformance_object"


class CommandOptionsPlugin:
    """A pytest plugin that hands over what the user chose by a command of ours."""

    def __init__(self, chosen: Chosen):
        self._chosen = chosen

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Hand it over before our plugin looks for it."""
        config.stash[HANDED] = self._chosen


# Flags and ini values ----------------------------------------------------------------------------


def add_options(parser: pytest.Parser) -> None:
    """Register every flag and ini value."""
    group = parser.getgroup("conformance", "MCP conformance")
    help_ = "run the conformance suites against the server that is named"
    group.addoption("--conformance", action="store_true", default=None, help=help_)
    parser.addini("conformance", help_, type="bool", default=False)
    help_ = f"the server to test, which speaks over stdio unless {PREFIX}http is given"
    group.addoption(COMMAND, metavar="COMMAND", help=help_)
    parser.addini(INI_COMMAND, f"{help_} (a command line, or a JSON array of its words)")
    help_ = "the server object that your own tests call, without a process, such as shop.server:mcp"
    group.addoption(OBJECT, metavar="MODULE:NAME", help=help_)
    parser.addini(INI_OBJECT, help_, default="")
    for option in OPTIONS:
        group.addoption(f"{PREFIX}{option.name}", **_flag(option))
        _add_ini(parser, option)


def _flag(option: Option) -> dict[str, Any]:
    """Return the arguments of ``addoption``."""
    about: dict[str, Any] = {"dest": _dest(option), "help": _under_pytest(option.full_help)}
    if option.kind is Kind.SWITCH:
        return {**about, "action": "store_true", "default": None}
    about["metavar"] = option.metavar
    return {**about, **option.repeated} if option.kind is Kind.LIST else about


def _add_ini(parser: pytest.Parser, option: Option) -> None:
    help_ = _under_pytest(option.help)
    if option.kind is Kind.SWITCH:
        parser.addini(option.ini_name, help_, type="bool", default=False)
    elif option.kind is Kind.LIST:
        parser.addini(option.ini_name, help_, type="linelist", default=[])
    else:
        parser.addini(option.ini_name, help_, default=None)


def _dest(option: Option) -> str:
    return f"conformance_{option.dest}"


def _under_pytest(help_: str) -> str:
    """Return a help text in which the options that it names have their names under pytest."""
    return help_.replace("--", PREFIX)


# What the user chose -----------------------------------------------------------------------------


@contextmanager
def usage_errors() -> Iterator[None]:
    """Raise an error of the user as one of pytest."""
    try:
        yield
    except BadOption as error:
        raise pytest.UsageError(harmless(str(error))) from error


PRINTING = ("help", "markers", "showfixtures", "show_fixtures_per_test", "cacheshow", "setupplan")
"""Pytest's options with which no check runs; not ``--collect-only``, as the server decides what is listed."""


def chosen_for_suites(config: pytest.Config) -> Chosen | None:
    """Return what the user chose if this run collects the suites, else None.  Raises `pytest.UsageError`.

    The flag adds them to every run, the ini value to a run without paths on its command line.  A node id of
    ours asks for itself.  A run that prints something else than checks needs no server.
    """
    if any(getattr(config.option, name, None) for name in PRINTING):
        if HANDED in config.stash and config.option.setupplan:
            raise pytest.UsageError("--setup-plan starts no server, which decides what runs: --collect-only")
        return None
    if HANDED in config.stash:
        return config.stash[HANDED]
    if hasattr(config, "workerinput"):
        text = config.workerinput.get(FOR_WORKERS)
        return Chosen.from_json(text) if text is not None else None
    names_paths = config.args_source is config.ArgsSource.ARGS
    by_ini = config.getini("conformance") and not names_paths
    names_checks = bool(config.stash[CHOSEN])
    if not (config.getoption("conformance") or by_ini or names_checks):
        return None
    chosen = chosen_by(config)
    if chosen is None:
        places = f"{COMMAND} COMMAND, {PREFIX}url URL, or {CONFIGURATION_PLACES}"
        raise pytest.UsageError(f"--conformance: no server is named: {places}")
    return chosen


def chosen_by(config: pytest.Config) -> Chosen | None:
    """Return what the user chose by flags and ini values, and in the configuration file.

    None if no server is named.  Raises `pytest.UsageError`.
    """
    if HANDED in config.stash:
        return config.stash[HANDED]
    chosen = _all_chosen(config)
    return chosen if chosen.command is not None or chosen.has("url") else None


def _all_chosen(config: pytest.Config) -> Chosen:
    with usage_errors():
        options = {option.name: given for option in OPTIONS if (given := _given(config, option)) is not None}
        return choose(options, _server(config), PREFIX, config.rootpath)


def idle_flags(config: pytest.Config) -> list[str]:
    """Return the flags on the command line that mean something only for the suites."""
    words = {word.partition("=")[0] for word in config.invocation_params.args}
    return [flag for name in FOR_SUITES if (flag := f"{PREFIX}{name}") in words]


def chosen_object(config: pytest.Config) -> tuple[Given, Chosen] | None:
    """Return the place of the server object, and what the user chose beside it; None without one."""
    flag, ini = config.getoption("conformance_object"), config.getini(INI_OBJECT).strip()
    given = Given(flag, OBJECT) if flag else Given(ini, INI_OBJECT, config.rootpath)
    return (given, _all_chosen(config)) if given.value else None


def _given(config: pytest.Config, option: Option) -> Given | None:
    """Return an option as its flag or else its ini value gives it; None without either."""
    flag, ini = config.getoption(_dest(option)), config.getini(option.ini_name)
    found = flag if flag is not None else ini
    if not found:
        return None
    value = tuple(found) if isinstance(found, list) else found
    if flag is not None:
        return Given(value, f"{PREFIX}{option.name}")
    return Given(value, option.ini_name, config.rootpath, is_in_file=True)


def _server(config: pytest.Config) -> Given | None:
    """Return the command of the server, or the name that it has in the configuration file."""
    if flag := (config.getoption("conformance_server") or "").strip():
        return Given(flag, COMMAND)
    ini = config.getini(INI_COMMAND).strip()
    return Given(ini, INI_COMMAND, config.rootpath) if ini else None
