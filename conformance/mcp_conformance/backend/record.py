"""The real API: each request goes on to its host, and the exchange is kept in a file, without credentials."""

from __future__ import annotations

import os
import socket
import ssl
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

from mcp_conformance.backend.cleaning import Cleaner
from mcp_conformance.backend.contact import shape
from mcp_conformance.backend.exchange import FRAMING, Answered, Asked, Exchange
from mcp_conformance.backend.har import Tape, read
from mcp_conformance.protocol.text import first_names
from mcp_conformance.transport.files import BadFile, read_file
from mcp_conformance.transport.http.coding import CodingFailed, Decoder
from mcp_conformance.transport.lock import locked
from mcp_conformance.transport.writing import write_named

Connect = Callable[[tuple[str, int], float], socket.socket]
HOST_SECONDS = 30.0
"""How long a host may take to connect, and for each part of its answer: as long as a tool by default."""
MAX_BODY = 10_000_000
"""An answer with more bytes is not passed on: a tool that needs one cannot be recorded."""
MAX_KEPT = 1_000_000
"""An answer with more bytes is passed on and not kept: people read the file, and keep it with their code."""
MAX_ALIKE = 20
"""How many requests with other values are kept of one kind: fuzzing makes thousands."""
WRITE_SECONDS, LOCK_SECONDS = 1.0, 10.0
"""The least time between two writings of the file, and the longest wait for another process that writes."""
CHANGED = FRAMING | {"host", "accept-encoding"}
"""The headers of a request that are ours."""


class Recorder:
    """An API that is the real one, of which each exchange is added to a file.

    A request like one in the file takes its place.  What a host answers is passed on once it is whole.
    """

    is_empty = False

    def __init__(
        self,
        path: Path,
        cleaner: Cleaner,
        connect: Connect = socket.create_connection,
        trusted: str | None = None,
    ):
        self._path, self._clean, self._connect = path, cleaner, connect
        self._context = ssl.create_default_context(cadata=trusted)
        self._exchanges: dict[tuple[str, str, str, bytes], Exchange] = {}
        self._cleaned: dict[tuple[str, str, str, bytes], Exchange] = {}
        self._kinds: Counter[tuple[str, str, str]] = Counter()
        self._lock = threading.Lock()
        self._failures: dict[str, str] = {}
        self._written = 0.0
        weakref.finalize(self, _try_to_save, path, self._cleaned, cleaner)

    def describe(self) -> str:
        """Return what it is, how much is recorded, and which hosts did not answer."""
        with self._lock:
            known, failures = len(self._cleaned), dict(self._failures)
        with suppress(BadFile):  # another process may have removed it, or spoilt it
            known = max(known, len(load(self._path).exchanges))
        shown = first_names([f"{origin} ({reason})" for origin, reason in failures.items()])
        unanswered = f"; no answer from {shown}" if failures else ""
        where = f"{known} exchanges in {self._path}"
        return f"requests leave this machine for the real hosts, and are recorded ({where}){unanswered}"

    def knows(self, asked: Asked) -> bool:
        """Return True."""
        del asked
        return True

    def answer(self, asked: Asked) -> Answered:
        """Return the answer of the real host, and keep it.  Raises `OSError` if there is none."""
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            answered = self._answered(asked)
        except (OSError, HTTPException, CodingFailed, ValueError) as error:
            with self._lock:
                self._failures[asked.origin] = str(error)
            # A certificate that is not trusted is a ValueError too.
            raise error if isinstance(error, OSError) else OSError(str(error)) from error
        self._keep(Exchange(asked, answered, started))
        return answered

    def _answered(self, asked: Asked) -> Answered:
        url = urlsplit(asked.origin)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        with self._connect((host, port), HOST_SECONDS) as plain:
            plain.settimeout(HOST_SECONDS)
            connection = HTTPConnection(host, port)
            connection.sock = (
                self._context.wrap_socket(plain, server_hostname=host) if url.scheme == "https" else plain
            )
            try:
                return _asked_by(connection, asked)
            finally:
                connection.close()

    def _keep(self, one: Exchange) -> None:
        key = (one.asked.method, one.asked.origin, one.asked.target, one.asked.body)
        kind = (one.asked.method, one.asked.origin, shape(one.asked.target))
        with self._lock:
            if len(one.answered.body) > MAX_KEPT or (
                key not in self._exchanges and self._kinds[kind] >= MAX_ALIKE
            ):
                return
            self._kinds[kind] += key not in self._exchanges
            one = self._exchanges[key] = better(self._exchanges.get(key), one)
            if self._clean.learn(one):
                self._cleaned |= {place: self._clean(each) for place, each in self._exchanges.items()}
            else:
                self._cleaned[key] = self._clean(one)
            if time.monotonic() - self._written > WRITE_SECONDS:
                _try_to_save(self._path, self._cleaned, self._clean)
                self._written = time.monotonic()


