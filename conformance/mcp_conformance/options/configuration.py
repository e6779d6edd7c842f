"""The configuration file: ``mcp-conformance.toml``, or the table ``tool.mcp-conformance`` in pyproject.toml.

It has the options of the command under their names, and ``command``, for one server; or, for several, a table
``servers.NAME`` for each, beside options that all of them share.  The options of a table ``profiles.NAME``
replace the others when the user asks for it by name.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_conformance.options.given import BadOption, Given, OptionValue, ProjectRules
from mcp_conformance.options.option import Form, Kind, Option
from mcp_conformance.options.table import OPTIONS
from mcp_conformance.project.files import CONFIGURATION_FILE, CONFIGURATION_TABLE, PROJECT_FILE
from mcp_conformance.project.places import toml_lines
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.transport.files import MAX_TOML_BYTES, BadFile, read_file, toml_value

COMMAND, URL, SERVERS, PROFILES = "command", "url", "servers", "profiles"
PROFILE = "profile"
"""The option that names one of the profiles."""
PROJECT, RULES, CHECKS = "project", "rules", "checks"
"""The table of the project's own rules, and its members."""
RULE_NAME = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
RULE_KEYS = ("says", "level", "fix")
LEVELS = ("MUST", "SHOULD", "MAY")
ROOT = 0
SECRETIVE = ("env", "header", "header-env", "header-other", "header-other-env", COMMAND, URL)
"""The options whose values no message has."""
BY_KEY = {option.file_key: option for option in OPTIONS}


class BadConfiguration(BadOption):
    """The file cannot be used; the message says why."""


@dataclass(frozen=True)
class Configuration:
    """A configuration file: the options of each server by its name, as the command line would give them.

    The name of a server that is not in ``servers`` is empty.  ``command`` is words or a command line.
    ``profiles`` has the options of each profile.
    """

    path: Path
    servers: Mapping[str, Mapping[str, OptionValue]]
    profiles: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    project: ProjectRules = field(default_factory=ProjectRules)

    def lines(self) -> dict[str, int]:
        """Return the line of the file on which each server stands, counted from 1."""
        table = (SERVERS,) if self.path.name == CONFIGURATION_FILE else ("tool", CONFIGURATION_TABLE, SERVERS)
        return toml_lines(read_file(self.path, str, MAX_TOML_BYTES), table)

    def chosen(self, name: str, profile: str = "") -> dict[str, Given]:
        """Return the options of the server of that name; an empty name stands for the only one.

        Those of the profile of that name, or else of the one that the file itself names, replace them.
        Raises `BadConfiguration`.
        """
        server = self._server(name)
        wanted = profile or str(server.get(PROFILE, ""))
        if wanted and wanted not in self.profiles:
            raise BadConfiguration(f"{self.path}: {_unknown(PROFILE, wanted, self.profiles)}")
        own = self.profiles[wanted] if wanted else {}
        found = self._given(server) | self._given(own, f"{PROFILES}.{wanted}.")
        return {one: given for one, given in found.items() if given.value and one != PROFILE}

    def _given(self, options: Mapping[str, OptionValue], table: str = "") -> dict[str, Given]:
        keys = {option.name: option.file_key for option in OPTIONS}
        return {
            one: Given(value, f"{self.path}: {table}{keys.get(one, one)}", self.path.parent, is_in_file=True)
            for one, value in options.items()
        }

    def _server(self, name: str) -> Mapping[str, OptionValue]:
        if not name and len(self.servers) > 1:
            raise BadConfiguration(f"{self.path}: choose a server; it has {', '.join(self.servers)}")
        if name and name not in self.servers:
            raise BadConfiguration(f"{self.path}: {_unknown('server', name, self.servers)}")
        return self.servers[name] if name else next(iter(self.servers.values()))


