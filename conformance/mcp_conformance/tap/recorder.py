"""The process that writes a session down, started by a tap: ``python -m mcp_conformance.tap.recorder``."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from mcp_conformance.client.transcript import FORMAT
from mcp_conformance.tap.conversation import Conversation
from mcp_conformance.tap.hiding import Hiding
from mcp_conformance.tap.learned import in_command
from mcp_conformance.tap.lines import line_of
from mcp_conformance.tap.tape import RECORDS, Frame, What, frames
from mcp_conformance.transport.credentials import is_withheld, redacted, secrets_of
from mcp_conformance.transport.user_folder import user_folder
from mcp_conformance.transport.writing import create, make_ignored_folder, write

MAX_LINE = 16_000_000
"""Of a longer line only the beginning is kept.  Not measured: the largest result seen, an image, has 9 MB."""
HEAD = 4096
"""The bytes that are kept of a line that is too long."""
Row = dict[str, Any]
See = Callable[[str, Row], None]


def _nothing(*_: object) -> None:
    """Do nothing."""


def record(
    rest: Iterator[Frame],
    folder: Path,
    environment: Mapping[str, str],
    see: See,
    has_begun: Callable[[], None] = _nothing,
) -> list[Path]:
    """Write the sessions in frames to new files of a folder, and return their paths.

    A file is one of `mcp_conformance.client.transcript`: a header, then a row for each line of the client
    (``sent``) and of the server, for what is on stderr, for a closed stream, and for the end.  ``see`` gets
    each row with the name of its session; ``has_begun`` is called when there is a file.

    Credentials are left out: those of the command and the environment, what looks like one, and what stands
    under the name of one, also in lines that came before it was known.  Raises `OSError`.
    """
    command = json.loads(next(rest).data)
    secret = {name: text for name, text in environment.items() if is_withheld(name, text)}
    hiding = Hiding((*secrets_of(command, secret), *in_command(command)))
    header = {"format": FORMAT, "command": hiding.redaction(redacted(command)), "revision": ""}
    header |= {"about": "a session recorded by tap"}
    files: dict[str, _File] = {}
    for session, row in _rows(rest):
        shown = hiding.row(row)
        for name in files if "status" in row and files else (session,):  # the end is that of all
            see(name, shown)
            if name not in files:
                began = {**({"session": name} if name else {}), "began": time.time()}
                files[name] = _File(_new_file(folder, len(files)), {**header, **began})
                has_begun()
            files[name].add(shown)
    for file in files.values():
        file.end(hiding)
    return [file.path for file in files.values()]


class _File:
    """The file of a session; how it ended comes last, when all else is written for good."""

    def __init__(self, path: Path, header: Row):
        self.path = path
        self._file = create(path, 0o600)
        self._known = Conversation()
        self._last: list[Row] = []
        self._write(header)

    def add(self, row: Row) -> None:
        """Write a row, and the revision after the line that names it."""
        if "status" in row:
            self._last.append(row)
            return
        self._write(row)
        line, before = line_of(row), self._known.revision
        if line is not None:
            for message in line.parts():
                self._known.begin(line, message)
                self._known.see(line, message)
        if self._known.revision != before:
            self._write({"revision": self._known.revision, "at": row["at"]})

    def end(self, hiding: Hiding) -> None:
        """Leave out what only later lines have shown to be a credential, and write the end."""
        if not hiding.has_learned:
            for row in self._last:
                self._write(row)
            self._file.close()
            return
        rows = chain(map(hiding.row, self._written()), self._last)
        write(self.path, (json.dumps(row) + "\n" for row in rows), 0o600)

    def _written(self) -> Iterator[Row]:
        """Yield the rows of the open file, whatever stands in its place by now, and close it."""
        self._file.seek(0)
        with self._file as file:
            yield from map(json.loads, file)

    def _write(self, row: Row) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()


def _new_file(folder: Path, number: int) -> Path:
    """Return the path of a new file, named for the time and this process, in a folder that is there then."""
    make_ignored_folder(folder, 0o700)
    later = f"-{number}" if number else ""
    return folder / f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{os.getpid()}{later}.jsonl"


def _rows(rest: Iterator[Frame]) -> Iterator[tuple[str, Row]]:
    """Yield a row for each line and event, with the name of its session, which is empty on stdio."""
    lines = {What.CLIENT: _Lines(), What.SERVER: _Lines()}
    said = _Lines()
    for what, at, data in rest:
        seconds = {"at": round(at, 6)}
        if what in lines:
            for raw, cut in lines[what].feed(data):
                yield "", {"sent": what is What.CLIENT, **seconds, **_raw(raw, cut)}
        elif what is What.ROW:
            row = json.loads(data)
            yield row.pop("session"), {**row, **seconds}
        elif what is What.STDERR:
            for raw, _ in said.feed(data):
                yield "", _stderr(raw + b"\n", seconds)
        elif what in (What.CLIENT_CLOSED, What.SERVER_CLOSED):
            side = What.CLIENT if what is What.CLIENT_CLOSED else What.SERVER
            for raw, cut in lines[side].end():
                yield "", {"sent": side is What.CLIENT, **seconds, **_raw(raw, cut), "unended": True}
            yield "", {"closed": side.name.lower(), **seconds}
        elif what is What.ENDED:
            for raw, _ in said.end():
                yield "", _stderr(raw, seconds)
            status, lost = data.split()
            yield "", {"status": int(status), **seconds, **({"lost_bytes": int(lost)} if int(lost) else {})}


def _stderr(raw: bytes, seconds: Row) -> Row:
    return {"stderr": raw.decode("utf-8", "backslashreplace"), **seconds}


def _raw(raw: bytes, cut: int) -> Row:
    return {"raw": raw.decode("latin-1"), **({"cut_from": cut} if cut else {})}


class _Lines:
    """Splits the bytes of one side into lines; of a line that is too long only the beginning is kept."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield each line that ends in these bytes, and its length if it was cut."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._hold(part)
            yield from self.end(is_empty_too=True)
        self._hold(rest)

    def end(self, *, is_empty_too: bool = False) -> Iterator[tuple[bytes, int]]:
        """Yield the line that is held."""
        line, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if line or is_empty_too:
            yield (line[:HEAD], size) if size > MAX_LINE else (line, 0)

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= MAX_LINE:
            self._parts.append(part)
        elif self._parts[1:]:
            self._parts = [b"".join(self._parts)[:HEAD]]


def _say_begun() -> None:
    """Tell the tap, which may be gone."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), RECORDS)


def main() -> None:
    """Record the session on stdin in the named folder, else the user's, and judge it if that is asked for."""
    named, *judge = sys.argv[1:]
    see: See = _nothing
    if judge:
        from mcp_conformance.tap.live import Live, teller  # noqa: PLC0415  (loads schemas, which take 0.2 s)

        see = Live(teller(judge[0])).see
    rest = frames(sys.stdin.buffer)
    try:
        # A client starts servers anywhere.
        folder = Path(named) if named else user_folder() / "sessions"
        record(rest, folder, os.environ, see, _say_begun)
    except OSError as error:
        print(f"mcp-conformance: tap: the session is not recorded: {error}", file=sys.stderr)  # noqa: T201
    finally:
        deque(rest, maxlen=0)  # the tap goes on, and its server is ended if it is killed


if __name__ == "__main__":
    main()
