"""Recorded sessions, read from their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from mcp_conformance.client.transcript import Row, Transcript, read_rows
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.revisions import SERVER_INFO
from mcp_conformance.protocol.text import named, shell_line
from mcp_conformance.tap.conversation import part
from mcp_conformance.tap.judging import Breach, Judgement
from mcp_conformance.tap.lines import line_of
from mcp_conformance.transport.files import BadFile, read_file

# Not measured: a tap writes one for each client that starts.
MAX_FILES = 10_000
"""How many sessions a folder may have."""


@dataclass(frozen=True)
class Recorded:
    """A session: the server's ``command``, its ``rows``, the file's ``path``, and its ``name`` over HTTP.

    The ``header`` is the first row.
    """

    path: Path
    command: tuple[str, ...]
    rows: tuple[Row, ...]
    name: str = ""
    header: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, *, follows: bool = True) -> Recorded:
        """Read a session; a link is not followed (``follows``) where a folder had it.  Raises `BadFile`."""
        header, *rows = read_file(path, read_rows, follows=follows)
        return cls(path, tuple(header["command"]), tuple(rows), header.get("session", ""), header)

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


def read_sessions(named: Iterable[Path]) -> Iterator[Recorded]:
    """Yield the sessions in files that are named, or that are in a named folder.

    Raises `BadFile`, also for a folder without any.
    """
    for path in named:
        if not path.is_dir():
            yield Recorded.read(path)
            continue
        files = sorted(islice(path.glob("*.jsonl"), MAX_FILES + 1))
        if not 0 < len(files) <= MAX_FILES:
            few = f"more than {MAX_FILES} sessions" if files else "no session (*.jsonl)"
            raise BadFile(f"{path} has {few}")
        yield from (Recorded.read(one, follows=False) for one in files)


def judged(session: Recorded) -> list[Breach]:
    """Return what breaks a rule in a session, in the order of the lines."""
    judgement = Judgement(session.name)
    for row in session.rows:
        judgement.see_row(row)
    return judgement.breaches
