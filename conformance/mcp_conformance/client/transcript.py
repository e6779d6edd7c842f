"""A conversation as a file: written when a check fails, replayed by ``mcp-conformance replay``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jsonschema import Draft202012Validator

from mcp_conformance.client.message_log import CUT
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.text import shorten
from mcp_conformance.transport.credentials import redacted
from mcp_conformance.transport.files import BadFile, json_value, read_file
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance.transport.writing import make_ignored_folder, write

FORMAT = 1
SCHEMA = Path(__file__).with_name("session-1.schema.json")
"""The file that describes a row of a transcript or of a session, in this format."""
# Names of files end at 255 bytes, which a name of other letters takes three times as fast.
MAX_NAME_LENGTH = 90
UNUSUAL = re.compile(r"[^\w .:'-]|  ")
"""What the name of a file loses, so that two tools may get the same: other characters, two spaces."""
# Not measured: the calls of an hour take some ten thousand.  A row takes half a kilobyte of memory.
MAX_ROWS = 1_000_000
T = TypeVar("T")
Row = dict[str, Any]


@dataclass(frozen=True)
class Transcript:
    """The lines of a conversation, with the server's command, the revision, and what the lines prove.

    ``redaction`` leaves the user's credentials out of the file.  ``is_redacted`` says that the command in
    the file lacks some.  ``folder`` is the path of the throwaway folder, if lines
    have it.
    """

    command: tuple[str, ...]
    revision: str
    about: str
    lines: tuple[Line, ...]
    redaction: Redaction = Redaction(())  # noqa: RUF009  (it has no state)
    is_redacted: bool = False
    folder: str = ""

    def write(self, path: Path) -> None:
        """Write a JSON-lines file: a header, then a row for each line, its bytes as Latin-1.

        Over HTTP, the row of an answer names its response.

        Credentials are left out.  Sent lines that are cut are left out too, as
        they cannot be replayed.
        """
        command = self.redaction(redacted(self.command))
        header = {"format": FORMAT, "command": command, "revision": self.revision}
        header |= {"about": self.redaction.text(self.about)}
        header |= {"redacted": True} if command != self.command else {}
        header |= {"folder": self.folder} if self._names_folder else {}
        rows = [
            {
                "sent": line.sent,
                "at": round(line.at, 6),
                "raw": self.redaction.raw(line.raw).decode("latin-1"),
                **({"carried_by": line.carried_by} if line.carried_by else {}),
            }
            for line in self.lines
            if not line.sent or line.fault != CUT
        ]
        write(path, (json.dumps(row) + "\n" for row in [header, *rows]))

    @property
    def is_whole(self) -> bool:
        """Whether nothing that was sent has a credential: else the file is no conversation to replay."""
        return not any(self.redaction.raw(line.raw) is not line.raw for line in self.lines if line.sent)

    @property
    def _names_folder(self) -> bool:
        return bool(self.folder) and any(
            form in line.raw for form in _forms(self.folder) for line in self.lines
        )

    def moved(self, folder: str) -> Transcript:
        """Return the conversation as it would be in another throwaway folder."""
        if not self.folder:
            return self
        pairs = tuple(zip(_forms(self.folder), _forms(folder), strict=True))
        return replace(self, lines=tuple(_moved(line, pairs) for line in self.lines), folder=folder)

    def keep(self, folder: Path, name: str, ending: str = "") -> Path:
        """Write it to a file with a name like ``name`` and this ending in a folder, and return the path.

        The name is cut when no credential is left in it.  One with characters that no file should have gets
        a digest, so that ``a/b`` and ``a|b`` have files of their own.  A new folder gets a ``.gitignore``.
        Raises `OSError`.
        """
        make_ignored_folder(folder)
        whole = self.redaction.text(name)
        shown = re.sub(r"\W+", "-", whole).strip("-")
        if UNUSUAL.search(whole) or len(shown) > MAX_NAME_LENGTH:
            ending = f"-{blake2b(whole.encode(errors='surrogatepass'), digest_size=3).hexdigest()}{ending}"
        path = Path(folder, f"{shown[:MAX_NAME_LENGTH]}{ending}.jsonl")
        self.write(path)
        return path

    @classmethod
    def read(cls, path: Path) -> Transcript:
        """Read the transcript in a file; one of a tap says its revision later, and has rows of other kinds.

        Raises `BadFile`.
        """
        header, *rows = read_file(path, read_rows)
        return cls(
            tuple(header["command"]),
            next((row["revision"] for row in reversed(rows) if row.get("revision")), header["revision"]),
            header["about"],
            tuple(line_of_row(row) for row in rows if "raw" in row),
            is_redacted="redacted" in header,
            folder=header.get("folder", ""),
        )


def read_rows(text: str) -> list[Row]:
    """Return the rows of a session or of a transcript as `SCHEMA` has them, the header first.

    A last line that was not written to its end is left out.  Raises `BadFile`, which names the line.
    """
    lines = text.split("\n", MAX_ROWS)
    if len(lines) > MAX_ROWS:
        raise BadFile(f"too large: it has more than {MAX_ROWS} lines")
    return [_row(number, line) for number, line in enumerate(lines[:-1] or lines, 1)]


def _row(number: int, text: str) -> Row:
    try:
        row = json_value(text)
    except BadFile as error:
        raise BadFile(f"line {number}: {error}") from None
    expected = f"a header with format {FORMAT}" if number == 1 else "a row of a session"
    kinds = _kinds()[:1] if number == 1 else _kinds()[1:]
    kind = next((one for one in kinds if isinstance(row, dict) and one.needed <= row.keys()), None)
    if kind is None:
        raise BadFile(f"line {number}: {expected} is expected")
    for wrong in kind.validator.iter_errors(row):  # whose message may have a credential
        rule = f"{wrong.validator} {shorten(str(wrong.validator_value), 40)}"
        raise BadFile(f"line {number}: {expected} is expected, and {wrong.json_path[2:]} is not of {rule!r}")
    return {name: one for name, one in row.items() if name not in kind.foreign}


class _Kind(NamedTuple):
    """A kind of row: the members that it needs, those that only others have, and what judges it."""

    needed: frozenset[str]
    foreign: frozenset[str]
    validator: Draft202012Validator


@cache
def _kinds() -> tuple[_Kind, ...]:
    """Return the kinds of rows, the header first."""
    kinds = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"].values()
    known = frozenset(name for one in kinds for name in one["properties"])
    return tuple(
        _Kind(frozenset(one["required"]), known - one["properties"].keys(), Draft202012Validator(one))
        for one in kinds
    )


def _forms(folder: str) -> tuple[bytes, ...]:
    """Return what the path of a folder is in a line: in JSON without and with escapes, and in a URI."""
    uri = Path(folder).as_uri() if Path(folder).is_absolute() else folder
    texts = (json.dumps(folder, ensure_ascii=False), json.dumps(folder), json.dumps(uri))
    return tuple(text[1:-1].encode("utf-8", "surrogateescape") for text in texts)


def _moved(line: Line, pairs: Sequence[tuple[bytes, bytes]]) -> Line:
    raw = line.raw
    for old, new in pairs:
        raw = raw.replace(old, new)
    return replace(Line.received(raw, line.at, line.carried_by), sent=line.sent) if raw != line.raw else line


def line_of_row(row: Mapping[str, Any]) -> Line:
    """Return the line that a row of the file has."""
    line = Line.received(row["raw"].encode("latin-1"), float(row["at"]), str(row.get("carried_by", "")))
    return replace(line, sent=bool(row["sent"]))
