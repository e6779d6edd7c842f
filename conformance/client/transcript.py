"""A conversation as a file: written when a check fails, sent again by ``mcp-conformance replay``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from conformance.client.message_log import CUT
from conformance.client.session import Session
from conformance.protocol.jsonrpc import Kind, Line, kind
from conformance.transport.credentials import HIDDEN, credentials, redacted, without
from conformance.transport.interface import Transport

FORMAT = 1
T = TypeVar("T")


class BadTranscript(Exception):  # noqa: N818
    """A file is no transcript; the text says which line is wrong, and why."""


@dataclass(frozen=True)
class Transcript:
    """What was said, and to whom: the server's command, the revision, what the lines prove, and the lines.

    ``env`` is the environment that the server was given besides; nothing of it is written.  ``is_redacted``
    says that the command in a file lacks the credentials that it had.
    """

    command: tuple[str, ...]
    revision: str
    about: str
    lines: tuple[Line, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    is_redacted: bool = False

    def write(self, path: Path) -> None:
        """Write a JSON-lines file: one header, then a line each, bytes kept as Latin-1.

        Credentials of the command and of ``env`` are left out of all of it.  Lines of ours that are cut are
        left out, for they cannot be sent again.
        """
        command = redacted(self.command)
        header = {"format": FORMAT, "command": command, "revision": self.revision}
        header |= {"about": without(self.about, self._hidden)}
        header |= {"redacted": True} if command != self.command else {}
        rows = [
            {"sent": line.sent, "at": round(line.at, 6), "raw": self._shown(line.raw).decode("latin-1")}
            for line in self.lines
            if not line.sent or line.fault != CUT
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in [header, *rows]), encoding="ascii")

    @property
    def _hidden(self) -> tuple[str, ...]:
        return credentials(self.command, self.env)

    def _shown(self, raw: bytes) -> bytes:
        for one in self._hidden:
            raw = raw.replace(one.encode("utf-8", "surrogateescape"), HIDDEN.encode())
        return raw

    def keep(self, folder: Path, name: str) -> Path:
        """Write it to a file of that name, made fit for one, in a folder; raises `OSError`.

        A folder that is made for it is none for Git to keep.
        """
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if is_new:
            (folder / ".gitignore").write_text("*\n", encoding="ascii")
        path = Path(folder, re.sub(r"\W+", "-", name).strip("-") + ".jsonl")
        self.write(path)
        return path

    @classmethod
    def read(cls, path: Path) -> Transcript:
        """The transcript in a file.  Raises `BadTranscript`, and `OSError` if it cannot be read."""
        rows = [_row(number, text) for number, text in enumerate(path.read_text("utf-8").splitlines(), 1)]
        if not rows or rows[0].get("format") != FORMAT:
            raise BadTranscript(f"line 1: a header with format {FORMAT} is expected")
        try:
            lines = tuple(_line(row) for row in rows[1:])
            command, revision, about = (rows[0][name] for name in ("command", "revision", "about"))
            return cls(tuple(command), revision, about, lines, is_redacted=bool(rows[0].get("redacted")))
        except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
            raise BadTranscript(f"a member is missing or of the wrong type: {error}") from error


def _row(number: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise BadTranscript(f"line {number}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise BadTranscript(f"line {number}: an object is expected")
    return row


def _line(row: dict[str, Any]) -> Line:
    line = Line.received(row["raw"].encode("latin-1"), float(row["at"]))
    return Line(bool(row["sent"]), line.raw, line.at, line.message, line.fault, line.oddities)


# Replaying ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A line that was sent again, what it was answered with ``then`` and ``now`` (None for no answer)."""

    line: Line
    then: Line | None
    now: Line | None
    fault: str = ""

    @property
    def differs(self) -> bool:
        """Whether the answers differ as JSON."""
        if self.then is None or self.now is None:
            return self.then is not self.now
        return bool(self.then.message != self.now.message)


def replay(transcript: Transcript, process: Transport, timeout: float) -> Iterator[Step]:
    """Send the lines of a transcript again, byte for byte, and wait for an answer where it has one."""
    session = Session(process, revision=transcript.revision, timeout=timeout)
    answers = {_id(line): line for line in transcript.lines if not line.sent and _is_answer(line)}
    waiting: dict[str, Line] = {}

    def step(line: Line) -> Step:
        reply = session.await_reply(line, timeout)
        return Step(line, answers.get(_id(line)), reply.line, str(reply.fault or ""))

    with closing(session):
        for sent, lines in groupby(transcript.lines, lambda line: line.sent):
            if session.closed:
                break
            if sent:
                said = session.send_lines(lines)
                waiting |= {_id(line): line for line in said if kind(line.message) is Kind.REQUEST}
                continue
            for line in filter(_is_answer, lines):
                if _id(line) in waiting:
                    yield step(waiting.pop(_id(line)))
        yield from map(step, waiting.values())


def _is_answer(line: Line) -> bool:
    return kind(line.message) in (Kind.RESULT, Kind.ERROR)


def _id(line: Line) -> str:
    id = line.message.get("id") if isinstance(line.message, dict) else None
    return json.dumps(id)