def nearest_configuration(folder: Path) -> Configuration | None:
    """Return the configuration in a folder or its nearest parent that has one.  Raises `BadConfiguration`."""
    for place in (folder, *folder.absolute().parents):
        own = place / CONFIGURATION_FILE
        tools = _toml(place / PROJECT_FILE).get("tool") if (place / PROJECT_FILE).is_file() else None
        is_in_project = isinstance(tools, dict) and CONFIGURATION_TABLE in tools
        if own.is_file() or is_in_project:
            _expect_owner(own if own.is_file() else place / PROJECT_FILE, folder)
        if own.is_file() and is_in_project:
            raise BadConfiguration(
                f"{own}: {PROJECT_FILE} has [tool.{CONFIGURATION_TABLE}] too: keep one of them"
            )
        if own.is_file():
            return _configuration(own, _toml(own))
        if tools is not None and is_in_project:
            return _configuration(place / PROJECT_FILE, tools[CONFIGURATION_TABLE])
    return None


def _expect_owner(file: Path, folder: Path) -> None:
    """Raise `BadConfiguration` if another user may have put the file above the folder, as into ``/tmp``."""
    if sys.platform == "win32":
        return
    if _owner(file) not in (os.getuid(), ROOT, _owner(folder)):
        raise BadConfiguration(f"{file}: it belongs to another user, who could have any command run")


def _owner(path: Path) -> int:
    return path.stat().st_uid


def _toml(path: Path) -> dict[str, Any]:
    try:
        return read_file(path, toml_value, MAX_TOML_BYTES)
    except BadFile as error:
        raise BadConfiguration(str(error)) from error


def _configuration(path: Path, about: Any) -> Configuration:
    shared = _table(path, CONFIGURATION_TABLE, about)
    named = _table(path, SERVERS, shared.pop(SERVERS, {}))
    profiles = _table(path, PROFILES, shared.pop(PROFILES, {}))
    project = _project(path, _table(path, PROJECT, shared.pop(PROJECT, {})))
    own = (option.file_key for option in OPTIONS if not option.is_shared)
    of_all = shared.keys() | {key for one in profiles.values() if isinstance(one, dict) for key in one}
    for name in (COMMAND, URL, *own):
        if named and name in of_all:
            raise BadConfiguration(
                f"{path}: {name!r} belongs to a table [{SERVERS}.NAME], as servers differ in it"
            )
    tables = {name: _table(path, f"{SERVERS}.{name}", one) for name, one in named.items()}
    servers = {name: _server(path, {**shared, **one}) for name, one in (tables or {"": {}}).items()}
    of_profiles = {name: _profile(path, name, one) for name, one in profiles.items()}
    return Configuration(path, servers, of_profiles, project)


def _profile(path: Path, name: str, found: Any) -> dict[str, OptionValue]:
    """Return the options of a profile, which is for any server of the file."""
    table = _table(path, f"{PROFILES}.{name}", found)
    odd = next((key for key in (COMMAND, URL, PROFILE) if key in table), "")
    if odd:
        raise BadConfiguration(f"{path}: {odd!r} belongs to a server, and not to {PROFILES}.{name}")
    return _options(path, table)


def _server(path: Path, table: Mapping[str, Any]) -> dict[str, OptionValue]:
    """Return the options of a server, and how it is reached."""
    if (COMMAND in table) == (URL in table):
        raise BadConfiguration(f"{path}: a server needs a {COMMAND} or a {URL}")
    return _options(path, table)


def _project(path: Path, table: Mapping[str, Any]) -> ProjectRules:
    """Return the project's own rules.  Raises `BadConfiguration`."""
    known, shown = (RULES, CHECKS), f"{PROJECT}.{CHECKS}"
    try:
        for key in table:
            _expected(f"{PROJECT}.{key}", key, key in known, f"unknown: there are {' and '.join(known)}")
        named = _table(path, f"{PROJECT}.{RULES}", table.get(RULES, {}))
        rules = {name: _rule(f"{PROJECT}.{RULES}.{name}", name, one) for name, one in named.items()}
        found = table.get(CHECKS, [])
        checks = [found] if isinstance(found, str) else found
        is_list = isinstance(checks, list) and all(isinstance(one, str) for one in checks)
        _expected(shown, found, is_list, "the path of a file with checks, or a list of paths")
        for one in checks:
            _expected(shown, one, (path.parent / one).is_file(), "a file that exists")
        _expected(shown, checks, bool(checks) or not rules, "needed for the rules")
    except _OptionError as error:
        raise BadConfiguration(f"{path}: {error}") from error
    return ProjectRules(rules, tuple(str(path.parent.absolute() / one) for one in checks))


