"""The servers that the configuration of an MCP client names: Claude, Cursor, VS Code and others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.transport.sandbox import SECRET, importable, rooted

SHAPES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",))
"""Where the servers stand: Claude and Cursor, VS Code's mcp.json, its settings.json, and Zed."""
EDITORS = (".vscode", ".cursor", ".windsurf", ".zed", ".gemini", ".roo", ".github", ".claude")
"""Folders of an editor, in the folder that it has open."""
REMOTE = ("url", "serverUrl", "httpUrl")
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)
"""A string, a comment, or a comma that nothing follows: the strings keep what looks like the others."""
VARIABLE = re.compile(r"\$\{([^}]*)\}")
NAMED = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?", re.DOTALL)
"""``${NAME}``, ``${NAME:-default}`` or ``${env:NAME}``."""
ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*")


class BadConfig(Exception):  # noqa: N818
    """A configuration, or an entry in it, cannot be used; the message says why, in one line."""


class NotTested(Exception):  # noqa: N818
    """An entry is no server that can be tested here; the message says why."""


@dataclass(frozen=True)
class Entry:
    """How a client starts a server: ``command``, ``env``, and the working directory, if one is given.

    Words of the command that are paths from the workspace are absolute.  Credentials in the command that come
    from variables are in ``env`` too, so that no report shows them.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


@dataclass(frozen=True)
class Config:
    """A client's configuration: the file, and what it says of each server, by name."""

    path: Path
    servers: Mapping[str, Any]

    @property
    def workspace(self) -> Path:
        """The folder that relative paths start from: the one that holds the file, or the editor's folder."""
        folder = self.path.absolute().parent
        return folder.parent if folder.name in EDITORS else folder

    def entry(self, name: str, given: frozenset[str] = frozenset()) -> Entry:
        """How the server of that name starts; the user has ``given`` these of its environment variables.

        Raises `NotTested` for one that is no process of this machine, and `BadConfig`.
        """
        about = self.servers[name]
        if isinstance(about, dict) and "command" not in about and any(key in about for key in REMOTE):
            raise NotTested("it is remote, and only servers on stdio are tested")
        try:
            return self._entry(name, about, given)
        except _Wrong as wrong:
            raise BadConfig(f"{name}: {wrong}") from wrong

    def _entry(self, name: str, about: Any, given: frozenset[str]) -> Entry:
        if not isinstance(about, dict) or not about.get("command"):
            raise _Wrong("it has neither a command nor a url")
        filling = _Filling(self.workspace)
        command = tuple(filling.filled(word) for word in (_text(about, "command"), *_texts(about, "args")))
        cwd = filling.path(_text(about, "cwd")) if about.get("cwd") else None
        if cwd is not None and not cwd.is_dir():
            raise _Wrong(f"its cwd is no directory: {cwd}")
        env = _environment(about, filling, given)
        if cwd is None:
            here = self.workspace == Path.cwd()
            env = {**({} if here else importable(command, self.workspace, os.environ)), **env}
            command = rooted(command, self.workspace)
        return Entry(name, command, {**filling.credentials, **env}, cwd)

    def is_disabled(self, name: str) -> bool:
        """Whether the client has been told not to start it."""
        about = self.servers[name]
        return isinstance(about, dict) and (about.get("disabled") is True or about.get("enabled") is False)


