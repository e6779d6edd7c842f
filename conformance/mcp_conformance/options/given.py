"""What the user chose: the options that are given, and where each was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcp_conformance.project.files import expect_inside, repository_root

OptionValue = str | bool | tuple[str, ...]
"""The text of an option, the texts of one that can be repeated, or True for a switch."""


class BadOption(ValueError):  # noqa: N818  (an error of the user, in one line)
    """The user's options cannot be used; the message says why, and names the option as the user wrote it."""


@dataclass(frozen=True)
class Given:
    """An option as the user wrote it: its value, and its name as it is ``shown`` in an error.

    Relative paths start from ``folder``: the working directory for an option of a command line, else the
    folder of the file.  ``is_in_file`` says that a file of the project has it: others may have written that.
    """

    value: OptionValue
    shown: str
    folder: Path = Path()
    is_in_file: bool = False

    @property
    def text(self) -> str:
        """The text of an option with one value."""
        return str(self.value)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of an option that can be repeated."""
        return self.value if isinstance(self.value, tuple) else (str(self.value),)

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the texts, between commas or spaces."""
        return tuple(word for text in self.texts for word in text.replace(",", " ").split())

    def path(self, text: str) -> Path:
        """Return the path that a text names."""
        return self.folder / text

    def own_path(self, text: str) -> Path:
        """Return the path that a text names, which a file may name only in its own repository.

        Links are followed.  For what a run writes, or hands to the server.  Raises `ValueError`.
        """
        if self.is_in_file:
            expect_inside(repository_root(self.folder.absolute()), self.path(text))
        return self.path(text)

    def error(self, message: object) -> BadOption:
        """Return an error that names the option."""
        return BadOption(f"{self.shown}: {message}" if self.shown else str(message))


@dataclass(frozen=True)
class ProjectRules:
    """The rules of the user's project, each with its words by its name, and the files of their ``checks``."""

    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """All that the user chose: options by name, without empty ones, and the ``command`` of the server.

    The value of ``command`` is a tuple of words, a command line, or a JSON array; None beside a URL.  An
    option that is not given is shown with ``prefix`` before its name.  ``servers`` are the names in the
    configuration file, and ``is_configured`` says that the server is one of them.  ``expanded`` are the
    variables whose values are in the command or the options.  ``source`` are the words that name a server
    which a file describes, where a printed command leaves that to the file (None: it does not), and
    ``beside`` the options that the user gave beside them.  ``place`` is the folder of what a run reads and
    keeps by default: that of the configuration file.  ``project`` has the
    rules of the user's own.  ``read_from`` is the configuration file that has a part in this, if one has.
    """

    options: Mapping[str, Given]
    command: Given | None
    prefix: str
    servers: tuple[str, ...] = ()
    is_configured: bool = False
    expanded: Mapping[str, str] = field(default_factory=dict)
    source: tuple[str, ...] | None = None
    beside: frozenset[str] = frozenset()
    place: Path = Path()
    project: ProjectRules = field(default_factory=ProjectRules)
    read_from: str = ""

    @property
    def head(self) -> str:
        """The line that says which configuration file was read; empty without one."""
        part = "" if self.is_configured else " (the project's own rules)"
        return f"configuration: {self.read_from}{part}" if self.read_from else ""

    def text(self, name: str) -> str:
        """Return the text of an option; empty if it is not given."""
        return self.options[name].text if name in self.options else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of an option that can be repeated."""
        return self.options[name].texts if name in self.options else ()

    def has(self, name: str) -> bool:
        """Return whether an option is given, or a switch is on."""
        return name in self.options

    def shown(self, name: str) -> str:
        """Return the name of an option as the user wrote it, or would."""
        return self.options[name].shown if name in self.options else f"{self.prefix}{name}"

    def error(self, name: str, message: object) -> BadOption:
        """Return an error that names an option."""
        return BadOption(f"{self.shown(name)}: {message}")

    def having(self, name: str, value: OptionValue) -> Chosen:
        """Return the same with another value of an option."""
        return replace(self, options={**self.options, name: Given(value, self.shown(name))})

    def without(self, name: str) -> Chosen:
        """Return the same without an option."""
        return replace(self, options={one: given for one, given in self.options.items() if one != name})

    def to_json(self) -> str:
        """Return it as JSON, for another process in the same working directory."""
        rows = {name: _row(given) for name, given in self.options.items()}
        command = _row(self.command) if self.command is not None else None
        more = [dict(self.expanded), self.source, sorted(self.beside), str(self.place), vars(self.project)]
        more.append(self.read_from)
        return json.dumps([rows, command, self.prefix, self.servers, self.is_configured, *more])

    @classmethod
    def from_json(cls, text: str) -> Chosen:
        """Return what `to_json` made a text of."""
        rows, command, prefix, servers, is_configured, *more = json.loads(text)
        expanded, source, beside, place, project, read_from = more
        options = {name: _given(*row) for name, row in rows.items()}
        return cls(
            options,
            _given(*command) if command else None,
            prefix,
            tuple(servers),
            is_configured,
            expanded,
            tuple(source) if source is not None else None,
            frozenset(beside),
            Path(place),
            ProjectRules(project["rules"], tuple(project["checks"])),
            read_from,
        )


def _row(given: Given) -> tuple[OptionValue, str, str, bool]:
    return given.value, given.shown, str(given.folder), given.is_in_file


def _given(value: str | bool | list[str], shown: str, folder: str, is_in_file: bool) -> Given:
    return Given(tuple(value) if isinstance(value, list) else value, shown, Path(folder), is_in_file)
