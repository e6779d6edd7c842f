"""Targets from what others keep: the answer of the official registry, and clients' mcp.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_conformance.project.client_configs import BadConfig, NotTestable, read_config
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.credentials import is_public, secrets_of
from mcp_conformance.transport.files import BadFile, json_value, read_file
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
    """Return the latest version of each server in an answer to ``GET /v0/servers``.  Raises `BadFile`."""
    try:
        entries = _objects(read_file(path, json_value), "servers")
    except TypeError as error:
        raise BadFile(f"{path} is not an answer of a registry: {error}") from error
    targets: dict[str, Target] = {}
    left_out = []
    for place, entry in enumerate(entries):
        name = f"servers[{place}]"
        try:
            server, about = _entry(entry)
            name = str(server.get("name", name))
            if about.get("isLatest") is False or about.get("status") in ("deleted", "deprecated"):
                continue
            target = _of_server(name, server)
        except (BadFile, TypeError) as error:
            target = str(error).removeprefix(f"{name}: ")
        if isinstance(target, Target):
            targets.setdefault(name, target)
        else:
            left_out.append(f"{name}: {target}")
    return Found(tuple(targets.values()), tuple(left_out))


def _entry(one: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a server, and what the registry says about it; older answers have no ``server`` around it."""
    about = _object(_object(one, "_meta"), OFFICIAL)
    return (_object(one, "server") if "server" in one else one), about


def _object(parent: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    """Return a member that is an object, an empty one if it is not there.  Raises `TypeError`."""
    found = parent.get(member)
    if not isinstance(found, dict | None):
        raise TypeError(f"its {member} is not an object")
    return found or {}


def _objects(parent: Any, member: str) -> list[Mapping[str, Any]]:
    """Return a member that is a list of objects, an empty one if it is not there.  Raises `TypeError`."""
    found = parent.get(member) if isinstance(parent, dict) else parent
    if not isinstance(found, list | None) or not all(isinstance(one, dict) for one in found or ()):
        raise TypeError(f"its {member} is not a list of objects")
    return found or []


def _of_server(name: str, server: Mapping[str, Any]) -> Target | str:
    """Return the target for a server, or why there is none."""
    packages = _objects(server, "packages")
    for package in packages:
        is_stdio = _object(package, "transport").get("type", "stdio") == "stdio"
        if package.get("registryType") in INSTALLABLE and is_stdio:
            return _of_package(name, package, server)
    remotes = [one.get("url") for one in _objects(server, "remotes")]
    if url := next((one for one in remotes if isinstance(one, str)), ""):
        return Target(name, url=url)
    kinds = ", ".join(sorted({str(one.get("registryType")) for one in packages}))
    return f"none of its packages ({kinds}) can be installed here" if kinds else "it has no package"


def _of_package(name: str, package: Mapping[str, Any], server: Mapping[str, Any]) -> Target | str:
    version = package.get("version") or server.get("version")
    if not version:
        return "its package has no exact version"
    variables = _objects(package, "environmentVariables")
    known = {str(one.get("name")): _value(one) for one in variables}
    wanted = [str(one.get("name")) for one in variables if one.get("isRequired") and one.get("isSecret")]
    target = Target(
        name,
        str(package["registryType"]),
        str(package.get("identifier")),
        str(version),
        arguments=tuple(_arguments(package)),
        env={name: value for name, value in known.items() if value is not None and name not in wanted},
        secrets=tuple(name for name in wanted if known[name] is None),
    )
    target.check()
    return target


def _arguments(package: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words for the package's program: those that are fixed, have a default, or are required."""
    for one in _objects(package, "packageArguments"):
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
    choices = one.get("choices")
    sample = SAMPLES.get(str(one.get("format")), "example")
    return str(choices[0]) if isinstance(choices, list) and choices else sample


def from_config(path: Path) -> Found:
    """Return the servers of a client's configuration, of credentials the names.  Raises `BadFile`."""
    targets, left_out = [], []
    config = read_config(path)
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
