"""Observations of a server: what came of each attempt to start it, as plain values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.doctor.program import Program
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, Line, is_message, kind
from mcp_conformance.protocol.text import shorten
from mcp_conformance.target.probe import is_discovered
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.credentials import is_withheld


class StartVariant(StrEnum):
    """A way to start a server, or to speak to it."""

    PLAIN = "with the options given"
    HERE = "with your own directory, home and environment"
    DIRECTORY = "in your own directory"
    HOME = "with your own home"
    CREDENTIALS = "with the credentials of your environment"
    UNBUFFERED = "with PYTHONUNBUFFERED=1"
    MODERN = "opened with server/discover"
    CARRIAGE = "with lines that end in \\r\\n"
    HEADERS = "with Content-Length headers"


PARTS_OF_HERE = (StartVariant.DIRECTORY, StartVariant.HOME, StartVariant.CREDENTIALS)
"""Variants that each lift one restriction; `StartVariant.HERE` lifts all of them."""
OTHER_OPENINGS = (StartVariant.MODERN, StartVariant.CARRIAGE, StartVariant.HEADERS)
"""Variants that send the first request in another form."""


@dataclass(frozen=True)
class AttemptResult:
    """The course of one process.

    ``refused`` is the system's error if the process could not be started.  ``said`` are the lines that the
    server wrote before its stdin was closed, ``left_out`` the number of further lines, ``unended`` the bytes
    without a line end.  ``seconds`` is the age at which the process ended, or at which waiting for an answer
    stopped; 0 if it is not known.  ``exit_code`` and ``is_closed`` (stdout) are from before stdin was closed;
    ``is_early`` means that the process ended before the first request; ``stops`` whether it ended once stdin
    was closed.  ``late`` is an answer that came only then.  ``ports`` are those it listened on while no
    answer came.
    """

    variant: StartVariant = StartVariant.PLAIN
    revision: str = revisions.LATEST_HANDSHAKE
    refused: str = ""
    asked: Line | None = None
    opening: Reply | None = None
    listed: Reply | None = None
    late: Reply | None = None
    said: tuple[Line, ...] = ()
    left_out: int = 0
    unended: bytes = b""
    stderr: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    is_closed: bool = False
    is_early: bool = False
    is_flood: bool = False
    ports: tuple[int, ...] = ()
    stops: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether the session was opened."""
        if not revisions.is_modern(self.revision):
            return self.opening is not None and self.opening.value is not None
        listed = self.listed.value if self.listed is not None else None
        is_served = listed is not None and listed.get("resultType") is not None
        return self.opening is not None and (is_discovered(self.opening) or is_served)

    @property
    def is_refusal(self) -> bool:
        """Whether the first request was answered with an error."""
        return self.opening is not None and self.opening.error is not None

    @property
    def is_answered(self) -> bool:
        """Whether the first request was answered, with a result or an error."""
        return self.opening is not None and self.opening.fault is None

    @property
    def has_ended(self) -> bool:
        """Whether the process ended, or closed its stdout, by itself."""
        return self.exit_code is not None or self.is_closed

    @property
    def non_messages(self) -> tuple[Line, ...]:
        """The lines on stdout that are not messages, blank lines included."""
        return tuple(line for line in self.said if not any(map(_is_jsonrpc, line.parts())))

    @property
    def messages(self) -> Iterator[Any]:
        """The messages on stdout; a batch counts as one."""
        return (line.message for line in self.said if not line.fault)


def _is_jsonrpc(value: Any) -> bool:
    return is_message(value) or kind(value) in (Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT, Kind.ERROR)


@dataclass(frozen=True)
class Observations:
    """All attempts; ``withheld`` are the environment variables that the server did not get."""

    settings: Settings
    program: Program
    first: AttemptResult
    trials: Mapping[StartVariant, AttemptResult] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command without credentials."""
        return self.settings.shown_command

    @property
    def is_restricted(self) -> bool:
        """Whether the server lacked something that the user's own programs have."""
        return self.settings.cwd is None or not self.settings.inherit_home or bool(self.withheld)

    @property
    def here(self) -> AttemptResult | None:
        """The attempt in the user's own directory, home and environment."""
        return self.trials.get(StartVariant.HERE)

    @property
    def main(self) -> AttemptResult:
        """The attempt to judge: the one in the user's own environment, unless it got less far."""
        here = self.here
        return here if here is not None and _stage(here) >= _stage(self.first) else self.first

    def is_withheld(self, variant: StartVariant) -> bool:
        """Return whether the server lacked what this variant gives it."""
        lacking = {
            StartVariant.DIRECTORY: self.settings.cwd is None,
            StartVariant.HOME: not self.settings.inherit_home,
            StartVariant.CREDENTIALS: bool(self.withheld),
        }
        return lacking[variant]

    def options(self, variant: StartVariant) -> tuple[str, ...]:
        """Return the options that give the server what it lacked."""
        if variant is StartVariant.HERE:
            parts = [one for one in PARTS_OF_HERE if self.is_withheld(one)]
            return tuple(word for one in parts for word in self.options(one))
        if variant is StartVariant.CREDENTIALS:
            named = [name for name in self.withheld if name in self.first.stderr]
            return tuple(word for name in named or self.withheld for word in ("--env", name))
        return ("--cwd", ".") if variant is StartVariant.DIRECTORY else ("--inherit-home",)

    def opened(self, *variants: StartVariant) -> AttemptResult | None:
        """Return the first of these trials that opened a session."""
        tried = (self.trials[one] for one in variants if one in self.trials)
        return next((trial for trial in tried if trial.is_open), None)

    def with_attempt(self, trial: AttemptResult) -> Observations:
        """Return these observations and one more trial."""
        return replace(self, trials={**self.trials, trial.variant: trial})


def _stage(attempt: AttemptResult) -> int:
    return (attempt.refused == "") + attempt.is_answered + attempt.is_open


def withheld_variables(settings: Settings) -> tuple[str, ...]:
    """Return the variables of our environment that the server does not get: they look like credentials."""
    return tuple(
        name for name, text in os.environ.items() if is_withheld(name, text) and name not in settings.env
    )


def visible(raw: bytes, limit: int = 160) -> str:
    """Return bytes as one short line of text, with invisible characters escaped."""
    text = raw.decode("utf-8", "backslashreplace").replace("\ufeff", "\\ufeff")
    for char, escape in (("\r", "\\r"), ("\n", "\\n"), ("\t", "\\t"), ("\0", "\\0")):
        text = text.replace(char, escape)
    return shorten(text, limit)
