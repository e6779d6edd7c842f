"""Transcripts of failures: files that ``mcp-conformance replay`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.sessions import Sessions


@dataclass(frozen=True)
class Written:
    """The transcripts of one failure; ``error`` says why one could not be written."""

    paths: tuple[Path, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        return f"; no transcript: {self.error}" if self.error else ""

    @property
    def places(self) -> str:
        """Where they are, for a failure that no replay shows."""
        return f"; see {' and '.join(map(str, self.paths))}" if self.paths else str(self)


def write_transcripts(
    sessions: Sessions, conversations: Sequence[Sequence[Line]], *, name: str, about: str
) -> Written:
    """Write each conversation to a file with a name like ``name``; ``about`` is what they prove."""
    settings, paths = sessions.settings, list[Path]()
    folder = str(settings.folder.root.parent) if settings.folder is not None else ""
    for number, lines in enumerate(conversations, 1):
        transcript = Transcript(
            settings.command, sessions.revision, about, tuple(lines), settings.redaction, folder=folder
        )
        ending = f"-{number}" if len(conversations) > 1 else ""
        if not transcript.is_whole:
            return Written(tuple(paths), "what was sent has a credential")
        try:
            paths.append(transcript.keep(settings.transcripts, name, ending))
        except OSError as error:
            return Written(tuple(paths), str(error))
    return Written(tuple(paths))
