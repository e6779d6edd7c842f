"""The servers of a survey: what to install, how to start it, what it needs."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from mcp_conformance.survey.names import problem_with
from mcp_conformance.transport.credentials import redacted, secrets_of
from mcp_conformance.transport.files import MAX_TOML_BYTES, BadFile, json_value, read_file, toml_value
from mcp_conformance.transport.redaction import Redaction

REGISTRIES = ("npm", "pypi")
GIVEN = {"--env": "=", "--header": ":"}
"""The options of ``run`` with a name and a value, and what is between them."""


@dataclass(frozen=True, repr=False)
class Target:
    """A server to examine.

    ``registry`` is ``npm`` or ``pypi``, empty for a server that is installed already; ``packages`` are
    installed with ``package`` at ``version``.  ``command`` starts the server: ``{ENV}`` in it stands for the
    folder of the installation, ``{WORK}`` for an empty folder; if it is empty, the package's own program is
    started.  ``env`` has variables for the server, ``secrets`` the names of variables whose values nobody
    gave.  ``setup`` are shell commands that prepare ``{WORK}``.  ``url`` is that of a remote server.
    ``options`` are options of ``run`` for this target alone.
    """

    name: str
    registry: str = ""
    package: str = ""
    version: str = ""
    packages: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    url: str = ""
    options: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A short name for all that the target says."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def __repr__(self) -> str:
        """Return its name: a worker of Dask logs what a failed task was given."""
        return f"Target({self.name!r})"

    def redaction(self, for_all: Sequence[str] = ()) -> Redaction:
        """Return what leaves its credentials, and those in options for all, out of what is written."""
        options = (*self.options, *for_all)
        setup = (word for step in self.setup for word in _words(step))
        words = (*self.command, *self.arguments, *options, *setup, self.url)
        return Redaction(secrets_of(words, self.env, _given(options)))

    @property
    def shown(self) -> Target:
        """The target as results have it, without credentials; itself if it has none."""
        return self.redaction()(
            replace(
                self,
                command=redacted(self.command),
                arguments=redacted(self.arguments),
                options=redacted(self.options),
                setup=tuple(map(_shown, self.setup)),
            )
        )

    @classmethod
    def from_members(cls, members: Mapping[str, Any]) -> Target:
        """Return the target with these members.  Raises `BadFile`."""
        known = {one.name: one.type for one in fields(cls)}
        name = str(members.get("name", "a target without a name"))
        if unknown := members.keys() - known.keys():
            raise BadFile(f"{name}: unknown members: {', '.join(sorted(unknown))}")
        for member, value in members.items():
            if not _fits(str(known[member]), value):
                raise BadFile(f"{name}: {member} has the wrong type")
        given: dict[str, Any] = {"name": ""}
        given |= {member: tuple(one) if isinstance(one, list) else one for member, one in members.items()}
        target = cls(**given)
        target.check()
        return target

    def check(self) -> None:
        """Raise `BadFile` unless the target can be installed and started, as far as its members show."""
        if not self.name:
            raise BadFile("a target has no name")
        if self.registry and self.registry not in REGISTRIES:
            raise BadFile(f"{self.name}: registry is one of {', '.join(REGISTRIES)}, not {self.registry!r}")
        if self.registry and not (self.package and self.version):
            raise BadFile(f"{self.name}: a registry needs a package and its exact version")
        problem = self.registry and problem_with(self.registry, self.package, self.version, self.packages)
        if problem:
            raise BadFile(f"{self.name}: {problem}")
        if not (self.registry or self.command or self.url):
            raise BadFile(f"{self.name}: it needs a registry, a command or a url")


def _words(step: str) -> list[str]:
    """Return the words of a shell command."""
    try:
        return shlex.split(step)
    except ValueError:  # a quote without its end
        return step.split()


def _shown(step: str) -> str:
    """Return a shell command without credentials."""
    words = _words(step)
    shown = redacted(words)
    return step if shown == tuple(words) else shlex.join(shown)


def _given(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each variable and each header in options of ``run``."""
    for before, word in pairwise(("", *options)):
        option, is_one, text = word.partition("=") if word.startswith("--") else (before, "=", word)
        if is_one and option in GIVEN:
            name, _, value = text.partition(GIVEN[option])
            yield name.strip(), value.strip()


def _fits(kind: str, value: Any) -> bool:
    """Return whether a value of TOML or JSON fits the type of a member."""
    if kind.startswith("tuple"):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind.startswith("Mapping"):
        return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    return isinstance(value, str)


def read_targets(path: Path) -> list[Target]:
    """Return the targets of a file: TOML with a table for each name, or JSON Lines.  Raises `BadFile`."""
    is_toml = path.suffix == ".toml"
    members = read_file(path, _toml if is_toml else _json_lines, MAX_TOML_BYTES)
    targets = [Target.from_members(one) for one in members]
    names = [one.name for one in targets]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise BadFile(f"{path}: there are several targets called {', '.join(sorted(repeated))}")
    return targets


def _toml(text: str) -> list[dict[str, Any]]:
    tables = toml_value(text)
    if not all(isinstance(table, dict) for table in tables.values()):
        raise ValueError("each target is a table, such as [weather]")
    return [{"name": name, **table} for name, table in tables.items()]


def _json_lines(text: str) -> list[dict[str, Any]]:
    lines = [json_value(line) for line in text.split("\n") if line.strip()]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("each line is a JSON object")
    return lines


def write_targets(targets: list[Target]) -> str:
    """Return targets as JSON Lines in ASCII, without empty members and commands of GitHub's runner."""
    rows = ({name: value for name, value in asdict(one).items() if value} for one in targets)
    return "".join(json.dumps(row).replace("##[", "#\\u0023[") + "\n" for row in rows)