def _rule(place: str, name: str, found: Any) -> dict[str, str]:
    """Return a rule of the project.  Raises `_OptionError`."""
    _expected(place, name, bool(RULE_NAME.fullmatch(name)), "a name of small letters, digits, - and .")
    is_table = isinstance(found, dict) and all(
        key in RULE_KEYS and isinstance(found[key], str) for key in found
    )
    rule: dict[str, str] = _expected(place, found, is_table, f"a table of texts: {', '.join(RULE_KEYS)}")
    _expected(f"{place}.says", rule.get("says"), bool(rule.get("says")), "the rule in one sentence")
    _expected(f"{place}.level", rule.get("level"), rule.get("level", LEVELS[0]) in LEVELS, ", ".join(LEVELS))
    return rule


def _table(path: Path, name: str, found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise BadConfiguration(f"{path}: {name} is a table, not {found!r}")
    return dict(found)


def _options(path: Path, table: Mapping[str, Any]) -> dict[str, OptionValue]:
    """Return the options in a table as the command line would give them."""
    for name in table:
        if name not in (*BY_KEY, COMMAND):
            known = (*BY_KEY, COMMAND, SERVERS, PROFILES, PROJECT)
            raise BadConfiguration(f"{path}: {_unknown('option', name, known)}")
    try:
        found = {BY_KEY[key].name: _option(BY_KEY[key], one) for key, one in table.items() if key != COMMAND}
        return found if COMMAND not in table else {COMMAND: _command(table[COMMAND]), **found}
    except _OptionError as error:
        raise BadConfiguration(f"{path}: {error}") from error


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
    return f"unknown {kind} {name!r}{hint}"


class _OptionError(Exception):
    pass


def _option(option: Option, found: Any) -> OptionValue:
    """Return the value of an option as the command line would give it.  Raises `_OptionError`."""
    key = option.file_key
    if option.kind is Kind.SWITCH:
        return bool(_expected(key, found, isinstance(found, bool), "true or false"))
    if option.form is Form.VERSION:
        _expected(key, found, isinstance(found, str), 'a text such as "0.1"')
    texts = tuple(_texts(option, found))
    if option.kind is Kind.LIST:
        return texts
    _expected(key, list(texts), len(texts) == 1, "one value")
    return texts[0]


def _command(found: Any) -> OptionValue:
    is_list = isinstance(found, list) and bool(found) and all(isinstance(word, str) for word in found)
    is_text = isinstance(found, str) and bool(found.strip())
    _expected(COMMAND, found, is_list or is_text, "a text or a list of texts")
    return tuple(found) if is_list else str(found)


def _texts(option: Option, found: Any) -> Iterator[str]:
    """Yield the texts of an option: of a table, a text for each key; of a list, one for each item."""
    name = option.file_key
    if isinstance(found, dict) and option.form is Form.PAIRS:
        yield from (f"{key}={_text(name, one)}" for key, one in found.items())
    elif isinstance(found, dict) and option.form is Form.CALLS:
        for tool, given in found.items():
            for one in given if isinstance(given, list) else [given]:
                arguments = _expected(name, one, isinstance(one, dict), "a table of arguments")
                yield f"{tool} {json.dumps(arguments)}"
    elif isinstance(found, dict) and option.form is Form.LIMITS:
        for tool, given in found.items():
            limits = _expected(name, given, isinstance(given, dict), "a table of limits for each tool")
            yield " ".join([tool, *(f"{key}={_text(name, one)}" for key, one in limits.items())])
    else:
        yield from (_text(name, one) for one in (found if isinstance(found, list) else [found]))


def _text(name: str, found: Any) -> str:
    is_text = isinstance(found, str | int | float) and not isinstance(found, bool)
    return str(_expected(name, found, is_text, "a text or a number"))


def _expected(name: str, found: Any, holds: bool, what: str) -> Any:
    if not holds:
        is_hidden = name in SECRETIVE and isinstance(found, str | list | dict) and bool(found)
        shown = "" if is_hidden else f", not {found!r}"
        raise _OptionError(f"{name} is {what}{shown}")
    return found
