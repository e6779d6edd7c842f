"""The database of values that failed before, at an address that several machines may share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase, InMemoryExampleDatabase

from mcp_conformance.transport.writing import place_of

HOME = Path(".hypothesis")
# Not measured: a value has a megabyte at most; what Hypothesis keeps is packed, a thousandfold at most.
MAX_BYTES = 2_000_000
REDIS = ("redis://", "rediss://", "unix://")


class BadDatabase(ValueError):  # noqa: N818  (its message is what the user reads)
    """The database cannot be used; the message says why, in a line."""


class Forgiving(ExampleDatabase):
    """A database whose failures lose only what it remembers: a run goes on if its host is gone."""

    def __init__(self, database: ExampleDatabase):
        super().__init__()
        self._database = database

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """Return the values that are remembered, none if the database fails."""
        with suppress(Exception):
            return tuple(self._database.fetch(key))
        return ()

    def save(self, key: bytes, value: bytes) -> None:
        """Remember a value."""
        with suppress(Exception):
            self._database.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        """Forget a value."""
        with suppress(Exception):
            self._database.delete(key, value)


def safe(database: ExampleDatabase, key: bytes) -> ExampleDatabase:
    """Return the database; one in memory unless the folders of a key and of all keys are plain."""
    if isinstance(database, DirectoryBasedExampleDatabase):
        keys = {key, getattr(database, "_metakeys_name", key)}
        if not all(is_plain(database._key_path(one)) for one in keys):  # noqa: SLF001  (it has no other name)
            return InMemoryExampleDatabase()
    return database


@cache
def leave_strange_caches() -> None:
    """Have Hypothesis read and write nothing in `.hypothesis` unless that is plain."""
    if not is_plain(HOME):
        set_hypothesis_home_dir(os.devnull)


def is_plain(folder: Path) -> bool:
    """Return whether a folder, if it is there, has only folders, and files that are not too large.

    A repository may ship links that lead away, and a server may put pipes there, which nobody writes to.
    """
    try:
        place_of(folder)
        found = [Path(path, name).lstat() for path, *both in os.walk(folder) for name in chain(*both)]
    except (OSError, RecursionError):
        return False
    return all(S_ISDIR(one.st_mode) or (S_ISREG(one.st_mode) and one.st_size <= MAX_BYTES) for one in found)


def database_at(address: str) -> ExampleDatabase:
    """Return the database in a folder, or at a Redis URL.  Raises `BadDatabase`."""
    if not address.startswith(REDIS):
        return DirectoryBasedExampleDatabase(Path(address))
    try:
        import redis  # noqa: PLC0415  (an optional package)
        from hypothesis.extra.redis import RedisExampleDatabase  # noqa: PLC0415
    except ImportError as error:
        raise BadDatabase(f"{address} needs the package redis, which is not installed here") from error
    try:
        # Five seconds at the start of a run tell a wrong address; later failures are forgiven.
        client = redis.Redis.from_url(address, socket_connect_timeout=5, socket_timeout=5)
        client.ping()
    except (redis.RedisError, ValueError) as error:
        raise BadDatabase(
            f"{address.partition('://')[0]} at this address does not answer: {error}"
        ) from error
    return Forgiving(RedisExampleDatabase(client))
