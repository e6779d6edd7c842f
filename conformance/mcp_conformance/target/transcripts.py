"""Transcripts of failures: files that ``mcp-conformance replay`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import shell_line
from mcp_conformance.target.sessions import Sessions


@dataclass(frozen=True)
class Written:
    """The transcripts of one failure; ``error`` says why one could not be written.

    ``options`` are those of ``replay``, with a space behind them.
    """

    paths: tuple[Path, ...] = ()
    error: str = ""
    options: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"; no transcript: {self.error}"
        return f"; reproduce with: mcp-conformance replay {self.options}{' or '.join(map(str, self.paths))}"


def write_transcripts(
    sessions: Sessions, conversations: Sequence[Sequence[Line]], *, name: str, about: str
) -> Written:
    """Write each conversation to a file with a name like ``name``; ``about`` is what they prove."""
    settings, paths = sessions.settings, list[Path]()
    folder = str(settings.folder.root.parent) if settings.folder is not None else ""
    for number, lines in enumerate(conversations, 1):
        transcript = Transcript(
            settings.command, sessions.revision, about, tuple(lines), settings.env, folder=folder
        )
        ending = f"-{number}" if len(conversations) > 1 else ""
        try:
            paths.append(transcript.keep(settings.transcripts, name + ending))
        except OSError as error:
            return Written(tuple(paths), str(error))
    options = f"{shell_line(settings.sandbox.words)} " if settings.sandbox is not None else ""
    return Written(tuple(paths), options=options)
