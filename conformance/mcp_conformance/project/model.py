"""What a folder holds: its language, the commands that may start its server, and the steps before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MCP = re.compile(r"mcp|modelcontextprotocol", re.IGNORECASE)


@dataclass(frozen=True)
class SetupStep:
    """A step of a CI job: a shell command, or an action with its options (as YAML)."""

    run: str = ""
    uses: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CommandGuess:
    """A command that may start the server, and the place in the project that suggests it."""

    command: tuple[str, ...]
    origin: str


@dataclass(frozen=True)
class Project:
    """A project in one language.

    ``guesses`` are the commands that may start its server, the most likely first; ``steps`` prepare a CI
    machine for them; ``build`` are the commands that build the server once its dependencies are installed;
    ``install`` is the command that installs this package into it, and ``prefix`` the words before a program
    of it.  ``hint`` names the folders where the server may be, if there is no guess.
    """

    language: str
    manifest: str
    guesses: tuple[CommandGuess, ...] = ()
    steps: tuple[SetupStep, ...] = ()
    build: tuple[str, ...] = ()
    install: str = ""
    prefix: tuple[str, ...] = ()
    hint: str = ""
    names_mcp: bool = False


def ranked(names: Iterable[str], project: str) -> list[str]:
    """Return names of programs, the most likely server first."""

    def unlikely(name: str) -> tuple[bool, bool, bool]:
        return "mcp" not in name.lower(), name != project, "server" not in name.lower()

    return sorted(names, key=unlikely)


def distinct(guesses: Iterable[CommandGuess]) -> tuple[CommandGuess, ...]:
    """Return the guesses with different commands, the first of each."""
    first: dict[tuple[str, ...], CommandGuess] = {}
    for guess in guesses:
        first.setdefault(guess.command, guess)
    return tuple(first.values())
