"""Targets from what others keep: the answer of the official registry, and clients' mcp.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_conformance.project.client_configs import BadConfig, NotTestable, read_config
from mcp_conformance.survey.targets import BadTarget, Target
from mcp_conformance.transport.credentials import is_public, secrets_of
from mcp_conformance.transport.redaction import Redaction

OFFICIAL = "io.modelcontextprotocol.registry/official"
INSTALLABLE = ("npm", "pypi")
SAMPLES = {"number": "1", "boolean": "true", "filepath": "{WORK}"}
"""Values for inputs that are required and have neither a value nor a default, by their format."""


@dataclass(frozen=True)
class Found:
    """The targets of a source, and a line for each server that cannot be one."""

    targets: tuple[Target, ...]
    left_out: tuple[str, ...]


def from_registry(path: Path) -> Found:
    """Return the latest version of each server in an answer to ``GET /v0/servers``.  Raises `BadTarget`."""
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
        entries = [_entry(one) for one in answer["servers"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadTarget(f"{path} is not an answer of a registry: {error!r}") from error
    targets: dict[str, Target] = {}
    left_out = []
    for server, about in entries:
        name = str(server.get("name"))
        if about.get("isLatest") is False or about.get("status") in ("deleted", "deprecated"):
            continue
        target = _of_server(name, server)
        if isinstance(target, Target):
            targets.setdefault(name, target)
        else:
            left_out.append(f"{name}: {target}")
    return Found(tuple(targets.values()), tuple(left_out))


def _entry(one: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a server, and what the registry says about it; older answers have no ``server`` around it."""
    server = one.get("server", one)
    about = one.get("_meta", {}).get(OFFICIAL, {})
    if not isinstance(server, dict):
        raise TypeError("a server is not an object")
    return server, about


def _of_server(name: str, server: Mapping[str, Any]) -> Target | str:
    """Return the target for a server, or why there is none."""
    packages = [one for one in server.get("packages") or () if isinstance(one, dict)]
    for package in packages:
        is_stdio = (package.get("transport") or {}).get("type", "stdio") == "stdio"
        if package.get("registryType") in INSTALLABLE and is_stdio:
            return _of_package(name, package, server)
    remotes = [one.get("url") for one in server.get("remotes") or () if isinstance(one, dict)]
    if url := next((one for one in remotes if isinstance(one, str)), ""):
        return Target(name, url=url)
    kinds = ", ".join(sorted({str(one.get("registryType")) for one in packages}))
    return f"none of its packages ({kinds}) can be installed here" if kinds else "it has no package"


def _of_package(name: str, package: Mapping[str, Any], server: Mapping[str, Any]) -> Target | str:
    version = package.get("version") or server.get("version")
    if not version:
        return "its package has no exact version"
    variables = [one for one in package.get("environmentVariables") or () if isinstance(one, dict)]
    known = {str(one.get("name")): _value(one) for one in variables}
    wanted = [str(one.get("name")) for one in variables if one.get("isRequired") and one.get("isSecret")]
    return Target(
        name,
        str(package["registryType"]),
        str(package.get("identifier")),
        str(version),
        arguments=tuple(_arguments(package)),
        env={name: value for name, value in known.items() if value is not None and name not in wanted},
        secrets=tuple(name for name in wanted if known[name] is None),
    )


def _arguments(package: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words for the package's program: those that are fixed, have a default, or are required."""
    for one in package.get("packageArguments") or ():
        value = _value(one)
        if one.get("type") == "named" and (value is not None or one.get("isRequired")):
            yield str(one.get("name"))
        if value is not None:
            yield value


def _value(one: Mapping[str, Any]) -> str | None:
    """Return the value of an input, None if it has none and needs none, or is a secret."""
    for member in ("value", "default"):
        if isinstance(one.get(member), str):
            return str(one[member])
    if not one.get("isRequired") or one.get("isSecret"):
        return None
    choices = one.get("choices") or [SAMPLES.get(str(one.get("format")), "example")]
    return str(choices[0])


def from_config(path: Path) -> Found:
    """Return the servers of a client's configuration, of credentials the names.  Raises `BadTarget`."""
    targets, left_out = [], []
    try:
        config = read_config(path)
    except BadConfig as error:
        raise BadTarget(str(error)) from error
    for name in config.servers:
        if config.is_disabled(name):
            left_out.append(f"{name}: it is disabled")
            continue
        try:
            entry = config.entry(name)
        except (BadConfig, NotTestable) as error:
            left_out.append(f"{name}: {error}")
            continue
        redact = Redaction(secrets_of((*entry.command, entry.url), entry.env, entry.expanded.items()))
        if redact(entry.command) != entry.command or redact(entry.url) != entry.url:
            left_out.append(f"{name}: its command has a credential, which no file of targets may have")
            continue
        env = {
            one: text for one, text in entry.env.items() if is_public(one, text) and not redact.hides(text)
        }
        withheld = tuple(one for one in entry.env if one not in env)
        targets.append(Target(name, command=entry.command, env=env, secrets=withheld, url=entry.url))
    return Found(tuple(targets), tuple(left_out))