def _asked_by(connection: HTTPConnection, asked: Asked) -> Answered:
    """Send a request on a connection, and return the answer."""
    connection.putrequest(asked.method, asked.target, skip_host=True, skip_accept_encoding=True)
    connection.putheader("host", asked.header("host") or connection.host)
    for name, text in asked.headers:
        if name not in CHANGED:
            connection.putheader(name, text.encode("latin-1"))
    connection.putheader("accept-encoding", "identity")
    connection.putheader("connection", "close")
    if asked.body or asked.method in ("POST", "PUT", "PATCH"):
        connection.putheader("content-length", str(len(asked.body)))
    connection.endheaders(asked.body or None)
    response = connection.getresponse()
    headers = tuple((name.lower(), text) for name, text in response.getheaders())
    kept = tuple((name, text) for name, text in headers if name not in FRAMING)
    return Answered(response.status, kept, _body(response))


def _body(response: HTTPResponse) -> bytes:
    """Return the body of a response, decoded.  Raises `CodingFailed`, and `OSError` for a long one."""
    decoder = Decoder(response.headers.get_all("content-encoding") or ())
    packed = response.read(MAX_BODY + 1)
    body = decoder.feed(packed, MAX_BODY + 1)
    if max(len(packed), len(body)) > MAX_BODY:
        raise OSError("the answer is too long")
    return body


def _try_to_save(path: Path, cleaned: dict[tuple[str, str, str, bytes], Exchange], cleaner: Cleaner) -> None:
    with suppress(OSError, BadFile):
        save(path, list(cleaned.values()), cleaner.removed)


def save(path: Path, exchanges: Sequence[Exchange], removed: set[str]) -> None:
    """Add exchanges to a file, in place of those with the same request.  Raises `OSError` and `BadFile`."""
    if not exchanges:
        return
    with locked(_lock_of(path), LOCK_SECONDS):
        before = load(path) if path.exists() else Tape()
        merged: dict[tuple[str, str, bytes], Exchange] = {}
        for one in (*before.exchanges, *exchanges):
            merged[_request(one)] = better(merged.get(_request(one)), one)
        found = Tape(tuple(merged.values()), tuple(sorted({*before.removed, *removed})))
        write_named(path, found.to_har())


def _lock_of(path: Path) -> Path:
    """Return the file by which one process at a time writes a recording; it stays, so not beside that."""
    name = blake2b(os.fsencode(path.resolve()), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"mcp-conformance-{name}.lock"


def better(known: Exchange | None, one: Exchange) -> Exchange:
    """Return which of two exchanges with the same request to keep: the later one, but rather a success."""
    is_worse = known is not None and known.answered.is_success and not one.answered.is_success
    return known if known is not None and is_worse else one


def _request(one: Exchange) -> tuple[str, str, bytes]:
    return one.asked.method, one.asked.origin + one.asked.target, one.asked.body


def load(path: Path) -> Tape:
    """Return what a file has.  Raises `BadFile`."""
    return read_file(path, read)
