"""Servers in the configuration of an MCP client: Claude, Cursor, VS Code and others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_conformance.project.files import expect_inside, repository_root
from mcp_conformance.project.places import json_lines
from mcp_conformance.transport.files import BadFile, json_value, read_file
from mcp_conformance.transport.throwaway import importable, rooted

SERVER_TABLES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",))
"""The paths to the servers: Claude and Cursor, VS Code's mcp.json, its settings.json, and Zed."""
EDITOR_FOLDERS = (".vscode", ".cursor", ".windsurf", ".zed", ".gemini", ".roo", ".github", ".claude")
"""An editor's folder inside the folder that it has open."""
REMOTE_KEYS = ("url", "serverUrl", "httpUrl")
OLD_TRANSPORT = "sse"
"""The type of a server that speaks HTTP+SSE of 2024-11-05."""
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)
"""A string, a comment, or a trailing comma; strings match first, so their content is kept."""
VARIABLE = re.compile(r"\$\{([^}]*)\}")
VARIABLE_NAME = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?", re.DOTALL)
"""``${NAME}``, ``${NAME:-default}`` or ``${env:NAME}``."""
# Not measured: a client that keeps its whole history in such a file has some ten megabytes.
MAX_BYTES = 64_000_000
ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*")


class BadConfig(Exception):  # noqa: N818
    """An entry of a configuration cannot be used; the message gives the reason in one line."""


class NotTestable(Exception):  # noqa: N818
    """A server cannot be tested here; the message gives the reason."""


