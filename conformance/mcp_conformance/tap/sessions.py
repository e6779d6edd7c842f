"""Recorded sessions, read from their files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_conformance.client.transcript import FORMAT, Transcript
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.revisions import SERVER_INFO
from mcp_conformance.protocol.text import named, shell_line
from mcp_conformance.tap.conversation import part
from mcp_conformance.tap.judging import Breach, Judgement
from mcp_conformance.tap.lines import line_of
from mcp_conformance.transport.files import bounded_text


class BadSession(Exception):  # noqa: N818
    """A file is not a recorded session; the text names the file, the line, and what is wrong."""


@dataclass(frozen=True)
class Recorded:
    """A session: the server's ``command``, its ``rows``, the file's ``path``, and its ``name`` over HTTP.

    The ``header`` is the first row.
    """

    path: Path
    command: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    name: str = ""
    header: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Recorded:
        """Read a session; a last line that was not written to its end is left out.

        Raises `BadSession`, and `OSError` if the file cannot be read.
        """
        text = bounded_text(path)
        lines = (text if text.endswith("\n") else text.rpartition("\n")[0] or text).splitlines()
        rows = [_row(path, number, text) for number, text in enumerate(lines, 1)]
        if not rows or rows[0].get("format") != FORMAT or not isinstance(rows[0].get("command"), list):
            raise BadSession(f"{path.name}: line 1: a header with format {FORMAT} is expected")
        name = str(rows[0].get("session", ""))
        return cls(path, tuple(map(str, rows[0]["command"])), tuple(rows[1:]), name, rows[0])

    @property
    def lines(self) -> Iterator[Line]:
        """The lines of both sides, without those that are cut."""
        return (line for line in map(line_of, self.rows) if line is not None)

    @property
    def title(self) -> str:
        """What the server calls itself, with its version, else its command."""
        info = self._info
        return named(
            f"{info['name']} {info.get('version', '')}".strip() if info else shell_line(self.command)
        )

    @property
    def server(self) -> str:
        """The name of the server, empty if it has not said it."""
        return named(self._info.get("name", ""))

    @property
    def _info(self) -> dict[str, Any]:
        for line in self.lines:
            for message in line.parts():
                modern = part(message, "result", "_meta", SERVER_INFO)
                info = modern or part(message, "result", "serverInfo")
                if not line.sent and isinstance(info, dict) and isinstance(info.get("name"), str):
                    return info
        return {}

    @property
    def stem(self) -> str:
        """The name of the file, without its ending."""
        return self.path.stem

    @property
    def revision(self) -> str:
        """The revision that both sides spoke at last; empty if that is not known."""
        found = (str(row["revision"]) for row in reversed(self.rows) if row.get("revision"))
        return next(found, str(self.header.get("revision", "")))

    @property
    def transcript(self) -> Transcript:
        """The session as a conversation that can be replayed."""
        return Transcript(self.command, self.revision, self.stem, tuple(self.lines))

    @property
    def began(self) -> float:
        """When the session began, in seconds since 1970; 0 if that is not known."""
        return float(self.header.get("began", 0))

    def clock(self, row: dict[str, Any]) -> float:
        """Return when a row was written, in seconds since 1970; 0 if that is not known.

        An answer that was accepted later has a time of its own.
        """
        return float(row.get("accepted", self.began + float(row["at"]) if self.began else 0))

    def count(self, side: str) -> int:
        """Return how many lines a side, ``client`` or ``server``, has written."""
        return sum(row.get("sent") is (side == "client") for row in self.rows)


def session_files(named: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of sessions that are named, or that are in a named folder.

    Raises `BadSession` for a folder without any.
    """
    for path in named:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise BadSession(f"{path} has no session (*.jsonl)")
        yield from files


def judged(session: Recorded) -> list[Breach]:
    """Return what breaks a rule in a session, in the order of the lines."""
    judgement = Judgement(session.name)
    for row in session.rows:
        judgement.see_row(row)
    return judgement.breaches


def _row(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSession(f"{path.name}: line {number}: not JSON: {error}") from error
    is_row = isinstance(row, dict) and (number == 1 or isinstance(row.get("at"), int | float))
    if not is_row or (
        "raw" in row and not (isinstance(row["raw"], str) and isinstance(row.get("sent"), bool))
    ):
        raise BadSession(f"{path.name}: line {number}: not a row of a session")
    return row