def read(path: Path) -> Config:
    """A client's configuration.  Raises `BadConfig`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadConfig(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"not UTF-8: {error}") from error
    try:
        found = json.loads(TOKEN.sub(_plain, text))
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"not JSON: {error}") from error
    tables = (_within(found, shape) for shape in SHAPES)
    servers = next((table for table in tables if isinstance(table, dict)), None)
    if not servers:
        raise BadConfig("it names no server: there are no mcpServers, and no servers, in it")
    return Config(path, servers)


def _plain(token: re.Match[str]) -> str:
    """A token without what JSON does not have; line ends stay, so that an error names the right line."""
    return token[0] if token[0].startswith('"') else re.sub(r"[^\n]", " ", token[0])


def _within(found: Any, shape: tuple[str, ...]) -> Any:
    for name in shape:
        found = found.get(name) if isinstance(found, dict) else None
    return found


class _Wrong(Exception):  # noqa: N818
    """What is wrong with an entry."""


def _text(about: Mapping[str, Any], name: str) -> str:
    value = about[name]
    if not isinstance(value, str):
        raise _Wrong(f"its {name} is no string: {json.dumps(value)[:80]}")
    return value


def _texts(about: Mapping[str, Any], name: str) -> list[str]:
    values = about.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
        raise _Wrong(f"its {name} are no list of strings: {json.dumps(values)[:80]}")
    return [_shown(value) for value in values]


# Variables ---------------------------------------------------------------------------------------


class _Filling:
    """Puts values in the place of variables; keeps the ``credentials`` that it has used."""

    def __init__(self, workspace: Path):
        self.workspace = workspace
        self.credentials: dict[str, str] = {}
        self._known = {
            "workspaceFolder": str(workspace),
            "workspaceRoot": str(workspace),
            "workspaceFolderBasename": workspace.name,
            "cwd": str(workspace),
            "userHome": str(Path.home()),
            "pathSeparator": os.sep,
            "/": os.sep,
            "CLAUDE_PROJECT_DIR": str(workspace),
            "CLAUDE_PLUGIN_ROOT": str(workspace),
        }

    def filled(self, text: str) -> str:
        """A text with the values of its variables.  Raises `_Wrong`."""
        return VARIABLE.sub(lambda found: self._value(found[1]), text)

    def path(self, text: Any) -> Path:
        """A path that starts from the workspace, or from the home if it begins with ``~``."""
        return self.workspace / Path(self.filled(str(text))).expanduser()

    def _value(self, inside: str) -> str:
        named = NAMED.fullmatch(inside)
        name, default = (named[1], named[2]) if named else ("", None)
        if name in os.environ:
            if SECRET.search(name):
                self.credentials[name] = os.environ[name]
            return os.environ[name]
        if inside in self._known or name in self._known:
            return self._known.get(inside, self._known.get(name, ""))
        if default is not None:
            return default
        raise _Wrong(_lacking(inside, name))


def _lacking(inside: str, name: str) -> str:
    if name:
        return f"it needs the environment variable {name}, which is not set"
    if inside.startswith("input:"):
        return f"its client would ask for ${{{inside}}}, which nobody does here"
    return f"${{{inside}}} has no value here"


def _environment(about: Mapping[str, Any], filling: _Filling, given: frozenset[str]) -> dict[str, str]:
    """The environment variables that the file gives the server, but for those that the user has given."""
    listed = about.get("env") or {}
    if not isinstance(listed, dict):
        raise _Wrong(f"its env is no object: {json.dumps(listed)[:80]}")
    odd = next((name for name in listed if not name or "=" in name), None)
    if odd is not None:
        raise _Wrong(f"its env has a variable that cannot be: {odd!r}")
    values = {**dict(_env_file(about, filling)), **listed}
    wanted = {
        name: _shown(value) for name, value in values.items() if value is not None and name not in given
    }
    asked = next((name for name, value in wanted.items() if "${input:" in value), None)
    if asked is not None:
        raise _Wrong(f"its client would ask for {asked}: give it with --env {asked}=VALUE")
    return {name: filling.filled(value) for name, value in wanted.items()}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _env_file(about: Mapping[str, Any], filling: _Filling) -> Iterator[tuple[str, str]]:
    """The variables in the file that VS Code and Cursor read them from."""
    if not about.get("envFile"):
        return
    path = filling.path(about["envFile"])
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _Wrong(f"its envFile: {error}") from error
    for line in lines:
        if (found := ENV_LINE.fullmatch(line)) is not None:
            value = found[2]
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            yield found[1], value[1:-1] if is_quoted else value.split(" #")[0].rstrip()