@dataclass(frozen=True)
class ServerEntry:
    """A server as its client starts it: ``command``, ``env``, and the working directory, if one is given.

    A server over HTTP has a ``url`` and ``headers`` instead.  Paths in the command that start from the
    workspace are absolute.  ``expanded`` are the variables of this process that it was made of, so that
    reports leave their values out.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    expanded: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClientConfig:
    """A client's configuration: the file, the entry of each server by its name, and the line of each."""

    path: Path
    servers: Mapping[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """The start of relative paths: the folder around the file, or around an editor's folder."""
        folder = self.path.absolute().parent
        return folder.parent if folder.name in EDITOR_FOLDERS else folder

    def entry(self, name: str, given: frozenset[str] = frozenset()) -> ServerEntry:
        """Return the server of that name; the user has ``given`` these environment variables.

        Raises `NotTestable` for a server with the transport of 2024-11-05, and `BadConfig`.
        """
        about = self.servers[name]
        key = next((key for key in REMOTE_KEYS if key in about), "") if isinstance(about, dict) else ""
        try:
            if key and "command" not in about:
                return self._http_entry(name, about, key)
            return self._entry(name, about, given)
        except _EntryError as error:
            raise BadConfig(f"{name}: {error}") from error

    def _entry(self, name: str, about: Any, given: frozenset[str]) -> ServerEntry:
        if not isinstance(about, dict) or not about.get("command"):
            raise _EntryError("it has neither a command nor a url")
        variables = _Variables(self.workspace)
        command = tuple(
            variables.substitute(word) for word in (_string(about, "command"), *_strings(about, "args"))
        )
        cwd = variables.path(_string(about, "cwd")) if about.get("cwd") else None
        if cwd is not None and not cwd.is_dir():
            raise _EntryError(f"its cwd is not a directory: {cwd}")
        env = _environment(about, variables, given)
        if cwd is None:
            here = self.workspace == Path.cwd()
            env = {**({} if here else importable(command, self.workspace, os.environ)), **env}
            command = rooted(command, self.workspace)
        return ServerEntry(name, command, env, cwd, expanded=variables.used)

    def _http_entry(self, name: str, about: Mapping[str, Any], key: str) -> ServerEntry:
        if OLD_TRANSPORT in (about.get("type"), about.get("transport")):
            raise NotTestable("it speaks HTTP+SSE of 2024-11-05, and only Streamable HTTP can be tested")
        variables, headers = _Variables(self.workspace), about.get("headers") or {}
        if not isinstance(headers, dict):
            raise _EntryError(f"its headers are not an object, but {_kind(headers)}")
        url = variables.substitute(_string(about, key))
        named = {header: variables.substitute(_as_text(value)) for header, value in headers.items()}
        return ServerEntry(name, (), url=url, headers=named, expanded=variables.used)

    def is_disabled(self, name: str) -> bool:
        """Return whether the configuration disables the server."""
        about = self.servers[name]
        return isinstance(about, dict) and (about.get("disabled") is True or about.get("enabled") is False)


def read_config(path: Path) -> ClientConfig:
    """Return a client's configuration.  Raises `BadFile`."""
    plain = read_file(path, without_comments, MAX_BYTES)
    try:
        found = json_value(plain)
    except BadFile as error:
        raise BadFile(f"{path}: {error}") from error
    for names in SERVER_TABLES:
        servers = _member(found, names)
        if servers and isinstance(servers, dict):
            return ClientConfig(path, servers, json_lines(plain, names))
    raise BadFile(f"{path}: it names no server: it has neither mcpServers nor servers")


def without_comments(text: str) -> str:
    """Return JSON without the comments and trailing commas that editors allow, on the same lines."""
    return TOKEN.sub(_plain, text)


def _plain(token: re.Match[str]) -> str:
    """Return a string unchanged, other tokens as blanks and line ends, which keep line numbers right."""
    return token[0] if token[0].startswith('"') else re.sub(r"[^\n]", " ", token[0])


def _member(found: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


class _EntryError(Exception):
    """A fault of an entry."""


def _string(about: Mapping[str, Any], name: str) -> str:
    value = about[name]
    if not isinstance(value, str):
        raise _EntryError(f"its {name} is not a string, but {_kind(value)}")
    return value


def _strings(about: Mapping[str, Any], name: str) -> list[str]:
    values = about.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
        raise _EntryError(f"its {name} are not a list of strings")
    return [_as_text(value) for value in values]


def _kind(value: Any) -> str:
    """Return the type of a JSON value, which itself may be a credential."""
    kinds = {list: "an array", dict: "an object", str: "a string", bool: "a boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")


# Variables ---------------------------------------------------------------------------------------


class _Variables:
    """Values of variables; ``used`` are those of this process that were used."""

    def __init__(self, workspace: Path):
        self.workspace = workspace
        self.used: dict[str, str] = {}
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

    def substitute(self, text: str) -> str:
        """Return a text with the values of its variables.  Raises `_EntryError`."""
        return VARIABLE.sub(lambda found: self._value(found[1]), text)

    def path(self, text: Any) -> Path:
        """Return a path relative to the workspace, or to the home if it begins with ``~``."""
        return self.workspace / Path(self.substitute(str(text))).expanduser()

    def _value(self, inside: str) -> str:
        named = VARIABLE_NAME.fullmatch(inside)
        name, default = (named[1], named[2]) if named else ("", None)
        if name in os.environ:
            self.used[name] = os.environ[name]
            return os.environ[name]
        if inside in self._known or name in self._known:
            return self._known.get(inside, self._known.get(name, ""))
        if default is not None:
            return default
        raise _EntryError(_missing(inside, name))


def _missing(inside: str, name: str) -> str:
    if name:
        return f"it needs the environment variable {name}, which is not set"
    if inside.startswith("input:"):
        return f"its client would ask the user for ${{{inside}}}, and this run cannot"
    return f"${{{inside}}} has no value here"


def _environment(about: Mapping[str, Any], variables: _Variables, given: frozenset[str]) -> dict[str, str]:
    """Return the environment variables from the file, without those that the user has given."""
    listed = about.get("env") or {}
    if not isinstance(listed, dict):
        raise _EntryError(f"its env is not an object, but {_kind(listed)}")
    odd = next((name for name in listed if not name or "=" in name), None)
    if odd is not None:
        raise _EntryError(f"its env has an impossible variable name: {odd!r}")
    values = {**dict(_env_file(about, variables)), **listed}
    wanted = {
        name: _as_text(value) for name, value in values.items() if value is not None and name not in given
    }
    asked = next((name for name, value in wanted.items() if "${input:" in value), None)
    if asked is not None:
        raise _EntryError(f"its client would ask the user for {asked}: add --env {asked}=VALUE")
    return {name: variables.substitute(value) for name, value in wanted.items()}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _env_file(about: Mapping[str, Any], variables: _Variables) -> Iterator[tuple[str, str]]:
    """Yield the variables in the entry's `envFile`, as VS Code and Cursor read it."""
    if not about.get("envFile"):
        return
    path, root = variables.path(about["envFile"]), repository_root(variables.workspace)
    try:
        if (root / ".git").exists():
            expect_inside(root, path)
        lines = read_file(path, str.splitlines, MAX_BYTES)
    except ValueError as error:
        raise _EntryError(f"its envFile: {error}") from error
    for line in lines:
        if (found := ENV_LINE.fullmatch(line)) is not None:
            value = found[2]
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            yield found[1], value[1:-1] if is_quoted else value.split(" #")[0].rstrip()
