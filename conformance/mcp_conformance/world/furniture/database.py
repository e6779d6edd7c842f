"""The database of a furnished folder: an SQLite file of two pages, made without SQLite.

Some builds of Python lack the module, and its import alone takes longer than all that is made here.  The
format is described at https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from mcp_conformance.world.furniture.texts import ROWS

TABLE = "example_items"
"""The name of the table, which a database of the user's hardly has."""
QUERY = f"SELECT * FROM {TABLE}"  # noqa: S608  (our own)
SCHEMA = f"CREATE TABLE {TABLE} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, quantity INTEGER, price REAL)"
# The smallest one: either page holds less than 200 bytes.
PAGE_BYTES = 512
HEAD_BYTES = 100
LEAF = 13
"""The kind of page that holds the rows of a table."""
VERSION = 3_045_000
"""The version of SQLite that is said to have written the file last."""

Value = str | int | float | None


def database() -> bytes:
    """Return an SQLite database with a table of the items."""
    schema = _page([("table", TABLE, TABLE, 2, SCHEMA)], HEAD_BYTES)
    # The id of a row is not in its record.
    rows = _page([(None, *row) for row in ROWS[1:]])
    return _head() + schema[HEAD_BYTES:] + rows


def _head() -> bytes:
    sizes = struct.pack(">H6B", PAGE_BYTES, 1, 1, 0, 64, 32, 32)
    # Changes, pages, 2 about free pages, the schema and its format, 2 about caches, UTF-8, 3 others.
    numbers = struct.pack(">12I", 1, 2, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0)
    return b"SQLite format 3\0" + sizes + numbers + bytes(20) + struct.pack(">II", 1, VERSION)


def _page(rows: Sequence[Sequence[Value]], start: int = 0) -> bytes:
    """Return a page with these rows, with the ids 1, 2 ...; its own head begins at ``start``."""
    cells = [_cell(number, row) for number, row in enumerate(rows, 1)]
    places, end = [], PAGE_BYTES
    for cell in cells:
        end -= len(cell)
        places.append(end)
    head = struct.pack(f">BHHHB{len(places)}H", LEAF, 0, len(cells), end, 0, *places)
    return bytes(start) + head + bytes(end - start - len(head)) + b"".join(reversed(cells))


def _cell(number: int, row: Sequence[Value]) -> bytes:
    kinds, bodies = zip(*map(_stored, row), strict=True)
    head = b"".join(map(_varint, kinds))
    record = bytes((len(head) + 1,)) + head + b"".join(bodies)
    return _varint(len(record)) + _varint(number) + record


def _stored(value: Value) -> tuple[int, bytes]:
    """Return the type of a value as a record numbers it, and its bytes; integers have one byte here."""
    if value is None:
        return 0, b""
    if isinstance(value, str):
        return 13 + 2 * len(value.encode()), value.encode()
    return (7, struct.pack(">d", value)) if isinstance(value, float) else (1, struct.pack(">b", value))


def _varint(number: int) -> bytes:
    high, low = divmod(number, 128)
    return bytes((high | 0x80, low)) if high else bytes((low,))
